//! The axis of cycles that the timeline and the UB map share.
//!
//! Places along it are in percent, so that a page can stretch a strip without stretching its letters.

use crate::canvas::Canvas;
use crate::text::{compact, nice_step, thousands};

/// Cycles from 0 to the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Axis {
    /// One past the last cycle; at least 1.
    pub(crate) end: u64,
}

impl Axis {
    /// The axis of a report; `None` where there is no time.
    pub(crate) fn of(report: &pto_sim::Report) -> Option<Self> {
        let spans = report.spans.iter().map(|span| span.end);
        let stays = report.residences.iter().map(|stay| stay.to);
        let end = spans.chain(stays).chain([report.cycles]).max().unwrap_or(0);
        (end > 0).then_some(Self { end })
    }

    /// The place of a cycle, in percent.
    pub(crate) fn at(self, cycle: u64) -> f64 {
        cycle as f64 * 100.0 / self.end as f64
    }

    /// The place and the width of a stay, in percent, never too thin to be seen.
    pub(crate) fn stay(self, from: u64, to: u64) -> (f64, f64) {
        let width = self.at(to.saturating_sub(from)).max(0.12);
        (self.at(from).min(100.0 - width), width)
    }

    /// Lines and numbers over a strip of the given height, numbers below it; the fine ones are for a stretched strip.
    pub(crate) fn draw(self, canvas: &mut Canvas, height: f64) {
        let (coarse, fine) = (nice_step(self.end, 9), nice_step(self.end, 60));
        for step in 0..=self.end / fine {
            let cycle = step * fine;
            let major = cycle.is_multiple_of(coarse);
            let x = self.at(cycle);
            let class = if major { "tick" } else { "tick fine" };
            let line = canvas.tag("line").attr("class", class).part("x1", x).part("x2", x);
            line.num("y1", 0.0).num("y2", height + 4.0).empty();
            let class = match (major, x) {
                (_, x) if x > 97.0 => "mark end",
                (_, x) if x < 1.0 => "mark",
                _ => "mark mid",
            };
            let fine = if major { "" } else { " fine" };
            let text = canvas.tag("text").attr("class", format_args!("{class}{fine}")).part("x", x);
            text.num("y", height + 17.0).text(if self.end < 100_000_000 { thousands(cycle) } else { compact(cycle) });
        }
    }
}
