//! `pto`: the command line. Results go to standard output, everything else to standard error.
//!
//! Exit codes: 0 done and clean, 1 the input was judged and found wrong, 2 the call itself was wrong.

mod bench;
mod check;
mod conform;
mod example;
mod explain;
mod fmt;
mod input;
mod lower;
mod lsp;
mod output;
mod ranks;
mod run;
mod view;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Tools for PTO, the tile instruction set of Ascend NPUs: its gather and scatter half, checked and executed.
#[derive(Parser)]
#[command(name = "pto", version, propagate_version = true, max_term_width = 110)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Bench(bench::Arguments),
    Check(check::Arguments),
    Conform(conform::Arguments),
    Explain(explain::Arguments),
    Fmt(fmt::Arguments),
    Lower(lower::Arguments),
    Lsp(lsp::Arguments),
    Run(Box<run::Arguments>),
    View(Box<view::Arguments>),
}

/// How a command ended, if it could be carried out; the worse is the greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// Exit code 0.
    Clean,
    /// The input was found wrong: exit code 1.
    Wrong,
}

/// The call itself was wrong: exit code 2.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error(transparent)]
    Corpus(#[from] pto_conform::CorpusError),
    #[error("no rule is called {name:?}; {}", suggestion.as_ref().map_or("`pto explain` lists all".into(), |s| format!("did you mean {s:?}?")))]
    NoSuchRule { name: String, suggestion: Option<String> },
    #[error("no workload is called {name:?}; there are {}", known.join(", "))]
    NoSuchWorkload { name: String, known: Vec<&'static str> },
    #[error(transparent)]
    Bench(#[from] pto_bench::Error),
    #[error("cannot start {0} threads: {1}")]
    Threads(usize, rayon::ThreadPoolBuildError),
    #[error("cannot read {path}: {error}")]
    Unreadable { path: String, error: std::io::Error },
    #[error("{0}")]
    TooLarge(String),
    #[error("the program names no target (pto.target_arch); give one with --target")]
    NoTarget,
    #[error("cannot write {path}: {error}")]
    Unwritable { path: String, error: std::io::Error },
    #[error(transparent)]
    Data(#[from] pto_data::DataError),
    #[error("{0}")]
    Entry(String),
    #[cfg(not(feature = "mpi"))]
    #[error(
        "this pto was built without MPI: build it with `cargo build --release -p pto-cli --features mpi`, which needs an MPI with its headers (on Debian: apt-get install libopenmpi-dev openmpi-bin libclang-dev), or run the ranks as threads with --ranks N"
    )]
    NoMpi,
    #[cfg(feature = "mpi")]
    #[error(transparent)]
    Ranks(pto_comm::CommError),
    #[error("cannot write to standard output: {0}")]
    Output(#[from] std::io::Error),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Conform(arguments) => conform::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Fmt(arguments) => fmt::run(&arguments),
        Command::Lower(arguments) => lower::run(&arguments),
        Command::Lsp(arguments) => lsp::run(&arguments),
        Command::Run(arguments) => run::run(&arguments),
        Command::View(arguments) => view::run(&arguments),
    };
    match result {
        Ok(Verdict::Clean) => ExitCode::SUCCESS,
        Ok(Verdict::Wrong) => ExitCode::from(1),
        Err(error) => {
            output::complain(&error);
            ExitCode::from(2)
        }
    }
}
