//! Tiles: two-dimensional operands in on-chip memory, with padded and valid extents and their storage order.

use core::fmt;

use crate::{ElementType, Extent};

/// Bytes of one DMA block; tiles are placed and padded to multiples of it.
pub const BLOCK_BYTES: u64 = 32;
/// Rows of a fractal block (`FRACTAL_NZ_ROW`).
pub const FRACTAL_ROWS: u64 = 16;
/// Bytes of a fractal block of an A or B operand (`fractalABSize`).
pub const FRACTAL_AB_BYTES: u64 = 512;

/// Elements in one 32-byte block row of a fractal (`C0`).
pub const fn c0(element: ElementType) -> u64 {
    BLOCK_BYTES / element.size()
}

/// The memory a tile lives in (`TileType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Location {
    /// The vector core's unified buffer (UB).
    Vec,
    /// The cube core's L1 buffer.
    Mat,
    /// The cube core's left operand buffer.
    Left,
    /// The cube core's right operand buffer.
    Right,
    /// The cube core's accumulator.
    Acc,
}

/// Order of the elements, or of the boxes of a boxed tile (`BLayout`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum BLayout {
    /// Rows one after the other.
    RowMajor,
    /// Columns one after the other.
    ColMajor,
}

/// Order of the elements inside a box (`SLayout`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SLayout {
    /// Not boxed.
    NoneBox,
    /// Boxes are row-major.
    RowMajor,
    /// Boxes are column-major.
    ColMajor,
}

/// What a load fills the padding of a tile with (`PadValue`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum PadValue {
    /// Left as it is.
    #[default]
    Null,
    /// Zero.
    Zero,
    /// The largest value of the element type.
    Max,
    /// The smallest value of the element type.
    Min,
}

macro_rules! names {
    ($type:ident { $($variant:ident = $name:literal),* $(,)? }) => {
        impl $type {
            /// All values, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name used in texts, corpora and messages.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            /// The value with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|v| v.name() == name)
            }

            /// `==` that can be used in constant expressions.
            pub const fn is(self, other: Self) -> bool {
                self as u8 == other as u8
            }
        }

        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }
    };
}
pub(crate) use names;

names!(Location { Vec = "vec", Mat = "mat", Left = "left", Right = "right", Acc = "acc" });
names!(BLayout { RowMajor = "row_major", ColMajor = "col_major" });
names!(SLayout { NoneBox = "none_box", RowMajor = "row_major", ColMajor = "col_major" });
names!(PadValue { Null = "null", Zero = "zero", Max = "max", Min = "min" });

/// The description of a tile: everything but its bytes.
///
/// `rows` and `cols` are the padded extents that fix its storage; the valid extents say which part holds data.
///
/// ```
/// use pto_isa::{ElementType, Tile};
/// let tile = Tile::new(ElementType::F32, 8, 32).with_valid(8, 30);
/// assert_eq!(tile.bytes(), Some(1024));
/// assert_eq!(tile.offset(2, 3), 2 * 32 + 3);
/// assert_eq!(tile.to_string(), "vec f32 8x32, valid 8x30");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tile {
    /// Element type.
    pub element: ElementType,
    /// The memory it lives in.
    pub location: Location,
    /// Padded rows.
    pub rows: u64,
    /// Padded columns.
    pub cols: u64,
    /// Rows that hold data.
    pub valid_rows: Extent,
    /// Columns that hold data.
    pub valid_cols: Extent,
    /// Order of elements or boxes.
    pub blayout: BLayout,
    /// Order inside a box.
    pub slayout: SLayout,
    /// Bytes of a box.
    pub fractal: u64,
    /// What a load fills the padding with.
    pub pad: PadValue,
    /// UB byte address, if placed.
    pub address: Option<u64>,
}

impl Tile {
    /// A row-major, unboxed vector tile, wholly valid, not yet placed.
    pub const fn new(element: ElementType, rows: u64, cols: u64) -> Self {
        Self {
            element,
            location: Location::Vec,
            rows,
            cols,
            valid_rows: Extent::Static(rows),
            valid_cols: Extent::Static(cols),
            blayout: BLayout::RowMajor,
            slayout: SLayout::NoneBox,
            fractal: FRACTAL_AB_BYTES,
            pad: PadValue::Null,
            address: None,
        }
    }

    /// The same tile with static valid extents.
    pub const fn with_valid(mut self, rows: u64, cols: u64) -> Self {
        self.valid_rows = Extent::Static(rows);
        self.valid_cols = Extent::Static(cols);
        self
    }

    /// The same tile with valid extents that are known at run time only.
    pub const fn with_dynamic_valid(mut self, rows: u64, cols: u64) -> Self {
        self.valid_rows = Extent::Dynamic(Some(rows));
        self.valid_cols = Extent::Dynamic(Some(cols));
        self
    }

    /// The same tile in another storage order.
    pub const fn with_layout(mut self, blayout: BLayout, slayout: SLayout) -> Self {
        self.blayout = blayout;
        self.slayout = slayout;
        self
    }

    /// The same tile in NZ order: column-major blocks of row-major fractals.
    pub const fn nz(self) -> Self {
        self.with_layout(BLayout::ColMajor, SLayout::RowMajor)
    }

    /// The same tile at a UB byte address.
    pub const fn at(mut self, address: u64) -> Self {
        self.address = Some(address);
        self
    }

    /// The tile as a checker sees it before the program runs: dynamic extents forgotten.
    pub const fn erased(mut self) -> Self {
        self.valid_rows = self.valid_rows.erased();
        self.valid_cols = self.valid_cols.erased();
        self
    }

    /// True for `RowMajor` + `NoneBox`.
    pub const fn is_row_major(&self) -> bool {
        self.blayout.is(BLayout::RowMajor) && self.slayout.is(SLayout::NoneBox)
    }

    /// True if the tile is stored in boxes.
    pub const fn is_boxed(&self) -> bool {
        !self.slayout.is(SLayout::NoneBox)
    }

    /// True for the NZ order: `ColMajor` + `RowMajor` + 512-byte fractals.
    pub const fn is_nz(&self) -> bool {
        self.blayout.is(BLayout::ColMajor) && self.slayout.is(SLayout::RowMajor) && self.fractal == FRACTAL_AB_BYTES
    }

    /// Padded extents multiplied; `None` if the product overflows.
    pub const fn elements(&self) -> Option<u64> {
        self.rows.checked_mul(self.cols)
    }

    /// Bytes of the whole allocation; `None` if the product overflows.
    pub const fn bytes(&self) -> Option<u64> {
        match self.elements() {
            Some(elements) => elements.checked_mul(self.element.size()),
            None => None,
        }
    }

    /// Bytes it takes in UB: its own, padded to whole 32-byte blocks.
    pub const fn allocation(&self) -> Option<u64> {
        match self.bytes() {
            Some(bytes) => bytes.checked_next_multiple_of(BLOCK_BYTES),
            None => None,
        }
    }

    /// The byte range `[start, end)` in UB, if placed.
    pub const fn range(&self) -> Option<(u64, u64)> {
        match (self.address, self.bytes()) {
            (Some(start), Some(bytes)) => match start.checked_add(bytes) {
                Some(end) => Some((start, end)),
                None => None,
            },
            _ => None,
        }
    }

    /// Rows and columns of a box; `(1, 1)` where there are none.
    pub const fn box_extents(&self) -> (u64, u64) {
        let long = self.fractal / (FRACTAL_ROWS * self.element.size());
        let long = if long == 0 { 1 } else { long };
        match self.slayout {
            SLayout::NoneBox => (1, 1),
            SLayout::RowMajor => (FRACTAL_ROWS, long),
            SLayout::ColMajor => (long, FRACTAL_ROWS),
        }
    }

    /// Storage position, in elements, of logical element (`row`, `col`).
    ///
    /// Boxed tiles are assumed to be whole numbers of boxes; the rules on NZ tiles see to it.
    ///
    /// ```
    /// use pto_isa::{ElementType, Tile};
    /// let nz = Tile::new(ElementType::F32, 32, 16).nz();
    /// // 8 columns to a block: column 9 is in the second block column, which starts after 32 * 8 elements.
    /// assert_eq!(nz.offset(3, 9), 32 * 8 + 3 * 8 + 1);
    /// ```
    pub const fn offset(&self, row: u64, col: u64) -> u64 {
        let (box_rows, box_cols) = self.box_extents();
        let (inner_row, inner_col) = (row % box_rows, col % box_cols);
        let inner = match self.slayout {
            SLayout::NoneBox | SLayout::RowMajor => inner_row * box_cols + inner_col,
            SLayout::ColMajor => inner_col * box_rows + inner_row,
        };
        let (grid_row, grid_col) = (row / box_rows, col / box_cols);
        let grid = match self.blayout {
            BLayout::RowMajor => grid_row * (self.cols / box_cols) + grid_col,
            BLayout::ColMajor => grid_col * (self.rows / box_rows) + grid_row,
        };
        grid * box_rows * box_cols + inner
    }
}

impl fmt::Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}x{}", self.location, self.element, self.rows, self.cols)?;
        write!(f, ", valid {}x{}", self.valid_rows, self.valid_cols)?;
        if !self.is_row_major() {
            write!(f, ", {} {}", self.blayout, self.slayout)?;
        }
        if let Some(address) = self.address {
            write!(f, ", at 0x{address:x}")?;
        }
        Ok(())
    }
}
