//! Programs in every spelling, and what is made of them.

mod common;

use pto_text::{Form, Source, elaborate, parse, to_text};

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

/// `index` is among the element types of the language, though no instruction moves it.
#[test]
fn types_of_index_are_read_and_written_as_they_are_spelt() {
    for ty in [
        "!pto.ptr<index>",
        "!pto.ptr<index, gm>",
        "!pto.tensor_view<?x8xindex>",
        "!pto.partition_tensor_view<8x8xindex>",
        "!pto.memref<64x32xindex, strided<[32, 1]>>",
        "!pto.tile<8x8xindex>",
        "!pto.tile_buf<vec, index, 8, 8>",
        "!pto.tile_buf<loc=vec, dtype=index, rows=8, cols=8>",
        "!pto.group<4x!pto.memref<8x8xindex>>",
        "!pto.group<2x8xindex>",
    ] {
        let program = elaborate(&parse(&Source::new("t", format!(".arg %a : {ty}"))));
        assert!(program.is_clean(), "{ty}: {:?}", program.diagnostics);
        assert_eq!(to_text(&program.module, Form::As, None), Ok(format!(".arg %a : {ty}\n")));
    }
    let bare = elaborate(&parse(&Source::new("t", ".arg %a : pto.tile<8x8xindex>")));
    assert_eq!(to_text(&bare.module, Form::As, None), Ok(".arg %a : !pto.tile<8x8xindex>\n".into()));
    let incomplete = elaborate(&parse(&Source::new("t", ".arg %a : !pto.tile<8xindex>")));
    assert_eq!(incomplete.diagnostics[0].rule.name, "parse.type-parameter");
}
