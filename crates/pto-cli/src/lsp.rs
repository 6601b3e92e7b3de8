//! `pto lsp`: a language server on standard input and output.

use std::io::{BufReader, stdin, stdout};

use clap::Args;
use pto_lsp::{Ended, serve, transport};

use crate::{CallError, Verdict, output};

/// Serve an editor over standard input and output
///
/// The Language Server Protocol: diagnostics while typing, hover, definitions, outline, completion and formatting.
/// Editors start this command themselves; docs/editor.md says how to tell them.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Accepted because many editors say it; there is no other way
    #[arg(long)]
    stdio: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, CallError> {
    let Arguments { stdio: _ } = arguments;
    let (connection, threads) = transport(BufReader::new(stdin()), stdout());
    let ended = serve(&connection);
    drop(connection);
    output::unless_unread(threads.finish(), ())?;
    Ok(match ended {
        Ended::Orderly => Verdict::Clean,
        Ended::Abruptly => Verdict::Wrong,
    })
}
