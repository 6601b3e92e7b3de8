//! The sample files, and what every text that parses must satisfy.
#![allow(dead_code, reason = "every test binary uses its own part")]

pub mod mutate;

use pto_ir::{Function, Module, OpKind, Region};
use pto_text::{Parse, Source, elaborate, parse, print};
use std::path::{Path, PathBuf};

/// The files of a folder beside this one, by name.
pub fn files(folder: &str) -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).expect("the folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().expect("a file").to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).expect("text"))).collect()
}

pub fn parse_text(name: &str, text: &str) -> Parse {
    parse(&Source::new(name, text))
}

/// The comments' texts; `#text` and `# text` are the same comment.
fn comments(parsed: &Parse) -> Vec<String> {
    let source = parsed.tree.source();
    let normal = |text: &str| match text.strip_prefix('#') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => format!("# {rest}"),
        _ => text.to_string(),
    };
    parsed.tree.comments().iter().map(|span| normal(source.slice(*span))).collect()
}

/// Printing a text that parses gives a text that parses to the same, with the same comments, and prints to itself.
pub fn assert_round_trip(name: &str, parsed: &Parse) -> String {
    let printed = print(&parsed.tree);
    let again = parse_text(name, &printed);
    assert!(again.is_clean(), "{name}: the printed text does not parse: {:?}\n{printed}", again.diagnostics);
    assert!(parsed.tree.same_as(&again.tree), "{name}: the printed text says something else:\n{printed}");
    assert_eq!(comments(parsed), comments(&again), "{name}: comments changed:\n{printed}");
    assert_eq!(print(&again.tree), printed, "{name}: printing is not idempotent");
    printed
}

/// A program in few words: parameters and operations with the types of what they define. Two programs with the same
/// listing without names mean the same: places do not appear in it.
pub fn listing(module: &Module, names: bool) -> String {
    let mut out = format!("target {:?}\n", module.target);
    for function in &module.functions {
        let Function { name, private, launch, .. } = function;
        out += &format!("@{name} private {private} {launch:?}\n");
        for parameter in function.parameter_ids() {
            let value = function.value(parameter);
            out += &format!(
                "  %{} {}: {}\n",
                parameter.0,
                if names { &value.name } else { "" },
                module.types.get(value.ty)
            );
        }
        region(&mut out, module, function, &function.body, 1);
    }
    out
}

fn region(out: &mut String, module: &Module, function: &Function, body: &Region, depth: usize) {
    for op in &body.ops {
        let (kind, inner) = opened(&op.kind);
        let types: Vec<String> =
            kind.results().iter().map(|value| module.types.get(function.value(*value).ty).to_string()).collect();
        let text = format!("{kind:?}").replace("ValueId", "%").replace("body: Region { ops: [] }", "body");
        *out += &format!("{}{text} : {}\n", "  ".repeat(depth), types.join(", "));
        for inner in inner {
            region(out, module, function, &inner, depth + 1);
        }
    }
}

/// An operation without its regions, and these.
fn opened(kind: &OpKind) -> (OpKind, Vec<Region>) {
    let mut kind = kind.clone();
    let inner = match &mut kind {
        OpKind::For(op) => vec![std::mem::take(&mut op.body)],
        OpKind::If(op) => vec![std::mem::take(&mut op.then), std::mem::take(&mut op.otherwise)],
        _ => vec![],
    };
    (kind, inner)
}

/// A program with everything that is not part of what it says taken out: places, and the names and order of values.
/// Two programs are the same if these are equal.
pub fn structure(module: &Module) -> String {
    let types = |ids: &[pto_ir::TypeId]| ids.iter().map(|id| module.types.get(*id).clone()).collect::<Vec<_>>();
    let mut out = format!("{:?} {:?} {:?}\n", module.name, module.target, module.attributes);
    for one in &module.declarations {
        let (parameters, results) = (types(&one.parameters), types(&one.results));
        out += &format!("{} {} {parameters:?} {results:?} {:?}\n", one.name, one.private, one.attributes);
    }
    for function in &module.functions {
        let Function { name, private, launch, attributes, results, parameters, .. } = function;
        out += &format!("@{name} {private} {launch:?} {attributes:?} {:?} {parameters}\n", types(results));
        let mut numbers = Numbers { numbers: vec![None; function.values.len()], types: String::new() };
        let number = |numbers: &mut Numbers, value: pto_ir::ValueId| numbers.of(module, function, value);
        function.parameter_ids().for_each(|value| {
            number(&mut numbers, value);
        });
        structure_of(&mut out, &mut |value| number(&mut numbers, value), &function.body, 1);
        out += &numbers.types;
    }
    out
}

/// Values in the order in which they are met.
struct Numbers {
    numbers: Vec<Option<u32>>,
    types: String,
}

impl Numbers {
    fn of(&mut self, module: &Module, function: &Function, value: pto_ir::ValueId) -> u32 {
        let next = self.numbers.iter().flatten().count() as u32;
        match self.numbers[value.0 as usize] {
            Some(number) => number,
            None => {
                self.types += &format!("{next}: {:?}\n", module.types.get(function.value(value).ty));
                self.numbers[value.0 as usize] = Some(next);
                next
            }
        }
    }
}

fn structure_of(out: &mut String, number: &mut dyn FnMut(pto_ir::ValueId) -> u32, body: &Region, depth: usize) {
    for op in &body.ops {
        let (kind, inner) = opened(&op.kind);
        // `ValueId(7)` wherever it stands, by its new number.
        let text = format!("{kind:?}");
        let mut parts = text.split("ValueId(");
        *out += &format!("{}{}", "  ".repeat(depth), parts.next().unwrap_or_default());
        for part in parts {
            let (id, rest) = part.split_once(')').expect("a number in parentheses");
            *out += &format!("%{}{rest}", number(pto_ir::ValueId(id.parse().expect("a number"))));
        }
        *out += "\n";
        for inner in inner {
            *out += &format!("{}region\n", "  ".repeat(depth));
            structure_of(out, number, &inner, depth + 1);
        }
    }
}

/// The program of a text without errors.
pub fn program(name: &str, text: &str) -> Module {
    let parsed = parse_text(name, text);
    assert!(parsed.is_clean(), "{name}: {:?}\n{text}", parsed.diagnostics);
    let program = elaborate(&parsed);
    assert!(program.is_clean(), "{name}: {:?}\n{text}", program.diagnostics);
    program.module
}
