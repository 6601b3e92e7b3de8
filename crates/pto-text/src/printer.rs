//! The canonical form of a text: one operation a line, two blanks a level, comments kept.
//!
//! The printer works on the syntax tree alone: what parses prints, and what it prints parses to an equal tree. Order and
//! spelling of everything stay; blanks, line breaks and `;` are the printer's. A blank line between two operations
//! stays one blank line.
//!
//! A comment keeps its neighbour: on a line of its own it stays before what follows, behind something it stays on that
//! line. A bracketed list with comments inside is printed one element a line; a comment elsewhere inside an operation
//! (between its parts, or in the parameters of a type or attribute) moves to the end of the line. The texts of comments are not touched, except that `#text` becomes `# text`, which
//! reads as a comment in every place.

mod lines;
mod spacing;

use crate::span::Span;
use crate::syntax::{Kind, Node, Tree};
use spacing::Context;

/// Prints a tree in canonical form.
///
/// Meant for trees without errors: of a text that could not be read, what was passed over is missing.
///
/// ```
/// use pto_text::{Source, parse, print};
/// let parsed = parse(&Source::new("k.pto", "pto.tload ins(%v:f32)   outs( %t :f32 ) {a=1}; // load"));
/// assert_eq!(print(&parsed.tree), "pto.tload ins(%v : f32) outs(%t : f32) {a = 1} // load\n");
/// ```
pub fn print(tree: &Tree) -> String {
    let text = tree.source().text();
    let mut printer = Printer {
        text,
        out: String::with_capacity(text.len() + text.len() / 8),
        indent: 0,
        comments: tree.comments(),
        pos: 0,
        last_end: None,
    };
    let root = tree.root();
    printer.statements(root);
    printer.comment_lines(text.len() as u32 + 1);
    printer.out
}

struct Printer<'t> {
    text: &'t str,
    out: String,
    indent: usize,
    /// The comments that are still to be printed.
    comments: &'t [Span],
    /// How far into the text printing has come.
    pos: u32,
    /// Where the thing on the line before ended in the text; `None` at the start of a block, where no blank line stays.
    last_end: Option<u32>,
}

impl<'t> Printer<'t> {
    fn statements(&mut self, block: Node<'t>) {
        for statement in block.children() {
            let span = statement.span();
            self.comment_lines(span.start);
            self.blank_line(span.start);
            // The head of a block stands out by one level.
            let outdent = usize::from(statement.kind() == Kind::Block && self.indent > 0);
            self.indent -= outdent;
            self.start_line();
            self.indent += outdent;
            match statement.kind() {
                Kind::Op => self.op(statement),
                Kind::Alias => self.alias(statement),
                Kind::Block => {
                    self.terms(statement.children(), Context::Arguments, false);
                    self.out.push(':');
                }
                _ => self.term(statement, Context::Body),
            }
            self.end_line(span.end);
        }
    }

    fn op(&mut self, op: Node<'t>) {
        let results = op.children().take_while(|child| child.kind() != Kind::Name).count();
        for result in op.children().take(results) {
            if result.after_comma() {
                self.out.push_str(", ");
            }
            self.term(result, Context::Body);
        }
        if results > 0 {
            self.out.push_str(" = ");
        }
        self.terms(op.children().skip(results), Context::Body, false);
    }

    fn alias(&mut self, alias: Node<'t>) {
        if let Some(name) = alias.child(0) {
            self.term(name, Context::Body);
            self.out.push_str(" = ");
        }
        self.terms(alias.children().skip(1), Context::Body, false);
    }

    /// Terms in a row, each on a line of its own behind its comma if the list is broken.
    fn terms(&mut self, terms: impl Iterator<Item = Node<'t>>, context: Context, broken: bool) {
        let mut before: Option<Node<'t>> = None;
        for term in terms {
            match before {
                Some(last) if term.after_comma() => {
                    self.out.push(',');
                    if broken {
                        self.end_line(last.span().end);
                        self.comment_lines(term.span().start);
                        self.start_line();
                    } else {
                        self.out.push(' ');
                    }
                }
                Some(last) => self.out.push_str(spacing::between(last, term, context)),
                None => {}
            }
            self.term(term, context);
            before = Some(term);
        }
        if let (true, Some(last)) = (broken, before) {
            self.end_line(last.span().end);
        }
    }

    fn term(&mut self, term: Node<'t>, context: Context) {
        match term.kind() {
            kind if kind.is_leaf() => self.out.push_str(term.text()),
            Kind::Region => self.region(term),
            Kind::Paren => self.group(term, "(", ")", context.inside_list()),
            Kind::Bracket => self.group(term, "[", "]", context.inside_list()),
            Kind::Angle => self.group(term, "<", ">", context.inside_angles()),
            Kind::Dict => self.group(term, "{", "}", context.inside_dict()),
            Kind::Call => {
                let inner = context.of_call(term);
                term.children().for_each(|part| self.term(part, inner));
            }
            Kind::Pack => {
                let mut parts = term.children();
                parts.next().into_iter().for_each(|value| self.term(value, context));
                self.out.push(':');
                parts.for_each(|count| self.term(count, context));
            }
            Kind::Entry => {
                let mut parts = term.children();
                parts.next().into_iter().for_each(|key| self.term(key, context));
                self.out.push_str(if context == Context::TypeParameters { "=" } else { " = " });
                self.terms(parts, context, false);
            }
            Kind::Types => {
                self.out.push_str(": ");
                self.terms(term.children(), Context::List, false);
            }
            Kind::Results => {
                self.out.push_str("-> ");
                self.terms(term.children(), Context::List, false);
            }
            Kind::Type => {
                self.out.push('!');
                term.children().for_each(|part| self.term(part, Context::TypeParameters));
            }
            Kind::Attr => {
                self.out.push('#');
                term.children().for_each(|part| self.term(part, Context::AttributeParameters));
            }
            Kind::Generic => term.children().for_each(|part| self.term(part, Context::AttributeParameters)),
            Kind::Shaped => term.children().for_each(|part| self.term(part, context)),
            _ => self.terms(term.children(), context, false),
        }
    }

    fn group(&mut self, group: Node<'t>, open: &str, close: &str, context: Context) {
        self.out.push_str(open);
        let span = group.span();
        // Regions bring their own lines; parameters of types and attributes stay on one, and so does a lone unit
        // attribute, which would read as an operation on a line of its own.
        let lone =
            group.kind() == Kind::Dict && group.len() == 1 && group.child(0).is_some_and(|c| c.kind() == Kind::Word);
        let breakable = !lone && !context.is_parameters() && !has_lone_attribute(group);
        let broken =
            breakable && self.has_comment_in(span) && !group.children().any(|term| term.kind() == Kind::Region);
        if broken {
            self.indent += 1;
            self.end_line(span.start + 1);
            if let Some(first) = group.child(0) {
                self.comment_lines(first.span().start);
                self.start_line();
            }
        }
        self.terms(group.children(), context, broken);
        if broken {
            self.comment_lines(span.end);
            self.indent -= 1;
            self.start_line();
        }
        self.out.push_str(close);
        self.pos = self.pos.max(span.end);
    }

    fn region(&mut self, region: Node<'t>) {
        let span = region.span();
        self.out.push('{');
        self.indent += 1;
        self.end_line(span.start + 1);
        self.last_end = None;
        self.statements(region);
        self.comment_lines(span.end);
        self.indent -= 1;
        self.start_line();
        self.out.push('}');
    }
}

/// Whether an element begins with an attribute and goes on behind it: `#name word` reads as a comment at the start of a
/// line.
fn has_lone_attribute(group: Node<'_>) -> bool {
    let mut terms = group.children().peekable();
    while let Some(term) = terms.next() {
        if term.kind() == Kind::Attr && terms.peek().is_some_and(|next| !next.after_comma()) {
            return true;
        }
    }
    false
}
