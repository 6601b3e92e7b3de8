//! What is known of a function's values before it runs: constants, views of global memory, tiles.
//!
//! [`Facts`] is carried along a walk in program order: [`Facts::apply`] after each operation, [`Facts::enter_loop`]
//! before the body of a loop, [`Facts::join`] after the branches of a conditional. It knows only what holds on every
//! path: what differs between rounds or branches is unknown, never guessed.
//!
//! Where a type leaves an extent open and a constant fills it, the extent is dynamic with a known value. So every rule
//! can use the value, and rules that ask whether the *type* fixes an extent (a static valid extent has to divide a
//! collective's rows, a dynamic one need not) still see that it does not.

mod instruction;
mod tile;
mod view;

pub use tile::{Placement, Storage, TileFact};
pub use view::{Root, View, tensor_of_type};

use std::collections::HashMap;

use crate::{Constant, For, Function, GroupType, If, NESTING, OpKind, Operand, Region, Type, Types, ValueId, fold};

/// What is known of one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    Integer(i64),
    Pointer(Root),
    /// A position in the list of views.
    View(u32),
    /// A position in the list of tiles.
    Tile(u32),
}

/// What is known of the values of a function at one point of it.
///
/// ```
/// use pto_ir::{Arithmetic, FunctionBuilder, Type, facts::Facts};
/// let mut build = FunctionBuilder::new("k");
/// let four = build.index(4);
/// let twelve = build.arithmetic(Arithmetic::Mul, four, four);
/// let module = build.finish();
/// let function = &module.functions[0];
/// let mut facts = Facts::new(function, &module.types);
/// function.body.ops.iter().for_each(|op| facts.apply(&op.kind));
/// assert_eq!(facts.integer(twelve), Some(16));
/// ```
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    function: &'a Function,
    types: &'a Types,
    known: Vec<Known>,
    views: Vec<View>,
    tiles: Vec<TileFact>,
    /// Tiles whose address or valid extents change in an inner region: nothing but the type is known of those.
    varying: Vec<ValueId>,
    /// The groups made so far, with their members.
    groups: HashMap<ValueId, &'a [ValueId]>,
}

impl<'a> Facts<'a> {
    /// What is known at the start of a function: its parameters.
    pub fn new(function: &'a Function, types: &'a Types) -> Self {
        let mut facts = Self {
            function,
            types,
            known: vec![Known::Nothing; function.values.len()],
            views: Vec::new(),
            tiles: Vec::new(),
            varying: Vec::new(),
            groups: HashMap::new(),
        };
        facts.varying = tile::varying(function);
        for parameter in function.parameter_ids() {
            facts.describe(parameter, Origin::Parameter);
        }
        facts
    }

    /// The function that is described.
    pub fn function(&self) -> &'a Function {
        self.function
    }

    /// The type of a value; `None` for a number that the function does not have.
    pub fn ty(&self, value: ValueId) -> Option<&'a Type> {
        let types = self.types;
        self.function.values.get(value.0 as usize).map(|value| types.get(value.ty))
    }

    /// The integer that a value is known to be.
    pub fn integer(&self, value: ValueId) -> Option<i64> {
        match self.get(value) {
            Known::Integer(integer) => Some(integer),
            _ => None,
        }
    }

    /// The integer that an operand is known to be.
    pub fn operand(&self, operand: Operand) -> Option<i64> {
        match operand {
            Operand::Value(value) => self.integer(value),
            Operand::Number(number) => Some(number),
        }
    }

    /// What is known of a view of global memory.
    pub fn view(&self, value: ValueId) -> Option<&View> {
        match self.get(value) {
            Known::View(at) => self.views.get(at as usize),
            _ => None,
        }
    }

    /// What is known of a tile.
    pub fn tile(&self, value: ValueId) -> Option<&TileFact> {
        match self.get(value) {
            Known::Tile(at) => self.tiles.get(at as usize),
            _ => None,
        }
    }

    /// The memory behind a pointer or view.
    pub fn root(&self, value: ValueId) -> Root {
        match self.get(value) {
            Known::Pointer(root) => root,
            Known::View(_) => self.view(value).map_or(Root::Unknown, |view| view.root),
            _ => Root::Unknown,
        }
    }

    fn get(&self, value: ValueId) -> Known {
        self.known.get(value.0 as usize).copied().unwrap_or(Known::Nothing)
    }

    fn set(&mut self, value: ValueId, known: Known) {
        if let Some(slot) = self.known.get_mut(value.0 as usize) {
            *slot = known;
        }
    }

    fn set_view(&mut self, value: ValueId, view: View) {
        self.set(value, Known::View(self.views.len() as u32));
        self.views.push(view);
    }

    fn set_tile(&mut self, value: ValueId, tile: TileFact) {
        self.set(value, Known::Tile(self.tiles.len() as u32));
        self.tiles.push(tile);
    }

    fn tile_mut(&mut self, value: ValueId) -> Option<&mut TileFact> {
        match self.get(value) {
            Known::Tile(at) => self.tiles.get_mut(at as usize),
            _ => None,
        }
    }

    /// Records what the type alone says of a value.
    fn describe(&mut self, value: ValueId, origin: Origin) {
        let root = match origin {
            Origin::Parameter => Root::Memory(value),
            Origin::Join => Root::Unknown,
        };
        match self.ty(value) {
            Some(Type::Pointer(_)) => self.set(value, Known::Pointer(root)),
            Some(Type::View(ty) | Type::Group(GroupType { view: ty, .. })) => {
                // A view that came out of a branch may have inherited any strides.
                let packed = origin == Origin::Parameter;
                match view::of_type(ty, root, packed) {
                    Some(view) => self.set_view(value, view),
                    None => self.set(value, Known::Nothing),
                }
            }
            Some(Type::Tile(tile)) => {
                let fact = match origin {
                    Origin::Parameter => TileFact::parameter(value, *tile),
                    Origin::Join => TileFact::unknown(*tile),
                };
                self.set_tile(value, fact);
            }
            _ => self.set(value, Known::Nothing),
        }
    }

    /// Takes note of what an operation without regions did.
    pub fn apply(&mut self, op: &'a OpKind) {
        match op {
            OpKind::Constant { result, value: Constant::Integer(value) } => {
                let value = self.ty(*result).map_or(*value, |ty| fold::wrap(ty, *value));
                self.set(*result, Known::Integer(value));
            }
            OpKind::Arithmetic { result, op, lhs, rhs } => {
                let value = match (self.integer(*lhs), self.integer(*rhs), self.ty(*result)) {
                    (Some(lhs), Some(rhs), Some(ty)) => fold::arithmetic(*op, ty, lhs, rhs),
                    _ => None,
                };
                self.set_integer(*result, value);
            }
            OpKind::Compare { result, predicate, lhs, rhs } => {
                let value = match (self.integer(*lhs), self.integer(*rhs)) {
                    (Some(lhs), Some(rhs)) => Some(i64::from(fold::compare(*predicate, lhs, rhs))),
                    _ => None,
                };
                self.set_integer(*result, value);
            }
            OpKind::Select { result, condition, then, otherwise } => match self.integer(*condition) {
                Some(0) => self.set(*result, self.get(*otherwise)),
                Some(_) => self.set(*result, self.get(*then)),
                None if self.get(*then) == self.get(*otherwise) => self.set(*result, self.get(*then)),
                None => self.describe(*result, Origin::Join),
            },
            OpKind::Cast { result, value, extend } => {
                let cast = match (self.integer(*value), self.ty(*value), self.ty(*result)) {
                    (Some(number), Some(from), Some(to)) => Some(fold::cast(from, to, *extend, number)),
                    _ => None,
                };
                self.set_integer(*result, cast);
            }
            OpKind::MakeView { result, pointer, shape, strides, layout } => {
                match self.made_view(*result, *pointer, shape, strides, *layout) {
                    Some(view) => self.set_view(*result, view),
                    None => self.set(*result, Known::Nothing),
                }
            }
            OpKind::PartitionView { result, view, offsets, sizes } => {
                match self.partition(*result, *view, offsets, sizes) {
                    Some(view) => self.set_view(*result, view),
                    None => self.set(*result, Known::Nothing),
                }
            }
            OpKind::AllocTile { result, address, valid_rows, valid_cols } => {
                self.alloc_tile(*result, *address, *valid_rows, *valid_cols);
            }
            OpKind::Assign { tile, address } => self.assign(*tile, *address),
            OpKind::SetValidShape { tile, rows, cols } => self.set_valid_shape(*tile, *rows, *cols),
            OpKind::Subview { result, source, offsets, sizes } => self.subview(*result, *source, *offsets, *sizes),
            OpKind::MakeGroup { result, members } => {
                self.describe(*result, Origin::Join);
                self.groups.insert(*result, members);
            }
            other => other.for_each_result(|result| self.describe(result, Origin::Join)),
        }
    }

    /// Walks a region and those inside it in program order; visits every operation but loops and conditionals, with
    /// what holds after it.
    pub(crate) fn walk(&mut self, region: &'a Region, visit: &mut impl FnMut(&Self, &'a OpKind)) {
        self.walk_at(region, visit, 0);
    }

    fn walk_at(&mut self, region: &'a Region, visit: &mut impl FnMut(&Self, &'a OpKind), depth: usize) {
        if depth > NESTING {
            return;
        }
        for op in &region.ops {
            match &op.kind {
                OpKind::For(op) => {
                    self.enter_loop(op);
                    self.walk_at(&op.body, visit, depth + 1);
                    self.leave_loop(op);
                }
                OpKind::If(op) => {
                    self.walk_at(&op.then, visit, depth + 1);
                    self.walk_at(&op.otherwise, visit, depth + 1);
                    self.join(op);
                }
                kind => {
                    self.apply(kind);
                    visit(self, kind);
                }
            }
        }
    }

    fn set_integer(&mut self, value: ValueId, integer: Option<i64>) {
        self.set(value, integer.map_or(Known::Nothing, Known::Integer));
    }

    /// How often a loop runs, if its bounds are known.
    pub fn trips(&self, op: &For) -> Option<u64> {
        fold::trips(self.integer(op.lower)?, self.integer(op.upper)?, self.integer(op.step)?)
    }

    /// Takes note of what holds in every round of a loop.
    pub fn enter_loop(&mut self, op: &For) {
        let only_round = (self.trips(op) == Some(1)).then(|| self.integer(op.lower)).flatten();
        self.set_integer(op.induction, only_round);
        for carried in &op.carried {
            self.describe(carried.inner, Origin::Join);
        }
    }

    /// Takes note of what holds after a loop, or after the branches of a conditional: results are what their types
    /// say, unless both branches yield the same.
    pub fn leave_loop(&mut self, op: &For) {
        for carried in &op.carried {
            self.describe(carried.result, Origin::Join);
        }
    }

    /// Takes note of what holds after a conditional.
    pub fn join(&mut self, op: &If) {
        for (at, result) in op.results.iter().enumerate() {
            match (yielded(&op.then, at), yielded(&op.otherwise, at)) {
                (Some(then), Some(otherwise)) if self.get(then) == self.get(otherwise) => {
                    self.set(*result, self.get(then));
                }
                _ => self.describe(*result, Origin::Join),
            }
        }
    }
}

/// Where a value that only its type describes comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Parameter,
    Join,
}

/// The value that a region yields at a position.
fn yielded(region: &Region, at: usize) -> Option<ValueId> {
    match &region.ops.last()?.kind {
        OpKind::Yield(values) => values.get(at).copied(),
        _ => None,
    }
}
