//! Operations: what a program does, step by step.

use pto_isa::{Direction, MaskPattern, Policy, TensorLayout};

use crate::{Place, Region, ValueId};

/// One operation with its place in the source.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// What it does.
    pub kind: OpKind,
    /// Where it stands.
    pub place: Place,
}

/// A size, offset or address: computed, or written as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A value of the function.
    Value(ValueId),
    /// A number.
    Number(i64),
}

impl From<ValueId> for Operand {
    fn from(value: ValueId) -> Self {
        Self::Value(value)
    }
}

impl From<i64> for Operand {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl Operand {
    /// The value, if it is one.
    pub fn value(self) -> Option<ValueId> {
        match self {
            Self::Value(value) => Some(value),
            Self::Number(_) => None,
        }
    }
}

/// A constant of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// Integers, booleans (0 and 1) and `index`.
    Integer(i64),
    /// Floats.
    Float(f64),
}

/// Integer arithmetic on two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Signed quotient, rounded towards zero.
    Div,
    /// Signed remainder.
    Rem,
    /// Larger, signed.
    Max,
    /// Smaller, signed.
    Min,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Quotient rounded up, signed.
    CeilDiv,
    /// Quotient rounded down, signed.
    FloorDiv,
    /// Unsigned quotient.
    DivUnsigned,
    /// Unsigned remainder.
    RemUnsigned,
    /// Unsigned quotient rounded up.
    CeilDivUnsigned,
    /// Larger, unsigned.
    MaxUnsigned,
    /// Smaller, unsigned.
    MinUnsigned,
    /// Left shift.
    ShiftLeft,
    /// Right shift that repeats the sign.
    ShiftRight,
    /// Right shift that brings in zeros.
    ShiftRightUnsigned,
}

/// How a cast to a wider type fills the bits that it adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extend {
    /// With the sign: `arith.extsi`, `arith.index_cast`.
    Sign,
    /// With zeros: `arith.extui`, `arith.index_castui`.
    Zero,
}

/// A comparison of integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Predicate {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Less, signed.
    Slt,
    /// Less or equal, signed.
    Sle,
    /// Greater, signed.
    Sgt,
    /// Greater or equal, signed.
    Sge,
    /// Less, unsigned.
    Ult,
    /// Less or equal, unsigned.
    Ule,
    /// Greater, unsigned.
    Ugt,
    /// Greater or equal, unsigned.
    Uge,
}

/// A hardware queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pipe {
    /// Scalar unit.
    S,
    /// Vector unit, and A5's SIMT kernels.
    V,
    /// Loads from global memory to UB.
    Mte2,
    /// Stores from UB to global memory.
    Mte3,
    /// Loads from L1 to the cube's operand buffers.
    Mte1,
    /// Matrix unit.
    M,
    /// Fix-pipe.
    Fix,
    /// Every pipe: barriers only.
    All,
}

impl Pipe {
    /// Every pipe, in declaration order.
    pub const EACH: [Self; 7] = [Self::S, Self::V, Self::Mte2, Self::Mte3, Self::Mte1, Self::M, Self::Fix];

    /// Its position in [`EACH`](Self::EACH), for tables with a row per pipe; all pipes together stand with the scalar
    /// unit, which issues to them.
    pub const fn slot(self) -> usize {
        match self {
            Self::S | Self::All => 0,
            Self::V => 1,
            Self::Mte2 => 2,
            Self::Mte3 => 3,
            Self::Mte1 => 4,
            Self::M => 5,
            Self::Fix => 6,
        }
    }

    /// The name in texts and traces.
    pub const fn name(self) -> &'static str {
        match self {
            Self::S => "PIPE_S",
            Self::V => "PIPE_V",
            Self::Mte2 => "PIPE_MTE2",
            Self::Mte3 => "PIPE_MTE3",
            Self::Mte1 => "PIPE_MTE1",
            Self::M => "PIPE_M",
            Self::Fix => "PIPE_FIX",
            Self::All => "PIPE_ALL",
        }
    }

    /// The pipe with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::EACH.into_iter().chain([Self::All]).find(|pipe| pipe.name() == name)
    }
}

/// A flag between two pipes: one of eight events per pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Flag {
    /// The pipe that sets it.
    pub from: Pipe,
    /// The pipe that waits for it.
    pub to: Pipe,
    /// Event number, 0 to 7.
    pub event: u8,
}

/// Events per pair of pipes.
pub const EVENTS: u8 = 8;

/// A counted loop.
#[derive(Clone, Debug, PartialEq)]
pub struct For {
    /// The induction variable.
    pub induction: ValueId,
    /// First value.
    pub lower: ValueId,
    /// One past the last value.
    pub upper: ValueId,
    /// Distance between values; positive.
    pub step: ValueId,
    /// Loop-carried values: as they enter, inside the body, and as they leave.
    pub carried: Vec<Carried>,
    /// What is repeated; ends in a yield of the carried values.
    pub body: Region,
}

/// One loop-carried value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Before the first round.
    pub initial: ValueId,
    /// Inside the body.
    pub inner: ValueId,
    /// After the last round.
    pub result: ValueId,
}

/// A conditional.
#[derive(Clone, Debug, PartialEq)]
pub struct If {
    /// Decides.
    pub condition: ValueId,
    /// Run if the condition holds.
    pub then: Region,
    /// Run otherwise.
    pub otherwise: Region,
    /// Values that both regions yield.
    pub results: Vec<ValueId>,
}

/// A collective call.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// Scatter or gather.
    pub direction: Direction,
    /// The root's tensor.
    pub local: ValueId,
    /// The group: one group value, or one view per rank.
    pub group: Vec<ValueId>,
    /// Staging tiles; none where lowering has still to introduce them.
    pub staging: Vec<ValueId>,
    /// The root rank.
    pub root: Operand,
}

/// What a notification does to the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotifyOp {
    /// Replaces its value.
    Set,
    /// Adds to its value.
    Add,
}

impl NotifyOp {
    /// Every kind, in declaration order.
    pub const ALL: &[Self] = &[Self::Set, Self::Add];

    /// The name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Add => "atomic_add",
        }
    }
}

/// What a wait compares a signal for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaitCompare {
    /// The signal equals the value.
    Eq,
    /// It differs from it.
    Ne,
    /// It is greater.
    Gt,
    /// It is greater or equal.
    Ge,
    /// It is less.
    Lt,
    /// It is less or equal.
    Le,
}

impl WaitCompare {
    /// Every comparison, in declaration order.
    pub const ALL: &[Self] = &[Self::Eq, Self::Ne, Self::Gt, Self::Ge, Self::Lt, Self::Le];

    /// The name in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Gt => "gt",
            Self::Ge => "ge",
            Self::Lt => "lt",
            Self::Le => "le",
        }
    }

    /// Whether a signal is as a wait wants it.
    ///
    /// ```
    /// use pto_ir::WaitCompare;
    /// assert!(WaitCompare::Ge.holds(3, 3) && !WaitCompare::Gt.holds(3, 3));
    /// ```
    pub const fn holds(self, signal: i64, value: i64) -> bool {
        match self {
            Self::Eq => signal == value,
            Self::Ne => signal != value,
            Self::Gt => signal > value,
            Self::Ge => signal >= value,
            Self::Lt => signal < value,
            Self::Le => signal <= value,
        }
    }
}

/// An operation outside this instruction set, kept so that it can be named and printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    /// Its name, `dialect.op`.
    pub name: Box<str>,
    /// What it reads, and possibly writes.
    pub operands: Vec<ValueId>,
    /// What it defines.
    pub results: Vec<ValueId>,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "operands are named as the instruction set names them")]
pub enum OpKind {
    /// A number.
    Constant { result: ValueId, value: Constant },
    /// Integer arithmetic.
    Arithmetic { result: ValueId, op: Arithmetic, lhs: ValueId, rhs: ValueId },
    /// A comparison; the result is a boolean.
    Compare { result: ValueId, predicate: Predicate, lhs: ValueId, rhs: ValueId },
    /// One of two values.
    Select { result: ValueId, condition: ValueId, then: ValueId, otherwise: ValueId },
    /// A change of integer type.
    Cast { result: ValueId, value: ValueId, extend: Extend },
    /// `scf.for`.
    For(Box<For>),
    /// `scf.if`.
    If(Box<If>),
    /// The end of a region: the values it hands out.
    Yield(Vec<ValueId>),
    /// The end of a function.
    Return(Vec<ValueId>),

    /// A whole view of the memory behind a pointer.
    MakeView {
        result: ValueId,
        pointer: ValueId,
        shape: Vec<Operand>,
        strides: Vec<Operand>,
        layout: Option<TensorLayout>,
    },
    /// A window of a view.
    PartitionView { result: ValueId, view: ValueId, offsets: Vec<Operand>, sizes: Vec<Operand> },
    /// A group of views, one per rank.
    MakeGroup { result: ValueId, members: Vec<ValueId> },
    /// A new tile.
    AllocTile { result: ValueId, address: Option<Operand>, valid_rows: Option<Operand>, valid_cols: Option<Operand> },
    /// `TASSIGN`: gives a tile its address.
    Assign { tile: ValueId, address: Operand },
    /// A window of a tile that shares its bytes.
    Subview { result: ValueId, source: ValueId, offsets: [Operand; 2], sizes: [Operand; 2] },
    /// New valid extents for a tile with dynamic ones.
    SetValidShape { tile: ValueId, rows: Operand, cols: Operand },

    /// `TLOAD`.
    Load { src: ValueId, dst: ValueId },
    /// `TSTORE`.
    Store { src: ValueId, dst: ValueId },
    /// `TMOV`.
    Move { src: ValueId, dst: ValueId },
    /// One element of global memory.
    LoadScalar { result: ValueId, pointer: ValueId, offset: Operand },
    /// One element of global memory.
    StoreScalar { pointer: ValueId, offset: Operand, value: ValueId },
    /// One element of a tile.
    GetValue { result: ValueId, tile: ValueId, offset: Operand },
    /// One element of a tile.
    SetValue { tile: ValueId, offset: Operand, value: ValueId },

    /// `MGATHER`.
    MGather { dst: ValueId, table: ValueId, idx: ValueId, policy: Policy },
    /// `MSCATTER`.
    MScatter { table: ValueId, src: ValueId, idx: ValueId, policy: Policy },
    /// Index `TSCATTER`.
    TScatter { dst: ValueId, src: ValueId, idx: ValueId },
    /// Mask `TSCATTER`.
    TScatterMask { dst: ValueId, src: ValueId, pattern: MaskPattern },
    /// `TSCATTER` or `TGATHER` across ranks.
    Collective(Box<Collective>),
    /// This rank's number.
    Rank { result: ValueId },
    /// The number of ranks.
    Ranks { result: ValueId },
    /// Waits until every rank is here.
    RankBarrier,
    /// `TNOTIFY`: changes a signal, one integer in a rank's window, after everything this rank has done.
    Notify { signal: ValueId, value: ValueId, op: NotifyOp },
    /// `TWAIT`: waits until a signal in this rank's own window is as wanted.
    Wait { signal: ValueId, value: ValueId, compare: WaitCompare },

    /// The first pipe sets an event when all it has been given is done.
    SetFlag(Flag),
    /// The second pipe waits for it.
    WaitFlag(Flag),
    /// Everything given to a pipe, or to all, is done before what follows.
    Barrier(Pipe),
    /// Pushes the data cache to memory.
    FlushCache,
    /// Waits until flushed data is observable by the host.
    DataBarrier,

    /// An operation outside this instruction set.
    Unknown(Box<Unknown>),
}

impl OpKind {
    /// The values it defines in its own region.
    pub fn results(&self) -> Vec<ValueId> {
        let mut results = Vec::new();
        self.for_each_result(|result| results.push(result));
        results
    }

    /// The tiles it reads and the tiles it writes.
    pub fn tiles(&self) -> (Vec<ValueId>, Vec<ValueId>) {
        match self {
            Self::Load { dst, .. } => (vec![], vec![*dst]),
            Self::Store { src, .. } => (vec![*src], vec![]),
            Self::Move { src, dst } => (vec![*src], vec![*dst]),
            Self::GetValue { tile, .. } => (vec![*tile], vec![]),
            Self::SetValue { tile, .. } => (vec![], vec![*tile]),
            Self::MGather { dst, idx, .. } => (vec![*idx], vec![*dst]),
            Self::MScatter { src, idx, .. } => (vec![*src, *idx], vec![]),
            Self::TScatter { dst, src, idx } => (vec![*src, *idx], vec![*dst]),
            Self::TScatterMask { dst, src, .. } => (vec![*src], vec![*dst]),
            Self::Collective(op) => (op.staging.clone(), op.staging.clone()),
            _ => (vec![], vec![]),
        }
    }
}
