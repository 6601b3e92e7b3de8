//! Types: behind `:` and `->`, and in parameters.

use super::Parser;
use super::term::{Bracket, Place};
use crate::diagnostic::{Diagnostic, suggest};
use crate::rules;
use crate::span::Span;
use crate::syntax::Kind;
use crate::token::TokenKind;

/// Whether a word is a built-in type by itself.
pub(super) fn is_builtin_type(word: &str) -> bool {
    let digits = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    match word.as_bytes() {
        [b'i', ..] => digits(&word[1..]) || word == "index",
        [b's' | b'u', b'i', ..] => digits(&word[2..]),
        [b'f', ..] => digits(&word[1..]) || ["f4E", "f6E", "f8E"].iter().any(|head| word.starts_with(head)),
        _ => matches!(word, "bf16" | "tf32" | "none" | "token"),
    }
}

/// Names to suggest for a misspelt type.
const TYPE_NAMES: [&str; 20] = [
    "f32", "f16", "bf16", "f64", "f8E4M3FN", "f8E5M2", "i1", "i8", "i16", "i32", "i64", "si8", "si16", "si32", "ui8",
    "ui16", "ui32", "ui64", "index", "none",
];

/// What other languages call the types of this one.
const FOREIGN_NAMES: [(&str, &str); 26] = [
    ("float", "f32"),
    ("float32", "f32"),
    ("float32_t", "f32"),
    ("double", "f64"),
    ("float64", "f64"),
    ("half", "f16"),
    ("float16", "f16"),
    ("bfloat16", "bf16"),
    ("bfloat16_t", "bf16"),
    ("bool", "i1"),
    ("int", "i32"),
    ("int8_t", "i8"),
    ("int16_t", "i16"),
    ("int32_t", "i32"),
    ("int64_t", "i64"),
    ("uint8_t", "ui8"),
    ("uint16_t", "ui16"),
    ("uint32_t", "ui32"),
    ("uint64_t", "ui64"),
    ("u8", "ui8"),
    ("u16", "ui16"),
    ("u32", "ui32"),
    ("u64", "ui64"),
    ("int8", "i8"),
    ("int32", "i32"),
    ("size_t", "index"),
];

impl Parser<'_> {
    /// `: T` and, in operations and parentheses, `: T, U`. In parameters a `:` without a type is an operator.
    pub(super) fn types(&mut self, place: Place) {
        let (mark, start) = (self.stack.len(), self.tok.span.start);
        if self.lenient > 0 && !self.type_follows() {
            return self.token(Kind::Punct);
        }
        self.bump();
        self.type_list(matches!(place, Place::Body | Place::Paren) && self.lenient == 0);
        self.finish(mark, Kind::Types, start);
    }

    /// `-> T`, `-> (T, U)` and, in operations, `-> T, U`.
    pub(super) fn results(&mut self, place: Place) {
        let (mark, start) = (self.stack.len(), self.tok.span.start);
        self.bump();
        if self.lenient > 0 {
            // The arrow of an affine map.
            if self.begins_term() {
                self.atom(Place::Paren);
            }
        } else {
            self.type_list(place == Place::Body);
        }
        self.finish(mark, Kind::Results, start);
    }

    fn type_list(&mut self, many: bool) {
        self.type_();
        while many && self.at(TokenKind::Comma) && self.type_follows() {
            self.bump();
            self.type_();
            self.mark_comma(true);
        }
    }

    /// Whether the token behind the current one begins a type.
    fn type_follows(&self) -> bool {
        let next = self.peek();
        match next.kind {
            TokenKind::Bang => true,
            // In parameters this is the constraint of an affine set.
            TokenKind::LParen => self.lenient == 0,
            TokenKind::Word => {
                let behind = self.text.as_bytes().get(next.span.end as usize);
                behind == Some(&b'<') || is_builtin_type(self.source.slice(next.span))
            }
            _ => false,
        }
    }

    pub(super) fn begins_type(&self) -> bool {
        matches!(self.tok.kind, TokenKind::Bang | TokenKind::LParen | TokenKind::Word)
    }

    /// A type. What is not one is reported and, unless it belongs to something else, passed over.
    pub(super) fn type_(&mut self) {
        match self.tok.kind {
            TokenKind::Bang => self.dialect(Kind::Type),
            TokenKind::LParen => self.group(Bracket::Paren, Kind::Paren, Place::Types),
            TokenKind::Word if self.byte_behind() == b'<' => self.word(),
            TokenKind::Word if is_builtin_type(self.token_text()) => self.token(Kind::Word),
            TokenKind::Word if !(self.tok.newline && self.surely_begins_op()) => {
                self.unknown_type();
                self.token(Kind::Word);
            }
            _ => {
                self.error(self.missing(&rules::TYPE, "a type"));
                self.leaf(Kind::Word, Span::at(self.prev_end));
                // A literal in the place of a type would be taken for the next operation.
                if matches!(self.tok.kind, TokenKind::Int | TokenKind::Float | TokenKind::Shape | TokenKind::Punct) {
                    self.bump();
                }
            }
        }
    }

    fn unknown_type(&mut self) {
        if self.quiet || self.overflow {
            return;
        }
        let text = self.token_text();
        let mut found = Diagnostic::new(&rules::TYPE, format!("expected a type, found `{text}`"));
        if let Some(near) = suggest_type(text) {
            found = found.with_help(format!("did you mean `{near}`?"));
        } else if text.starts_with("pto.") {
            found = found.with_help(format!("write `!{text}`: types of the dialect begin with `!`"));
        }
        // The word stands where the type would: nothing behind it suffers.
        self.report(found);
    }
}

/// The type that a name was meant for: one of ours, or what another language calls it.
pub(crate) fn suggest_type(text: &str) -> Option<&'static str> {
    let ours = |name: &str| FOREIGN_NAMES.iter().find(|(foreign, _)| *foreign == name).map(|(_, ours)| *ours);
    let near = || suggest(text, TYPE_NAMES);
    ours(text).or_else(near).or_else(|| ours(suggest(text, FOREIGN_NAMES.iter().map(|(foreign, _)| *foreign))?))
}
