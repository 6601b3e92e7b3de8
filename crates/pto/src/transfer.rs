//! Plain moves: TLOAD, TSTORE and TMOV on the bytes of their operands.
//!
//! Tensors and tiles are walked logically, so any pair of storage orders works. A tensor is a matrix: dimensions 0 to
//! 3 are rows and dimension 4 columns, each through its own stride; an NZ tensor is `BlockRows * 16` rows of
//! `B * BlockCols * C0` columns. The tile's valid region decides what moves.

use pto_isa::{ElementType, PadValue, Tensor, TensorLayout, Tile};

use crate::error::Cause;

/// Which way the bytes go.
pub(crate) enum Direction<'a> {
    Load { tile: &'a mut [u8], tensor: &'a [u8] },
    Store { tensor: &'a mut [u8], tile: &'a [u8] },
}

/// The tensor as a matrix.
struct Matrix {
    dims: [u64; 5],
    strides: [u64; 5],
    nz: bool,
}

impl Matrix {
    /// Extents and strides of a tensor are known once it is built.
    fn of(tensor: &Tensor) -> Self {
        Self {
            dims: tensor.shape.map(|extent| extent.known().unwrap_or(0)),
            strides: tensor.strides.map(|stride| stride.known().unwrap_or(0)),
            nz: tensor.layout == TensorLayout::Nz,
        }
    }

    fn extents(&self) -> (u64, u64) {
        let [d0, d1, d2, d3, d4] = self.dims;
        if self.nz {
            (d2.saturating_mul(d3), d0.saturating_mul(d1).saturating_mul(d4))
        } else {
            (d0.saturating_mul(d1).saturating_mul(d2).saturating_mul(d3), d4)
        }
    }

    /// Element offset of a logical position inside the extents.
    fn offset(&self, row: u64, col: u64) -> u64 {
        let [_, d1, d2, d3, d4] = self.dims;
        let at = if self.nz {
            let block = col / d4;
            [block / d1, block % d1, row / d3, row % d3, col % d4]
        } else {
            [row / d3 / d2 / d1, row / d3 / d2 % d1, row / d3 % d2, row % d3, col]
        };
        at.iter().zip(&self.strides).map(|(position, stride)| position * stride).sum()
    }

    /// Elements from `col` on that follow each other in memory.
    fn run(&self, col: u64) -> u64 {
        let [.., d4] = self.dims;
        let [.., s4] = self.strides;
        if s4 != 1 { 1 } else { d4 - col % d4 }
    }
}

/// Elements from (`row`, `col`) on that follow each other in a tile.
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

/// Valid rows and columns, if they are within the padded ones.
pub(crate) fn valid(tile: &Tile) -> Result<(u64, u64), Cause> {
    let valid = (tile.valid_rows.known().unwrap_or(0), tile.valid_cols.known().unwrap_or(0));
    if valid.0 > tile.rows || valid.1 > tile.cols {
        return Err(Cause::Valid { valid, padded: (tile.rows, tile.cols) });
    }
    Ok(valid)
}

/// Moves the tile's valid region between tile and tensor; a load also fills the padding.
pub(crate) fn transfer(tile: &Tile, tensor: &Tensor, mut direction: Direction<'_>) -> Result<(), Cause> {
    let (rows, cols) = valid(tile)?;
    let matrix = Matrix::of(tensor);
    if rows > matrix.extents().0 || cols > matrix.extents().1 {
        return Err(Cause::Region { tile: (rows, cols), tensor: matrix.extents() });
    }
    if let Direction::Load { tile: bytes, .. } = &mut direction {
        fill_padding(tile, bytes);
    }
    let size = tile.element.size();
    for row in 0..rows {
        let mut col = 0;
        while col < cols {
            let run = tile_run(tile, col).min(matrix.run(col)).min(cols - col);
            let in_tile = range(tile.offset(row, col), run, size);
            let in_tensor = range(matrix.offset(row, col), run, size);
            match &mut direction {
                Direction::Load { tile, tensor } => tile[in_tile].copy_from_slice(&tensor[in_tensor]),
                Direction::Store { tensor, tile } => tensor[in_tensor].copy_from_slice(&tile[in_tile]),
            }
            col += run;
        }
    }
    Ok(())
}

/// Copies the valid region of one tile to another's.
pub(crate) fn copy(dst: &Tile, to: &mut [u8], src: &Tile, from: &[u8]) -> Result<(), Cause> {
    let (into, out_of) = (valid(dst)?, valid(src)?);
    if into != out_of {
        return Err(Cause::Regions { dst: into, src: out_of });
    }
    let size = dst.element.size();
    for row in 0..into.0 {
        let mut col = 0;
        while col < into.1 {
            let run = tile_run(dst, col).min(tile_run(src, col)).min(into.1 - col);
            to[range(dst.offset(row, col), run, size)].copy_from_slice(&from[range(src.offset(row, col), run, size)]);
            col += run;
        }
    }
    Ok(())
}

fn range(offset: u64, elements: u64, size: u64) -> core::ops::Range<usize> {
    (offset * size) as usize..((offset + elements) * size) as usize
}

fn fill_padding(tile: &Tile, bytes: &mut [u8]) {
    let Some(value) = pad_bits(tile.pad, tile.element) else { return };
    let size = tile.element.size();
    let value = &value.to_le_bytes()[..size as usize];
    let (rows, cols) = (tile.valid_rows.known().unwrap_or(0), tile.valid_cols.known().unwrap_or(0));
    for row in 0..tile.rows {
        for col in if row < rows { cols } else { 0 }..tile.cols {
            bytes[range(tile.offset(row, col), 1, size)].copy_from_slice(value);
        }
    }
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
