//! Findings for people: the message, the lines it is about with labels, notes and help.

use super::Diagnostic;
use crate::source::Source;
use crate::span::Span;
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use pto_isa::rule::Severity;

/// A span over more lines than this is shown by its first line.
const MAX_SPAN_LINES: u32 = 6;

/// Places whose lines are at most this far apart share an excerpt.
const JOIN_LINES: u32 = 8;

/// An excerpt longer than this (a file without line breaks) is not shown; the place is still named.
const MAX_EXCERPT: usize = 4096;

/// Renders one finding, without a line break at its end. Whether to colour is the caller's decision.
///
/// ```
/// use pto_text::{Source, diagnostic::terminal, parse};
/// let source = Source::new("k.pto", "%c = arith.constant 0 : indx\n");
/// let text = terminal::render(&source, &parse(&source).diagnostics[0], false);
/// assert!(text.starts_with("error[parse.type]: expected a type, found `indx`\n --> k.pto:1:25"));
/// assert!(text.contains("help: did you mean `index`?"));
/// ```
pub fn render(source: &Source, found: &Diagnostic, colour: bool) -> String {
    let level = match found.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let message = match found.target {
        Some(target) => format!("{} (on {target})", found.message),
        None => found.message.clone(),
    };
    let mut group = Group::with_title(level.primary_title(message).id(found.rule.name));
    for excerpt in excerpts(source, found) {
        group = match excerpt.snippet(source) {
            Ok(snippet) => group.element(snippet),
            Err(origin) => group.element(origin),
        };
    }
    if found.span.is_none() {
        group = group.element(Origin::path(source.name()));
    }
    for note in &found.notes {
        group = group.element(Level::NOTE.message(note.as_str()));
    }
    group = group.element(Level::HELP.message(found.advice()));
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

/// Lines that are shown together, and the places in them.
struct Excerpt<'d> {
    first_line: u32,
    last_line: u32,
    places: Vec<Place<'d>>,
}

struct Place<'d> {
    kind: AnnotationKind,
    span: Span,
    label: Option<&'d str>,
    first_line: u32,
    last_line: u32,
}

/// Only the lines around the places are handed to the renderer, which would otherwise look at the whole text for every
/// finding. The excerpt with the finding's own place comes first, the others in the order of the text.
fn excerpts<'d>(source: &Source, found: &'d Diagnostic) -> Vec<Excerpt<'d>> {
    let place = |kind, span: Span, label| {
        let first_line = source.position(span.start).line;
        let mut last_line = source.position(span.end).line;
        let mut span = span;
        if last_line - first_line > MAX_SPAN_LINES {
            last_line = first_line;
            let line = source.line_span(first_line);
            let visible = source.slice(line).trim_end().len() as u32;
            span = Span::new(span.start, (line.start + visible).max(span.start));
        }
        Place { kind, span, label, first_line, last_line }
    };
    let primary = found.span.map(|span| place(AnnotationKind::Primary, span, None));
    let labels = found.labels.iter().map(|l| place(AnnotationKind::Context, l.span, Some(l.message.as_str())));
    let mut places: Vec<Place<'d>> = primary.into_iter().chain(labels).collect();
    places.sort_by_key(|place| place.span);
    let mut excerpts: Vec<Excerpt<'d>> = Vec::new();
    for place in places {
        match excerpts.last_mut() {
            Some(last) if place.first_line <= last.last_line + JOIN_LINES => {
                last.last_line = last.last_line.max(place.last_line);
                last.places.push(place);
            }
            _ => {
                excerpts.push(Excerpt { first_line: place.first_line, last_line: place.last_line, places: vec![place] })
            }
        }
    }
    let is_primary = |excerpt: &Excerpt<'_>| excerpt.places.iter().any(|p| matches!(p.kind, AnnotationKind::Primary));
    excerpts.sort_by_key(|excerpt| !is_primary(excerpt));
    excerpts
}

impl<'d> Excerpt<'d> {
    /// The excerpt as lines with annotations, or, if the lines are too long to show, as a bare place.
    fn snippet<'s>(self, source: &'s Source) -> Result<Snippet<'s, annotate_snippets::Annotation<'s>>, Origin<'s>>
    where
        'd: 's,
    {
        let start = source.line_span(self.first_line).start;
        let text = source.slice(Span::new(start, source.line_span(self.last_line).end));
        if text.len() > MAX_EXCERPT {
            let at = source.position(self.places.first().map_or(start, |place| place.span.start));
            return Err(Origin::path(source.name()).line(at.line as usize).char_column(at.column as usize));
        }
        let annotations = self.places.into_iter().map(|place| {
            let inside = |offset: u32| ((offset - start) as usize).min(text.len());
            place.kind.span(inside(place.span.start)..inside(place.span.end)).label(place.label)
        });
        Ok(Snippet::source(text).path(source.name()).line_start(self.first_line as usize).annotations(annotations))
    }
}
