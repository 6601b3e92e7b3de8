//! Element coalesce, the (1, 1) case (001): one element, padded to the 32 bytes that a transfer needs.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

fn scalar(table: &mut [f32], src: &[f32], idx: &[i32]) -> Result<Event, pto::Error> {
    const TABLE_SIZE: usize = 32;
    type SrcTile = Tile<f32, 1, 8, RowMajor, 1, 1>;
    type IdxTile = Tile<i32, 1, 8, RowMajor, 1, 1>;
    type TableShape = Shape<1, 1, 1, 1, TABLE_SIZE>;
    type TableStride = Stride<1, 1, 1, TABLE_SIZE, 1>;

    let mut table_gm = GlobalTensor::<f32, TableShape, TableStride>::new(table)?;
    let mut core = VectorCore::<A5>::new();
    let (mut src_tile, mut idx_tile) = (SrcTile::new(), IdxTile::new());
    core.tassign(&mut src_tile, 0x0000)?;
    core.tassign(&mut idx_tile, 0x0080)?;
    core.tload(&mut src_tile, &GlobalRef::<f32, Shape<1, 1, 1, 1, 1>>::new(src)?)?;
    core.tload(&mut idx_tile, &GlobalRef::<i32, Shape<1, 1, 1, 1, 1>>::new(idx)?)?;

    core.mscatter(Elem, &mut table_gm, &src_tile, &idx_tile)
}

pub(crate) fn main() -> Result<(), pto::Error> {
    let mut table = vec![0f32; 32];
    scalar(&mut table, &[2.5], &[17])?;
    println!("slot 17: {}", table[17]);
    assert_eq!(table[17], 2.5);
    assert_eq!(table.iter().sum::<f32>(), 2.5);

    // Without a policy an index out of range is a fault, and the table stays as it was.
    let error = scalar(&mut table, &[9.0], &[32]).expect_err("the table has 32 slots");
    println!("{error}");
    assert_eq!(error.rule().map(|rule| rule.name), Some("bounds.lane"));
    assert_eq!(table.iter().sum::<f32>(), 2.5);
    Ok(())
}
