//! The canonical format, as the smallest edit that leads there.

use gen_lsp_types as lsp;
use pto_text::{Diagnostic, Span, print};

use crate::document::Document;
use crate::text::Encoding;

/// The edit that formats a document: none if it is formatted, `None` if it has errors, for of a text that could not be
/// read parts would be lost.
pub(crate) fn edits(document: &Document, encoding: Encoding) -> Option<Vec<lsp::TextEdit>> {
    let parsed = &document.analysis().parsed;
    if parsed.diagnostics.iter().any(Diagnostic::is_error) {
        return None;
    }
    let before = document.text.as_str();
    let mut after = print(&parsed.tree);
    // The line breaks stay what they are.
    if before.contains("\r\n") {
        after = after.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    let Some((span, new_text)) = difference(before, &after) else { return Some(Vec::new()) };
    Some(vec![lsp::TextEdit { range: document.text.range(span, encoding), new_text: new_text.into() }])
}

/// The lines in which two texts differ: where they stand in the first, and what stands in the second.
fn difference<'a>(before: &str, after: &'a str) -> Option<(Span, &'a str)> {
    if before == after {
        return None;
    }
    let same = |(a, b): &(&str, &str)| a == b;
    let lines = |text: &'a str| text.split_inclusive('\n');
    let start: usize =
        before.split_inclusive('\n').zip(lines(after)).take_while(same).map(|(line, _)| line.len()).sum();
    let (rest_before, rest_after) = (&before[start..], &after[start..]);
    let backwards = rest_before.split_inclusive('\n').rev().zip(rest_after.split_inclusive('\n').rev());
    let end: usize = backwards.take_while(same).map(|(line, _)| line.len()).sum();
    let span = Span::new(start as u32, (before.len() - end) as u32);
    Some((span, &after[start..after.len() - end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(text: &str) -> Option<String> {
        let document = Document::new(text.into(), 0);
        let edits = edits(&document, Encoding::Utf16)?;
        let mut result = document.text.clone();
        for edit in edits.iter().rev() {
            let offset = |position| document.text.offset(position, Encoding::Utf16);
            assert!(result.replace(offset(edit.range.start)..offset(edit.range.end), &edit.new_text));
        }
        Some(result.as_str().to_string())
    }

    #[test]
    fn only_what_differs_is_replaced() {
        assert_eq!(difference("a\nb\nc\n", "a\nB\nc\n"), Some((Span::new(2, 4), "B\n")));
        assert_eq!(difference("a\n", "a\n"), None);
        assert_eq!(difference("a\na\n", "a\n"), Some((Span::new(2, 4), "")));
        assert_eq!(difference("a", "a\n"), Some((Span::new(0, 1), "a\n")));
    }

    #[test]
    fn formats_keeps_line_breaks_and_leaves_broken_texts_alone() {
        let text = "// 𝄞\r\npto.tload ins(%v:f32)   outs( %t :f32 )\r\nreturn";
        let canonical = "// 𝄞\r\npto.tload ins(%v : f32) outs(%t : f32)\r\nreturn\r\n";
        assert_eq!(formatted(text).as_deref(), Some(canonical));
        assert_eq!(formatted(canonical).as_deref(), Some(canonical));
        assert_eq!(formatted("pto.tload ins("), None);
        assert_eq!(formatted("").as_deref(), Some(""));
    }
}
