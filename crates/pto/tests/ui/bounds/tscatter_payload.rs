//! TSCATTER moves no 8-bit floats on A5.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut dst = <Tile<HiF8, 16, 32>>::new();
    let src = <Tile<HiF8, 16, 32>>::new();
    let idx = <Tile<u16, 16, 32>>::new();
    let mut core = VectorCore::<A5>::new();
    core.tscatter(&mut dst, &src, &idx)?;
    Ok(())
}
