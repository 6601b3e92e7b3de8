//! A program as it was read, judged for a target.

use pto_ir::check::{Reading, check_read, rules};
use pto_isa::Target;

use crate::diagnostic::{Diagnostic, cap, suggest};
use crate::elaborate::{Program, operation_names};
use crate::parser::MAX_DIAGNOSTICS;
use crate::source::Source;

impl Program {
    /// Checks the program for a target: what [`pto_ir::check()`] finds, in terms of the text.
    ///
    /// Of functions that could not be read completely, the operations that could are judged by themselves. At most
    /// [`MAX_DIAGNOSTICS`] findings are returned; one more says that there were others.
    ///
    /// ```
    /// use pto_isa::Target;
    /// use pto_text::{Source, elaborate, parse};
    /// let source = Source::new("k.pto", "pto.tlod");
    /// let found = elaborate(&parse(&source)).check(&source, Target::A5);
    /// assert_eq!(found[0].rule.name, "unsupported.op");
    /// assert_eq!(found[0].advice(), "did you mean `pto.tload`?");
    /// ```
    pub fn check(&self, source: &Source, target: Target) -> Vec<Diagnostic> {
        let found = if self.broken.contains(&true) {
            let reading = self.broken.iter().zip(&self.torn).map(|(broken, torn)| match (broken, torn) {
                (_, true) => Reading::Torn,
                (true, false) => Reading::Part,
                (false, false) => Reading::Whole,
            });
            let functions = self.module.functions.iter().zip(reading);
            functions
                .flat_map(|(function, reading)| check_read(function, &self.module.types, target, reading))
                .collect()
        } else {
            pto_ir::check(&self.module, target)
        };
        let mut found: Vec<Diagnostic> = found.into_iter().map(Diagnostic::from).collect();
        let more = cap(&mut found);
        for one in found.iter_mut().filter(|one| *one.rule == rules::OP && one.help.is_none()) {
            // An unknown operation is placed at its name.
            let name = source.slice(one.span.unwrap_or_default()).trim_matches('"');
            one.help = match name {
                "func.call" | "call" => Some("write what the function does in its place: there are no calls".into()),
                _ => nearest_operation(name).map(|near| format!("did you mean `{near}`?")),
            };
        }
        if more {
            let message = format!("only the first {MAX_DIAGNOSTICS} findings are shown");
            found.push(Diagnostic::new(&crate::rules::TOO_MANY, message));
        }
        found
    }
}

/// Operations that exist, and that nobody means one of ours by.
const FOREIGN: [&str; 22] = [
    "arith.addf",
    "arith.subf",
    "arith.mulf",
    "arith.divf",
    "arith.negf",
    "arith.remf",
    "arith.cmpf",
    "arith.shli",
    "arith.shrsi",
    "arith.shrui",
    "arith.divui",
    "arith.remui",
    "arith.maxui",
    "arith.minui",
    "arith.ceildivui",
    "arith.floordivsi",
    "arith.extui",
    "arith.extf",
    "arith.truncf",
    "arith.index_castui",
    "scf.while",
    "scf.forall",
];

fn nearest_operation(name: &str) -> Option<String> {
    if FOREIGN.contains(&name) {
        return None;
    }
    let names: Vec<String> = operation_names().collect();
    // PTO-AS leaves the prefix out, and has suffixes.
    let bare = name.strip_prefix("pto.").is_none();
    let head = if bare { name.split('.').next().unwrap_or(name) } else { name };
    let known = names.iter().map(|known| if bare { known.strip_prefix("pto.").unwrap_or(known) } else { known });
    let near = suggest(name, known.clone()).or_else(|| suggest(head, known))?;
    Some(near.to_string())
}
