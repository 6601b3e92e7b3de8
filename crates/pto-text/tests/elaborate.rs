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
