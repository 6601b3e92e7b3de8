//! Runs every kernel of `tests/kernels` through `pto run --json`: each has one planted bug, or none.
//!
//! A kernel says in comments at its head how it is run and what is to be found, and marks the places:
//!
//! ```text
//! // run: --target a5 --arg from=iota:8x32     one line for each run
//! // expect: race.ub                           one line for each rule, or `clean`
//! pto.tload ...   // <- earlier                a place that a label points to
//! pto.tstore ...  // <- here                   a place that a finding points to
//! ```
//!
//! The findings are exactly these rules, all of them at the lines marked `here`, and every such line is met. A clean
//! kernel has no finding of any severity. Beside `NAME.pto` with its bug stands `NAME.clean.pto`, the same without.

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::kernels::{paths, runs, said};
use serde_json::Value;

/// What a kernel's comments say.
struct Kernel {
    path: PathBuf,
    runs: Vec<Vec<String>>,
    /// Empty for a clean one.
    rules: BTreeSet<String>,
    here: BTreeSet<u64>,
    earlier: BTreeSet<u64>,
}

impl Kernel {
    fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("a kernel is text");
        let marked = |what: &str| -> BTreeSet<u64> {
            let lines = text.lines().zip(1..).filter(|(line, _)| line.ends_with(&format!(" <- {what}")));
            lines.map(|(_, number)| number).collect()
        };
        let rules = said(&text, "expect");
        assert!(!rules.is_empty(), "{}: expects nothing", path.display());
        let rules = rules.into_iter().filter(|rule| *rule != "clean").map(str::to_string).collect();
        Self { path: path.into(), runs: runs(&text), rules, here: marked("here"), earlier: marked("earlier") }
    }

    /// Runs the kernel as its comments say, and lists what differs from what they expect.
    fn problems(&self, run: &[String]) -> Vec<String> {
        let output =
            Command::new(env!("CARGO_BIN_EXE_pto")).arg("run").arg(&self.path).arg("--json").args(run).output();
        let output = output.expect("pto starts");
        let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else {
            return vec![format!("no report: {}", String::from_utf8_lossy(&output.stderr))];
        };
        let found = report["diagnostics"].as_array().cloned().unwrap_or_default();
        let words = |key: &'static str| found.iter().filter_map(move |one| one[key].as_str()).map(str::to_string);
        let mut problems = Vec::new();
        let mut expect = |what: &str, expected: String, found: String| {
            if expected != found {
                problems.push(format!("{what}: expected {expected}, found {found}"));
            }
        };
        expect("rules", format!("{:?}", self.rules), format!("{:?}", words("rule").collect::<BTreeSet<_>>()));
        let errors = words("severity").any(|severity| severity == "error");
        let status = report["status"].as_str().unwrap_or_default();
        expect("status is ok", (!errors).to_string(), (status == "ok").to_string());
        expect("exit code", i32::from(errors).to_string(), output.status.code().unwrap_or(-1).to_string());
        let lines: BTreeSet<u64> = found.iter().filter_map(|one| one["line"].as_u64()).collect();
        expect("lines", format!("{:?}", self.here), format!("{lines:?}"));
        let labels = found.iter().filter_map(|one| one["labels"].as_array()).flatten();
        let labels: BTreeSet<u64> = labels.filter_map(|label| label["line"].as_u64()).collect();
        let missing: Vec<_> = self.earlier.difference(&labels).collect();
        expect("labels that are missing", "[]".into(), format!("{missing:?}"));
        if !problems.is_empty() {
            problems.extend(words("message").map(|message| format!("said: {message}")));
        }
        problems
    }
}

fn kernels() -> Vec<Kernel> {
    paths().iter().map(|path| Kernel::read(path)).collect()
}

#[test]
fn every_bug_is_found_at_its_line_and_every_twin_is_clean() {
    let kernels = kernels();
    let runs: Vec<(&Kernel, &[String])> =
        kernels.iter().flat_map(|kernel| kernel.runs.iter().map(move |run| (kernel, run.as_slice()))).collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((kernel, run)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let problems = kernel.problems(run);
                    if !problems.is_empty() {
                        let (path, run) = (kernel.path.display(), run.join(" "));
                        failures.lock().unwrap().push(format!("{path} {run}\n    {}", problems.join("\n    ")));
                    }
                }
            });
        }
    });
    let buggy = kernels.iter().filter(|kernel| !kernel.rules.is_empty()).count();
    println!("{} kernels with a bug, {} clean ones, {} runs", buggy, kernels.len() - buggy, runs.len());
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {} runs:\n{}", failures.len(), runs.len(), failures.join("\n"));
    assert!(buggy >= 60, "{buggy} kernels");
}

#[test]
fn every_bug_has_a_clean_twin() {
    let kernels = kernels();
    for kernel in kernels.iter().filter(|kernel| !kernel.rules.is_empty()) {
        let twin = kernel.path.with_extension("clean.pto");
        assert!(twin.exists(), "{} has no twin", kernel.path.display());
    }
}

#[test]
fn every_rule_of_a_run_has_a_kernel() {
    let kernels = kernels();
    let expected: BTreeSet<&str> = kernels.iter().flat_map(|kernel| &kernel.rules).map(String::as_str).collect();
    let of_lanes = ["bounds.lane", "bounds.negative-lane", "conflict.collision", "conflict.nondeterministic"];
    let rules = pto_sim::rules::RULES.iter().map(|rule| rule.name).chain(of_lanes);
    let missing: Vec<&str> = rules.filter(|rule| !expected.contains(rule)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
