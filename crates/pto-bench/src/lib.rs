//! The workloads that the host engine is measured by.
//!
//! A [`Workload`] makes its data, and is measured in one process and by turns three times: the engine, the plain loop
//! that one would write instead, and a copy of the same bytes. The ratios of their medians are what to look at; times
//! alone say as much about the machine and its other users.
//!
//! ```
//! let workload = pto_bench::find("elem_add_2k").expect("its name is part of the contract");
//! let row = pto_bench::measure(workload, &pto_bench::Options { threads: 1, ..Default::default() })?;
//! assert_eq!((row.workload, row.elements, row.table_bytes), ("elem_add_2k", 1 << 22, 8192));
//! # Ok::<(), pto_bench::Error>(())
//! ```

mod array;
mod data;
mod element;
mod measure;
pub mod plain;
mod row;
mod sim;
mod tile;
mod workload;

pub use array::Array;
pub use data::{Random, uniform, zipf};
pub use measure::{Measurement, Options, measure};
pub use workload::{Workload, find, workloads};

/// Why a workload was not measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is not enough memory for its data.
    #[error("cannot allocate {bytes} bytes: {cause}")]
    Memory {
        /// Bytes asked for.
        bytes: usize,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The engine refused it.
    #[error(transparent)]
    Host(#[from] pto_exec::host::Fault),
    /// The instruction path refused it.
    #[error(transparent)]
    Exec(#[from] pto_exec::Fault),
    /// The simulator reported an error.
    #[error("the simulated kernel has failed")]
    Simulation,
    /// The engine and the plain loop disagree.
    #[error("{0}: the engine's result differs from the plain loop's")]
    Wrong(&'static str),
}
