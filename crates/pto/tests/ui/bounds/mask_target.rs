//! The mask form exists on A5 and the host.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut dst = <Tile<f16, 16, 128>>::new();
    let src = <Tile<f16, 16, 64>>::new();
    let mut core = VectorCore::<A2A3>::new();
    core.tscatter_mask(P1010, &mut dst, &src)?;
    Ok(())
}
