//! The values of literals.

use crate::syntax::{Kind, Node};
use std::borrow::Cow;

/// The value of an integer, decimal or hexadecimal; `None` if the node is none, or does not fit.
///
/// ```
/// use pto_text::{Source, parse, view::{Op, integer}};
/// let parsed = parse(&Source::new("t", ".const %c = 0x1000 : i64"));
/// let entry = Op::all(parsed.tree.root()).next().unwrap().entry("%c").unwrap();
/// assert_eq!(integer(entry.value.unwrap()), Some(4096));
/// ```
pub fn integer(node: Node<'_>) -> Option<i128> {
    if node.kind() != Kind::Int {
        return None;
    }
    let text = node.text();
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let value = match digits.strip_prefix("0x") {
        Some(hex) => i128::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    value.ok().map(|value| if negative { -value } else { value })
}

/// The value of a string: the quotes are taken off, `\n`, `\t`, `\"`, `\\` and `\hh` (a byte in hexadecimal) are read.
/// Bytes that do not make up UTF-8 become U+FFFD. `None` if the node is no string.
pub fn string(node: Node<'_>) -> Option<Cow<'_, str>> {
    if node.kind() != Kind::Str {
        return None;
    }
    let text = node.text();
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(Cow::Borrowed(inner));
    }
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let hex = tail
            .get(..2)
            .and_then(|two| std::str::from_utf8(two).ok())
            .and_then(|two| u8::from_str_radix(two, 16).ok());
        match (hex, tail) {
            (Some(byte), _) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            (None, [escaped, tail @ ..]) => {
                bytes.push(match escaped {
                    b'n' => b'\n',
                    b't' => b'\t',
                    other => *other,
                });
                rest = tail;
            }
            (None, []) => bytes.push(b'\\'),
        }
    }
    Some(Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Op;
    use crate::{Source, parse};

    fn literals<R>(text: &str, read: impl Fn(Node<'_>) -> R) -> Vec<R> {
        let parsed = parse(&Source::new("t", format!("x [{text}]")));
        assert!(parsed.is_clean(), "{:?}", parsed.diagnostics);
        let list = Op::all(parsed.tree.root()).next().unwrap().body().next().unwrap();
        list.children().map(read).collect()
    }

    #[test]
    fn integers() {
        let all = literals("0, -7, 0xFF, -0x10, 1.0, 999999999999999999999999999999999999999999", integer);
        assert_eq!(all, [Some(0), Some(-7), Some(255), Some(-16), None, None]);
    }

    #[test]
    fn strings() {
        let all =
            literals(r#""plain", "a\nb\t\"\\", "\41\C3\BC", "\FF", word"#, |node| string(node).map(Cow::into_owned));
        let expected = [Some("plain"), Some("a\nb\t\"\\"), Some("Aü"), Some("\u{fffd}"), None];
        assert_eq!(all, expected.map(|text| text.map(String::from)));
    }
}
