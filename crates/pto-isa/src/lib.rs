//! The PTO instruction set: what an instruction is and where it is legal.
//!
//! - vocabulary: [`ElementType`], [`Tile`], [`Tensor`], the policies, [`Instruction`], [`Collective`];
//! - [`Target`] and its [`Profile`]: what each target offers, as tables;
//! - [`check()`]: every rule of the specification held against one instruction, with every violation reported.
//!
//! Nothing here executes, reads files or knows of text: see `pto-exec`, `pto-ir` and `pto-text` for those.

pub mod check;
mod collective;
mod element;
mod extent;
mod float8;
mod instruction;
mod policy;
pub mod rule;
mod target;
mod tensor;
pub mod tile;

pub use check::{
    Finding, Launch, check, check_collective, first_broken, first_broken_collective, judge, judge_collective, rules,
};
pub use collective::{Collective, Direction};
pub use element::{Element, ElementClass, ElementSet, ElementType};
pub use extent::Extent;
pub use float8::{F8E4M3, F8E5M2, HiF8};
pub use half::{bf16, f16};
pub use instruction::{Instruction, Opcode, Role};
pub use policy::{Atomic, Coalesce, Conflict, MaskPattern, OutOfBounds, Policy};
pub use rule::{Rule, Severity};
pub use target::{IndexLayouts, PayloadLayouts, Profile, Target, TargetSet, UbBudget};
pub use tensor::{Tensor, TensorLayout};
pub use tile::{BLayout, Location, PadValue, SLayout, Tile};
