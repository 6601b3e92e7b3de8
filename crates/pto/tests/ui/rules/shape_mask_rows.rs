//! shape.mask-rows: the mask form keeps the rows.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut dst = <Tile<f16, 8, 128>>::new();
    let src = <Tile<f16, 16, 64>>::new();
    let mut core = VectorCore::<A5>::new();
    core.tscatter_mask(P1010, &mut dst, &src)?;
    Ok(())
}
