//! Types and attributes with parameters, dimensions, aliases.

use crate::syntax::{Kind, Node, Tree};
use std::collections::HashMap;

/// One parameter of a type or attribute: what stands between two commas.
#[derive(Clone, Debug)]
pub struct Parameter<'t> {
    /// The key of `key=value`.
    pub key: Option<&'t str>,
    /// The terms of the value; one in all common cases, two in `#pto<coalesce row>`.
    pub terms: Vec<Node<'t>>,
}

/// A type or attribute: a name with or without parameters.
///
/// ```
/// use pto_text::{Source, parse, view::{Op, TypeView, dimensions}};
/// let parsed = parse(&Source::new("t", ".arg %t : !pto.tile_buf<vec, 8x32xf32, valid=8x?, pad=0>"));
/// let ty = TypeView::cast(Op::all(parsed.tree.root()).next().unwrap().types()[0]).unwrap();
/// assert_eq!((ty.name(), ty.is_dialect()), ("pto.tile_buf", true));
/// assert_eq!(dimensions(ty.parameter("valid").unwrap().terms[0]), Some(vec![Some(8), None]));
/// assert_eq!(ty.parameters().len(), 4);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TypeView<'t> {
    node: Node<'t>,
    name: Node<'t>,
}

impl<'t> TypeView<'t> {
    /// Reads a node as a type or attribute; `None` if it is neither. A bare word is a type without parameters.
    pub fn cast(node: Node<'t>) -> Option<Self> {
        let name = match node.kind() {
            Kind::Word => node,
            Kind::Type | Kind::Attr | Kind::Generic => node.child(0)?,
            _ => return None,
        };
        Some(Self { node, name })
    }

    /// The node.
    pub fn node(self) -> Node<'t> {
        self.node
    }

    /// The name without `!` or `#`: `pto.tile_buf`, `f32`.
    pub fn name(self) -> &'t str {
        self.name.text()
    }

    /// Whether it is written `!name` or `#name`.
    pub fn is_dialect(self) -> bool {
        matches!(self.node.kind(), Kind::Type | Kind::Attr)
    }

    /// The parameters, in order.
    pub fn parameters(self) -> Vec<Parameter<'t>> {
        let Some(list) = self.node.child(1) else { return Vec::new() };
        let read = |terms: Vec<Node<'t>>| match terms.as_slice() {
            [entry] if entry.kind() == Kind::Entry => {
                let mut parts = entry.children();
                Parameter { key: parts.next().map(Node::text), terms: parts.collect() }
            }
            _ => Parameter { key: None, terms },
        };
        list.elements().map(read).collect()
    }

    /// A parameter by its key.
    pub fn parameter(self, key: &str) -> Option<Parameter<'t>> {
        self.parameters().into_iter().find(|parameter| parameter.key == Some(key))
    }
}

/// The dimensions of a [`Kind::Shape`] or [`Kind::Shaped`] node, `None` in the place of `?`. A lone `?` or integer is one
/// dimension, and `0x8`, which is also how the number 8 is written, is two: call this only where dimensions stand.
///
/// The result is `None` if the node holds no dimensions, or one that does not fit 64 bits.
pub fn dimensions(node: Node<'_>) -> Option<Vec<Option<u64>>> {
    let shape = if node.kind() == Kind::Shaped { node.child(0)? } else { node };
    if !matches!(shape.kind(), Kind::Shape | Kind::Int | Kind::Punct) {
        return None;
    }
    let text = shape.text();
    let text = text.strip_suffix('x').unwrap_or(text);
    text.split('x').map(|dim| if dim == "?" { Some(None) } else { dim.parse().ok().map(Some) }).collect()
}

/// The aliases that a text defines.
///
/// ```
/// use pto_text::{Source, parse, view::{Aliases, Op}};
/// let parsed = parse(&Source::new("t", "!e = f32\n!t = !e\n.arg %a : !t"));
/// let aliases = Aliases::of(&parsed.tree);
/// let ty = Op::all(parsed.tree.root()).next().unwrap().types()[0];
/// assert_eq!(aliases.resolve(ty).text(), "f32");
/// ```
#[derive(Clone, Debug)]
pub struct Aliases<'t> {
    /// By name, sigil included.
    defined: HashMap<&'t str, Node<'t>>,
}

impl<'t> Aliases<'t> {
    /// Collects the aliases of a tree. Of two with one name, which is an error, the first counts.
    pub fn of(tree: &'t Tree) -> Self {
        let mut defined = HashMap::new();
        for alias in tree.root().children().filter(|child| child.kind() == Kind::Alias) {
            if let (Some(name), Some(value)) = (alias.child(0), alias.child(1)) {
                defined.entry(name.text()).or_insert(value);
            }
        }
        Self { defined }
    }

    /// What a type or attribute stands for; itself if it is no alias. What stands inside its parameters is not
    /// resolved, and may be resolved without fear of a cycle: an alias uses only those above it.
    pub fn resolve(&self, node: Node<'t>) -> Node<'t> {
        let mut node = node;
        // A chain is no longer than there are aliases; with errors in the text it may be a circle.
        for _ in 0..self.defined.len() {
            match self.defined.get(node.text()) {
                Some(value) if matches!(node.kind(), Kind::Type | Kind::Attr) && node.len() == 1 => node = *value,
                _ => break,
            }
        }
        node
    }
}

impl<'t> Aliases<'t> {
    /// The text of neighbouring nodes with every alias in it replaced by what it stands for: it means the same in a file
    /// without them. `None` if that takes more than `budget` bytes, or aliases nest too deep.
    pub(crate) fn expand(&self, nodes: &[Node<'t>], budget: &mut usize) -> Option<String> {
        let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else { return Some(String::new()) };
        let mut out = String::new();
        let mut at = first.span().start;
        for node in nodes {
            self.expand_into(*node, &mut at, &mut out, budget, crate::MAX_DEPTH)?;
        }
        self.copy(*first, at, last.span().end, &mut out, budget)?;
        Some(out)
    }

    /// Copies what lies before the aliases in a node, and their expansions.
    fn expand_into(
        &self,
        node: Node<'t>,
        at: &mut u32,
        out: &mut String,
        budget: &mut usize,
        depth: u32,
    ) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        if matches!(node.kind(), Kind::Type | Kind::Attr) && node.len() == 1 {
            let meant = self.resolve(node);
            if meant.id() != node.id() {
                self.copy(node, *at, node.span().start, out, budget)?;
                let mut inner = meant.span().start;
                self.expand_into(meant, &mut inner, out, budget, depth)?;
                self.copy(node, inner, meant.span().end, out, budget)?;
                *at = node.span().end;
            }
            return Some(());
        }
        node.children().try_for_each(|child| self.expand_into(child, at, out, budget, depth))
    }

    fn copy(&self, of: Node<'t>, from: u32, to: u32, out: &mut String, budget: &mut usize) -> Option<()> {
        let text = of.tree().source().slice(crate::Span::new(from.min(to), to));
        *budget = budget.checked_sub(text.len())?;
        out.push_str(text);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::Op;
    use crate::{Source, parse};

    #[test]
    fn dimensions_in_every_writing() {
        let parsed =
            parse(&Source::new("t", "x : !a.b<8x?xf32, v=0x8, ?, 4, 2x3, f32, 0xf32, 99999999999999999999x1>"));
        assert!(parsed.is_clean(), "{:?}", parsed.diagnostics);
        let ty = TypeView::cast(Op::all(parsed.tree.root()).next().unwrap().types()[0]).unwrap();
        let all: Vec<_> = ty.parameters().iter().map(|parameter| dimensions(parameter.terms[0])).collect();
        let known = |dims: &[u64]| Some(dims.iter().map(|&dim| Some(dim)).collect::<Vec<_>>());
        assert_eq!(
            all,
            [
                Some(vec![Some(8), None]),
                known(&[0, 8]),
                Some(vec![None]),
                known(&[4]),
                known(&[2, 3]),
                None,
                known(&[0]),
                None,
            ]
        );
    }

    #[test]
    fn a_circle_of_aliases_ends() {
        let parsed = parse(&Source::new("t", "!a = !b\n!b = !a\nx : !a"));
        assert!(!parsed.is_clean());
        let ty = Op::all(parsed.tree.root()).next().unwrap().types()[0];
        Aliases::of(&parsed.tree).resolve(ty);
    }
}
