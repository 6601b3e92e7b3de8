//! layout.mask: the mask form is row-major.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut dst = <Tile<f16, 16, 64, ColMajor>>::new();
    let src = <Tile<f16, 16, 64>>::new();
    let mut core = VectorCore::<A5>::new();
    core.tscatter_mask(P1111, &mut dst, &src)?;
    Ok(())
}
