//! Basic scatter with a single staging tile (003): the root has `NRANKS * ROWS` rows, and each rank receives `ROWS` of
//! them. The tile is smaller than a rank's rows in both directions, so they travel in chunks, the last ones partial.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::comm::{self, ExposedTensor, ParallelGroup, Transport};
use pto::prelude::*;

/// What every rank does; `local_data` is read at the root alone.
fn scatter<
    A: Arch,
    T: Payload<A>,
    const ROWS: usize,
    const COLS: usize,
    const TILE_ROWS: usize,
    const TILE_COLS: usize,
>(
    rank: &dyn Transport,
    root: usize,
    local_data: &[T],
) -> Result<Vec<T>, pto::Error> {
    let mine = ExposedTensor::<T, Shape<1, 1, 1, ROWS, COLS>>::new(rank)?;
    let group = ParallelGroup::new(rank, &mine, root)?;
    if rank.rank() == group.root() {
        let rows = Shape::<1, 1, 1, DYN, COLS>::dynamic([rank.size() * ROWS]);
        let source = GlobalRef::<T, _>::dynamic(local_data, rows, Packed)?;
        let staging = Tile::<T, TILE_ROWS, TILE_COLS, RowMajor, DYN, DYN>::dynamic([TILE_ROWS, TILE_COLS]);
        VectorCore::<A>::new().comm_tscatter(&group, &source, &staging)?;
    }
    // The root has written when it arrives here: a rank that reads before that sees whatever was there.
    rank.barrier()?;
    mine.read()
}

pub(crate) fn main() -> Result<(), pto::Error> {
    const NRANKS: usize = 4;
    const ROWS: usize = 10;
    const COLS: usize = 40;
    let local_data: Vec<f32> = (0..NRANKS * ROWS * COLS).map(|k| k as f32).collect();

    let received = comm::launch(NRANKS, |rank| scatter::<A5, f32, ROWS, COLS, 4, 16>(rank, 1, &local_data));
    for (rank, rows) in received.into_iter().enumerate() {
        let rows = rows?;
        println!("rank {rank} received {} rows, the first begins with {}", rows.len() / COLS, rows[0]);
        assert_eq!(rows, local_data[rank * ROWS * COLS..][..ROWS * COLS]);
    }
    Ok(())
}
