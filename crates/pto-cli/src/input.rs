//! Programs from files and standard input.

use std::fs::File;
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

/// Bytes of the longest program that is read: some hundred thousand lines. Reading it takes many times as much memory.
const MOST_BYTES: u64 = 32 << 20;

/// Reads a file as text of unknown quality; `-` is standard input.
pub(crate) fn read(path: &Path) -> Result<Source, CallError> {
    let unreadable = |error| CallError::Unreadable { path: path.display().to_string(), error };
    let (name, bytes) = match path.as_os_str() == "-" {
        true => ("<stdin>".to_owned(), read_most(std::io::stdin().lock())),
        false => (path.display().to_string(), File::open(path).and_then(read_most)),
    };
    let bytes = bytes.map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES {
        let most = MOST_BYTES >> 20;
        let message = format!(
            "{name} is longer than {most} MiB, the most that is read of a program: split it into functions of several files"
        );
        return Err(CallError::TooLarge(message));
    }
    Source::from_bytes(name, bytes).map_err(|found| CallError::TooLarge(found.message))
}

/// All there is, or one byte more than is read.
fn read_most(from: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
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
