//! Extents: sizes and strides that are known from the types, or only when the program runs.

use core::fmt;

/// A size or stride, static (part of the type) or dynamic (a value at run time).
///
/// The distinction decides *when* a broken rule is reported: from static facts alone the program is refused before it
/// runs; where a dynamic value is needed, the instruction faults.
///
/// ```
/// use pto_isa::Extent;
/// assert_eq!(Extent::Static(8).known(), Some(8));
/// assert_eq!(Extent::Dynamic(Some(8)).erased().known(), None);
/// assert_eq!(Extent::Dynamic(None).to_string(), "?");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Known from the type.
    Static(u64),
    /// Known at run time; `None` while the program is only being checked.
    Dynamic(Option<u64>),
}

impl Extent {
    /// The value, as far as it is known now.
    pub const fn known(self) -> Option<u64> {
        match self {
            Self::Static(value) => Some(value),
            Self::Dynamic(value) => value,
        }
    }

    /// The extent as a checker sees it before the program runs: dynamic values forgotten.
    pub const fn erased(self) -> Self {
        match self {
            Self::Static(_) => self,
            Self::Dynamic(_) => Self::Dynamic(None),
        }
    }

    /// True if the value is not part of the type.
    pub const fn is_dynamic(self) -> bool {
        matches!(self, Self::Dynamic(_))
    }

    /// True only if both values are known and differ.
    pub const fn differs(self, other: Self) -> bool {
        match (self.known(), other.known()) {
            (Some(a), Some(b)) => a != b,
            _ => false,
        }
    }

    /// True only if the value is known and is not `value`.
    pub const fn is_not(self, value: u64) -> bool {
        match self.known() {
            Some(known) => known != value,
            None => false,
        }
    }

    /// True only if both values are known and this one is larger.
    pub const fn exceeds(self, other: Self) -> bool {
        match (self.known(), other.known()) {
            (Some(a), Some(b)) => a > b,
            _ => false,
        }
    }
}

impl From<u64> for Extent {
    fn from(value: u64) -> Self {
        Self::Static(value)
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known() {
            Some(value) => write!(f, "{value}"),
            None => f.write_str("?"),
        }
    }
}
