//! The tokens of the language.

use crate::span::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TokenKind {
    /// The end of the text.
    Eof,
    /// A bare name with its dots: `pto.mgather`, `mscatter.row.clamp`, `f32`, `slt`, `.arg`.
    Word,
    /// An SSA value: `%src`, `%0`, `%pair#1`.
    Value,
    /// A symbol: `@kernel`, `@"a name"`, `@outer::@inner`.
    Symbol,
    /// A block name: `^bb0`.
    Label,
    /// The head of a type: `!pto.tile`, `!alias`.
    Bang,
    /// The head of an attribute: `#pto.layout`, `#alias`.
    Hash,
    /// An integer, signed, decimal or hexadecimal.
    Int,
    /// A number with a point or an exponent.
    Float,
    /// A string with its quotes.
    Str,
    /// Dimensions: `8x?x` (an element type follows at once) or `8x?`.
    Shape,
    /// `(`
    LParen,
    /// `)`
    RParen,
    /// `[`
    LBracket,
    /// `]`
    RBracket,
    /// `{`
    LBrace,
    /// `}`
    RBrace,
    /// `<`
    Lt,
    /// `>`
    Gt,
    /// `,`
    Comma,
    /// `:`
    Colon,
    /// `=`
    Equal,
    /// `->`
    Arrow,
    /// `;`
    Semicolon,
    /// One of `? * + - / == >=`: operators that appear inside parameters only.
    Punct,
    /// `...`, the gap that documentation leaves in its examples.
    Ellipsis,
    /// Characters with which no token begins.
    BadChar,
    /// A string without its closing quote.
    BadStr,
    /// Digits that run into letters.
    BadNumber,
}

impl TokenKind {
    /// The token for people, in an "expected ..., found ..." message.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Eof => "the end of the text",
            Self::Word => "a name",
            Self::Value => "a value",
            Self::Symbol => "a symbol",
            Self::Label => "a block name",
            Self::Bang => "a type",
            Self::Hash => "an attribute",
            Self::Int => "an integer",
            Self::Float => "a number",
            Self::Str | Self::BadStr => "a string",
            Self::Shape => "dimensions",
            Self::LParen => "`(`",
            Self::RParen => "`)`",
            Self::LBracket => "`[`",
            Self::RBracket => "`]`",
            Self::LBrace => "`{`",
            Self::RBrace => "`}`",
            Self::Lt => "`<`",
            Self::Gt => "`>`",
            Self::Comma => "`,`",
            Self::Colon => "`:`",
            Self::Equal => "`=`",
            Self::Arrow => "`->`",
            Self::Semicolon => "`;`",
            Self::Punct => "an operator",
            Self::Ellipsis => "`...`",
            Self::BadChar => "an unknown character",
            Self::BadNumber => "a malformed number",
        }
    }
}

/// A token: its kind, its place, and what lies between it and the token before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Whether a line break lies before it (true for the first token of a text).
    pub newline: bool,
    /// Whether a comment lies before it.
    pub comment: bool,
    /// Its place.
    pub span: Span,
}
