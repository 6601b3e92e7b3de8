//! One value for each dynamic extent.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let _tile = Tile::<f32, 8, 8, RowMajor, DYN, DYN>::dynamic([4]);
    Ok(())
}
