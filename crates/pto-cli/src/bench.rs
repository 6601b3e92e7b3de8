//! `pto bench`: how fast the host engine is, against the plain loop and a copy of the same bytes.

use std::io::Write;

use clap::Args;
use pto_bench::{Measurement, Options, Workload, find, measure, workloads};

use crate::{CallError, Verdict, output};

/// Measure the host engine's workloads
#[derive(Args)]
pub(crate) struct Arguments {
    /// Workloads to measure, such as elem_add_64mb; without any, all
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Threads of the engine, from 1 on; more than 1024 are taken for 1024 [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    threads: Option<u64>,
    /// Print JSON, one object per workload
    #[arg(long)]
    json: bool,
}

/// More threads than this are never useful, and starting millions of them would take forever.
const MAX_THREADS: u64 = 1024;

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, CallError> {
    let chosen: Vec<&Workload> = if arguments.names.is_empty() {
        workloads().collect()
    } else {
        arguments.names.iter().map(|name| find(name).ok_or_else(|| no_such(name))).collect::<Result<_, _>>()?
    };
    let mut options = Options::default();
    if let Some(threads) = arguments.threads {
        options.threads = threads.min(MAX_THREADS) as usize;
    }
    let mut out = output::results();
    if !arguments.json {
        writeln!(out, "{:20} {:>10} {:>10} {:>10} {:>10}", "workload", "ns/element", "GB/s", "x plain", "x copy")?;
    }
    for workload in chosen {
        let row = measure(workload, &options)?;
        // Each as soon as it is known: a run of all takes a minute.
        if arguments.json {
            writeln!(out, "{}", serde_json::json!(row))?;
        } else {
            let Measurement { workload, ns_per_element, bytes_per_second, naive_ratio, memcpy_ratio, .. } = row;
            let gigabytes = bytes_per_second / 1e9;
            writeln!(
                out,
                "{workload:20} {ns_per_element:>10.3} {gigabytes:>10.2} {naive_ratio:>10.2} {memcpy_ratio:>10.2}"
            )?;
        }
        out.flush()?;
    }
    Ok(Verdict::Clean)
}

fn no_such(name: &str) -> CallError {
    CallError::NoSuchWorkload { name: name.to_owned(), known: workloads().map(|w| w.name).collect() }
}
