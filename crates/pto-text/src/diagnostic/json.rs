//! Findings for programs: one JSON object each.
//!
//! The fields are a contract: `rule`, `severity`, `message`, `file`, `line`, `column`, `end_line`, `end_column`, `labels`
//! (the same place fields with `message`), `notes`, `help`, `target`. Lines and columns count from 1, columns in
//! characters; the end is the place behind the last character. A finding without a place has `null` in the fields of the
//! place, one that holds for every target has `null` as `target`.

use super::Diagnostic;
use crate::source::Source;
use crate::span::Span;
use serde::Serialize;

/// A finding in the form that is serialised, for an object that holds several.
#[derive(Clone, Debug, Serialize)]
pub struct Record<'d> {
    rule: &'d str,
    severity: &'d str,
    message: &'d str,
    #[serde(flatten)]
    place: Place<'d>,
    labels: Vec<LabelRecord<'d>>,
    notes: &'d [String],
    help: &'d str,
    target: Option<&'d str>,
}

#[derive(Clone, Debug, Serialize)]
struct LabelRecord<'d> {
    #[serde(flatten)]
    place: Place<'d>,
    message: &'d str,
}

#[derive(Clone, Debug, Serialize)]
struct Place<'d> {
    file: &'d str,
    line: Option<u32>,
    column: Option<u32>,
    end_line: Option<u32>,
    end_column: Option<u32>,
}

impl<'d> Place<'d> {
    fn new(source: &'d Source, span: Option<Span>) -> Self {
        let start = span.map(|span| source.position(span.start));
        let end = span.map(|span| source.position(span.end));
        Self {
            file: source.name(),
            line: start.map(|at| at.line),
            column: start.map(|at| at.column),
            end_line: end.map(|at| at.line),
            end_column: end.map(|at| at.column),
        }
    }
}

/// The finding in the form that is serialised.
pub fn record<'d>(source: &'d Source, found: &'d Diagnostic) -> Record<'d> {
    let label =
        |label: &'d super::Label| LabelRecord { place: Place::new(source, Some(label.span)), message: &label.message };
    Record {
        rule: found.rule.name,
        severity: found.severity.name(),
        message: &found.message,
        place: Place::new(source, found.span),
        labels: found.labels.iter().map(label).collect(),
        notes: &found.notes,
        help: found.advice(),
        target: found.target,
    }
}

/// The finding as one line of JSON, without the line break.
///
/// ```
/// use pto_text::{Source, diagnostic::json, parse};
/// let source = Source::new("k.pto", "\nreturn %x : indx");
/// let line = json::line(&source, &parse(&source).diagnostics[0]);
/// assert!(line.starts_with(r#"{"rule":"parse.type","severity":"error","message":"expected a type, found `indx`""#));
/// assert!(line.contains(r#""file":"k.pto","line":2,"column":13,"end_line":2,"end_column":17"#));
/// ```
pub fn line(source: &Source, found: &Diagnostic) -> String {
    serde_json::to_string(&record(source, found)).unwrap_or_else(|error| unreachable!("strings and numbers: {error}"))
}
