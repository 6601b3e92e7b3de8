//! Ranks: groups, windows and tables that span several memories.
//!
//! - [`tscatter`] and [`tgather`] move the rows of a five-dimensional tensor between a root and the ranks of a
//!   [`ParallelGroup`], one-sided and in chunks; [`ChunkPlan`] is the cutting as data.
//! - [`ShardedTable`] is a table whose rows are spread over the ranks, with `mgather` and `mscatter` by global row.
//! - Both run on a [`Transport`]: threads of one process ([`launch`]), or the processes of an MPI job (feature `mpi`).
//!
//! Whatever is wrong with a call is an error before any byte moves. A rank that dies is an error at the others within
//! a bounded time.

mod chunk;
mod collective;
mod error;
mod group;
pub mod in_process;
mod movement;
#[cfg(feature = "mpi")]
pub mod mpi;
mod region;
mod sharded;
mod transport;

pub use chunk::{Chunk, ChunkPlan, Chunks};
pub use collective::{Moved, tgather, tscatter};
pub use error::CommError;
pub use group::{Member, ParallelGroup};
pub use in_process::{InProcess, execute_collective, launch};
pub use region::Region;
pub use sharded::{Indices, Partition, ShardedTable};
pub use transport::{Epoch, Transport, Window};
