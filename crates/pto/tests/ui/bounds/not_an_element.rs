//! A tile is made of PTO elements.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let _tile = Tile::<char, 8, 32>::new();
    Ok(())
}
