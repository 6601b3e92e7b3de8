//! `pto explain`: what a rule means.

use std::io::Write;

use clap::Args;
use pto_isa::Rule;
use serde_json::{Value, json};

use crate::example::{self, Example, Shown};
use crate::input::all_rules;
use crate::{CallError, Verdict, output};

/// Explain a rule, or list all rules
#[derive(Args)]
pub(crate) struct Arguments {
    /// The rule's name, such as align.row-width; without it, the list
    rule: Option<String>,
    /// Print JSON, one object per rule
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, CallError> {
    let mut out = output::results();
    let all = all_rules();
    match &arguments.rule {
        Some(name) => {
            let rule = all.iter().find(|rule| rule.name == name).ok_or_else(|| no_such_rule(&all, name))?;
            if arguments.json { writeln!(out, "{}", to_json(rule))? } else { explain(&mut out, rule)? }
        }
        None if arguments.json => {
            for rule in all {
                writeln!(out, "{}", to_json(rule))?;
            }
        }
        None => {
            let width = all.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
            for rule in all {
                writeln!(out, "{:width$}  {:7}  {}", rule.name, rule.severity.name(), rule.summary)?;
            }
        }
    }
    out.flush()?;
    Ok(Verdict::Clean)
}

fn explain(out: &mut impl Write, rule: &Rule) -> std::io::Result<()> {
    writeln!(out, "{} ({})\n", rule.name, rule.severity)?;
    writeln!(out, "{}.\n", rule.summary.trim_end_matches('.'))?;
    writeln!(out, "What to do: {}.\n", rule.help.trim_end_matches('.'))?;
    writeln!(out, "Specification: {}", rule.spec)?;
    if let Some(Example { shown, failing, corrected }) = example::of(rule.name) {
        writeln!(out, "\nWrong ({}):\n\n{}", in_words(shown), indented(failing))?;
        writeln!(out, "\nRight:\n\n{}", indented(corrected))?;
    }
    Ok(())
}

/// What the texts of an example are.
fn in_words(shown: Shown) -> String {
    match shown {
        Shown::Check(target) | Shown::Run(target) => format!("for {target}"),
        Shown::Convert(form) => format!("converted by `pto fmt --form {form}`"),
        Shown::Conform => "a case of a corpus, for `pto conform`".into(),
        Shown::Words => "described".into(),
    }
}

fn to_json(rule: &Rule) -> Value {
    let Rule { name, severity, summary, help, spec } = rule;
    let example = example::of(name).map(|Example { shown, failing, corrected }| {
        let (command, target) = (shown.command(), shown.target());
        json!({ "command": command, "target": target, "failing": failing, "corrected": corrected })
    });
    json!({
        "rule": name, "severity": severity.name(), "summary": summary, "help": help, "spec": spec, "example": example,
    })
}

fn indented(text: &str) -> String {
    text.trim_end().lines().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn no_such_rule(all: &[&Rule], name: &str) -> CallError {
    let part = name.rsplit('.').next().unwrap_or(name);
    let suggestion = all.iter().find(|rule| !part.is_empty() && rule.name.contains(part)).map(|rule| rule.name.into());
    CallError::NoSuchRule { name: name.into(), suggestion }
}
