//! Programs of the PTO instruction set: modules, functions, structured control flow, values and instructions.
//!
//! A program comes from text (`pto-text`) or from Rust, is checked for a target, lowered, and
//! executed (`pto-sim`). It knows where each of its parts stands ([`Place`]) but not what the source looks like.

mod build;
pub mod check;
mod diagnostic;
pub mod facts;
pub mod fold;
mod footprint;
mod liveness;
pub mod lower;
mod module;
mod op;
mod place;
mod ranks;
mod types;
mod uses;

pub use build::FunctionBuilder;
pub use check::check;
pub use diagnostic::Diagnostic;
pub use footprint::{Executed, Footprint, Lanes, Phase, Touch, footprint};
pub use module::{Attribute, Declaration, Dispatch, Function, LaunchAttributes, Module, Region, Value, ValueId};
pub use op::{
    Arithmetic, Carried, Collective, Constant, EVENTS, Extend, Flag, For, If, NotifyOp, Op, OpKind, Operand, Pipe,
    Predicate, Unknown, WaitCompare,
};
pub use place::Place;
pub use ranks::{Home, Misplaced, OnRanks, Runners, on_ranks};
pub use types::{GroupType, Type, TypeId, Types, ViewKind, ViewType};

/// How deep loops and conditionals may nest: what is deeper is refused, so that no program exhausts the stack.
pub const NESTING: usize = 256;
