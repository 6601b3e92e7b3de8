//! Writing elements: every attribute and every text passes through the escape, so no name can become markup.

use std::fmt::{Display, Write};

use crate::text::escape_into;

/// A growing piece of SVG or HTML.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    out: String,
}

impl Canvas {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Begins an element; what is chained adds attributes, and one of the ends ends it.
    pub(crate) fn tag(&mut self, name: &'static str) -> Tag<'_> {
        self.out.push('<');
        self.out.push_str(name);
        Tag { out: &mut self.out, name }
    }

    /// Ends an element that was left open.
    pub(crate) fn close(&mut self, name: &'static str) {
        let _ = write!(self.out, "</{name}>");
    }

    /// Puts in what another canvas holds.
    pub(crate) fn append(&mut self, other: &Canvas) {
        self.out.push_str(&other.out);
    }

    /// Puts in markup of this crate: style sheets, scripts. Never anything from a report.
    pub(crate) fn fixed(&mut self, markup: &'static str) {
        self.out.push_str(markup);
    }

    /// A rectangle.
    pub(crate) fn rect(&mut self, class: &str, [x, y, width, height]: [f64; 4]) -> Tag<'_> {
        self.tag("rect").attr("class", class).num("x", x).num("y", y).num("width", width).num("height", height)
    }

    /// A text at a point.
    pub(crate) fn label(&mut self, class: &str, x: f64, y: f64, text: impl Display) {
        self.tag("text").attr("class", class).num("x", x).num("y", y).text(text);
    }

    /// A straight line.
    pub(crate) fn line(&mut self, class: &str, [x1, y1, x2, y2]: [f64; 4]) {
        self.tag("line").attr("class", class).num("x1", x1).num("y1", y1).num("x2", x2).num("y2", y2).empty();
    }

    /// What was written.
    pub(crate) fn finish(self) -> String {
        self.out
    }
}

/// An element whose attributes are being written.
#[must_use = "an element needs an end"]
pub(crate) struct Tag<'a> {
    out: &'a mut String,
    name: &'static str,
}

impl Tag<'_> {
    /// An attribute.
    pub(crate) fn attr(self, name: &str, value: impl Display) -> Self {
        let _ = write!(self.out, " {name}=\"");
        escape_into(self.out, value);
        self.out.push('"');
        self
    }

    /// A length or a place, to a tenth of a pixel.
    pub(crate) fn num(self, name: &str, value: f64) -> Self {
        let value = (value * 10.0).round() / 10.0;
        let _ = write!(self.out, " {name}=\"{value}\"");
        self
    }

    /// A length or a place in percent of the width, which stretches with it.
    pub(crate) fn part(self, name: &str, percent: f64) -> Self {
        let value = (percent * 1000.0).round() / 1000.0;
        let _ = write!(self.out, " {name}=\"{value}%\"");
        self
    }

    /// Ends it without content.
    pub(crate) fn empty(self) {
        self.out.push_str("/>");
    }

    /// Ends it with a text as its content.
    pub(crate) fn text(self, text: impl Display) {
        self.out.push('>');
        escape_into(self.out, text);
        let _ = write!(self.out, "</{}>", self.name);
    }

    /// Ends it with a text that shows when it is pointed at.
    pub(crate) fn hover(self, text: impl Display) {
        self.out.push_str("><title>");
        escape_into(self.out, text);
        let _ = write!(self.out, "</title></{}>", self.name);
    }

    /// Leaves it open for content; [`Canvas::close`] ends it.
    pub(crate) fn open(self) {
        self.out.push('>');
    }
}
