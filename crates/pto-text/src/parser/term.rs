//! Terms: tokens, bracketed lists, attributes and dictionaries.

use super::Parser;
use super::types::is_builtin_type;
use crate::diagnostic::Diagnostic;
use crate::rules;
use crate::span::Span;
use crate::syntax::Kind;
use crate::token::TokenKind;
use std::collections::HashMap;

/// Where a term stands; it decides how far `=` and `:` reach and whether `{` may open a region.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Behind the name of an operation.
    Body,
    /// In parentheses of values.
    Paren,
    /// In parentheses of types.
    Types,
    /// In square brackets.
    Bracket,
    /// In a dictionary.
    Dict,
    /// In angle brackets.
    Angle,
}

/// The four sorts of brackets; the discriminant indexes [`Parser::open`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Bracket {
    Paren,
    Square,
    Brace,
    Angle,
}

impl Bracket {
    /// The bracket that a token closes.
    pub(super) fn closed_by(kind: TokenKind) -> Option<Self> {
        match kind {
            TokenKind::RParen => Some(Self::Paren),
            TokenKind::RBracket => Some(Self::Square),
            TokenKind::RBrace => Some(Self::Brace),
            TokenKind::Gt => Some(Self::Angle),
            _ => None,
        }
    }

    fn closer(self) -> &'static str {
        [")", "]", "}", ">"][self as usize]
    }
}

/// Up to this many keys are compared pair by pair.
const FEW_KEYS: usize = 12;

impl<'s> Parser<'s> {
    /// Parses one term, `key = value` included. It always takes at least one token and always leaves one node.
    pub(super) fn term(&mut self, place: Place) {
        let (mark, start) = (self.stack.len(), self.tok.span.start);
        self.atom(place);
        if !self.at(TokenKind::Equal) || !self.last_kind(mark).is_some_and(|kind| is_key(kind, place)) {
            return;
        }
        self.bump();
        if !self.begins_term() {
            self.expected("a value behind `=`");
        } else {
            self.atom(place);
            // In a dictionary the value is everything up to the comma: `1 : i32`, `(i32) -> ()`.
            while matches!(place, Place::Dict | Place::Angle) && self.goes_on() {
                self.atom(place);
            }
        }
        self.finish(mark, Kind::Entry, start);
    }

    /// Whether the current token may follow a term in brackets without a comma between them. Parameters of types and
    /// attributes may hold anything; elsewhere only what belongs to the term: its type, its indices, its attributes.
    fn goes_on(&self) -> bool {
        use TokenKind::*;
        match self.tok.kind {
            Colon => true,
            // Behind `#name` at the start of a line these would make it a comment.
            Arrow | LBrace | LBracket | Lt | Word if self.lenient == 0 && self.last_kind(0) == Some(Kind::Attr) => {
                false
            }
            LBrace => !matches!(self.last_kind(0), Some(Kind::Str | Kind::Int | Kind::Float | Kind::Entry)),
            Arrow | LBracket | Lt => true,
            Word if self.token_text() == "loc" => true,
            _ => self.lenient > 0 && self.begins_term(),
        }
    }

    /// Whether the current token may begin a term.
    pub(super) fn begins_term(&self) -> bool {
        use TokenKind::*;
        match self.tok.kind {
            Eof | RParen | RBracket | RBrace | Gt | Comma | Colon | Equal | Arrow | Semicolon => false,
            Punct => self.lenient > 0 || self.token_text() == "?",
            _ => true,
        }
    }

    pub(super) fn atom(&mut self, place: Place) {
        use TokenKind::*;
        match self.tok.kind {
            Word => self.word(),
            Value => self.callable(Kind::Value, false),
            Symbol => self.callable(Kind::Symbol, true),
            Label => self.callable(Kind::Label, true),
            Int if place == Place::Angle && self.token_text().starts_with("0x") => self.hexadecimal(),
            Int => self.token(Kind::Int),
            Float => self.token(Kind::Float),
            Str => self.token(Kind::Str),
            Shape => self.shape(),
            Bang => self.dialect(Kind::Type),
            Hash => self.dialect(Kind::Attr),
            LParen => self.group(Bracket::Paren, Kind::Paren, if place == Place::Types { place } else { Place::Paren }),
            LBracket => self.group(Bracket::Square, Kind::Bracket, Place::Bracket),
            Lt => self.group(Bracket::Angle, Kind::Angle, Place::Angle),
            LBrace => self.braces(place),
            Colon => self.types(place),
            Arrow => self.results(place),
            Punct if self.lenient > 0 || self.token_text() == "?" => self.token(Kind::Punct),
            _ => {
                self.expected("an operand, an attribute or a type");
                self.token(Kind::Punct);
            }
        }
    }

    pub(super) fn word(&mut self) {
        let adjacent = self.byte_behind();
        if adjacent == b'<' {
            let text = self.token_text();
            if text.starts_with("pto.") {
                let message = format!("expected `!` before the type `{text}`");
                self.report(Diagnostic::new(&rules::MISSING_BANG, message).with_help(format!("write `!{text}<…>`")));
                return self.named(Kind::Type, 0);
            }
            return self.named(Kind::Generic, 0);
        }
        let keyword = matches!(self.token_text(), "ins" | "outs" | "iter_args" | "loc");
        self.callable(Kind::Word, keyword);
    }

    /// A name that may have arguments: `ins(...)`, `@tile(0x1000)`, `^bb1(%a : i32)`. `loose` allows a blank before them.
    fn callable(&mut self, kind: Kind, loose: bool) {
        let (mark, start) = (self.stack.len(), self.tok.span.start);
        let adjacent = self.byte_behind() == b'(';
        // A location may hold `"file":1:2`, which nothing else looks like.
        let location = kind == Kind::Word && self.token_text() == "loc";
        self.token(kind);
        if !self.at(TokenKind::LParen) || !(adjacent || loose) {
            return;
        }
        self.lenient += u32::from(location);
        self.group(Bracket::Paren, Kind::Paren, Place::Paren);
        self.lenient -= u32::from(location);
        self.finish(mark, Kind::Call, start);
    }

    /// `!dialect.name<...>`, `#dialect.name<...>`, or the use of an alias.
    pub(super) fn dialect(&mut self, kind: Kind) {
        let alias = !self.token_text().contains('.') && self.next_byte() != b'<';
        if alias {
            self.alias_uses.push((self.tok.span, self.in_alias));
        }
        self.named(kind, 1);
    }

    /// A name (behind a sigil of the given length) and its parameters.
    pub(super) fn named(&mut self, kind: Kind, sigil: u32) {
        let (mark, Span { start, end }) = (self.stack.len(), self.tok.span);
        self.leaf(Kind::Word, Span::new(start + sigil, end));
        self.bump();
        if self.at(TokenKind::Lt) {
            self.lenient += 1;
            self.group(Bracket::Angle, Kind::Angle, Place::Angle);
            self.lenient -= 1;
        }
        self.finish(mark, kind, start);
    }

    /// Dimensions, and the element type behind them if the last `x` says that there is one.
    fn shape(&mut self) {
        let (mark, start) = (self.stack.len(), self.tok.span.start);
        let typed = self.token_text().ends_with('x');
        self.token(Kind::Shape);
        if typed {
            if self.tok.span.start == self.prev_end && self.begins_type() {
                self.type_();
            } else {
                let message = format!("expected an element type behind the dimensions, found {}", self.found());
                self.error(Diagnostic::new(&rules::NUMBER, message));
            }
            self.finish(mark, Kind::Shaped, start);
        }
    }

    /// `0xf32` in parameters: no elements of `f32`, not the number 3890.
    fn hexadecimal(&mut self) {
        let Span { start, end } = self.tok.span;
        if !is_builtin_type(&self.token_text()[2..]) {
            return self.token(Kind::Int);
        }
        let mark = self.stack.len();
        self.leaf(Kind::Shape, Span::new(start, start + 2));
        self.leaf(Kind::Word, Span::new(start + 2, end));
        self.bump();
        self.finish(mark, Kind::Shaped, start);
    }

    /// A bracketed list of terms.
    pub(super) fn group(&mut self, bracket: Bracket, kind: Kind, place: Place) {
        let (mark, opening) = (self.stack.len(), self.tok.span);
        if !self.enter() {
            return self.finish(mark, kind, opening.start);
        }
        self.open[bracket as usize] += 1;
        self.bump();
        let mut comma = false;
        loop {
            if let Some(closed) = Bracket::closed_by(self.tok.kind) {
                if closed == bracket {
                    if comma {
                        self.expected("another element behind `,`");
                    }
                    self.bump();
                    break;
                }
                if self.open[closed as usize] > 0 {
                    self.unclosed(bracket, opening);
                    break;
                }
                self.unmatched();
                continue;
            }
            match self.tok.kind {
                TokenKind::Eof | TokenKind::Semicolon => {
                    self.unclosed(bracket, opening);
                    break;
                }
                TokenKind::Comma => {
                    if comma || self.stack.len() == mark {
                        self.expected("an element before `,`");
                    }
                    comma = true;
                    self.bump();
                }
                // In parameters, where words may follow each other, the line break makes the difference.
                _ if (self.tok.newline || self.lenient == 0) && self.surely_begins_op() => {
                    self.unclosed(bracket, opening);
                    break;
                }
                _ => {
                    let first = comma || self.stack.len() == mark;
                    if !first && !self.goes_on() {
                        self.expected(&format!("`,` or `{}`", bracket.closer()));
                    }
                    if place == Place::Types && first {
                        self.type_();
                    } else {
                        self.term(place);
                    }
                    self.mark_comma(comma);
                    comma = false;
                }
            }
        }
        self.depth -= 1;
        self.open[bracket as usize] -= 1;
        if kind == Kind::Dict {
            self.check_keys(mark);
        }
        self.finish(mark, kind, opening.start);
    }

    pub(super) fn unclosed(&mut self, bracket: Bracket, opening: Span) {
        if self.quiet {
            return;
        }
        let mut found = self.missing(&rules::UNCLOSED, &format!("`{}`", bracket.closer()));
        found = found.with_label(opening, "opened here");
        if let (Bracket::Brace, Some((open, close))) = (bracket, self.suspect.take()) {
            found = found.with_label(open, "perhaps this one is not closed");
            found = found.with_label(close, "this `}` closes it, but is indented less");
        }
        self.error(found);
    }

    pub(super) fn unmatched(&mut self) {
        if self.at(TokenKind::RBrace) && self.swallowed > 0 {
            // What it closes is in a string that has no end.
            self.swallowed -= 1;
            return self.bump();
        }
        let message = format!("{} closes nothing", self.found());
        self.error(Diagnostic::new(&rules::UNMATCHED, message));
        self.bump();
    }

    /// Reports attributes that a dictionary gives twice.
    fn check_keys(&mut self, mark: usize) {
        let count = self.stack.len() - mark;
        if count <= FEW_KEYS {
            // Nearly every dictionary: comparing all pairs costs less than a table.
            for at in mark..mark + count {
                let Some(span) = self.key_span(at) else { continue };
                let twin =
                    (mark..at).filter_map(|before| self.key_span(before)).find(|&b| self.key(b) == self.key(span));
                twin.into_iter().for_each(|first| self.duplicate_key(span, first));
            }
            return;
        }
        let mut seen = HashMap::with_capacity(count);
        for at in mark..mark + count {
            let Some(span) = self.key_span(at) else { continue };
            if let Some(first) = seen.insert(self.key(span), span) {
                self.duplicate_key(span, first);
            }
        }
    }

    fn key(&self, span: Span) -> &'s str {
        self.text[span.range()].trim_matches('"')
    }

    fn key_span(&self, at: usize) -> Option<Span> {
        let slot = self.slots[self.stack[at].0 as usize];
        match slot.kind {
            Kind::Entry => Some(self.slots[self.children[slot.first as usize].0 as usize].span),
            Kind::Word | Kind::Str => Some(slot.span),
            _ => None,
        }
    }

    fn duplicate_key(&mut self, span: Span, first: Span) {
        let message = format!("`{}` is given twice", self.key(span));
        self.report(Diagnostic::new(&rules::DUPLICATE_KEY, message).at(span).with_label(first, "first given here"));
    }

    /// Whether the current token can only begin an operation: used inside brackets, where this means that a bracket was
    /// not closed.
    pub(super) fn surely_begins_op(&self) -> bool {
        match self.tok.kind {
            TokenKind::Word => {
                let text = self.token_text();
                let next = self.next_byte();
                let listed = matches!(next, b'=' | b',' | b')' | b']' | b'}' | b'>' | b':' | 0);
                match text {
                    "return" => !listed,
                    _ if text.starts_with('.') => true,
                    _ if text.contains('.') => !listed && self.byte_behind() != b'<',
                    _ => next == b'%' && self.byte_behind() == b' ',
                }
            }
            // `%a = name`; `%a = %b` is an entry of `iter_args`.
            TokenKind::Value if self.next_byte() == b'=' => {
                matches!(self.peek_two().1.kind, TokenKind::Word | TokenKind::Str)
            }
            _ => false,
        }
    }
}

/// What may stand before `=`: a name, a value, or the induction variables of `scf.parallel`.
fn is_key(kind: Kind, place: Place) -> bool {
    matches!(kind, Kind::Word | Kind::Str | Kind::Value) || kind == Kind::Paren && place == Place::Body
}
