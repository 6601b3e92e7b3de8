//! `pto conform`: run conformance corpora.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pto_conform::{Corpus, Outcome, Via};
use rayon::prelude::*;
use serde_json::json;

use crate::{CallError, Verdict, output};

/// Run a conformance corpus: one line per failure, then `N passed, N failed`
///
/// DIR holds a cases.jsonl, or folders that do. A case that cannot be run is a failure, never a skip.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The corpus, or a folder of corpora
    dir: PathBuf,
    /// Run only the cases whose name contains this text
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Threads to run cases on; more than 256 are taken for 256 [default: one per core]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Print one JSON object per case instead of failures only
    #[arg(long)]
    json: bool,
    /// What executes the cases
    #[arg(long, value_enum, default_value_t = Executor::Exec)]
    via: Executor,
}

#[derive(Clone, Copy, ValueEnum)]
enum Executor {
    /// The production executor
    Exec,
    /// The slow reference executor
    Reference,
    /// Whole programs on the simulated device
    Run,
}

/// More threads than this are never useful, and starting millions of them would take forever.
const MAX_JOBS: usize = 256;

struct Judged {
    corpus: String,
    name: String,
    outcome: Outcome,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, CallError> {
    let via = match arguments.via {
        Executor::Exec => Via::Exec,
        Executor::Reference => Via::Reference,
        Executor::Run => Via::Run,
    };
    let jobs = arguments.jobs.unwrap_or(0).min(MAX_JOBS);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().map_err(|e| CallError::Threads(jobs, e))?;
    let mut judged = Vec::new();
    for corpus in Corpus::discover(&arguments.dir)? {
        judged.extend(pool.install(|| run_corpus(&corpus, arguments.filter.as_deref(), via))?);
    }
    report(&judged, arguments.json)
}

fn run_corpus(corpus: &Corpus, filter: Option<&str>, via: Via) -> Result<Vec<Judged>, CallError> {
    let name = corpus.folder().file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let wanted = |name: &str| filter.is_none_or(|text| name.contains(text));
    let cases: Vec<_> =
        corpus.cases()?.into_iter().filter(|c| c.as_ref().map_or(filter.is_none(), |c| wanted(&c.name))).collect();
    let progress = output::progress(cases.len() as u64, "cases");
    let judged = cases
        .into_par_iter()
        .map(|case| {
            let judged = match case {
                Ok(case) => Judged {
                    corpus: name.clone(),
                    outcome: pto_conform::run(corpus.folder(), &case, via),
                    name: case.name,
                },
                Err(error) => Judged {
                    corpus: name.clone(),
                    name: "(malformed)".into(),
                    outcome: Outcome { verdict: Err(error.to_string()), diagnostics: Vec::new() },
                },
            };
            progress.inc(1);
            judged
        })
        .collect();
    progress.finish_and_clear();
    Ok(judged)
}

fn report(judged: &[Judged], as_json: bool) -> Result<Verdict, CallError> {
    let mut out = output::results();
    for Judged { corpus, name, outcome: Outcome { verdict, diagnostics } } in judged {
        if as_json {
            let status = if verdict.is_ok() { "passed" } else { "failed" };
            let reason = verdict.as_ref().err();
            let object = json!({ "corpus": corpus, "name": name, "status": status, "reason": reason, "diagnostics": diagnostics });
            writeln!(out, "{object}")?;
        } else if let Err(reason) = verdict {
            let said = if diagnostics.is_empty() { String::new() } else { format!(" [{}]", diagnostics.join("; ")) };
            writeln!(out, "FAILED {corpus}/{name}: {reason}{said}")?;
        }
    }
    let failed = judged.iter().filter(|j| j.outcome.verdict.is_err()).count();
    writeln!(out, "{} passed, {failed} failed", judged.len() - failed)?;
    out.flush()?;
    // A filter that matches nothing has shown nothing.
    Ok(if failed == 0 && !judged.is_empty() { Verdict::Clean } else { Verdict::Wrong })
}
