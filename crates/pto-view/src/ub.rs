//! The UB map over time: bytes upwards, cycles to the right, tiles as boxes.

use pto_sim::{Report, Residence};

use crate::axis::Axis;
use crate::canvas::Canvas;
use crate::text::{bytes, shorten, thousands};

/// Height of the map.
const MAP: f64 = 240.0;
/// Room above the map where the limit is shown when it is far away.
const TOP: f64 = 22.0;
/// Tiles that are drawn, the largest first.
const MOST: usize = 300;
/// Tiles among which shared bytes are looked for.
const COMPARED: usize = 120;

/// Shared bytes that are marked.
const MARKED: usize = 40;

/// What the map has no room for.
#[derive(Default)]
pub(crate) struct Hidden {
    pub(crate) tiles: usize,
    pub(crate) shared: usize,
}

/// What the map spans.
pub(crate) struct Scale {
    bytes: u64,
    limit: Option<u64>,
}

impl Scale {
    /// The scale of a report: up to the limit, unless the tiles would become slivers.
    pub(crate) fn of(report: &Report) -> Self {
        let top = report.residences.iter().map(|stay| stay.end).chain([report.ub_peak]).max().unwrap_or(0).max(1);
        match report.ub_limit {
            Some(limit) if top.saturating_mul(3) >= limit => Self { bytes: top.max(limit), limit: Some(limit) },
            limit => Self { bytes: top, limit },
        }
    }

    fn y(&self, byte: u64) -> f64 {
        TOP + MAP * (1.0 - byte as f64 / self.bytes as f64)
    }

    /// True if the limit is on the map.
    fn reaches_limit(&self) -> bool {
        self.limit.is_some_and(|limit| limit <= self.bytes)
    }

    /// Bytes with a number on the axis.
    fn ticks(&self) -> impl Iterator<Item = u64> {
        let step = (self.bytes / 8).max(1).next_power_of_two();
        let last = self.bytes;
        (0..=last / step).map(move |at| at * step)
    }
}

/// Height of the map, numbers included.
pub(crate) const HEIGHT: f64 = TOP + MAP + 22.0;

/// The numbers to the left of the map.
pub(crate) fn labels(canvas: &mut Canvas, scale: &Scale) {
    for byte in scale.ticks() {
        canvas.label("mark end", 92.0, scale.y(byte) + 3.5, bytes(byte));
    }
}

/// The map itself, as wide as the element it is put in. Returns what is not shown.
pub(crate) fn draw(canvas: &mut Canvas, report: &Report, scale: &Scale, axis: Option<Axis>) -> Hidden {
    let ground = canvas.tag("rect").attr("class", "lane").part("width", 100.0);
    ground.num("y", TOP).num("height", MAP).empty();
    if let Some(axis) = axis {
        axis.draw(canvas, TOP + MAP);
    }
    for byte in scale.ticks() {
        across(canvas, "tick", scale.y(byte));
    }
    let axis_or_all = axis.unwrap_or(Axis { end: 1 });
    let mut stays: Vec<&Residence> = report.residences.iter().collect();
    let area = |stay: &Residence| u128::from(stay.end.saturating_sub(stay.start)) * u128::from(span(stay, axis).1);
    stays.sort_by_key(|stay| std::cmp::Reverse(area(stay)));
    for (at, stay) in stays.iter().take(MOST).enumerate() {
        tile(canvas, stay, scale, axis_or_all, (span(stay, axis), at % 8));
    }
    let marks = shared(canvas, &stays[..stays.len().min(COMPARED)], scale, (axis_or_all, axis));
    limit(canvas, scale);
    Hidden { tiles: stays.len().saturating_sub(MOST), shared: marks.saturating_sub(MARKED) }
}

/// From when to when, or always where there is no time.
fn span(stay: &Residence, axis: Option<Axis>) -> (u64, u64) {
    if axis.is_some() { (stay.from, stay.to.max(stay.from)) } else { (0, 1) }
}

fn across(canvas: &mut Canvas, class: &str, y: f64) {
    canvas.tag("line").attr("class", class).part("x2", 100.0).num("y1", y).num("y2", y).empty();
}

fn tile(canvas: &mut Canvas, stay: &Residence, scale: &Scale, axis: Axis, (time, hue): ((u64, u64), usize)) {
    let (x, width) = axis.stay(time.0, time.1);
    let (top, bottom) = (scale.y(stay.end), scale.y(stay.start));
    let height = (bottom - top).max(1.5);
    let frame = canvas.tag("svg").attr("class", "run").part("x", x).part("width", width);
    frame.num("y", top).num("height", height).open();
    let words = format!(
        "{}\nbytes {:#x} to {:#x}: {}\ncycles {} to {}",
        shorten(&stay.tile, 120),
        stay.start,
        stay.end,
        bytes(stay.end.saturating_sub(stay.start)),
        thousands(stay.from),
        thousands(stay.to)
    );
    let rect = canvas.tag("rect").attr("class", format_args!("tile g{hue} s{hue}"));
    rect.attr("width", "100%").attr("height", "100%").num("rx", 2.0).hover(words);
    if height >= 12.0 && width > 0.5 {
        let name = shorten(&stay.tile, 40);
        let y = if height >= 18.0 { 14.0 } else { height / 2.0 + 4.0 };
        canvas.label("ink", 6.0, y, &name);
        if height >= 32.0 {
            canvas.label("mark", 6.0, 28.0, bytes(stay.end.saturating_sub(stay.start)));
        }
    }
    canvas.close("svg");
}

/// Where two tiles hold the same bytes at the same time; returns how often that is.
fn shared(canvas: &mut Canvas, stays: &[&Residence], scale: &Scale, (axis, time): (Axis, Option<Axis>)) -> usize {
    let mut found = 0;
    for (at, one) in stays.iter().enumerate() {
        for other in &stays[at + 1..] {
            let (start, end) = (one.start.max(other.start), one.end.min(other.end));
            let (a, b) = (span(one, time), span(other, time));
            let (from, to) = (a.0.max(b.0), a.1.min(b.1));
            if start >= end || from >= to {
                continue;
            }
            found += 1;
            if found > MARKED {
                continue;
            }
            let (x, width) = axis.stay(from, to);
            let (top, bottom) = (scale.y(end), scale.y(start));
            let words =
                format!("{} and {} share {}", shorten(&one.tile, 60), shorten(&other.tile, 60), bytes(end - start));
            let rect = canvas.tag("rect").attr("class", "shared").part("x", x).part("width", width);
            rect.num("y", top).num("height", (bottom - top).max(1.5)).hover(words);
        }
    }
    found
}

/// The line that no tile may cross; above a torn edge where it is far away.
fn limit(canvas: &mut Canvas, scale: &Scale) {
    let Some(limit) = scale.limit else { return };
    let words = format!("limit {}", bytes(limit));
    let y = if scale.reaches_limit() { scale.y(limit) } else { 6.0 };
    across(canvas, "limit", y);
    let below = if scale.reaches_limit() { "" } else { ", not to scale" };
    let label = canvas.tag("text").attr("class", "mark end bad").part("x", 99.6).num("y", y + 13.0);
    label.text(format_args!("{words}{below}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_few_and_end_within_the_map() {
        for bytes in [1, 7, 4096, 196_608, u64::MAX / 4] {
            let scale = Scale { bytes, limit: None };
            let ticks: Vec<u64> = scale.ticks().collect();
            assert!(ticks.len() <= 9 && ticks.iter().all(|tick| *tick <= bytes), "{ticks:?}");
        }
    }
}
