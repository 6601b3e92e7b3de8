//! Plain moves: TLOAD, TSTORE and TMOV on the bytes of their operands.
//!
//! Tensors and tiles are walked logically, so any pair of storage orders works. A tensor is a matrix: dimensions 0 to
//! 3 are rows and dimension 4 columns, each through its own stride; an NZ tensor is `BlockRows * 16` rows of
//! `B * BlockCols * C0` columns. The tile's valid region decides what moves, from the first row and column of both.
//!
//! ```
//! use pto_exec::transfer;
//! use pto_isa::{ElementType::U8, PadValue, Tensor, Tile};
//! let mut tile = Tile::new(U8, 2, 4).with_valid(2, 3);
//! tile.pad = PadValue::Max;
//! let mut ub = [0; 8];
//! transfer::load(&tile, &mut ub, &Tensor::packed(U8, [1, 1, 1, 2, 3]), &[1, 2, 3, 4, 5, 6])?;
//! transfer::fill_padding(&tile, &mut ub)?;
//! assert_eq!(ub, [1, 2, 3, 255, 4, 5, 6, 255]);
//! # Ok::<(), transfer::Misfit>(())
//! ```

use core::ops::Range;

use pto_isa::{ElementType, Extent, PadValue, Role, Tensor, TensorLayout, Tile};

/// Why a move does not fit its operands. No byte was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// The operands have different element types.
    #[error("expected one element type, found {0} and {1}")]
    Types(
        /// That of the tensor; of the source, between tiles.
        ElementType,
        /// That of the tile; of the destination, between tiles.
        ElementType,
    ),
    /// A tile's valid region is larger than its padded one.
    #[error("the tile's valid {}x{} exceeds its padded {}x{}", .valid.0, .valid.1, .padded.0, .padded.1)]
    Valid {
        /// Valid rows and columns.
        valid: (u64, u64),
        /// Padded rows and columns.
        padded: (u64, u64),
    },
    /// The tile reaches beyond the tensor.
    #[error("the tile's valid {}x{} does not fit into the tensor's {}x{}", .tile.0, .tile.1, .tensor.0, .tensor.1)]
    Region {
        /// Valid rows and columns of the tile.
        tile: (u64, u64),
        /// Logical rows and columns of the tensor.
        tensor: (u64, u64),
    },
    /// The valid regions of two tiles differ.
    #[error("the destination's valid {}x{} is not the source's {}x{}", .dst.0, .dst.1, .src.0, .src.1)]
    Regions {
        /// Valid rows and columns of the destination.
        dst: (u64, u64),
        /// Valid rows and columns of the source.
        src: (u64, u64),
    },
    /// A buffer is shorter than its tile or tensor.
    #[error("the buffer of `{role}` has {found} bytes, but its shape addresses {needed}")]
    Short {
        /// The operand.
        role: Role,
        /// Bytes that the shape addresses.
        needed: u64,
        /// Bytes given.
        found: u64,
    },
}

/// Loads a tile's valid region from a tensor.
///
/// ```
/// use pto_exec::transfer::{Misfit, load};
/// use pto_isa::{ElementType::U8, Tensor, Tile};
/// let (tile, tensor) = (Tile::new(U8, 4, 2), Tensor::packed(U8, [1, 1, 1, 3, 2]));
/// let error = load(&tile, &mut [0; 8], &tensor, &[0; 6]).unwrap_err();
/// assert_eq!(error, Misfit::Region { tile: (4, 2), tensor: (3, 2) });
/// ```
///
/// # Errors
/// If they do not fit each other or their buffers.
pub fn load(tile: &Tile, to: &mut [u8], tensor: &Tensor, from: &[u8]) -> Result<(), Misfit> {
    same_type(tensor.element, tile.element)?;
    let region = Region::of(tile, tensor)?;
    long_enough(Role::Dst, storage(tile, region.valid), tile.element, to.len())?;
    long_enough(Role::Src, tensor.span(), tensor.element, from.len())?;
    region.each_run(|in_tile, in_tensor| to[in_tile].copy_from_slice(&from[in_tensor]));
    Ok(())
}

/// Stores a tile's valid region into a tensor.
///
/// ```
/// use pto_exec::transfer::store;
/// use pto_isa::{ElementType::U8, Tensor, TensorLayout, Tile};
/// let column = Tensor::strided(U8, [1, 1, 1, 3, 1], [6, 6, 6, 2, 1], TensorLayout::Nd);
/// let mut table = [0; 6];
/// store(&column, &mut table, &Tile::new(U8, 3, 1), &[1, 2, 3])?;
/// assert_eq!(table, [1, 0, 2, 0, 3, 0]);
/// # Ok::<(), pto_exec::transfer::Misfit>(())
/// ```
///
/// # Errors
/// If they do not fit each other or their buffers.
pub fn store(tensor: &Tensor, to: &mut [u8], tile: &Tile, from: &[u8]) -> Result<(), Misfit> {
    same_type(tensor.element, tile.element)?;
    let region = Region::of(tile, tensor)?;
    long_enough(Role::Src, storage(tile, region.valid), tile.element, from.len())?;
    long_enough(Role::Dst, tensor.span(), tensor.element, to.len())?;
    region.each_run(|in_tile, in_tensor| to[in_tensor].copy_from_slice(&from[in_tile]));
    Ok(())
}

/// Copies the valid region of one tile to another's.
///
/// ```
/// use pto_exec::transfer::copy;
/// use pto_isa::{BLayout, ElementType::U8, SLayout, Tile};
/// let (src, mut to) = (Tile::new(U8, 2, 3), [0; 6]);
/// copy(&src.with_layout(BLayout::ColMajor, SLayout::NoneBox), &mut to, &src, &[1, 2, 3, 4, 5, 6])?;
/// assert_eq!(to, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), pto_exec::transfer::Misfit>(())
/// ```
///
/// # Errors
/// If they do not fit each other or their buffers.
pub fn copy(dst: &Tile, to: &mut [u8], src: &Tile, from: &[u8]) -> Result<(), Misfit> {
    same_type(src.element, dst.element)?;
    let (into, out_of) = (valid(dst)?, valid(src)?);
    if into != out_of {
        return Err(Misfit::Regions { dst: into, src: out_of });
    }
    long_enough(Role::Dst, storage(dst, into), dst.element, to.len())?;
    long_enough(Role::Src, storage(src, into), src.element, from.len())?;
    let size = dst.element.size();
    for row in 0..into.0 {
        let mut col = 0;
        while col < into.1 {
            let run = tile_run(dst, col).min(tile_run(src, col)).min(into.1 - col);
            to[bytes(dst.offset(row, col), run, size)].copy_from_slice(&from[bytes(src.offset(row, col), run, size)]);
            col += run;
        }
    }
    Ok(())
}

/// Fills what the valid region leaves of a tile with its pad value; leaves it as it is where the tile names none.
///
/// # Errors
/// If the valid region exceeds the tile, or the tile its buffer.
pub fn fill_padding(tile: &Tile, to: &mut [u8]) -> Result<(), Misfit> {
    let (rows, cols) = valid(tile)?;
    let Some(value) = pad_bits(tile.pad, tile.element) else { return Ok(()) };
    long_enough(Role::Dst, storage(tile, (tile.rows, tile.cols)), tile.element, to.len())?;
    let size = tile.element.size();
    let value = &value.to_le_bytes()[..size as usize];
    for row in 0..tile.rows {
        for col in if row < rows { cols } else { 0 }..tile.cols {
            to[bytes(tile.offset(row, col), 1, size)].copy_from_slice(value);
        }
    }
    Ok(())
}

/// Byte ranges of a tensor that a tile's valid region covers, as a load or store walks them, neighbours joined.
///
/// ```
/// use pto_exec::transfer::ranges;
/// use pto_isa::{ElementType::F32, Tensor, Tile};
/// let tensor = Tensor::packed(F32, [1, 1, 1, 2, 8]);
/// assert_eq!(ranges(&Tile::new(F32, 2, 8), &tensor)?, [(0, 64)]);
/// assert_eq!(ranges(&Tile::new(F32, 2, 8).with_valid(2, 4), &tensor)?, [(0, 16), (32, 48)]);
/// # Ok::<(), pto_exec::transfer::Misfit>(())
/// ```
///
/// # Errors
/// If they do not fit each other.
pub fn ranges(tile: &Tile, tensor: &Tensor) -> Result<Vec<(u64, u64)>, Misfit> {
    same_type(tensor.element, tile.element)?;
    // No buffer is longer than that.
    long_enough(Role::Table, tensor.span(), tensor.element, isize::MAX as usize)?;
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    Region::of(tile, tensor)?.each_run(|_, run| {
        let (start, end) = (run.start as u64, run.end as u64);
        match ranges.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => ranges.push((start, end)),
        }
    });
    Ok(ranges)
}

/// Logical rows and columns of a tensor.
///
/// ```
/// use pto_exec::transfer::extents;
/// use pto_isa::{ElementType::F32, Tensor};
/// assert_eq!(extents(&Tensor::packed(F32, [2, 1, 3, 4, 8])), (24, 8));
/// ```
pub fn extents(tensor: &Tensor) -> (u64, u64) {
    let [d0, d1, d2, d3, d4] = tensor.shape.map(known);
    let product = |dims: &[u64]| dims.iter().fold(1u64, |product, dim| product.saturating_mul(*dim));
    match tensor.layout {
        TensorLayout::Nz => (product(&[d2, d3]), product(&[d0, d1, d4])),
        _ => (product(&[d0, d1, d2, d3]), d4),
    }
}

/// Extents and strides of what moves are known; others count as zero.
fn known(extent: Extent) -> u64 {
    extent.known().unwrap_or(0)
}

/// Valid rows and columns, if they are within the padded ones.
///
/// # Errors
/// If they are not.
pub fn valid(tile: &Tile) -> Result<(u64, u64), Misfit> {
    let valid = (known(tile.valid_rows), known(tile.valid_cols));
    if valid.0 > tile.rows || valid.1 > tile.cols {
        return Err(Misfit::Valid { valid, padded: (tile.rows, tile.cols) });
    }
    Ok(valid)
}

fn same_type(one: ElementType, other: ElementType) -> Result<(), Misfit> {
    if one == other { Ok(()) } else { Err(Misfit::Types(one, other)) }
}

fn long_enough(role: Role, elements: Option<u64>, element: ElementType, length: usize) -> Result<(), Misfit> {
    let needed = elements.unwrap_or(u64::MAX).saturating_mul(element.size());
    let found = length as u64;
    if needed <= found { Ok(()) } else { Err(Misfit::Short { role, needed, found }) }
}

/// Elements of storage up to the last one of the first `rows` and `cols`: in every layout, positions grow with both.
/// `None` if the tile's size overflows.
fn storage(tile: &Tile, (rows, cols): (u64, u64)) -> Option<u64> {
    tile.elements().map(|_| if rows == 0 || cols == 0 { 0 } else { tile.offset(rows - 1, cols - 1) + 1 })
}

/// A tile's valid region and as much of a tensor, seen as a matrix.
struct Region<'a> {
    tile: &'a Tile,
    valid: (u64, u64),
    dims: [u64; 5],
    strides: [u64; 5],
    nz: bool,
}

impl<'a> Region<'a> {
    fn of(tile: &'a Tile, tensor: &Tensor) -> Result<Self, Misfit> {
        let (valid, extents) = (valid(tile)?, extents(tensor));
        if valid.0 > extents.0 || valid.1 > extents.1 {
            return Err(Misfit::Region { tile: valid, tensor: extents });
        }
        let (dims, strides) = (tensor.shape.map(known), tensor.strides.map(known));
        Ok(Self { tile, valid, dims, strides, nz: tensor.layout == TensorLayout::Nz })
    }

    /// What a row adds to the element offset in the tensor.
    fn row(&self, row: u64) -> u64 {
        let [_, d1, d2, d3, _] = self.dims;
        let [s0, s1, s2, s3, _] = self.strides;
        let (block, inner) = (row / d3, row % d3 * s3);
        if self.nz { block * s2 + inner } else { block / d2 / d1 * s0 + block / d2 % d1 * s1 + block % d2 * s2 + inner }
    }

    /// What a column adds to it.
    fn col(&self, col: u64) -> u64 {
        let [_, d1, _, _, d4] = self.dims;
        let [s0, s1, _, _, s4] = self.strides;
        let (block, inner) = (col / d4, col % d4 * s4);
        if self.nz { block / d1 * s0 + block % d1 * s1 + inner } else { inner }
    }

    /// Elements from `col` on that follow each other in both.
    fn run(&self, col: u64) -> u64 {
        let [.., d4] = self.dims;
        let [.., s4] = self.strides;
        let in_tensor = if s4 == 1 { d4 - col % d4 } else { 1 };
        tile_run(self.tile, col).min(in_tensor).min(self.valid.1 - col)
    }

    /// Hands out the bytes of each run in the tile and in the tensor, row by row.
    ///
    /// The region's rows and columns are some of the tensor's, so that no dimension that one of them is divided by is
    /// zero.
    #[inline(always)]
    fn each_run(&self, mut run: impl FnMut(Range<usize>, Range<usize>)) {
        let (rows, cols) = self.valid;
        let size = self.tile.element.size();
        for row in 0..rows {
            let (first, mut col) = (self.row(row), 0);
            while col < cols {
                let length = self.run(col);
                let in_tile = bytes(self.tile.offset(row, col), length, size);
                run(in_tile, bytes(first + self.col(col), length, size));
                col += length;
            }
        }
    }
}

/// Elements from `col` on that follow each other in a tile.
fn tile_run(tile: &Tile, col: u64) -> u64 {
    if tile.is_row_major() {
        tile.cols - col
    } else if tile.is_nz() {
        let (_, box_cols) = tile.box_extents();
        box_cols - col % box_cols
    } else {
        1
    }
}

fn bytes(offset: u64, elements: u64, size: u64) -> Range<usize> {
    (offset * size) as usize..((offset + elements) * size) as usize
}

/// The bits of a pad value, low bytes first; `None` if padding stays as it is.
///
/// The largest and smallest values of a float are its infinities, where it has them.
fn pad_bits(pad: PadValue, element: ElementType) -> Option<u64> {
    use ElementType::*;
    let (max, min) = match element {
        I8 => (0x7f, 0x80),
        U8 => (0xff, 0),
        I16 => (0x7fff, 0x8000),
        U16 => (0xffff, 0),
        I32 => (0x7fff_ffff, 0x8000_0000),
        U32 => (0xffff_ffff, 0),
        I64 => (i64::MAX as u64, 1 << 63),
        U64 => (u64::MAX, 0),
        F16 => (0x7c00, 0xfc00),
        BF16 => (0x7f80, 0xff80),
        F32 => (0x7f80_0000, 0xff80_0000),
        F64 => (0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000),
        F8E4M3 => (0x7e, 0xfe),
        F8E5M2 => (0x7c, 0xfc),
        HiF8 => (0x6f, 0xef),
    };
    match pad {
        PadValue::Null => None,
        PadValue::Zero => Some(0),
        PadValue::Max => Some(max),
        PadValue::Min => Some(min),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ElementType::{F32, U8};

    fn padded() -> Tile {
        Tile { pad: PadValue::Max, ..Tile::new(U8, 2, 4).with_valid(2, 3) }
    }

    fn short(role: Role, needed: u64) -> Result<(), Misfit> {
        Err(Misfit::Short { role, needed, found: needed - 1 })
    }

    #[test]
    fn a_buffer_that_is_one_byte_short_is_refused_and_stays() {
        let (tile, tensor) = (padded(), Tensor::packed(U8, [1, 1, 1, 2, 3]));
        let column = tile.with_layout(pto_isa::BLayout::ColMajor, pto_isa::SLayout::NoneBox);
        let mut to = [9; 8];
        assert_eq!(load(&tile, &mut to[..6], &tensor, &[1; 6]), short(Role::Dst, 7));
        assert_eq!(load(&tile, &mut to, &tensor, &[1; 5]), short(Role::Src, 6));
        assert_eq!(store(&tensor, &mut to[..5], &tile, &[1; 8]), short(Role::Dst, 6));
        assert_eq!(store(&tensor, &mut to, &tile, &[1; 6]), short(Role::Src, 7));
        assert_eq!(copy(&column, &mut to[..5], &tile, &[1; 8]), short(Role::Dst, 6));
        assert_eq!(copy(&column, &mut to, &tile, &[1; 6]), short(Role::Src, 7));
        assert_eq!(fill_padding(&tile, &mut to[..7]), short(Role::Dst, 8));
        assert_eq!(to, [9; 8]);
    }

    #[test]
    fn operands_of_two_types_are_refused() {
        let (tile, tensor) = (padded(), Tensor::packed(F32, [1, 1, 1, 2, 3]));
        let mut to = [9; 24];
        assert_eq!(load(&tile, &mut to, &tensor, &[1; 24]), Err(Misfit::Types(F32, U8)));
        assert_eq!(store(&tensor, &mut to, &tile, &[1; 24]), Err(Misfit::Types(F32, U8)));
        assert_eq!(copy(&Tile::new(F32, 2, 3), &mut to, &tile, &[1; 24]), Err(Misfit::Types(U8, F32)));
        assert_eq!(ranges(&tile, &tensor), Err(Misfit::Types(F32, U8)));
        assert_eq!(to, [9; 24]);
    }

    /// A dimension that is divided by may be zero, as long as nothing moves; strides may be any number.
    #[test]
    fn empty_regions_and_absurd_strides_do_not_panic() {
        let none = Tile::new(U8, 2, 4).with_valid(2, 0);
        let layouts = [TensorLayout::Nd, TensorLayout::Nz];
        for (shape, layout) in [[0; 5], [1, 0, 1, 2, 4], [1, 1, 0, 2, 4]].iter().flat_map(|s| layouts.map(|l| (*s, l)))
        {
            let tensor = Tensor::strided(U8, shape, [1; 5], layout);
            let (rows, _) = extents(&tensor);
            let moved = load(&none, &mut [], &tensor, &[]);
            assert_eq!(moved.is_ok(), rows >= 2, "{tensor}: {moved:?}");
        }
        let absurd = Tensor::strided(U8, [1, 1, 1, 2, 4], [u64::MAX; 5], TensorLayout::Nd);
        let tile = Tile::new(U8, 2, 4);
        let needed = Misfit::Short { role: Role::Src, needed: u64::MAX, found: 8 };
        assert_eq!(load(&tile, &mut [0; 8], &absurd, &[0; 8]), Err(needed));
        assert!(matches!(ranges(&tile, &absurd), Err(Misfit::Short { needed: u64::MAX, .. })));
    }
}
