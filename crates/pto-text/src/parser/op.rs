//! Operations: where they begin, what they hold, and where they end.

use super::Parser;
use super::term::{Bracket, Place};
use super::types::is_builtin_type;
use crate::diagnostic::Diagnostic;
use crate::rules;
use crate::span::Span;
use crate::syntax::Kind;
use crate::token::TokenKind;

/// Words that continue an operation on a new line though nothing about their shape says so.
const CONTINUATIONS: [&str; 12] =
    ["to", "step", "else", "do", "attributes", "into", "from", "at", "case", "default", "true", "false"];

/// Whether the operations of this name hold regions, so that `{}` and `{ word }` behind them are regions.
fn holds_regions(name: &str) -> bool {
    let families = ["scf.", "pto.section", "pto.vecscope"];
    matches!(name, "module" | "builtin.module" | "func.func") || families.iter().any(|family| name.starts_with(family))
}

impl Parser<'_> {
    /// The whole text.
    pub(super) fn file(&mut self) {
        loop {
            self.quiet = false;
            match self.tok.kind {
                TokenKind::Eof => break,
                TokenKind::Bang | TokenKind::Hash if self.peek().kind == TokenKind::Equal => self.alias(),
                _ if Bracket::closed_by(self.tok.kind).is_some() => self.unmatched(),
                TokenKind::Label => self.not_an_operation(self.tok.span.start),
                _ => self.statement(),
            }
        }
        self.finish(0, Kind::File, 0);
    }

    /// `!name = type` or `#name = attribute`.
    fn alias(&mut self) {
        let (mark, start) = (self.stack.len(), self.tok.span.start);
        let is_type = self.at(TokenKind::Bang);
        self.named(if is_type { Kind::Type } else { Kind::Attr }, 1);
        self.bump();
        self.lenient += 1;
        self.in_alias = true;
        if is_type {
            self.type_();
        } else {
            self.term(Place::Angle);
        }
        while matches!(self.tok.kind, TokenKind::Colon | TokenKind::Arrow) {
            self.term(Place::Angle);
        }
        self.lenient -= 1;
        self.in_alias = false;
        self.finish(mark, Kind::Alias, start);
    }

    /// An operation or the head of a block; anything else is reported and passed over up to the next line.
    fn statement(&mut self) {
        self.quiet = false;
        match self.tok.kind {
            TokenKind::Value | TokenKind::Word | TokenKind::Str => self.op(),
            TokenKind::Label => self.block(),
            TokenKind::Semicolon => self.bump(),
            _ => self.not_an_operation(self.tok.span.start),
        }
    }

    /// Reports that what begins at `start` is no operation, and passes over the rest of the line.
    fn not_an_operation(&mut self, start: u32) {
        let message = format!("expected an operation, found {}", self.found());
        self.error(Diagnostic::new(&rules::OPERATION, message));
        let mark = self.stack.len();
        while self.tok.span.start == start || !self.tok.newline {
            match self.tok.kind {
                TokenKind::Eof => break,
                // Whole brackets are passed over, so that their ends are not taken for others' ends.
                TokenKind::LParen | TokenKind::LBracket | TokenKind::LBrace | TokenKind::Lt => self.term(Place::Paren),
                kind if Bracket::closed_by(kind).is_some_and(|closed| self.open[closed as usize] > 0) => break,
                _ => self.bump(),
            }
        }
        self.stack.truncate(mark);
    }

    fn block(&mut self) {
        let (mark, start) = (self.stack.len(), self.tok.span.start);
        self.term(Place::Paren);
        if self.at(TokenKind::Colon) {
            self.bump();
        } else {
            self.expected("`:` behind the head of a block");
        }
        self.finish(mark, Kind::Block, start);
    }

    fn op(&mut self) {
        let (mark, start) = (self.stack.len(), self.tok.span.start);
        if self.at(TokenKind::Value) && !self.op_results() {
            self.not_an_operation(start);
            self.stack.truncate(mark);
            return;
        }
        let name = match self.tok.kind {
            TokenKind::Word if !self.continues_op() => self.token_text(),
            TokenKind::Str if self.next_byte() == b'(' => "",
            _ => {
                self.not_an_operation(start);
                self.stack.truncate(mark);
                return;
            }
        };
        self.token(Kind::Name);
        self.body(name);
        self.finish(mark, Kind::Op, start);
        if self.at(TokenKind::Semicolon) {
            self.bump();
        }
    }

    /// `%a, %b:2 =`. Says whether it got as far as behind the `=`.
    fn op_results(&mut self) -> bool {
        let mut comma = false;
        loop {
            if !self.at(TokenKind::Value) {
                self.expected("the name of a result");
                return false;
            }
            let (mark, start) = (self.stack.len(), self.tok.span.start);
            self.token(Kind::Value);
            if self.at(TokenKind::Colon) && self.peek().kind == TokenKind::Int {
                self.bump();
                self.token(Kind::Int);
                self.finish(mark, Kind::Pack, start);
            }
            self.mark_comma(comma);
            match self.tok.kind {
                TokenKind::Comma => {
                    comma = true;
                    self.bump();
                }
                TokenKind::Equal => {
                    self.bump();
                    return true;
                }
                _ => {
                    self.expected("`=` behind the results of an operation");
                    return false;
                }
            }
        }
    }

    /// The terms behind the name.
    fn body(&mut self, name: &str) {
        let mark = self.stack.len();
        let outer =
            std::mem::replace(&mut self.region_holder, if name.is_empty() { None } else { Some(holds_regions(name)) });
        let mut comma = false;
        loop {
            match self.tok.kind {
                TokenKind::Eof | TokenKind::Semicolon => break,
                TokenKind::Comma => {
                    if comma || self.stack.len() == mark {
                        self.expected("an operand before `,`");
                    }
                    comma = true;
                    self.bump();
                    continue;
                }
                kind => {
                    if let Some(closed) = Bracket::closed_by(kind) {
                        // A `}` is no part of an operation's line, whether it closes something or not.
                        if closed == Bracket::Brace || self.open[closed as usize] > 0 {
                            break;
                        }
                        self.unmatched();
                        continue;
                    }
                }
            }
            if self.op_ends(comma, self.last_kind(mark)) {
                break;
            }
            if self.at(TokenKind::Equal) && self.last_kind(mark) == Some(Kind::Types) {
                // `memref.global @x : memref<4xf32> = dense<0.0>`
                self.token(Kind::Punct);
            } else {
                self.check_neighbours(comma, self.last_kind(mark));
                self.term(Place::Body);
                self.mark_comma(comma);
            }
            comma = false;
        }
        if comma {
            self.expected("an operand behind `,`");
        }
        self.region_holder = outer;
    }

    /// Reports what is surely missing between the last term and the current token.
    fn check_neighbours(&mut self, comma: bool, last: Option<Kind>) {
        use TokenKind::*;
        let operand = matches!(last, Some(Kind::Value | Kind::Int | Kind::Float));
        match self.tok.kind {
            Colon if comma => self.expected("an operand behind `,`"),
            Value | Int | Float if !comma && operand => self.expected("`,`"),
            Bang if !comma && operand => self.expected("`:` before a type"),
            Word if !comma && operand && is_builtin_type(self.token_text()) => self.expected("`:` before a type"),
            _ => {}
        }
    }

    /// Whether the operation ends before the current token, which is no bracket that closes.
    fn op_ends(&self, comma: bool, last: Option<Kind>) -> bool {
        use TokenKind::*;
        let text = self.token_text();
        if comma {
            // Only what defines results for certain ends a list that a comma left open.
            return self.tok.newline && self.at(Value) && self.peek().kind == Equal;
        }
        // Behind types or a region an operation is complete, and another one may follow on its line.
        let complete = matches!(last, Some(Kind::Types | Kind::Results | Kind::Region | Kind::Dict));
        match self.tok.kind {
            Value => self.tok.newline && last != Some(Kind::Punct) && !self.value_continues(last) || complete,
            Label => self.tok.newline,
            Str => self.tok.newline && complete || (self.tok.newline || complete) && self.next_byte() == b'(',
            Bang | Hash => self.tok.newline && self.peek().kind == Equal,
            // No operation has a comma behind its name: `slt,` belongs to the one above, if that can go on.
            Word if self.tok.newline => !self.continues_op() && (complete || self.next_byte() != b','),
            Word => complete && !self.continues_op() && (text == "return" || text.contains('.')),
            _ => false,
        }
    }

    /// Whether a value at the start of a line is an operand of the operation above it, which has none yet or waits for
    /// one behind a word: what follows the value, or the list that it begins, is not the `=` of results.
    fn value_continues(&self, last: Option<Kind>) -> bool {
        if !matches!(last, None | Some(Kind::Word)) {
            return false;
        }
        use TokenKind::*;
        let mut ahead = self.lexer;
        let mut next = || {
            self.scanned.update(|count| count + 1);
            ahead.next_token()
        };
        // A list is read once here and once by whoever takes it, so that this stays linear.
        loop {
            match next().kind {
                Comma => {
                    if next().kind != Value {
                        return true;
                    }
                }
                Colon => return next().kind != Int,
                LBrace | LBracket | LParen => return true,
                Word => return last == Some(Kind::Word),
                _ => return false,
            }
        }
    }

    /// Whether a word, wherever it stands, is part of the operation before it and not the name of one: `outs(...)`,
    /// `valid_row = %r`, `else`.
    fn continues_op(&self) -> bool {
        let text = self.token_text();
        let called = self.next_byte() == b'(' && !text.contains('.');
        called || self.next_byte() == b'=' || CONTINUATIONS.contains(&text)
    }

    /// `{`: attributes, or a region.
    pub(super) fn braces(&mut self, place: Place) {
        if self.braces_hold_ops(place) {
            self.region();
        } else {
            self.group(Bracket::Brace, Kind::Dict, Place::Dict);
        }
    }

    /// Looks two tokens behind the `{`. An entry has `=` or `,` behind its name, an operation never has; a lone word is
    /// decided by the operation's name, by the word, and by whether it stands on a line of its own.
    fn braces_hold_ops(&self, place: Place) -> bool {
        use TokenKind::*;
        if !matches!(place, Place::Body | Place::Paren) || self.lenient > 0 || self.after_attributes() {
            return false;
        }
        let (first, second) = self.peek_two();
        match (first.kind, second.kind) {
            (RBrace, _) => match self.region_holder {
                Some(holder) => holder && place == Place::Body,
                None => place == Place::Paren,
            },
            (Word | Str, Equal | Comma) => false,
            (Word, RBrace) => {
                let word = self.source.slice(first.span);
                let terminator = ["return", "yield", "terminator"].iter().any(|end| word.ends_with(end));
                let holder = place == Place::Body && self.region_holder == Some(true);
                terminator || (holder || first.newline && second.newline) && !self.behind(Kind::Region)
            }
            (Str, RBrace) => false,
            (BadChar, _) => self.region_holder == Some(true),
            _ => true,
        }
    }

    /// Whether the term before the current token is of this kind.
    fn behind(&self, kind: Kind) -> bool {
        self.last_kind(0) == Some(kind)
    }

    fn after_attributes(&self) -> bool {
        self.stack.last().is_some_and(|id| {
            let slot = self.slots[id.0 as usize];
            slot.kind == Kind::Word && self.source.slice(slot.span) == "attributes"
        })
    }

    fn region(&mut self) {
        let (mark, opening) = (self.stack.len(), self.tok.span);
        if !self.enter() {
            return self.finish(mark, Kind::Region, opening.start);
        }
        let quiet = self.quiet;
        self.open[Bracket::Brace as usize] += 1;
        self.bump();
        loop {
            match Bracket::closed_by(self.tok.kind) {
                Some(Bracket::Brace) => {
                    self.compare_indents(opening);
                    self.bump();
                    break;
                }
                Some(closed) if self.open[closed as usize] > 0 => {
                    self.unclosed(Bracket::Brace, opening);
                    break;
                }
                Some(_) => {
                    self.quiet = false;
                    self.unmatched();
                }
                None if self.at(TokenKind::Eof) => {
                    self.quiet = false;
                    self.unclosed(Bracket::Brace, opening);
                    break;
                }
                None => self.statement(),
            }
        }
        self.depth -= 1;
        self.open[Bracket::Brace as usize] -= 1;
        self.quiet = quiet;
        self.finish(mark, Kind::Region, opening.start);
    }

    /// Remembers the first region whose `}` stands further left than the line of its `{`: if a `}` turns out to be
    /// missing, it is probably this region's.
    fn compare_indents(&mut self, opening: Span) {
        let indents = (self.tok.newline && self.suspect.is_none())
            .then(|| self.indent_of(opening.start).zip(self.indent_of(self.tok.span.start)))
            .flatten();
        if indents.is_some_and(|(open, close)| close < open) {
            self.suspect = Some((opening, self.tok.span));
        }
    }

    /// How many blanks begin the line of an offset, if the line begins near enough to look.
    fn indent_of(&self, offset: u32) -> Option<usize> {
        const NEAR: usize = 512;
        let before = &self.text.as_bytes()[..offset as usize];
        let window = &before[before.len().saturating_sub(NEAR)..];
        let line = match window.iter().rposition(|&byte| byte == b'\n') {
            Some(at) => &window[at + 1..],
            None if window.len() == before.len() => window,
            None => return None,
        };
        Some(line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count())
    }
}
