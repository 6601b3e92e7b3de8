//! Manual memory assignment (000): half rows, tiles placed by hand, indices clamped.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

pub(crate) fn main() -> Result<(), pto::Error> {
    type IdxTile = Tile<i32, 8, 1>;
    type SrcTile = Tile<f16, 8, 64>;
    type TableShape = Shape<1, 1, 1, 65536, 64>;
    type TableStride = Stride<1, 1, 1, 64, 1>;

    let mut memory = vec![f16::ZERO; 65_536 * 64];
    let mut table_gm = GlobalTensor::<f16, TableShape, TableStride>::new(&mut memory)?;

    let (mut idx, mut src) = (IdxTile::new(), SrcTile::new());
    let mut core = VectorCore::<A5>::new();
    core.tassign(&mut idx, 0x0)?;
    core.tassign(&mut src, 0x1000)?;
    core.write(&idx, &[0, 10, 20, 30, 40, 50, 65_536, 60])?;
    core.write(&src, &(0..512).map(|k| f16::from_f32((k / 64 + 1) as f32)).collect::<Vec<_>>())?;

    let event = core.mscatter((Row, AtomicNone, Clamp), &mut table_gm, &src, &idx)?;

    let row = |r: usize| memory[r * 64].to_f32();
    println!("row 0: {}, row 60: {}, row 65535: {}", row(0), row(60), row(65_535));
    assert_eq!((row(0), row(50), row(60), row(65_535)), (1.0, 6.0, 8.0, 7.0));
    assert_eq!(event.lanes().clamped, 1);
    Ok(())
}
