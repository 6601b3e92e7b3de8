//! Atomic Max on A5 exists for i32, u32 and f32.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut memory = vec![<f16 as Default>::default(); 1 << 16];
    let mut table = GlobalTensor::<f16, Shape<1, 1, 1, 64, 32>>::new(&mut memory)?;
    let src = <Tile<f16, 8, 32>>::new();
    let idx = <Tile<i32, 1, 8>>::new();
    let mut core = VectorCore::<A5>::new();
    core.mscatter((Row, Max), &mut table, &src, &idx)?;
    Ok(())
}
