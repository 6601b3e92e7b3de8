//! What follows from text that could not be parsed, and is not reported a second time.

use std::collections::HashSet;

use pto_ir::check::rules as program;

use crate::diagnostic::Diagnostic;
use crate::lexer::Lexer;
use crate::parser::Parse;
use crate::span::Span;
use crate::token::TokenKind;

/// Where the text could not be parsed, in its order, no two places overlapping.
pub(super) fn error_spans(parsed: &Parse) -> Vec<Span> {
    let mut merged: Vec<Span> = Vec::new();
    for span in parsed.diagnostics.iter().filter(|found| found.is_error()).filter_map(|found| found.span) {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// Whether one of the errors, which stand in the order of the text, lies in or at a place.
pub(super) fn touches(errors: &[Span], span: Span) -> bool {
    let first = errors.partition_point(|error| error.end < span.start);
    errors.get(first).is_some_and(|error| error.start <= span.end)
}

/// Whether a finding may only follow from what could not be parsed: a definition may be among that.
pub(super) fn follows(found: &Diagnostic, errors: &[Span], defined: impl Fn(Span) -> bool) -> bool {
    let Some(span) = found.span else { return false };
    let near = touches(errors, Span::new(span.start.saturating_sub(1), span.end.saturating_add(1)));
    near || *found.rule == program::UNDEFINED && defined(span)
}

/// The values that a text seems to define, read or not: those before `=` or directly before `:`, alone or in a list.
pub(super) fn defined_somewhere(text: &str) -> HashSet<&str> {
    let mut lexer = Lexer::new(text);
    let (mut defined, mut list, mut end) = (HashSet::new(), Vec::new(), 0);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::Value => list.push(&text[token.span.range()]),
            TokenKind::Comma | TokenKind::Int => {}
            TokenKind::Equal => defined.extend(list.drain(..)),
            // A use has a blank before its type.
            TokenKind::Colon if token.span.start == end => defined.extend(list.drain(..)),
            TokenKind::Eof => return defined,
            _ => list.clear(),
        }
        end = token.span.end;
    }
}
