//! A dynamic tile needs its extents.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let _tile = Tile::<f32, 8, 8, RowMajor, DYN, 8>::new();
    Ok(())
}
