//! Words and numbers: made safe for the page, short enough for the picture, the same on every machine.

use std::fmt::{self, Display, Write};

/// A character that no page and no terminal should be handed: controls, and marks that reorder what is read.
fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}')
}

/// The text on one line, hostile characters replaced, at most `limit` characters.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == limit {
            out.pop();
            out.push('…');
            break;
        }
        out.push(match c {
            '\n' | '\t' => ' ',
            c if is_hostile(c) => '\u{fffd}',
            c => c,
        });
    }
    out
}

/// A writer that escapes for XML and HTML, text and attribute values alike.
struct Escaped<'a>(&'a mut String);

impl Write for Escaped<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                '\n' => self.0.push('\n'),
                c if is_hostile(c) => self.0.push('\u{fffd}'),
                c => self.0.push(c),
            }
        }
        Ok(())
    }
}

/// Appends a value, escaped.
pub(crate) fn escape_into(out: &mut String, value: impl Display) {
    // Writing to a string does not fail.
    let _ = write!(Escaped(out), "{value}");
}

/// `1234567` as `1,234,567`.
pub(crate) fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number in at most five characters or so, for marks on an edge: `437k`, `1.05M`.
pub(crate) fn compact(value: u64) -> String {
    match value {
        0..100_000 => value.to_string(),
        100_000..1_000_000 => format!("{}k", value / 1000),
        1_000_000..1_000_000_000 => format!("{:.2}M", value as f64 / 1e6),
        _ => format!("{:.1e}", value as f64),
    }
}

/// Bytes in the unit that suits them.
pub(crate) fn bytes(value: u64) -> String {
    match value {
        0..1024 => format!("{value} B"),
        1024..0x10_0000 if value.is_multiple_of(1024) => format!("{} KiB", value / 1024),
        1024..0x10_0000 => format!("{:.1} KiB", value as f64 / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", value as f64 / f64::from(0x10_0000)),
        0x4000_0000..0x100_0000_0000 => format!("{:.1} GiB", value as f64 / f64::from(0x4000_0000)),
        _ => format!("{:.1e} B", value as f64),
    }
}

/// `part` of `whole` in percent; 0 of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// `1 lane`, `2 lanes`.
pub(crate) fn count(value: u64, what: &str) -> String {
    let plural = if value == 1 { "" } else { "s" };
    format!("{} {what}{plural}", thousands(value))
}

/// A step for an axis: the smallest of 1, 2, 5, 10, 20, ... that gives at most `most` steps.
pub(crate) fn nice_step(range: u64, most: u64) -> u64 {
    let mut decade = 1u64;
    loop {
        for step in [1, 2, 5].map(|factor| decade.saturating_mul(factor)) {
            if range / step <= most {
                return step;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_234_567), "1,234,567");
    }

    #[test]
    fn marks_are_short() {
        let marks = [0, 99_999, 437_120, 1_048_576, u64::MAX].map(compact);
        assert_eq!(marks, ["0", "99999", "437k", "1.05M", "1.8e19"]);
    }

    #[test]
    fn bytes_take_their_unit() {
        assert_eq!([bytes(12), bytes(2048), bytes(1536), bytes(3 << 20)], ["12 B", "2 KiB", "1.5 KiB", "3.0 MiB"]);
    }

    #[test]
    fn steps_are_round_and_never_endless() {
        assert_eq!(nice_step(100, 8), 20);
        assert_eq!(nice_step(0, 8), 1);
        assert!(u64::MAX / nice_step(u64::MAX, 8) <= 8);
    }

    #[test]
    fn text_is_escaped_and_shortened() {
        let mut out = String::new();
        escape_into(&mut out, "<a b='\"'>&\u{1b}\u{202e}");
        assert_eq!(out, "&lt;a b=&#39;&quot;&#39;&gt;&amp;\u{fffd}\u{fffd}");
        assert_eq!(shorten("abcdef", 4), "abc…");
        assert_eq!(shorten("abcd", 4), "abcd");
        assert_eq!(shorten("a\u{1b}[31m", 9), "a\u{fffd}[31m");
    }
}
