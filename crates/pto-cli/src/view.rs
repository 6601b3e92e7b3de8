//! `pto view`: a picture of a run.

use std::path::PathBuf;

use clap::Args;

use crate::run::{self, How};
use crate::{CallError, Verdict, input, output};

/// Gathers and scatters that a picture shows.
const OPERATIONS: usize = 8;

/// Draw a run: what went where, the pipes over time, and UB over time
#[derive(Args)]
pub(crate) struct Arguments {
    /// The program; `-` is standard input
    file: PathBuf,
    #[command(flatten)]
    how: How,
    /// Where to write the picture; its ending says which: .svg or .html
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, CallError> {
    let html = match arguments.output.extension().and_then(|ending| ending.to_str()) {
        Some("html") => true,
        Some("svg") => false,
        _ => return Err(CallError::Entry("the output of `pto view` ends in .svg or .html".into())),
    };
    let ran = run::carry_out(&arguments.file, &arguments.how, OPERATIONS)?;
    output::diagnostics(&ran.source, &ran.diagnostics);
    let Some(report) = &ran.report else { return Ok(Verdict::Wrong) };
    let place = |place| input::words(&ran.source, place);
    let picture = if html { pto_view::html(report, place) } else { pto_view::svg(report, place) };
    let path = &arguments.output;
    std::fs::write(path, picture).map_err(|error| CallError::Unwritable { path: path.display().to_string(), error })?;
    Ok(if report.has_errors() { Verdict::Wrong } else { Verdict::Clean })
}
