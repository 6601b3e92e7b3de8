//! layout.tscatter-box: no fractals in TSCATTER.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut dst = <Tile<f32, 16, 16, Nz>>::new();
    let src = <Tile<f32, 16, 16>>::new();
    let idx = <Tile<u32, 16, 16>>::new();
    let mut core = VectorCore::<A2A3>::new();
    core.tscatter(&mut dst, &src, &idx)?;
    Ok(())
}
