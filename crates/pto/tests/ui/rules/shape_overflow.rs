//! shape.overflow: a tile larger than any memory.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let _tile = Tile::<f32, { 1 << 40 }, { 1 << 30 }>::new();
    Ok(())
}
