//! Names that texts give to values of the instruction set's enumerations.

use pto_ir::{NotifyOp, Pipe, WaitCompare};
use pto_isa::{
    Atomic, BLayout, Coalesce, Conflict, Location, MaskPattern, OutOfBounds, PadValue, SLayout, TensorLayout,
};

use super::types::Refused;
use crate::diagnostic::{Diagnostic, suggest};
use crate::rules;
use crate::syntax::{Kind, Node};
use crate::view::string;

/// The word that a node names, in any of the ways in which texts name one: `row`, `"row"`, `<row>`, `#pto.coalesce<row>`,
/// `#pto<coalesce row>`.
pub(super) fn word_of(node: Node<'_>) -> Option<&str> {
    match node.kind() {
        Kind::Word => Some(node.text()),
        Kind::Str => Some(node.text().trim_matches('"')),
        Kind::Angle | Kind::Attr => node.children().next_back().and_then(word_of),
        _ => None,
    }
}

/// An enumeration with a name for each value.
pub(super) trait Enumerator: Copy + Sized + 'static {
    /// What it is, for messages.
    const WHAT: &'static str;
    /// Every value that a text may name.
    fn values() -> &'static [Self];
    /// The name of a value.
    fn spelling(self) -> &'static str;

    /// The value that a node names.
    fn read(node: Node<'_>) -> Result<Self, Refused> {
        let found = word_of(node).unwrap_or(node.text());
        Self::named(found).ok_or_else(|| Box::new(Self::unknown(found).at(node.span())))
    }

    /// The value with a name.
    fn named(name: &str) -> Option<Self> {
        Self::values().iter().copied().find(|value| value.spelling() == name)
    }

    /// That a name is none of them.
    fn unknown(found: &str) -> Diagnostic {
        let names = || Self::values().iter().map(|value| value.spelling());
        let list: Vec<&str> = names().collect();
        let shown: String = found.chars().take(40).collect();
        let message = format!("expected {}, one of {}; found `{shown}`", Self::WHAT, list.join(", "));
        let diagnostic = Diagnostic::new(&rules::ENUMERATOR, message);
        match suggest(found, names()) {
            Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")),
            None => diagnostic,
        }
    }
}

macro_rules! enumerators {
    ($($type:ident $what:literal;)*) => {
        $(impl Enumerator for $type {
            const WHAT: &'static str = $what;
            fn values() -> &'static [Self] {
                Self::ALL
            }
            fn spelling(self) -> &'static str {
                self.name()
            }
        })*
    };
}

enumerators! {
    Location "the memory of a tile";
    BLayout "the order of a tile's elements or boxes";
    SLayout "the order inside a tile's boxes";
    PadValue "a padding value";
    TensorLayout "the storage order of a view";
    Coalesce "what an index selects";
    OutOfBounds "what happens to an index out of range";
    Atomic "an atomic operation";
    Conflict "who wins a collision";
    MaskPattern "a mask pattern";
    NotifyOp "what a notification does to its signal";
    WaitCompare "what a signal is compared for";
}

impl Enumerator for Pipe {
    const WHAT: &'static str = "a pipe";
    fn values() -> &'static [Self] {
        &[Self::S, Self::V, Self::Mte2, Self::Mte3, Self::Mte1, Self::M, Self::Fix, Self::All]
    }
    fn spelling(self) -> &'static str {
        self.name()
    }
}

/// A string attribute's text, or the word that it names.
pub(super) fn text_of(node: Node<'_>) -> Option<String> {
    string(node).map(|text| text.into_owned()).or_else(|| word_of(node).map(Into::into))
}
