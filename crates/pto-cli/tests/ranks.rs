//! `pto run --ranks N`: every byte of every rank against the definition, what is refused, and what is reported.

mod common;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::Case;
use serde_json::Value;

fn pto(arguments: &[String]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pto")).args(arguments).output().expect("pto runs")
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(String::from).collect()
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pto").join(name)
}

#[test]
fn every_byte_of_every_rank_is_as_defined() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut seen = [0; 9];
    for seed in 0..120 {
        let case = Case::draw(seed);
        let mut arguments = case.write(folder.path(), "out");
        arguments.extend(["--ranks".into(), case.ranks.to_string()]);
        let output = pto(&arguments);
        let said = String::from_utf8_lossy(&output.stdout);
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{seed}: {case:?}\n{}\n{said}{why}", case.text());
        let report: Value = serde_json::from_str(&said).expect("one object");
        assert_eq!(report["diagnostics"].as_array().map(Vec::len), Some(0), "{seed}: {said}");
        assert_eq!(report["ranks"].as_array().map(Vec::len), Some(case.ranks));
        assert!(case.after(folder.path(), "out") == case.expected(), "{seed}: bytes differ\n{case:?}\n{}", case.text());
        seen[case.ranks] += 1;
    }
    assert!(seen[1..].iter().all(|count| *count > 3), "every number of ranks is there: {seen:?}");
}

#[test]
fn the_examples_run_with_one_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = |name: &str| folder.path().join(name).display().to_string();
    for (name, ranks, rows, arguments) in [
        ("comm_tscatter_as.pto", 4, 64, words("--arg group=zeros:16x64 --arg src=iota:64x64")),
        ("comm_tscatter_basic_dps.pto", 2, 32, words("--arg src=iota:32x64 --arg p0=zeros:16x64 --arg p1=zeros:16x64")),
        (
            "comm_tscatter_ping_pong_dps.pto",
            2,
            32,
            words("--arg src=iota:32x64 --arg p0=zeros:16x64 --arg p1=zeros:16x64"),
        ),
    ] {
        for target in ["cpu", "a2a3", "a5", "host"] {
            let mut all = words(&format!("run --target {target} --ranks {ranks}"));
            all.push(example(name).display().to_string());
            all.extend(arguments.clone());
            for rank in 0..ranks {
                let window = if name.contains("_as") { format!("group@{rank}") } else { format!("p{rank}") };
                all.extend(["--out".into(), format!("{window}={}", out(&format!("{rank}.bin")))]);
            }
            let output = pto(&all);
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            let each = rows / ranks * 64;
            for rank in 0..ranks {
                let bytes = std::fs::read(out(&format!("{rank}.bin"))).expect("an output");
                let expected: Vec<u8> =
                    (rank * each..(rank + 1) * each).flat_map(|value| (value as f32).to_le_bytes()).collect();
                assert!(bytes == expected, "{name} on {target}: rank {rank}");
            }
        }
    }
}

#[test]
fn rows_come_back_from_a_round_trip_with_what_each_rank_added() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = example("comm_round_trip_dps.pto");
    let text = std::fs::read_to_string(&path).expect("an example");
    let command = text.lines().find_map(|line| line.strip_prefix("// run: pto run ")).expect("a command");
    let out = folder.path().join("dst.bin");
    for target in ["a2a3", "a5", "host"] {
        let mut arguments = vec!["run".into(), path.display().to_string()];
        arguments.extend(words(command).into_iter().skip(1));
        arguments.extend(words(&format!("--target {target} --out dst={}", out.display())));
        let output = pto(&arguments);
        assert!(output.status.success(), "{target}: {}", String::from_utf8_lossy(&output.stderr));
        // The first row of each rank has a row added.
        let expected = |at: usize| (at + if (at / 64).is_multiple_of(16) { at % 64 } else { 0 }) as f32;
        let expected: Vec<u8> = (0..32 * 64).flat_map(|at| expected(at).to_le_bytes()).collect();
        assert!(std::fs::read(&out).expect("an output") == expected, "{target}");
    }
}

#[test]
fn what_is_found_does_not_depend_on_which_rank_is_faster() {
    let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
    for kernel in ["race.ranks/read_before_barrier", "race.ranks/notify_too_early", "sync.deadlock/wait_for_nobody"] {
        let path = kernels.join(format!("{kernel}.pto"));
        let text = std::fs::read_to_string(&path).expect("a kernel");
        let run = text.lines().find_map(|line| line.strip_prefix("// run: ")).expect("a run");
        let mut arguments = vec!["run".into(), path.display().to_string(), "--json".into()];
        arguments.extend(words(run));
        let report = || {
            let mut report: Value = serde_json::from_slice(&pto(&arguments).stdout).expect("one object");
            report["wall_ns"] = Value::Null;
            report
        };
        let first = report();
        assert_eq!(first["status"], "fault");
        for round in 0..20 {
            assert_eq!(report(), first, "{kernel}: round {round}");
        }
    }
}

#[test]
fn the_trace_and_the_report_show_all_ranks() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = Case::draw_for(3, 3);
    let mut arguments = case.write(folder.path(), "out");
    let trace = folder.path().join("trace.json");
    arguments.extend(words(&format!("--ranks 3 --trace {}", trace.display())));
    let at = arguments.iter().position(|word| word == "--target").expect("a target");
    arguments[at + 1] = "a5".into();
    let output = pto(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let trace: Value = serde_json::from_slice(&std::fs::read(trace).expect("a trace")).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    for rank in 0..3u64 {
        let of = || events.iter().filter(move |event| event["pid"].as_u64() == Some(rank));
        let named = |kind: &str| of().find(|event| event["name"] == kind).cloned().unwrap_or_default();
        assert!(
            named("process_name")["args"]["name"]
                .as_str()
                .is_some_and(|name| name.starts_with(&format!("rank {rank} ")))
        );
        assert_eq!(named("barrier")["ph"], "X", "rank {rank} waits at a barrier");
        let moves = of().filter(|event| event["name"] == "comm store").count();
        assert_eq!(moves > 0, rank as usize == case.root, "only the root moves anything");
    }
    let report: Value = serde_json::from_slice(&output.stdout).expect("one object");
    let ranks = report["ranks"].as_array().expect("ranks");
    let most = ranks.iter().filter_map(|rank| rank["cycles"]["total"].as_u64()).max();
    assert_eq!(report["cycles"]["total"].as_u64(), most);
    assert!(
        ranks.iter().enumerate().all(|(at, rank)| rank["rank"].as_u64() == Some(at as u64) && rank["status"] == "ok")
    );
    // For people.
    arguments.retain(|word| word != "--json");
    let said = String::from_utf8(pto(&arguments).stdout).expect("text");
    assert!((0..3).all(|rank| said.contains(&format!("rank {rank}  "))), "{said}");
}

#[test]
fn calls_that_are_wrong() {
    let example = example("comm_tscatter_basic_dps.pto").display().to_string();
    let bound = "--arg src=iota:32x64 --arg p0=zeros:16x64 --arg p1=zeros:16x64";
    for (arguments, message) in [
        (format!("--ranks 0 {bound}"), "a number of ranks from 1 to 64, or mpi"),
        (format!("--ranks 65 {bound}"), "a number of ranks from 1 to 64, or mpi"),
        (format!("--ranks two {bound}"), "a number of ranks from 1 to 64, or mpi"),
        (format!("--ranks 2 {bound} --arg src@2=iota:32x64"), "there are ranks 0 to 1"),
        (format!("--ranks 2 {bound} --arg p1@0=zeros:16x64"), "`p1` is the window of rank 1"),
        (format!("--ranks 2 {bound} --arg q=1"), "no parameter is called \"q\""),
        (format!("--ranks 2 {bound} --out q=x.npy"), "no parameter is called \"q\""),
        ("--ranks 2 --arg src=iota:32x64 --arg p0=zeros:16x64".into(), "`p1: 1x1x1x16x64xf32` is not bound"),
        (format!("{bound} --arg src@0=iota:32x64"), "--arg src@...: this run has one rank"),
        (format!("{bound} --out src@0=x.npy"), "--out src@...: this run has one rank"),
    ] {
        let mut all = words("run");
        all.push(example.clone());
        all.extend(words(&arguments));
        let output = pto(&all);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        assert!(said.contains(message), "{arguments}: {said}");
    }
}

#[cfg(not(feature = "mpi"))]
#[test]
fn without_mpi_it_says_how_to_get_it() {
    let mut all = words("run --ranks mpi");
    all.push(example("comm_tscatter_basic_dps.pto").display().to_string());
    let output = pto(&all);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("cargo build --release -p pto-cli --features mpi"), "{said}");
}

#[test]
fn an_array_of_every_rank_is_written_for_the_rank_that_is_named() {
    let text = "func.func @k(%a: !pto.ptr<i32>) {
  %c0 = arith.constant 0 : index
  %me = pto.comm.rank : i32
  pto.store_scalar %me, %a[%c0] : !pto.ptr<i32>, i32
  return
}
";
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("k.pto");
    std::fs::write(&path, text).expect("a program");
    let run = |outputs: &str| {
        let mut all = words("run --ranks 3 --target host --arg a=zeros:1");
        all.push(path.display().to_string());
        all.extend(words(outputs));
        pto(&all)
    };
    let refused = run(&format!("--out a={}", folder.path().join("a.bin").display()));
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--out a@0=PATH"));
    let out = |rank: usize| folder.path().join(format!("{rank}.bin"));
    let outputs: Vec<String> = (0..3).map(|rank| format!("--out a@{rank}={}", out(rank).display())).collect();
    assert!(run(&outputs.join(" ")).status.success());
    for rank in 0..3 {
        assert_eq!(std::fs::read(out(rank)).expect("an output"), (rank as i32).to_le_bytes());
    }
}
