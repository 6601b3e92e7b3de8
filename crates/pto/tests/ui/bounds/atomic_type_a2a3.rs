//! Atomic Add on A2/A3 takes no unsigned integers.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut memory = vec![<u8 as Default>::default(); 1 << 16];
    let mut table = GlobalTensor::<u8, Shape<1, 1, 1, 64, 32>>::new(&mut memory)?;
    let src = <Tile<u8, 8, 32>>::new();
    let idx = <Tile<i32, 1, 8>>::new();
    let mut core = VectorCore::<A2A3>::new();
    core.mscatter((Row, Add), &mut table, &src, &idx)?;
    Ok(())
}
