//! What ran on which pipe, and when.

use pto_ir::{Pipe, Place};
use pto_sim::{Report, Span};

use crate::axis::Axis;
use crate::canvas::Canvas;
use crate::facts::pipes;
use crate::text::{count, percent, shorten, thousands};

/// Height of a pipe's row, and of its blocks.
const ROW: (f64, f64) = (28.0, 22.0);
/// Height of the strip that shows how many pipes run at once.
const OVERLAP: f64 = 12.0;
/// Parts of the run below which neighbouring runs become one block; it bounds the picture.
const PARTS: u64 = 400;

/// Neighbouring runs drawn as one.
struct Block<'a> {
    from: u64,
    to: u64,
    busy: u64,
    runs: u64,
    first: &'a Span,
}

/// The runs of one pipe, in order, short neighbours joined.
fn blocks<'a>(spans: &[&'a Span], quantum: u64) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block<'a>> = Vec::new();
    for &span in spans {
        let length = span.end.saturating_sub(span.start);
        if let Some(last) = blocks.last_mut()
            && length < quantum
            && last.to - last.from < quantum
            && span.start.saturating_sub(last.to) < quantum
        {
            last.to = last.to.max(span.end);
            last.busy += length;
            last.runs += 1;
            continue;
        }
        blocks.push(Block { from: span.start, to: span.start + length, busy: length, runs: 1, first: span });
    }
    blocks
}

/// The pipes that have a row.
fn rows(report: &Report) -> Vec<Pipe> {
    let ran = |pipe: &Pipe| report.spans.iter().any(|span| span.pipe == *pipe);
    let busy = |pipe: &Pipe| pipes(report).any(|(other, ..)| other == *pipe);
    Pipe::EACH.into_iter().filter(|pipe| ran(pipe) || busy(pipe)).collect()
}

/// Height of the timeline, numbers included.
pub(crate) fn height(report: &Report) -> f64 {
    rows(report).len() as f64 * ROW.0 + OVERLAP + 8.0 + 22.0
}

/// What stands to the left of the rows.
pub(crate) fn labels(canvas: &mut Canvas, report: &Report) {
    let rows = rows(report);
    for (row, pipe) in rows.iter().enumerate() {
        let y = row as f64 * ROW.0 + 17.0;
        canvas.label("pipe", 0.0, y, pipe.name().trim_start_matches("PIPE_"));
        let busy = report.busy.iter().find(|(other, _)| other == pipe).map_or(0, |(_, busy)| *busy);
        canvas.label("mark end", 92.0, y, format_args!("{:.0} %", percent(busy, report.cycles)));
    }
    canvas.label("mark", 0.0, rows.len() as f64 * ROW.0 + 14.0, "at once");
}

/// The rows themselves, as wide as the element they are put in.
pub(crate) fn draw(canvas: &mut Canvas, report: &Report, axis: Axis, place: &dyn Fn(Place) -> String) {
    let rows = rows(report);
    let height = rows.len() as f64 * ROW.0 + OVERLAP + 8.0;
    axis.draw(canvas, height);
    let mut names: Vec<&str> = Vec::new();
    for (row, pipe) in rows.iter().enumerate() {
        let top = row as f64 * ROW.0 + (ROW.0 - ROW.1) / 2.0;
        let lane = canvas.tag("rect").attr("class", "lane").part("width", 100.0);
        lane.num("y", top).num("height", ROW.1).num("rx", 3.0).empty();
        let mut spans: Vec<&Span> = report.spans.iter().filter(|span| span.pipe == *pipe).collect();
        spans.sort_by_key(|span| (span.start, span.end));
        for block in blocks(&spans, axis.end / PARTS) {
            let hue = names.iter().position(|name| *name == block.first.name).unwrap_or_else(|| {
                names.push(block.first.name);
                names.len() - 1
            });
            draw_block(canvas, &block, (axis, top, hue % 8), place);
        }
    }
    overlap(canvas, report, axis, rows.len() as f64 * ROW.0 + 4.0);
}

fn draw_block(
    canvas: &mut Canvas,
    block: &Block<'_>,
    (axis, top, hue): (Axis, f64, usize),
    place: &dyn Fn(Place) -> String,
) {
    let (x, width) = axis.stay(block.from, block.to);
    let span = block.first;
    let (from, to) = (thousands(block.from), thousands(block.to));
    let (label, words) = if block.runs == 1 {
        let words = format!("{} on {}\ncycles {from} to {to}: {}", span.name, span.pipe.name(), thousands(block.busy));
        (span.name.to_owned(), format!("{words}\n{}", shorten(&place(span.place), 120)))
    } else {
        let runs = count(block.runs, "run");
        let words = format!("{runs} on {}, {} first\ncycles {from} to {to}", span.pipe.name(), span.name);
        (runs, format!("{words}, busy {}", thousands(block.busy)))
    };
    // An element of its own cuts off a label that is longer than the run.
    let frame = canvas.tag("svg").attr("class", "run").part("x", x).part("width", width);
    frame.num("y", top).num("height", ROW.1).open();
    let class = if block.runs == 1 { "block" } else { "block many" };
    let rect = canvas.tag("rect").attr("class", format_args!("{class} g{hue}"));
    rect.attr("width", "100%").attr("height", "100%").num("rx", 3.0).hover(words);
    // Where the label would be cut off, it waits for a page that is stretched.
    let fits = width * 9.7 > label.chars().count() as f64 * 6.5 + 5.0;
    if width > 0.25 {
        canvas.label(if fits { "on" } else { "on fine" }, 5.0, 15.0, label);
    }
    canvas.close("svg");
}

/// How many pipes run at the same time, as shades.
fn overlap(canvas: &mut Canvas, report: &Report, axis: Axis, top: f64) {
    let mut edges: Vec<(u64, i64)> = Vec::new();
    for span in &report.spans {
        edges.extend([(span.start, 1), (span.end.max(span.start), -1)]);
    }
    edges.sort_unstable();
    // The largest number in each part of the run, equal neighbours joined.
    let parts = PARTS.min(axis.end) as usize;
    let mut most = vec![0i64; parts];
    let part = |cycle: u64| ((cycle as u128 * parts as u128 / u128::from(axis.end)) as usize).min(parts - 1);
    let mut now = 0;
    for (at, (cycle, change)) in edges.iter().enumerate() {
        now += change;
        let until = edges.get(at + 1).map_or(axis.end, |(next, _)| *next);
        if until > *cycle {
            for value in &mut most[part(*cycle)..=part(until - 1)] {
                *value = (*value).max(now);
            }
        }
    }
    let mut start = 0;
    for run in most.chunk_by(|a, b| a == b) {
        let (x, width) = (start as f64 * 100.0 / parts as f64, run.len() as f64 * 100.0 / parts as f64);
        start += run.len();
        if run[0] > 0 {
            let shade = format!("{:.2}", (0.15 + 0.2 * run[0] as f64).min(0.95));
            let rect = canvas.tag("rect").attr("class", "shade").part("x", x).part("width", width);
            let rect = rect.num("y", top).num("height", OVERLAP).attr("fill-opacity", shade);
            rect.hover(format_args!("{} at once", count(run[0] as u64, "pipe")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: u64, end: u64) -> Span {
        Span { pipe: Pipe::V, start, end, name: "x", place: Place::default() }
    }

    #[test]
    fn short_neighbours_are_joined_and_long_runs_are_not() {
        let spans = [span(0, 2), span(3, 5), span(40, 90), span(90, 91), span(200, 201)];
        let spans: Vec<&Span> = spans.iter().collect();
        let shape = |quantum| blocks(&spans, quantum).iter().map(|b| (b.from, b.to, b.runs)).collect::<Vec<_>>();
        assert_eq!(shape(10), [(0, 5, 2), (40, 90, 1), (90, 91, 1), (200, 201, 1)]);
        assert_eq!(shape(0).len(), 5);
    }

    #[test]
    fn blocks_are_few_however_many_runs_there_are() {
        let spans: Vec<Span> = (0..100_000).map(|n| span(n * 3, n * 3 + 2)).collect();
        let spans: Vec<&Span> = spans.iter().collect();
        assert!(blocks(&spans, 300_000 / PARTS).len() <= 2 * PARTS as usize);
    }
}
