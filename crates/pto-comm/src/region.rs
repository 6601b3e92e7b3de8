//! Two-dimensional windows of bytes, and copying one onto another.

/// `rows` rows of `cols` elements, each at its own distance, in some buffer. All figures are bytes but the counts.
///
/// ```
/// use pto_comm::Region;
/// let region = Region { offset: 4, rows: 2, row_stride: 10, cols: 3, col_stride: 2, element: 2 };
/// assert_eq!(region.end(), Some(4 + 10 + 4 + 2));
/// assert_eq!(region.bytes(), Some(12));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Region {
    /// Where the first element starts.
    pub offset: u64,
    /// Number of rows.
    pub rows: u64,
    /// Distance between rows.
    pub row_stride: u64,
    /// Elements in a row.
    pub cols: u64,
    /// Distance between the elements of a row.
    pub col_stride: u64,
    /// Size of one element.
    pub element: u64,
}

impl Region {
    /// Rows that follow each other without gaps, from the start of a buffer.
    pub const fn dense(rows: u64, cols: u64, element: u64) -> Self {
        Self { offset: 0, rows, row_stride: cols.saturating_mul(element), cols, col_stride: element, element }
    }

    /// `length` bytes from `offset`, as one row.
    pub const fn bytes_at(offset: u64, length: u64) -> Self {
        Self { offset, rows: 1, row_stride: length, cols: length, col_stride: 1, element: 1 }
    }

    /// One past the last byte touched; `None` if that overflows. A region without elements ends where it starts.
    pub const fn end(&self) -> Option<u64> {
        if self.is_empty() {
            return Some(self.offset);
        }
        let Some(rows) = (self.rows - 1).checked_mul(self.row_stride) else { return None };
        let Some(row) = self.row_span() else { return None };
        let Some(length) = rows.checked_add(row) else { return None };
        self.offset.checked_add(length)
    }

    /// Bytes of all elements; `None` if the product overflows.
    pub const fn bytes(&self) -> Option<u64> {
        match self.rows.checked_mul(self.cols) {
            Some(elements) => elements.checked_mul(self.element),
            None => None,
        }
    }

    /// True if there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.rows == 0 || self.cols == 0 || self.element == 0
    }

    /// True if the elements of a row follow each other without gaps.
    pub const fn has_dense_rows(&self) -> bool {
        self.col_stride == self.element || self.cols <= 1
    }

    /// True if all its bytes follow each other without gaps.
    pub const fn is_dense(&self) -> bool {
        self.has_dense_rows() && (self.row_stride == self.cols.saturating_mul(self.element) || self.rows <= 1)
    }

    /// Bytes from the start of a row to its end; `None` if that overflows.
    pub(crate) const fn row_span(&self) -> Option<u64> {
        if self.cols == 0 {
            return Some(0);
        }
        match (self.cols - 1).checked_mul(self.col_stride) {
            Some(last) => last.checked_add(self.element),
            None => None,
        }
    }

    /// Some rows and columns of the region.
    #[cfg(feature = "mpi")]
    pub(crate) const fn part(mut self, row: u64, rows: u64, col: u64, cols: u64) -> Self {
        self.offset += row * self.row_stride + col * self.col_stride;
        (self.rows, self.cols) = (rows, cols);
        self
    }
}

/// Copies the elements of one region to another with the same counts and element size, row by row.
///
/// Both regions lie inside their buffers: the callers have checked that before the first byte moved.
pub(crate) fn copy(from: &[u8], source: Region, to: &mut [u8], target: Region) {
    if source.is_empty() {
        return;
    }
    if source.is_dense() && target.is_dense() {
        let bytes = (source.rows * source.cols * source.element) as usize;
        to[target.offset as usize..][..bytes].copy_from_slice(&from[source.offset as usize..][..bytes]);
        return;
    }
    let dense_rows = source.has_dense_rows() && target.has_dense_rows();
    let row_bytes = (source.cols * source.element) as usize;
    for row in 0..source.rows {
        let (a, b) =
            ((source.offset + row * source.row_stride) as usize, (target.offset + row * target.row_stride) as usize);
        if dense_rows {
            to[b..b + row_bytes].copy_from_slice(&from[a..a + row_bytes]);
            continue;
        }
        match source.element {
            1 => elements::<1>(&from[a..], source, &mut to[b..], target),
            2 => elements::<2>(&from[a..], source, &mut to[b..], target),
            4 => elements::<4>(&from[a..], source, &mut to[b..], target),
            _ => elements::<8>(&from[a..], source, &mut to[b..], target),
        }
    }
}

fn elements<const N: usize>(from: &[u8], source: Region, to: &mut [u8], target: Region) {
    for col in 0..source.cols {
        let (a, b) = ((col * source.col_stride) as usize, (col * target.col_stride) as usize);
        to[b..b + N].copy_from_slice(&from[a..a + N]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_between_strided_regions() {
        let from: Vec<u8> = (0..60).collect();
        let source = Region { offset: 1, rows: 2, row_stride: 20, cols: 3, col_stride: 5, element: 2 };
        let mut to = [255; 24];
        copy(&from, source, &mut to, Region { offset: 2, ..Region::dense(2, 3, 2) });
        assert_eq!(to[2..14], [1, 2, 6, 7, 11, 12, 21, 22, 26, 27, 31, 32]);
        assert!(to[..2].iter().chain(&to[14..]).all(|b| *b == 255));
    }

    #[test]
    fn an_end_that_overflows_is_none() {
        let region = Region { offset: 8, rows: 3, row_stride: u64::MAX / 2, cols: 1, col_stride: 1, element: 1 };
        assert_eq!(region.end(), None);
    }
}
