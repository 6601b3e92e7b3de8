//! A program as it was read, judged for a target.

use pto_ir::check::{check_function, rules};
use pto_isa::Target;

use crate::diagnostic::{Diagnostic, suggest};
use crate::elaborate::{Program, operation_names};
use crate::parser::MAX_DIAGNOSTICS;
use crate::source::Source;

impl Program {
    /// Checks the program for a target: what [`pto_ir::check()`] finds, in terms of the text.
    ///
    /// Functions that could not be read completely are passed over: what is wrong with them has been said. At most
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
            let sound = self.module.functions.iter().zip(&self.broken).filter(|(_, broken)| !**broken);
            sound.flat_map(|(function, _)| check_function(function, &self.module.types, target)).collect()
        } else {
            pto_ir::check(&self.module, target)
        };
        let more = found.len() > MAX_DIAGNOSTICS;
        let mut found: Vec<Diagnostic> = found.into_iter().take(MAX_DIAGNOSTICS).map(Diagnostic::from).collect();
        for one in found.iter_mut().filter(|one| *one.rule == rules::OP && one.help.is_none()) {
            // An unknown operation is placed at its name.
            let name = source.slice(one.span.unwrap_or_default()).trim_matches('"');
            one.help = nearest_operation(name).map(|near| format!("did you mean `{near}`?"));
        }
        if more {
            let message = format!("only the first {MAX_DIAGNOSTICS} findings are shown");
            found.push(Diagnostic::new(&crate::rules::TOO_MANY, message));
        }
        found
    }
}

fn nearest_operation(name: &str) -> Option<String> {
    let names: Vec<String> = operation_names().collect();
    // PTO-AS leaves the prefix out, and has suffixes.
    let bare = name.strip_prefix("pto.").is_none();
    let head = if bare { name.split('.').next().unwrap_or(name) } else { name };
    let known = names.iter().map(|known| if bare { known.strip_prefix("pto.").unwrap_or(known) } else { known });
    let near = suggest(name, known.clone()).or_else(|| suggest(head, known))?;
    Some(near.to_string())
}
