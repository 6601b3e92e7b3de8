//! Programs from files and standard input.

use std::io::Read;
use std::path::Path;

use pto_ir::Place;
use pto_isa::{Rule, Target};
use pto_text::{Diagnostic, Parse, Program, Source, Span, elaborate, parse};

use crate::CallError;

/// Every rule that any part of the tool raises, by name.
pub(crate) fn all_rules() -> Vec<&'static Rule> {
    let of_programs = pto_ir::check::RULES.iter().copied();
    let of_runs = pto_sim::rules::RULES.iter().copied();
    let mut rules: Vec<_> =
        pto_isa::rules::all().chain(of_programs).chain(pto_text::rules::RULES.iter().copied()).chain(of_runs).collect();
    rules.sort_by_key(|rule| rule.name);
    rules.dedup_by_key(|rule| rule.name);
    rules
}

/// Reads a file as text of unknown quality; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Source, CallError> {
    let unreadable = |error| CallError::Unreadable { path: path.display().to_string(), error };
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
        return Source::from_bytes("<stdin>", bytes).map_err(|found| CallError::TooLarge(found.message));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    Source::from_bytes(path.display().to_string(), bytes).map_err(|found| CallError::TooLarge(found.message))
}

/// A target by its name on the command line.
pub(crate) fn target(name: &str) -> Result<Target, String> {
    Target::from_name(name).ok_or_else(|| {
        let names: Vec<&str> = Target::ALL.iter().map(|target| target.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}

/// A place as `file:line`.
pub(crate) fn words(source: &Source, place: Place) -> String {
    let position = source.position(Span::from(place).start);
    format!("{}:{}", source.name(), position.line)
}

/// A text that was read as far as it could be.
pub(crate) struct Text {
    pub(crate) source: Source,
    pub(crate) parsed: Parse,
    pub(crate) program: Program,
}

impl Text {
    pub(crate) fn new(source: Source) -> Self {
        let parsed = parse(&source);
        let program = elaborate(&parsed);
        Self { source, parsed, program }
    }

    /// What was found before the program is judged for a target, in the order of the text.
    pub(crate) fn found(&self) -> Vec<Diagnostic> {
        let mut found: Vec<Diagnostic> =
            self.parsed.diagnostics.iter().chain(&self.program.diagnostics).cloned().collect();
        found.sort_by_key(|one| one.span.map_or(u32::MAX, |span| span.start));
        found
    }
}
