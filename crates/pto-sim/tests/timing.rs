//! What 001 says in words about time comes out in cycles, on the targets that it says it of.

use std::collections::BTreeMap;

use pto_ir::{Flag, FunctionBuilder, OpKind, Operand, Pipe, Type, ViewKind, ViewType};
use pto_isa::{Atomic, Coalesce, Conflict, ElementType, OutOfBounds, Policy, Target, TensorLayout, Tile};
use pto_sim::timing::Timing;
use pto_sim::{Argument, Options, Report, Status, simulate};

/// A scatter of tiles that arrive loaded, nothing else.
struct Scatter {
    target: Target,
    policy: Policy,
    src: Tile,
    table: Vec<u64>,
    layout: TensorLayout,
    /// Distance between the slots of neighbouring lanes.
    stride: u64,
}

fn scatter(target: Target, mode: Coalesce, (rows, cols): (u64, u64), table: &[u64]) -> Scatter {
    let src = Tile::new(ElementType::F32, rows, cols);
    Scatter { target, policy: Policy::coalesce(mode), src, table: table.to_vec(), layout: TensorLayout::Nd, stride: 1 }
}

impl Scatter {
    fn with(mut self, policy: impl FnOnce(Policy) -> Policy) -> Self {
        self.policy = policy(self.policy);
        self
    }

    fn run(&self) -> Report {
        let (rows, cols) = (self.src.rows, self.src.cols);
        let mut build = FunctionBuilder::new("scatter");
        let shape = self.table.iter().copied().map(Some).collect();
        let view = ViewType {
            kind: ViewKind::Partition,
            element: ElementType::F32,
            shape,
            strides: None,
            layout: Some(self.layout),
        };
        let table = build.parameter("table", Type::View(view));
        let src = build.parameter("src", Type::Tile(self.src));
        let (idx_rows, idx_cols, slots) = match self.policy.coalesce {
            Some(Coalesce::Elem) => (rows, cols, self.table.iter().product()),
            _ if self.layout == TensorLayout::Nz => (1, rows, self.table[2] * 16),
            _ => (1, rows, self.table.iter().rev().skip(1).product::<u64>()),
        };
        let idx = build.parameter("idx", Type::Tile(Tile::new(ElementType::I32, idx_rows, idx_cols)));
        build.push(OpKind::MScatter { table, src, idx, policy: self.policy });
        build.push(OpKind::FlushCache).push(OpKind::DataBarrier);
        let module = build.finish();
        let zeros = |count: u64| Argument::Array(vec![0; count as usize * 4]);
        let lanes = (0..idx_rows * idx_cols).flat_map(|lane| ((lane * self.stride % slots) as u32).to_le_bytes());
        let arguments = BTreeMap::from([
            ("table".to_owned(), zeros(self.table.iter().product())),
            ("src".to_owned(), zeros(rows * cols)),
            ("idx".to_owned(), Argument::Array(lanes.collect())),
        ]);
        let report = simulate(&module, &module.functions[0], self.target, arguments, &Options::default());
        assert_eq!((report.status, report.diagnostics.len()), (Status::Ok, 0), "{:?}", report.diagnostics);
        report
    }

    fn cycles(&self) -> u64 {
        self.run().cycles
    }
}

const DEVICES: [Target; 2] = [Target::A2A3, Target::A5];

#[test]
fn row_beats_elem() {
    for target in DEVICES {
        for (rows, cols) in [(8, 32), (16, 64), (64, 64), (32, 256)] {
            let plain =
                |policy: Policy| if target == Target::A5 { policy.with_conflict(Conflict::Default) } else { policy };
            let cycles = |mode| {
                let mut scatter = scatter(target, mode, (rows, cols), &[1024, cols]).with(plain);
                // Elements in no order, as an elementwise scatter is for.
                scatter.stride = 7919;
                scatter.cycles()
            };
            let (row, elem) = (cycles(Coalesce::Row), cycles(Coalesce::Elem));
            assert!(row < elem, "{target} {rows}x{cols}: {row} and {elem}");
        }
    }
}

#[test]
fn undefined_is_free_skip_a_branch_clamp_and_wrap_a_remap() {
    for target in DEVICES {
        for mode in [Coalesce::Row, Coalesce::Elem] {
            let cycles = |oob| scatter(target, mode, (64, 64), &[256, 64]).with(|p| p.with_oob(oob)).cycles();
            let undefined = scatter(target, mode, (64, 64), &[256, 64]).cycles();
            let (skip, clamp) = (cycles(OutOfBounds::Skip), cycles(OutOfBounds::Clamp));
            assert_eq!(undefined, cycles(OutOfBounds::Undefined));
            assert!(undefined < skip && skip < clamp, "{target} {mode:?}: {undefined} {skip} {clamp}");
            assert_eq!(clamp, cycles(OutOfBounds::Wrap));
        }
    }
}

#[test]
fn last_grows_with_the_table_and_default_does_not() {
    for mode in [Coalesce::Row, Coalesce::Elem] {
        let cycles = |rows, conflict| {
            scatter(Target::A5, mode, (16, 64), &[rows, 64]).with(|p| p.with_conflict(conflict)).cycles()
        };
        let last: Vec<u64> = [1 << 10, 1 << 12, 1 << 14].map(|rows| cycles(rows, Conflict::Last)).to_vec();
        assert!(last.is_sorted_by(|a, b| a < b), "{mode:?}: {last:?}");
        assert_eq!(cycles(1 << 10, Conflict::Default), cycles(1 << 14, Conflict::Default));
        assert!(cycles(1 << 10, Conflict::Default) < last[0]);
    }
}

fn warps(report: &Report) -> usize {
    report.launches.iter().map(|launch| launch.warps().len()).sum()
}

#[test]
fn small_tiles_start_the_warps_they_need() {
    let timing = Timing::of(Target::A5).unwrap();
    let run = |mode, shape| {
        let report =
            scatter(Target::A5, mode, shape, &[1024, shape.1]).with(|p| p.with_conflict(Conflict::Default)).run();
        (warps(&report) as u64, report.cycles)
    };
    let warps = |mode, shape| run(mode, shape).0;
    assert_eq!([(1, 8), (2, 32), (16, 32), (32, 32), (64, 64)].map(|s| warps(Coalesce::Elem, s)), [1, 2, 16, 32, 32]);
    assert_eq!([(1, 32), (1, 64), (8, 64), (32, 64), (64, 64)].map(|s| warps(Coalesce::Row, s)), [1, 2, 16, 32, 32]);
    let (one, many) = (run(Coalesce::Elem, (1, 8)).1, run(Coalesce::Elem, (32, 32)).1);
    assert!(one + 31 * timing.warp_launch <= many, "{one} {many}: 31 idle warps are not paid for");
}

#[test]
fn one_element_needs_no_launch() {
    let row = scatter(Target::A5, Coalesce::Elem, (1, 8), &[8, 8]).with(|p| p.with_conflict(Conflict::Default)).run();
    assert_eq!(warps(&row), 1);
    let mut build = FunctionBuilder::new("one");
    let shape = vec![Some(8), Some(8)];
    let view = ViewType { kind: ViewKind::Partition, element: ElementType::F32, shape, strides: None, layout: None };
    let table = build.parameter("table", Type::View(view));
    let src = build.parameter("src", Type::Tile(Tile::new(ElementType::F32, 1, 8).with_valid(1, 1)));
    let idx = build.parameter("idx", Type::Tile(Tile::new(ElementType::I32, 1, 8).with_valid(1, 1)));
    build.push(OpKind::MScatter { table, src, idx, policy: Policy::coalesce(Coalesce::Elem) });
    let module = build.finish();
    let zeros = |name: &str, bytes| (name.to_owned(), Argument::Array(vec![0; bytes]));
    let arguments = BTreeMap::from([zeros("table", 256), zeros("src", 4), zeros("idx", 4)]);
    let single = simulate(&module, &module.functions[0], Target::A5, arguments, &Options::default());
    assert_eq!((single.status, warps(&single)), (Status::Ok, 0));
    assert!(single.cycles < row.cycles);
}

#[test]
fn one_transfer_of_many_bursts_beats_many_transfers() {
    // The same row of 64 elements: one batch of eight block columns, or eight batches of one.
    let cycles = |batches, columns| {
        let mut scatter = scatter(Target::A2A3, Coalesce::Row, (16, 64), &[batches, columns, 4, 16, 8]);
        (scatter.src, scatter.layout) = (scatter.src.nz(), TensorLayout::Nz);
        scatter.cycles()
    };
    let [one, two, eight] = [(1, 8), (2, 4), (8, 1)].map(|(batches, columns)| cycles(batches, columns));
    assert!(one < two && two < eight, "{one} {two} {eight}");
    // And a burst is not free: nd moves the row as one piece.
    let nd = scatter(Target::A2A3, Coalesce::Row, (16, 64), &[64, 64]).cycles();
    assert!(nd < one, "{nd} {one}");
}

#[test]
fn atomic_mode_is_switched_once_and_colliding_updates_wait_for_each_other() {
    let a2a3 =
        |atomic| scatter(Target::A2A3, Coalesce::Row, (64, 64), &[256, 64]).with(|p| p.with_atomic(atomic)).cycles();
    let timing = Timing::of(Target::A2A3).unwrap();
    // Without atomics the scalar unit waits for each row; with them for none, for two switches in all.
    assert_eq!(a2a3(Atomic::None) - a2a3(Atomic::Add), 64 * timing.handshake - 2 * timing.atomic_mode);
    let elem =
        |atomic| scatter(Target::A2A3, Coalesce::Elem, (16, 64), &[256, 64]).with(|p| p.with_atomic(atomic)).cycles();
    assert!(elem(Atomic::None) < elem(Atomic::Add), "an extra read of global memory");
}

/// Blocks copied through one tile, or two by turns.
fn copy(target: Target, tiles: u64) -> Report {
    const BLOCKS: u64 = 16;
    let tile = Tile::new(ElementType::F32, 8, 64);
    let mut build = FunctionBuilder::new("copy");
    let (from, to) = (build.pointer("from", ElementType::F32), build.pointer("to", ElementType::F32));
    let (from, to) = (build.view(from, &[BLOCKS * 8, 64]), build.view(to, &[BLOCKS * 8, 64]));
    let flag = |from, to, tile: u64| Flag { from, to, event: tile as u8 };
    let states: Vec<_> = (0..tiles).map(|at| build.tile_at(tile, (at * 2048) as i64)).collect();
    for at in 0..tiles {
        build.set_flag(flag(Pipe::Mte3, Pipe::Mte2, at));
    }
    for block in 0..BLOCKS {
        let at = block % tiles;
        let offsets = [Operand::Number(block as i64 * 8), Operand::Number(0)];
        let (src, dst) = (build.partition(from, &offsets, &[8, 64]), build.partition(to, &offsets, &[8, 64]));
        build.wait_flag(flag(Pipe::Mte3, Pipe::Mte2, at));
        build.push(OpKind::Load { src, dst: states[at as usize] });
        build.set_flag(flag(Pipe::Mte2, Pipe::Mte3, at)).wait_flag(flag(Pipe::Mte2, Pipe::Mte3, at));
        build.push(OpKind::Store { src: states[at as usize], dst });
        build.set_flag(flag(Pipe::Mte3, Pipe::Mte2, at));
    }
    for at in 0..tiles {
        build.wait_flag(flag(Pipe::Mte3, Pipe::Mte2, at));
    }
    let module = build.finish();
    let bytes = || Argument::Array(vec![1; (BLOCKS * 8 * 64 * 4) as usize]);
    let arguments = BTreeMap::from([("from".to_owned(), bytes()), ("to".to_owned(), bytes())]);
    let report = simulate(&module, &module.functions[0], target, arguments, &Options::default());
    assert_eq!((report.status, report.diagnostics.len()), (Status::Ok, 0), "{:?}", report.diagnostics);
    report
}

#[test]
fn ping_pong_overlaps_loads_and_stores() {
    for target in DEVICES {
        let overlap = |report: &Report| {
            let of = |pipe| report.spans.iter().filter(move |span| span.pipe == pipe);
            of(Pipe::Mte2).any(|load| of(Pipe::Mte3).any(|store| load.start < store.end && store.start < load.end))
        };
        let (one, two) = (copy(target, 1), copy(target, 2));
        assert!(!overlap(&one) && overlap(&two));
        assert!(two.cycles * 10 < one.cycles * 7, "{target}: {} and {}", two.cycles, one.cycles);
        assert_eq!(one.flags.len(), 33, "every wait is in the trace");
    }
}
