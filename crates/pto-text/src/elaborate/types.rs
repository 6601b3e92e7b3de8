//! Types as texts write them, read once each.
//!
//! A type is known by its text: the same spelling means the same everywhere in a file, so each is read once, however
//! often it stands there and however its aliases nest.

use std::cell::Cell;
use std::collections::HashMap;

use pto_ir::{GroupType, Type, TypeId, Types, ViewKind, ViewType};
use pto_isa::{ElementType, TensorLayout};

use super::hash::TextState;
use super::name::{Enumerator, word_of};
use crate::diagnostic::{Diagnostic, suggest};
use crate::parser::suggest_type;
use crate::rules;
use crate::syntax::{Kind, Node};
use crate::view::{Aliases, TypeView, dimensions, integer};

/// The types of the dialect that a program's values may have.
const TYPES: [&str; 8] = [
    "pto.ptr",
    "pto.tensor_view",
    "pto.partition_tensor_view",
    "pto.memref",
    "pto.tile",
    "pto.tile_buf",
    "pto.group",
    "pto.hif8",
];

/// A type as it was read.
#[derive(Clone, Copy)]
pub(super) struct Read {
    pub(super) id: TypeId,
    /// Something was wrong with it, and has been reported.
    pub(super) broken: bool,
}

pub(super) struct TypeReader<'t> {
    pub(super) aliases: Aliases<'t>,
    /// How many bytes the spellings of other dialects' types may still take, their aliases replaced.
    pub(super) budget: Cell<usize>,
    known: HashMap<&'t str, Read, TextState>,
    /// The type that is being read has elements of `index`.
    of_index: Cell<bool>,
}

/// What elements of `index` are read as, so that the other parameters of their type are judged as usual.
const STAND_IN: ElementType = ElementType::I64;

/// Why a type could not be read: boxed, since it is the rare case.
pub(super) type Refused = Box<Diagnostic>;

pub(super) fn refuse<T>(node: Node<'_>, message: String) -> Result<T, Refused> {
    Err(Box::new(Diagnostic::new(&rules::TYPE_PARAMETER, message).at(node.span())))
}

/// The type that a node of a tree spells; `None` if it is none, or one that cannot be read.
///
/// ```
/// use pto_text::{Source, parse, type_at, view::Op};
/// let parsed = parse(&Source::new("t", "!t = !pto.tile<8x32xf32>\n.arg %a : !t"));
/// let ty = Op::all(parsed.tree.root()).next().unwrap().types()[0];
/// assert_eq!(type_at(ty).unwrap().to_string(), "tile<vec f32 8x32, valid 8x32>");
/// ```
pub fn type_at(node: Node<'_>) -> Option<Type> {
    TypeReader::new(Aliases::of(node.tree())).parse(node).ok()
}

impl<'t> TypeReader<'t> {
    pub(super) fn new(aliases: Aliases<'t>) -> Self {
        // Texts without hostile aliases need a small part of this.
        Self { aliases, budget: Cell::new(16 << 20), known: HashMap::default(), of_index: Cell::new(false) }
    }

    /// Reads a type. What cannot be read is reported where it stands first, and becomes an opaque type.
    pub(super) fn read(&mut self, types: &mut Types, node: Node<'t>, found: &mut Vec<Diagnostic>) -> Read {
        if let Some(read) = self.known.get(node.text()) {
            return *read;
        }
        let read = match self.parse(node) {
            Ok(ty) => Read { id: types.intern(ty), broken: false },
            Err(diagnostic) => {
                found.push(*diagnostic);
                Read { id: types.intern(Type::Opaque(node.text().into())), broken: true }
            }
        };
        self.known.insert(node.text(), read);
        read
    }

    fn parse(&self, node: Node<'t>) -> Result<Type, Refused> {
        self.of_index.set(false);
        let ty = self.parse_any(node)?;
        if self.of_index.get() { Ok(Type::OfIndex(self.kept(node)?)) } else { Ok(ty) }
    }

    /// As it would be without the width that `index` lacks.
    fn parse_any(&self, node: Node<'t>) -> Result<Type, Refused> {
        let resolved = self.aliases.resolve(node);
        let opaque = || self.kept(node).map(Type::Opaque);
        let Some(view) = TypeView::cast(resolved) else { return opaque() };
        match view.name() {
            "index" => Ok(Type::Index),
            "i1" => Ok(Type::Boolean),
            "pto.ptr" => self.pointer(view),
            "pto.tensor_view" => Ok(Type::View(self.view(view, ViewKind::Tensor)?)),
            "pto.partition_tensor_view" => Ok(Type::View(self.view(view, ViewKind::Partition)?)),
            "pto.memref" => Ok(Type::View(self.view(view, ViewKind::MemRef)?)),
            // The built-in type carries maps and memory spaces that this instruction set has no use for.
            "memref" => self.view(view, ViewKind::MemRef).map(Type::View).or_else(|_| opaque()),
            "pto.tile" | "pto.tile_buf" => Ok(Type::Tile(self.tile(view)?)),
            "pto.group" => self.group(view),
            "pto.event" => Ok(Type::Event),
            name => match self.element(resolved) {
                Some(element) => Ok(Type::Scalar(element)),
                None => match suggest(name, TYPES).filter(|_| name.starts_with("pto.")) {
                    Some(near) => {
                        let found = Diagnostic::new(&rules::UNKNOWN_TYPE, format!("no type is called `!{name}`"));
                        Err(Box::new(found.at(resolved.span()).with_help(format!("did you mean `!{near}`?"))))
                    }
                    None => opaque(),
                },
            },
        }
    }

    /// The text of a type that is kept as it is spelt, with the `!` of the dialect where it was left out.
    fn kept(&self, node: Node<'t>) -> Result<Box<str>, Refused> {
        match self.spelt(&[self.aliases.resolve(node)]) {
            Some(text) if text.starts_with("pto.") => Ok(format!("!{text}").into()),
            Some(text) => Ok(text.into()),
            None => refuse(node, "expected a type of less than 16 MiB with its aliases written out".into()),
        }
    }

    /// The text of neighbouring nodes, their aliases replaced; `None` if that is more than a text may ask for.
    pub(super) fn spelt(&self, nodes: &[Node<'t>]) -> Option<String> {
        let mut budget = self.budget.get();
        let text = self.aliases.expand(nodes, &mut budget);
        self.budget.set(budget);
        text
    }

    /// The element type that a node names.
    pub(super) fn element(&self, node: Node<'t>) -> Option<ElementType> {
        use ElementType::*;
        let view = TypeView::cast(self.aliases.resolve(node))?;
        Some(match view.name() {
            "f32" => F32,
            "f16" => F16,
            "bf16" => BF16,
            "f64" => F64,
            "i8" | "si8" => I8,
            "i16" | "si16" => I16,
            "i32" | "si32" => I32,
            "i64" | "si64" => I64,
            "ui8" => U8,
            "ui16" => U16,
            "ui32" => U32,
            "ui64" => U64,
            "f8E4M3FN" => F8E4M3,
            "f8E5M2" => F8E5M2,
            "pto.hif8" | "hif8" => HiF8,
            "index" => {
                self.of_index.set(true);
                STAND_IN
            }
            _ => return None,
        })
    }

    pub(super) fn expect_element(&self, node: Node<'t>) -> Result<ElementType, Refused> {
        match self.element(node) {
            Some(element) => Ok(element),
            None => {
                let message = format!("expected an element type, found `{}`", node.text());
                let found = Diagnostic::new(&rules::TYPE_PARAMETER, message).at(node.span());
                Err(Box::new(match suggest_type(node.text()) {
                    Some(near) => found.with_help(format!("did you mean `{near}`?")),
                    None => found,
                }))
            }
        }
    }

    /// Dimensions and element type of `8x?xf32`.
    pub(super) fn shaped(&self, node: Node<'t>) -> Result<(Vec<Option<u64>>, ElementType), Refused> {
        let dims = match dimensions(node) {
            Some(dims) => dims,
            None => return refuse(node, format!("expected dimensions that fit 64 bits, found `{}`", node.text())),
        };
        let Some(element) = node.child(1) else { return refuse(node, "expected an element type".into()) };
        Ok((dims, self.expect_element(element)?))
    }

    fn pointer(&self, view: TypeView<'t>) -> Result<Type, Refused> {
        let parameters = view.parameters();
        let terms: Vec<Node<'t>> = parameters.iter().flat_map(|parameter| &parameter.terms).copied().collect();
        match terms.as_slice() {
            [element] => Ok(Type::Pointer(self.expect_element(*element)?)),
            [element, space] if word_of(*space) == Some("gm") => Ok(Type::Pointer(self.expect_element(*element)?)),
            // A pointer into another memory: a value of the surrounding dialect.
            [_, _] => self.kept(view.node()).map(Type::Opaque),
            _ => refuse(view.node(), "expected one element type in `!pto.ptr<...>`".into()),
        }
    }

    fn view(&self, view: TypeView<'t>, kind: ViewKind) -> Result<ViewType, Refused> {
        let mut ty: Option<ViewType> = None;
        let (mut strides, mut layout) = (None, None);
        for parameter in view.parameters() {
            let [term, ..] = parameter.terms[..] else { continue };
            match (parameter.key, term.kind()) {
                (None, Kind::Shaped) if ty.is_none() => {
                    let (shape, element) = self.shaped(term)?;
                    ty = Some(ViewType { kind, element, shape, strides: None, layout: None });
                }
                (None, Kind::Generic) if TypeView::cast(term).is_some_and(|inner| inner.name() == "strided") => {
                    let list = term.child(1);
                    strides = list.and_then(|inner| inner.child(0)).map(list_of_strides).transpose()?;
                    // A view begins where its pointer leads; an offset has no place in the representation.
                    let offset =
                        list.into_iter().flat_map(Node::children).find(|part| integer(*part).is_some_and(|at| at != 0));
                    if let Some(offset) = offset {
                        return refuse(
                            offset,
                            format!("expected a view that begins at its pointer, found offset {}", offset.text()),
                        );
                    }
                }
                (Some("strides"), _) => strides = Some(list_of_strides(term)?),
                (Some("layout"), _) => layout = Some(TensorLayout::read(term)?),
                (None, Kind::Word | Kind::Attr) => match word_of(term) {
                    Some("gm") => {}
                    _ if ty.is_none() => {
                        return refuse(term, format!("expected dimensions as in `8x32xf32`, found `{}`", term.text()));
                    }
                    _ => layout = Some(TensorLayout::read(term)?),
                },
                _ => return refuse(term, format!("expected dimensions, strides or a layout, found `{}`", term.text())),
            }
        }
        match ty {
            Some(ty) => Ok(ViewType { strides, layout, ..ty }),
            None => refuse(view.node(), format!("expected dimensions and an element type in `!{}<...>`", view.name())),
        }
    }

    /// A group is written by what each rank holds, with or without the number of ranks before it.
    fn group(&self, view: TypeView<'t>) -> Result<Type, Refused> {
        let mut ranks = None;
        let member = view.parameters().iter().flat_map(|parameter| parameter.terms.clone()).find_map(|term| {
            let term = self.aliases.resolve(term);
            match (term.kind(), term.child(1)) {
                (Kind::Type, _) => Some(term),
                (Kind::Shaped, Some(inner)) if inner.kind() == Kind::Type && self.element(inner).is_none() => {
                    ranks = dimensions(term).and_then(|dims| dims.into_iter().flatten().reduce(u64::saturating_mul));
                    Some(self.aliases.resolve(inner))
                }
                (Kind::Shaped, _) => Some(term),
                _ => {
                    ranks = integer(term).and_then(|number| u64::try_from(number).ok()).or(ranks);
                    None
                }
            }
        });
        let Some(member) = member else {
            return refuse(view.node(), "expected the view that each rank holds in `!pto.group<...>`".into());
        };
        if member.kind() == Kind::Shaped {
            let (shape, element) = self.shaped(member)?;
            let view = ViewType { kind: ViewKind::MemRef, element, shape, strides: None, layout: None };
            return Ok(Type::Group(GroupType { ranks, view }));
        }
        // Only a view is read further, so that groups of groups, through aliases, end here.
        let is_view =
            TypeView::cast(member).is_some_and(|view| view.name().ends_with("view") || view.name().ends_with("memref"));
        if !is_view {
            return refuse(member, format!("expected a view of global memory, found `{}`", member.text()));
        }
        match self.parse_any(member)? {
            Type::View(view) => Ok(Type::Group(GroupType { ranks, view })),
            _ => refuse(member, format!("expected a view of global memory, found `{}`", member.text())),
        }
    }
}

/// `[64, ?]`.
fn list_of_strides(node: Node<'_>) -> Result<Vec<Option<u64>>, Refused> {
    let stride = |term: Node<'_>| match (term.text(), integer(term).map(u64::try_from)) {
        ("?", _) => Ok(None),
        (_, Some(Ok(stride))) => Ok(Some(stride)),
        (text, _) => refuse(term, format!("expected a stride or `?`, found `{text}`")),
    };
    if node.kind() != Kind::Bracket {
        return refuse(node, format!("expected a list of strides, found `{}`", node.text()));
    }
    node.children().map(stride).collect()
}
