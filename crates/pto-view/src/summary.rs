//! The report on a terminal, in a few lines.

use std::fmt::Write;

use pto_sim::Report;

use crate::facts::{Tone, lanes, pipes, subject, verdict};
use crate::text::{bytes, count, percent, shorten, thousands};

/// Tiles that get a letter.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
/// Eighths of a character, from none to seven.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
/// Columns before a bar.
const INDENT: usize = 17;

/// The report as a few lines of text for a terminal of `width` columns: verdict, lanes, how busy the pipes were, UB.
///
/// With `colour`, in ANSI colours. Findings are only counted; who prints them has the source at hand. The same report
/// gives the same text everywhere.
///
/// ```
/// # use pto_view::doc::report;
/// let text = pto_view::summary(&report(), 60, false);
/// assert!(text.starts_with("✔ ok  kernel on a5"));
/// assert!(text.contains("lanes"));
/// ```
pub fn summary(report: &Report, width: usize, colour: bool) -> String {
    let paint = Paint { colour };
    let width = width.clamp(40, 160);
    let mut out = String::new();
    head(&mut out, report, paint);
    lanes_line(&mut out, report, paint);
    let bar_width = width - INDENT - 20;
    for (at, (pipe, busy, share)) in pipes(report).enumerate() {
        let title = if at == 0 { "pipes" } else { "" };
        let name = pipe.name().trim_start_matches("PIPE_");
        let bar = paint.in_code("36", &bar(share, bar_width));
        let _ = writeln!(out, "{title:<10}{name:<7}{bar} {share:>5.1} % {:>9}", thousands(busy));
    }
    ub(&mut out, report, paint, bar_width);
    out
}

#[derive(Clone, Copy)]
struct Paint {
    colour: bool,
}

impl Paint {
    fn in_code(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn tone(self, tone: Tone, text: &str) -> String {
        match tone {
            Tone::Plain => text.to_owned(),
            Tone::Good => self.in_code("32", text),
            Tone::Warn => self.in_code("33", text),
            Tone::Bad => self.in_code("31", text),
        }
    }
}

fn head(out: &mut String, report: &Report, paint: Paint) {
    let (tone, words) = verdict(report);
    let sign = match tone {
        Tone::Good | Tone::Plain => '✔',
        Tone::Warn => '!',
        Tone::Bad => '✘',
    };
    let words = paint.tone(tone, &format!("{sign} {words}"));
    let _ = write!(out, "{words}  {}", subject(report));
    if report.cycles > 0 {
        let _ = write!(out, "  {}", count(report.cycles, "cycle"));
    }
    let _ = writeln!(out, "  {}", count(report.instructions, "instruction"));
}

fn lanes_line(out: &mut String, report: &Report, paint: Paint) {
    let part = |fact: &crate::facts::Fact| paint.tone(fact.tone, &format!("{} {}", fact.value, fact.label));
    let parts: Vec<String> = lanes(report).iter().map(part).collect();
    let _ = writeln!(out, "{:<10}{}", "lanes", parts.join(" · "));
    if !report.nondeterministic.is_empty() {
        let words = format!("{} depend on the schedule", count(report.nondeterministic.len() as u64, "slot"));
        let _ = writeln!(out, "{:<10}{}", "", paint.tone(Tone::Bad, &words));
    }
}

/// A bar of a share in percent, to an eighth of a character.
fn bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 100.0) / 100.0 * width as f64 * 8.0).round() as usize;
    // What ran at all is seen.
    let eighths = if share > 0.0 { eighths.max(1) } else { eighths };
    let part = EIGHTHS[eighths % 8];
    let used = eighths / 8 + usize::from(!part.is_empty());
    format!("{}{part}{}", "█".repeat(eighths / 8), "·".repeat(width - used))
}

/// How much of UB was in use, and which tiles where.
fn ub(out: &mut String, report: &Report, paint: Paint, width: usize) {
    if report.ub_peak == 0 && report.residences.is_empty() {
        return;
    }
    let peak = bytes(report.ub_peak);
    match report.ub_limit {
        Some(limit) => {
            let share = percent(report.ub_peak, limit);
            let tone = if report.ub_peak > limit { "31" } else { "36" };
            let bar = paint.in_code(tone, &bar(share, width));
            let _ = writeln!(out, "{:<10}{:<7}{bar} {share:>5.1} % {peak} of {}", "UB", "peak", bytes(limit));
        }
        None => {
            let _ = writeln!(out, "{:<10}{:<7}{peak}", "UB", "peak");
        }
    }
    if !report.residences.is_empty() {
        map(out, report, width);
    }
}

/// One letter per tile, in the order of their bytes; `+` where several tiles lie, at the same time or not.
fn map(out: &mut String, report: &Report, width: usize) {
    let mut stays: Vec<_> = report.residences.iter().filter(|stay| stay.end > stay.start).collect();
    stays.sort_by_key(|stay| (stay.start, stay.end, stay.from));
    let top = stays.iter().map(|stay| stay.end).chain([report.ub_peak]).max().unwrap_or(1).max(1);
    let mut owners: Vec<Option<usize>> = vec![None; width];
    let mut several = vec![false; width];
    let scaled = |byte: u64| (u128::from(byte) * width as u128 / u128::from(top)) as usize;
    let letters: Vec<char> = LETTERS.chars().collect();
    for (at, stay) in stays.iter().enumerate() {
        let first = scaled(stay.start).min(width - 1);
        for column in first..scaled(stay.end).clamp(first + 1, width) {
            match owners[column] {
                // Only shared bytes count, not two tiles that happen to meet in one column.
                Some(other) if stays[other].end > stay.start => several[column] = true,
                Some(_) => {}
                None => owners[column] = Some(at),
            }
        }
    }
    let letter = |at: usize| letters.get(at).copied().unwrap_or('*');
    let cells = owners.iter().zip(&several).map(|(owner, several)| match owner {
        _ if *several => '+',
        Some(at) => letter(*at),
        None => '·',
    });
    let map: String = cells.collect();
    let _ = writeln!(out, "{:<10}{:<7}{map} {}", "", "map", bytes(top));
    let lines = 8;
    for (at, stay) in stays.iter().take(lines).enumerate() {
        let (name, size) = (shorten(&stay.tile, 24), bytes(stay.end - stay.start));
        let _ = writeln!(out, "{:INDENT$}{} {name}  {:#x}..{:#x}  {size}", "", letter(at), stay.start, stay.end);
    }
    if stays.len() > lines {
        let _ = writeln!(out, "{:INDENT$}and {} more tiles", "", stays.len() - lines);
    }
    if several.contains(&true) {
        let _ = writeln!(out, "{:INDENT$}+ several tiles on the same bytes", "");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_have_their_width() {
        for share in [0.0, 0.01, 33.3, 50.0, 99.99, 100.0, 250.0, f64::NAN] {
            assert_eq!(bar(share, 20).chars().count(), 20, "{share}");
        }
        assert!(bar(0.01, 20).starts_with('▏'));
    }
}
