//! The commands on texts, as other programs call them: exit codes, what goes to which stream, JSON and SARIF.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Exit code, standard output and standard error of a call with a text on standard input.
fn pto(arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_pto"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("pto runs");
    // A call that fails early does not read its input.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("an end");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

const GATHER: &str = ".arg %m : !pto.memref<64x32xf32>
.arg %i : !pto.tile<8x32xi32>
%d = mgather.elem %m, %i : (!pto.memref<64x32xf32>, !pto.tile<8x32xi32>) -> !pto.tile<8x32xf32>
";

fn rules(output: &str) -> Vec<(String, String, Value)> {
    let read = |line: &str| {
        let found: Value = serde_json::from_str(line).expect("one object a line");
        let text = |key: &str| found[key].as_str().expect("a string").to_string();
        (text("rule"), text("severity"), found["target"].clone())
    };
    output.lines().map(read).collect()
}

#[test]
fn a_clean_program() {
    let (code, out, err) = pto(&["check", "-"], GATHER);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "<stdin>: legal on cpu, a2a3, a5, host\n", ""));
    assert_eq!(pto(&["check", "--json", "-"], GATHER), (0, String::new(), String::new()));
}

#[test]
fn every_error_of_a_text_at_once() {
    let text = "func.func @k(%size: index, %t: !pto.tile_buf<vec, 8x32xf32>) {
  %a = arith.addi %size, %siez : index
  %a = arith.constant 1 : i32
  %b = arith.addi %size, %size : i32
  pto.mscater ins(%size : index) outs(%t : !pto.tile_buf<vec, 8x32xf32>)
  pto.alloc_tile adr = %size : !pto.tile_buf<vec, 8x32xf32>
  return
}
func.func @other(%t: !pto.tile_buf<vec, 8x32xf32>) {
  %x = pto.mystery %t : !pto.tile_buf<vec, 8x32xf32> -> f32
  return
}
";
    let (code, out, err) = pto(&["check", "--json", "--target", "a5", "-"], text);
    assert_eq!((code, err.as_str()), (1, ""));
    let names: Vec<String> = rules(&out).into_iter().map(|(rule, ..)| rule).collect();
    let expected = [
        "type.undefined",
        "type.redefined",
        "type.mismatch",
        "unsupported.op",
        "parse.operands",
        "parse.attribute",
        "unsupported.op",
    ];
    assert_eq!(names, expected);
    let first: Value = serde_json::from_str(out.lines().next().expect("a line")).expect("JSON");
    assert_eq!((&first["line"], &first["column"], &first["end_column"]), (&2.into(), &26.into(), &31.into()));
    assert_eq!(first["help"], "did you mean `%size`?");
    let second: Value = serde_json::from_str(out.lines().nth(1).expect("a line")).expect("JSON");
    assert_eq!(second["labels"][0]["line"], 2, "{second}");
}

#[test]
fn a_misspelt_operation_gets_a_suggestion() {
    let (code, out, _) = pto(&["check", "--target", "a5", "-"], "pto.tlod\n");
    assert_eq!(code, 1);
    assert!(out.contains("error[unsupported.op]: `pto.tlod` is not part of this instruction set"), "{out}");
    assert!(out.contains("did you mean `pto.tload`?") && !out.contains('\u{1b}'), "{out}");
}

#[test]
fn what_every_target_says_is_said_once() {
    let (_, out, _) = pto(&["check", "--json", "-"], "pto.mystery\n");
    assert_eq!(rules(&out), [("unsupported.op".into(), "error".into(), Value::Null)]);
    let rows = GATHER.replace("8x32xi32", "1x8xi32").replace("mgather.elem", "mgather.row");
    let (code, out, _) = pto(&["check", "--json", "-"], &rows);
    assert_eq!(code, 0);
    assert!(rules(&out).iter().all(|(.., target)| target == "cpu"), "{out}");
}

#[test]
fn levels() {
    let implicit = GATHER.replace("mgather.elem", "mgather");
    let arguments = ["check", "--json", "--target", "a5", "-"];
    let (code, out, _) = pto(&arguments, &implicit);
    assert_eq!((code, rules(&out)[0].1.as_str()), (0, "warning"));
    let denied = [&arguments[..], &["--deny", "policy.coalesce-implicit"]].concat();
    let (code, out, _) = pto(&denied, &implicit);
    assert_eq!((code, rules(&out)[0].1.as_str()), (1, "error"));
    let allowed = [&arguments[..], &["--allow", "policy"]].concat();
    assert_eq!(pto(&allowed, &implicit), (0, String::new(), String::new()));
    let (code, out, err) = pto(&[&arguments[..], &["--deny", "policy.coalesce-implict"]].concat(), &implicit);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("did you mean \"policy.coalesce-implicit\"?"), "{err}");
}

/// Without `--target` a program is clean if one target takes it; what is denied is wrong on any.
#[test]
fn a_denied_rule_decides_on_whichever_target_it_is_found() {
    let implicit = GATHER.replace("mgather.elem", "mgather");
    let denied = ["check", "--json", "-", "--deny", "policy.coalesce-implicit"];
    let (code, out, _) = pto(&denied, &implicit);
    assert_eq!(code, 1, "{out}");
    assert!(!rules(&out).iter().any(|(.., target)| target == "cpu"), "cpu takes the program: {out}");
    let (code, out, _) = pto(&[&denied[..], &["--target", "cpu"]].concat(), &implicit);
    assert_eq!((code, out.as_str()), (0, ""));
    // An error that is not denied leaves the program to the targets that take it.
    let rows = GATHER.replace("8x32xi32", "1x8xi32").replace("mgather.elem", "mgather.row");
    assert_eq!(pto(&denied, &rows).0, 0);
    assert_eq!(pto(&["check", "-", "--deny", "shape"], &rows).0, 1);
}

/// A reader that has gone changes nothing but that nobody reads.
#[test]
fn the_exit_code_is_the_verdict_when_nobody_reads() {
    let unread = |arguments: &[&str]| {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_pto")).args(arguments).stdout(writer).output().expect("pto runs");
        (output.status.code().expect("an exit code"), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (right, wrong) = (path("right.pto"), path("wrong.pto"));
    std::fs::write(&right, GATHER).expect("a file");
    std::fs::write(&wrong, "pto.mystery\n".repeat(500)).expect("a file");
    std::fs::write(path("cases.jsonl"), "no case\n".repeat(500)).expect("a file");
    for form in ["--json", "--sarif"] {
        assert_eq!(unread(&["check", &wrong, form]), (1, String::new()));
    }
    assert_eq!(unread(&["check", &wrong]), (1, String::new()));
    assert_eq!(unread(&["conform", &path("")]), (1, String::new()));
    assert_eq!(unread(&["run", &wrong, "--json"]), (1, String::new()));
    for clean in [&["check", &right][..], &["fmt", &right], &["lower", &right, "--to", "level2"], &["explain"]] {
        assert_eq!(unread(clean), (0, String::new()), "{clean:?}");
    }
}

#[test]
fn sarif_is_one_log() {
    let (code, out, _) = pto(&["check", "--sarif", "-"], ".arg %x : indx");
    assert_eq!(code, 1);
    let log: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "parse.type");
}

#[test]
fn wrong_calls() {
    for arguments in [
        &["check"][..],
        &["check", "no-such-file.pto"],
        &["check", "--target", "a9", "-"],
        &["check", "--json", "--sarif", "-"],
        &["fmt", "--form", "level4", "-"],
        &["lower", "-"],
        &["lower", "--to", "level3", "-"],
        &["explain", "align.rowwidth"],
        &["check", "--allow", "no.such-rule", "-"],
        &["bench", "--threads", "0"],
        &["frobnicate"],
    ] {
        let (code, out, err) = pto(arguments, GATHER);
        assert_eq!((code, out.as_str()), (2, ""), "{arguments:?}: {err}");
        assert!(!err.is_empty());
    }
}

#[test]
fn formatting_and_conversion() {
    let (code, out, _) = pto(&["fmt", "-"], "pto.tload ins(%v:f32)   outs( %t :f32 ) // load");
    assert_eq!((code, out.as_str()), (0, "pto.tload ins(%v : f32) outs(%t : f32) // load\n"));
    assert_eq!(pto(&["fmt", "--check", "-"], &out).0, 0);
    let (code, out, err) = pto(&["fmt", "--check", "-"], "return ;");
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("not in canonical form"));
    let (code, dps, _) = pto(&["fmt", "--form", "dps", "-"], GATHER);
    assert!(code == 0 && dps.contains("pto.mgather ins(%m, %i : "), "{dps}");
    assert_eq!(pto(&["fmt", "--form", "as", "-"], &dps).1, GATHER);
    let (code, out, err) = pto(&["fmt", "--form", "level3", "-"], GATHER);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("error[unsupported.form]: expected an address for %i"), "{err}");
    let (code, out, err) = pto(&["fmt", "-"], "return )");
    assert!(code == 1 && out.is_empty() && err.contains("parse.unmatched"), "{err}");
}

#[test]
fn explanations() {
    let (code, out, _) = pto(&["explain", "align.row-width"], "");
    assert!(code == 0 && out.contains("Wrong (for a5):") && out.contains("Right:"), "{out}");
    let (_, list, _) = pto(&["explain"], "");
    let (_, json, _) = pto(&["explain", "--json"], "");
    assert_eq!(list.lines().count(), json.lines().count());
    for name in ["parse.type", "type.undefined", "align.row-width", "race.ub"] {
        assert!(list.lines().any(|line| line.starts_with(name)), "{name}");
    }
    for line in json.lines() {
        let rule: Value = serde_json::from_str(line).expect("JSON");
        let shown = |key: &str| rule["example"][key].as_str().is_some_and(|text| !text.trim().is_empty());
        assert!(shown("failing") && shown("corrected"), "{line}");
    }
    for (name, how) in [
        ("race.ub", "Wrong (for a5):"),
        ("unsupported.form", "Wrong (converted by `pto fmt --form level3`):"),
        ("type.name", "Wrong (a case of a corpus, for `pto conform`):"),
        ("parse.utf8", "Wrong (described):"),
    ] {
        let (_, out, _) = pto(&["explain", name], "");
        assert!(out.contains(how) && out.contains("Right:"), "{out}");
    }
}

#[test]
fn hostile_texts_end_soon() {
    let deep = format!("func.func @k(%c: i1) {{{}{} return }}", "scf.if %c {".repeat(5000), "}".repeat(5000));
    let names: String = (0..20_000).map(|n| format!("%v{n} = pto.nothing %v{} : f32\n", n + 1)).collect();
    let alias: String =
        (0..60).map(|n| format!("!a{} = !pto.group<!a{n}>\n", n + 1)).fold("!a0 = f32\n".into(), |all, one| all + &one);
    let results = "%r:4294967295 = scf.for %i = %i to %i step %i { }\n".repeat(100);
    let many = format!("{}return", "pto.mscatter ins(%a, %b : f32) outs(%c : f32)\n".repeat(20_000));
    for text in [deep, names, alias + ".arg %x : !a60", results, many, "\u{0}\u{feff}%".into()] {
        let start = std::time::Instant::now();
        let (code, ..) = pto(&["check", "--json", "-"], &text);
        assert!(code == 1 || code == 0, "{code}");
        assert!(start.elapsed().as_secs() < 60);
        assert!(pto(&["fmt", "--form", "dps", "-"], &text).0 <= 1);
    }
}

#[test]
fn a_program_is_read_up_to_a_limit() {
    let blanks = |bytes: usize| " ".repeat(bytes);
    let (code, out, _) = pto(&["check", "-"], &blanks(32 << 20));
    assert_eq!((code, out.as_str()), (0, "<stdin>: legal on cpu, a2a3, a5, host\n"));
    let (code, out, err) = pto(&["check", "-"], &blanks((32 << 20) + 1));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("longer than 32 MiB"), "{err}");
    // Without an end.
    let (code, _, err) = pto(&["fmt", "/dev/zero"], "");
    assert!(code == 2 && err.contains("longer than 32 MiB"), "{err}");
}

/// What a conversion keeps, it keeps exactly; what it leaves out, it says.
#[test]
fn nothing_is_dropped_in_silence() {
    let text = "#tag = #x.tag<7>
module @m attributes {pto.target_arch = \"a5\", tool.origin = #tag} {
  func.func private @f(index, !x.y<#tag>) -> i32 attributes {llvm.linkage = \"external\"}
  func.func @k(%n: index {x.hint}, %g: !pto.group<4x!pto.memref<1x1x1x8x32xf32>>) attributes {pto.kernel_kind = #pto.kernel_kind<vector>, x.unit} {
    %a = arith.addi %n, %n {x.note = 1 : i8} : index loc(\"k.py\":1:2)
    return
  }
}
";
    let (code, dps, said) = pto(&["fmt", "--form", "dps", "-"], text);
    assert_eq!(code, 0, "{said}");
    for kept in [
        "module @m attributes {pto.target_arch = \"a5\", tool.origin = #x.tag<7>} {",
        "func.func private @f(index, !x.y<#x.tag<7>>) -> i32 attributes {llvm.linkage = \"external\"}",
        "%g: !pto.group<4x!pto.memref<1x1x1x8x32xf32>>) attributes {pto.kernel_kind = #pto.kernel_kind<vector>, x.unit} {",
    ] {
        assert!(dps.contains(kept), "{kept}\n{dps}");
    }
    for left_out in ["attribute `x.hint`", "attribute `x.note`", "1 location"] {
        assert!(said.contains("warning[unsupported.dropped]") && said.contains(left_out), "{said}");
    }
    let (code, again, said) = pto(&["fmt", "--form", "dps", "-"], &dps);
    assert_eq!((code, again, said.as_str()), (0, dps, ""));
    let (code, out, said) = pto(&["fmt", "--form", "as", "-"], text);
    assert!(code == 1 && out.is_empty() && said.contains("PTO-AS declares none, found `@f` too"), "{said}");
    let alone: String = text.lines().filter(|line| !line.contains("@f(")).map(|line| format!("{line}\n")).collect();
    let (code, assembly, _) = pto(&["fmt", "--form", "as", "-"], &alone);
    assert!(code == 0 && assembly.contains(".module @m attributes {tool.origin = #x.tag<7>}"), "{assembly}");
    assert_eq!(pto(&["fmt", "--form", "dps", "-"], &assembly).0, 0);
}
