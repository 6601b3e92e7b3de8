//! The order of the policies is mode, atomic, bounds, conflict.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut memory = vec![0f32; 1 << 16];
    let mut table = GlobalTensor::<f32, Shape<1, 1, 1, 64, 32>>::new(&mut memory)?;
    let src = <Tile<f32, 8, 32>>::new();
    let idx = <Tile<i32, 1, 8>>::new();
    let mut core = VectorCore::<A5>::new();
    core.mscatter((Row, Skip, Add), &mut table, &src, &idx)?;
    Ok(())
}
