//! Files as other tools and other people write them, with what is made of each: below the line `// ---- expected` stand
//! the targets that take it and every finding with its place. `BLESS=1` writes them anew.

mod common;

use std::path::Path;

use pto_text::{Diagnostic, Form, Levels, Position, Source, elaborate, fold, judge, parse, to_text};

const LINE: &str = "// ---- expected\n";

/// What is found in a text, for people: one line a finding, its labels and its fix below it.
fn verdict(text: &str) -> String {
    let source = Source::new("t", text);
    let parsed = parse(&source);
    let judged = judge(&parsed, &elaborate(&parsed), None, &Levels::default());
    let names = |wanted: bool| -> String {
        let names = judged.targets.iter().filter(|(_, legal)| *legal == wanted).map(|(target, _)| target.name());
        names.collect::<Vec<_>>().join(", ")
    };
    let mut out = format!("// legal on [{}], refused on [{}]\n", names(true), names(false));
    let place = |span: Option<pto_text::Span>| match span {
        Some(span) => {
            let (Position { line, column, .. }, end) = (source.position(span.start), source.position(span.end));
            format!("{line}:{column}-{}:{}", end.line, end.column)
        }
        None => "nowhere".into(),
    };
    for one in fold(&judged.found) {
        out += &format!("// {} {} {}: {}\n", one.severity, one.rule.name, place(one.span), one.message);
        for label in &one.labels {
            out += &format!("//     {}: {}\n", place(Some(label.span)), label.message);
        }
        out += &format!("//     help: {}\n", one.advice());
    }
    out
}

/// A text that is read writes back: as it is, and in every spelling that can express it.
fn writes_back(name: &str, text: &str) {
    let parsed = common::parse_text(name, text);
    if !parsed.is_clean() {
        return;
    }
    common::assert_round_trip(name, &parsed);
    let program = elaborate(&parsed);
    if !program.is_clean() {
        return;
    }
    for form in Form::ALL {
        let written = match to_text(&program.module, form, Some(&parsed.tree)) {
            Ok(written) => written,
            Err(refused) => {
                assert!(
                    refused.iter().all(|one: &Diagnostic| one.rule.name == "unsupported.form"),
                    "{name}: {refused:?}"
                );
                continue;
            }
        };
        let again = common::program(name, &written);
        if matches!(form, Form::Dps | Form::Level3) {
            let (before, after) = (common::structure(&program.module), common::structure(&again));
            assert_eq!(before, after, "{name} {form:?}:\n{written}");
        }
        let twice = to_text(&again, form, None).unwrap_or_else(|refused| panic!("{name}: {refused:?}"));
        let third = common::program(name, &twice);
        assert_eq!(common::structure(&again), common::structure(&third), "{name} {form:?}:\n{written}\n{twice}");
    }
}

#[test]
fn files_of_others_are_read_and_judged() {
    let bless = std::env::var_os("BLESS").is_some();
    let files = common::files("unseen");
    assert!(files.len() >= 60, "{} files", files.len());
    let mut wrong = Vec::new();
    for (name, whole) in files {
        let (text, expected) = whole.split_once(LINE).unwrap_or((&whole, ""));
        let found = verdict(text);
        writes_back(&name, text);
        if bless {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/unseen").join(&name);
            std::fs::write(path, format!("{text}{LINE}{found}")).expect("a file");
        } else if found != expected {
            wrong.push(format!("{name}: expected\n{expected}found\n{found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
