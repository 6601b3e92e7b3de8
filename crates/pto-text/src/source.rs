//! A text with its name, and the way from byte offsets to lines and columns.

use crate::diagnostic::Diagnostic;
use crate::rules;
use crate::span::Span;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A place for people: line and column, both counted from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters (Unicode scalar values), from 1.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A named text. Clones share the text.
///
/// ```
/// use pto_text::{Position, Source, Span};
/// let source = Source::new("kernel.pto", "é = 1\nreturn\n");
/// assert_eq!(source.position(3), Position { line: 1, column: 3 });
/// assert_eq!(source.position(7), Position { line: 2, column: 1 });
/// assert_eq!(source.slice(Span::new(7, 13)), "return");
/// ```
#[derive(Clone)]
pub struct Source(Arc<Inner>);

struct Inner {
    name: String,
    text: String,
    /// Offsets of the replacement characters that stand for bytes that were not UTF-8.
    invalid: Vec<u32>,
    /// Made when the first position is asked for.
    index: OnceLock<Index>,
}

/// Tables that make a position cost the same anywhere in a text, even in one without line breaks.
struct Index {
    /// Offset of the first byte of every line.
    lines: Vec<u32>,
    /// How many characters begin before each multiple of [`STEP`].
    chars: Vec<u32>,
}

const STEP: usize = 4096;

/// How many characters begin in these bytes.
fn count_chars(bytes: &[u8]) -> u32 {
    bytes.iter().filter(|&&byte| byte & 0xC0 != 0x80).count() as u32
}

impl Source {
    /// A text under a name.
    ///
    /// # Panics
    ///
    /// If the text is 4 GiB or larger. [`Source::from_bytes`] reports that as a diagnostic instead.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        assert!(fits(text.len()), "a source text must be smaller than 4 GiB");
        Self::build(name.into(), text, Vec::new())
    }

    /// Reads bytes of unknown origin.
    ///
    /// Bytes that are not UTF-8 are replaced by U+FFFD and their places remembered: [`parse`](crate::parse) reports
    /// each of them, so that the rest of the file is still judged.
    ///
    /// # Errors
    ///
    /// A `parse.file-size` diagnostic if the input is 4 GiB or larger.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Self, Box<Diagnostic>> {
        let refuse = |len: usize| {
            let message = format!("the input has {len} bytes; files of 4 GiB and more are not read");
            Err(Box::new(Diagnostic::new(&rules::FILE_SIZE, message)))
        };
        if !fits(bytes.len()) {
            return refuse(bytes.len());
        }
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return Ok(Self::build(name.into(), text, Vec::new())),
            Err(error) => error.into_bytes(),
        };
        let mut text = String::with_capacity(bytes.len() + 64);
        let mut invalid = Vec::new();
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                // A replacement is up to three times as long as what it replaces, so the size is checked again.
                if !fits(text.len() + 3) {
                    return refuse(bytes.len());
                }
                invalid.push(text.len() as u32);
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        Ok(Self::build(name.into(), text, invalid))
    }

    fn build(name: String, text: String, invalid: Vec<u32>) -> Self {
        Self(Arc::new(Inner { name, text, invalid, index: OnceLock::new() }))
    }

    /// The name given by whoever made the source, usually a path.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The whole text.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The part of the text under a span; what lies outside the text or cuts a character is left out.
    pub fn slice(&self, span: Span) -> &str {
        self.text().get(span.range()).unwrap_or("")
    }

    /// Where bytes that were not UTF-8 have been replaced.
    pub fn invalid_utf8(&self) -> impl Iterator<Item = Span> + '_ {
        let width = char::REPLACEMENT_CHARACTER.len_utf8() as u32;
        self.0.invalid.iter().map(move |&at| Span::new(at, at + width))
    }

    /// Line and column of a byte offset. Offsets behind the end are read as the end.
    pub fn position(&self, offset: u32) -> Position {
        let offset = self.floor_char(offset);
        let lines = &self.index().lines;
        let line = lines.partition_point(|&start| start <= offset) - 1;
        let column = self.chars_before(offset) - self.chars_before(lines[line]);
        Position { line: line as u32 + 1, column: column + 1 }
    }

    /// Number of lines; a text without a line break has one.
    pub fn line_count(&self) -> u32 {
        self.index().lines.len() as u32
    }

    /// The span of a line (counted from 1), its line break included. Lines that do not exist are empty.
    pub fn line_span(&self, line: u32) -> Span {
        let end = self.text().len() as u32;
        let start_of = |line: usize| self.index().lines.get(line).copied().unwrap_or(end);
        match (line as usize).checked_sub(1) {
            Some(index) => Span::new(start_of(index), start_of(index + 1)),
            None => Span::at(0),
        }
    }

    /// The byte offset of a line and column, as an editor sends them; clipped to the line and to the text.
    pub fn offset(&self, position: Position) -> u32 {
        let line = self.line_span(position.line);
        let text = self.slice(line).trim_end_matches(['\n', '\r']);
        let column = position.column.saturating_sub(1) as usize;
        let inside = text.char_indices().nth(column).map_or(text.len(), |(at, _)| at);
        line.start + inside as u32
    }

    fn floor_char(&self, offset: u32) -> u32 {
        self.text().floor_char_boundary(offset as usize) as u32
    }

    fn chars_before(&self, offset: u32) -> u32 {
        let step = offset as usize / STEP;
        self.index().chars[step] + count_chars(&self.text().as_bytes()[step * STEP..offset as usize])
    }

    fn index(&self) -> &Index {
        self.0.index.get_or_init(|| {
            let bytes = self.text().as_bytes();
            let breaks = bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'\n');
            let lines = std::iter::once(0).chain(breaks.map(|(at, _)| at as u32 + 1)).collect();
            let mut chars = vec![0];
            let mut total = 0;
            for step in bytes.chunks(STEP) {
                total += count_chars(step);
                chars.push(total);
            }
            Index { lines, chars }
        })
    }
}

/// Whether every offset of a text of this length, its end included, fits a [`Span`].
const fn fits(len: usize) -> bool {
    (len as u64) < u32::MAX as u64
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({}, {} bytes)", self.name(), self.text().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns() {
        let source = Source::new("t", "a\nbü c\r\n\nlast");
        let places: Vec<_> = [0, 1, 2, 5, 6, 9, 10, 13, 99].map(|at| source.position(at).to_string()).to_vec();
        assert_eq!(places, ["1:1", "1:2", "2:1", "2:3", "2:4", "3:1", "4:1", "4:4", "4:5"]);
        assert_eq!(source.line_count(), 4);
        assert_eq!(source.slice(source.line_span(2)), "bü c\r\n");
        assert_eq!(source.slice(source.line_span(9)), "");
        for at in [0, 2, 3, 5, 9, 12] {
            assert_eq!(source.offset(source.position(at)), at);
        }
        assert_eq!(source.offset(Position { line: 2, column: 99 }), 7);
    }

    #[test]
    fn an_offset_inside_a_character_is_moved_to_its_start() {
        assert_eq!(Source::new("t", "aü").position(2), Position { line: 1, column: 2 });
    }

    #[test]
    fn columns_of_long_lines() {
        let source = Source::new("t", format!("ab\n{}x", "ü".repeat(10_000)));
        for (at, column) in [(3, 1), (5, 2), (4095, 2047), (4097, 2048), (20_003, 10_001), (20_004, 10_002)] {
            assert_eq!(source.position(at), Position { line: 2, column }, "{at}");
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_remembered() {
        let source = Source::from_bytes("t", b"ab\xffc\xc3".to_vec()).unwrap();
        assert_eq!(source.text(), "ab\u{fffd}c\u{fffd}");
        assert_eq!(source.invalid_utf8().collect::<Vec<_>>(), [Span::new(2, 5), Span::new(6, 9)]);
    }

    #[test]
    fn four_gib_do_not_fit() {
        assert!(fits(u32::MAX as usize - 1) && !fits(u32::MAX as usize));
    }
}
