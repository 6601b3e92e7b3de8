//! Everything in one SVG.

use pto_ir::Place;
use pto_sim::Report;

use crate::axis::Axis;
use crate::canvas::Canvas;
use crate::facts::{candidates, numbers, subject, verdict};
use crate::picture::{self, WIDTH};
use crate::text::{shorten, thousands};
use crate::traffic::Traffic;
use crate::{MOST_FINDINGS, MOST_OPERATIONS, MOST_SLOTS, style, timeline, ub};

/// Space around everything.
const PAD: f64 = 24.0;
/// Room for what stands to the left of the strips.
pub(crate) const LABELS: f64 = 104.0;

/// A canvas and how far down it is filled.
struct Poster {
    canvas: Canvas,
    y: f64,
}

pub(crate) fn draw(report: &Report, place: &dyn Fn(Place) -> String) -> String {
    let mut poster = Poster { canvas: Canvas::new(), y: PAD };
    poster.head(report, place);
    poster.operations(report, place);
    poster.strips(report, place);

    let (width, height) = (WIDTH + 2.0 * PAD, poster.y + PAD);
    let mut page = Canvas::new();
    let root = page.tag("svg").attr("xmlns", "http://www.w3.org/2000/svg").num("width", width).num("height", height);
    root.attr("viewBox", format_args!("0 0 {width:.0} {height:.0}")).attr("role", "img").open();
    page.tag("title").text(format_args!("{}: {}", subject(report), verdict(report).1));
    page.tag("style").open();
    let mut out = page.finish();
    out.push_str(&style::sheet());
    let mut page = Canvas::new();
    page.close("style");
    page.rect("page", [0.0, 0.0, width, height]).empty();
    page.append(&poster.canvas);
    page.close("svg");
    out.push_str(&page.finish());
    out.push('\n');
    out
}

impl Poster {
    fn line(&mut self, class: &str, step: f64, text: impl std::fmt::Display) {
        self.y += step;
        self.canvas.label(class, PAD, self.y, text);
    }

    fn section(&mut self, id: &str, title: &str) {
        self.y += 40.0;
        self.canvas.tag("g").attr("id", id).open();
        self.canvas.label("section", PAD, self.y, title);
        self.y += 12.0;
    }

    /// Draws something at the current height that says how high it is.
    fn shift(&mut self, x: f64, what: impl FnOnce(&mut Canvas) -> f64) {
        let transform = format!("translate({x:.0} {:.0})", self.y);
        self.canvas.tag("g").attr("transform", transform).open();
        self.y += what(&mut self.canvas);
        self.canvas.close("g");
    }

    fn head(&mut self, report: &Report, place: &dyn Fn(Place) -> String) {
        self.canvas.tag("g").attr("id", "verdict").open();
        let (tone, words) = verdict(report);
        let dot = self.canvas.tag("circle").attr("class", format_args!("dot {}", tone.class()));
        dot.num("cx", PAD + 8.0).num("cy", self.y + 11.0).num("r", 8.0).empty();
        self.y += 18.0;
        let title = self.canvas.tag("text").attr("class", format_args!("title {}", tone.class()));
        title.num("x", PAD + 26.0).num("y", self.y).text(&words);
        self.canvas.label("ink", PAD + 40.0 + words.chars().count() as f64 * 12.5, self.y, subject(report));
        self.y += 18.0;
        let facts = numbers(report);
        let width = (WIDTH / facts.len().max(1) as f64).min(180.0);
        for (at, fact) in facts.iter().enumerate() {
            let x = PAD + at as f64 * width;
            self.canvas.rect("card", [x, self.y, width - 8.0, 52.0]).num("rx", 6.0).empty();
            self.canvas.label("mark", x + 10.0, self.y + 18.0, fact.label);
            let small = if fact.value.chars().count() as f64 * 10.0 > width - 26.0 { "ink" } else { "value" };
            let class = format!("{small} {}", fact.tone.class());
            self.canvas.label(&class, x + 10.0, self.y + 40.0, &fact.value);
        }
        self.y += 56.0;
        for finding in report.diagnostics.iter().take(MOST_FINDINGS.0) {
            let tone = crate::facts::severity(finding.severity).class();
            let words = format!("{}[{}] {}", finding.severity.name(), finding.rule.name, finding.message);
            self.line(&format!("ink {tone}"), 20.0, shorten(&words, 150));
            self.line("mark", 15.0, shorten(&place(finding.place), 150));
        }
        self.more(report.diagnostics.len(), MOST_FINDINGS.0, "findings");
        for slot in report.nondeterministic.iter().take(MOST_SLOTS.0) {
            self.line("ink warn", 18.0, shorten(&candidates(slot), 150));
        }
        self.more(report.nondeterministic.len(), MOST_SLOTS.0, "slots whose value depends on the schedule");
        self.canvas.close("g");
    }

    fn more(&mut self, all: usize, shown: usize, what: &str) {
        if all > shown {
            self.line("mark", 18.0, format_args!("{} more {what} are not shown", thousands((all - shown) as u64)));
        }
    }

    fn operations(&mut self, report: &Report, place: &dyn Fn(Place) -> String) {
        for (at, op) in report.operations.iter().take(MOST_OPERATIONS).enumerate() {
            let title = crate::operation_title(op, place);
            self.section(&format!("operation-{at}"), &title);
            self.shift(PAD, |canvas| picture::draw(canvas, &Traffic::new(op)));
            self.canvas.close("g");
        }
        self.more(report.operations.len(), MOST_OPERATIONS, "gathers and scatters");
    }

    fn strips(&mut self, report: &Report, place: &dyn Fn(Place) -> String) {
        let axis = Axis::of(report);
        self.section("timeline", "Pipes over time, in cycles");
        if let Some(axis) = axis.filter(|_| !report.spans.is_empty()) {
            let height = timeline::height(report);
            self.strip(
                height,
                |canvas| timeline::labels(canvas, report),
                |canvas| {
                    timeline::draw(canvas, report, axis, place);
                },
            );
            if report.spans_dropped > 0 {
                self.line("mark", 16.0, format_args!("{} later runs are not shown", thousands(report.spans_dropped)));
            }
        } else {
            self.line("mark", 10.0, crate::no_time(report));
        }
        self.canvas.close("g");
        self.section("ub", crate::ub_title(axis));
        if report.residences.is_empty() {
            self.line("mark", 10.0, crate::NO_TILES);
        } else {
            let scale = ub::Scale::of(report);
            let mut hidden = ub::Hidden::default();
            self.strip(
                ub::HEIGHT,
                |canvas| ub::labels(canvas, &scale),
                |canvas| {
                    hidden = ub::draw(canvas, report, &scale, axis);
                },
            );
            self.more(hidden.tiles, 0, "tiles");
            self.more(hidden.shared, 0, "overlaps of tiles");
        }
        self.canvas.close("g");
    }

    /// Labels on the left, and a strip that fills the rest of the width.
    fn strip(&mut self, height: f64, labels: impl FnOnce(&mut Canvas), draw: impl FnOnce(&mut Canvas)) {
        self.shift(PAD, |canvas| {
            labels(canvas);
            0.0
        });
        let strip = self.canvas.tag("svg").num("x", PAD + LABELS).num("y", self.y);
        strip.num("width", WIDTH - LABELS).num("height", height).open();
        draw(&mut self.canvas);
        self.canvas.close("svg");
        self.y += height;
    }
}
