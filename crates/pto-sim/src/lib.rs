//! The device: executes a program as a target would, and names what goes wrong on hardware without a word.
//!
//! [`simulate`] runs one function of a program: control flow and scalars on the scalar unit, instructions on their
//! pipes, ordered by flags and barriers only. Values are those of `pto-exec`; what is added here is *when* things run
//! and whether that was ordered: races by happens-before, flags that hang, bytes never written, tiles that overwrite
//! each other, results that depend on the warp schedule, and cycles.

mod binding;
mod clock;
mod code;
mod collective;
mod collisions;
mod cost;
mod device;
mod effects;
mod flags;
mod hazard;
mod interpret;
mod lanes;
mod machine;
mod operands;
mod pipeline;
mod plans;
mod ranges;
mod ranks;
mod report;
pub mod rules;
mod scalars;
mod slots;
mod state;
mod sums;
pub mod timing;
mod touches;
mod trace;
mod ub;
mod views;
mod warps;
mod work;

pub use device::{Held, Span};
pub use machine::{Argument, Options, Progress, simulate};
pub use ranks::{RankReport, simulate_rank, simulate_ranks};
pub use report::{Lanes, Nondeterministic, Operation, Report, Residence, Status};
pub use trace::{chrome_trace, trace_document, trace_events};
pub use warps::{SimtLaunch, Warp};
