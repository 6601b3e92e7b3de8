//! Dynamic runtime shapes (001): 1x9 valid elements in 1x16 tiles, a 3x10 table whose shape is known at run time only
//! (`case_elem2d_dyn_user_float_1x9_in_1x16_3x10`).
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

const PAD_COLS: usize = 16;
type SrcTile = Tile<f32, 1, PAD_COLS, RowMajor, DYN, DYN>;
type IdxTile = Tile<i32, 1, PAD_COLS, RowMajor, DYN, DYN>;
type TableShape = Shape<1, 1, 1, DYN, DYN>;
type TableStride = Stride<1, 1, 1, DYN, DYN>;

pub(crate) fn main() -> Result<(), pto::Error> {
    let (valid_cols, table_rows, table_cols) = (9, 3, 10);
    let mut memory = vec![0f32; table_rows * table_cols];
    let shape = TableShape::dynamic([table_rows, table_cols]);
    let stride = TableStride::dynamic([table_cols, 1]);
    let mut table = GlobalTensor::<f32, _, _>::dynamic(&mut memory, shape, stride)?;

    let mut src = SrcTile::dynamic([1, valid_cols]);
    let mut idx = IdxTile::dynamic([1, valid_cols]);
    let mut core = VectorCore::<A2A3>::new();
    core.tassign(&mut src, 0x000)?;
    core.tassign(&mut idx, 0x100)?;
    core.write(&src, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])?;
    core.write(&idx, &[0, 11, 22, 29, 30, 5, 6, 7, 8])?; // 30 is one beyond the table

    let event = core.mscatter((Elem, AtomicNone, Skip), &mut table, &src, &idx)?;
    println!("written {}, skipped {}", event.lanes().written, event.lanes().skipped);
    for row in memory.chunks(table_cols) {
        println!("{row:?}");
    }
    assert_eq!((event.lanes().written, event.lanes().skipped), (8, 1));
    assert_eq!(memory[..10], [1.0, 0.0, 0.0, 0.0, 0.0, 6.0, 7.0, 8.0, 9.0, 0.0]);
    assert_eq!((memory[11], memory[22], memory[29]), (2.0, 3.0, 4.0));

    // What the types leave open is judged when the instruction runs.
    let mut table = GlobalTensor::<f32, _, _>::dynamic(&mut memory, shape, stride)?;
    idx.set_valid([1, 8]);
    let error = core.mscatter(Elem, &mut table, &src, &idx).expect_err("8 indices for 9 elements");
    println!("{error}");
    assert_eq!(error.rule().map(|rule| rule.name), Some("shape.index-coalesce"));
    Ok(())
}
