//! Programs converted between the spellings mean the same: the clean kernels and the automatic ones are run as they are
//! and in every spelling that can express them, with the same arguments, and leave the same bytes and findings.

mod common;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::kernels::{paths, runs, said};
use serde_json::Value;

fn pto(arguments: &[&str]) -> std::process::Output {
    Command::new(env!("CARGO_BIN_EXE_pto")).args(arguments).output().expect("pto starts")
}

/// The kernels without a bug, with their runs.
fn kernels() -> Vec<(PathBuf, Vec<Vec<String>>)> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("text");
        let clean = said(&text, "expect").iter().all(|rule| *rule == "clean");
        clean.then(|| (path, runs(&text)))
    };
    paths().into_iter().filter_map(read).collect()
}

/// The names of the arrays in global memory that a run is given.
fn arrays(path: &Path, run: &[String]) -> Vec<String> {
    let text = std::fs::read_to_string(path).expect("text");
    let tile = |name: &str| ["", " "].iter().any(|blank| text.contains(&format!("%{name}{blank}: !pto.tile")));
    let values = run.iter().zip(run.iter().skip(1)).filter(|(flag, _)| *flag == "--arg").map(|(_, value)| value);
    let array = |value: &&String| value.split_once('=').is_some_and(|(_, value)| value.parse::<f64>().is_err());
    let names = values.filter(array).filter_map(|value| value.split_once('=')?.0.split('@').next().map(String::from));
    let names: BTreeSet<String> = names.filter(|name| !tile(name)).collect();
    // With ranks, arrays belong to some of them; cycles and lanes tell the programs apart there.
    if run.iter().any(|flag| flag == "--ranks") { Vec::new() } else { names.into_iter().collect() }
}

/// Status, cycles and lanes, rules, and every array after a run.
fn outcome(path: &Path, run: &[String], folder: &Path) -> (Value, Vec<String>, Vec<Vec<u8>>) {
    let outputs: Vec<(String, PathBuf)> =
        arrays(path, run).into_iter().map(|name| (name.clone(), folder.join(format!("{name}.bin")))).collect();
    let mut arguments = vec!["run".to_string(), path.display().to_string(), "--json".into()];
    arguments.extend(run.iter().cloned());
    for (name, path) in &outputs {
        let _ = std::fs::remove_file(path);
        arguments.extend(["--out".into(), format!("{name}={}", path.display())]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = pto(&arguments);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr)));
    let found = report["diagnostics"].as_array().cloned().unwrap_or_default();
    let rules = found.iter().filter_map(|one| one["rule"].as_str()).map(String::from).collect();
    let bytes = outputs.iter().map(|(_, path)| std::fs::read(path).unwrap_or_default()).collect();
    let said = ["status", "cycles", "lanes", "ub"].map(|key| report[key].clone());
    (Value::from(said.to_vec()), rules, bytes)
}

#[test]
fn what_is_converted_computes_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut converted = [0usize; 4];
    for (path, runs) in kernels() {
        let forms: Vec<(usize, PathBuf)> = ["as", "ssa", "dps", "level3"]
            .into_iter()
            .enumerate()
            .filter_map(|(at, form)| {
                let output = pto(&["fmt", "--form", form, &path.display().to_string()]);
                let said = String::from_utf8_lossy(&output.stderr);
                if output.status.code() != Some(0) {
                    assert!(said.contains("unsupported.form"), "{} as {form}: {said}", path.display());
                    return None;
                }
                let written = folder.path().join(format!("{form}.pto"));
                std::fs::write(&written, &output.stdout).expect("a file");
                Some((at, written))
            })
            .collect();
        for run in &runs {
            let before = outcome(&path, run, folder.path());
            assert!(before.2.iter().all(|bytes| !bytes.is_empty()), "{} {run:?} wrote nothing", path.display());
            for (at, written) in &forms {
                let after = outcome(written, run, folder.path());
                assert!(
                    before == after,
                    "{} as {} {run:?}: {:?} {:?}",
                    path.display(),
                    written.display(),
                    before.1,
                    after.1
                );
                converted[*at] += 1;
            }
        }
    }
    // As many as there are spellings, and enough of each to mean something.
    assert!(converted.iter().all(|count| *count >= 10), "{converted:?}");
    println!("runs of converted kernels (as, ssa, dps, level3): {converted:?}");
}
