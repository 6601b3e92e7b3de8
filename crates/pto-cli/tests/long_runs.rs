//! Runs that take long: bounded memory, and Ctrl-C.
#![cfg(target_os = "linux")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A kernel that loads, gathers, scatters and stores in a loop, with flags of its own.
fn kernel(folder: &Path) -> PathBuf {
    let path = folder.join("long.pto");
    let text = r#"module {
  func.func @long(%table: !pto.ptr<f32>, %lanes: !pto.ptr<i32>, %to: !pto.ptr<f32>, %rounds: index) {
    %tv = pto.make_tensor_view %table, shape = [256, 8], strides = [8, 1] : !pto.tensor_view<256x8xf32>
    %lv = pto.make_tensor_view %lanes, shape = [64, 8], strides = [8, 1] : !pto.tensor_view<64x8xi32>
    %ov = pto.make_tensor_view %to, shape = [64, 8], strides = [8, 1] : !pto.tensor_view<64x8xf32>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %a0 = arith.constant 0 : i64
    %a1 = arith.constant 32 : i64
    %idx = pto.alloc_tile addr = %a0 : !pto.tile_buf<vec, 1x8xi32>
    %src = pto.alloc_tile addr = %a1 : !pto.tile_buf<vec, 1x8xf32>
    pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
    scf.for %i = %c0 to %rounds step %c1 {
      %row = arith.remsi %i, %c64 : index
      %l = pto.partition_view %lv, offsets = [%row, 0], sizes = [1, 8] : !pto.tensor_view<64x8xi32> -> !pto.partition_tensor_view<1x8xi32>
      %o = pto.partition_view %ov, offsets = [%row, 0], sizes = [1, 8] : !pto.tensor_view<64x8xf32> -> !pto.partition_tensor_view<1x8xf32>
      pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
      pto.tload ins(%l : !pto.partition_tensor_view<1x8xi32>) outs(%idx : !pto.tile_buf<vec, 1x8xi32>)
      pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID1"]
      pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID1"]
      pto.mgather ins(%tv, %idx : !pto.tensor_view<256x8xf32>, !pto.tile_buf<vec, 1x8xi32>) outs(%src : !pto.tile_buf<vec, 1x8xf32>) {coalesce = #pto<coalesce elem>}
      pto.mscatter ins(%src, %idx : !pto.tile_buf<vec, 1x8xf32>, !pto.tile_buf<vec, 1x8xi32>) outs(%tv : !pto.tensor_view<256x8xf32>) {coalesce = #pto<coalesce elem>}
      pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID1"]
      pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID1"]
      pto.tstore ins(%src : !pto.tile_buf<vec, 1x8xf32>) outs(%o : !pto.partition_tensor_view<1x8xf32>)
      pto.set_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
    }
    pto.wait_flag["PIPE_MTE3", "PIPE_MTE2", "EVENT_ID1"]
    pto.dcci
    pto.dsb
    return
  }
}
"#;
    std::fs::write(&path, text).expect("a file");
    path
}

fn arguments(path: &Path, rounds: u64) -> Vec<String> {
    let words = format!(
        "run {} --json --target a5 --arg rounds={rounds} --arg table=iota:256x8 --arg lanes=iota:64x8 --arg to=zeros:64x8",
        path.display()
    );
    words.split(' ').map(str::to_owned).collect()
}

/// 10^6 tile operations in less memory than a few words for each of them would take.
#[test]
fn a_million_tile_operations_in_bounded_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = kernel(folder.path());
    let run = |rounds: u64, kilobytes: u64| {
        let limited = format!("ulimit -d {kilobytes} && exec \"$@\"");
        let mut shell = Command::new("sh");
        shell.args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_pto")]).args(arguments(&path, rounds));
        shell.output().expect("a shell")
    };
    // What a part of it needs is what all of it needs: the trace is full by then.
    let step = 2 << 10;
    let enough = (1..64).map(|n| n * step).find(|limit| run(50_000, *limit).status.success()).expect("a limit");
    let output = run(250_000, enough + step);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{enough} kB: {said}{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((&report["status"], &report["instructions"]), (&"ok".into(), &1_000_000.into()));
    assert_eq!(report["diagnostics"], Value::Array(vec![]));
}

/// A limit on steps is one on time: instructions count as what they take, and ranks share it.
#[test]
fn the_step_limit_ends_loops_of_instructions() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = kernel(folder.path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_pto"));
    let output = command.args(arguments(&path, 1 << 40)).arg("--max-steps=1000000").output().expect("pto starts");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["diagnostics"][0]["rule"], "launch.step-limit");
    let instructions = report["instructions"].as_u64().expect("a number");
    assert!((5_000..10_000).contains(&instructions), "{instructions}");

    let loops = folder.path().join("loops.pto");
    let text = "module { func.func @k(%m: !pto.partition_tensor_view<8x8xf32>) {
        %r = pto.comm.rank : index
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %n = arith.constant 9000000000000000000 : index
        scf.for %i = %c0 to %n step %c1 { }
        return } }";
    std::fs::write(&loops, text).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pto"));
    command.arg("run").arg(&loops).args(["--target", "a5", "--ranks", "4", "--arg", "m=zeros:8x8", "--max-steps=4000"]);
    let output = command.output().expect("pto starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("expected at most 1000 steps"), "{said}");
}

/// Arrays that are copied once more than there is memory for are refused, not the end of the process.
#[test]
fn a_copy_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("large.pto");
    let text = "module { func.func @k(%m: !pto.partition_tensor_view<8x8xf32>) {
        %t = pto.alloc_tile : !pto.tile_buf<vec, 8x8xf32>
        pto.tload ins(%m : !pto.partition_tensor_view<8x8xf32>) outs(%t : !pto.tile_buf<vec, 8x8xf32>)
        pto.tstore ins(%t : !pto.tile_buf<vec, 8x8xf32>) outs(%m : !pto.partition_tensor_view<8x8xf32>)
        return } }";
    std::fs::write(&path, text).expect("a file");
    let run = |more: &[&str]| {
        let mut shell = Command::new("sh");
        // One and a half times the array.
        shell.args(["-c", "ulimit -v 1950000 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_pto"), "run"]).arg(&path);
        shell.args(["--target", "host", "--arg", "m=zeros:16000x20000"]).args(more).output().expect("a shell")
    };
    let said = |output: &std::process::Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let alone = run(&[]);
    assert_eq!(alone.status.code(), Some(0), "{}", said(&alone));
    let to = format!("m={}", folder.path().join("m.npy").display());
    let copied = "no memory for 1280000000 bytes more";
    let cases = [(&["--out", &to][..], copied), (&["--explore"], copied), (&["--ranks", "2"], "cannot give")];
    for (more, reason) in cases {
        let output = run(more);
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", said(&output));
        assert!(said(&output).contains(reason), "{more:?}: {}", said(&output));
    }
}

/// Ctrl-C ends a run that would take hours, with a report of what was done.
#[test]
fn an_interrupted_run_reports_what_it_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = kernel(folder.path());
    let mut command = Command::new(env!("CARGO_BIN_EXE_pto"));
    command.args(arguments(&path, 1 << 40)).arg("--max-steps=1000000000000");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("pto starts");
    // The signal is meant for the run: not before the program catches it.
    while !catches_interrupt(child.id()) {
        assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    let output = child.wait_with_output().expect("an end");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!((&report["status"], &report["interrupted"]), (&"fault".into(), &true.into()));
    assert!(report["cycles"]["total"].is_u64() && report["lanes"]["written"].is_u64(), "{said}");
    assert_eq!(report["diagnostics"], Value::Array(vec![]), "what the rest would have done is no finding");
}

/// True if a process has a handler for SIGINT.
fn catches_interrupt(id: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 2 != 0)
}

/// On a terminal a long run shows a bar, and the terminal's own Ctrl-C ends it; the report, which goes elsewhere, has
/// nothing of either.
#[test]
fn a_progress_bar_on_a_terminal_until_ctrl_c() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, report) = (kernel(folder.path()), folder.path().join("report.json"));
    let run = arguments(&path, 1 << 40).join(" ");
    // `exec`: a shell that stays would be interrupted too, and some answer for their command then.
    let line = format!("exec {} {run} --max-steps=100000000 > {}", env!("CARGO_BIN_EXE_pto"), report.display());
    // `script` gives its command a terminal of its own, and passes on what is typed.
    let mut command = Command::new("script");
    command.args(["-q", "-e", "-f", "-c", &line, "/dev/null"]).env("SHELL", "/bin/sh").env("TERM", "xterm");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script of util-linux");
    let (mut typed, mut seen) = (child.stdin.take().expect("stdin"), Vec::new());
    let mut screen = child.stdout.take().expect("stdout");
    let mut part = [0; 4096];
    // So many steps are long enough for a bar, and end if there is none.
    loop {
        let read = screen.read(&mut part).expect("a screen");
        assert!(read > 0, "it ended without a bar: {}", String::from_utf8_lossy(&seen));
        seen.extend_from_slice(&part[..read]);
        if String::from_utf8_lossy(&seen).contains(" instructions ") {
            break;
        }
    }
    assert!(String::from_utf8_lossy(&seen).contains("0 %"), "{}", String::from_utf8_lossy(&seen));
    typed.write_all(&[3]).expect("Ctrl-C");
    typed.flush().expect("Ctrl-C");
    screen.read_to_end(&mut seen).expect("the rest");
    drop(typed);
    assert_eq!(child.wait().expect("an end").code(), Some(1));
    let report: Value = serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON");
    assert_eq!(report["interrupted"], true);
}

/// On no terminal there is no progress bar, however long a run takes.
#[test]
fn no_progress_bar_into_a_pipe() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = kernel(folder.path());
    let output = Command::new(env!("CARGO_BIN_EXE_pto")).args(arguments(&path, 5000)).output().expect("pto runs");
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// A report has the same fields whether the program was run or not.
#[test]
fn a_rejected_program_has_all_fields_of_a_report() {
    let folder = tempfile::tempdir().expect("a folder");
    let good = kernel(folder.path());
    let bad = folder.path().join("bad.pto");
    std::fs::write(&bad, "module { func.func @long() { pto.tload } }").expect("a file");
    let fields = |path: &Path| -> (String, Vec<String>) {
        let mut arguments = arguments(path, 3);
        arguments.push("--explore".into());
        let output = Command::new(env!("CARGO_BIN_EXE_pto")).args(arguments).output().expect("pto runs");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let keys = report.as_object().expect("an object").keys().cloned().collect();
        (report["status"].as_str().unwrap_or_default().to_owned(), keys)
    };
    let ((ran, all), (not, same)) = (fields(&good), fields(&bad));
    assert_eq!((ran.as_str(), not.as_str()), ("ok", "rejected"));
    assert_eq!(all, same);
}

/// What exploring takes counts as steps: without that, a run would go on for hours before the limit ends it.
#[test]
fn exploring_counts_towards_the_limit() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("adds.pto");
    let text = "func.func @adds(%t: !pto.memref<8x32xf32>, %s: !pto.memref<8x32xf32>, %x: !pto.memref<8x32xi32>) {
  %z = arith.constant 0 : index
  %n = arith.constant 9223372036854775807 : index
  %o = arith.constant 1 : index
  %a = pto.alloc_tile : !pto.tile_buf<vec, 8x32xf32>
  %b = pto.alloc_tile : !pto.tile_buf<vec, 8x32xi32>
  pto.tload ins(%s : !pto.memref<8x32xf32>) outs(%a : !pto.tile_buf<vec, 8x32xf32>)
  pto.tload ins(%x : !pto.memref<8x32xi32>) outs(%b : !pto.tile_buf<vec, 8x32xi32>)
  scf.for %i = %z to %n step %o {
    pto.mscatter ins(%a, %b : !pto.tile_buf<vec, 8x32xf32>, !pto.tile_buf<vec, 8x32xi32>) outs(%t : !pto.memref<8x32xf32>) {coalesce = #pto<coalesce elem>, scatterAtomicOp = #pto<scatter_atomic_op add>}
  }
  return
}
";
    std::fs::write(&path, text).expect("a file");
    let instructions = |option: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pto"))
            .args(["run", path.to_str().expect("a path"), "--json", "--target", "a5", "--max-steps", "100000"])
            .args(["--arg", "t=zeros:8x32", "--arg", "s=rand:8x32", "--arg", "x=randidx:8x32:256"])
            .args(option)
            .output()
            .expect("pto runs");
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        let ran: Value = serde_json::from_slice(&output.stdout).expect("one object");
        assert_eq!(ran["status"], "fault");
        ran["instructions"].as_u64().expect("a number")
    };
    let (plain, explored) = (instructions(&[]), instructions(&["--explore"]));
    assert!(explored > 2 && explored < plain / 50, "{explored} of {plain}");
}
