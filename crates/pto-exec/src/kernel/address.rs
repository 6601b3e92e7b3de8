//! From an index in range to the element it stands for in the table's buffer.

use pto_isa::tile::{FRACTAL_ROWS, c0};
use pto_isa::{Coalesce, Instruction, Target, Tensor, TensorLayout};

/// How a target computes the element offset of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressMap {
    /// The offset is the index.
    Linear,
    /// Rows at a constant distance.
    Rows { stride: u64 },
    /// Logical entries over the first dimensions, each through its own stride, innermost last.
    Strided { shape: [u64; 5], strides: [u64; 5], dims: usize },
    /// Logical rows of an NZ table.
    NzRows { block_stride: u64, row_stride: u64 },
    /// Logical elements of an NZ table, row-major over `cols` columns.
    NzElements { cols: u64, c0: u64, block_cols: u64, strides: [u64; 5] },
}

impl AddressMap {
    /// The map of a memory instruction; extents that are unknown count as zero, which the legality check has excluded.
    pub(crate) fn of(instruction: &Instruction, table: &Tensor, mode: Coalesce, target: Target) -> Self {
        let shape = table.shape.map(|e| e.known().unwrap_or(0));
        let strides = table.strides.map(|e| e.known().unwrap_or(0));
        let c0 = c0(table.element);
        match (mode, table.layout, target) {
            (Coalesce::Elem, TensorLayout::Nz, _) => {
                Self::NzElements { cols: shape[0] * shape[1] * c0, c0, block_cols: shape[1], strides }
            }
            (Coalesce::Row, TensorLayout::Nz, _) => Self::NzRows { block_stride: strides[2], row_stride: strides[3] },
            (Coalesce::Elem, _, Target::Host) if table.is_packed() => Self::Linear,
            (Coalesce::Elem, _, Target::Host) => Self::Strided { shape, strides, dims: 5 },
            (Coalesce::Elem, ..) => Self::Linear,
            (Coalesce::Row, _, Target::Host) if shape[..3] == [1; 3] => Self::Rows { stride: strides[3] },
            (Coalesce::Row, _, Target::Host) => Self::Strided { shape, strides, dims: 4 },
            (Coalesce::Row, _, Target::A5) => {
                Self::Rows { stride: instruction.payload().valid_cols.known().unwrap_or(0) }
            }
            (Coalesce::Row, ..) => Self::Rows { stride: strides[3] },
        }
    }

    /// The element offset of an index in range.
    #[inline(always)]
    pub(crate) fn offset(&self, index: u64) -> u64 {
        match *self {
            Self::Linear => index,
            Self::Rows { stride } => index * stride,
            Self::Strided { shape, strides, dims } => {
                let (mut position, mut offset) = (index, 0);
                for (extent, stride) in shape[..dims].iter().zip(&strides[..dims]).rev() {
                    offset += position % extent * stride;
                    position /= extent;
                }
                offset
            }
            Self::NzRows { block_stride, row_stride } => {
                index / FRACTAL_ROWS * block_stride + index % FRACTAL_ROWS * row_stride
            }
            Self::NzElements { cols, c0, block_cols, strides } => {
                let (row, col) = (index / cols, index % cols);
                let block_col = col / c0;
                block_col / block_cols * strides[0]
                    + block_col % block_cols * strides[1]
                    + row / FRACTAL_ROWS * strides[2]
                    + row % FRACTAL_ROWS * strides[3]
                    + col % c0 * strides[4]
            }
        }
    }
}
