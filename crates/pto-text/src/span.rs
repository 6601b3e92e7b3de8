//! Where something stands in a text: a half-open range of byte offsets.

use core::fmt;
use core::ops::Range;

/// A half-open range of byte offsets into one [`Source`](crate::Source).
///
/// Offsets are 32 bits wide, which keeps the syntax tree small; [`Source`](crate::Source) refuses larger texts.
///
/// ```
/// use pto_text::Span;
/// let span = Span::new(4, 9);
/// assert_eq!((span.len(), span.is_empty()), (5, false));
/// assert_eq!(span.cover(Span::new(1, 2)), Span::new(1, 9));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span {
    /// Offset of the first byte.
    pub start: u32,
    /// Offset behind the last byte.
    pub end: u32,
}

impl Span {
    /// The bytes from `start` up to, not including, `end`. An `end` before `start` is read as an empty span.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end: if end < start { start } else { end } }
    }

    /// The empty span at one offset: a place between two characters.
    pub const fn at(offset: u32) -> Self {
        Self { start: offset, end: offset }
    }

    /// Number of bytes.
    pub const fn len(self) -> u32 {
        self.end - self.start
    }

    /// Whether the span holds no byte.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The smallest span that holds both.
    pub fn cover(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The span as a range that indexes a `str`.
    pub const fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}
