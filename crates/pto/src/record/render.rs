//! Findings as text with places in Rust source.

use core::fmt::Write;
use core::panic::Location;
use std::collections::BTreeMap;

use pto_ir::{Diagnostic, Place};

/// The text of all findings, one after the other.
///
/// Sources are shown where their files are found, which is when the program runs where it was built; nothing depends on
/// them.
pub(super) fn render(diagnostics: &[Diagnostic], location: impl Fn(Place) -> &'static Location<'static>) -> String {
    let (mut text, mut sources) = (String::new(), BTreeMap::new());
    for found in diagnostics {
        let at = location(found.place);
        // Writing to a string does not fail.
        let _ = writeln!(text, "{at}: {}[{}]: {}", found.severity, found.rule.name, found.message);
        text.push_str(&excerpt(at, &mut sources));
        for (place, label) in &found.labels {
            let at = location(*place);
            let _ = writeln!(text, "  {at}: {label}");
            text.push_str(&excerpt(at, &mut sources));
        }
        let _ = writeln!(text, "  help: {}", found.help.as_deref().unwrap_or(found.rule.help));
    }
    text
}

/// The line of a call with a mark below it; nothing if its file is not there.
fn excerpt(at: &Location<'static>, sources: &mut BTreeMap<&'static str, Option<String>>) -> String {
    let source = sources.entry(at.file()).or_insert_with(|| std::fs::read_to_string(at.file()).ok());
    let line = source.as_ref().and_then(|source| source.lines().nth(at.line() as usize - 1));
    let Some(line) = line else { return String::new() };
    let number = at.line().to_string();
    let (margin, indent) = (" ".repeat(number.len()), " ".repeat(at.column() as usize - 1));
    format!("    {number} | {line}\n    {margin} | {indent}^\n")
}
