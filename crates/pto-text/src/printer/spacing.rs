//! What stands between two terms that no comma separates.

use crate::syntax::{Kind, Node};

/// Where terms are printed; a few blanks depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Context {
    /// Behind the name of an operation.
    Body,
    /// In the parameter list of a function or block: `%a: T`.
    Arguments,
    /// In a location: `"file":1:2`.
    Location,
    /// In the parameters of a type: `key=value`.
    TypeParameters,
    /// In the parameters of an attribute: `key = value`.
    AttributeParameters,
    /// In any other list.
    List,
}

impl Context {
    /// Whether this is inside the parameters of a type or attribute.
    pub(super) fn is_parameters(self) -> bool {
        matches!(self, Self::TypeParameters | Self::AttributeParameters)
    }

    /// The context inside parentheses and square brackets.
    pub(super) fn inside_list(self) -> Self {
        match self {
            Self::Body => Self::List,
            _ => self,
        }
    }

    /// The context inside a dictionary: the same, but a parameter's dictionary is a plain one.
    pub(super) fn inside_dict(self) -> Self {
        if self == Self::Arguments { Self::List } else { self.inside_list() }
    }

    /// The context inside angle brackets.
    pub(super) fn inside_angles(self) -> Self {
        match self {
            Self::TypeParameters | Self::AttributeParameters => self,
            _ => Self::AttributeParameters,
        }
    }

    /// The context of the parts of a call: parameters for `@f(...)` and the head of a block, a plain list for `ins(...)`.
    pub(super) fn of_call(self, call: Node<'_>) -> Self {
        match call.child(0) {
            Some(name) if name.kind() == Kind::Symbol => Self::Arguments,
            Some(name) if name.text() == "loc" => Self::Location,
            _ if matches!(self, Self::Arguments | Self::Location) => self,
            _ => Self::List,
        }
    }
}

pub(super) fn between(before: Node<'_>, term: Node<'_>, context: Context) -> &'static str {
    let colon = |node: Node<'_>| node.kind() == Kind::Punct && node.text() == ":";
    match (before.kind(), term.kind()) {
        (Kind::Name, Kind::Paren | Kind::Bracket) | (Kind::Value | Kind::Paren, Kind::Bracket) => "",
        (Kind::Value, Kind::Types) if context == Context::Arguments => "",
        // A scalable dimension: `vector<[4]xf32>`.
        (Kind::Bracket, Kind::Word) if context.is_parameters() && term.text().starts_with('x') => "",
        _ if colon(term) => "",
        _ if colon(before) && context == Context::Location => "",
        _ => " ",
    }
}
