//! Rows and columns of a slice, the rows at a distance.

use super::Fault;

/// Rows of a slice: `rows` of `cols` elements each, `stride` elements apart.
///
/// Slices, arrays and vectors are views of a single row.
///
/// ```
/// use pto_exec::host::View;
/// let data = [1, 2, 0, 3, 4];
/// let view = View::strided(&data, 2, 2, 3)?;
/// assert_eq!(view.shape(), (2, 2));
/// assert!(View::new(&data, 2, 3).is_err());
/// # Ok::<(), pto_exec::host::Fault>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    pub(super) data: &'a [T],
    pub(super) shape: Shape,
}

/// A [`View`] to be written to.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    pub(super) data: &'a mut [T],
    pub(super) shape: Shape,
}

/// Extents and distance of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) stride: usize,
}

impl Shape {
    #[inline]
    fn of_slice(length: usize) -> Self {
        Self { rows: 1, cols: length, stride: length }
    }

    fn new(rows: usize, cols: usize, stride: usize, found: usize) -> Result<Self, Fault> {
        if rows > 1 && stride < cols {
            return Err(Fault::Overlap { cols, stride });
        }
        let last = rows.saturating_sub(1).checked_mul(stride);
        let needed = if rows == 0 { Some(0) } else { last.and_then(|last| last.checked_add(cols)) };
        // Rows without columns may be any number, but signed indices have to reach them.
        if needed.is_none_or(|needed| needed > found) || isize::try_from(rows).is_err() {
            return Err(Fault::View { rows, cols, stride, found });
        }
        Ok(Self { rows, cols, stride })
    }

    /// True if elements follow each other without gaps.
    #[inline]
    pub(super) fn is_packed(self) -> bool {
        self.rows <= 1 || self.stride == self.cols
    }

    /// The number of elements; a shape that fits a slice has no more than fit a `usize`.
    #[inline]
    pub(super) fn elements(self) -> usize {
        self.rows * self.cols
    }
}

impl<'a, T> View<'a, T> {
    /// Rows that follow each other without gaps.
    ///
    /// # Errors
    /// [`Fault::View`] if the slice is too short.
    pub fn new(data: &'a [T], rows: usize, cols: usize) -> Result<Self, Fault> {
        Self::strided(data, rows, cols, cols)
    }

    /// Rows at a distance of `stride` elements.
    ///
    /// # Errors
    /// [`Fault::View`] if the slice is too short, [`Fault::Overlap`] if rows overlap.
    pub fn strided(data: &'a [T], rows: usize, cols: usize, stride: usize) -> Result<Self, Fault> {
        Ok(Self { data, shape: Shape::new(rows, cols, stride, data.len())? })
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.shape.rows, self.shape.cols)
    }
}

impl<'a, T> ViewMut<'a, T> {
    /// Rows that follow each other without gaps.
    ///
    /// # Errors
    /// [`Fault::View`] if the slice is too short.
    pub fn new(data: &'a mut [T], rows: usize, cols: usize) -> Result<Self, Fault> {
        Self::strided(data, rows, cols, cols)
    }

    /// Rows at a distance of `stride` elements.
    ///
    /// # Errors
    /// [`Fault::View`] if the slice is too short, [`Fault::Overlap`] if rows overlap.
    pub fn strided(data: &'a mut [T], rows: usize, cols: usize, stride: usize) -> Result<Self, Fault> {
        let shape = Shape::new(rows, cols, stride, data.len())?;
        Ok(Self { data, shape })
    }

    /// Rows and columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.shape.rows, self.shape.cols)
    }
}

impl<'a, T> From<&'a [T]> for View<'a, T> {
    #[inline]
    fn from(data: &'a [T]) -> Self {
        Self { data, shape: Shape::of_slice(data.len()) }
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for View<'a, T> {
    #[inline]
    fn from(data: &'a [T; N]) -> Self {
        data.as_slice().into()
    }
}

impl<'a, T> From<&'a Vec<T>> for View<'a, T> {
    #[inline]
    fn from(data: &'a Vec<T>) -> Self {
        data.as_slice().into()
    }
}

impl<'a, T> From<&'a mut [T]> for ViewMut<'a, T> {
    #[inline]
    fn from(data: &'a mut [T]) -> Self {
        let shape = Shape::of_slice(data.len());
        Self { data, shape }
    }
}

impl<'a, T, const N: usize> From<&'a mut [T; N]> for ViewMut<'a, T> {
    #[inline]
    fn from(data: &'a mut [T; N]) -> Self {
        data.as_mut_slice().into()
    }
}

impl<'a, T> From<&'a mut Vec<T>> for ViewMut<'a, T> {
    #[inline]
    fn from(data: &'a mut Vec<T>) -> Self {
        data.as_mut_slice().into()
    }
}
