//! Row coalesce, embedding scatter (001): whole rows into an embedding table, indices beyond its end clamped to the last
//! row. The same kernel source runs on A2/A3 and on A5.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

fn embedding_scatter<A: Arch, T: Payload<A>, const R: usize, const C: usize, const TABLE_ROWS: usize>(
    table: &mut [T],
    src: &[T],
    idx: &[i32],
) -> Result<Event, pto::Error>
where
    i32: MemoryIndex<A>,
{
    let mut table_gm = GlobalTensor::<T, Shape<1, 1, 1, TABLE_ROWS, C>, Stride<1, 1, 1, C, 1>>::new(table)?;
    let src_gm = GlobalRef::<T, Shape<1, 1, 1, R, C>>::new(src)?;
    let idx_gm = GlobalRef::<i32, Shape<1, 1, 1, 1, R>>::new(idx)?;

    let mut core = VectorCore::<A>::new();
    let (mut src, mut idx) = (Tile::<T, R, C>::new(), Tile::<i32, 1, R>::new());
    core.tassign(&mut src, 0x0000)?;
    core.tassign(&mut idx, 0x1000)?;

    let rows_loaded = core.tload(&mut src, &src_gm)?;
    let indices_loaded = core.tload(&mut idx, &idx_gm)?;
    core.after([&rows_loaded, &indices_loaded]).mscatter((Row, AtomicNone, Clamp), &mut table_gm, &src, &idx)
}

pub(crate) fn main() -> Result<(), pto::Error> {
    const R: usize = 4;
    const C: usize = 8;
    const ROWS: usize = 6;
    // Row r holds the value r + 1. Index 100 is beyond the table; the device reads -1 as 4294967295.
    let src: Vec<f32> = (0..R * C).map(|k| (k / C + 1) as f32).collect();
    let idx = [2, 100, 0, -1];

    let mut on_a2a3 = vec![0f32; ROWS * C];
    let mut on_a5 = on_a2a3.clone();
    let event = embedding_scatter::<A2A3, f32, R, C, ROWS>(&mut on_a2a3, &src, &idx)?;
    embedding_scatter::<A5, f32, R, C, ROWS>(&mut on_a5, &src, &idx)?;

    let first_column: Vec<f32> = on_a2a3.iter().step_by(C).copied().collect();
    println!("lanes: {:?}", event.lanes());
    println!("rows of the table: {first_column:?}");
    assert_eq!(event.lanes().clamped, 2);
    assert_eq!(first_column, [3.0, 0.0, 1.0, 0.0, 0.0, 4.0]); // the last of two writers of row 5 wins
    assert_eq!(on_a2a3, on_a5);
    Ok(())
}
