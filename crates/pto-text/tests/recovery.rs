//! What is said about texts with errors: every error, once, at its place. The snapshots are what a user sees.

mod common;

use pto_text::diagnostic::{json, sarif, terminal};
use pto_text::{Diagnostic, Source, parse, rules};

fn found(name: &str, text: &str) -> (Source, Vec<Diagnostic>) {
    let source = Source::new(name, text);
    let found = parse(&source).diagnostics;
    (source, found)
}

fn snapshot(name: &str, text: String) {
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn broken_texts_as_the_terminal_shows_them() {
    for (name, text) in common::files("broken") {
        let (source, found) = found(&name, &text);
        assert!(!found.is_empty(), "{name}");
        let shown: Vec<String> = found.iter().map(|one| terminal::render(&source, one, false)).collect();
        snapshot(&format!("terminal_{}", name.trim_end_matches(".pto")), shown.join("\n\n"));
    }
}

#[test]
fn one_error_a_line_and_none_forgotten() {
    let files = common::files("broken");
    let (name, text) = files.iter().find(|(name, _)| name.starts_with("every_op")).unwrap();
    let (source, found) = found(name, text);
    let lines: Vec<u32> = found.iter().map(|one| source.position(one.span.unwrap().start).line).collect();
    // Mistakes in tokens and doubled keys are reported beside the one in the structure.
    assert_eq!(lines, [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12, 13, 14, 14, 15, 15, 16, 17, 18]);
}

#[test]
fn as_json() {
    let (source, found) = found("dir/broken.pto", "pto.tmov {ä = 1}\n.arg %t : pto.tile<8x8xf32>\nx {a, a}");
    let mut lines: Vec<String> = found.iter().map(|one| json::line(&source, one)).collect();
    let bare = Diagnostic::new(&rules::FILE_SIZE, "too large").for_target("a5").with_note("a fact");
    lines.push(json::line(&source, &bare));
    snapshot("json", lines.join("\n"));
}

#[test]
fn as_sarif() {
    let (source, found) = found("dir/a file.pto", "x {a, a} : indx");
    let (other, nothing) = self::found("clean.pto", "return");
    let log = sarif::log([(&source, found.as_slice()), (&other, nothing.as_slice())]);
    snapshot("sarif", serde_json::to_string_pretty(&log).unwrap());
}

#[test]
fn colour_is_the_callers_choice() {
    let (source, found) = found("t", "= 1");
    assert!(terminal::render(&source, &found[0], true).contains('\u{1b}'));
    assert!(!terminal::render(&source, &found[0], false).contains('\u{1b}'));
}

#[test]
fn a_line_too_long_to_show_is_named() {
    let text = format!("{}= 1", " ".repeat(100_000));
    let (source, found) = found("t", &text);
    let shown = terminal::render(&source, &found[0], false);
    assert!(shown.contains("t:1:100001") && shown.len() < 1000, "{shown}");
}

#[test]
fn a_finding_at_the_end_of_the_text_has_a_place() {
    let (source, found) = found("t", "func.func @f() {\n  return\n");
    let shown = terminal::render(&source, &found[0], false);
    assert!(shown.contains("expected `}`, found the end of the text"), "{shown}");
    assert!(shown.contains("opened here"), "{shown}");
}

/// However many warnings a text raises, an error behind them is reported: in reading, in understanding, in judging.
#[test]
fn warnings_do_not_hide_an_error() {
    use pto_text::{Levels, elaborate, judge};
    let head = ".arg %m : !pto.memref<64x32xf32>\n.arg %s : !pto.tile<8x32xf32>\n.arg %i : !pto.tile<8x32xi32>\n";
    let scatter =
        |tile: &str| format!("mscatter %s, %m, %i : !pto.memref<64x32xf32>, {tile}<8x32xf32>, !pto.tile<8x32xi32>\n");
    let cases = [
        (scatter("pto.tile"), "return )", "parse.unmatched"),
        (scatter("!pto.tile"), "%x = arith.addi %nothing, %nothing : index", "type.undefined"),
        (scatter("!pto.tile"), "pto.set_flag[\"PIPE_V\", \"PIPE_V\", \"EVENT_ID0\"]", "sync.same-pipe"),
    ];
    for (warning, error, rule) in cases {
        let text = format!("{head}{}{error}\n", warning.repeat(3 * pto_text::MAX_DIAGNOSTICS));
        let parsed = common::parse_text("t", &text);
        let judged = judge(&parsed, &elaborate(&parsed), None, &Levels::default());
        assert!(judged.targets.iter().all(|(_, legal)| !legal), "{rule}");
        assert!(judged.found.iter().any(|one| one.rule.name == rule), "{rule}");
    }
}
