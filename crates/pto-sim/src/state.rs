//! What values are at run time: numbers, pointers, views of buffers, tiles in UB.

use pto_isa::{ElementType, Extent, Tensor, TensorLayout, Tile};

use crate::hazard::Shadow;

/// An array in global memory, bound to a parameter.
#[derive(Debug)]
pub(crate) struct Buffer {
    pub(crate) name: String,
    pub(crate) element: ElementType,
    pub(crate) bytes: Vec<u8>,
    /// Bytes that it has: the copy of a window that was not needed yet has none in `bytes`.
    pub(crate) length: u64,
    pub(crate) shadow: Shadow,
}

/// A view of a buffer with every extent known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct View {
    pub(crate) buffer: usize,
    /// Elements from the start of the buffer.
    pub(crate) offset: u64,
    pub(crate) tensor: Tensor,
    /// Dimensions that the program spells; the leading ones are 1.
    pub(crate) rank: usize,
}

impl View {
    /// Rows and columns of the matrix that a load or store moves.
    pub(crate) fn matrix(&self) -> (u64, u64) {
        let shape = self.tensor.shape.map(known);
        match self.tensor.layout {
            TensorLayout::Nz => (shape[2] * shape[3], shape[0] * shape[1] * shape[4]),
            _ => (shape[..4].iter().product(), shape[4]),
        }
    }

    /// Element offset in the buffer of logical (`row`, `col`).
    pub(crate) fn element(&self, row: u64, col: u64) -> u64 {
        let (shape, strides) = (self.tensor.shape.map(known), self.tensor.strides.map(known));
        let at = match self.tensor.layout {
            TensorLayout::Nz => {
                let (rows, cols) = (shape[3].max(1), shape[4].max(1));
                let block = col / cols;
                [block / shape[1].max(1), block % shape[1].max(1), row / rows, row % rows, col % cols]
            }
            _ => {
                let mut rest = row;
                let mut at = [0, 0, 0, 0, col];
                for i in (0..4).rev() {
                    at[i] = rest % shape[i].max(1);
                    rest /= shape[i].max(1);
                }
                at
            }
        };
        self.offset + at.iter().zip(strides).map(|(c, s)| c * s).sum::<u64>()
    }

    /// True if the columns of a row are neighbours in memory.
    pub(crate) fn rows_are_contiguous(&self) -> bool {
        self.tensor.layout != TensorLayout::Nz
            && (self.tensor.strides[4].known() == Some(1) || self.tensor.shape[4].known() <= Some(1))
    }
}

/// A tile in UB, or one that has no address yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TileState {
    /// Valid extents are known; the address is that of the first byte.
    pub(crate) tile: Tile,
    /// Whose data its bytes hold: the tile itself, or the parent of a subview.
    pub(crate) owner: u32,
}

impl TileState {
    /// Byte ranges of the valid region, ascending, neighbours joined.
    pub(crate) fn valid_ranges(&self) -> Vec<(u64, u64)> {
        let tile = &self.tile;
        let (rows, cols) = (known(tile.valid_rows), known(tile.valid_cols));
        if rows == 0 || cols == 0 {
            return Vec::new();
        }
        let size = tile.element.size();
        let base = tile.address.unwrap_or(0);
        let range = |first: u64, count: u64| (base + first * size, base + (first + count) * size);
        if tile.is_row_major() && (cols == tile.cols || rows == 1) {
            return vec![range(0, rows * cols)];
        }
        let mut ranges: Vec<(u64, u64)> = if tile.is_row_major() {
            (0..rows).map(|row| range(row * tile.cols, cols)).collect()
        } else if !tile.is_boxed() {
            (0..cols).map(|col| range(col * tile.rows, rows)).collect()
        } else {
            let (_, box_cols) = tile.box_extents();
            let blocks = (0..cols).step_by(box_cols as usize);
            blocks
                .flat_map(|col| (0..rows).map(move |row| (row, col)))
                .map(|(row, col)| range(tile.offset(row, col), box_cols.min(cols - col)))
                .collect()
        };
        ranges.sort_unstable();
        ranges.dedup_by(|next, previous| {
            let joined = next.0 <= previous.1;
            if joined {
                previous.1 = previous.1.max(next.1);
            }
            joined
        });
        ranges
    }

    /// The byte range of the whole allocation.
    pub(crate) fn allocation(&self) -> (u64, u64) {
        let start = self.tile.address.unwrap_or(0);
        (start, start + self.tile.bytes().unwrap_or(0))
    }
}

/// A value at run time.
#[derive(Clone, Debug, Default)]
pub(crate) enum Value {
    /// Not computed yet.
    #[default]
    Nothing,
    Integer(i64),
    Float(f64),
    Pointer {
        buffer: usize,
        offset: u64,
    },
    View(Box<View>),
    Tile(Box<TileState>),
    Group(Vec<View>),
}

/// A value that is known at run time; extents that are not count as zero.
pub(crate) fn known(extent: Extent) -> u64 {
    extent.known().unwrap_or(0)
}
