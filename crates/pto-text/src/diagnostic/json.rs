//! Findings for programs: one JSON object each.
//!
//! The fields are a contract: `rule`, `severity`, `message`, `file`, `line`, `column`, `end_line`, `end_column`, `labels`
//! (the same place fields with `message`), `notes`, `help`, `target`. Lines and columns count from 1, columns in
//! characters; the end is the place behind the last character. A finding without a place has `null` in the place fields,
//! one that holds for every target has `null` as `target`.

use super::Diagnostic;
use crate::source::Source;
use crate::span::Span;
use serde_json::{Map, Value, json};

/// The finding as a JSON object.
pub fn value(source: &Source, found: &Diagnostic) -> Value {
    let mut object = Map::new();
    object.insert("rule".into(), found.rule.name.into());
    object.insert("severity".into(), found.severity.name().into());
    object.insert("message".into(), found.message.as_str().into());
    object.extend(place(source, found.span));
    let labels = found.labels.iter().map(|label| {
        let mut object = place(source, Some(label.span));
        object.insert("message".into(), label.message.as_str().into());
        Value::Object(object)
    });
    object.insert("labels".into(), labels.collect());
    object.insert("notes".into(), found.notes.iter().map(String::as_str).collect());
    object.insert("help".into(), found.advice().into());
    object.insert("target".into(), json!(found.target));
    Value::Object(object)
}

/// The finding as one line of JSON, without the line break.
///
/// ```
/// use pto_text::{Source, diagnostic::json, parse};
/// let source = Source::new("k.pto", "\nreturn %x : indx");
/// let line = json::line(&source, &parse(&source).diagnostics[0]);
/// assert!(line.contains(r#""rule":"parse.type""#) && line.contains(r#""line":2"#) && line.contains(r#""column":13"#));
/// ```
pub fn line(source: &Source, found: &Diagnostic) -> String {
    value(source, found).to_string()
}

fn place(source: &Source, span: Option<Span>) -> Map<String, Value> {
    let start = span.map(|span| source.position(span.start));
    let end = span.map(|span| source.position(span.end));
    let fields = [
        ("file", json!(source.name())),
        ("line", json!(start.map(|at| at.line))),
        ("column", json!(start.map(|at| at.column))),
        ("end_line", json!(end.map(|at| at.line))),
        ("end_column", json!(end.map(|at| at.column))),
    ];
    fields.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}
