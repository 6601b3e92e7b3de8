//! Conformance corpora: cases as JSON lines with raw arrays beside them, run against an executor.
//!
//! [`Corpus::discover`] finds the corpora below a folder, [`Corpus::cases`] reads one, [`run`] judges a case. What a
//! corpus looks like is described in `docs/conformance.md`.

mod array;
mod case;
mod collective;
mod compare;
mod corpus;
mod device;
mod operand;
mod run;

pub use case::{Case, Expectation};
pub use corpus::{Corpus, CorpusError};
pub use run::{Outcome, Via, run};
