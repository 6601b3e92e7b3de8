//! Everything on one page: text that flows, pictures that scale, strips that can be stretched and scrolled.

use pto_ir::{Diagnostic, Place};
use pto_sim::{Nondeterministic, Report};

use crate::axis::Axis;
use crate::canvas::Canvas;
use crate::facts::{candidates, numbers, severity, subject, verdict};
use crate::picture::{self, WIDTH};
use crate::poster::LABELS;
use crate::text::{shorten, thousands};
use crate::traffic::Traffic;
use crate::{MOST_FINDINGS, MOST_OPERATIONS, MOST_SLOTS, style, timeline, ub};

/// Findings that are open from the start, so that the pictures stay in sight.
const OPEN_FINDINGS: usize = 4;

/// The page asks for nothing from anywhere, and says so to the browser.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

pub(crate) fn draw(report: &Report, place: &dyn Fn(Place) -> String) -> String {
    let mut page = Canvas::new();
    page.fixed("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>");
    page.tag("meta").attr("http-equiv", "Content-Security-Policy").attr("content", POLICY).empty();
    page.fixed("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>");
    page.fixed("<meta name=\"color-scheme\" content=\"light dark\"/>");
    page.tag("title").text(format_args!("{}: {}", subject(report), verdict(report).1));
    page.fixed(concat!("<style>", include_str!("page.css")));
    let mut out = page.finish();
    out.push_str(&style::sheet());
    let mut page = Canvas::new();
    page.fixed("</style></head><body><main>");
    head(&mut page, report, place);
    operations(&mut page, report, place);
    strips(&mut page, report, place);
    page.fixed("</main><div id=\"tip\" role=\"status\" hidden=\"hidden\"></div>");
    page.fixed(concat!("<script>", include_str!("page.js"), "</script></body></html>\n"));
    out.push_str(&page.finish());
    out
}

fn head(page: &mut Canvas, report: &Report, place: &dyn Fn(Place) -> String) {
    let (tone, words) = verdict(report);
    page.tag("section").attr("id", "verdict").open();
    page.tag("h1").open();
    page.tag("span").attr("class", format_args!("badge {}", tone.class())).text(words);
    page.tag("span").text(subject(report));
    page.close("h1");
    page.tag("dl").attr("class", "numbers").open();
    for fact in numbers(report) {
        page.tag("div").attr("class", fact.tone.class()).open();
        page.tag("dt").text(fact.label);
        page.tag("dd").text(fact.value);
        page.close("div");
    }
    page.close("dl");
    findings(page, report, place);
    page.close("section");
}

/// Findings and slots that depend on the schedule: the first ones at once, the others on demand.
fn findings(page: &mut Canvas, report: &Report, place: &dyn Fn(Place) -> String) {
    let found = report.diagnostics.iter().take(MOST_FINDINGS.1).map(Entry::Finding);
    let slots = report.nondeterministic.iter().take(MOST_SLOTS.1).map(Entry::Slot);
    let entries: Vec<Entry<'_>> = found.chain(slots).collect();
    let (first, others) = entries.split_at(entries.len().min(OPEN_FINDINGS));
    let list = |page: &mut Canvas, entries: &[Entry<'_>]| {
        page.tag("ul").attr("class", "findings").open();
        for entry in entries {
            entry.draw(page, place);
        }
        page.close("ul");
    };
    list(page, first);
    if !others.is_empty() {
        page.tag("details").open();
        page.tag("summary").text(format_args!("{} more", others.len()));
        list(page, others);
        more(page, report.diagnostics.len(), MOST_FINDINGS.1, "findings");
        more(page, report.nondeterministic.len(), MOST_SLOTS.1, "slots whose value depends on the schedule");
        page.close("details");
    }
}

/// An entry of the list below the numbers.
enum Entry<'a> {
    Finding(&'a Diagnostic),
    Slot(&'a Nondeterministic),
}

impl Entry<'_> {
    fn draw(&self, page: &mut Canvas, place: &dyn Fn(Place) -> String) {
        let finding = match self {
            Self::Finding(finding) => finding,
            Self::Slot(slot) => return page.tag("li").attr("class", "warn").text(candidates(slot)),
        };
        page.tag("li").attr("class", severity(finding.severity).class()).open();
        page.tag("strong").text(format_args!("{}[{}]", finding.severity.name(), finding.rule.name));
        page.tag("span").text(format_args!(" {}", shorten(&finding.message, 600)));
        page.tag("code").text(shorten(&place(finding.place), 200));
        for (at, words) in finding.labels.iter().take(4) {
            page.tag("div").text(format_args!("{}: {}", shorten(&place(*at), 200), shorten(words, 300)));
        }
        let help = finding.help.as_deref().unwrap_or(finding.rule.help);
        page.tag("div").attr("class", "help").text(format_args!("help: {}", shorten(help, 600)));
        page.close("li");
    }
}

fn more(page: &mut Canvas, all: usize, shown: usize, what: &str) {
    if all > shown {
        let number = thousands((all - shown) as u64);
        page.tag("p").attr("class", "note").text(format_args!("{number} more {what} are not shown"));
    }
}

fn operations(page: &mut Canvas, report: &Report, place: &dyn Fn(Place) -> String) {
    for (at, op) in report.operations.iter().take(MOST_OPERATIONS).enumerate() {
        page.tag("section").attr("class", "operation").attr("id", format_args!("operation-{at}")).open();
        page.tag("h2").text(crate::operation_title(op, place));
        let mut picture = Canvas::new();
        let height = picture::draw(&mut picture, &Traffic::new(op));
        page.tag("div").attr("class", "scroll").open();
        let svg = page.tag("svg").attr("class", "picture").attr("role", "img");
        svg.attr("viewBox", format_args!("0 0 {WIDTH:.0} {height:.0}"))
            .num("width", WIDTH)
            .num("height", height)
            .open();
        page.append(&picture);
        page.fixed("</svg></div></section>");
    }
    more(page, report.operations.len(), MOST_OPERATIONS, "gathers and scatters");
}

fn strips(page: &mut Canvas, report: &Report, place: &dyn Fn(Place) -> String) {
    let axis = Axis::of(report);
    page.tag("section").attr("id", "timeline").open();
    page.tag("h2").text("Pipes over time, in cycles");
    if let Some(axis) = axis.filter(|_| !report.spans.is_empty()) {
        page.fixed(
            "<p class=\"tools\"><button type=\"button\" data-zoom=\"2\">zoom in</button>\
             <button type=\"button\" data-zoom=\"0.5\">zoom out</button>\
             <button type=\"button\" data-zoom=\"0\">fit</button>\
             <span class=\"note\">or Ctrl and the wheel; drag to move</span></p>",
        );
        let height = timeline::height(report);
        strip(
            page,
            height,
            |canvas| timeline::labels(canvas, report),
            |canvas| {
                timeline::draw(canvas, report, axis, place);
            },
        );
        if report.spans_dropped > 0 {
            let number = thousands(report.spans_dropped);
            page.tag("p").attr("class", "note").text(format_args!("{number} later runs are not shown"));
        }
    } else {
        page.tag("p").attr("class", "note").text(crate::no_time(report));
    }
    page.close("section");
    page.tag("section").attr("id", "ub").open();
    page.tag("h2").text(crate::ub_title(axis));
    if report.residences.is_empty() {
        page.tag("p").attr("class", "note").text(crate::NO_TILES);
    } else {
        let scale = ub::Scale::of(report);
        let mut hidden = ub::Hidden::default();
        strip(
            page,
            ub::HEIGHT,
            |canvas| ub::labels(canvas, &scale),
            |canvas| {
                hidden = ub::draw(canvas, report, &scale, axis);
            },
        );
        more(page, hidden.tiles, 0, "tiles");
        more(page, hidden.shared, 0, "overlaps of tiles");
    }
    page.close("section");
}

/// Labels that stay, and a strip that stretches and scrolls.
fn strip(page: &mut Canvas, height: f64, labels: impl FnOnce(&mut Canvas), draw: impl FnOnce(&mut Canvas)) {
    page.tag("div").attr("class", "strip").open();
    page.tag("svg").attr("class", "labels").num("width", LABELS).num("height", height).open();
    labels(page);
    page.fixed("</svg><div class=\"stretch\">");
    page.tag("svg").attr("class", "time").attr("width", "100%").num("height", height).open();
    draw(page);
    page.fixed("</svg></div></div>");
}
