//! shape.mask-columns: P1010 doubles the columns.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut dst = <Tile<f16, 16, 64>>::new();
    let src = <Tile<f16, 16, 64>>::new();
    let mut core = VectorCore::<A5>::new();
    core.tscatter_mask(P1010, &mut dst, &src)?;
    Ok(())
}
