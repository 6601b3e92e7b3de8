//! Element coalesce, sparse update (001): 8x32 values into a linear table of 256, lanes beyond its end skipped.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

fn elem_sparse(table: &mut [f32], src: &[f32], idx: &[i32]) -> Result<Event, pto::Error> {
    const R: usize = 8;
    const C: usize = 32;
    const TABLE_SIZE: usize = 256;
    type SrcTile = Tile<f32, R, C>;
    type IdxTile = Tile<i32, R, C>;
    type TableShape = Shape<1, 1, 1, 1, TABLE_SIZE>;
    type TableStride = Stride<1, 1, 1, TABLE_SIZE, 1>;

    let mut table_gm = GlobalTensor::<f32, TableShape, TableStride>::new(table)?;
    let mut core = VectorCore::<A5>::new();
    let (mut src_tile, mut idx_tile) = (SrcTile::new(), IdxTile::new());
    core.tassign(&mut src_tile, 0x0000)?;
    core.tassign(&mut idx_tile, 0x0800)?;
    core.tload(&mut src_tile, &GlobalRef::<f32, Shape<1, 1, 1, R, C>>::new(src)?)?;
    core.tload(&mut idx_tile, &GlobalRef::<i32, Shape<1, 1, 1, R, C>>::new(idx)?)?;

    core.mscatter((Elem, AtomicNone, Skip), &mut table_gm, &src_tile, &idx_tile)
}

pub(crate) fn main() -> Result<(), pto::Error> {
    let src: Vec<f32> = (0..256).map(|k| k as f32).collect();
    // Every second slot; the upper half of the lanes points beyond the table.
    let idx: Vec<i32> = (0..256).map(|k| 2 * k).collect();
    let mut table = vec![-1f32; 256];

    let event = elem_sparse(&mut table, &src, &idx)?;

    println!("written {}, skipped {}", event.lanes().written, event.lanes().skipped);
    println!("table: {:?} ...", &table[..8]);
    assert_eq!((event.lanes().written, event.lanes().skipped), (128, 128));
    assert!(table.iter().enumerate().all(|(slot, &v)| v == if slot % 2 == 0 { (slot / 2) as f32 } else { -1.0 }));
    Ok(())
}
