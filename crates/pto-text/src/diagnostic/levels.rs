//! `--allow` and `--deny`: what the user makes of warnings and notes.

use super::Diagnostic;
use pto_isa::rule::{Rule, Severity};

/// Which rules are allowed and which are denied.
///
/// - A *denied* rule's findings become errors, whatever their severity.
/// - An *allowed* rule's warnings and notes are dropped. Its errors stay: a program that is wrong does not become right
///   by not being told so.
/// - `deny` wins over `allow`, so that a strict build cannot be softened by a list it inherits.
/// - A name is a whole rule (`policy.coalesce-implicit`) or the first part of some (`policy`).
///
/// ```
/// use pto_text::{Diagnostic, Levels, rules};
/// let found = || vec![Diagnostic::new(&rules::MISSING_BANG, "...")];
/// assert!(Levels::new(["parse.missing-bang"], [""; 0]).apply(found()).is_empty());
/// assert!(Levels::new([""; 0], ["parse"]).apply(found())[0].is_error());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Levels {
    allow: Vec<String>,
    deny: Vec<String>,
}

impl Levels {
    /// From the names as the user gave them.
    pub fn new<S: Into<String>>(allow: impl IntoIterator<Item = S>, deny: impl IntoIterator<Item = S>) -> Self {
        Self { allow: allow.into_iter().map(Into::into).collect(), deny: deny.into_iter().map(Into::into).collect() }
    }

    /// Whether the user wants no finding of a rule, wherever it is made.
    ///
    /// ```
    /// use pto_text::{Levels, rules};
    /// assert!(Levels::new([""; 0], ["parse"]).denies(&rules::MISSING_BANG));
    /// ```
    pub fn denies(&self, rule: &Rule) -> bool {
        names(&self.deny, rule)
    }

    /// The severity of a finding under these levels; `None` if it is dropped.
    pub fn judge(&self, rule: &Rule, severity: Severity) -> Option<Severity> {
        if self.denies(rule) {
            Some(Severity::Error)
        } else if severity < Severity::Error && names(&self.allow, rule) {
            None
        } else {
            Some(severity)
        }
    }

    /// The names that are no rule and no first part of one, to be refused by whoever took them from the user.
    ///
    /// ```
    /// use pto_text::{Levels, rules};
    /// let levels = Levels::new(["parse", "parse.typ"], ["parse.type"]);
    /// assert_eq!(levels.unknown(rules::RULES).collect::<Vec<_>>(), ["parse.typ"]);
    /// ```
    pub fn unknown<'l>(&'l self, rules: &'l [&Rule]) -> impl Iterator<Item = &'l str> {
        let all = self.allow.iter().chain(&self.deny).map(String::as_str);
        all.filter(|name| !rules.iter().any(|rule| matches(name, rule)))
    }

    /// Applies the levels to a list of findings; the order stays.
    pub fn apply(&self, mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
        found.retain_mut(|one| match self.judge(one.rule, one.severity) {
            Some(severity) => {
                one.severity = severity;
                true
            }
            None => false,
        });
        found
    }
}

fn names(list: &[String], rule: &Rule) -> bool {
    list.iter().any(|name| matches(name, rule))
}

/// Whether a name is the rule's, or its first part.
fn matches(name: &str, rule: &Rule) -> bool {
    match rule.name.strip_prefix(name) {
        Some(rest) => !name.is_empty() && (rest.is_empty() || rest.starts_with('.')),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    const NONE: [&str; 0] = [];

    #[test]
    fn errors_cannot_be_allowed() {
        let levels = Levels::new(["parse.type"], NONE);
        assert_eq!(levels.judge(&rules::TYPE, Severity::Error), Some(Severity::Error));
        assert_eq!(levels.judge(&rules::TYPE, Severity::Warning), None);
    }

    #[test]
    fn deny_wins_and_prefixes_end_at_dots() {
        let levels = Levels::new(["parse"], ["parse.missing-bang"]);
        assert_eq!(levels.judge(&rules::MISSING_BANG, Severity::Warning), Some(Severity::Error));
        assert_eq!(levels.judge(&rules::TOO_MANY, Severity::Note), None);
        assert_eq!(Levels::new(["par", ""], NONE).judge(&rules::TOO_MANY, Severity::Note), Some(Severity::Note));
    }
}
