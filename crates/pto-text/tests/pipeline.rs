//! Programs, mutated: whatever the text, reading, judging, writing and lowering end without a panic, and what is
//! written reads back as the same program.

mod common;

use common::listing;
use common::mutate::{apply, change, tokens};
use proptest::prelude::*;
use pto_isa::Target;
use pto_text::diagnostic::json;
use pto_text::{Form, Source, elaborate, parse, to_text, with_constants};
use std::path::Path;
use std::sync::LazyLock;

/// The programs of the tests and the examples of the project.
static PROGRAMS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pto");
    let examples = std::fs::read_dir(examples).expect("the examples").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = examples.collect();
    paths.sort();
    let examples = paths.iter().map(|path| std::fs::read_to_string(path).expect("text"));
    let own = ["programs", "samples"].into_iter().flat_map(common::files).map(|(_, text)| text);
    own.chain(examples).collect()
});

/// Every token of every program, and some that break things.
static TOKENS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut all: Vec<String> = PROGRAMS.iter().flat_map(|text| tokens(text)).collect();
    let odd = [
        "-1",
        "0",
        "1",
        "255",
        "9223372036854775807",
        "18446744073709551616",
        "0x7fffffffffffffff",
        "?",
        "8x0xf32",
        "99999999999x99999999999xf32",
        "%r:4294967295",
        "%r#1",
        "!pto.group<f32>",
        "\n",
        "return",
        "scf.yield",
        "EVENT_ID255",
    ];
    all.extend(odd.map(String::from));
    all.sort();
    all.dedup();
    all
});

/// Everything that is done with a text.
fn run(text: &str) {
    let source = Source::new("mutation", text);
    let parsed = parse(&source);
    let program = elaborate(&parsed);
    for found in program.diagnostics.iter().take(5) {
        let span = found.span.unwrap_or_default();
        assert!(source.text().get(span.range()).is_some(), "{found:?}");
        assert!(json::line(&source, found).contains(found.rule.name));
    }
    assert_eq!(program.broken.len(), program.module.functions.len());
    for target in Target::ALL {
        let found = program.check(&source, *target);
        let legal = parsed.is_clean() && program.is_clean() && !found.iter().any(pto_text::Diagnostic::is_error);
        if legal {
            lower(&program.module, *target);
        }
    }
    if !parsed.is_clean() || !program.is_clean() {
        // What was understood of it can still be written, whatever comes of it.
        Form::ALL.into_iter().for_each(|form| drop(to_text(&program.module, form, Some(&parsed.tree))));
        return;
    }
    for form in Form::ALL {
        let Ok(written) = to_text(&program.module, form, None) else { continue };
        let again = parse(&Source::new("written", &*written));
        assert!(again.is_clean(), "{form:?} of\n{text}\nis\n{written}\n{:?}", again.diagnostics);
        let read = elaborate(&again);
        assert!(read.is_clean(), "{form:?} of\n{text}\nis\n{written}\n{:?}", read.diagnostics);
        if matches!(form, Form::Dps | Form::Level3) {
            assert_eq!(listing(&program.module, false), listing(&read.module, false), "{form:?} of\n{text}");
        } else {
            // Allocations move to the instruction; from there on nothing changes.
            assert_eq!(to_text(&read.module, form, None).as_deref(), Ok(&*written), "{text}");
        }
    }
}

/// A legal program lowers to a legal one, or is refused with a reason.
fn lower(module: &pto_ir::Module, target: Target) {
    let Ok(lowered) = pto_ir::lower::lower(module, target) else { return };
    let Ok(written) = to_text(&with_constants(&lowered), Form::Level3, None) else { return };
    let again = parse(&Source::new("lowered", &*written));
    let program = elaborate(&again);
    assert!(again.is_clean() && program.is_clean(), "{written}\n{:?}", program.diagnostics);
    let found = program.check(again.tree.source(), target);
    assert!(!found.iter().any(pto_text::Diagnostic::is_error), "{written}\n{found:?}");
}

#[test]
fn the_programs_themselves() {
    PROGRAMS.iter().for_each(|text| run(text));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_tokens(program in any::<prop::sample::Index>(), changes in prop::collection::vec(change(), 0..5)) {
        let mut tokens = tokens(&PROGRAMS[program.index(PROGRAMS.len())]);
        for (at, change) in changes {
            apply(&mut tokens, &TOKENS, at, change);
        }
        run(&tokens.concat());
    }

    #[test]
    fn mixed_lines(picks in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..30)) {
        let mut text = String::new();
        for (program, line) in picks {
            let lines: Vec<&str> = PROGRAMS[program.index(PROGRAMS.len())].lines().collect();
            if !lines.is_empty() {
                text += lines[line.index(lines.len())];
                text += "\n";
            }
        }
        run(&text);
    }
}
