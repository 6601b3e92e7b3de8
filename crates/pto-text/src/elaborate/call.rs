//! An operation taken apart: one pass over its terms, whichever spelling they are in.

use crate::syntax::{Kind, Node};
use crate::view::{Arguments, Entry, Op, type_list};

/// A value where it is used, with the type that the text gives it there.
#[derive(Clone, Copy)]
pub(super) struct Arg<'t> {
    pub(super) node: Node<'t>,
    pub(super) ty: Option<Node<'t>>,
}

/// The parts of an operation.
pub(super) struct Call<'t> {
    pub(super) op: Op<'t>,
    /// The suffixes of a PTO-AS name: `row.clamp` of `mscatter.row.clamp`.
    pub(super) suffixes: &'t str,
    /// Values directly behind the name, or in the parentheses of the generic form.
    pub(super) operands: Vec<Node<'t>>,
    /// Of the generic form, the operands that the other forms write behind a name.
    pub(super) segments: Vec<(&'static str, Vec<Node<'t>>)>,
    /// Types behind `:`.
    pub(super) types: Vec<Node<'t>>,
    /// Types behind `->`.
    pub(super) result_types: Vec<Node<'t>>,
    pub(super) ins: Option<Arguments<'t>>,
    pub(super) outs: Option<Arguments<'t>>,
    /// The parentheses directly behind the name, where they are not those of the generic form.
    pub(super) direct: Option<Arguments<'t>>,
    /// `key = value` in the body.
    pub(super) entries: Vec<Entry<'t>>,
    /// The dictionaries and properties, the one in `ins(...)` included.
    pub(super) attributes: Vec<Entry<'t>>,
    /// Lists in square brackets.
    pub(super) brackets: Vec<Node<'t>>,
    pub(super) regions: Vec<Node<'t>>,
    pub(super) locations: Vec<Node<'t>>,
    /// Everything else: words, literals, calls.
    pub(super) rest: Vec<Node<'t>>,
}

impl<'t> Call<'t> {
    pub(super) fn read(op: Op<'t>, suffixes: &'t str) -> Self {
        let mut call = Self {
            op,
            suffixes,
            operands: Vec::new(),
            segments: Vec::new(),
            types: Vec::new(),
            result_types: Vec::new(),
            ins: None,
            outs: None,
            direct: None,
            entries: Vec::new(),
            attributes: Vec::new(),
            brackets: Vec::new(),
            regions: Vec::new(),
            locations: Vec::new(),
            rest: Vec::new(),
        };
        for (at, term) in op.body().enumerate() {
            call.term(at, term);
        }
        call
    }

    fn term(&mut self, at: usize, term: Node<'t>) {
        match term.kind() {
            Kind::Value => self.operands.push(term),
            Kind::Types => self.types = type_list(term),
            Kind::Results => self.result_types = type_list(term),
            Kind::Dict => self.attributes.extend(term.children().filter_map(Entry::cast)),
            Kind::Angle if term.child(0).is_some_and(|inner| inner.kind() == Kind::Dict) => {
                self.attributes.extend(term.children().flat_map(Node::children).filter_map(Entry::cast));
            }
            Kind::Entry => self.entries.extend(Entry::cast(term)),
            Kind::Bracket => self.brackets.push(term),
            Kind::Region => self.regions.push(term),
            Kind::Call => self.call(term),
            Kind::Paren if at == 0 && !self.op.is_generic() => self.direct = Some(Arguments::of_group(term)),
            Kind::Paren => {
                for inner in term.children() {
                    match inner.kind() {
                        Kind::Value => self.operands.push(inner),
                        Kind::Region => self.regions.push(inner),
                        _ => self.rest.push(inner),
                    }
                }
            }
            _ => self.rest.push(term),
        }
    }

    fn call(&mut self, term: Node<'t>) {
        match term.child(0).map(Node::text) {
            Some("ins") => {
                self.ins = Arguments::of_call(term, "ins");
                let dictionaries = self.ins.into_iter().flat_map(|ins| ins.node().children());
                let dictionaries = dictionaries.filter(|inner| inner.kind() == Kind::Dict);
                self.attributes.extend(dictionaries.flat_map(Node::children).filter_map(Entry::cast));
            }
            Some("outs") => self.outs = Arguments::of_call(term, "outs"),
            // Where an operation came from says nothing about what it does.
            Some("loc") => self.locations.push(term),
            _ => self.rest.push(term),
        }
    }

    /// The operands behind a name, where the generic form gives them.
    pub(super) fn segment(&self, key: &str) -> Option<&[Node<'t>]> {
        self.segments.iter().find(|(name, _)| *name == key).map(|(_, nodes)| nodes.as_slice())
    }

    pub(super) fn entry(&self, key: &str) -> Option<Entry<'t>> {
        self.entries.iter().copied().find(|entry| entry.name() == key)
    }

    pub(super) fn attribute(&self, key: &str) -> Option<Entry<'t>> {
        self.attributes.iter().copied().find(|entry| entry.name() == key)
    }

    /// The operands with their types, where the text gives as many types as operands.
    pub(super) fn typed_operands(&self) -> Vec<Arg<'t>> {
        zip(&self.operands, &self.types)
    }
}

/// Values with their types; without types where their numbers differ, which is reported elsewhere.
pub(super) fn zip<'t>(values: &[Node<'t>], types: &[Node<'t>]) -> Vec<Arg<'t>> {
    let paired = values.len() == types.len();
    values.iter().enumerate().map(|(at, node)| Arg { node: *node, ty: paired.then(|| types[at]) }).collect()
}

/// The values of `ins(...)` or `outs(...)`.
pub(super) fn values<'t>(arguments: Arguments<'t>) -> Vec<Arg<'t>> {
    let values: Vec<Node<'t>> = arguments.node().children().filter(|term| term.kind() == Kind::Value).collect();
    zip(&values, &arguments.types())
}
