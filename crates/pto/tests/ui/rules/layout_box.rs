//! layout.box: half a fractal.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let _tile = Tile::<f32, 8, 8, Nz>::new();
    Ok(())
}
