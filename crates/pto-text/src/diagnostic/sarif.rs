//! Findings for code-review tools: a SARIF 2.1.0 log.

use super::Diagnostic;
use crate::source::Source;
use crate::span::Span;
use pto_isa::rule::Rule;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The log of one run over any number of files, each with its findings. Rules are listed once, with their texts; columns
/// count Unicode code points, as everywhere in this tool.
///
/// ```
/// use pto_text::{Source, diagnostic::sarif, parse};
/// let source = Source::new("k.pto", "return %x : indx");
/// let found = parse(&source).diagnostics;
/// let log = sarif::log([(&source, found.as_slice())]);
/// assert_eq!(log["version"], "2.1.0");
/// assert_eq!(log["runs"][0]["results"][0]["ruleId"], "parse.type");
/// ```
pub fn log<'d>(files: impl IntoIterator<Item = (&'d Source, &'d [Diagnostic])>) -> Value {
    let files: Vec<_> = files.into_iter().collect();
    let found = files.iter().flat_map(|(_, found)| found.iter());
    let rules: BTreeMap<&str, &Rule> = found.map(|one| (one.rule.name, one.rule)).collect();
    let index: BTreeMap<&str, usize> = rules.keys().enumerate().map(|(at, name)| (*name, at)).collect();
    let results = files.iter().flat_map(|(source, found)| found.iter().map(|one| result(source, one, &index)));
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "pto",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.values().map(|rule| descriptor(rule)).collect::<Value>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": results.collect::<Value>(),
        }],
    })
}

fn descriptor(rule: &Rule) -> Value {
    json!({
        "id": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.spec},
        "help": {"text": rule.help},
        "defaultConfiguration": {"level": rule.severity.name()},
    })
}

fn result(source: &Source, found: &Diagnostic, index: &BTreeMap<&str, usize>) -> Value {
    // SARIF has one message: notes and help go into it, so that a reviewer sees them.
    let mut text = found.message.clone();
    for note in &found.notes {
        text.push_str("\nnote: ");
        text.push_str(note);
    }
    text.push_str("\nhelp: ");
    text.push_str(found.advice());
    let mut result = json!({
        "ruleId": found.rule.name,
        "ruleIndex": index.get(found.rule.name),
        "level": found.severity.name(),
        "message": {"text": text},
        "locations": [location(source, found.span)],
    });
    if !found.labels.is_empty() {
        let related = found.labels.iter().enumerate().map(|(id, label)| {
            let mut place = location(source, Some(label.span));
            place["id"] = json!(id);
            place["message"] = json!({"text": label.message});
            place
        });
        result["relatedLocations"] = related.collect();
    }
    if let Some(target) = found.target {
        result["properties"] = json!({"target": target});
    }
    result
}

fn location(source: &Source, span: Option<Span>) -> Value {
    let mut place = json!({"artifactLocation": {"uri": uri(source.name())}});
    if let Some(span) = span {
        let (start, end) = (source.position(span.start), source.position(span.end));
        place["region"] = json!({
            "startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column,
        });
    }
    json!({"physicalLocation": place})
}

/// A path as a relative URI reference: what a URI may not hold is percent-encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'\\' if cfg!(windows) => uri.push('/'),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => uri.push(byte as char),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    #[test]
    fn paths_become_uris() {
        assert_eq!(super::uri("a b/ü#1.pto"), "a%20b/%C3%BC%231.pto");
    }
}
