//! TSCATTER does not convert.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut dst = <Tile<f32, 16, 16>>::new();
    let src = <Tile<i32, 16, 16>>::new();
    let idx = <Tile<u32, 16, 16>>::new();
    let mut core = VectorCore::<A5>::new();
    core.tscatter(&mut dst, &src, &idx)?;
    Ok(())
}
