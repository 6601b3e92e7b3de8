//! Programs written in every spelling that can express them, and read again.

mod common;

use common::{listing, program};
use pto_ir::Module;
use pto_text::{Form, to_text};

fn written(name: &str, module: &Module, form: Form) -> Result<String, String> {
    to_text(module, form, None).map_err(|refused| {
        assert!(refused.iter().all(|one| one.rule.name == "unsupported.form"), "{name}: {refused:?}");
        refused.iter().map(|one| one.message.clone()).collect::<Vec<_>>().join("\n")
    })
}

/// What is written reads as the same program, and is written the same again.
fn round_trip(name: &str, module: &Module, form: Form) -> Option<Module> {
    let text = written(name, module, form).ok()?;
    let again = program(name, &text);
    assert_eq!(written(name, &again, form).as_deref(), Ok(&*text), "{name} {form:?}");
    Some(again)
}

#[test]
fn every_program_in_every_form() {
    for (name, text) in common::files("programs") {
        let module = program(&name, &text);
        let mut shown = String::new();
        for form in Form::ALL {
            let text = written(&name, &module, form).unwrap_or_else(|refused| format!("refused:\n{refused}\n"));
            shown += &format!("==== {}\n{text}", form.name());
            if let Some(again) = round_trip(&name, &module, form)
                && (form == Form::Dps || form == Form::Level3)
            {
                assert_eq!(listing(&module, false), listing(&again, false), "{name} {form:?}");
            }
        }
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("forms_{}", name.trim_end_matches(".pto")), shown);
        });
    }
}

#[test]
fn assembly_through_ssa_and_dps_and_back() {
    let files = common::files("programs");
    let (name, text) = files.iter().find(|(name, _)| name == "as.pto").expect("the sample");
    let start = program(name, text);
    let mut module = start.clone();
    for form in [Form::As, Form::Ssa, Form::Dps, Form::As, Form::Dps, Form::Ssa, Form::As] {
        module = round_trip(name, &module, form).expect("a straight line of instructions");
        assert_eq!(listing(&module, false), listing(&start, false), "{form:?}");
    }
}

#[test]
fn what_a_form_cannot_express_is_refused_with_the_reason() {
    let head = "func.func @k(%m: !pto.partition_tensor_view<8x32xf32>, %c: i1, %n: index) {";
    let tile = "!pto.tile_buf<vec, 8x32xf32>";
    let load = format!("pto.tload ins(%m : !pto.partition_tensor_view<8x32xf32>) outs(%t : {tile})");
    let alloc = format!("%t = pto.alloc_tile : {tile}");
    let cases = [
        (Form::As, format!("scf.if %c {{\n{alloc}\n{load}\n}}"), "found a conditional"),
        (Form::Ssa, format!("{alloc}\n{load}\n{load}"), "found 2 that write it"),
        (
            Form::Ssa,
            format!("{alloc}\nscf.if %c {{\n{load}\n}}\npto.tmov ins(%t : {tile}) outs(%t : {tile})"),
            "that write it",
        ),
        (Form::Ssa, format!("%t = pto.alloc_tile addr = 0 : {tile}\n{load}"), "it has an address"),
        (Form::Ssa, format!("{alloc}\npto.tassign %t, @tile(0x20)\n{load}"), "found a use before it is written"),
        (Form::Level3, format!("{alloc}\n{load}"), "expected an address for %t"),
        (Form::Dps, "pto.tadd ins(%n : index) outs(%n : index)".to_string(), "`pto.tadd` is not part"),
    ];
    for (form, body, reason) in cases {
        let module = program("case", &format!("{head}\n{body}\nreturn\n}}"));
        let refused = written("case", &module, form).expect_err(&body);
        assert!(refused.contains(reason), "{body}\n{refused}");
    }
}

#[test]
fn comments_follow_their_operations() {
    let text = "// about the kernel\nfunc.func @k(%n: index) {\n  // why\n  %a = arith.addi %n, %n : index // behind\n  # hash\n  return\n}\n";
    let parsed = common::parse_text("t", text);
    let program = pto_text::elaborate(&parsed);
    let written = to_text(&program.module, Form::Dps, Some(&parsed.tree)).expect("a program");
    let expected = "// about the kernel\nmodule {\n  func.func @k(%n: index) {\n    // why\n    %a = arith.addi %n, %n : index\n    // behind\n    // hash\n    return\n  }\n}\n";
    assert_eq!(written, expected);
}
