//! What PTO instructions compute.
//!
//! Two executors with one meaning: [`reference`](mod@reference) is slow and obviously right, [`Plan`] is what everything else
//! runs. Both take an [`Instruction`](pto_isa::Instruction) and the bytes of its operands ([`Memory`]), and both leave
//! every byte as it was when the instruction faults.
//!
//! [`host`] is for arrays instead of tiles: the same kernels, on as many threads as there are.

mod engine;
mod fault;
pub mod host;
mod kernel;
mod memory;
mod plan;
pub mod reference;
mod schedule;
pub mod simt;
pub mod transfer;

pub use fault::Fault;
pub use memory::{Lanes, Memory};
pub use plan::Plan;
pub use schedule::Schedule;
