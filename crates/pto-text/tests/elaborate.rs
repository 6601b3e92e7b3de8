//! Programs in every spelling, and what is made of them.

mod common;

use pto_text::{Source, elaborate, parse};

#[test]
fn programs_are_read_in_every_spelling() {
    for (name, text) in common::files("programs") {
        let parsed = parse(&Source::new(&*name, text));
        assert!(parsed.is_clean(), "{name}: {:?}", parsed.diagnostics);
        let program = elaborate(&parsed);
        assert!(program.diagnostics.is_empty(), "{name}: {:?}", program.diagnostics);
        assert!(program.broken.iter().all(|broken| !broken));
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("program_{}", name.trim_end_matches(".pto")), common::listing(&program.module, true));
        });
    }
}

#[test]
fn a_view_with_an_offset_is_refused_and_one_without_is_not() {
    let of = |offset: &str| {
        let text = format!(".arg %v : !pto.memref<8x32xf32, strided<[32, 1], offset: {offset}>, gm>");
        elaborate(&parse(&Source::new("t", text))).is_clean()
    };
    assert!(of("0") && of("?") && !of("64"));
}
