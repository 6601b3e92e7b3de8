//! Why an instruction did not execute.

use pto_isa::{Finding, Opcode, Role, Target};

/// Why an instruction did not execute. No byte of any operand was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Rules of the instruction set are broken.
    #[error("{}", .0.iter().map(|f| format!("{}: {f}", f.rule.name)).collect::<Vec<_>>().join("; "))]
    Illegal(Vec<Finding>),
    /// An index lane is out of range and no policy says what to do with it.
    #[error(
        "lane {lane} (row {row}, column {column}) of `idx` of {opcode} on {target}: index {index} is outside capacity {capacity}"
    )]
    Lane {
        /// The instruction.
        opcode: Opcode,
        /// The target.
        target: Target,
        /// Position of the lane in the walk.
        lane: u64,
        /// Row of the index tile.
        row: u64,
        /// Column of the index tile.
        column: u64,
        /// The index as the target reads it.
        index: i128,
        /// The number of values it may take.
        capacity: u64,
    },
    /// A buffer is shorter than its tile or tensor.
    #[error("the buffer of `{role}` has {found} bytes, but its shape addresses {needed}")]
    ShortBuffer {
        /// The operand.
        role: Role,
        /// Bytes that the shape addresses.
        needed: u64,
        /// Bytes given.
        found: u64,
    },
    /// The operands given are those of another instruction, or an extent is still unknown.
    #[error("{0}")]
    Call(&'static str),
}
