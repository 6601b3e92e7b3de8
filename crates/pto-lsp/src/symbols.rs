//! The outline of a document: its modules, functions and aliases.

use gen_lsp_types as lsp;
use pto_text::view::Op;
use pto_text::{Kind, Node, Span};

use crate::document::Document;
use crate::server::Client;

/// The outline, as a tree if the client can show one.
pub(crate) fn of(document: &Document, uri: &lsp::Uri, client: &Client) -> lsp::DocumentSymbolResponse {
    let outline = Outline { document, client };
    let tree = outline.block(document.analysis().parsed.tree.root());
    if client.hierarchical_symbols {
        return tree.into();
    }
    let mut flat = Vec::new();
    flatten(tree, uri, None, &mut flat);
    flat.into()
}

struct Outline<'a> {
    document: &'a Document,
    client: &'a Client,
}

impl Outline<'_> {
    /// The symbols of a text or region. Modules nest no deeper than the parser lets them.
    fn block(&self, block: Node<'_>) -> Vec<lsp::DocumentSymbol> {
        block.children().filter_map(|statement| self.statement(statement)).collect()
    }

    fn statement(&self, statement: Node<'_>) -> Option<lsp::DocumentSymbol> {
        if statement.kind() == Kind::Alias {
            let (name, value) = (statement.child(0)?, statement.child(1));
            let mut symbol = self.symbol(name.text(), lsp::SymbolKind::Struct, statement.span(), name.span());
            symbol.detail = value.map(|value| value.text().to_string());
            return Some(symbol);
        }
        let op = Op::cast(statement)?;
        match op.name() {
            "module" | "builtin.module" => {
                let (name, place) = match op.symbol() {
                    Some((symbol, _)) => (symbol.text(), symbol.span()),
                    None => ("module", op.name_span()),
                };
                let mut symbol = self.symbol(name, lsp::SymbolKind::Module, op.span(), place);
                symbol.children = Some(op.regions().flat_map(|region| self.block(region)).collect());
                Some(symbol)
            }
            "func.func" => {
                let (name, arguments) = op.symbol()?;
                let mut symbol = self.symbol(name.text(), lsp::SymbolKind::Function, op.span(), name.span());
                symbol.detail = arguments.map(|arguments| arguments.node().text().to_string());
                Some(symbol)
            }
            ".arg" => {
                let value = *op.operands().first()?;
                let mut symbol = self.symbol(value.text(), lsp::SymbolKind::Variable, op.span(), value.span());
                symbol.detail = op.types().first().map(|ty| ty.text().to_string());
                Some(symbol)
            }
            _ => None,
        }
    }

    fn symbol(&self, name: &str, kind: lsp::SymbolKind, whole: Span, place: Span) -> lsp::DocumentSymbol {
        let range = |span| self.document.text.range(span, self.client.encoding);
        #[expect(deprecated, reason = "a field that the structure still has")]
        lsp::DocumentSymbol {
            name: name.to_string(),
            detail: None,
            kind,
            tags: None,
            deprecated: None,
            range: range(whole),
            selection_range: range(place),
            children: None,
        }
    }
}

fn flatten(
    symbols: Vec<lsp::DocumentSymbol>,
    uri: &lsp::Uri,
    container: Option<&str>,
    flat: &mut Vec<lsp::SymbolInformation>,
) {
    for symbol in symbols {
        #[expect(deprecated, reason = "a field that the structure still has")]
        flat.push(lsp::SymbolInformation {
            deprecated: None,
            location: lsp::Location { uri: uri.clone(), range: symbol.range },
            base_symbol_information: lsp::BaseSymbolInformation {
                name: symbol.name.clone(),
                kind: symbol.kind,
                tags: None,
                container_name: container.map(Into::into),
            },
        });
        flatten(symbol.children.unwrap_or_default(), uri, Some(&symbol.name), flat);
    }
}
