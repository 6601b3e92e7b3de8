//! Programs that nobody would write: random operations on random values. The checker reports, never panics; what it
//! lets through is lowered without a panic, and the result passes again.

use proptest::prelude::*;
use pto_ir::GroupType;
use pto_ir::{
    Arithmetic, Carried, Collective, Constant, Flag, For, FunctionBuilder, If, Module, Op, OpKind, Operand, Pipe,
    Place, Predicate, Region, Type, Unknown, ValueId, ViewKind, ViewType, check, lower,
};
use pto_isa::ElementType::{F16, F32, I32};
use pto_isa::{Coalesce, Direction, Extent, Location, MaskPattern, Policy, Severity, Target, Tile};

/// An operation by numbers: which, with which values, and with what number.
type Wild = (u8, [u8; 6], i64);

fn wild() -> impl Strategy<Value = Wild> {
    let numbers = prop_oneof![
        4 => 0..64i64,
        1 => Just(-1),
        1 => Just(1 << 40),
        1 => Just(i64::MAX),
        1 => Just(i64::MIN),
    ];
    (0..36u8, any::<[u8; 6]>(), numbers)
}

fn types() -> Vec<Type> {
    let view = |shape: &[Option<u64>]| ViewType {
        kind: ViewKind::MemRef,
        element: F32,
        shape: shape.to_vec(),
        strides: None,
        layout: None,
    };
    let open = Tile { valid_rows: Extent::Dynamic(None), valid_cols: Extent::Dynamic(None), ..Tile::new(F32, 8, 32) };
    vec![
        Type::Index,
        Type::Boolean,
        Type::Scalar(F32),
        Type::Scalar(I32),
        Type::Pointer(F32),
        Type::Pointer(I32),
        Type::View(view(&[Some(64), Some(32)])),
        Type::View(view(&[None, None])),
        Type::View(view(&[Some(u64::MAX); 5])),
        Type::View(view(&[])),
        Type::Group(GroupType { ranks: None, view: view(&[Some(8), Some(32)]) }),
        Type::Tile(Tile::new(F32, 8, 32)),
        Type::Tile(open),
        Type::Tile(Tile::new(I32, 1, 8)),
        Type::Tile(Tile::new(I32, 8, 32)),
        Type::Tile(Tile::new(F16, u64::MAX, u64::MAX)),
        Type::Tile(Tile { location: Location::Mat, ..Tile::new(F32, 16, 16) }),
        Type::Event,
        Type::Opaque("!other.type".into()),
    ]
}

struct Maker {
    values: u32,
    results: u32,
}

impl Maker {
    fn value(&self, byte: u8) -> ValueId {
        // A few that do not exist.
        ValueId(u32::from(byte) % (self.values + 2))
    }

    /// Mostly a value of its own, so that definitions do not collide all the time.
    fn result(&mut self, byte: u8) -> ValueId {
        self.results += 1;
        if byte.is_multiple_of(16) { self.value(byte) } else { ValueId((self.results * 7) % self.values) }
    }

    fn operand(&self, byte: u8, number: i64) -> Operand {
        if byte.is_multiple_of(2) { Operand::Value(self.value(byte)) } else { Operand::Number(number) }
    }

    fn op(&mut self, (kind, v, number): &Wild, inner: Vec<OpKind>) -> OpKind {
        let [a, b, c, d, ..] = v.map(|byte| self.value(byte));
        let result = self.result(v[5]);
        let operand = self.operand(v[4], *number);
        let list = vec![operand, self.operand(v[3], *number)];
        let policy = Policy {
            coalesce: [None, Some(Coalesce::Row), Some(Coalesce::Elem)][v[0] as usize % 3],
            ..Policy::default()
        };
        let event = v[2] % 10;
        let pipes = [Pipe::S, Pipe::V, Pipe::Mte2, Pipe::Mte3, Pipe::All];
        let flag = Flag { from: pipes[v[0] as usize % 5], to: pipes[v[1] as usize % 5], event };
        let region = Region { ops: inner.into_iter().map(|kind| Op { kind, place: Place::default() }).collect() };
        match kind {
            0..=2 => OpKind::Constant { result, value: Constant::Integer(*number) },
            3 => OpKind::Constant { result, value: Constant::Float(0.5) },
            4 => OpKind::Arithmetic { result, op: Arithmetic::Div, lhs: a, rhs: b },
            5 => OpKind::Arithmetic { result, op: Arithmetic::Mul, lhs: a, rhs: a },
            6 => OpKind::Compare { result, predicate: Predicate::Ult, lhs: a, rhs: b },
            7 => OpKind::Select { result, condition: a, then: b, otherwise: c },
            8 => OpKind::Cast { result, value: a, extend: pto_ir::Extend::Zero },
            9..=10 => {
                let carried = vec![Carried { initial: a, inner: self.result(v[3]), result }; v[4] as usize % 2];
                let induction = self.result(v[1]);
                OpKind::For(Box::new(For { induction, lower: b, upper: c, step: d, carried, body: region }))
            }
            11 => {
                let results = vec![result; v[4] as usize % 2];
                OpKind::If(Box::new(If { condition: a, then: region, otherwise: Region::default(), results }))
            }
            12 => OpKind::Yield(vec![a; v[4] as usize % 3]),
            13 => OpKind::MakeView {
                result,
                pointer: a,
                shape: list,
                strides: vec![operand; v[2] as usize % 3],
                layout: None,
            },
            14 => OpKind::PartitionView { result, view: a, offsets: list, sizes: vec![operand; 2] },
            15 => OpKind::MakeGroup { result, members: vec![a, b] },
            16..=18 => OpKind::AllocTile {
                result,
                address: (v[0] % 2 == 0).then_some(operand),
                valid_rows: (v[1] % 2 == 0).then_some(operand),
                valid_cols: None,
            },
            19 => OpKind::Assign { tile: a, address: operand },
            20 => OpKind::Subview { result, source: a, offsets: [operand; 2], sizes: [list[1]; 2] },
            21 => OpKind::SetValidShape { tile: a, rows: operand, cols: list[1] },
            22 => OpKind::Load { src: a, dst: b },
            23 => OpKind::Store { src: a, dst: b },
            24 => OpKind::Move { src: a, dst: b },
            25 => OpKind::LoadScalar { result, pointer: a, offset: operand },
            26 => OpKind::GetValue { result, tile: a, offset: operand },
            27 => OpKind::SetValue { tile: a, offset: operand, value: b },
            28 => OpKind::MGather { dst: a, table: b, idx: c, policy },
            29 => OpKind::MScatter { table: a, src: b, idx: c, policy },
            30 => OpKind::TScatter { dst: a, src: b, idx: c },
            31 => OpKind::TScatterMask { dst: a, src: b, pattern: MaskPattern::P1010 },
            32 => {
                let (group, staging) = (vec![b; v[4] as usize % 3], vec![c; v[3] as usize % 3]);
                OpKind::Collective(Box::new(Collective {
                    direction: Direction::Gather,
                    local: a,
                    group,
                    staging,
                    root: operand,
                }))
            }
            33 => OpKind::SetFlag(flag),
            34 => OpKind::RankBarrier,
            _ => OpKind::Unknown(Box::new(Unknown {
                name: "pto.other".into(),
                operands: vec![a],
                results: vec![result],
            })),
        }
    }
}

fn module(parameters: &[u8], body: &[(Wild, Vec<Wild>)]) -> Module {
    let types = types();
    let mut build = FunctionBuilder::new("k");
    for byte in parameters {
        build.parameter("p", types[*byte as usize % types.len()].clone());
    }
    for ty in types.iter().cycle().take(3 * types.len()) {
        build.value("v", ty.clone());
    }
    let mut maker = Maker { values: parameters.len() as u32 + 3 * types.len() as u32, results: 0 };
    for (outer, inner) in body {
        let inner = inner.iter().map(|inner| maker.op(inner, Vec::new())).collect();
        let op = maker.op(outer, inner);
        build.push(op);
    }
    build.finish()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_panics(
        parameters in prop::collection::vec(any::<u8>(), 0..8),
        body in prop::collection::vec((wild(), prop::collection::vec(wild(), 0..4)), 0..12),
    ) {
        let module = module(&parameters, &body);
        for target in Target::ALL {
            let errors = |module: &Module| {
                check(module, *target).into_iter().filter(|found| found.severity == Severity::Error).collect::<Vec<_>>()
            };
            let found = errors(&module);
            if let Ok(lowered) = lower::lower(&module, *target) {
                prop_assert!(found.is_empty());
                let found = errors(&lowered);
                prop_assert!(found.is_empty(), "{}: {:?}", target, found);
            }
        }
    }
}

/// Twice the program takes about twice as long, not four times; deep nests of loops take no longer than flat ones do.
#[test]
fn large_programs_are_handled() {
    let mut build = FunctionBuilder::new("k");
    let p = build.pointer("p", F32);
    let range = [build.index(0), build.index(4), build.index(1)];
    let shape = [8, 32];
    for _ in 0..3000 {
        let view = build.view(p, &shape);
        let tile = build.tile(Tile::new(F32, 8, 32));
        build.push(OpKind::Load { src: view, dst: tile }).push(OpKind::Store { src: tile, dst: view });
    }
    fn nest(build: &mut FunctionBuilder, range: [ValueId; 3], view: ValueId, tile: ValueId, depth: usize) {
        build.push(OpKind::Load { src: view, dst: tile });
        if depth > 0 {
            build.for_loop(range, |build, _| nest(build, range, view, tile, depth - 1));
        }
        build.push(OpKind::Store { src: tile, dst: view });
    }
    let (view, tile) = (build.view(p, &shape), build.tile(Tile::new(F32, 8, 32)));
    nest(&mut build, range, view, tile, 250);
    let module = build.finish();
    let lowered = lower::lower(&module, Target::A5).expect("one small tile at a time");
    assert!(check(&lowered, Target::A5).is_empty());
}
