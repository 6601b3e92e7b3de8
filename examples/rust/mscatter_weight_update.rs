//! Row-indexed scatter, weight update (000): expert weights by row, rows beyond the table skipped. The index tile is
//! `[NumRows, 1]`, as in the older page.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

fn weight_update<T: Payload<A5>, const NUM_ROWS: usize, const ROW_WIDTH: usize, const TABLE_ROWS: usize>(
    table: &mut [T],
    weights: &[T],
    indices: &[i32],
) -> Result<Event, pto::Error> {
    let mut table_gm =
        GlobalTensor::<T, Shape<1, 1, 1, TABLE_ROWS, ROW_WIDTH>, Stride<1, 1, 1, ROW_WIDTH, 1>>::new(table)?;

    let mut core = VectorCore::<A5>::new();
    let (mut idx, mut src) = (Tile::<i32, NUM_ROWS, 1>::new(), Tile::<T, NUM_ROWS, ROW_WIDTH>::new());
    core.tassign(&mut idx, 0x0)?;
    core.tassign(&mut src, 0x1000)?;
    core.tload(&mut idx, &GlobalRef::<i32, Shape<1, 1, 1, NUM_ROWS, 1>>::new(indices)?)?;
    core.tload(&mut src, &GlobalRef::<T, Shape<1, 1, 1, NUM_ROWS, ROW_WIDTH>>::new(weights)?)?;

    // Scatter with skip mode for invalid indices.
    core.mscatter((Row, AtomicNone, Skip), &mut table_gm, &src, &idx)
}

pub(crate) fn main() -> Result<(), pto::Error> {
    let weights: Vec<i8> = (0..4 * 32).map(|k| (k / 32 + 1) as i8).collect();
    let mut table = vec![0i8; 8 * 32];

    let event = weight_update::<i8, 4, 32, 8>(&mut table, &weights, &[6, 8, 1, -1])?;

    let rows: Vec<i8> = table.iter().step_by(32).copied().collect();
    println!("rows of the table: {rows:?}, skipped {}", event.lanes().skipped);
    assert_eq!(rows, [0, 3, 0, 0, 0, 0, 1, 0]);
    assert_eq!(event.lanes().skipped, 2);
    Ok(())
}
