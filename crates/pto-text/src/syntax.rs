//! The syntax tree: one flat arena of nodes, the same shape for every spelling.
//!
//! A node is a leaf (a token) or a list of *terms*. There is no node kind per operation: an operation is its results,
//! its name and the terms behind it, exactly as written, and [`view`](crate::view) reads operands, attributes and types
//! out of that. A term that follows a comma carries a flag that says so ([`Node::after_comma`]); commas, blanks,
//! comments and `;` are not nodes.
//!
//! | text | node |
//! | --- | --- |
//! | `%a` `@f` `^bb` `12` `1.0` `"s"` `slt` | [`Kind::Value`] [`Kind::Symbol`] [`Kind::Label`] [`Kind::Int`] [`Kind::Float`] [`Kind::Str`] [`Kind::Word`] |
//! | `ins(%a, %b : T, U)` `@tile(0x1000)` | [`Kind::Call`] of the name and a [`Kind::Paren`] |
//! | `( … )` `[ … ]` `< … >` `{ … }` | [`Kind::Paren`] [`Kind::Bracket`] [`Kind::Angle`] [`Kind::Dict`] of their terms |
//! | `key = value` | [`Kind::Entry`] of key and value(s) |
//! | `: T, U` and `-> T` | [`Kind::Types`] and [`Kind::Results`] of types |
//! | `!pto.tile<…>` `#pto.layout<…>` `memref<…>` | [`Kind::Type`] [`Kind::Attr`] [`Kind::Generic`] of a name and, with parameters, an [`Kind::Angle`] |
//! | `8x?xf32` | [`Kind::Shaped`] of a [`Kind::Shape`] and the element type |
//! | `{ ops }` | [`Kind::Region`] of operations and block heads |
//!
//! Locations (`loc(...)`) are terms like others: they are kept and printed.
//!
//! Two trees are equal ([`Tree::same_as`]) if their nodes are: spans, blanks, comments, `;`, and a missing `!` before a
//! `pto.` type do not count.

use crate::source::Source;
use crate::span::Span;

/// What a node is. See the table in the [module](self) for what each looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// The whole text: operations and aliases.
    File,
    /// An operation: results ([`Kind::Value`] or [`Kind::Pack`]), then a [`Kind::Name`], then its terms.
    Op,
    /// `!name = type` or `#name = attribute`: the name as a [`Kind::Type`] or [`Kind::Attr`], then the terms it stands for.
    Alias,
    /// The head of a block, `^bb0(%a: T):`, a [`Kind::Label`] or a [`Kind::Call`].
    Block,
    /// Braces around operations.
    Region,
    /// Several results under one name, `%pair:2`: the value and the count.
    Pack,
    /// The name of an operation; in the generic form with its quotes.
    Name,
    /// A name followed by arguments.
    Call,
    /// Parentheses.
    Paren,
    /// Square brackets.
    Bracket,
    /// Angle brackets.
    Angle,
    /// Braces around attributes.
    Dict,
    /// `key = value`.
    Entry,
    /// Types behind a colon.
    Types,
    /// Types behind an arrow.
    Results,
    /// A type of a dialect, or a type alias: the name without `!`, then parameters.
    Type,
    /// An attribute of a dialect, or an attribute alias: the name without `#`, then parameters.
    Attr,
    /// A bare name with parameters: `memref<…>`, `strided<…>`, `dense<…>`.
    Generic,
    /// Dimensions with their element type.
    Shaped,
    /// Dimensions: `8x?x` before an element type, `8x?` alone.
    Shape,
    /// An SSA value.
    Value,
    /// A symbol.
    Symbol,
    /// A block name.
    Label,
    /// A bare word: a keyword, a built-in type, an enumerator.
    Word,
    /// An integer.
    Int,
    /// A floating-point number.
    Float,
    /// A string with its quotes.
    Str,
    /// A lone operator: `?`, `*`, `+`, `:` where no type follows, ...
    Punct,
}

impl Kind {
    /// Whether nodes of this kind are tokens, told apart by their text.
    pub const fn is_leaf(self) -> bool {
        use Kind::*;
        matches!(self, Name | Shape | Value | Symbol | Label | Word | Int | Float | Str | Punct)
    }
}

/// The index of a node in its [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(crate) u32);

/// A node as the arena holds it: 20 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) span: Span,
    /// Where the children begin in [`Tree::children`], and how many they are.
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) kind: Kind,
    pub(crate) comma: bool,
}

/// A parsed text.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(crate) source: Source,
    pub(crate) slots: Vec<Slot>,
    pub(crate) children: Vec<NodeId>,
    pub(crate) comments: Vec<Span>,
    pub(crate) root: NodeId,
}

impl Tree {
    /// The text that was parsed.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The node of the whole text.
    pub fn root(&self) -> Node<'_> {
        self.node(self.root)
    }

    /// The node with this index.
    ///
    /// # Panics
    ///
    /// If the index comes from a larger tree.
    pub fn node(&self, id: NodeId) -> Node<'_> {
        assert!((id.0 as usize) < self.slots.len(), "a node of another tree");
        Node { tree: self, id }
    }

    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.slots.len()
    }

    /// The nodes that hold a byte offset, from the whole text to the smallest: what an editor points at.
    ///
    /// ```
    /// use pto_text::{Kind, Source, parse};
    /// let tree = parse(&Source::new("t", "pto.tload ins(%a : f32)")).tree;
    /// let kinds: Vec<Kind> = tree.path_at(15).iter().map(|node| node.kind()).collect();
    /// assert_eq!(kinds, [Kind::File, Kind::Op, Kind::Call, Kind::Paren, Kind::Value]);
    /// ```
    pub fn path_at(&self, offset: u32) -> Vec<Node<'_>> {
        let mut path = vec![self.root()];
        while let Some(node) = path.last() {
            let Slot { first, count, .. } = *node.slot();
            let children = &self.children[first as usize..(first + count) as usize];
            // Children stand in the order of the text and do not overlap.
            let at = children.partition_point(|child| self.slots[child.0 as usize].span.end <= offset);
            match children.get(at) {
                Some(&child) if self.slots[child.0 as usize].span.start <= offset => path.push(self.node(child)),
                _ => break,
            }
        }
        path
    }

    /// The places of all comments, in order. A comment runs from its `//` or `#` to the end of its line.
    pub fn comments(&self) -> &[Span] {
        &self.comments
    }

    /// Whether two texts say the same, whatever their blanks and comments.
    ///
    /// ```
    /// use pto_text::{Source, parse};
    /// let tree = |text: &str| parse(&Source::new("t", text)).tree;
    /// assert!(tree("pto.tmov %a,%b : f32").same_as(&tree("pto.tmov %a, // from\n  %b: f32;")));
    /// assert!(!tree("pto.tmov %a, %b : f32").same_as(&tree("pto.tmov %a %b : f32")));
    /// ```
    pub fn same_as(&self, other: &Self) -> bool {
        // Nodes are stored in the order in which they are finished, which the text alone decides.
        self.slots.len() == other.slots.len()
            && self.slots.iter().zip(&other.slots).all(|(a, b)| {
                a.kind == b.kind
                    && a.count == b.count
                    && a.comma == b.comma
                    && (!a.kind.is_leaf() || self.source.slice(a.span) == other.source.slice(b.span))
            })
    }
}

/// A node of a tree, as a cheap handle.
#[derive(Clone, Copy)]
pub struct Node<'t> {
    tree: &'t Tree,
    id: NodeId,
}

impl<'t> Node<'t> {
    fn slot(self) -> &'t Slot {
        &self.tree.slots[self.id.0 as usize]
    }

    /// The node's index, for tables beside the tree.
    pub fn id(self) -> NodeId {
        self.id
    }

    /// The tree it belongs to.
    pub fn tree(self) -> &'t Tree {
        self.tree
    }

    /// What it is.
    pub fn kind(self) -> Kind {
        self.slot().kind
    }

    /// Its place.
    pub fn span(self) -> Span {
        self.slot().span
    }

    /// Its text as written, from its first to its last character.
    pub fn text(self) -> &'t str {
        self.tree.source.slice(self.span())
    }

    /// Whether a comma stands between it and the term before it.
    pub fn after_comma(self) -> bool {
        self.slot().comma
    }

    /// Number of children.
    pub fn len(self) -> usize {
        self.slot().count as usize
    }

    /// Whether it has no children.
    pub fn is_empty(self) -> bool {
        self.slot().count == 0
    }

    /// Its children in order.
    pub fn children(self) -> impl DoubleEndedIterator<Item = Node<'t>> + ExactSizeIterator + Clone + 't {
        let Slot { first, count, .. } = *self.slot();
        let tree = self.tree;
        tree.children[first as usize..(first + count) as usize].iter().map(move |&id| Node { tree, id })
    }

    /// One of its children.
    pub fn child(self, index: usize) -> Option<Node<'t>> {
        self.children().nth(index)
    }

    /// Its children in groups: each holds the terms between two commas.
    ///
    /// ```
    /// use pto_text::{Source, parse};
    /// let parsed = parse(&Source::new("t", "a.b(%a : i8, %b : i16 {x})"));
    /// let op = parsed.tree.root().child(0).unwrap();
    /// let parts: Vec<usize> = op.child(1).unwrap().elements().map(|terms| terms.len()).collect();
    /// assert_eq!(parts, [2, 3]);
    /// ```
    pub fn elements(self) -> impl Iterator<Item = Vec<Node<'t>>> + 't {
        let mut rest = self.children().peekable();
        std::iter::from_fn(move || {
            let mut group = vec![rest.next()?];
            while let Some(term) = rest.next_if(|term| !term.after_comma()) {
                group.push(term);
            }
            Some(group)
        })
    }
}

impl std::fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{:?}", if self.after_comma() { "," } else { "" }, self.kind())?;
        if self.kind().is_leaf() {
            write!(f, " {:?}", self.text())
        } else {
            f.debug_list().entries(self.children()).finish()
        }
    }
}
