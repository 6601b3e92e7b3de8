//! Ping-pong scatter (003): two staging tiles, so that the load of the next chunk overlaps the store of the current one.
//! The ranks then change their rows, and the root collects them again by the inverse, TGATHER.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::comm::{self, ExposedTensor, ParallelGroup, Transport};
use pto::prelude::*;

/// What every rank does; `local_data` is read at the root alone, and comes back with every rank's rows doubled.
fn scatter_and_collect<A: Arch, const ROWS: usize, const COLS: usize, const TILE_ROWS: usize, const TILE_COLS: usize>(
    rank: &dyn Transport,
    root: usize,
    local_data: &mut [i32],
) -> Result<(), pto::Error>
where
    i32: Payload<A>,
{
    let mine = ExposedTensor::<i32, Shape<1, 1, 1, ROWS, COLS>>::new(rank)?;
    let group = ParallelGroup::new(rank, &mine, root)?;
    let all = Shape::<1, 1, 1, DYN, COLS>::dynamic([rank.size() * ROWS]);
    let tile = || Tile::<i32, TILE_ROWS, TILE_COLS, RowMajor, DYN, DYN>::dynamic([TILE_ROWS, TILE_COLS]);
    let (ping, pong) = (tile(), tile());
    let mut core = VectorCore::<A>::new();

    if rank.rank() == group.root() {
        let source = GlobalRef::<i32, _>::dynamic(local_data, all, Packed)?;
        core.comm_tscatter(&group, &source, (&ping, &pong))?;
    }
    rank.barrier()?;
    let doubled: Vec<i32> = mine.read()?.iter().map(|value| value * 2).collect();
    mine.write(&doubled)?;
    rank.barrier()?;
    if rank.rank() == group.root() {
        let mut target = GlobalTensor::<i32, _>::dynamic(local_data, all, Packed)?;
        core.comm_tgather(&group, &mut target, (&ping, &pong))?;
    }
    // The ranks keep their tensors open until the root has read them.
    rank.barrier()?;
    Ok(())
}

pub(crate) fn main() -> Result<(), pto::Error> {
    const NRANKS: usize = 3;
    const ROWS: usize = 7;
    const COLS: usize = 32;
    let before: Vec<i32> = (0..(NRANKS * ROWS * COLS) as i32).collect();

    let after = comm::launch(NRANKS, |rank| {
        let mut local_data = before.clone();
        scatter_and_collect::<A2A3, ROWS, COLS, 2, 16>(rank, 0, &mut local_data)?;
        Ok(local_data)
    });
    let collected = after.into_iter().next().unwrap_or_else(|| Ok(Vec::new()))?;
    println!(
        "the root has {} rows back, the last element is {}",
        collected.len() / COLS,
        collected[collected.len() - 1]
    );
    assert_eq!(collected, before.iter().map(|value| value * 2).collect::<Vec<_>>());
    Ok(())
}
