//! What a report says in words, for the terminal, the SVG and the page alike.

use pto_isa::Severity;
use pto_sim::{Report, Status};

use crate::text::{bytes, count, percent, shorten, thousands};

/// How a fact is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Good,
    Warn,
    Bad,
}

impl Tone {
    /// The class of elements in this tone.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Good => "good",
            Self::Warn => "warn",
            Self::Bad => "bad",
        }
    }
}

/// A number with its name.
pub(crate) struct Fact {
    pub(crate) label: &'static str,
    pub(crate) value: String,
    pub(crate) tone: Tone,
}

/// Findings of one severity.
fn findings(report: &Report, severity: Severity) -> u64 {
    report.diagnostics.iter().filter(|finding| finding.severity == severity).count() as u64
}

/// How it went, in a few words.
pub(crate) fn verdict(report: &Report) -> (Tone, String) {
    let (errors, warnings) = (findings(report, Severity::Error), findings(report, Severity::Warning));
    let (tone, mut words) = match report.status {
        Status::Fault => (Tone::Bad, "fault".to_owned()),
        Status::Interrupted => (Tone::Bad, "interrupted, what follows is of the part that ran".to_owned()),
        Status::Ok if errors > 0 => (Tone::Bad, "wrong".to_owned()),
        Status::Ok if warnings > 0 => (Tone::Warn, "ok".to_owned()),
        Status::Ok => (Tone::Good, "ok".to_owned()),
    };
    let found = [(errors, "error"), (warnings, "warning")];
    let found: Vec<String> = found.iter().filter(|(n, _)| *n > 0).map(|(n, what)| count(*n, what)).collect();
    if !found.is_empty() {
        words = format!("{words}: {}", found.join(", "));
    }
    (tone, words)
}

/// The entry and the target.
pub(crate) fn subject(report: &Report) -> String {
    format!("{} on {}", shorten(&report.entry, 60), report.target)
}

/// What happened to the lanes, with the ones that did not happen left out.
pub(crate) fn lanes(report: &Report) -> Vec<Fact> {
    let lanes = report.lanes;
    let all = [
        ("written", lanes.written, Tone::Plain),
        ("skipped", lanes.skipped, Tone::Warn),
        ("clamped", lanes.clamped, Tone::Warn),
        ("wrapped", lanes.wrapped, Tone::Warn),
        ("zeroed", lanes.zeroed, Tone::Warn),
        ("collisions", lanes.collisions, Tone::Bad),
    ];
    let happened = all.into_iter().filter(|(label, value, _)| *value > 0 || *label == "written");
    happened.map(|(label, value, tone)| Fact { label, value: thousands(value), tone }).collect()
}

/// The numbers at the head of a picture.
pub(crate) fn numbers(report: &Report) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut plain = |label, value| facts.push(Fact { label, value, tone: Tone::Plain });
    if report.cycles > 0 {
        plain("cycles", thousands(report.cycles));
    }
    plain("instructions", thousands(report.instructions));
    facts.extend(lanes(report).into_iter().map(|fact| match fact.label {
        "written" => Fact { label: "lanes written", ..fact },
        _ => fact,
    }));
    let over = report.ub_limit.is_some_and(|limit| report.ub_peak > limit);
    let value = match report.ub_limit {
        Some(limit) => format!("{} of {}", bytes(report.ub_peak), bytes(limit)),
        None => bytes(report.ub_peak),
    };
    facts.push(Fact { label: "UB peak", value, tone: if over { Tone::Bad } else { Tone::Plain } });
    facts
}

/// A value with no more digits than tell it from its neighbours, in f32 if it is one.
fn short(value: f64) -> String {
    let single = value as f32;
    if f64::from(single).to_bits() == value.to_bits() { single.to_string() } else { value.to_string() }
}

/// A slot whose value depends on the schedule, in words.
pub(crate) fn candidates(slot: &pto_sim::Nondeterministic) -> String {
    let mut values: Vec<String> = slot.candidates.iter().take(6).map(|value| short(*value)).collect();
    if slot.candidates.len() > 6 {
        values.push(format!("{} more", slot.candidates.len() - 6));
    }
    format!("{}[{}] depends on the schedule: {}", shorten(&slot.buffer, 40), slot.index, values.join(", "))
}

/// Busy cycles of the pipes that did anything, with the share of the run.
pub(crate) fn pipes(report: &Report) -> impl Iterator<Item = (pto_ir::Pipe, u64, f64)> + '_ {
    let active = report.busy.iter().filter(|(_, busy)| *busy > 0);
    active.map(|(pipe, busy)| (*pipe, *busy, percent(*busy, report.cycles)))
}

/// The tone of a finding.
pub(crate) fn severity(severity: Severity) -> Tone {
    match severity {
        Severity::Error => Tone::Bad,
        Severity::Warning => Tone::Warn,
        Severity::Note => Tone::Plain,
    }
}
