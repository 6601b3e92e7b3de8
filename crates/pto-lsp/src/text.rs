//! A text that an editor changes piece by piece, and the way between its positions and byte offsets.
//!
//! Editors count lines from 0 and columns in code units: UTF-16 unless client and server agree on UTF-8. A line ends with
//! `\n`, `\r\n` or `\r`. Positions outside the text are read as the nearest place inside: behind the end of a line as its
//! end, before its line break; inside a character as its start.

use std::ops::Range;
use std::sync::OnceLock;

use gen_lsp_types as lsp;
use pto_text::Span;

/// What the columns of positions count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units, as every client and server must be able to.
    #[default]
    Utf16,
}

/// The largest text that is kept: offsets are 32 bits wide, and an editor would not show more than this.
pub const MAX_TEXT: usize = 1 << 30;

/// Distance of the entries of the table of UTF-16 positions; lines up to this long are counted without it.
const STEP: usize = 4096;

/// A text with its line starts.
///
/// ```
/// use gen_lsp_types::Position;
/// use pto_lsp::{Encoding, Text};
/// let mut text = Text::new("a𝄞b\nc".into());
/// // 𝄞 is four bytes, and two code units of UTF-16.
/// assert_eq!(text.offset(Position::new(0, 3), Encoding::Utf16), 5);
/// assert_eq!(text.position(5, Encoding::Utf16), Position::new(0, 3));
/// assert_eq!(text.position(5, Encoding::Utf8), Position::new(0, 5));
/// text.replace(1..5, "\n");
/// assert_eq!((text.as_str(), text.line_count()), ("a\nb\nc", 3));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Text {
    text: String,
    /// Offset of the first byte of every line but the first.
    breaks: Vec<u32>,
    /// How many UTF-16 units lie before each multiple of [`STEP`]; made when a long line needs it.
    units: OnceLock<Vec<u32>>,
}

impl Text {
    /// A text; what is longer than [`MAX_TEXT`] is cut off.
    pub fn new(mut text: String) -> Self {
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        let breaks = breaks(&text, 0..text.len());
        Self { text, breaks, units: OnceLock::new() }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Number of lines; a text without a line break has one.
    pub fn line_count(&self) -> usize {
        self.breaks.len() + 1
    }

    /// Replaces bytes. The range must lie on characters, as [`offset`](Self::offset) gives it; one that does not is
    /// widened. Says whether the result fits [`MAX_TEXT`]; if not, nothing is changed.
    pub fn replace(&mut self, range: Range<usize>, with: &str) -> bool {
        let start = self.text.floor_char_boundary(range.start.min(self.text.len()));
        let end = self.text.ceil_char_boundary(range.end.clamp(start, self.text.len()));
        if self.text.len() - (end - start) + with.len() > MAX_TEXT {
            return false;
        }
        self.text.replace_range(start..end, with);
        self.units = OnceLock::new();
        // A `\r` before or a `\n` behind the new bytes may join them into one line break, so both are read again.
        let from = start.saturating_sub(1);
        let to = (start + with.len() + 1).min(self.text.len());
        let first = self.breaks.partition_point(|&at| at as usize <= from);
        let last = self.breaks.partition_point(|&at| at as usize <= end + 1);
        let (grown, shrunk) = (with.len() as u32, (end - start) as u32);
        for at in &mut self.breaks[last..] {
            *at = *at + grown - shrunk;
        }
        self.breaks.splice(first..last, breaks(&self.text, from..to));
        true
    }

    /// The byte offset of a position.
    pub fn offset(&self, position: lsp::Position, encoding: Encoding) -> usize {
        let line = position.line as usize;
        if line > self.breaks.len() {
            return self.text.len();
        }
        let start = self.line_start(line);
        let content = self.text[start..self.line_end(line)].trim_end_matches(['\n', '\r']);
        let column = position.character as usize;
        match encoding {
            Encoding::Utf8 => start + content.floor_char_boundary(column),
            Encoding::Utf16 if content.len() <= STEP => start + find_unit(content, column),
            Encoding::Utf16 => {
                // The last table entry that is still inside the line and not behind the column.
                let wanted = self.units_before(start) as usize + column;
                let table = self.units();
                let inside = &table[..=(start + content.len()) / STEP];
                let entry = inside.partition_point(|&units| units as usize <= wanted).saturating_sub(1);
                let from = self.text.ceil_char_boundary(entry * STEP).max(start);
                let rest = wanted - self.units_before(from) as usize;
                from + find_unit(&self.text[from..start + content.len()], rest)
            }
        }
    }

    /// The position of a byte offset.
    pub fn position(&self, offset: u32, encoding: Encoding) -> lsp::Position {
        let offset = self.text.floor_char_boundary(offset as usize);
        let line = self.breaks.partition_point(|&start| start as usize <= offset);
        let start = self.line_start(line);
        let column = match encoding {
            Encoding::Utf8 => (offset - start) as u32,
            Encoding::Utf16 if offset - start <= STEP => count_units(&self.text.as_bytes()[start..offset]),
            Encoding::Utf16 => self.units_before(offset) - self.units_before(start),
        };
        lsp::Position::new(line as u32, column)
    }

    /// The range of a span.
    pub fn range(&self, span: Span, encoding: Encoding) -> lsp::Range {
        lsp::Range { start: self.position(span.start, encoding), end: self.position(span.end, encoding) }
    }

    fn line_start(&self, line: usize) -> usize {
        line.checked_sub(1).map_or(0, |before| self.breaks[before] as usize)
    }

    fn line_end(&self, line: usize) -> usize {
        self.breaks.get(line).map_or(self.text.len(), |&next| next as usize)
    }

    fn units(&self) -> &[u32] {
        self.units.get_or_init(|| {
            let mut sum = 0;
            let mut table = vec![0];
            for chunk in self.text.as_bytes().chunks(STEP) {
                sum += count_units(chunk);
                table.push(sum);
            }
            table
        })
    }

    /// UTF-16 units before a character's first byte.
    fn units_before(&self, offset: usize) -> u32 {
        let step = offset / STEP;
        self.units()[step] + count_units(&self.text.as_bytes()[step * STEP..offset])
    }
}

/// The starts of the lines that begin behind a line break in a part of a text.
fn breaks(text: &str, part: Range<usize>) -> Vec<u32> {
    let bytes = text.as_bytes();
    let ends = |at: &usize| match bytes[*at] {
        b'\n' => true,
        b'\r' => bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    };
    part.filter(ends).map(|at| at as u32 + 1).collect()
}

/// UTF-16 units of the characters that begin in these bytes: one each, two for those of four bytes.
fn count_units(bytes: &[u8]) -> u32 {
    bytes.iter().map(|&byte| u32::from(byte & 0xC0 != 0x80) + u32::from(byte >= 0xF0)).sum()
}

/// The offset of the character that holds a UTF-16 unit; the end if there are fewer.
fn find_unit(text: &str, unit: usize) -> usize {
    let mut seen = 0;
    for (at, char) in text.char_indices() {
        seen += char.len_utf16();
        if seen > unit {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lsp::Position;
    use proptest::prelude::*;

    #[test]
    fn surrogates_and_wide_characters() {
        // One, two, three and four bytes; one, one, one and two units.
        let text = Text::new("aé€𝄞b".into());
        for (offset, utf16) in [(0, 0), (1, 1), (3, 2), (6, 3), (10, 5), (11, 6)] {
            assert_eq!(text.position(offset, Encoding::Utf16), Position::new(0, utf16));
            assert_eq!(text.position(offset, Encoding::Utf8), Position::new(0, offset));
            assert_eq!(text.offset(Position::new(0, utf16), Encoding::Utf16), offset as usize);
            assert_eq!(text.offset(Position::new(0, offset), Encoding::Utf8), offset as usize);
        }
        // Between the halves of a surrogate pair, and inside a character: its start.
        assert_eq!(text.offset(Position::new(0, 4), Encoding::Utf16), 6);
        assert_eq!(text.offset(Position::new(0, 8), Encoding::Utf8), 6);
        assert_eq!(text.position(8, Encoding::Utf16), Position::new(0, 3));
    }

    #[test]
    fn tabs_count_one_and_line_breaks_are_of_three_kinds() {
        let text = Text::new("\ta\r\nb\rc\n\nd".into());
        assert_eq!(text.line_count(), 5);
        assert_eq!(text.offset(Position::new(0, 1), Encoding::Utf16), 1);
        // Behind the end of a line is before its line break, behind the last line is the end.
        assert_eq!(text.offset(Position::new(0, 99), Encoding::Utf16), 2);
        assert_eq!(text.offset(Position::new(1, 99), Encoding::Utf16), 5);
        assert_eq!(text.offset(Position::new(3, 1), Encoding::Utf8), 8);
        assert_eq!(text.offset(Position::new(99, 0), Encoding::Utf16), 10);
        assert_eq!(text.position(4, Encoding::Utf16), Position::new(1, 0));
        assert_eq!(text.position(6, Encoding::Utf16), Position::new(2, 0));
        assert_eq!(text.position(99, Encoding::Utf16), Position::new(4, 1));
    }

    #[test]
    fn edits_join_and_split_line_breaks() {
        let mut text = Text::new("a\rb".into());
        text.replace(2..2, "\n");
        assert_eq!((text.as_str(), text.line_count()), ("a\r\nb", 2));
        text.replace(2..2, "x");
        assert_eq!((text.as_str(), text.line_count()), ("a\rx\nb", 3));
        text.replace(2..3, "");
        assert_eq!(text.line_count(), 2);
    }

    #[test]
    fn long_lines_go_through_the_table() {
        let text = Text::new(format!("first\n{}\nlast", "aé€𝄞".repeat(4000)));
        for at in [0, 6, 7, 4095, 4096, 4097, 8192, 20_000, 40_005, 40_006, 40_007] {
            let start = text.as_str().floor_char_boundary(at);
            let position = text.position(at as u32, Encoding::Utf16);
            assert_eq!(text.offset(position, Encoding::Utf16), start, "{at}");
            let line_start = text.as_str()[..start].rfind('\n').map_or(0, |at| at + 1);
            let units = text.as_str()[line_start..start].encode_utf16().count();
            assert_eq!(position.character as usize, units, "{at}");
        }
        assert_eq!(text.offset(Position::new(1, u32::MAX), Encoding::Utf16), 40_006);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// A sequence of edits leaves what a replacement of the whole text would.
        #[test]
        fn edits_are_replacements(
            start in "[ab\r\né€𝄞\t]{0,40}",
            edits in prop::collection::vec((0usize..60, 0usize..20, "[ab\r\né𝄞]{0,8}"), 0..12),
        ) {
            let mut text = Text::new(start.clone());
            let mut plain = start;
            for (at, len, with) in edits {
                let from = plain.floor_char_boundary(at);
                let to = plain.ceil_char_boundary((from + len).min(plain.len()));
                plain.replace_range(from..to, &with);
                prop_assert!(text.replace(from..to, &with));
                let whole = Text::new(plain.clone());
                prop_assert_eq!(text.as_str(), &plain);
                prop_assert_eq!(&text.breaks, &whole.breaks);
            }
        }

        /// Every offset comes back from its position, in both encodings, unless it lies inside a line break.
        #[test]
        fn positions_go_both_ways(text in "[ab\r\né€𝄞\t]{0,60}") {
            let text = Text::new(text);
            for (at, char) in text.as_str().char_indices() {
                let inside_break = char == '\n' && text.as_str()[..at].ends_with('\r');
                for encoding in [Encoding::Utf8, Encoding::Utf16] {
                    let back = text.offset(text.position(at as u32, encoding), encoding);
                    prop_assert_eq!(back, if inside_break { at - 1 } else { at });
                }
            }
        }
    }
}
