//! What a rule is, apart from how it is checked: its stable name, its severity and the texts that explain it.
//!
//! Every crate that judges programs declares its rules as `static` [`Rule`]s next to the code that checks them; a
//! diagnostic carries a reference to one of them, and `pto explain` prints the same texts.

use core::fmt;

/// How much a finding weighs.
///
/// ```
/// use pto_isa::Severity;
/// assert!(Severity::Error > Severity::Warning && Severity::Warning > Severity::Note);
/// assert_eq!(Severity::Error.to_string(), "error");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Nearly always a mistake, but the meaning is defined.
    Warning,
    /// The program is refused, or the run has failed.
    Error,
}

impl Severity {
    /// The word used in text, JSON and SARIF.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A rule of the instruction set, of the language or of the device, with the texts that explain it.
///
/// `name` is stable: lower-case, dotted, and its first part is one of [`PREFIXES`].
///
/// ```
/// let rule = pto_isa::rules::ALIGN_ROW_WIDTH;
/// assert_eq!(rule.name, "align.row-width");
/// assert!(rule.spec.contains("32"));
/// ```
#[derive(Debug)]
pub struct Rule {
    /// Stable dotted name, `prefix.what`.
    pub name: &'static str,
    /// Severity unless the user allows or denies the rule.
    pub severity: Severity,
    /// One sentence: what must hold (for an error) or what was noticed.
    pub summary: &'static str,
    /// What to do about it.
    pub help: &'static str,
    /// The sentence of the specification that the rule comes from, with its source.
    pub spec: &'static str,
}

/// The first parts of all rule names.
pub const PREFIXES: [&str; 18] = [
    "parse",
    "type",
    "shape",
    "layout",
    "align",
    "policy",
    "target",
    "budget",
    "alias",
    "bounds",
    "race",
    "sync",
    "conflict",
    "uninit",
    "launch",
    "flush",
    "comm",
    "unsupported",
];

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Rule {}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
