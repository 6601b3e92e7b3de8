//! The suite between threads, on 1 to 8 ranks, and properties over drawn cases: every byte against the reference.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Digest, collective, sharded, suite};
use proptest::prelude::*;
use pto_comm::{ChunkPlan, CommError, Transport, execute_collective, launch};
use pto_exec::reference;
use pto_isa::Launch;

/// Runs a body that panics on a difference; the panic of a rank is the test's.
fn on(ranks: usize, body: impl Fn(&dyn Transport) + Sync) {
    let outcomes = launch(ranks, |rank| {
        body(rank);
        Ok::<_, CommError>(())
    });
    for (rank, outcome) in outcomes.into_iter().enumerate() {
        outcome.unwrap_or_else(|error| panic!("rank {rank} of {ranks}: {error}"));
    }
}

#[test]
fn suite_on_1_rank() {
    on(1, |rank| _ = suite(rank));
}

#[test]
fn suite_on_2_ranks() {
    on(2, |rank| _ = suite(rank));
}

#[test]
fn suite_on_4_ranks() {
    on(4, |rank| _ = suite(rank));
}

#[test]
fn suite_on_7_ranks() {
    on(7, |rank| _ = suite(rank));
}

#[test]
fn suite_on_8_ranks() {
    on(8, |rank| _ = suite(rank));
}

#[test]
fn two_runs_leave_the_same_bytes() {
    let run = || -> Vec<u64> { launch(3, |rank| Ok(suite(rank))).into_iter().map(Result::unwrap).collect() };
    assert_eq!(run(), run());
}

#[test]
fn rows_that_share_their_place_are_written_in_order() {
    use pto_isa::{Collective, Direction, ElementType::U32, Target, Tensor, TensorLayout, Tile};
    let (rows, cols) = (64, 1024);
    let call = Collective {
        direction: Direction::Gather,
        root: 0,
        caller: 0,
        local: Tensor::strided(U32, [1, 1, 1, 2 * rows, cols], [0, 0, 0, 0, 1], TensorLayout::Nd),
        group: vec![Some(Tensor::packed(U32, [1, 1, 1, rows, cols])); 2],
        staging: vec![Tile::new(U32, 8, 1024)],
    };
    let mut ranks: Vec<Vec<u8>> =
        (0..2u32).map(|r| (0..rows * cols).flat_map(|i| (r << 24 | i as u32).to_le_bytes()).collect()).collect();
    let mut local = vec![0; cols as usize * 4];
    execute_collective(&call, Target::Host, Launch::default(), &mut local, &mut ranks).unwrap();
    assert!(local == ranks[1][ranks[1].len() - local.len()..], "the last row of the last rank wins");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn collectives_equal_the_reference(seed in any::<u64>(), ranks in 1usize..=8) {
        on(ranks, |rank| {
            let case = collective::Case::draw(seed, ranks);
            let (local, window) = case.run(rank).unwrap();
            case.compare(rank.rank(), seed, &local, &window);
        });
    }

    #[test]
    fn described_calls_equal_the_reference(seed in any::<u64>(), ranks in 1usize..=4) {
        let case = collective::Case::draw(seed, ranks);
        let (mut local, mut windows) = (case.local.clone(), case.windows.clone());
        let (mut expected_local, mut expected) = (local.clone(), windows.clone());
        reference::execute_collective(&case.call, case.target, Launch::default(), &mut expected_local, &mut expected)
            .unwrap();
        let moved = execute_collective(&case.call, case.target, Launch::default(), &mut local, &mut windows).unwrap();
        prop_assert_eq!(moved.chunks, ChunkPlan::new(&case.call).unwrap().chunks().count() as u64);
        prop_assert_eq!(&local, &expected_local);
        prop_assert_eq!(&windows, &expected);
        // A buffer that is too short at one rank: an error, and nothing changed.
        let last = windows.len() - 1;
        windows[last].truncate(3);
        let before = (local.clone(), windows.clone());
        let outcome = execute_collective(&case.call, case.target, Launch::default(), &mut local, &mut windows);
        if moved.chunks > 0 && case.windows[last].len() - case.offset as usize > 11 {
            prop_assert!(matches!(outcome, Err(CommError::WindowTooSmall { .. })), "{:?}", outcome);
            prop_assert_eq!(before, (local, windows));
        }
    }

    #[test]
    fn sharded_tables_equal_one_table(seed in any::<u64>(), ranks in 1usize..=8) {
        on(ranks, |rank| sharded::Case::draw(seed, ranks).check(rank, seed, &mut Digest(0)));
    }
}
