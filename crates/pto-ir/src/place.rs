//! Where in its source a part of a program stands.

/// A place in the source of a program: for text, the byte range `start..end`; for a kernel recorded from Rust, `start`
/// is a position in the recorder's list of locations.
///
/// The program does not know which: whoever made it turns places into file, line and column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// First byte, or the number of a recorded location.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Place {
    /// The place `start..end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }
}
