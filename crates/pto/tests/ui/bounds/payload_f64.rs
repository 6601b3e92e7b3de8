//! 64-bit elements exist on the host only.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut memory = vec![0f64; 1 << 16];
    let mut table = GlobalTensor::<f64, Shape<1, 1, 1, 64, 32>>::new(&mut memory)?;
    let src = <Tile<f64, 8, 32>>::new();
    let idx = <Tile<i32, 1, 8>>::new();
    let mut core = VectorCore::<A5>::new();
    core.mscatter(Row, &mut table, &src, &idx)?;
    Ok(())
}
