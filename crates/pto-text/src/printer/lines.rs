//! Lines, indentation, blank lines and comments.

use super::Printer;
use crate::span::Span;

const INDENT: &str = "  ";

/// Deeper levels are not indented further: nobody can read them, and a hostile file would grow by their number.
const MAX_INDENT: usize = 20;

impl Printer<'_> {
    pub(super) fn start_line(&mut self) {
        for _ in 0..self.indent.min(MAX_INDENT) {
            self.out.push_str(INDENT);
        }
    }

    /// Ends a line whose last thing ended at `end` in the text. Comments that belong to the line go behind it: the one
    /// that stood there, and any that were passed on the way. A line takes one comment; others get lines below it.
    pub(super) fn end_line(&mut self, end: u32) {
        self.pos = self.pos.max(end);
        self.last_end = Some(self.pos);
        let mut first = true;
        while let [comment, rest @ ..] = self.comments {
            let comment = *comment;
            if comment.start >= self.pos && !self.on_this_line(comment) {
                break;
            }
            self.comments = rest;
            if first {
                self.out.push(' ');
            } else {
                self.out.push('\n');
                self.start_line();
            }
            self.comment(comment);
            first = false;
        }
        self.out.push('\n');
    }

    /// Prints the comments before `before`, each on a line of its own.
    pub(super) fn comment_lines(&mut self, before: u32) {
        while let [comment, rest @ ..] = self.comments {
            let comment = *comment;
            if comment.start >= before {
                break;
            }
            self.comments = rest;
            self.blank_line(comment.start);
            self.start_line();
            self.comment(comment);
            self.out.push('\n');
            self.last_end = Some(self.pos);
        }
    }

    /// Keeps a blank line that stood before what begins at `next`.
    pub(super) fn blank_line(&mut self, next: u32) {
        let Some(last) = self.last_end else { return };
        let gap = self.text.get(Span::new(last, next).range()).unwrap_or("");
        if gap.bytes().filter(|&byte| byte == b'\n').nth(1).is_some() {
            self.out.push('\n');
        }
    }

    /// Whether a comment that is still to come is inside `span`.
    pub(super) fn has_comment_in(&self, span: Span) -> bool {
        let after = self.comments.partition_point(|comment| comment.start < span.start);
        self.comments.get(after).is_some_and(|comment| comment.start < span.end)
    }

    fn comment(&mut self, span: Span) {
        let text = self.text.get(span.range()).unwrap_or("");
        match text.strip_prefix('#') {
            // Only at the start of a line is `#text` sure to be a comment; with a blank it always is.
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                self.out.push_str("# ");
                self.out.push_str(rest);
            }
            _ => self.out.push_str(text),
        }
        self.pos = self.pos.max(span.end);
        self.last_end = Some(self.pos);
    }

    /// Whether nothing but blanks and separators lies between here and the comment.
    fn on_this_line(&self, comment: Span) -> bool {
        let gap = &self.text.as_bytes()[Span::new(self.pos, comment.start).range()];
        gap.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b',' | b';'))
    }
}
