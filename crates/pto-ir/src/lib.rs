//! Programs of the PTO instruction set: modules, functions, structured control flow, values and instructions.
//!
//! A program comes from text (`pto-text`) or from Rust, is checked for a target, lowered, and
//! executed (`pto-sim`). It knows where each of its parts stands ([`Place`]) but not what the source looks like.

mod diagnostic;
mod footprint;
mod module;
mod op;
mod place;
mod types;

pub use diagnostic::Diagnostic;
pub use footprint::{Executed, Footprint, Lanes, Phase, Touch, footprint};
pub use module::{Dispatch, Function, LaunchAttributes, Module, Region, Value, ValueId};
pub use op::{
    Arithmetic, Carried, Collective, Constant, EVENTS, Flag, For, If, Op, OpKind, Operand, Pipe, Predicate, Unknown,
};
pub use place::Place;
pub use types::{Type, TypeId, Types, ViewKind, ViewType};
