//! Operands are tiles.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut memory = vec![0f32; 64];
    let mut table = GlobalTensor::<f32, Shape<1, 1, 1, 1, 64>>::new(&mut memory)?;
    let src = Tile::<f32, 1, 8>::new();
    let mut core = VectorCore::<A5>::new();
    core.mscatter(Elem, &mut table, &src, &[0i32; 8])?;
    Ok(())
}
