//! A load fills the valid region, so the tensor must cover it.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let memory = [0f32; 32];
    let tensor = GlobalRef::<f32, Shape<1, 1, 1, 4, 8>>::new(&memory)?;
    let mut tile = Tile::<f32, 8, 8>::new();
    VectorCore::<A5>::new().tload(&mut tile, &tensor)?;
    Ok(())
}
