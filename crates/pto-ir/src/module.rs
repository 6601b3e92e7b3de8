//! Modules, functions, regions and values.

use pto_isa::Target;

use crate::{Op, Place, TypeId, Types};

/// A value of a function, by its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// A program.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// Its name, without `@`, if it has one.
    pub name: Option<String>,
    /// The target that the program names, if any.
    pub target: Option<Target>,
    /// What it says besides, to others.
    pub attributes: Vec<Attribute>,
    /// Functions that it names and others define.
    pub declarations: Vec<Declaration>,
    /// Its functions, in source order.
    pub functions: Vec<Function>,
    /// The types of all values.
    pub types: Types,
}

impl Module {
    /// The functions that can be run: those not private.
    pub fn entries(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|f| !f.private)
    }
}

/// Something that a module or a function says and that means nothing to this instruction set: kept as it is spelt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attribute {
    /// Its name.
    pub name: Box<str>,
    /// Its value; `None` for one that says it all by being there.
    pub value: Option<Box<str>>,
}

/// A function without a body: no program can call it, and none loses it.
#[derive(Clone, Debug)]
pub struct Declaration {
    /// Its name, without `@`.
    pub name: String,
    /// Not an entry point.
    pub private: bool,
    /// The types of its parameters.
    pub parameters: Vec<TypeId>,
    /// The types of its results.
    pub results: Vec<TypeId>,
    /// What it says besides.
    pub attributes: Vec<Attribute>,
    /// Where its name stands.
    pub place: Place,
}

/// A function: parameters and a body.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Its name, without `@`.
    pub name: String,
    /// Not an entry point.
    pub private: bool,
    /// What the launch says about it.
    pub launch: LaunchAttributes,
    /// What it says besides, to others.
    pub attributes: Vec<Attribute>,
    /// The types that it says it returns; a kernel returns nothing.
    pub results: Vec<TypeId>,
    /// Every value, by number; parameters come first.
    pub values: Vec<Value>,
    /// How many of the values are parameters.
    pub parameters: usize,
    /// What it does.
    pub body: Region,
    /// Where its name stands.
    pub place: Place,
}

/// What a function says about its launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchAttributes {
    /// `pto.dyn_ubuf_size`.
    pub dyn_ub: Option<u64>,
    /// `pto.dispatch`.
    pub dispatch: Dispatch,
}

/// How the runtime enters a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dispatch {
    /// The standard launch, which sets up SIMT.
    #[default]
    Launch,
    /// A plain function-pointer call, which does not.
    Direct,
}

/// A value: where it is defined, its name and type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// Its name, without `%`; empty for one that lowering made.
    pub name: Box<str>,
    /// Its type.
    pub ty: TypeId,
    /// Where it is defined.
    pub place: Place,
}

/// A list of operations that share a scope.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// In program order.
    pub ops: Vec<Op>,
}

impl Function {
    /// The value with a number of this function.
    pub fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }

    /// The parameters, in order.
    pub fn parameter_ids(&self) -> impl Iterator<Item = ValueId> + use<> {
        (0..self.parameters as u32).map(ValueId)
    }

    /// Adds a value.
    pub fn define(&mut self, name: impl Into<Box<str>>, ty: TypeId, place: Place) -> ValueId {
        // A function with 2^32 values would not fit into memory.
        let id = ValueId(self.values.len() as u32);
        self.values.push(Value { name: name.into(), ty, place });
        id
    }
}
