//! What values are at run time: numbers, pointers, views of buffers, tiles in UB.

use core::ops::Deref;

use pto_exec::transfer;
use pto_isa::{ElementType, Extent, Tensor, Tile};

use crate::hazard::Shadow;
use crate::ranges::order;

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
    /// The bytes of a buffer from the view's first one on; none where an empty view begins behind the end.
    pub(crate) fn bytes<'b>(&self, buffer: &'b [u8]) -> &'b [u8] {
        buffer.get(self.first()..).unwrap_or(&[])
    }

    /// As [`bytes`](Self::bytes).
    pub(crate) fn bytes_mut<'b>(&self, buffer: &'b mut [u8]) -> &'b mut [u8] {
        buffer.get_mut(self.first()..).unwrap_or(&mut [])
    }

    fn first(&self) -> usize {
        (self.offset * self.tensor.element.size()) as usize
    }

    /// Byte ranges of the buffer that a load or store of the tile touches, neighbours joined.
    pub(crate) fn ranges(&self, tile: &TileState) -> Vec<(u64, u64)> {
        let first = self.first() as u64;
        // One that does not fit was refused before.
        let ranges = transfer::ranges(&tile.tile, &self.tensor).unwrap_or_default();
        ranges.into_iter().map(|(start, end)| (first + start, first + end)).collect()
    }
}

/// Byte ranges, ascending: mostly one, for which a list would be the larger part of the work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ByteRanges {
    One([(u64, u64); 1]),
    Many(Vec<(u64, u64)>),
}

impl Deref for ByteRanges {
    type Target = [(u64, u64)];

    fn deref(&self) -> &[(u64, u64)] {
        match self {
            Self::One(range) => range,
            Self::Many(ranges) => ranges,
        }
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
    pub(crate) fn valid_ranges(&self) -> ByteRanges {
        let tile = &self.tile;
        let (rows, cols) = (known(tile.valid_rows), known(tile.valid_cols));
        if rows == 0 || cols == 0 {
            return ByteRanges::Many(Vec::new());
        }
        let size = tile.element.size();
        let base = tile.address.unwrap_or(0);
        let range = |first: u64, count: u64| (base + first * size, base + (first + count) * size);
        if tile.is_row_major() && (cols == tile.cols || rows == 1) {
            return ByteRanges::One([range(0, rows * cols)]);
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
        order(&mut ranges);
        ByteRanges::Many(ranges)
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
