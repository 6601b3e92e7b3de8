//! Standard output and standard error, in one place.

use std::fmt::Display;
use std::io::{IsTerminal, Write, stderr, stdout};

use pto_text::diagnostic::terminal;
use pto_text::{Diagnostic, Source};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Says on standard error why the call could not be carried out.
pub(crate) fn complain(error: &dyn Display) {
    // Nothing is left to do when standard error is closed.
    let _ = writeln!(stderr(), "error: {error}");
}

/// Shows findings on standard error: why there is no result.
pub(crate) fn findings(source: &Source, found: &[Diagnostic]) {
    let colour = stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut err = stderr().lock();
    for one in found {
        let _ = writeln!(err, "{}\n", terminal::render(source, one, colour));
    }
}

/// Whether standard output may be coloured: on a terminal, unless `NO_COLOR` is set to something.
pub(crate) fn colour() -> bool {
    stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A progress bar on standard error, if that is a terminal.
pub(crate) fn progress(length: u64, what: &'static str) -> ProgressBar {
    let target = if stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(length), target).with_style(style).with_message(what)
}
