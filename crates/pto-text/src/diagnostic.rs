//! A finding as data: which rule, how grave, where, and what to do. How it is shown is the renderers' business.
//!
//! - [`terminal`]: excerpts with labels, for people;
//! - [`json`]: one object per line, for programs;
//! - [`sarif`]: one SARIF 2.1.0 log, for code-review tools;
//! - [`Levels`]: what `--allow` and `--deny` make of a list of findings;
//! - [`suggest()`]: "did you mean".

pub mod json;
mod levels;
pub mod sarif;
mod suggest;
pub mod terminal;

pub use levels::Levels;
pub use suggest::suggest;

use crate::span::Span;
use pto_isa::rule::{Rule, Severity};

impl From<pto_ir::Diagnostic> for Diagnostic {
    fn from(found: pto_ir::Diagnostic) -> Self {
        let label = |(place, message): (pto_ir::Place, String)| Label { span: place.into(), message };
        Self {
            rule: found.rule,
            severity: found.severity,
            message: found.message,
            span: Some(found.place.into()),
            labels: found.labels.into_iter().map(label).collect(),
            notes: Vec::new(),
            help: found.help,
            target: found.target.map(pto_isa::Target::name),
        }
    }
}

/// A second place that belongs to a finding, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What it has to do with the finding.
    pub message: String,
}

/// One finding.
///
/// ```
/// use pto_text::{Diagnostic, Span, rules};
/// let found = Diagnostic::new(&rules::TYPE, "expected a type, found `flot`")
///     .at(Span::new(10, 14))
///     .with_label(Span::new(8, 9), "behind this `:`")
///     .with_help("did you mean `f32`?");
/// assert_eq!(found.severity, found.rule.severity);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule that is broken, or that noticed something.
    pub rule: &'static Rule,
    /// How grave it is; the rule's own severity unless [`Levels`] changed it.
    pub severity: Severity,
    /// What was expected and what was found, in one sentence without a full stop.
    pub message: String,
    /// The place, if the finding has one.
    pub span: Option<Span>,
    /// Further places.
    pub labels: Vec<Label>,
    /// Further facts.
    pub notes: Vec<String>,
    /// What to do about it, if there is more to say than the rule's own help.
    pub help: Option<String>,
    /// The target for which this holds, if it does not hold for all.
    pub target: Option<&'static str>,
}

/// Cuts findings, which stand in the order of the text, to [`MAX_DIAGNOSTICS`](crate::MAX_DIAGNOSTICS): errors stay before
/// others, so that no number of warnings hides one. Says whether there were more.
pub(crate) fn cap(found: &mut Vec<Diagnostic>) -> bool {
    let most = crate::MAX_DIAGNOSTICS;
    if found.len() <= most {
        return false;
    }
    let errors = found.iter().filter(|one| one.is_error()).count();
    let mut room = [most.saturating_sub(errors), most];
    found.retain(|one| {
        let room = &mut room[usize::from(one.is_error())];
        let keep = *room > 0;
        *room = room.saturating_sub(1);
        keep
    });
    true
}

impl Diagnostic {
    /// A finding without a place, with the rule's own severity.
    pub fn new(rule: &'static Rule, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.severity,
            message: message.into(),
            span: None,
            labels: Vec::new(),
            notes: Vec::new(),
            help: None,
            target: None,
        }
    }

    /// Places the finding.
    #[must_use]
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }

    /// Adds a second place.
    #[must_use]
    pub fn with_label(mut self, span: Span, message: impl Into<String>) -> Self {
        self.labels.push(Label { span, message: message.into() });
        self
    }

    /// Adds a fact.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Binds the finding to one target.
    #[must_use]
    pub fn for_target(mut self, target: &'static str) -> Self {
        self.target = Some(target);
        self
    }

    /// Whether the finding makes the program wrong.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// What to do about it: the finding's own advice, else the rule's.
    pub fn advice(&self) -> &str {
        self.help.as_deref().unwrap_or(self.rule.help)
    }
}
