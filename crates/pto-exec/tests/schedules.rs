//! Warp schedules of A5. Reference and production executor take their order from one place, so it is held against 001
//! here: launch sizes, each element once, the order that a warp keeps, and the freedom that warps have.

use std::collections::BTreeSet;

use pto_exec::simt::{Grid, lane_order};
use pto_isa::Coalesce::{self, Elem, Row};

const SHAPES: [(u64, u64); 9] = [(1, 1), (1, 33), (3, 100), (33, 40), (40, 3), (64, 64), (2, 1100), (1, 2048), (7, 31)];

/// 001: kRowWarps = min(validRows, 32), kWarpsPerRow = min(32 / kRowWarps, ceil(validCols / 32)); Elem:
/// min(ceil(validRows * validCols / 32), 32).
#[test]
fn launches_have_the_sizes_of_the_specification() {
    for (rows, cols, warps, warps_per_row) in [
        (1, 1, 1, 1),
        (1, 33, 2, 2),
        (1, 2048, 32, 32),
        (3, 100, 12, 4),
        (3, 1000, 30, 10),
        (33, 40, 32, 1),
        (20, 64, 20, 1),
    ] {
        assert_eq!(Grid::by_source(Row, rows, cols), Grid { warps, warps_per_row }, "{rows}x{cols}");
    }
    for (rows, cols, warps) in [(1, 1, 1), (1, 32, 1), (1, 33, 2), (32, 32, 32), (64, 64, 32)] {
        assert_eq!(Grid::by_source(Elem, rows, cols), Grid { warps, warps_per_row: 1 }, "{rows}x{cols}");
    }
}

#[test]
fn every_schedule_runs_each_element_once() {
    for (rows, cols) in SHAPES {
        for mode in [Row, Elem] {
            for seed in 0..5 {
                let mut order = lane_order(mode, rows, cols, seed);
                assert_eq!(order, lane_order(mode, rows, cols, seed), "a seed is one schedule");
                order.sort_unstable();
                assert!(
                    order.into_iter().eq((0..rows).flat_map(|r| (0..cols).map(move |c| (r, c)))),
                    "{mode} {rows}x{cols}"
                );
            }
        }
    }
}

/// For each seed: does the first place come before the second?
fn orders(mode: Coalesce, shape: (u64, u64), first: (u64, u64), second: (u64, u64)) -> BTreeSet<bool> {
    let before = |seed| {
        let order = lane_order(mode, shape.0, shape.1, seed);
        let at = |place| order.iter().position(|lane| *lane == place);
        at(first) < at(second)
    };
    (0..64).map(before).collect()
}

#[test]
fn a_warp_keeps_its_order_and_warps_have_none_among_them() {
    let (either, always) = (BTreeSet::from([false, true]), BTreeSet::from([true]));
    // Rows 0 and 32 are one warp's, rows 0 and 1 are not; two warps share a row of 64 columns among 16 rows.
    assert_eq!(orders(Row, (40, 8), (0, 0), (32, 0)), always);
    assert_eq!(orders(Row, (40, 8), (0, 0), (1, 0)), either);
    assert_eq!(orders(Row, (16, 64), (0, 0), (0, 32)), either);
    // One warp owns every 32nd step of 32 elements; lanes of one step reach memory in any order.
    assert_eq!(orders(Elem, (64, 64), (0, 0), (16, 0)), always);
    assert_eq!(orders(Elem, (64, 64), (0, 0), (0, 32)), either);
    assert_eq!(orders(Elem, (64, 64), (0, 0), (0, 1)), either);
}
