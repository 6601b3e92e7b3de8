//! Mask scatter (002, A5): each row widens by two, elements in the second lane of each pair, zeros in the first.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

pub(crate) fn main() -> Result<(), pto::Error> {
    type SrcTile = Tile<f16, 16, 64>;
    type DstTile = Tile<f16, 16, 128>;
    let src = SrcTile::new();
    let mut dst = DstTile::new();

    let mut core = VectorCore::<A5>::new();
    core.write(&src, &(0..1024).map(|k| f16::from_f32((k % 64 + 1) as f32)).collect::<Vec<_>>())?;
    core.tscatter_mask(P1010, &mut dst, &src)?;

    let result: Vec<f32> = core.read(&dst)?.iter().map(|v| v.to_f32()).collect();
    println!("first row: {:?} ...", &result[..8]);
    assert_eq!(result[..8], [0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0, 4.0]);
    assert!((0..2048).all(|k| result[k] == if k % 2 == 1 { (k % 128 / 2 + 1) as f32 } else { 0.0 }));
    Ok(())
}
