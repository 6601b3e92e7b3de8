//! Programs in every spelling, and what is made of them.

mod common;

use pto_ir::{Function, Module, Region};
use pto_text::{Source, elaborate, parse};

/// A program in few words: parameters and operations with the types of what they define.
fn listing(module: &Module) -> String {
    let mut out = format!("target {:?}\n", module.target);
    for function in &module.functions {
        let Function { name, private, launch, .. } = function;
        out += &format!("@{name} private {private} {launch:?}\n");
        for parameter in function.parameter_ids() {
            let value = function.value(parameter);
            out += &format!("  %{} {}: {}\n", parameter.0, value.name, module.types.get(value.ty));
        }
        region(&mut out, module, function, &function.body, 1);
    }
    out
}

fn region(out: &mut String, module: &Module, function: &Function, body: &Region, depth: usize) {
    for op in &body.ops {
        let mut kind = op.kind.clone();
        let inner: Vec<Region> = match &mut kind {
            pto_ir::OpKind::For(op) => vec![std::mem::take(&mut op.body)],
            pto_ir::OpKind::If(op) => vec![std::mem::take(&mut op.then), std::mem::take(&mut op.otherwise)],
            _ => vec![],
        };
        let types: Vec<String> =
            kind.results().iter().map(|value| module.types.get(function.value(*value).ty).to_string()).collect();
        let text = format!("{kind:?}").replace("ValueId", "%").replace("body: Region { ops: [] }", "body");
        *out += &format!("{}{text} : {}\n", "  ".repeat(depth), types.join(", "));
        for inner in inner {
            region(out, module, function, &inner, depth + 1);
        }
    }
}

#[test]
fn programs_are_read_in_every_spelling() {
    for (name, text) in common::files("programs") {
        let parsed = parse(&Source::new(&*name, text));
        assert!(parsed.is_clean(), "{name}: {:?}", parsed.diagnostics);
        let program = elaborate(&parsed);
        assert!(program.diagnostics.is_empty(), "{name}: {:?}", program.diagnostics);
        assert!(program.broken.iter().all(|broken| !broken));
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("program_{}", name.trim_end_matches(".pto")), listing(&program.module));
        });
    }
}
