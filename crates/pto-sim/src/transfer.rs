//! TLOAD, TSTORE and TMOV: rectangles between a view and a tile, or between tiles.

use pto_isa::{ElementClass, ElementType, PadValue, Tile};

use crate::state::{TileState, View, known};

/// Copies the view's matrix into the tile's valid region.
pub(crate) fn load(view: &View, buffer: &[u8], tile: &Tile, ub: &mut [u8]) {
    let size = tile.element.size();
    let (rows, cols) = (known(tile.valid_rows), known(tile.valid_cols));
    let fast = view.rows_are_contiguous() && tile.is_row_major();
    for row in 0..rows {
        if fast {
            let (from, to) = ((view.element(row, 0) * size) as usize, (tile.offset(row, 0) * size) as usize);
            let length = (cols * size) as usize;
            ub[to..to + length].copy_from_slice(&buffer[from..from + length]);
        } else {
            for col in 0..cols {
                let (from, to) = ((view.element(row, col) * size) as usize, (tile.offset(row, col) * size) as usize);
                ub[to..to + size as usize].copy_from_slice(&buffer[from..from + size as usize]);
            }
        }
    }
}

/// Copies the tile's valid region into the view's matrix.
pub(crate) fn store(tile: &Tile, ub: &[u8], view: &View, buffer: &mut [u8]) {
    let size = tile.element.size();
    let (rows, cols) = (known(tile.valid_rows), known(tile.valid_cols));
    let fast = view.rows_are_contiguous() && tile.is_row_major();
    for row in 0..rows {
        if fast {
            let (to, from) = ((view.element(row, 0) * size) as usize, (tile.offset(row, 0) * size) as usize);
            let length = (cols * size) as usize;
            buffer[to..to + length].copy_from_slice(&ub[from..from + length]);
        } else {
            for col in 0..cols {
                let (to, from) = ((view.element(row, col) * size) as usize, (tile.offset(row, col) * size) as usize);
                buffer[to..to + size as usize].copy_from_slice(&ub[from..from + size as usize]);
            }
        }
    }
}

/// Copies the valid region of one tile into another, element by element.
pub(crate) fn copy(src: &Tile, from: &[u8], dst: &Tile, to: &mut [u8]) {
    let size = src.element.size();
    for row in 0..known(src.valid_rows) {
        for col in 0..known(src.valid_cols) {
            let (from_at, to_at) = ((src.offset(row, col) * size) as usize, (dst.offset(row, col) * size) as usize);
            to[to_at..to_at + size as usize].copy_from_slice(&from[from_at..from_at + size as usize]);
        }
    }
}

/// Fills what the valid region leaves of a tile with its pad value.
pub(crate) fn pad(tile: &Tile, ub: &mut [u8]) {
    if tile.pad == PadValue::Null {
        return;
    }
    let size = tile.element.size() as usize;
    let value = pad_bytes(tile.element, tile.pad);
    for row in 0..tile.rows {
        for col in 0..tile.cols {
            if row >= known(tile.valid_rows) || col >= known(tile.valid_cols) {
                let at = tile.offset(row, col) as usize * size;
                ub[at..at + size].copy_from_slice(&value[..size]);
            }
        }
    }
}

/// The bits of a pad value: zero, or the largest or smallest value of the type.
fn pad_bytes(element: ElementType, pad: PadValue) -> [u8; 8] {
    let max = pad == PadValue::Max;
    let bits = match (pad, element.class()) {
        (PadValue::Null | PadValue::Zero, _) => 0,
        (_, ElementClass::Unsigned) => {
            if max {
                u64::MAX
            } else {
                0
            }
        }
        (_, ElementClass::Signed) => {
            let sign = 1u64 << (element.size() * 8 - 1);
            if max { sign - 1 } else { sign }
        }
        (_, ElementClass::Float | ElementClass::Float8) => {
            // Infinities where there are any; e4m3's largest number otherwise.
            let (positive, sign) = match element {
                ElementType::F16 => (0x7c00, 0x8000),
                ElementType::BF16 => (0x7f80, 0x8000),
                ElementType::F32 => (0x7f80_0000, 0x8000_0000),
                ElementType::F64 => (0x7ff0_0000_0000_0000, 0x8000_0000_0000_0000),
                ElementType::F8E4M3 => (0x7e, 0x80),
                ElementType::F8E5M2 => (0x7c, 0x80),
                _ => (0x6f, 0x80),
            };
            if max { positive } else { positive | sign }
        }
    };
    bits.to_le_bytes()
}

/// Byte ranges that a load or store touches in the buffer: rows where they are contiguous, else elements.
pub(crate) fn view_ranges(view: &View, tile: &TileState) -> Vec<(u64, u64)> {
    let size = tile.tile.element.size();
    let (rows, cols) = (known(tile.tile.valid_rows), known(tile.tile.valid_cols));
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut push = |from: u64, count: u64| {
        let (start, end) = (from * size, (from + count) * size);
        match ranges.last_mut() {
            Some(last) if last.1 == start => last.1 = end,
            _ => ranges.push((start, end)),
        }
    };
    for row in 0..rows {
        if view.rows_are_contiguous() {
            push(view.element(row, 0), cols);
        } else {
            (0..cols).for_each(|col| push(view.element(row, col), 1));
        }
    }
    ranges
}
