//! Where in the table's buffer an index points, as the specification computes it.

use pto_isa::tile::{FRACTAL_ROWS, c0};
use pto_isa::{Coalesce, Extent, Instruction, Target, Tensor, TensorLayout};

/// A value that the legality check has seen to be known.
pub(super) fn known(extent: Extent) -> u64 {
    extent.known().unwrap_or(0)
}

/// The address arithmetic of one instruction on one target.
pub(super) struct TableAddress<'a> {
    pub(super) instruction: &'a Instruction,
    pub(super) target: Target,
    pub(super) mode: Coalesce,
}

impl TableAddress<'_> {
    /// Element offset of index `slot`; in Row mode, of column `col` of that row.
    pub(super) fn element(&self, slot: u64, col: u64) -> u64 {
        let Some(table) = self.instruction.table() else { return 0 };
        let strides = table.strides.map(known);
        match (self.mode, table.layout, self.target) {
            (Coalesce::Elem, TensorLayout::Nz, _) => {
                let cols = known(table.shape[0]) * known(table.shape[1]) * c0(table.element);
                nz_element(table, slot / cols, slot % cols)
            }
            // On the device targets and cpu the table is a linear array, whatever its strides.
            (Coalesce::Elem, _, Target::Host) => unravel(table, 5, slot),
            (Coalesce::Elem, ..) => slot,
            (Coalesce::Row, TensorLayout::Nz, _) => nz_element(table, slot, col),
            (Coalesce::Row, _, Target::Host) => unravel(table, 4, slot) + col * strides[4],
            (Coalesce::Row, _, Target::A5) => slot * known(self.instruction.payload().valid_cols) + col,
            (Coalesce::Row, ..) => slot * strides[3] + col,
        }
    }
}

/// Offset of the `position`-th logical entry over the first `dims` dimensions, each through its own stride.
fn unravel(table: &Tensor, dims: usize, mut position: u64) -> u64 {
    let mut offset = 0;
    for i in (0..dims).rev() {
        let extent = known(table.shape[i]);
        offset += position % extent * known(table.strides[i]);
        position /= extent;
    }
    offset
}

/// Offset of logical (`row`, `col`) of an NZ table `[B, BlockCols, BlockRows, 16, C0]`.
fn nz_element(table: &Tensor, row: u64, col: u64) -> u64 {
    let [_, block_cols, ..] = table.shape.map(known);
    let strides = table.strides.map(known);
    let (block_col, inner_col) = (col / c0(table.element), col % c0(table.element));
    let coordinates =
        [block_col / block_cols, block_col % block_cols, row / FRACTAL_ROWS, row % FRACTAL_ROWS, inner_col];
    coordinates.iter().zip(strides).map(|(c, s)| c * s).sum()
}
