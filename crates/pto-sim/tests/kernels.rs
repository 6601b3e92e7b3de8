//! Small kernels, each with one planted bug and a clean twin.

use std::collections::BTreeMap;

use pto_ir::{Dispatch, Flag, Function, Module, Op, OpKind, Operand, Pipe, Place, Type, ValueId, ViewKind, ViewType};
use pto_isa::{Atomic, Coalesce, Conflict, ElementType, OutOfBounds, Policy, Target, Tile};
use pto_sim::{Argument, Options, Report, Status, simulate};

/// A function under construction; the place of an operation is its number.
struct Kernel {
    module: Module,
    function: Function,
}

const TABLE_ROWS: u64 = 16;

impl Kernel {
    fn new() -> Self {
        let function = Function { name: "kernel".into(), ..Function::default() };
        Self { module: Module::default(), function }
    }

    fn define(&mut self, name: &str, ty: Type) -> ValueId {
        let ty = self.module.types.intern(ty);
        self.function.define(name, ty, Place::default())
    }

    fn parameter(&mut self, name: &str, element: ElementType, shape: &[u64]) -> ValueId {
        self.function.parameters += 1;
        let shape = shape.iter().map(|extent| Some(*extent)).collect();
        let view = ViewType { kind: ViewKind::Partition, element, shape, strides: None, layout: None };
        self.define(name, Type::View(view))
    }

    fn tile(&mut self, name: &str, tile: Tile, address: u64) -> ValueId {
        let result = self.define(name, Type::Tile(tile));
        let address = Some(Operand::Number(address as i64));
        self.op(OpKind::AllocTile { result, address, valid_rows: None, valid_cols: None });
        result
    }

    /// Adds an operation and returns its number.
    fn op(&mut self, kind: OpKind) -> u32 {
        let number = self.function.body.ops.len() as u32;
        self.function.body.ops.push(Op { kind, place: Place::new(number, number) });
        number
    }

    fn flag(&mut self, from: Pipe, to: Pipe, event: u8) -> (u32, u32) {
        let flag = Flag { from, to, event };
        (self.op(OpKind::SetFlag(flag)), self.op(OpKind::WaitFlag(flag)))
    }

    fn run(self, target: Target, arguments: &[(&str, Argument)], options: &Options<'_>) -> Report {
        let arguments: BTreeMap<String, Argument> =
            arguments.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        simulate(&self.module, &self.function, target, arguments, options)
    }
}

fn floats(values: impl IntoIterator<Item = f32>) -> Argument {
    Argument::Array(values.into_iter().flat_map(f32::to_le_bytes).collect())
}

fn integers(values: impl IntoIterator<Item = i32>) -> Argument {
    Argument::Array(values.into_iter().flat_map(i32::to_le_bytes).collect())
}

fn rules(report: &Report) -> Vec<&'static str> {
    report.diagnostics.iter().map(|d| d.rule.name).collect()
}

/// What one kernel of the family below leaves out or does differently.
#[derive(Clone, Copy, Default)]
struct Plan {
    no_load_wait: bool,
    no_source_load: bool,
    no_flush: bool,
    overlap: bool,
    event0_pending: bool,
    double_set: bool,
    direct: bool,
    policy: Option<Policy>,
    store_after: bool,
    no_store_wait: bool,
}

/// Loads four rows and their indices, scatters them, optionally stores the source somewhere else.
fn scatter(target: Target, plan: Plan, indices: [i32; 4]) -> Report {
    let mut k = Kernel::new();
    let table = k.parameter("table", ElementType::F32, &[TABLE_ROWS, 8]);
    let source = k.parameter("source", ElementType::F32, &[4, 8]);
    let index = k.parameter("index", ElementType::I32, &[1, 4]);
    let copy = k.parameter("copy", ElementType::F32, &[4, 8]);
    let src = k.tile("src", Tile::new(ElementType::F32, 4, 8), 0);
    let idx_tile = Tile::new(ElementType::I32, 1, 8).with_valid(1, 4);
    let idx = k.tile("idx", idx_tile, if plan.overlap { 96 } else { 128 });
    if !plan.no_source_load {
        k.op(OpKind::Load { src: source, dst: src });
    }
    k.op(OpKind::Load { src: index, dst: idx });
    if !plan.no_load_wait {
        k.flag(Pipe::Mte2, Pipe::V, 1);
    }
    if plan.event0_pending {
        k.op(OpKind::SetFlag(Flag { from: Pipe::V, to: Pipe::S, event: 0 }));
    }
    if plan.double_set {
        k.op(OpKind::SetFlag(Flag { from: Pipe::V, to: Pipe::Mte3, event: 3 }));
        k.op(OpKind::SetFlag(Flag { from: Pipe::V, to: Pipe::Mte3, event: 3 }));
        k.op(OpKind::WaitFlag(Flag { from: Pipe::V, to: Pipe::Mte3, event: 3 }));
    }
    k.function.launch.dispatch = if plan.direct { Dispatch::Direct } else { Dispatch::Launch };
    let policy = plan.policy.unwrap_or(Policy::coalesce(Coalesce::Row));
    k.op(OpKind::MScatter { table, src, idx, policy });
    if plan.store_after {
        if !plan.no_store_wait {
            k.flag(Pipe::Mte2, Pipe::Mte3, 2);
        }
        k.op(OpKind::Store { src, dst: copy });
    }
    if plan.event0_pending {
        k.op(OpKind::WaitFlag(Flag { from: Pipe::V, to: Pipe::S, event: 0 }));
    }
    if !plan.no_flush {
        k.op(OpKind::FlushCache);
        k.op(OpKind::DataBarrier);
    }
    let arguments = [
        ("table", floats((0..TABLE_ROWS * 8).map(|_| 0.0))),
        ("source", floats((0..32).map(|i| i as f32))),
        ("index", integers(indices)),
        ("copy", floats((0..32).map(|_| 0.0))),
    ];
    k.run(target, &arguments, &Options::default())
}

const UNIQUE: [i32; 4] = [3, 1, 7, 0];

#[test]
fn a_clean_kernel_runs_without_a_word_and_scatters_its_rows() {
    for target in [Target::A2A3, Target::A5, Target::Host] {
        let report = scatter(target, Plan::default(), UNIQUE);
        assert_eq!((report.status, rules(&report)), (Status::Ok, vec![]), "{target}: {:#?}", report.diagnostics);
        let table: Vec<f32> =
            report.buffers[0].1.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(table[3 * 8..4 * 8], (0..8).map(|i| i as f32).collect::<Vec<_>>());
        assert_eq!(table[0], 24.0);
        assert_eq!(report.lanes.written, 4);
        assert_eq!(report.cycles > 0, target != Target::Host);
    }
}

#[test]
fn a_missing_wait_after_the_loads_is_a_race_at_both_places() {
    for target in [Target::A2A3, Target::A5] {
        let report = scatter(target, Plan { no_load_wait: true, ..Plan::default() }, UNIQUE);
        assert_eq!(report.status, Status::Fault);
        assert!(rules(&report).iter().all(|rule| *rule == "race.ub"), "{:?}", rules(&report));
        let first = &report.diagnostics[0];
        assert_eq!((first.place.start, first.labels[0].0.start), (4, 2), "{first:?}");
    }
}

#[test]
fn bytes_that_nothing_wrote_are_found() {
    let report = scatter(Target::A5, Plan { no_source_load: true, ..Plan::default() }, UNIQUE);
    assert_eq!(rules(&report), ["uninit.read"]);
}

#[test]
fn a_tile_that_another_one_overwrote_is_found() {
    let report = scatter(Target::A5, Plan { overlap: true, ..Plan::default() }, UNIQUE);
    assert_eq!(rules(&report), ["alias.clobbered"]);
}

#[test]
fn a_missing_flush_is_a_warning_on_a5_only() {
    let plan = Plan { no_flush: true, ..Plan::default() };
    let report = scatter(Target::A5, plan, UNIQUE);
    assert_eq!((report.status, rules(&report)), (Status::Ok, vec!["flush.missing"]));
    assert_eq!(rules(&scatter(Target::A2A3, plan, UNIQUE)), [""; 0]);
}

#[test]
fn a_pending_event_zero_collides_with_the_handshakes_inside() {
    let plan = Plan { event0_pending: true, ..Plan::default() };
    assert_eq!(rules(&scatter(Target::A2A3, plan, UNIQUE)), ["sync.event-collision"]);
    assert_eq!(rules(&scatter(Target::A5, plan, UNIQUE)), [""; 0], "a5 has no handshake inside");
}

#[test]
fn a_flag_set_twice_is_found() {
    assert_eq!(rules(&scatter(Target::A5, Plan { double_set: true, ..Plan::default() }, UNIQUE)), ["sync.double-set"]);
}

#[test]
fn a_direct_dispatch_hangs_on_a5() {
    let plan = Plan { direct: true, ..Plan::default() };
    assert_eq!(rules(&scatter(Target::A5, plan, UNIQUE)), ["launch.direct-dispatch"]);
    assert_eq!(rules(&scatter(Target::A2A3, plan, UNIQUE)), [""; 0]);
}

#[test]
fn an_out_of_range_lane_faults_and_leaves_the_table_alone() {
    let report = scatter(Target::A5, Plan::default(), [1, 2, 16, 3]);
    assert_eq!((report.status, rules(&report)), (Status::Fault, vec!["bounds.lane"]));
    assert!(report.buffers[0].1.iter().all(|byte| *byte == 0));
}

#[test]
fn a_negative_lane_is_noted() {
    let policy = Policy::coalesce(Coalesce::Row).with_oob(OutOfBounds::Skip);
    let report = scatter(Target::A5, Plan { policy: Some(policy), ..Plan::default() }, [1, -1, 2, 3]);
    assert_eq!((report.status, rules(&report)), (Status::Ok, vec!["bounds.negative-lane"]));
    assert_eq!((report.lanes.written, report.lanes.skipped), (3, 1));
}

#[test]
fn colliding_lanes_under_default_are_nondeterministic_on_a5() {
    let policy = Policy::coalesce(Coalesce::Row).with_conflict(Conflict::Default);
    let plan = Plan { policy: Some(policy), ..Plan::default() };
    assert_eq!(rules(&scatter(Target::A5, plan, [1, 1, 2, 3])), ["conflict.nondeterministic"]);
    assert_eq!(rules(&scatter(Target::A5, plan, UNIQUE)), [""; 0]);
    let add = Plan { policy: Some(Policy::coalesce(Coalesce::Row).with_atomic(Atomic::Add)), ..Plan::default() };
    assert_eq!(rules(&scatter(Target::A5, add, [1, 1, 2, 3])), ["conflict.nondeterministic"]);
    assert_eq!(rules(&scatter(Target::A2A3, add, [1, 1, 2, 3])), [""; 0], "a2a3 adds in order");
    assert_eq!(scatter(Target::A2A3, add, [1, 1, 2, 3]).lanes.collisions, 1);
}

#[test]
fn a_store_needs_its_own_order_after_the_load() {
    let plan = Plan { store_after: true, ..Plan::default() };
    assert_eq!(rules(&scatter(Target::A5, plan, UNIQUE)), [""; 0]);
    let report = scatter(Target::A5, Plan { no_store_wait: true, ..plan }, UNIQUE);
    assert_eq!(rules(&report), ["race.ub"]);
    assert_eq!(report.diagnostics[0].labels[0].0.start, 2);
}

#[test]
fn a_wait_that_nothing_satisfies_is_a_deadlock_that_names_the_flag() {
    let mut k = Kernel::new();
    k.op(OpKind::WaitFlag(Flag { from: Pipe::V, to: Pipe::Mte3, event: 2 }));
    let report = k.run(Target::A5, &[], &Options::default());
    assert_eq!(rules(&report), ["sync.deadlock"]);
    assert!(
        report.diagnostics[0].message.contains("PIPE_V -> PIPE_MTE3 EVENT_ID2"),
        "{}",
        report.diagnostics[0].message
    );
    let mut k = Kernel::new();
    k.op(OpKind::SetFlag(Flag { from: Pipe::V, to: Pipe::Mte3, event: 2 }));
    assert_eq!(rules(&k.run(Target::A5, &[], &Options::default())), ["sync.never-waited"]);
}

#[test]
fn a_set_that_comes_later_in_program_order_still_satisfies_a_wait() {
    let mut k = Kernel::new();
    let flag = Flag { from: Pipe::V, to: Pipe::Mte3, event: 2 };
    k.op(OpKind::WaitFlag(flag));
    k.op(OpKind::SetFlag(flag));
    assert_eq!(rules(&k.run(Target::A5, &[], &Options::default())), [""; 0]);
}

#[test]
fn a_barrier_never_returns_from_a_pipe_that_hangs() {
    let mut k = Kernel::new();
    let flag = Flag { from: Pipe::V, to: Pipe::Mte3, event: 2 };
    let wait = k.op(OpKind::WaitFlag(flag));
    k.op(OpKind::Barrier(Pipe::All));
    k.op(OpKind::SetFlag(flag));
    let report = k.run(Target::A5, &[], &Options::default());
    assert_eq!(rules(&report), ["sync.deadlock"]);
    assert_eq!(report.diagnostics[0].place.start, wait);
}

#[test]
fn a_hang_points_to_the_flag_that_was_set_instead() {
    let mut k = Kernel::new();
    let set = k.op(OpKind::SetFlag(Flag { from: Pipe::V, to: Pipe::Mte3, event: 2 }));
    k.op(OpKind::SetFlag(Flag { from: Pipe::S, to: Pipe::Mte2, event: 2 }));
    k.op(OpKind::WaitFlag(Flag { from: Pipe::V, to: Pipe::Mte3, event: 3 }));
    let report = k.run(Target::A5, &[], &Options::default());
    assert_eq!(rules(&report), ["sync.deadlock"]);
    let labels: Vec<u32> = report.diagnostics[0].labels.iter().map(|(place, _)| place.start).collect();
    assert_eq!(labels, [set], "flags of other pipes have nothing to do with it");
}

#[test]
fn a_scalar_read_of_an_unwritten_element_is_found() {
    for written in [false, true] {
        let mut k = Kernel::new();
        let tile = k.tile("tile", Tile::new(ElementType::I32, 1, 8), 0);
        let x = k.define("x", Type::Scalar(ElementType::I32));
        k.op(OpKind::Constant { result: x, value: pto_ir::Constant::Integer(5) });
        let offset = Operand::Number(3);
        if written {
            k.op(OpKind::SetValue { tile, offset, value: x });
        }
        let y = k.define("y", Type::Scalar(ElementType::I32));
        k.op(OpKind::GetValue { result: y, tile, offset });
        for target in [Target::Cpu, Target::A2A3] {
            let report = simulate(&k.module, &k.function, target, BTreeMap::new(), &Options::default());
            assert_eq!(rules(&report), if written { vec![] } else { vec!["uninit.read"] });
        }
    }
}

#[test]
fn a_view_beyond_its_buffer_is_found_before_anything_runs() {
    let mut k = Kernel::new();
    k.function.parameters = 1;
    let to = k.define("to", Type::Pointer(ElementType::F32));
    let x = k.define("x", Type::Scalar(ElementType::F32));
    k.op(OpKind::Constant { result: x, value: pto_ir::Constant::Float(1.5) });
    k.op(OpKind::StoreScalar { pointer: to, offset: Operand::Number(0), value: x });
    let shape = vec![Some(9), Some(8)];
    let ty = ViewType { kind: ViewKind::Tensor, element: ElementType::F32, shape, strides: None, layout: None };
    let view = k.define("view", Type::View(ty));
    let number = |numbers: &[i64]| numbers.iter().map(|n| Operand::Number(*n)).collect();
    let (shape, strides) = (number(&[9, 8]), number(&[8, 1]));
    let place = k.op(OpKind::MakeView { result: view, pointer: to, shape, strides, layout: None });
    let report = k.run(Target::A5, &[("to", floats([0.0; 64]))], &Options::default());
    assert_eq!((rules(&report), report.instructions), (vec!["bounds.buffer"], 0));
    assert_eq!(report.diagnostics[0].place.start, place);
    assert!(report.buffers[0].1.iter().all(|byte| *byte == 0));
}

/// What 001 says in words comes out in cycles.
#[test]
fn cycles_follow_the_specification() {
    let cycles = |target, policy, indices| {
        let report = scatter(target, Plan { policy: Some(policy), ..Plan::default() }, indices);
        assert_eq!(report.status, Status::Ok, "{:?}", report.diagnostics);
        report.cycles
    };
    let row = Policy::coalesce(Coalesce::Row);
    for target in [Target::A2A3, Target::A5] {
        let with = |oob| cycles(target, row.with_oob(oob), UNIQUE);
        let undefined = cycles(target, row, UNIQUE);
        assert!(undefined <= with(OutOfBounds::Skip));
        assert!(with(OutOfBounds::Skip) <= with(OutOfBounds::Clamp));
        assert_eq!(with(OutOfBounds::Clamp), with(OutOfBounds::Wrap));
    }
}

/// A scatter to three ranks through staging tiles of two rows.
fn collective(staging: usize, target: Target) -> Report {
    let mut k = Kernel::new();
    let local = k.parameter("local", ElementType::F32, &[12, 8]);
    let group: Vec<ValueId> =
        (0..3).map(|rank| k.parameter(&format!("rank{rank}"), ElementType::F32, &[4, 8])).collect();
    let tile = Tile::new(ElementType::F32, 2, 8);
    let staging = (0..staging).map(|i| k.tile(&format!("staging{i}"), tile, i as u64 * 64)).collect();
    let direction = pto_isa::Direction::Scatter;
    k.op(OpKind::Collective(Box::new(pto_ir::Collective {
        direction,
        local,
        group,
        staging,
        root: Operand::Number(0),
    })));
    let mut arguments = vec![("local", floats((0..96).map(|i| i as f32)))];
    arguments.extend(["rank0", "rank1", "rank2"].map(|name| (name, floats((0..32).map(|_| 0.0)))));
    k.run(target, &arguments, &Options::default())
}

#[test]
fn a_collective_moves_every_row_and_ping_pong_overlaps() {
    for target in Target::ALL {
        for staging in [1, 2] {
            let report = collective(staging, *target);
            assert_eq!((report.status, rules(&report)), (Status::Ok, vec![]));
            for rank in 0..3 {
                let expected: Vec<u8> = (0..32).flat_map(|i| ((rank * 32 + i) as f32).to_le_bytes()).collect();
                assert_eq!(report.buffers[1 + rank].1, expected, "{target} rank {rank}");
            }
        }
    }
    for target in [Target::A2A3, Target::A5] {
        let (single, double) = (collective(1, target), collective(2, target));
        assert!(double.cycles * 3 < single.cycles * 2, "{} {}", double.cycles, single.cycles);
        let overlap = |report: &Report| {
            let spans = |pipe| report.spans.iter().filter(move |s| s.pipe == pipe);
            spans(Pipe::Mte2)
                .any(|load| spans(Pipe::Mte3).any(|store| load.start < store.end && store.start < load.end))
        };
        assert!(overlap(&double) && !overlap(&single));
    }
}

/// The peak is where tiles end, padding included, whether or not anybody looks at what they hold.
#[test]
fn the_peak_of_ub_is_the_same_without_sanitizers() {
    for (sanitize, target) in [(true, Target::A5), (false, Target::A5), (true, Target::Host), (false, Target::Host)] {
        let mut kernel = Kernel::new();
        let from = kernel.parameter("from", ElementType::F32, &[8, 8]);
        let tile = kernel.tile("tile", Tile::new(ElementType::F32, 8, 32).with_valid(8, 8), 0x400);
        kernel.op(OpKind::Load { src: from, dst: tile });
        let options = Options { sanitize, ..Options::default() };
        let report = kernel.run(target, &[("from", floats([1.0; 64]))], &options);
        assert_eq!((report.status, report.ub_peak), (Status::Ok, 0x800), "{target}: {:?}", report.diagnostics);
    }
}
