//! Every rule of the verifier, broken alone, beside the same function with the one thing put right.

use pto_ir::GroupType;
use pto_ir::check::{RULES, rules};
use pto_ir::{
    Arithmetic, Carried, Collective, Constant, Dispatch, Flag, For, FunctionBuilder, If, LaunchAttributes, Module, Op,
    OpKind, Operand, Pipe, Place, Predicate, Region, Type, Unknown, ValueId, ViewKind, ViewType, check,
};
use pto_isa::{
    BLayout, Coalesce, Direction,
    ElementType::{self, F16, F32, I16, I32},
    Location, Policy, SLayout, Severity, Target, Tile,
};

/// A function that breaks the rule if told so.
struct Case {
    rule: &'static str,
    target: Target,
    build: fn(&mut FunctionBuilder, bool),
}

const fn case(rule: &'static str, target: Target, build: fn(&mut FunctionBuilder, bool)) -> Case {
    Case { rule, target, build }
}

fn module(case: &Case, broken: bool) -> Module {
    let mut build = FunctionBuilder::new("k");
    (case.build)(&mut build, broken);
    build.finish()
}

const TILE: Tile = Tile::new(F32, 8, 32);
const KIB: i64 = 1024;

/// Loads a test tile from the first parameter.
fn load(build: &mut FunctionBuilder, tile: ValueId) {
    let view = build.view(ValueId(0), &[8, 32]);
    build.push(OpKind::Load { src: view, dst: tile });
}

/// Stores a test tile to the first parameter.
fn store(build: &mut FunctionBuilder, tile: ValueId) {
    let view = build.view(ValueId(0), &[8, 32]);
    build.push(OpKind::Store { src: tile, dst: view });
}

fn flag(from: Pipe, to: Pipe, event: u8) -> Flag {
    Flag { from, to, event }
}

fn four_rounds(build: &mut FunctionBuilder) -> [ValueId; 3] {
    [build.index(0), build.index(4), build.index(1)]
}

fn view_type(element: ElementType, shape: &[Option<u64>]) -> ViewType {
    ViewType { kind: ViewKind::Tensor, element, shape: shape.to_vec(), strides: None, layout: None }
}

fn one_dimension(b: &mut FunctionBuilder, element: ElementType, extent: Option<u64>, constant: i64) {
    let pointer = b.pointer("p", F32);
    let result = b.value("v", Type::View(view_type(element, &[extent])));
    let n = b.index(constant);
    b.push(OpKind::MakeView { result, pointer, shape: vec![n.into()], strides: vec![], layout: None });
}

const CASES: &[Case] = &[
    case("type.operand", Target::A5, |b, broken| {
        let p = b.pointer("p", F32);
        let (view, tile) = (b.view(p, &[8, 32]), b.tile(TILE));
        b.push(OpKind::Load { src: view, dst: if broken { view } else { tile } });
    }),
    case("type.undefined", Target::A5, |b, broken| {
        let n = b.size("n");
        let (later, sum) = (b.value("later", Type::Index), b.value("sum", Type::Index));
        let use_it = OpKind::Arithmetic { result: sum, op: Arithmetic::Add, lhs: n, rhs: later };
        let define = OpKind::Constant { result: later, value: Constant::Integer(1) };
        let (first, second) = if broken { (use_it, define) } else { (define, use_it) };
        b.push(first).push(second);
    }),
    case("type.redefined", Target::A5, |b, broken| {
        let (value, other) = (b.value("a", Type::Index), b.value("b", Type::Index));
        b.push(OpKind::Constant { result: value, value: Constant::Integer(1) });
        b.push(OpKind::Constant { result: if broken { value } else { other }, value: Constant::Integer(2) });
    }),
    case("type.arithmetic", Target::A5, |b, broken| {
        let n = b.size("n");
        let m = b.parameter("m", if broken { Type::Scalar(I32) } else { Type::Index });
        b.arithmetic(Arithmetic::Add, n, m);
    }),
    case("type.arithmetic", Target::A5, |b, broken| {
        let n = b.size("n");
        let condition = b.compare(Predicate::Slt, n, n);
        b.if_else(if broken { n } else { condition }, |_| {}, |_| {});
    }),
    case("type.loop", Target::A5, |b, broken| {
        let upper = b.parameter("n", if broken { Type::Scalar(I32) } else { Type::Index });
        let (zero, one) = (b.index(0), b.index(1));
        b.for_loop([zero, upper, one], |_, _| {});
    }),
    case("bounds.step", Target::A5, |b, broken| {
        let (zero, n, step) = (b.index(0), b.index(8), b.index(if broken { 0 } else { 1 }));
        b.for_loop([zero, n, step], |_, _| {});
    }),
    case("type.yield", Target::A5, |b, broken| {
        let range = four_rounds(b);
        b.for_carried(range, &[range[0]], |_, _, inner| if broken { vec![] } else { inner.to_vec() });
    }),
    case("type.yield", Target::A5, |b, broken| {
        let n = b.size("n");
        let condition = b.compare(Predicate::Slt, n, n);
        let result = b.value("r", Type::Index);
        let region = |yields: bool| {
            let op = Op { kind: OpKind::Yield(vec![n]), place: Place::default() };
            Region { ops: if yields { vec![op] } else { vec![] } }
        };
        let (then, otherwise) = (region(true), region(!broken));
        b.push(OpKind::If(Box::new(If { condition, then, otherwise, results: vec![result] })));
    }),
    case("type.terminator", Target::A5, |b, broken| {
        let n = b.size("n");
        if broken {
            b.push(OpKind::Return(vec![]));
        }
        b.arithmetic(Arithmetic::Add, n, n);
    }),
    case("type.return", Target::A5, |b, broken| {
        let n = b.size("n");
        b.push(OpKind::Return(if broken { vec![n] } else { vec![] }));
    }),
    case("type.view", Target::A5, |b, broken| one_dimension(b, if broken { F16 } else { F32 }, Some(8), 8)),
    case("type.view", Target::A5, |b, broken| {
        let p = b.pointer("p", F32);
        let view = b.view(p, &[8, 32]);
        b.partition(view, &vec![Operand::Number(0); if broken { 1 } else { 2 }], &[4, 32]);
    }),
    case("shape.rank", Target::A5, |b, broken| {
        let p = b.pointer("p", F32);
        b.view(p, if broken { &[1; 6] } else { &[1; 5] });
    }),
    case("shape.view", Target::A5, |b, broken| one_dimension(b, F32, Some(8), if broken { 9 } else { 8 })),
    case("shape.negative", Target::A5, |b, broken| one_dimension(b, F32, None, if broken { -1 } else { 8 })),
    case("shape.overflow", Target::A5, |b, broken| {
        let p = b.pointer("p", F32);
        b.view(p, if broken { &[1 << 40, 1 << 40] } else { &[1 << 20, 1 << 20] });
    }),
    case("bounds.partition", Target::A5, |b, broken| {
        let p = b.pointer("p", F32);
        let (view, two) = (b.view(p, &[8, 32]), b.index(2));
        let four = b.arithmetic(Arithmetic::Add, two, two);
        b.partition(view, &[four.into(), Operand::Number(0)], &[if broken { 5 } else { 4 }, 32]);
    }),
    case("bounds.partition", Target::A5, |b, broken| {
        let p = b.pointer("p", F32);
        let view = b.view(p, &[8, 32]);
        b.partition(view, &[Operand::Number(if broken { -1 } else { 0 }), Operand::Number(0)], &[4, 32]);
    }),
    case("bounds.subview", Target::A5, |b, broken| {
        let tile = b.tile(TILE);
        let result = b.value("s", Type::Tile(Tile::new(F32, 4, 32)));
        let offsets = [Operand::Number(if broken { 5 } else { 4 }), Operand::Number(0)];
        let sizes = [Operand::Number(4), Operand::Number(32)];
        b.push(OpKind::Subview { result, source: tile, offsets, sizes });
    }),
    case("bounds.element", Target::A5, |b, broken| {
        let tile = b.tile(TILE);
        let result = b.value("x", Type::Scalar(F32));
        b.push(OpKind::GetValue { result, tile, offset: Operand::Number(if broken { 256 } else { 255 }) });
    }),
    case("type.transfer", Target::A5, |b, broken| {
        let p = b.pointer("p", if broken { F16 } else { F32 });
        let (view, tile) = (b.view(p, &[8, 32]), b.tile(TILE));
        b.push(OpKind::Load { src: view, dst: tile });
    }),
    case("type.transfer", Target::A5, |b, broken| {
        let (src, dst) = (b.tile(TILE), b.tile(Tile::new(if broken { I32 } else { F32 }, 8, 32)));
        b.push(OpKind::Move { src, dst });
    }),
    case("shape.transfer", Target::A5, |b, broken| {
        let p = b.pointer("p", F32);
        let (view, tile) = (b.view(p, &[if broken { 7 } else { 8 }, 32]), b.tile(TILE));
        b.push(OpKind::Store { src: tile, dst: view });
    }),
    case("shape.transfer", Target::A5, |b, broken| {
        let (src, dst) = (b.tile(TILE), b.tile(TILE.with_valid(if broken { 7 } else { 8 }, 32)));
        b.push(OpKind::Move { src, dst });
    }),
    case("shape.valid-static", Target::A5, |b, broken| {
        let tile = b.tile(if broken { TILE } else { TILE.with_dynamic_valid(8, 32) });
        b.push(OpKind::SetValidShape { tile, rows: Operand::Number(4), cols: Operand::Number(32) });
    }),
    case("shape.valid-extent", Target::A5, |b, broken| {
        b.tile(TILE.with_dynamic_valid(if broken { 9 } else { 8 }, 32));
    }),
    case("shape.valid-extent", Target::A5, |b, broken| {
        let tile = b.tile(TILE.with_dynamic_valid(8, 32));
        let rows = Operand::Number(if broken { 9 } else { 4 });
        b.push(OpKind::SetValidShape { tile, rows, cols: Operand::Number(32) });
    }),
    case("layout.location", Target::A5, |b, broken| {
        let p = b.pointer("p", F32);
        let tile = b.tile(Tile { location: if broken { Location::Mat } else { Location::Vec }, ..TILE });
        let view = b.view(p, &[8, 32]);
        b.push(OpKind::Load { src: view, dst: tile });
    }),
    case("align.address", Target::A2A3, |b, broken| {
        b.tile_at(TILE, if broken { 16 } else { 32 });
    }),
    case("budget.ub", Target::A2A3, |b, broken| {
        b.tile_at(TILE, if broken { 192 * KIB - 32 } else { 191 * KIB });
    }),
    case("budget.ub", Target::A5, |b, broken| {
        b.tile_at(TILE, if broken { 128 * KIB } else { 127 * KIB });
    }),
    case("budget.ub", Target::A5, |b, broken| {
        // Two tiles of 80 KiB fit one after the other, not together.
        let p = b.pointer("p", F32);
        let (first, second) = (b.tile(Tile::new(F32, 640, 32)), b.tile(Tile::new(F32, 640, 32)));
        let view = b.view(p, &[640, 32]);
        b.push(OpKind::Load { src: view, dst: first });
        if !broken {
            b.push(OpKind::Store { src: first, dst: view });
        }
        b.push(OpKind::Load { src: view, dst: second });
        b.push(OpKind::Store { src: second, dst: view });
        b.push(OpKind::Store { src: if broken { first } else { second }, dst: view });
    }),
    case("budget.dyn-ub", Target::A5, |b, broken| {
        let dyn_ub = Some(if broken { 216 * 1024 + 1 } else { 216 * 1024 });
        b.launch(LaunchAttributes { dyn_ub, dispatch: Dispatch::Launch });
    }),
    case("launch.dyn-ub-target", Target::A2A3, |b, broken| {
        b.launch(LaunchAttributes { dyn_ub: broken.then_some(1024), dispatch: Dispatch::Launch });
    }),
    case("alias.live", Target::A2A3, |b, broken| {
        b.pointer("p", F32);
        let (first, second) = (b.tile_at(TILE, 0), b.tile_at(TILE, 512));
        load(b, first);
        if !broken {
            store(b, first);
        }
        load(b, second);
        store(b, second);
        store(b, if broken { first } else { second });
    }),
    case("alias.live", Target::A2A3, |b, broken| {
        // The second is written in each round, the first read in the next.
        b.pointer("p", F32);
        let (first, second) = (b.tile_at(TILE, 0), b.tile_at(TILE, if broken { 0 } else { 1024 }));
        load(b, first);
        let range = four_rounds(b);
        b.for_loop(range, |b, _| {
            store(b, first);
            load(b, second);
            store(b, second);
        });
    }),
    case("alias.live", Target::A2A3, |b, broken| {
        b.pointer("p", F32);
        let (src, dst) = (b.tile_at(TILE, 0), b.tile_at(TILE, if broken { 32 } else { 1024 }));
        load(b, src);
        b.push(OpKind::Move { src, dst });
    }),
    case("alias.mixed-placement", Target::A2A3, |b, broken| {
        b.tile_at(TILE, 0);
        if broken {
            b.tile(TILE);
        } else {
            b.tile_at(TILE, 1024);
        }
    }),
    case("uninit.address", Target::A2A3, |b, broken| {
        b.pointer("p", F32);
        let tile = b.tile(TILE);
        let assign = OpKind::Assign { tile, address: Operand::Number(0) };
        if !broken {
            b.push(assign.clone());
        }
        load(b, tile);
        if broken {
            b.push(assign);
        }
    }),
    case("launch.direct-dispatch", Target::A5, |b, broken| {
        // A single element goes through the scalar unit, without SIMT.
        b.launch(LaunchAttributes { dyn_ub: None, dispatch: Dispatch::Direct });
        let p = b.pointer("p", F32);
        let table = b.view(p, &[64, 32]);
        let (rows, cols) = if broken { (8, 32) } else { (1, 1) };
        let src = b.tile(TILE.with_valid(rows, cols));
        let idx = b.tile(Tile::new(I32, 8, 32).with_valid(rows, cols));
        b.push(OpKind::MScatter { table, src, idx, policy: Policy::coalesce(Coalesce::Elem) });
    }),
    case("sync.event-range", Target::A5, |b, broken| {
        let flag = flag(Pipe::V, Pipe::S, if broken { 8 } else { 7 });
        b.set_flag(flag).wait_flag(flag);
    }),
    case("sync.same-pipe", Target::A5, |b, broken| {
        let flag = flag(Pipe::V, if broken { Pipe::V } else { Pipe::S }, 0);
        b.set_flag(flag).wait_flag(flag);
    }),
    case("sync.pipe", Target::A5, |b, broken| {
        let flag = flag(Pipe::V, if broken { Pipe::All } else { Pipe::S }, 0);
        b.set_flag(flag).wait_flag(flag);
    }),
    case("unsupported.op", Target::A5, |b, broken| {
        let tile = b.tile(TILE);
        if broken {
            let unknown = Unknown { name: "pto.tadd".into(), operands: vec![tile], results: vec![] };
            b.push(OpKind::Unknown(Box::new(unknown)));
        }
    }),
    case("unsupported.nesting", Target::A5, |b, broken| {
        let range = four_rounds(b);
        nest(b, range, if broken { 257 } else { 256 });
    }),
    // Rules of the instruction set reach the program's diagnostics.
    case("shape.index-coalesce", Target::A5, |b, broken| {
        let p = b.pointer("p", F32);
        let table = b.view(p, &[64, 32]);
        let (src, idx) = (b.tile(TILE), b.tile(Tile::new(I32, 1, if broken { 16 } else { 8 })));
        b.push(OpKind::MScatter { table, src, idx, policy: Policy::coalesce(Coalesce::Row) });
    }),
    case("policy.coalesce-implicit", Target::A5, |b, broken| {
        let p = b.pointer("p", F32);
        let table = b.view(p, &[64, 32]);
        let (dst, idx) = (b.tile(TILE), b.tile(Tile::new(I32, 1, 8)));
        let policy = if broken { Policy::default() } else { Policy::coalesce(Coalesce::Row) };
        b.push(OpKind::MGather { dst, table, idx, policy });
    }),
    case("layout.packed", Target::A5, |b, broken| {
        // A window has the strides of the view that it is cut from.
        let p = b.pointer("p", F32);
        let view = b.view(p, &[64, if broken { 64 } else { 32 }]);
        let table = b.partition(view, &[Operand::Number(8), Operand::Number(0)], &[16, 32]);
        let (src, idx) = (b.tile(TILE), b.tile(Tile::new(I32, 1, 8)));
        b.push(OpKind::MScatter { table, src, idx, policy: Policy::coalesce(Coalesce::Row) });
    }),
    case("type.index-width", Target::A5, |b, broken| {
        let (dst, src) = (b.tile(TILE), b.tile(TILE));
        let idx = b.tile(Tile::new(if broken { I16 } else { I32 }, 8, 32));
        b.push(OpKind::TScatter { dst, src, idx });
    }),
    case("alias.clear", Target::A5, |b, broken| {
        let (dst, src) = (b.tile_at(TILE, 0), b.tile_at(TILE, if broken { 512 } else { 1024 }));
        let idx = b.tile_at(Tile::new(I32, 8, 32), 4096);
        b.push(OpKind::TScatter { dst, src, idx });
    }),
    case("layout.tscatter-box", Target::Host, |b, broken| {
        let (dst, idx) = (b.tile(TILE), b.tile(Tile::new(I32, 8, 32)));
        let layout = if broken { SLayout::RowMajor } else { SLayout::NoneBox };
        let src = b.tile(TILE.with_layout(BLayout::RowMajor, layout));
        b.push(OpKind::TScatter { dst, src, idx });
    }),
    case("comm.root", Target::A5, |b, broken| collective(b, if broken { 2 } else { 1 }, 4)),
    case("comm.root", Target::A5, |b, broken| collective(b, if broken { -1 } else { 1 }, 4)),
    case("comm.divide-rows", Target::A5, |b, broken| collective(b, 0, if broken { 3 } else { 2 })),
    case("comm.root-rows", Target::A5, |b, broken| {
        // How many ranks a group parameter has is not known, but its root is one of them.
        let src = b.pointer("src", F32);
        let group =
            b.parameter("g", Type::Group(GroupType { ranks: None, view: view_type(F32, &[Some(4), Some(32)]) }));
        let local = b.view(src, &[8, 32]);
        let staging = vec![b.tile(Tile::new(F32, 4, 32))];
        let root = Operand::Number(if broken { 2 } else { 1 });
        let call = Collective { direction: Direction::Scatter, local, group: vec![group], staging, root };
        b.push(OpKind::Collective(Box::new(call)));
    }),
];

fn nest(build: &mut FunctionBuilder, range: [ValueId; 3], depth: usize) {
    if depth > 0 {
        build.for_loop(range, |build, _| nest(build, range, depth - 1));
    }
}

fn collective(build: &mut FunctionBuilder, root: i64, rows: u64) {
    let (src, a, b) = (build.pointer("src", F32), build.pointer("a", F32), build.pointer("b", F32));
    let (local, a, b) = (build.view(src, &[8, 32]), build.view(a, &[4, 32]), build.view(b, &[4, 32]));
    let staging = vec![build.tile(Tile::new(F32, rows, 32))];
    let root = Operand::Number(root);
    let call = Collective { direction: Direction::Scatter, local, group: vec![a, b], staging, root };
    build.push(OpKind::Collective(Box::new(call)));
}

#[test]
fn each_rule_is_broken_alone_and_its_twin_passes() {
    for (at, case) in CASES.iter().enumerate() {
        let broken = check(&module(case, true), case.target);
        let names: Vec<_> = broken.iter().map(|found| found.rule.name).collect();
        assert!(names.contains(&case.rule), "case {at}, {}: found {names:?}", case.rule);
        let other: Vec<_> = broken.iter().filter(|found| found.rule.name != case.rule).collect();
        assert!(other.iter().all(|found| found.severity < Severity::Error), "case {at}, {}: {other:?}", case.rule);
        let passing = check(&module(case, false), case.target);
        assert!(
            passing.iter().all(|found| found.severity < Severity::Error && found.rule.name != case.rule),
            "case {at}, {}: {passing:?}",
            case.rule
        );
    }
}

#[test]
fn every_rule_has_a_case() {
    // Needs a module that names its target, which the cases do not.
    let elsewhere = [rules::TARGET_MISMATCH.name];
    for rule in RULES {
        let covered = CASES.iter().any(|case| case.rule == rule.name) || elsewhere.contains(&rule.name);
        assert!(covered, "{} has no case", rule.name);
    }
}

#[test]
fn rules_are_named_and_explained() {
    for (at, rule) in RULES.iter().enumerate() {
        let prefix = rule.name.split('.').next().unwrap();
        assert!(pto_isa::rule::PREFIXES.contains(&prefix), "{}", rule.name);
        assert!(RULES[..at].iter().all(|other| other.name != rule.name), "{} twice", rule.name);
        assert!(pto_isa::rules::all().all(|other| other.name != rule.name), "{} is the instruction set's", rule.name);
        assert!(rule.summary.len() > 15 && rule.help.len() > 15 && rule.spec.len() > 15, "{}", rule.name);
    }
}

#[test]
fn another_target_than_the_module_names_is_noted() {
    let mut module = FunctionBuilder::new("k").finish();
    module.target = Some(Target::A5);
    assert!(check(&module, Target::A5).is_empty());
    let found = check(&module, Target::A2A3);
    assert_eq!((found.len(), found[0].rule, found[0].severity), (1, &rules::TARGET_MISMATCH, Severity::Note));
}

#[test]
fn a_finding_shows_where_its_operand_was_defined() {
    let case = CASES.iter().find(|case| case.rule == "shape.index-coalesce").unwrap();
    let module = module(case, true);
    let found = check(&module, case.target).into_iter().find(|found| found.rule.name == case.rule).unwrap();
    let scatter = module.functions[0].body.ops.iter().find(|op| matches!(op.kind, OpKind::MScatter { .. })).unwrap();
    assert_eq!(found.place, scatter.place);
    assert_eq!(found.target, Some(Target::A5));
    assert!(found.labels[0].1.contains("is defined here: tile<vec i32 1x16"), "{:?}", found.labels);
}

/// Reuse in turn, rounds that begin anew, branches that exclude each other, bytes read through another tile, windows.
#[test]
fn tiles_that_share_bytes_in_turn_are_fine() {
    let move_through = |b: &mut FunctionBuilder, tile| {
        load(b, tile);
        store(b, tile);
    };
    for pattern in 0..5 {
        let mut b = FunctionBuilder::new("k");
        let p = b.pointer("p", F32);
        let (first, second) = (b.tile_at(TILE, 0), b.tile_at(TILE, 0));
        match pattern {
            0 => [first, second, first, second].into_iter().for_each(|tile| move_through(&mut b, tile)),
            1 => {
                let range = four_rounds(&mut b);
                b.for_loop(range, |b, _| [first, second].into_iter().for_each(|tile| move_through(b, tile)));
            }
            2 => {
                let zero = b.index(0);
                let condition = b.compare(Predicate::Eq, zero, zero);
                b.if_else(condition, |b| move_through(b, first), |b| move_through(b, second));
            }
            3 => {
                load(&mut b, first);
                store(&mut b, second);
            }
            _ => {
                let part = b.value("part", Type::Tile(Tile::new(F32, 4, 32)));
                let (offsets, sizes) = ([4, 0].map(Operand::Number), [4, 32].map(Operand::Number));
                b.push(OpKind::Subview { result: part, source: first, offsets, sizes });
                load(&mut b, first);
                let view = b.view(p, &[4, 32]);
                b.push(OpKind::Load { src: view, dst: part });
                store(&mut b, first);
            }
        }
        let found = check(&b.finish(), Target::A2A3);
        assert!(found.is_empty(), "pattern {pattern}: {found:?}");
    }
}

#[test]
fn what_only_the_run_knows_is_not_guessed() {
    let mut b = FunctionBuilder::new("k");
    let (pointer, n) = (b.pointer("p", F32), b.size("n"));
    let view = b.value("v", Type::View(view_type(F32, &[None, None])));
    b.push(OpKind::MakeView { result: view, pointer, shape: vec![n.into(); 2], strides: vec![], layout: None });
    let window = b.partition(view, &[n.into(), n.into()], &[8, 32]);
    let (src, idx) = (b.value("t", Type::Tile(TILE)), b.value("i", Type::Tile(Tile::new(I32, 1, 8))));
    for result in [src, idx] {
        b.push(OpKind::AllocTile { result, address: Some(n.into()), valid_rows: None, valid_cols: None });
    }
    b.push(OpKind::Load { src: window, dst: src });
    b.push(OpKind::MScatter { table: window, src, idx, policy: Policy::coalesce(Coalesce::Row) });
    let module = b.finish();
    for target in [Target::A2A3, Target::A5, Target::Host] {
        let found = check(&module, target);
        assert!(found.is_empty(), "{target}: {found:?}");
    }
}

/// Values that do not exist, types of another operation, loops that carry anything: reported, never a panic.
#[test]
fn malformed_programs_are_reported() {
    let far = ValueId(1 << 20);
    let mut b = FunctionBuilder::new("k");
    let (n, tile) = (b.size("n"), b.tile(TILE));
    b.push(OpKind::Load { src: far, dst: tile });
    b.push(OpKind::Arithmetic { result: far, op: Arithmetic::Div, lhs: n, rhs: tile });
    b.push(OpKind::For(Box::new(For {
        induction: far,
        lower: n,
        upper: tile,
        step: far,
        carried: vec![Carried { initial: tile, inner: n, result: far }],
        body: Region::default(),
    })));
    b.push(OpKind::Collective(Box::new(Collective {
        direction: Direction::Gather,
        local: tile,
        group: vec![],
        staging: vec![n; 3],
        root: Operand::Value(tile),
    })));
    b.push(OpKind::Yield(vec![n]));
    let module = b.finish();
    for target in Target::ALL {
        assert!(check(&module, *target).len() > 4);
    }
}
