//! Standard output and standard error, in one place.

use std::fmt::Display;
use std::io::{IsTerminal, Write, stderr, stdout};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Says on standard error why the call could not be carried out.
pub(crate) fn complain(error: &dyn Display) {
    // Nothing is left to do when standard error is closed.
    let _ = writeln!(stderr(), "error: {error}");
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
