//! `pto fmt`: canonical text, and conversion between the spellings.

use std::path::PathBuf;

use clap::Args;
use pto_text::{Diagnostic, Form, print, to_text};

use crate::input::{self, Text};
use crate::{CallError, Verdict, output};

/// Print a program in canonical form, or convert it to another spelling
///
/// Without --form blanks and line breaks change and nothing else. With it the program is written anew in that
/// spelling, if the spelling can express it; comments stay before the operation that they stand at.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The program; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The spelling to convert to: as, ssa, dps or level3
    #[arg(long, value_name = "FORM", value_parser = form)]
    form: Option<Form>,
    /// Print nothing; fail if the file is not in canonical form
    #[arg(long, conflicts_with = "write")]
    check: bool,
    /// Write the result back to the file
    #[arg(long, short)]
    write: bool,
}

fn form(name: &str) -> Result<Form, String> {
    let names = Form::ALL.map(Form::name).join(", ");
    Form::from_name(name).ok_or_else(|| format!("expected one of {names}"))
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, CallError> {
    let source = input::read(&arguments.file)?;
    let written = match arguments.form {
        None => {
            let parsed = pto_text::parse(&source);
            if parsed.is_clean() { Ok(print(&parsed.tree)) } else { Err(parsed.diagnostics) }
        }
        Some(form) => {
            let text = Text::new(source.clone());
            let found: Vec<Diagnostic> = text.found().into_iter().filter(Diagnostic::is_error).collect();
            match found.is_empty() {
                true => {
                    let written = to_text(&text.program.module, form, Some(&text.parsed.tree));
                    if written.is_ok() {
                        output::diagnostics(&source, &text.program.dropped);
                    }
                    written
                }
                false => Err(found),
            }
        }
    };
    let written = match written {
        Ok(written) => written,
        Err(found) => {
            output::diagnostics(&source, &found);
            return Ok(Verdict::Wrong);
        }
    };
    if arguments.check {
        if written == source.text() {
            return Ok(Verdict::Clean);
        }
        output::complain(&format_args!("{} is not in canonical form", source.name()));
        return Ok(Verdict::Wrong);
    }
    if arguments.write && arguments.file.as_os_str() != "-" {
        if written != source.text() {
            let unwritable = |error| CallError::Unwritable { path: arguments.file.display().to_string(), error };
            std::fs::write(&arguments.file, written).map_err(unwritable)?;
        }
        return Ok(Verdict::Clean);
    }
    output::print(&written)?;
    Ok(Verdict::Clean)
}
