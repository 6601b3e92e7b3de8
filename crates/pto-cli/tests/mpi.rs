//! `mpirun -n N pto run --ranks mpi`: the same bytes and the same findings as `--ranks N`, and what becomes of a run in
//! which a rank is killed or stopped.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use common::Case;
use serde_json::Value;

/// What a job may take to end when a rank was killed.
const END: Duration = Duration::from_secs(30);
/// After which a job counts as hung and is ended, so that the test fails instead of waiting for good.
const HUNG: Duration = Duration::from_secs(120);

fn mpirun(ranks: usize, program: &[&str], arguments: &[String]) -> Output {
    let version = Command::new("mpirun").arg("--version").output().expect("mpirun is installed");
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", &HUNG.as_secs().to_string(), "mpirun"]);
    if String::from_utf8_lossy(&version.stdout).contains("Open MPI") {
        command.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    command.args(["-n", &ranks.to_string()]).args(program).arg(env!("CARGO_BIN_EXE_pto")).args(arguments);
    command.args(["--ranks", "mpi"]).env("NO_COLOR", "1").output().expect("mpirun runs")
}

fn threads(ranks: usize, arguments: &[String]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pto"));
    command.args(arguments).args(["--ranks", &ranks.to_string()]).output().expect("pto runs")
}

/// The report among what the launcher prints.
fn report(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().find(|line| line.starts_with('{'));
    let line = line.unwrap_or_else(|| panic!("no report: {said}{}", String::from_utf8_lossy(&output.stderr)));
    let mut report: Value = serde_json::from_str(line).expect("one object");
    // The one figure that differs from run to run.
    report["wall_ns"] = Value::Null;
    report
}

#[test]
fn the_same_bytes_as_between_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    for ranks in [1, 2, 4, 7] {
        for seed in 0..6 {
            let case = Case::draw_for(1000 * ranks as u64 + seed, ranks);
            let arguments = case.write(folder.path(), "threads");
            let between_threads = threads(ranks, &arguments);
            assert!(between_threads.status.success(), "{case:?}");
            let arguments = case.write(folder.path(), "mpi");
            let between_processes = mpirun(ranks, &[], &arguments);
            let said = String::from_utf8_lossy(&between_processes.stderr);
            assert!(between_processes.status.success(), "{ranks} ranks, {seed}: {said}\n{}", case.text());
            let after = case.after(folder.path(), "mpi");
            assert!(after == case.expected(), "{ranks} ranks, {seed}: not as defined\n{}", case.text());
            assert!(after == case.after(folder.path(), "threads"), "{ranks} ranks, {seed}: not as between threads");
            assert_eq!(report(&between_processes), report(&between_threads), "{ranks} ranks, {seed}");
        }
    }
}

/// Every kernel that runs on ranks, with its arguments.
fn kernels() -> Vec<(PathBuf, usize, Vec<String>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
    let mut found = Vec::new();
    for folder in std::fs::read_dir(root).expect("kernels").flatten().filter(|entry| entry.path().is_dir()) {
        for file in std::fs::read_dir(folder.path()).expect("a folder").flatten() {
            let text = std::fs::read_to_string(file.path()).expect("a kernel");
            let run = text.lines().find_map(|line| line.strip_prefix("// run: ")).unwrap_or_default().to_owned();
            let mut words: Vec<String> = run.split_whitespace().map(String::from).collect();
            if let Some(at) = words.iter().position(|word| word == "--ranks") {
                let ranks = words[at + 1].parse().expect("a number of ranks");
                words.drain(at..at + 2);
                found.push((file.path(), ranks, words));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn the_same_findings_as_between_threads() {
    let kernels = kernels();
    assert!(kernels.len() >= 20, "{} kernels", kernels.len());
    let compare = |(path, ranks, words): &(PathBuf, usize, Vec<String>)| {
        let mut arguments = vec!["run".into(), path.display().to_string(), "--json".into()];
        arguments.extend(words.iter().cloned());
        let (threads, processes) = (threads(*ranks, &arguments), mpirun(*ranks, &[], &arguments));
        assert_eq!(report(&processes)["diagnostics"], report(&threads)["diagnostics"], "{}", path.display());
        assert_eq!(processes.status.success(), threads.status.success(), "{}", path.display());
    };
    // A job with a finding mostly waits, for the launcher to end it.
    std::thread::scope(|scope| {
        for some in kernels.chunks(kernels.len().div_ceil(4)) {
            scope.spawn(move || some.iter().for_each(compare));
        }
    });
}

/// Ranks that meet at a barrier, again and again.
const LONG: &str = "func.func @k() {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %many = arith.constant 100000000 : index
  scf.for %i = %c0 to %many step %c1 {
    pto.comm.barrier
  }
  return
}
";

/// Runs a program of which rank 1 gets a signal once it is under way; every other rank says what it hears.
fn signalled(signal: &str, end: Duration, heard: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("k.pto");
    std::fs::write(&program, LONG).expect("a program");
    let script = folder.path().join("rank.sh");
    let text = format!(
        "#!/bin/sh
if [ \"${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}\" = 1 ]; then
  (until grep -qs '^alive$' /proc/$$/task/*/comm; do :; done; kill -{signal} $$) &
fi
exec \"$@\"
"
    );
    std::fs::write(&script, text).expect("a script");
    let (program, script) = (program.display().to_string(), script.display().to_string());
    let start = Instant::now();
    let output = mpirun(4, &["sh", &script], &["run".into(), program, "--target".into(), "a5".into()]);
    let took = start.elapsed();
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && took < end, "{took:?}: {said}");
    for rank in [0, 2, 3] {
        let own = |line: &str| line.starts_with(&format!("rank {rank}")) && line.contains(heard);
        assert!(said.lines().any(own), "rank {rank} did not say {heard:?}:\n{said}");
    }
}

#[test]
fn a_killed_rank_is_an_error_at_the_others() {
    signalled("KILL", END, "rank 1 is gone: its process ended");
}

#[test]
fn a_stopped_rank_is_an_error_at_the_others() {
    signalled("STOP", HUNG, "rank 1 is gone: it has given no sign of life");
}
