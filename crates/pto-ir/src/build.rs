//! Programs built from Rust.

use pto_isa::{ElementType, Tile};

use crate::{
    Arithmetic, Carried, Constant, Flag, For, Function, GroupType, If, LaunchAttributes, Module, Op, OpKind, Operand,
    Place, Predicate, Region, Type, ValueId, ViewKind, ViewType,
};

/// Builds a module of one function, operation by operation.
///
/// Each operation gets the place that [`FunctionBuilder::at`] set last, else its number.
///
/// ```
/// use pto_ir::{FunctionBuilder, OpKind, Type, check};
/// use pto_isa::{ElementType::F32, Severity, Target, Tile};
/// let mut build = FunctionBuilder::new("copy");
/// let (from, to) = (build.pointer("from", F32), build.pointer("to", F32));
/// let (from, to) = (build.view(from, &[8, 32]), build.view(to, &[8, 32]));
/// let tile = build.tile(Tile::new(F32, 8, 32));
/// build.push(OpKind::Load { src: from, dst: tile });
/// build.push(OpKind::Store { src: tile, dst: to });
/// let module = build.finish();
/// assert!(check(&module, Target::A5).iter().all(|found| found.severity < Severity::Error));
/// ```
#[derive(Debug)]
pub struct FunctionBuilder {
    module: Module,
    function: Function,
    /// The regions that are open, innermost last.
    regions: Vec<Region>,
    place: Option<Place>,
    pushed: u32,
}

impl FunctionBuilder {
    /// A function without parameters.
    pub fn new(name: &str) -> Self {
        let function = Function { name: name.into(), ..Function::default() };
        Self { module: Module::default(), function, regions: vec![Region::default()], place: None, pushed: 0 }
    }

    /// The place of what is pushed from now on.
    pub fn at(&mut self, place: Place) -> &mut Self {
        self.place = Some(place);
        self
    }

    /// What the launch says.
    pub fn launch(&mut self, launch: LaunchAttributes) -> &mut Self {
        self.function.launch = launch;
        self
    }

    /// A parameter. Parameters come before everything else.
    pub fn parameter(&mut self, name: &str, ty: Type) -> ValueId {
        let value = self.value(name, ty);
        self.function.parameters = self.function.values.len();
        value
    }

    /// A pointer parameter.
    pub fn pointer(&mut self, name: &str, element: ElementType) -> ValueId {
        self.parameter(name, Type::Pointer(element))
    }

    /// A parameter of type `index`.
    pub fn size(&mut self, name: &str) -> ValueId {
        self.parameter(name, Type::Index)
    }

    /// A value of a type, for an operation that is pushed later.
    pub fn value(&mut self, name: &str, ty: Type) -> ValueId {
        let place = self.here();
        let ty = self.module.types.intern(ty);
        self.function.define(name, ty, place)
    }

    fn here(&self) -> Place {
        self.place.unwrap_or(Place::new(self.pushed, self.pushed + 1))
    }

    /// Appends an operation to the innermost open region.
    pub fn push(&mut self, kind: OpKind) -> &mut Self {
        let place = self.here();
        self.pushed += 1;
        if let Some(region) = self.regions.last_mut() {
            region.ops.push(Op { kind, place });
        }
        self
    }

    fn define(&mut self, name: &str, ty: Type, kind: impl FnOnce(ValueId) -> OpKind) -> ValueId {
        let result = self.value(name, ty);
        self.push(kind(result));
        result
    }

    /// A constant of type `index`.
    pub fn index(&mut self, value: i64) -> ValueId {
        self.define("", Type::Index, |result| OpKind::Constant { result, value: Constant::Integer(value) })
    }

    /// Arithmetic on two values of one type.
    pub fn arithmetic(&mut self, op: Arithmetic, lhs: ValueId, rhs: ValueId) -> ValueId {
        let ty = self.type_of(lhs);
        self.define("", ty, |result| OpKind::Arithmetic { result, op, lhs, rhs })
    }

    /// A comparison of two values of one type.
    pub fn compare(&mut self, predicate: Predicate, lhs: ValueId, rhs: ValueId) -> ValueId {
        self.define("", Type::Boolean, |result| OpKind::Compare { result, predicate, lhs, rhs })
    }

    fn type_of(&self, value: ValueId) -> Type {
        self.module.types.get(self.function.value(value).ty).clone()
    }

    fn element_of(&self, value: ValueId) -> ElementType {
        match self.type_of(value) {
            Type::Pointer(element) | Type::Scalar(element) => element,
            Type::View(view) | Type::Group(GroupType { view, .. }) => view.element,
            Type::Tile(tile) => tile.element,
            _ => ElementType::I64,
        }
    }

    /// A packed view of the memory behind a pointer.
    pub fn view(&mut self, pointer: ValueId, shape: &[u64]) -> ValueId {
        let ty = self.view_type(ViewKind::Tensor, pointer, shape.iter().map(|extent| Some(*extent)).collect());
        let shape = shape.iter().map(|extent| Operand::Number(*extent as i64)).collect();
        self.define("", ty, |result| OpKind::MakeView { result, pointer, shape, strides: Vec::new(), layout: None })
    }

    fn view_type(&self, kind: ViewKind, of: ValueId, shape: Vec<Option<u64>>) -> Type {
        Type::View(ViewType { kind, element: self.element_of(of), shape, strides: None, layout: None })
    }

    /// A window of a view.
    pub fn partition(&mut self, view: ValueId, offsets: &[Operand], sizes: &[u64]) -> ValueId {
        let ty = self.view_type(ViewKind::Partition, view, sizes.iter().map(|extent| Some(*extent)).collect());
        let sizes = sizes.iter().map(|extent| Operand::Number(*extent as i64)).collect();
        let offsets = offsets.to_vec();
        self.define("", ty, |result| OpKind::PartitionView { result, view, offsets, sizes })
    }

    /// A new tile without an address.
    pub fn tile(&mut self, tile: Tile) -> ValueId {
        self.alloc(tile, None)
    }

    /// A new tile at an address.
    pub fn tile_at(&mut self, tile: Tile, address: i64) -> ValueId {
        self.alloc(tile, Some(Operand::Number(address)))
    }

    fn alloc(&mut self, tile: Tile, address: Option<Operand>) -> ValueId {
        let ty = Type::Tile(Tile { address: None, ..tile }.erased());
        // What the type leaves open, the allocation says.
        let filled = |extent: pto_isa::Extent| match extent {
            pto_isa::Extent::Dynamic(Some(value)) => Some(Operand::Number(value as i64)),
            _ => None,
        };
        let (valid_rows, valid_cols) = (filled(tile.valid_rows), filled(tile.valid_cols));
        self.define("", ty, |result| OpKind::AllocTile { result, address, valid_rows, valid_cols })
    }

    /// Sets a flag.
    pub fn set_flag(&mut self, flag: Flag) -> &mut Self {
        self.push(OpKind::SetFlag(flag))
    }

    /// Waits for a flag.
    pub fn wait_flag(&mut self, flag: Flag) -> &mut Self {
        self.push(OpKind::WaitFlag(flag))
    }

    /// A loop from `lower` to `upper` by `step`; `body` gets the induction variable.
    pub fn for_loop(&mut self, [lower, upper, step]: [ValueId; 3], body: impl FnOnce(&mut Self, ValueId)) {
        self.for_carried([lower, upper, step], &[], |build, induction, _| {
            body(build, induction);
            Vec::new()
        });
    }

    /// A loop with carried values: `body` gets the induction variable and the values inside, and gives the next ones.
    /// Returns the values after the loop.
    pub fn for_carried(
        &mut self,
        [lower, upper, step]: [ValueId; 3],
        initial: &[ValueId],
        body: impl FnOnce(&mut Self, ValueId, &[ValueId]) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let ty = self.type_of(lower);
        let induction = self.value("", ty);
        let inner: Vec<ValueId> = initial.iter().map(|value| self.like(*value)).collect();
        self.regions.push(Region::default());
        let next = body(self, induction, &inner);
        self.push(OpKind::Yield(next));
        let body = self.regions.pop().unwrap_or_default();
        let results: Vec<ValueId> = initial.iter().map(|value| self.like(*value)).collect();
        let carried = initial.iter().zip(&inner).zip(&results);
        let carried =
            carried.map(|((initial, inner), result)| Carried { initial: *initial, inner: *inner, result: *result });
        let carried = carried.collect();
        self.push(OpKind::For(Box::new(For { induction, lower, upper, step, carried, body })));
        results
    }

    fn like(&mut self, value: ValueId) -> ValueId {
        let ty = self.type_of(value);
        self.value("", ty)
    }

    /// A conditional without results.
    pub fn if_else(
        &mut self,
        condition: ValueId,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) -> &mut Self {
        let then = self.region(then);
        let otherwise = self.region(otherwise);
        self.push(OpKind::If(Box::new(If { condition, then, otherwise, results: Vec::new() })))
    }

    fn region(&mut self, body: impl FnOnce(&mut Self)) -> Region {
        self.regions.push(Region::default());
        body(self);
        self.push(OpKind::Yield(Vec::new()));
        self.regions.pop().unwrap_or_default()
    }

    /// The module, with a return at the function's end.
    pub fn finish(mut self) -> Module {
        if !matches!(self.regions[0].ops.last().map(|op| &op.kind), Some(OpKind::Return(_))) {
            self.push(OpKind::Return(Vec::new()));
        }
        self.function.body = self.regions.swap_remove(0);
        self.module.functions.push(self.function);
        self.module
    }
}
