//! `pto conform` as others call it: the project's own corpora, and corpora that are not what they should be.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn pto(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pto")).args(arguments).output().expect("pto starts")
}

fn last_line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).lines().last().unwrap_or_default().to_owned()
}

fn own_corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance")
}

/// A legal case whose arrays are all zero, with `change` applied to its text.
fn case(change: impl Fn(String) -> String) -> String {
    let tile = |rows: u32| {
        format!(r#"{{"dtype":"f32","rows":{rows},"cols":8,"valid_rows":{rows},"valid_cols":8,"file":"data.bin"}}"#)
    };
    let idx = r#"{"dtype":"i32","rows":4,"cols":8,"valid_rows":4,"valid_cols":8}"#;
    let table = r#"{"dtype":"f32","shape":[1,1,1,4,8],"strides":[32,32,32,8,1],"layout":"nd","golden":"data.bin"}"#;
    change(format!(
        r#"{{"name":"a","expect":"ok","op":"mscatter","target":"a5","policy":{{"coalesce":"elem"}},"src":{},"idx":{idx},"table":{table}}}"#,
        tile(4)
    ))
}

fn corpus(cases: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("cases.jsonl"), cases).expect("cases");
    std::fs::write(folder.path().join("data.bin"), [0; 128]).expect("data");
    folder
}

/// Runs one case and returns the exit code and everything that was printed.
fn run(text: &str) -> (Option<i32>, String) {
    let folder = corpus(text);
    let output = pto(&["conform", folder.path().to_str().expect("a path")]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{text}");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_projects_own_corpora_pass_on_every_executor() {
    for via in ["exec", "reference", "run"] {
        let output = pto(&["conform", own_corpora().to_str().expect("a path"), "--via", via]);
        assert_eq!((output.status.code(), last_line(&output).as_str()), (Some(0), "867 passed, 0 failed"));
    }
}

/// The rules that a case was refused or faulted for, from its line of `--json`.
fn errors(result: &Value) -> BTreeSet<String> {
    let sentences = result["diagnostics"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let errors = sentences.filter(|text| !text.starts_with("warning: ") && !text.starts_with("note: "));
    let rule = |text: &str| text.strip_prefix("error: ").unwrap_or(text).split(": ").next().map(str::to_owned);
    errors.filter_map(rule).collect()
}

/// Each program of the corpus `broken` breaks one rule, on one of the targets that the rule holds on: the tool raises
/// that rule and no other.
#[test]
fn broken_programs_are_refused_for_their_reason_alone() {
    let folder = own_corpora().join("broken");
    let objects =
        |text: &str| -> Vec<Value> { text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect() };
    let cases = objects(&std::fs::read_to_string(folder.join("cases.jsonl")).expect("the corpus"));
    let output = pto(&["conform", folder.to_str().expect("a path"), "--json"]);
    let results = objects(&String::from_utf8_lossy(&output.stdout));
    assert_eq!((cases.len(), results.len()), (532, 532));
    for (case, result) in cases.iter().zip(&results) {
        assert_eq!(case["name"], result["name"]);
        let expected = BTreeSet::from([case["rule"].as_str().expect("a rule").to_owned()]);
        assert_eq!(errors(result), expected, "{}", case["name"]);
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_jobs() {
    let folder = own_corpora();
    let json = |jobs| pto(&["conform", folder.to_str().expect("a path"), "--json", "--jobs", jobs]).stdout;
    assert_eq!(json("1"), json("3"));
    // An absurd number is a number of threads that can be started.
    assert_eq!(json("1"), json("99999999"));
}

#[test]
fn a_legal_case_passes_and_a_wrong_golden_does_not() {
    assert_eq!(run(&case(|text| text)), (Some(0), "1 passed, 0 failed\n".into()));
    let (code, text) = run(&case(|text| text.replace(r#""target":"a5""#, r#""target":"a5","expect_note":1"#)));
    assert_eq!((code, text.as_str()), (Some(0), "1 passed, 0 failed\n"), "unknown fields are for later versions");
    let folder = corpus(&case(|text| text));
    std::fs::write(folder.path().join("data.bin"), [1; 128]).expect("data");
    let output = pto(&["conform", folder.path().to_str().expect("a path")]);
    // Every lane writes 0x01010101 to element 0, the golden has it everywhere.
    assert_eq!((output.status.code(), last_line(&output).as_str()), (Some(1), "0 passed, 1 failed"));
}

/// The case as a gather that claims to have no order.
fn unordered_gather(text: String) -> String {
    let gather = text.replace("mscatter", "mgather").replace(r#""src""#, r#""dst""#);
    gather.replace(r#""op""#, r#""unordered":true,"op""#)
}

#[test]
fn a_malformed_case_is_a_failure_that_says_where() {
    for (text, expected) in [
        (case(|text| text[..text.len() - 1].to_owned()), "cases.jsonl:1: not a case"),
        (case(|text| text.replace("mscatter", "mscotter")), "unknown variant"),
        (case(|text| text.replace(r#""target":"a5""#, r#""target":"a6""#)), "no target \"a6\""),
        (case(|text| text.replace(r#","table""#, r#","tabel""#)), "`table` is missing"),
        (case(|text| text.replace(r#""golden":"data.bin""#, r#""golden":"../data.bin""#)), "a path inside the corpus"),
        (case(|text| text.replace(r#""golden":"data.bin""#, r#""golden":"none.bin""#)), "none.bin"),
        (case(|text| text.replace(r#","golden":"data.bin""#, "")), "needs a golden"),
        (format!("{}\n{}", case(|text| text), case(|text| text)), "stands twice"),
        (case(|text| text.replace(r#""op""#, r#""twin":"b","op""#)), "not in this corpus"),
        (case(|text| text.replace(r#""golden":"data.bin""#, r#""golden_any":[]"#)), "lists no outcome"),
        (case(unordered_gather), "only mscatter can be unordered"),
        ("[1, 2]".into(), "not a case"),
        ("\u{0}\u{1}".into(), "not a case"),
    ] {
        let (code, output) = run(&text);
        assert!(code == Some(1) && output.contains(expected), "{text}\n{output}");
    }
}

#[test]
fn a_short_file_is_a_failure() {
    let (code, output) =
        run(&case(|text| text.replace(r#""file":"data.bin""#, r#""file":"data.bin","file_offset":4"#)));
    assert!(code == Some(1) && output.contains("128 bytes at offset 4 are wanted, the file has 128"), "{output}");
    let (code, output) = run(&case(|text| {
        text.replace(r#""file":"data.bin""#, r#""file":"data.bin","file_offset":18446744073709551615"#)
    }));
    assert!(code == Some(1) && output.contains("are wanted"), "{output}");
}

/// Extents near the largest number: refused or failed, never a panic or an absurd allocation.
#[test]
fn absurd_extents_are_refused_without_being_allocated() {
    let edges = ["0", "-1", "4611686018427387904", "9223372036854775807", "1099511627776"];
    for edge in edges {
        for field in [r#""rows":4"#, r#""cols":8"#, r#""valid_rows":4"#, r#""shape":[1"#, r#""strides":[32"#] {
            let (name, _) = field.rsplit_once([':', '[']).expect("a field");
            let separator = if field.contains('[') { "[" } else { ":" };
            let text = case(|text| text.replace(field, &format!("{name}{separator}{edge}")));
            for target in ["cpu", "a2a3", "a5", "host"] {
                let text = text.replace(r#""target":"a5""#, &format!(r#""target":"{target}""#));
                let (code, output) = run(&text);
                assert!(matches!(code, Some(0 | 1)) && output.ends_with("failed\n"), "{text}\n{output}");
            }
        }
    }
    let (code, output) = run(&case(|text| {
        text.replace(
            r#""shape":[1,1,1,4,8],"strides":[32,32,32,8,1]"#,
            r#""shape":[1,1,1,1073741824,1024],"strides":[1,1,1,1024,1]"#,
        )
    }));
    assert!(code == Some(1) && output.contains("larger than a case may be"), "{output}");
    // No file stands behind the table, so a short line must not be worth much memory: 256 MiB and a bit.
    let (code, output) =
        run(&case(|text| text.replace(r#""strides":[32,32,32,8,1]"#, r#""strides":[1,1,1,22369620,1]"#)));
    assert!(code == Some(1) && output.contains("an array of 268435472 bytes is larger"), "{output}");
}

#[test]
fn an_illegal_case_is_refused_for_its_reason_and_a_reject_case_passes_by_it() {
    let reject = |text: String| text.replace(r#""expect":"ok""#, r#""expect":"reject""#);
    let wide = |text: String| text.replace(r#""dtype":"f32""#, r#""dtype":"f64""#);
    let (code, output) = run(&case(wide));
    assert!(
        code == Some(1) && output.contains("type.element") && output.contains("expected an element type of {"),
        "{output}"
    );
    assert_eq!(run(&case(|text| reject(wide(text)))).0, Some(0));
    assert_eq!(run(&case(reject)).0, Some(1), "a legal case that should be refused is a failure");
    // A reject case that cannot be read has not been refused.
    let (code, output) = run(&case(|text| reject(text).replace(r#","table""#, r#","tabel""#)));
    assert!(code == Some(1) && output.contains("cannot be run"), "{output}");
}

#[test]
fn a_call_that_is_wrong_exits_with_2() {
    let empty = tempfile::tempdir().expect("a folder");
    for arguments in
        [&["conform"][..], &["conform", "/no/such/folder"], &["conform", empty.path().to_str().expect("a path")]]
    {
        let output = pto(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty());
    }
    let folder = own_corpora();
    let none = pto(&["conform", folder.to_str().expect("a path"), "--filter", "no such case"]);
    assert_eq!((none.status.code(), last_line(&none).as_str()), (Some(1), "0 passed, 0 failed"));
}
