//! Pictures of a run: what went where, which pipe was busy when, what lay in UB.
//!
//! [`svg`] and [`html`] give one file each that needs nothing else: no fonts, no scripts, no network. Both show the
//! verdict with its numbers, a picture of every gather and scatter (payload, index lanes, table, arrows; collisions,
//! skipped and clamped lanes marked), the pipes over time and the UB map over time, in light or dark as the reader has
//! it. The page adds tips, stretching and scrolling. [`summary`] is the same for a terminal.
//!
//! Names come from programs that someone else wrote: all text is escaped, control and direction characters are
//! replaced. What is drawn is bounded, however long the run was; what is left out is counted.
//!
//! ```
//! # use pto_view::doc::report;
//! let picture = pto_view::svg(&report(), |place| format!("kernel.pto:{}", place.start));
//! assert!(picture.starts_with("<svg ") && picture.ends_with("</svg>\n"));
//! ```

mod axis;
mod canvas;
#[doc(hidden)]
pub mod doc;
mod facts;
mod flow;
mod grid;
mod page;
mod picture;
mod poster;
mod style;
mod summary;
mod text;
mod timeline;
mod traffic;
mod ub;

use pto_ir::Place;
use pto_sim::{Operation, Report};

pub use summary::summary;

/// Gathers and scatters that are drawn.
const MOST_OPERATIONS: usize = 8;
/// Findings that are shown, in the SVG and on the page.
const MOST_FINDINGS: (usize, usize) = (6, 60);
/// Slots that depend on the schedule, the same way.
const MOST_SLOTS: (usize, usize) = (4, 40);
/// What stands in the place of a timeline.
fn no_time(report: &Report) -> &'static str {
    if report.target.profile().ub.is_some() {
        "No instruction ran to its end."
    } else {
        "This target has no pipes and no cycles."
    }
}

/// What stands in the place of a UB map.
const NO_TILES: &str = "No tile held data in UB.";

/// The run as one SVG file.
///
/// `place` turns a place of the program into words, such as `kernel.pto:12`.
///
/// ```
/// # use pto_view::doc::report;
/// let picture = pto_view::svg(&report(), |_| "<kernel>".into());
/// assert!(picture.contains("&lt;kernel&gt;") && !picture.contains("<kernel>"));
/// ```
pub fn svg(report: &Report, place: impl Fn(Place) -> String) -> String {
    poster::draw(report, &place)
}

/// The run as one HTML file, with tips, stretching and scrolling.
///
/// ```
/// # use pto_view::doc::report;
/// let page = pto_view::html(&report(), |place| format!("kernel.pto:{}", place.start));
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("Pipes over time"));
/// ```
pub fn html(report: &Report, place: impl Fn(Place) -> String) -> String {
    page::draw(report, &place)
}

/// The heading of the UB map.
fn ub_title(axis: Option<axis::Axis>) -> &'static str {
    if axis.is_some() { "UB over time: bytes and cycles" } else { "UB: bytes of the tiles" }
}

/// The heading of an operation's picture.
fn operation_title(op: &Operation, place: &dyn Fn(Place) -> String) -> String {
    let mode = match op.mode {
        Some(pto_isa::Coalesce::Row) => ", by row",
        Some(pto_isa::Coalesce::Elem) => ", by element",
        None => "",
    };
    format!("{}{mode} at {}", op.name, text::shorten(&place(op.place), 120))
}
