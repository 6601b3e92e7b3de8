//! What an editor shows of the thing under the cursor, as Markdown.

use gen_lsp_types as lsp;
use pto_ir::Type;
use pto_isa::Rule;
use pto_text::view::{Entry, Op};
use pto_text::{Kind, Node, Span, type_at};

use crate::document::{Analysis, Document};
use crate::server::Client;
use crate::{attributes, layout, names, operations};

/// Rules that are explained at one place; more would hide the first.
const MOST_RULES: usize = 3;

/// What is known of the thing at an offset: itself, and the rules that are broken there.
pub(crate) fn at(document: &Document, offset: u32, client: &Client) -> Option<lsp::Hover> {
    let analysis = document.analysis();
    let path = names::path(&analysis.parsed.tree, offset);
    let (mut span, mut parts) = match thing(analysis, &path) {
        Some((span, text)) => (Some(span), vec![text]),
        None => (None, Vec::new()),
    };
    let here = |place: &Span| place.start <= offset && offset < place.end.max(place.start + 1);
    let mut told: Vec<&Rule> = Vec::new();
    for one in analysis.judgement().found.iter().filter(|one| one.span.as_ref().is_some_and(here)) {
        if told.len() < MOST_RULES && !told.contains(&one.rule) {
            told.push(one.rule);
            span = span.or(one.span);
            parts.push(explain(one.rule));
        }
    }
    let contents = lsp::MarkupContent { kind: client.hover_kind.clone(), value: parts.join("\n\n---\n\n") };
    let range = span.map(|span| document.text.range(span, client.encoding))?;
    Some(lsp::Hover { contents: contents.into(), range: Some(range) })
}

fn explain(rule: &Rule) -> String {
    let Rule { name, severity, summary, help, spec } = rule;
    format!("**{name}** ({severity})\n\n{summary}\n\n*What to do:* {help}\n\n*Specification:* {spec}")
}

/// The smallest thing on a path that there is something to say of.
fn thing(analysis: &Analysis, path: &[Node<'_>]) -> Option<(Span, String)> {
    let node = *path.last()?;
    let owner = path.iter().rev().find_map(|node| Op::cast(*node));
    if node.kind() == Kind::Value {
        return Some((node.span(), value(analysis, path, node)?));
    }
    if let Some(op) = owner.filter(|op| op.name_span() == node.span()) {
        return Some((node.span(), operation(analysis, op)?));
    }
    if let Some(name) = attributes::word(node.text().trim_matches('"')) {
        return Some((node.span(), name));
    }
    // A key of a dictionary, or what stands behind it.
    let entry = path.iter().rev().find_map(|node| Entry::cast(*node).filter(|_| node.kind() == Kind::Entry));
    if let Some(found) = entry.and_then(|entry| attributes::attribute(entry.name())) {
        let values = found.spelt();
        let values = if values.is_empty() { String::new() } else { format!("\n\nValues: `{}`", values.join("`, `")) };
        return Some((entry?.node.span(), format!("`{}`\n\n{}{values}", found.name, found.meaning)));
    }
    if node.kind() == Kind::Symbol {
        let definition = names::definition(&analysis.parsed.tree, path)?;
        let parent = analysis.parsed.tree.path_at(definition.span().start);
        let function = parent.iter().rev().find_map(|node| Op::cast(*node))?;
        let header = function.regions().next().map_or(function.span().end, |region| region.span().start);
        let header = analysis.parsed.tree.source().slice(Span::new(function.span().start, header));
        return Some((node.span(), code(header.trim_end())));
    }
    let ty = path.iter().rev().find(|node| matches!(node.kind(), Kind::Type | Kind::Generic))?;
    Some((ty.span(), spelt_type(analysis, *ty)?))
}

fn code(text: &str) -> String {
    format!("```mlir\n{text}\n```")
}

/// A value: its type, and for a tile its layout and place as far as they are known here.
fn value(analysis: &Analysis, path: &[Node<'_>], node: Node<'_>) -> Option<String> {
    let definition = names::definition(&analysis.parsed.tree, path);
    let place = definition.map_or(node.span(), Node::span);
    let (function, id) = analysis.value(place, names::position(node.text())).or_else(|| {
        // A value that a text of a few lines leaves undefined is an argument, defined where it first stands.
        let name = names::base(node.text()).trim_start_matches('%');
        let named = |function: &'_ pto_ir::Function| function.values.iter().position(|value| *value.name == *name);
        let fragment = analysis.program.module.functions.first().filter(|_| definition.is_none())?;
        Some((fragment, pto_ir::ValueId(named(fragment)? as u32)))
    })?;
    let ty = analysis.type_of(function, id);
    // What the statement around it does has happened, so that a definition shows what it defines.
    let until = path.iter().rev().find_map(|node| Op::cast(*node)).map_or(node.span().end, |op| op.name_span().end);
    let facts = analysis.facts(function, until.max(node.span().end));
    let mut out = described(node.text(), ty);
    if let Some(fact) = facts.tile(id) {
        let root = fact.storage.root.filter(|root| *root != id);
        let window = root.and_then(|root| Some((&*function.value(root).name, &facts.tile(root)?.tile)));
        let storage = match window {
            Some((name, whole)) => layout::window(fact, name, whole),
            None => layout::describe(&fact.tile),
        };
        out += &format!("\n\n{storage}\n{}", layout::place(fact));
    } else if let Some(view) = facts.view(id) {
        out += &format!("\n\nIn five dimensions: {}", view.tensor);
    } else if let Some(number) = facts.integer(id) {
        let hexadecimal = if number > 9 { format!(" (0x{number:x})") } else { String::new() };
        out += &format!("\n\nHere it is {number}{hexadecimal}.");
    }
    Some(out)
}

/// A value or type, and what kind of thing it is.
fn described(name: &str, ty: &Type) -> String {
    match ty {
        Type::Tile(tile) => format!("`{name}`: {}, `{tile}`", ty.kind()),
        _ => format!("`{name}`: {}, `{ty}`", ty.kind()),
    }
}

fn operation(analysis: &Analysis, op: Op<'_>) -> Option<String> {
    let sentence = operations::sentence(op.name());
    let found = analysis.operation(op.name_span());
    let pipes = found.map(|(facts, op)| operations::pipes(&facts, &op.kind)).unwrap_or_default();
    let mut out = format!("`{}`\n\n{}", op.name(), sentence?);
    if !pipes.is_empty() {
        out += &format!("\n\n{pipes}");
    }
    Some(out)
}

/// A type where it is spelt: the alias resolved, and for a tile its layout.
fn spelt_type(analysis: &Analysis, node: Node<'_>) -> Option<String> {
    let ty = type_at(node)?;
    let resolved = pto_text::view::Aliases::of(&analysis.parsed.tree).resolve(node);
    let mut out = described(node.text(), &ty);
    if resolved.id() != node.id() {
        out = format!("{}\n{out}", code(&format!("{} = {}", node.text(), resolved.text())));
    }
    if let Type::Tile(tile) = &ty {
        out += &format!("\n\n{}", layout::describe(tile));
    }
    Some(out)
}
