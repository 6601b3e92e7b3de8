//! Standard output and standard error, in one place.

use std::fmt::Display;
use std::io::{BufWriter, ErrorKind, IsTerminal, Result, Stdout, Write, stderr, stdout};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use pto_text::{Diagnostic, Source};

/// Where results are written: standard output, as long as someone reads it.
///
/// A reader that stops early (`pto conform DIR | head -1`) has what it wants, and the exit code is still to come: the
/// command goes on, and what nobody reads is dropped.
pub(crate) struct Results(Stdout);

/// Standard output for results; to be flushed before the command ends, so that a full disk is noticed.
pub(crate) fn results() -> BufWriter<Results> {
    BufWriter::new(Results(stdout()))
}

/// Writes a whole text to standard output.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = results();
    out.write_all(text.as_bytes())?;
    out.flush()
}

impl Write for Results {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        unless_unread(self.0.write(bytes), bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        unless_unread(self.0.flush(), ())
    }
}

/// What came of writing to standard output; `dropped` if nobody reads it any more.
pub(crate) fn unless_unread<T>(written: Result<T>, dropped: T) -> Result<T> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(dropped),
        written => written,
    }
}

/// Says on standard error why the call could not be carried out.
pub(crate) fn complain(error: &dyn Display) {
    say(&format_args!("error: {error}"));
}

/// Whether standard output may be coloured: on a terminal, unless `NO_COLOR` is set to something.
pub(crate) fn colour() -> bool {
    is_coloured(&stdout())
}

/// Whether standard error may be coloured.
pub(crate) fn error_colour() -> bool {
    is_coloured(&stderr())
}

fn is_coloured(to: &impl IsTerminal) -> bool {
    to.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Says something on standard error, in one piece: other ranks may write there too.
pub(crate) fn say(words: &dyn Display) {
    // Nothing is left to do when standard error is closed.
    let _ = stderr().write_all(format!("{words}\n").as_bytes());
}

/// A progress bar on standard error, if that is a terminal.
pub(crate) fn progress(length: u64, what: &'static str) -> ProgressBar {
    let target = if stderr().is_terminal() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(length), target).with_style(style).with_message(what)
}

/// A bar of a thousand parts on standard error, which is a terminal.
pub(crate) fn share() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {msg}  {elapsed}, {eta} left")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr()).with_style(style)
}

/// Shows findings with excerpts on standard error.
pub(crate) fn diagnostics(source: &Source, found: &[Diagnostic]) {
    let colour = error_colour();
    for one in found {
        say(&format_args!("{}\n", pto_text::diagnostic::terminal::render(source, one, colour)));
    }
}
