//! Every form of the language that the samples show is read without an error, printed, and read again.

mod common;

use pto_text::view::Op;

#[test]
fn samples_parse_and_print_back() {
    for (name, text) in common::files("samples") {
        let parsed = common::parse_text(&name, &text);
        assert!(parsed.is_clean(), "{name}: {:?}", parsed.diagnostics);
        let printed = common::assert_round_trip(&name, &parsed);
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("print_{}", name.trim_end_matches(".pto")), printed);
        });
    }
}

#[test]
fn line_breaks_may_stand_between_any_two_tokens_of_an_operation_that_can_go_on() {
    let text =
        "%d = pto.mgather %m,\n %i\n : (f32,\n i32)\n -> f16\npto.tmov\n ins(%a\n : f32)\n outs(%b : f32)\n {x = 1}\n";
    let parsed = common::parse_text("t", text);
    assert!(parsed.is_clean(), "{:?}", parsed.diagnostics);
    assert_eq!(Op::all(parsed.tree.root()).map(Op::name).collect::<Vec<_>>(), ["pto.mgather", "pto.tmov"]);
    common::assert_round_trip("t", &parsed);
}

#[test]
fn carriage_returns_and_byte_order_marks_are_blanks() {
    let parsed = common::parse_text("t", "\u{feff}return // c\r\nreturn\r\n");
    assert!(parsed.is_clean());
    assert_eq!(common::assert_round_trip("t", &parsed), "return // c\nreturn\n");
}

#[test]
fn a_carriage_return_alone_ends_a_comment() {
    let parsed = common::parse_text("t", "// c\rreturn\r// d\r!!!\r");
    assert_eq!(Op::all(parsed.tree.root()).map(Op::name).next(), Some("return"));
    assert!(!parsed.is_clean(), "what follows a comment is judged");
}

#[test]
fn the_missing_bang_is_a_warning_and_printed() {
    let parsed = common::parse_text("t", ".arg %t : pto.tile<8x8xf32>");
    assert_eq!(parsed.diagnostics.len(), 1);
    assert_eq!(parsed.diagnostics[0].rule.name, "parse.missing-bang");
    assert_eq!(common::assert_round_trip("t", &parsed), ".arg %t : !pto.tile<8x8xf32>\n");
}
