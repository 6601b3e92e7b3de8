//! Why a transfer was not carried out.

use pto_isa::{Atomic, ElementType, OutOfBounds};

/// Why a transfer was not carried out. Nothing was written, unless a [`gather`](crate::host::gather) had begun to fill its
/// destination.
///
/// ```
/// use pto_exec::host::{self, Atomic, Fault, OutOfBounds};
/// let mut table = [0u8; 3];
/// let fault = host::scatter(&mut table, &[7, 8], &[2i32, 3], Atomic::None, OutOfBounds::Undefined);
/// assert_eq!(fault, Err(Fault::Lane { lane: 1, index: 3, capacity: 3 }));
/// assert_eq!(table, [0; 3]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// An index is out of range under [`OutOfBounds::Undefined`].
    #[error("lane {lane}: index {index} is outside capacity {capacity}")]
    Lane {
        /// The first such lane, in row-major order.
        lane: u64,
        /// The index.
        index: i128,
        /// The number of values it may take.
        capacity: u64,
    },
    /// Operands that belong together have different shapes.
    #[error("{what}: {left:?} and {right:?} differ")]
    Shape {
        /// Which operands.
        what: &'static str,
        /// Rows and columns of the one.
        left: (usize, usize),
        /// Rows and columns of the other.
        right: (usize, usize),
    },
    /// A slice is shorter than the view on it.
    #[error("{rows} x {cols} elements with rows {stride} apart need more than {found} elements")]
    View {
        /// Rows wanted.
        rows: usize,
        /// Columns wanted.
        cols: usize,
        /// Distance between rows.
        stride: usize,
        /// Elements given.
        found: usize,
    },
    /// Rows of a view overlap.
    #[error("rows of {cols} elements overlap at a distance of {stride}")]
    Overlap {
        /// Columns wanted.
        cols: usize,
        /// Distance between rows.
        stride: usize,
    },
    /// A gather has no [`OutOfBounds::Skip`], a scatter no [`OutOfBounds::Zero`].
    #[error("`{0}` is not a policy of this operation")]
    Policy(OutOfBounds),
    /// There is no slot to clamp or wrap an index to.
    #[error("`{0}` needs a table with at least one entry")]
    EmptyTable(OutOfBounds),
    /// 8-bit floats are moved, never computed on.
    #[error("`{atomic}` is not defined on {element}")]
    Arithmetic {
        /// The operation.
        atomic: Atomic,
        /// The element type.
        element: ElementType,
    },
}
