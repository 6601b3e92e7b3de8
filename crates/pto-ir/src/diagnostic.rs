//! What a check of a program finds.

use pto_isa::{Rule, Severity, Target};

use crate::Place;

/// One finding in a program, with places but without the source they are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The rule.
    pub rule: &'static Rule,
    /// As the rule has it, unless a user allowed or denied it.
    pub severity: Severity,
    /// What was expected and what was found.
    pub message: String,
    /// Where.
    pub place: Place,
    /// Other places that matter, with what they are.
    pub labels: Vec<(Place, String)>,
    /// What to do; the rule's own help if `None`.
    pub help: Option<String>,
    /// The target it was found for, where that matters.
    pub target: Option<Target>,
}

impl Diagnostic {
    /// A finding of a rule at a place.
    pub fn new(rule: &'static Rule, place: Place, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.severity,
            message: message.into(),
            place,
            labels: Vec::new(),
            help: None,
            target: None,
        }
    }

    /// The same with another place and what it is.
    pub fn label(mut self, place: Place, message: impl Into<String>) -> Self {
        self.labels.push((place, message.into()));
        self
    }

    /// The same with a help text of its own.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same for one target.
    pub fn on(mut self, target: Target) -> Self {
        self.target = Some(target);
        self
    }
}
