//! Random kernels as a small tree that shrinks well, and their translation to the program representation.

use proptest::prelude::*;
use pto_ir::{Collective, FunctionBuilder, Module, OpKind, Operand, Predicate, Type, ValueId};
use pto_isa::ElementType::{F32, I32};
use pto_isa::{Atomic, Coalesce, Direction, Policy, Tile};

/// One step of a kernel; numbers choose among the tiles and views that there are.
#[derive(Clone, Debug)]
pub enum Step {
    Load(u8, u8),
    Store(u8, u8),
    Move(u8, u8),
    LoadIndices(u8, u8),
    Gather {
        dst: u8,
        row: bool,
    },
    Scatter {
        src: u8,
        row: bool,
        add: bool,
    },
    Permute {
        dst: u8,
        src: u8,
    },
    Get(u8),
    Set(u8),
    Barrier,
    /// Loads the second half of a tile, through a window of it.
    LoadPart(u8, u8),
    /// A collective of one other rank, which loads from the first buffer and stores to the second, or back.
    Collective(bool),
    /// Trips: 0 for a number that only the run knows. Fresh tiles are allocated in the body, or the first two change
    /// places from round to round.
    Loop {
        trips: u8,
        fresh: bool,
        swap: bool,
        body: Vec<Step>,
    },
    If(Vec<Step>, Vec<Step>),
}

/// What random kernels are made of.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub branches: bool,
    /// Loops whose trip count only the run knows, and windows that move with the loop.
    pub dynamic: bool,
    pub depth: u32,
    /// Rows of the payload tiles, which differ.
    pub rows: [u64; PAYLOADS],
}

pub const PAYLOADS: usize = 4;
pub const COLS: u64 = 32;
const GM_ROWS: u64 = 256;

pub fn kernel(shape: Shape) -> impl Strategy<Value = Vec<Step>> {
    let tile = 0..PAYLOADS as u8;
    let leaf = prop_oneof![
        4 => (tile.clone(), 0..6u8).prop_map(|(tile, view)| Step::Load(tile, view)),
        4 => (tile.clone(), 0..6u8).prop_map(|(tile, view)| Step::Store(tile, view)),
        3 => (tile.clone(), tile.clone()).prop_map(|(src, dst)| Step::Move(src, dst)),
        2 => (0..2u8, 0..2u8).prop_map(|(idx, view)| Step::LoadIndices(idx, view)),
        2 => (tile.clone(), any::<bool>()).prop_map(|(dst, row)| Step::Gather { dst, row }),
        2 => (tile.clone(), any::<bool>(), any::<bool>()).prop_map(|(src, row, add)| Step::Scatter { src, row, add }),
        1 => (tile.clone(), tile.clone()).prop_map(|(dst, src)| Step::Permute { dst, src }),
        1 => tile.clone().prop_map(Step::Get),
        1 => tile.prop_map(Step::Set),
        1 => Just(Step::Barrier),
        1 => (0..PAYLOADS as u8, 0..6u8).prop_map(|(tile, view)| Step::LoadPart(tile, view)),
        1 => any::<bool>().prop_map(Step::Collective),
    ];
    let steps = leaf.prop_recursive(shape.depth, 24, 5, move |inner| {
        let body = prop::collection::vec(inner, 1..5);
        let trips = if shape.dynamic { 0..4u8 } else { 2..4u8 };
        let swap = if shape.dynamic { any::<bool>().boxed() } else { Just(false).boxed() };
        let repeat = (trips, any::<bool>(), swap, body.clone()).prop_map(|(trips, fresh, swap, body)| Step::Loop {
            trips,
            fresh,
            swap,
            body,
        });
        let choose = (body.clone(), body).prop_map(|(then, otherwise)| Step::If(then, otherwise));
        if shape.branches { prop_oneof![2 => repeat, 1 => choose].boxed() } else { repeat.boxed() }
    });
    prop::collection::vec(steps, 1..10)
}

struct Kernel<'a> {
    b: &'a mut FunctionBuilder,
    shape: Shape,
    views: [ValueId; 2],
    index_views: [ValueId; 2],
    table: ValueId,
    n: ValueId,
    payloads: Vec<ValueId>,
    /// One index per row, and one per element of the first payload's shape.
    indices: [ValueId; 2],
    constants: [ValueId; 5],
    /// The innermost induction variable.
    induction: Option<ValueId>,
}

pub fn build(steps: &[Step], shape: Shape) -> Module {
    let mut b = FunctionBuilder::new("k");
    let pointers = [b.pointer("a", F32), b.pointer("b", F32), b.pointer("t", F32)];
    let index_pointers = [b.pointer("i", I32), b.pointer("j", I32)];
    let n = b.size("n");
    let constants = [0, 1, 2, 3, 4].map(|value| b.index(value));
    let views = [pointers[0], pointers[1]].map(|pointer| b.view(pointer, &[GM_ROWS * 2, COLS]));
    let table = b.view(pointers[2], &[GM_ROWS, COLS]);
    let index_views = index_pointers.map(|pointer| b.view(pointer, &[GM_ROWS, COLS]));
    let mut kernel = Kernel {
        b: &mut b,
        shape,
        views,
        index_views,
        table,
        n,
        payloads: Vec::new(),
        indices: [ValueId(0); 2],
        constants,
        induction: None,
    };
    kernel.allocate();
    kernel.steps(steps);
    b.finish()
}

impl Kernel<'_> {
    fn allocate(&mut self) {
        self.payloads = self.shape.rows.iter().map(|rows| self.b.tile(Tile::new(F32, *rows, COLS))).collect();
        let rows = self.shape.rows[0];
        self.indices = [self.b.tile(Tile::new(I32, 1, rows)), self.b.tile(Tile::new(I32, rows, COLS))];
    }

    fn steps(&mut self, steps: &[Step]) {
        steps.iter().for_each(|step| self.step(step));
    }

    /// A window of one of two buffers: at one of two constant places, or at one that moves with the loop.
    fn window(&mut self, choice: u8, rows: u64) -> ValueId {
        let view = self.views[usize::from(choice % 2)];
        let row = match (choice / 2 % 3, self.induction) {
            (0, _) => Operand::Number(0),
            (1, _) => Operand::Number(GM_ROWS as i64),
            (_, Some(induction)) if self.shape.dynamic => Operand::Value(induction),
            _ => Operand::Number(64),
        };
        self.b.partition(view, &[row, Operand::Number(0)], &[rows, COLS])
    }

    fn payload(&self, at: u8) -> (ValueId, u64) {
        let at = usize::from(at) % PAYLOADS;
        (self.payloads[at], self.shape.rows[at])
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Load(tile, view) => {
                let (dst, rows) = self.payload(*tile);
                let src = self.window(*view, rows);
                self.b.push(OpKind::Load { src, dst });
            }
            Step::Store(tile, view) => {
                let (src, rows) = self.payload(*tile);
                let dst = self.window(*view, rows);
                self.b.push(OpKind::Store { src, dst });
            }
            Step::Move(src, dst) => {
                let ((src, rows), (dst, other)) = (self.payload(*src), self.payload(*dst));
                if src != dst && rows == other {
                    self.b.push(OpKind::Move { src, dst });
                }
            }
            Step::LoadIndices(idx, view) => {
                let dst = self.indices[usize::from(*idx)];
                let rows = if *idx == 0 { 1 } else { self.shape.rows[0] };
                let cols = if *idx == 0 { self.shape.rows[0] } else { COLS };
                let view = self.index_views[usize::from(*view)];
                let src = self.b.partition(view, &[Operand::Number(0), Operand::Number(0)], &[rows, cols.min(COLS)]);
                if cols <= COLS {
                    self.b.push(OpKind::Load { src, dst });
                }
            }
            Step::Gather { dst, row } => {
                let (dst, rows) = self.payload(*dst);
                if rows == self.shape.rows[0] {
                    let (idx, mode) = self.indexed(*row);
                    let policy = Policy::coalesce(mode);
                    self.b.push(OpKind::MGather { dst, table: self.table, idx, policy });
                }
            }
            Step::Scatter { src, row, add } => {
                let (src, rows) = self.payload(*src);
                if rows == self.shape.rows[0] {
                    let (idx, mode) = self.indexed(*row);
                    let policy = Policy::coalesce(mode);
                    let policy = if *add { policy.with_atomic(Atomic::Add) } else { policy };
                    self.b.push(OpKind::MScatter { table: self.table, src, idx, policy });
                }
            }
            Step::Permute { dst, src } => {
                let ((dst, _), (src, rows)) = (self.payload(*dst), self.payload(*src));
                if dst != src && rows == self.shape.rows[0] {
                    self.b.push(OpKind::TScatter { dst, src, idx: self.indices[1] });
                }
            }
            Step::Get(tile) => {
                let result = self.b.value("", Type::Scalar(F32));
                let tile = self.payload(*tile).0;
                self.b.push(OpKind::GetValue { result, tile, offset: Operand::Number(3) });
            }
            Step::Set(tile) => {
                let tile = self.payload(*tile).0;
                let value = self.b.value("", Type::Scalar(F32));
                self.b.push(OpKind::Constant { result: value, value: pto_ir::Constant::Float(1.0) });
                self.b.push(OpKind::SetValue { tile, offset: Operand::Number(3), value });
            }
            Step::Barrier => {
                self.b.push(OpKind::Barrier(pto_ir::Pipe::All));
            }
            Step::LoadPart(tile, view) => {
                let (source, rows) = self.payload(*tile);
                let result = self.b.value("", Type::Tile(Tile::new(F32, rows / 2, COLS)));
                let offsets = [Operand::Number(rows as i64 / 2), Operand::Number(0)];
                let sizes = [Operand::Number(rows as i64 / 2), Operand::Number(COLS as i64)];
                self.b.push(OpKind::Subview { result, source, offsets, sizes });
                let src = self.window(*view, rows / 2);
                self.b.push(OpKind::Load { src, dst: result });
            }
            Step::Collective(scatter) => {
                let [local, other] = self.views;
                let direction = if *scatter { Direction::Scatter } else { Direction::Gather };
                let call =
                    Collective { direction, local, group: vec![other], staging: vec![], root: Operand::Number(0) };
                self.b.push(OpKind::Collective(Box::new(call)));
            }
            Step::Loop { trips, fresh, swap, body } => self.repeat(*trips, *fresh, *swap, body),
            Step::If(then, otherwise) => self.choose(then, otherwise),
        }
    }

    fn indexed(&self, row: bool) -> (ValueId, Coalesce) {
        if row { (self.indices[0], Coalesce::Row) } else { (self.indices[1], Coalesce::Elem) }
    }

    fn repeat(&mut self, trips: u8, fresh: bool, swap: bool, body: &[Step]) {
        let upper = if trips == 0 { self.n } else { self.constants[usize::from(trips)] };
        let range = [self.constants[0], upper, self.constants[1]];
        let (shape, views, index_views, table, n) = (self.shape, self.views, self.index_views, self.table, self.n);
        let (mut payloads, indices, constants) = (self.payloads.clone(), self.indices, self.constants);
        let swap = swap && !fresh && shape.rows[0] == shape.rows[1];
        let carried = if swap { payloads[..2].to_vec() } else { vec![] };
        self.b.for_carried(range, &carried, |b, induction, inside| {
            payloads[..inside.len()].copy_from_slice(inside);
            let induction = Some(induction);
            let mut inner = Kernel { b, shape, views, index_views, table, n, payloads, indices, constants, induction };
            if fresh {
                inner.allocate();
            }
            inner.steps(body);
            inside.iter().rev().copied().collect()
        });
    }

    fn choose(&mut self, then: &[Step], otherwise: &[Step]) {
        let condition = self.b.compare(Predicate::Slt, self.n, self.constants[2]);
        let (shape, views, index_views, table, n) = (self.shape, self.views, self.index_views, self.table, self.n);
        let (payloads, indices, constants, induction) =
            (self.payloads.clone(), self.indices, self.constants, self.induction);
        let branch = |b: &mut FunctionBuilder, steps: &[Step]| {
            let payloads = payloads.clone();
            Kernel { b, shape, views, index_views, table, n, payloads, indices, constants, induction }.steps(steps);
        };
        self.b.if_else(condition, |b| branch(b, then), |b| branch(b, otherwise));
    }
}
