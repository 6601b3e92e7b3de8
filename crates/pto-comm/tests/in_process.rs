//! The suite between threads, on 1 to 8 ranks, and properties over drawn cases: every byte against the reference.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::{Digest, collective, sharded, suite};
use proptest::prelude::*;
use pto_comm::{CommError, Transport, launch};

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
    fn sharded_tables_equal_one_table(seed in any::<u64>(), ranks in 1usize..=8) {
        on(ranks, |rank| sharded::Case::draw(seed, ranks).check(rank, seed, &mut Digest(0)));
    }
}
