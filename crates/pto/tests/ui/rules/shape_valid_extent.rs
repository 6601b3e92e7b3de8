//! shape.valid-extent: a tile with more valid than padded rows.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let _tile = Tile::<f32, 8, 32, RowMajor, 9, 32>::new();
    Ok(())
}
