//! Why communication failed.

use pto_exec::Fault;
use pto_isa::{Finding, Role};

/// Why a collective, an exchange or a window access failed.
///
/// Everything down to [`UnknownExtent`](Self::UnknownExtent) is found before the first byte moves. The others report
/// ranks or machines that failed under way: what was being written then is unspecified, and no surviving rank is told
/// that it succeeded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommError {
    /// Rules are broken by what the types say.
    #[error("{}", sentences(.0))]
    Refused(Vec<Finding>),
    /// Rules are broken by extents known only at run time.
    #[error("{}", sentences(.0))]
    Faults(Vec<Finding>),
    /// The caller's own buffer is shorter than its tensor.
    #[error("the buffer of `{role}` has {found} bytes, but its shape addresses {needed}")]
    ShortBuffer {
        /// The operand.
        role: Role,
        /// Bytes that the shape addresses.
        needed: u64,
        /// Bytes given.
        found: u64,
    },
    /// A rank exposes less memory than its tensor takes.
    #[error("the window of rank {rank} has {found} bytes, but its tensor reaches to byte {needed}")]
    WindowTooSmall {
        /// The rank.
        rank: usize,
        /// Bytes that the tensor addresses, its offset included.
        needed: u64,
        /// Bytes exposed.
        found: u64,
    },
    /// A group was described with another number of ranks than its window has.
    #[error("the group describes {described} ranks, but its window spans {ranks}")]
    GroupSize {
        /// Ranks described.
        described: usize,
        /// Ranks there are.
        ranks: usize,
    },
    /// The operand of an exchange does not have one part for each rank.
    #[error("one part for each of {ranks} ranks is needed, found {found}")]
    Parts {
        /// Ranks there are.
        ranks: usize,
        /// Parts given.
        found: usize,
    },
    /// A rank that does not exist was named.
    #[error("rank {rank} is outside the {size} ranks there are")]
    NoSuchRank {
        /// The rank named.
        rank: usize,
        /// Number of ranks.
        size: usize,
    },
    /// A staging buffer that the epoch does not have was named.
    #[error("staging buffer {slot} is outside the {slots} that the epoch has")]
    NoSuchSlot {
        /// The buffer named.
        slot: usize,
        /// Number of buffers.
        slots: usize,
    },
    /// This rank has an epoch of the window open already.
    #[error("this rank has this window locked already")]
    Busy,
    /// Two regions of a transfer do not have the same rows, columns and element size.
    #[error("a transfer between regions of different extents: {from} and {to}")]
    Extents {
        /// Rows x columns x bytes of the source.
        from: String,
        /// Rows x columns x bytes of the target.
        to: String,
    },
    /// An access leaves a window or a staging buffer.
    #[error("an access reaches to byte {needed} of {found} at rank {rank}")]
    OutsideWindow {
        /// The rank whose window it is.
        rank: usize,
        /// One past the last byte wanted.
        needed: u64,
        /// Bytes there are.
        found: u64,
    },
    /// Memory for a window, a shard or a message could not be had, or its size cannot be expressed.
    #[error("{bytes} bytes of memory cannot be had")]
    OutOfMemory {
        /// Bytes wanted.
        bytes: u64,
    },
    /// Indices or payload have another length than the call says.
    #[error("`{role}` has {found} bytes, expected {expected}")]
    Length {
        /// The operand.
        role: Role,
        /// Bytes that belong there.
        expected: u64,
        /// Bytes given.
        found: u64,
    },
    /// An instruction on this rank's own operands is illegal or faults.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// An extent is not known although the call is about to run.
    #[error("{0}")]
    UnknownExtent(&'static str),
    /// Another rank found an error in its part of a common operation; no rank has changed anything.
    #[error("rank {rank} failed: {message}")]
    Peer {
        /// The first rank that failed.
        rank: usize,
        /// What it said.
        message: String,
    },
    /// Ranks meet in different operations, or in one operation with different parameters.
    #[error("rank {rank} is in {theirs}, but this rank is in {mine}")]
    Mismatch {
        /// The other rank.
        rank: usize,
        /// What it does.
        theirs: String,
        /// What this rank does.
        mine: String,
    },
    /// A rank died or left the group while others counted on it.
    #[error("rank {rank} is gone: {reason}")]
    RankLost {
        /// The rank.
        rank: usize,
        /// How it went, as far as is known.
        reason: String,
    },
    /// The other ranks did not come within the time that a failure may take to be noticed.
    #[error("the other ranks did not come to {operation} within {seconds} s")]
    Timeout {
        /// What was waited in.
        operation: &'static str,
        /// For how long.
        seconds: u64,
    },
    /// MPI reported an error.
    #[error("{call}: {message}")]
    Mpi {
        /// The MPI function.
        call: &'static str,
        /// MPI's own words.
        message: String,
    },
}

fn sentences(findings: &[Finding]) -> String {
    findings.iter().map(|f| format!("{}: {f}", f.rule.name)).collect::<Vec<_>>().join("; ")
}
