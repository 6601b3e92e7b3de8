//! `pto check`: parse and verify programs.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use pto_isa::Target;
use pto_text::diagnostic::{json, sarif, terminal};
use pto_text::{Diagnostic, Judgement, Levels, Source, fold, suggest};

use crate::input::{self, Text, all_rules};
use crate::{CallError, Verdict, output};

/// Parse and verify programs
///
/// Without --target a program is judged for the target that its module names (pto.target_arch), else for every target:
/// it is clean if one of them takes it, and the last line says which do. A finding of a rule that --deny names makes it
/// wrong, on whichever of the targets it is made.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The programs; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The target to judge for: cpu, a2a3, a5 or host
    #[arg(long, value_name = "TARGET", value_parser = input::target)]
    target: Option<Target>,
    /// Print one JSON object per finding
    #[arg(long, conflicts_with = "sarif")]
    json: bool,
    /// Print one SARIF 2.1.0 log, for code-review tools
    #[arg(long)]
    sarif: bool,
    #[command(flatten)]
    levels: LevelArguments,
}

/// What the user makes of warnings and notes.
#[derive(Args)]
pub(crate) struct LevelArguments {
    /// Drop the warnings and notes of a rule, or of all rules that begin with this word
    #[arg(long, value_name = "RULE")]
    allow: Vec<String>,
    /// Make the findings of a rule, or of all rules that begin with this word, errors
    #[arg(long, value_name = "RULE")]
    deny: Vec<String>,
}

impl LevelArguments {
    /// The levels, if every name is a rule's.
    pub(crate) fn levels(&self) -> Result<Levels, CallError> {
        let levels = Levels::new(self.allow.clone(), self.deny.clone());
        let rules = all_rules();
        let unknown = levels.unknown(&rules).next().map(String::from);
        match unknown {
            Some(name) => {
                let suggestion = suggest(&name, rules.iter().map(|rule| rule.name)).map(Into::into);
                Err(CallError::NoSuchRule { name, suggestion })
            }
            None => Ok(levels),
        }
    }
}

/// A file, judged.
pub(crate) struct Judged {
    pub(crate) source: Source,
    pub(crate) found: Vec<Diagnostic>,
    /// The targets it was judged for, and whether each takes it.
    pub(crate) targets: Vec<(Target, bool)>,
}

impl Judged {
    /// A target takes the program, and no target finds what the user denies: who denies a rule wants it nowhere.
    fn verdict(&self, levels: &Levels) -> Verdict {
        let legal = self.targets.iter().any(|(_, legal)| *legal);
        let denied = self.found.iter().any(|one| levels.denies(one.rule));
        if legal && !denied { Verdict::Clean } else { Verdict::Wrong }
    }
}

/// Judges a text for one target, or for those that it is meant for.
pub(crate) fn judge(text: Text, target: Option<Target>, levels: &Levels) -> Judged {
    let Judgement { found, targets } = pto_text::judge(&text.parsed, &text.program, target, levels);
    Judged { source: text.source, found, targets }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, CallError> {
    let levels = arguments.levels.levels()?;
    let mut out = output::results();
    let mut verdict = Verdict::Clean;
    let mut logged = Vec::new();
    for path in &arguments.files {
        let judged = judge(Text::new(input::read(path)?), arguments.target, &levels);
        verdict = verdict.max(judged.verdict(&levels));
        if arguments.sarif {
            logged.push(judged);
        } else if arguments.json {
            for one in &judged.found {
                writeln!(out, "{}", json::line(&judged.source, one))?;
            }
        } else {
            show(&mut out, &judged)?;
        }
    }
    if arguments.sarif {
        let log = sarif::log(logged.iter().map(|judged| (&judged.source, judged.found.as_slice())));
        writeln!(out, "{log:#}")?;
    }
    out.flush()?;
    Ok(verdict)
}

/// Prints findings for people, and on which targets the program is legal.
fn show(out: &mut impl Write, judged: &Judged) -> std::io::Result<()> {
    let colour = output::colour();
    for one in &fold(&judged.found) {
        writeln!(out, "{}\n", terminal::render(&judged.source, one, colour))?;
    }
    let names = |wanted: bool| -> String {
        let names = judged.targets.iter().filter(|(_, legal)| *legal == wanted).map(|(target, _)| target.name());
        names.collect::<Vec<_>>().join(", ")
    };
    let (legal, refused) = (names(true), names(false));
    let name = judged.source.name();
    match (legal.is_empty(), refused.is_empty()) {
        (true, _) => writeln!(out, "{name}: refused on {refused}"),
        (_, true) => writeln!(out, "{name}: legal on {legal}"),
        _ => writeln!(out, "{name}: legal on {legal}; refused on {refused}"),
    }
}
