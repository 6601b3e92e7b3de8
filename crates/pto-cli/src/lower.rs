//! `pto lower`: auto mode made visible.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pto_isa::Target;
use pto_text::{Diagnostic, Form, to_text, with_constants};

use crate::input::{self, Text};
use crate::{CallError, Verdict, output};

/// Place the tiles of a program in UB, insert flags, and print the result
///
/// Level 2 allocates the tiles that SSA instructions define. Level 3 also gives every tile an address and orders the
/// pipes by flags; what it prints is a program that `pto check` accepts. A function with flags of its own keeps them.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The program; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The level to lower to
    #[arg(long, value_enum)]
    to: Level,
    /// The target to lower for: cpu, a2a3, a5 or host [default: the module's pto.target_arch]
    #[arg(long, value_name = "TARGET", value_parser = input::target)]
    target: Option<Target>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Level {
    Level2,
    Level3,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, CallError> {
    let text = Text::new(input::read(&arguments.file)?);
    let found: Vec<Diagnostic> = text.found().into_iter().filter(Diagnostic::is_error).collect();
    if !found.is_empty() {
        output::diagnostics(&text.source, &found);
        return Ok(Verdict::Wrong);
    }
    let lowered = match arguments.to {
        Level::Level2 => to_text(&text.program.module, Form::Dps, Some(&text.parsed.tree)),
        Level::Level3 => {
            let target = arguments.target.or(text.program.module.target).ok_or(CallError::NoTarget)?;
            let refused = text.program.check(&text.source, target).into_iter().filter(Diagnostic::is_error);
            let refused: Vec<Diagnostic> = refused.collect();
            if refused.is_empty() {
                match pto_ir::lower::lower(&text.program.module, target) {
                    Ok(lowered) => to_text(&with_constants(&lowered), Form::Level3, Some(&text.parsed.tree)),
                    Err(found) => Err(found.into_iter().map(Diagnostic::from).collect()),
                }
            } else {
                Err(refused)
            }
        }
    };
    match lowered {
        Ok(lowered) => {
            output::diagnostics(&text.source, &text.program.dropped);
            output::print(&lowered)?;
            Ok(Verdict::Clean)
        }
        Err(found) => {
            output::diagnostics(&text.source, &found);
            Ok(Verdict::Wrong)
        }
    }
}
