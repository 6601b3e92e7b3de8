//! Names completed: operations where one begins, attributes and their values in braces, values behind a `%`.

use gen_lsp_types as lsp;
use pto_text::view::Op;
use pto_text::{Kind, operation_attributes, operation_names};

use crate::attributes::attribute;
use crate::document::Document;
use crate::{names, operations};

/// The most values that are offered: more nobody would read.
const MOST_VALUES: usize = 500;

/// What may stand at an offset.
pub(crate) fn items(document: &Document, offset: usize) -> Vec<lsp::CompletionItem> {
    let text = document.text.as_str();
    let before = &text[..offset];
    let line = &before[before.rfind(['\n', '\r']).map_or(0, |at| at + 1)..];
    let word = &line[line.rfind(|char: char| !is_name(char)).map_or(0, |at| at + last_len(&line[at..]))..];
    let head = line[..line.len() - word.len()].trim_end();
    if head.ends_with('%') || word.starts_with('%') {
        return values(document, offset - word.len());
    }
    // An operation begins a line or a region, or follows its results.
    let results = head.strip_suffix('=').is_some_and(|head| head.trim_start().starts_with('%'));
    if head.is_empty() || (results && !head.contains(':')) || head.ends_with([';', '}']) {
        return operations();
    }
    attributes(document, head, offset - word.len())
}

fn is_name(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '.' | '$' | '%')
}

/// Bytes of the first character.
fn last_len(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

fn item(label: &str, kind: lsp::CompletionItemKind, documentation: Option<&str>) -> lsp::CompletionItem {
    lsp::CompletionItem {
        label: label.to_string(),
        kind: Some(kind),
        documentation: documentation.map(|text| text.to_string().into()),
        ..lsp::CompletionItem::default()
    }
}

fn operations() -> Vec<lsp::CompletionItem> {
    let named = |name: String| item(&name, lsp::CompletionItemKind::Function, operations::sentence(&name));
    operation_names().map(named).collect()
}

/// The attributes of the operation around an offset, or the values of the one before it.
fn attributes(document: &Document, head: &str, offset: usize) -> Vec<lsp::CompletionItem> {
    let path = document.analysis().parsed.tree.path_at(offset.saturating_sub(1) as u32);
    let Some(op) = path.iter().rev().find_map(|node| Op::cast(*node)) else { return Vec::new() };
    // A list that is still being typed may not be one for the parser: an open brace on the line will do.
    let inside = path.iter().any(|node| node.kind() == Kind::Dict) || head.rfind('{') > head.rfind('}');
    if !inside {
        return Vec::new();
    }
    if let Some(before) = head.strip_suffix('=') {
        let name = before.trim_end().rsplit(|char| !is_name(char)).next().unwrap_or_default();
        let values = attribute(name).map(|attribute| attribute.spelt()).unwrap_or_default();
        return values.iter().map(|value| item(value, lsp::CompletionItemKind::EnumMember, None)).collect();
    }
    let named = |name: &&str| {
        let meaning = attribute(name).map(|attribute| attribute.meaning);
        item(name, lsp::CompletionItemKind::Property, meaning)
    };
    operation_attributes(op.name()).unwrap_or_default().iter().map(named).collect()
}

/// The values that are visible at an offset, the nearest first.
fn values(document: &Document, offset: usize) -> Vec<lsp::CompletionItem> {
    let path = document.analysis().parsed.tree.path_at(offset as u32);
    let mut found = Vec::new();
    let text = document.text.as_str();
    names::visible(&path, offset as u32, &mut |node| {
        // What is being defined here is not offered to its own definition.
        let between = text.get(node.span().end as usize..offset).unwrap_or("=");
        let own = between.trim_start().starts_with('=') && !between.contains(['\n', '\r', ';', '{', '}']);
        if !own {
            found.push(node.text());
        }
        false
    });
    found.reverse();
    found.truncate(MOST_VALUES);
    let mut seen = std::collections::HashSet::new();
    found.retain(|name| seen.insert(*name));
    found.into_iter().map(|name| item(name, lsp::CompletionItemKind::Variable, None)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is offered at the `|` of a text.
    fn offered(text: &str) -> Vec<String> {
        let at = text.find('|').expect("a place");
        let document = Document::new(text.replacen('|', "", 1), 0);
        items(&document, at).into_iter().map(|item| item.label).collect()
    }

    #[test]
    fn each_place_gets_its_own_names() {
        let has = |text: &str, label: &str| offered(text).iter().any(|offered| offered == label);
        assert!(has("  pto.m|", "pto.mgather"));
        assert!(has("|", "scf.for"));
        assert!(has("%a = ar|", "arith.addi"));
        assert!(has("pto.mgather ins(%a : f32) outs(%b : f32) {coal|}", "coalesce"));
        assert!(has("pto.mgather ins(%a : f32) outs(%b : f32) {|", "gatherOob"));
        assert!(!has("pto.mgather ins(%a : f32) outs(%b : f32) {|}", "scatterOob"));
        assert!(has("pto.mgather {gatherOob = |}", "#pto<gather_oob zero>"));
        assert_eq!(offered(".arg %abc : index\n%d = arith.addi %|"), ["%abc"]);
        assert!(offered("pto.tload ins(|)").is_empty());
        assert!(offered("é|").is_empty());
    }
}
