//! `pto run --ranks`: a program on several ranks, as threads of this process or as the processes of an MPI job.

use std::collections::BTreeMap;
use std::io::Write;
use std::str::FromStr;

use pto_data::Output;
use pto_ir::{Function, Home, Module, OnRanks, Runners, on_ranks};
use pto_sim::{RankReport, Report, Status, simulate_ranks, trace_document, trace_events};
use pto_text::{Diagnostic, Source};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::run::{self, Arguments, Bound, How, Prepared, Shapes};
use crate::{CallError, Verdict, input, output};

/// The most ranks that are run as threads: each is a device with its own memories.
const MOST_THREADS: usize = 64;

/// What ranks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ranks {
    /// Threads of this process.
    Threads(usize),
    /// The processes of an MPI job.
    Mpi,
}

impl FromStr for Ranks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "mpi" => Ok(Self::Mpi),
            Ok(ranks @ 1..=MOST_THREADS) => Ok(Self::Threads(ranks)),
            _ => Err(format!("expected a number of ranks from 1 to {MOST_THREADS}, or mpi")),
        }
    }
}

/// What one rank hands to whoever prints.
#[derive(Serialize, Deserialize)]
struct Outcome {
    rank: usize,
    status: String,
    found: Vec<Found>,
    /// Its part of the JSON report.
    object: Value,
    /// Its events of the trace.
    trace: Vec<Value>,
    summary: String,
}

/// A finding as JSON and as text.
#[derive(Serialize, Deserialize)]
struct Found {
    record: Value,
    text: String,
}

pub(crate) fn run(arguments: &Arguments, ranks: Ranks) -> Result<Verdict, CallError> {
    match ranks {
        Ranks::Threads(ranks) => threads(arguments, ranks),
        #[cfg(feature = "mpi")]
        Ranks::Mpi => processes::run(arguments),
        #[cfg(not(feature = "mpi"))]
        Ranks::Mpi => Err(CallError::NoMpi),
    }
}

fn threads(arguments: &Arguments, ranks: usize) -> Result<Verdict, CallError> {
    let prepared = run::prepare(&arguments.file, &arguments.how)?;
    let Some((module, function)) = prepared.lowered()? else { return run::print_rejected(arguments, prepared) };
    let launch = Launch::new(module, function, &arguments.how, ranks);
    launch.check(&arguments.out)?;
    let bound = (0..ranks).map(|rank| launch.bind(rank)).collect::<Result<Vec<Bound>, _>>()?;
    let (arrays, values): (Vec<_>, Vec<_>) = bound.into_iter().unzip();
    let (bytes, _) = run::array_bytes(values.iter().flat_map(BTreeMap::values));
    run::room(bytes, "a copy of the arrays of all ranks")?;
    let options = run::options(&arguments.how, 0);
    let reports = simulate_ranks(module, function, prepared.target, &values, &options);
    run::end_progress();
    let mut outcomes = Vec::with_capacity(ranks);
    let mut after = Vec::new();
    for (rank, report) in reports.into_iter().enumerate() {
        let report = report.map_err(|error| CallError::Entry(format!("rank {rank}: {error}")))?;
        outcomes.push(outcome(arguments, &prepared, &report)?);
        after.push(report.report);
    }
    let saved: Vec<_> =
        after.iter().zip(&arrays).enumerate().map(|(rank, (report, arrays))| (rank, report, arrays)).collect();
    launch.save(&arguments.out, &saved)?;
    print(arguments, &prepared, outcomes)
}

/// A function about to be run on ranks.
struct Launch<'a> {
    module: &'a Module,
    function: &'a Function,
    how: &'a How,
    ranks: usize,
    /// What the program says about ranks; `None` if it contradicts itself, which the run reports.
    says: Option<OnRanks>,
}

impl<'a> Launch<'a> {
    fn new(module: &'a Module, function: &'a Function, how: &'a How, ranks: usize) -> Self {
        Self { module, function, how, ranks, says: on_ranks(function, &module.types).ok() }
    }

    /// The parameters with their names and whose memory they are.
    fn parameters(&self) -> impl Iterator<Item = (&'a str, Home)> + '_ {
        let homes = self.says.iter().flat_map(|says| says.homes.iter().copied());
        self.function.parameter_ids().map(|id| self.function.value(id).name.as_ref()).zip(homes)
    }

    /// What is asked for each rank concerns a rank and a parameter that there are.
    fn check(&self, outputs: &[Output]) -> Result<(), CallError> {
        let Some(says) = &self.says else { return Ok(()) };
        let names: Vec<&str> = self.parameters().map(|(name, _)| name).collect();
        let given = self.how.arguments.iter().map(|one| ("--arg", &one.name, one.rank));
        let wanted = outputs.iter().map(|one| ("--out", &one.name, one.rank));
        for (flag, name, rank) in given.chain(wanted) {
            let Some((_, home)) = self.parameters().find(|(known, _)| known == name) else {
                let message = format!("no parameter is called {name:?}; there are: {}", names.join(", "));
                return Err(CallError::Entry(message));
            };
            match (rank, home) {
                (Some(rank), _) if rank >= self.ranks => {
                    let message = format!("{flag} {name}@{rank}: there are ranks 0 to {}", self.ranks - 1);
                    return Err(CallError::Entry(message));
                }
                (Some(rank), Home::Rank(home)) if rank as u64 != home => {
                    return Err(CallError::Entry(format!(
                        "{flag} {name}@{rank}: `{name}` is the window of rank {home}"
                    )));
                }
                _ => {}
            }
        }
        if let Some(output) = outputs.iter().find(|output| self.rank_of(says, output).is_none()) {
            let name = &output.name;
            let message = format!("every rank has a `{name}`: say whose is meant, as in --out {name}@0=PATH");
            return Err(CallError::Entry(message));
        }
        Ok(())
    }

    /// The rank whose array an output is.
    fn rank_of(&self, says: &OnRanks, output: &Output) -> Option<usize> {
        let home = self.parameters().find(|(name, _)| *name == output.name).map(|(_, home)| home)?;
        let alone = (self.ranks == 1).then_some(0);
        match home {
            Home::Rank(home) => usize::try_from(home).ok(),
            Home::Every => output.rank.or(alone),
            // What the program does with its own arrays it mostly does at its root.
            Home::Each => output.rank.or(alone).or(says.root.and_then(|root| usize::try_from(root).ok())),
        }
    }

    /// Loads what a rank needs: its windows, and what it works on if it runs the program.
    fn bind(&self, rank: usize) -> Result<Bound, CallError> {
        let (mut arrays, mut values) = (BTreeMap::new(), BTreeMap::new());
        let Some(says) = &self.says else { return Ok((arrays, values)) };
        let runs = match says.runners {
            Runners::All => true,
            Runners::Root(root) => root == rank as u64,
        };
        for (id, home) in self.function.parameter_ids().zip(&says.homes) {
            let needed = match home {
                Home::Each => runs,
                Home::Rank(home) => *home == rank as u64,
                Home::Every => true,
            };
            if needed {
                let given = |of: Option<usize>| {
                    let name = self.function.value(id).name.as_ref();
                    self.how.arguments.iter().rev().find(move |one| one.name == name && one.rank == of)
                };
                let (name, value) =
                    run::bind_one(self.module, self.function, id, given(Some(rank)).or(given(None)), &mut arrays)?;
                values.insert(name, value);
            }
        }
        Ok((arrays, values))
    }

    /// Writes the outputs of the ranks at hand.
    fn save(&self, outputs: &[Output], ranks: &[(usize, &Report, &Shapes)]) -> Result<(), CallError> {
        let Some(says) = &self.says else { return Ok(()) };
        let mut saved = Vec::new();
        for output in outputs {
            let of = self.rank_of(says, output);
            let Some((_, report, arrays)) = ranks.iter().find(|(rank, ..)| Some(*rank) == of) else { continue };
            saved.push((&output.destination, run::after(&output.name, report, arrays)?));
        }
        let saved: Vec<_> = saved.iter().map(|(destination, array)| (*destination, array)).collect();
        Ok(pto_data::save(&saved)?)
    }
}

/// What a rank has to say, in all the forms that may be asked for.
fn outcome(arguments: &Arguments, prepared: &Prepared, ranked: &RankReport) -> Result<Outcome, CallError> {
    let levels = arguments.how.levels()?;
    let report = &ranked.report;
    let diagnostics = levels.apply(report.diagnostics.iter().cloned().map(Diagnostic::from).collect());
    let diagnostics = run::not_again(&prepared.diagnostics, diagnostics);
    let errors = diagnostics.iter().any(Diagnostic::is_error);
    let status = if report.status != Status::Ok || errors { "fault" } else { "ok" };
    let source = &prepared.source;
    let colour = output::error_colour();
    let found = diagnostics.iter().map(|one| Found {
        record: record(source, one),
        text: pto_text::diagnostic::terminal::render(source, one, colour),
    });
    let mut object = json!({ "rank": ranked.rank, "ran": ranked.ran, "status": status });
    run::add_figures(&mut object, report, arguments.how.explore);
    let trace = match &arguments.trace {
        Some(_) => trace_events(ranked.rank, report, |place| input::words(source, place)),
        None => Vec::new(),
    };
    let mut summary = format!("rank {}  ", ranked.rank);
    if ranked.ran || status != "ok" {
        summary += &pto_view::summary(report, 100, output::colour());
    } else {
        summary += "kept its windows open\n";
    }
    Ok(Outcome { rank: ranked.rank, status: status.into(), found: found.collect(), object, trace, summary })
}

fn record(source: &Source, found: &Diagnostic) -> Value {
    serde_json::to_value(pto_text::diagnostic::json::record(source, found)).unwrap_or_default()
}

/// Findings of all ranks, each once, with the ranks that made it.
fn merged(outcomes: &mut [Outcome]) -> Vec<(Found, Vec<usize>)> {
    let mut all: Vec<(Found, Vec<usize>)> = Vec::new();
    for outcome in outcomes {
        for found in std::mem::take(&mut outcome.found) {
            match all.iter_mut().find(|(known, _)| known.record == found.record) {
                Some((_, ranks)) => ranks.push(outcome.rank),
                None => all.push((found, vec![outcome.rank])),
            }
        }
    }
    all
}

/// Prints what all ranks have to say, and writes the trace.
fn print(arguments: &Arguments, prepared: &Prepared, mut outcomes: Vec<Outcome>) -> Result<Verdict, CallError> {
    if let Some(path) = &arguments.trace {
        let events = outcomes.iter_mut().flat_map(|outcome| std::mem::take(&mut outcome.trace)).collect();
        std::fs::write(path, trace_document(events).to_string())
            .map_err(|error| CallError::Unwritable { path: path.display().to_string(), error })?;
    }
    let clean =
        outcomes.iter().all(|outcome| outcome.status == "ok") && !prepared.diagnostics.iter().any(Diagnostic::is_error);
    let status = if clean { "ok" } else { "fault" };
    let found = merged(&mut outcomes);
    let mut out = output::results();
    if arguments.json {
        let before = prepared.diagnostics.iter();
        let mut records: Vec<Value> = before.map(|found| record(&prepared.source, found)).collect();
        for (found, ranks) in found {
            let mut record = found.record;
            record["ranks"] = json!(ranks);
            records.push(record);
        }
        let mut object = json!({
            "status": status,
            "target": prepared.target.name(),
            "entry": prepared.entry,
            "diagnostics": records,
            "wall_ns": prepared.started.elapsed().as_nanos() as u64,
        });
        add_totals(&mut object, &outcomes);
        object["ranks"] = outcomes.into_iter().map(|outcome| outcome.object).collect();
        writeln!(out, "{object}")?;
    } else {
        output::diagnostics(&prepared.source, &prepared.diagnostics);
        for (found, ranks) in found {
            output::say(&format_args!("{}\n{}\n", ranks_in_words(&ranks), found.text));
        }
        for outcome in &outcomes {
            write!(out, "{}", outcome.summary)?;
        }
    }
    out.flush()?;
    Ok(if clean { Verdict::Clean } else { Verdict::Wrong })
}

fn ranks_in_words(ranks: &[usize]) -> String {
    let list: Vec<String> = ranks.iter().map(usize::to_string).collect();
    format!("rank{} {}:", if list.len() == 1 { "" } else { "s" }, list.join(", "))
}

/// The figures of the whole run: the last cycle of any rank, the most UB of any rank, sums of everything else.
fn add_totals(object: &mut Value, outcomes: &[Outcome]) {
    let number = |outcome: &Outcome, path: &str| outcome.object.pointer(path).and_then(Value::as_u64);
    let most = |path: &str| outcomes.iter().filter_map(|outcome| number(outcome, path)).max();
    let sum = |path: &str| outcomes.iter().filter_map(|outcome| number(outcome, path)).sum::<u64>();
    let mut pipes: BTreeMap<String, u64> = BTreeMap::new();
    for outcome in outcomes {
        for (pipe, busy) in outcome.object["cycles"]["pipes"].as_object().into_iter().flatten() {
            *pipes.entry(pipe.clone()).or_default() += busy.as_u64().unwrap_or(0);
        }
    }
    object["cycles"] = json!({ "total": most("/cycles/total").unwrap_or(0), "pipes": pipes });
    object["instructions"] = json!(sum("/instructions"));
    object["ub"] = json!({ "peak_bytes": most("/ub/peak_bytes").unwrap_or(0), "limit_bytes": most("/ub/limit_bytes") });
    let lanes = ["written", "skipped", "clamped", "wrapped", "zeroed", "collisions"];
    object["lanes"] = lanes.iter().map(|lane| ((*lane).to_owned(), json!(sum(&format!("/lanes/{lane}"))))).collect();
}

#[cfg(feature = "mpi")]
mod processes {
    //! Ranks as processes: each runs its own part, and rank 0 prints.

    use std::time::Duration;

    use pto_comm::mpi::Mpi;
    use pto_comm::{CommError, Transport};
    use pto_sim::simulate_rank;

    use super::*;

    /// How long a rank waits for the others: ranks that die are noticed long before, and no program is too slow.
    const PATIENCE: Duration = Duration::from_secs(24 * 3600);

    pub(super) fn run(arguments: &Arguments) -> Result<Verdict, CallError> {
        let mpi = Mpi::init_within(PATIENCE).map_err(CallError::Ranks)?;
        let (rank, ranks) = (mpi.rank(), mpi.size());
        let prepared = run::prepare(&arguments.file, &arguments.how)?;
        let Some((module, function)) = prepared.lowered()? else {
            // All ranks have read the same text; one of them says so.
            return if rank == 0 { run::print_rejected(arguments, prepared) } else { Ok(Verdict::Wrong) };
        };
        let launch = Launch::new(module, function, &arguments.how, ranks);
        launch.check(&arguments.out)?;
        let (arrays, values) = launch.bind(rank)?;
        let options = run::options(&arguments.how, 0);
        let ranked = simulate_rank(module, function, prepared.target, &values, &options, &mpi);
        run::end_progress();
        launch.save(&arguments.out, &[(rank, &ranked.report, &arrays)])?;
        let mine = outcome(arguments, &prepared, &ranked)?;
        match gather(&mpi, &mine) {
            Ok(outcomes) if rank == 0 => print(arguments, &prepared, outcomes),
            Ok(outcomes) => {
                let clean = outcomes.iter().all(|outcome| outcome.status == "ok");
                Ok(if clean { Verdict::Clean } else { Verdict::Wrong })
            }
            Err(error) => {
                // There is no one to gather what the ranks have to say: each speaks for itself.
                for found in &mine.found {
                    output::say(&format_args!("rank {rank}:\n{}\n", found.text));
                }
                output::say(&format_args!("rank {rank}: {error}"));
                Ok(Verdict::Wrong)
            }
        }
    }

    /// Everything to rank 0; to the others, only how it went.
    fn gather(mpi: &Mpi, mine: &Outcome) -> Result<Vec<Outcome>, CommError> {
        let all = serde_json::to_vec(mine).unwrap_or_default();
        let brief = Outcome {
            rank: mine.rank,
            status: mine.status.clone(),
            found: Vec::new(),
            object: Value::Null,
            trace: Vec::new(),
            summary: String::new(),
        };
        let brief = serde_json::to_vec(&brief).unwrap_or_default();
        let parts = (0..mpi.size()).map(|to| if to == 0 { all.clone() } else { brief.clone() }).collect();
        let said = mpi.all_to_all(parts)?;
        let read = |(rank, bytes): (usize, &Vec<u8>)| {
            serde_json::from_slice(bytes).map_err(|error| CommError::Peer { rank, message: error.to_string() })
        };
        said.iter().enumerate().map(read).collect()
    }
}
