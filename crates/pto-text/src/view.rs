//! What the terms of a tree say: operations, arguments, dictionaries and types, read out of the one generic shape.
//!
//! These views are the way from syntax to a program. They know the regular forms (operands, `ins(...)`, `key = value`,
//! `{attributes}`, `: types -> types`, regions) and nothing about any operation.
//!
//! ```
//! use pto_text::{Source, parse, view::Op};
//! let text = "pto.mscatter ins(%s, %i : f32, i32) outs(%m : f32) {coalesce = #pto<coalesce row>}";
//! let parsed = parse(&Source::new("k", text));
//! let op = Op::all(parsed.tree.root()).next().unwrap();
//! assert_eq!(op.name(), "pto.mscatter");
//! let ins = op.arguments("ins").unwrap();
//! let (values, types) = (ins.values(), ins.types());
//! assert_eq!((values[1].text(), types[1].text()), ("%i", "i32"));
//! assert_eq!(op.attribute("coalesce").unwrap().value.unwrap().text(), "#pto<coalesce row>");
//! ```

mod literals;
mod types;

pub use literals::{integer, string};
pub use types::{Aliases, Parameter, TypeView, dimensions};

use crate::span::Span;
use crate::syntax::{Kind, Node};

/// An operation.
#[derive(Clone, Copy, Debug)]
pub struct Op<'t> {
    node: Node<'t>,
    name: Node<'t>,
}

impl<'t> Op<'t> {
    /// Reads a node as an operation; `None` if it is none.
    pub fn cast(node: Node<'t>) -> Option<Self> {
        if node.kind() != Kind::Op {
            return None;
        }
        let name = node.children().find(|child| child.kind() == Kind::Name)?;
        Some(Self { node, name })
    }

    /// The operations of a text or region, in order.
    pub fn all(block: Node<'t>) -> impl Iterator<Item = Self> + 't {
        block.children().filter_map(Self::cast)
    }

    /// The node.
    pub fn node(self) -> Node<'t> {
        self.node
    }

    /// The whole operation, regions included.
    pub fn span(self) -> Span {
        self.node.span()
    }

    /// The name, without the quotes of the generic form.
    pub fn name(self) -> &'t str {
        self.name.text().trim_matches('"')
    }

    /// Where the name stands.
    pub fn name_span(self) -> Span {
        self.name.span()
    }

    /// Whether it is written in the generic form, `"name"(...)`.
    pub fn is_generic(self) -> bool {
        self.name.text().starts_with('"')
    }

    /// The results: the value and how many stand under its name (1 unless it is written `%r:n`).
    pub fn results(self) -> impl Iterator<Item = (Node<'t>, u32)> + 't {
        let before_name = self.node.children().take_while(|child| child.kind() != Kind::Name);
        before_name.map(|result| match (result.kind(), result.child(0), result.child(1)) {
            (Kind::Pack, Some(value), Some(count)) => (value, count.text().parse().unwrap_or(1)),
            _ => (result, 1),
        })
    }

    /// The terms behind the name.
    pub fn body(self) -> impl Iterator<Item = Node<'t>> + Clone + 't {
        self.node.children().skip_while(|child| child.kind() != Kind::Name).skip(1)
    }

    /// The values that stand directly behind the name; in the generic form those in the first parentheses.
    pub fn operands(self) -> Vec<Node<'t>> {
        let values = |terms: &mut dyn Iterator<Item = Node<'t>>| terms.filter(|t| t.kind() == Kind::Value).collect();
        match self.body().next() {
            Some(first) if self.is_generic() && first.kind() == Kind::Paren => values(&mut first.children()),
            _ => values(&mut self.body()),
        }
    }

    /// The arguments behind a keyword: `ins(...)`, `recv(...)`.
    pub fn arguments(self, keyword: &str) -> Option<Arguments<'t>> {
        self.body().find_map(|term| Arguments::of_call(term, keyword))
    }

    /// The parentheses directly behind the name: `pto.comm.tscatter(...)`.
    pub fn direct_arguments(self) -> Option<Arguments<'t>> {
        let first = self.body().next()?;
        (first.kind() == Kind::Paren).then_some(Arguments { group: first })
    }

    /// The value of `key = value` in the body: `addr`, `shape`, `offsets`.
    pub fn entry(self, key: &str) -> Option<Entry<'t>> {
        self.body().filter_map(Entry::cast).find(|entry| entry.value.is_some() && entry.name() == key)
    }

    /// The attributes, of the dictionaries `{...}` and of the properties `<{...}>`, in order.
    pub fn attributes(self) -> impl Iterator<Item = Entry<'t>> + 't {
        let dictionaries = self.body().filter_map(|term| match term.kind() {
            Kind::Dict => Some(term),
            Kind::Angle => term.child(0).filter(|inner| inner.kind() == Kind::Dict),
            _ => None,
        });
        dictionaries.flat_map(|dictionary| dictionary.children().filter_map(Entry::cast))
    }

    /// An attribute by its name.
    pub fn attribute(self, key: &str) -> Option<Entry<'t>> {
        self.attributes().find(|entry| entry.name() == key)
    }

    /// The types behind the colon; parentheses around the list are opened.
    pub fn types(self) -> Vec<Node<'t>> {
        self.typed(Kind::Types)
    }

    /// The types behind the arrow; parentheses around the list are opened.
    pub fn result_types(self) -> Vec<Node<'t>> {
        self.typed(Kind::Results)
    }

    fn typed(self, kind: Kind) -> Vec<Node<'t>> {
        self.body().find(|term| term.kind() == kind).map_or_else(Vec::new, type_list)
    }

    /// The regions, those in the parentheses of the generic form included.
    pub fn regions(self) -> impl Iterator<Item = Node<'t>> + 't {
        let of = |term: Node<'t>| term.children().filter(|inner| inner.kind() == Kind::Region);
        self.body().flat_map(move |term| {
            let inside = (term.kind() == Kind::Paren).then(|| of(term));
            (term.kind() == Kind::Region).then_some(term).into_iter().chain(inside.into_iter().flatten())
        })
    }

    /// The symbol that the operation defines or names, and its arguments if it has any: `@k(...)`.
    pub fn symbol(self) -> Option<(Node<'t>, Option<Arguments<'t>>)> {
        self.body().find_map(|term| match (term.kind(), term.child(0), term.child(1)) {
            (Kind::Symbol, ..) => Some((term, None)),
            (Kind::Call, Some(name), Some(group)) if name.kind() == Kind::Symbol => {
                Some((name, Some(Arguments { group })))
            }
            _ => None,
        })
    }

    /// Whether a bare word stands in the body: `private`.
    pub fn has_word(self, word: &str) -> bool {
        self.body().any(|term| term.kind() == Kind::Word && term.text() == word)
    }
}

/// The types of a [`Kind::Types`] or [`Kind::Results`] node; one pair of parentheses around them is opened.
pub(crate) fn type_list(node: Node<'_>) -> Vec<Node<'_>> {
    let list = match node.child(0) {
        Some(only) if node.len() == 1 && only.kind() == Kind::Paren => only,
        _ => node,
    };
    // A dictionary behind a result type belongs to the result, not to the list.
    list.children().filter(|term| term.kind() != Kind::Dict).collect()
}

/// What stands in parentheses: `(%a, %b : T, U)` or `(%a: T, %b: U {attr})`.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'t> {
    group: Node<'t>,
}

impl<'t> Arguments<'t> {
    /// The arguments of `keyword(...)`, if the term is that.
    pub fn of_call(term: Node<'t>, keyword: &str) -> Option<Self> {
        let named = term.kind() == Kind::Call && term.child(0)?.text() == keyword;
        named.then(|| term.child(1)).flatten().map(|group| Self { group })
    }

    /// The arguments in a pair of parentheses.
    pub(crate) fn of_group(group: Node<'t>) -> Self {
        Self { group }
    }

    /// The parentheses.
    pub fn node(self) -> Node<'t> {
        self.group
    }

    /// Everything that is not a type: values, calls such as `recv(...)`, dictionaries, and strings behind the types.
    pub fn values(self) -> Vec<Node<'t>> {
        self.group.children().filter(|term| term.kind() != Kind::Types).collect()
    }

    /// The types, in order, whether they stand together at the end or each behind its value.
    pub fn types(self) -> Vec<Node<'t>> {
        self.group.children().filter(|term| term.kind() == Kind::Types).flat_map(type_list).collect()
    }

    /// Each value with its own type, as parameters are written; a declaration's parameter may be a type alone.
    pub fn parameters(self) -> impl Iterator<Item = (Node<'t>, Option<Node<'t>>)> + 't {
        self.group.elements().filter_map(|terms| {
            let typed = terms.iter().find(|term| term.kind() == Kind::Types);
            Some((*terms.first()?, typed.and_then(|types| types.child(0))))
        })
    }
}

/// `key = value`, or a key alone (a unit attribute).
#[derive(Clone, Copy, Debug)]
pub struct Entry<'t> {
    /// The whole.
    pub node: Node<'t>,
    /// The key.
    pub key: Node<'t>,
    /// The value, without its type; `None` for a key alone.
    pub value: Option<Node<'t>>,
    /// The type behind the value: `i32` in `1 : i32`.
    pub ty: Option<Node<'t>>,
}

impl<'t> Entry<'t> {
    /// Reads a node as an entry; `None` if it is none.
    pub fn cast(node: Node<'t>) -> Option<Self> {
        match node.kind() {
            Kind::Word | Kind::Str => Some(Self { node, key: node, value: None, ty: None }),
            Kind::Entry => {
                let typed = node.children().skip(2).find(|term| term.kind() == Kind::Types);
                let ty = typed.and_then(|types| types.child(0));
                Some(Self { node, key: node.child(0)?, value: node.child(1), ty })
            }
            _ => None,
        }
    }

    /// The key, without quotes.
    pub fn name(self) -> &'t str {
        self.key.text().trim_matches('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, parse};

    fn with_op(text: &str, check: impl Fn(Op<'_>)) {
        let parsed = parse(&Source::new("t", text));
        assert!(parsed.is_clean(), "{:?}", parsed.diagnostics);
        check(Op::all(parsed.tree.root()).next().unwrap());
    }

    fn texts(nodes: Vec<Node<'_>>) -> Vec<&str> {
        nodes.iter().map(|node| node.text()).collect()
    }

    #[test]
    fn ssa_form() {
        with_op("%a, %b:2 = pto.op %x, %y {k = 1 : i32, unit} : (i8, i16) -> (f32, f16 {n})", |op| {
            let results: Vec<_> = op.results().map(|(value, count)| (value.text(), count)).collect();
            assert_eq!(results, [("%a", 1), ("%b", 2)]);
            assert_eq!(texts(op.operands()), ["%x", "%y"]);
            assert_eq!(texts(op.types()), ["i8", "i16"]);
            assert_eq!(texts(op.result_types()), ["f32", "f16"]);
            let k = op.attribute("k").unwrap();
            assert_eq!((k.value.unwrap().text(), k.ty.unwrap().text()), ("1", "i32"));
            assert!(op.attribute("unit").unwrap().value.is_none());
            assert!(op.attribute("absent").is_none());
        });
    }

    #[test]
    fn generic_form() {
        with_op("%r = \"a.b\"(%x) <{p = 1}> ({ return }, { return }) {q = 2} : (i8) -> i16", |op| {
            assert_eq!((op.name(), op.is_generic()), ("a.b", true));
            assert_eq!(texts(op.operands()), ["%x"]);
            assert_eq!(op.attributes().map(Entry::name).collect::<Vec<_>>(), ["p", "q"]);
            assert_eq!(op.regions().count(), 2);
        });
    }

    #[test]
    fn functions() {
        with_op("func.func private @f(%a: i8, %b: i16 {x}) -> i1 attributes {y} { return }", |op| {
            let (symbol, arguments) = op.symbol().unwrap();
            assert_eq!(symbol.text(), "@f");
            let parameters: Vec<_> =
                arguments.unwrap().parameters().map(|(value, ty)| (value.text(), ty.unwrap().text())).collect();
            assert_eq!(parameters, [("%a", "i8"), ("%b", "i16")]);
            assert!(op.has_word("private") && op.attribute("y").is_some());
            assert_eq!(op.regions().flat_map(Op::all).map(Op::name).collect::<Vec<_>>(), ["return"]);
        });
    }

    #[test]
    fn nested_arguments_and_entries() {
        with_op("pto.comm.tscatter(%s, recv(%p, %q), group(%g) : i1, i2) {root = 1 : i32}", |op| {
            let all = op.direct_arguments().unwrap();
            let recv = all.values().into_iter().find_map(|term| Arguments::of_call(term, "recv")).unwrap();
            assert_eq!(texts(recv.values()), ["%p", "%q"]);
            assert_eq!(texts(all.types()), ["i1", "i2"]);
        });
        with_op("pto.alloc_tile addr = %c0 valid_row = %r : i1", |op| {
            assert_eq!(op.entry("valid_row").unwrap().value.unwrap().text(), "%r");
            assert!(op.entry("valid_col").is_none());
        });
    }
}
