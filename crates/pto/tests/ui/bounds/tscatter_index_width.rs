//! 4-byte elements want 4-byte indices on the devices.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut dst = <Tile<f32, 16, 16>>::new();
    let src = <Tile<f32, 16, 16>>::new();
    let idx = <Tile<u16, 16, 16>>::new();
    let mut core = VectorCore::<A5>::new();
    core.tscatter(&mut dst, &src, &idx)?;
    Ok(())
}
