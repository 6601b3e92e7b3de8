//! 8-bit floats do not exist on A2/A3.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut memory = vec![<F8E4M3 as Default>::default(); 1 << 16];
    let mut table = GlobalTensor::<F8E4M3, Shape<1, 1, 1, 64, 32>>::new(&mut memory)?;
    let src = <Tile<F8E4M3, 8, 32>>::new();
    let idx = <Tile<i32, 1, 8>>::new();
    let mut core = VectorCore::<A2A3>::new();
    core.mscatter(Row, &mut table, &src, &idx)?;
    Ok(())
}
