//! From characters to tokens.
//!
//! The lexer is total: every text gives a sequence of tokens that ends with [`TokenKind::Eof`], and what is not a token
//! of the language becomes one of the `Bad*` kinds. It allocates nothing and is [`Copy`], so that the parser looks
//! ahead by running a copy.
//!
//! `#` opens an attribute in MLIR and a comment in PTO-AS. Here `#` followed by a letter is an attribute, anything else
//! (`# text`, `##`) a comment up to the end of the line. At the start of a line, where commented-out code stands,
//! `#word` is an attribute only if what follows fits one: `=`, `<`, `,`, a closing bracket, ` :` or the line's end.

#[cfg(test)]
mod tests;

use crate::span::Span;
use crate::token::{Token, TokenKind};

/// Cuts a text into tokens, one at a time.
///
/// ```
/// use pto_text::{Lexer, TokenKind};
/// let mut lexer = Lexer::new("mscatter.row %t // rows\n");
/// assert_eq!(lexer.next_token().kind, TokenKind::Word);
/// assert_eq!(lexer.next_token().kind, TokenKind::Value);
/// assert_eq!(lexer.next_token().kind, TokenKind::Eof);
/// ```
#[derive(Clone, Copy)]
pub struct Lexer<'s> {
    bytes: &'s [u8],
    pos: usize,
}

const START: u8 = 1; // may begin a name
const CONT: u8 = 2; // may continue a name
const DIGIT: u8 = 4;

/// The class of every byte: one load decides what the inner loops do.
static CLASS: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if b.is_ascii_alphabetic() || b == b'_' {
            table[byte] = START | CONT;
        } else if b.is_ascii_digit() {
            table[byte] = CONT | DIGIT;
        } else if b == b'$' {
            table[byte] = CONT;
        }
        byte += 1;
    }
    table
};

fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

impl<'s> Lexer<'s> {
    /// Starts at the beginning of a text; a byte order mark is passed over.
    pub fn new(text: &'s str) -> Self {
        Self { bytes: text.as_bytes(), pos: if text.starts_with('\u{feff}') { 3 } else { 0 } }
    }

    /// The byte at `at`, or 0 behind the end. A NUL in the text is a character that no token begins with, so that the
    /// two need not be told apart except by [`Self::next_token`].
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// The next token; [`TokenKind::Eof`] again and again at the end.
    pub fn next_token(&mut self) -> Token {
        let (newline, comment) = self.skip_trivia();
        let start = self.pos;
        let kind = if start >= self.bytes.len() { TokenKind::Eof } else { self.scan() };
        debug_assert!(kind == TokenKind::Eof || self.pos > start, "every token moves on");
        Token { kind, newline, comment, span: Span::new(start as u32, self.pos as u32) }
    }

    /// Passes over blanks and comments; says whether a line break and whether a comment was among them.
    fn skip_trivia(&mut self) -> (bool, bool) {
        let mut newline = self.pos == 0 || self.pos == 3 && self.bytes.starts_with("\u{feff}".as_bytes());
        let mut comment = false;
        while let Some(&byte) = self.bytes.get(self.pos) {
            match byte {
                b' ' | b'\t' => self.pos += 1,
                // A return alone ends a line, too.
                b'\n' | b'\r' => {
                    newline = true;
                    self.pos += 1;
                }
                b'/' if self.byte(self.pos + 1) == b'/' => {
                    comment = true;
                    self.skip_line();
                }
                b'#' if self.hash_is_comment(newline) => {
                    comment = true;
                    self.skip_line();
                }
                _ => break,
            }
        }
        (newline, comment)
    }

    fn skip_line(&mut self) {
        let rest = &self.bytes[self.pos..];
        self.pos += rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(rest.len());
    }

    fn hash_is_comment(&self, line_start: bool) -> bool {
        let mut at = self.pos + 1;
        if !is(self.byte(at), START) {
            return true;
        }
        if !line_start {
            return false;
        }
        while is(self.byte(at), CONT) || self.byte(at) == b'.' {
            at += 1;
        }
        let adjacent = at;
        while matches!(self.byte(at), b' ' | b'\t') {
            at += 1;
        }
        match self.byte(at) {
            b'=' | b'<' | b',' | b']' | b'}' | b')' | b'>' | b'\n' | b'\r' => false,
            b':' => at == adjacent,
            0 => at < self.bytes.len(),
            _ => true,
        }
    }

    fn scan(&mut self) -> TokenKind {
        use TokenKind::*;
        let byte = self.bytes[self.pos];
        if is(byte, START) {
            self.pos += 1;
            self.take_name();
            return Word;
        }
        if is(byte, DIGIT) {
            return self.number();
        }
        self.pos += 1;
        match byte {
            b'%' => self.value(),
            b'(' => LParen,
            b')' => RParen,
            b'[' => LBracket,
            b']' => RBracket,
            b'{' => LBrace,
            b'}' => RBrace,
            b'<' => Lt,
            b',' => Comma,
            b':' => Colon,
            b';' => Semicolon,
            b'>' => self.with(b'=', Punct, Gt),
            b'=' => self.with(b'=', Punct, Equal),
            b'"' => self.string(),
            b'@' => self.symbol(),
            b'^' => self.suffix_name(Label),
            b'!' => self.dotted(Bang),
            b'#' => self.dotted(Hash),
            b'-' if self.byte(self.pos) == b'>' => {
                self.pos += 1;
                Arrow
            }
            b'-' if is(self.byte(self.pos), DIGIT) => self.number(),
            b'?' | b'*' if self.byte(self.pos) == b'x' => self.shape(),
            b'?' | b'*' | b'+' | b'-' | b'/' => Punct,
            b'.' if is(self.byte(self.pos), START) => {
                self.take_name();
                Word
            }
            b'.' if self.bytes[self.pos..].starts_with(b"..") => {
                self.pos += 2;
                Ellipsis
            }
            _ => self.bad_char(byte),
        }
    }

    /// One of two kinds, depending on whether `second` follows.
    fn with(&mut self, second: u8, then: TokenKind, otherwise: TokenKind) -> TokenKind {
        if self.byte(self.pos) == second {
            self.pos += 1;
            then
        } else {
            otherwise
        }
    }

    /// Takes the rest of a name; a dot belongs to it only if the name goes on behind it.
    fn take_name(&mut self) {
        loop {
            let byte = self.byte(self.pos);
            let part = is(byte, CONT) || byte == b'.' && is(self.byte(self.pos + 1), CONT);
            if !part {
                return;
            }
            self.pos += 1;
        }
    }

    fn dotted(&mut self, kind: TokenKind) -> TokenKind {
        if !is(self.byte(self.pos), START) {
            return TokenKind::BadChar;
        }
        self.take_name();
        kind
    }

    /// A name as it follows `%`, `@` and `^`: dots and dashes are part of it, but not the dash of `->`.
    fn suffix_name(&mut self, kind: TokenKind) -> TokenKind {
        let start = self.pos;
        loop {
            let byte = self.byte(self.pos);
            let part = is(byte, CONT) || byte == b'.' || byte == b'-' && self.byte(self.pos + 1) != b'>';
            if !part {
                break;
            }
            self.pos += 1;
        }
        if self.pos == start { TokenKind::BadChar } else { kind }
    }

    fn value(&mut self) -> TokenKind {
        let kind = self.suffix_name(TokenKind::Value);
        if self.byte(self.pos) == b'#' && is(self.byte(self.pos + 1), DIGIT) {
            self.pos += 1;
            self.take_digits();
        }
        kind
    }

    fn symbol(&mut self) -> TokenKind {
        loop {
            let kind = if self.byte(self.pos) == b'"' {
                self.pos += 1;
                match self.string() {
                    TokenKind::Str => TokenKind::Symbol,
                    bad => bad,
                }
            } else {
                self.suffix_name(TokenKind::Symbol)
            };
            if kind != TokenKind::Symbol || !self.bytes[self.pos..].starts_with(b"::@") {
                return kind;
            }
            self.pos += 3;
        }
    }

    /// A string whose opening quote has been taken. It ends on its line.
    fn string(&mut self) -> TokenKind {
        while let Some(&byte) = self.bytes.get(self.pos) {
            match byte {
                b'"' => {
                    self.pos += 1;
                    return TokenKind::Str;
                }
                b'\n' => break,
                b'\\' if !matches!(self.byte(self.pos + 1), b'\n' | 0) => self.pos += 2,
                _ => self.pos += 1,
            }
        }
        TokenKind::BadStr
    }

    fn take_digits(&mut self) {
        while is(self.byte(self.pos), DIGIT) {
            self.pos += 1;
        }
    }

    /// A number or dimensions; the position is at the first digit, a sign has been taken.
    fn number(&mut self) -> TokenKind {
        if self.byte(self.pos) == b'0' && self.byte(self.pos + 1) == b'x' {
            let mut at = self.pos + 2;
            while self.byte(at).is_ascii_hexdigit() {
                at += 1;
            }
            if at > self.pos + 2 && !is(self.byte(at), CONT) {
                self.pos = at;
                return TokenKind::Int;
            }
        }
        self.take_digits();
        let mut kind = TokenKind::Int;
        match self.byte(self.pos) {
            b'x' => return self.shape(),
            b'.' if !is(self.byte(self.pos + 1), START) && self.byte(self.pos + 1) != b'.' => {
                kind = TokenKind::Float;
                self.pos += 1;
                self.take_digits();
            }
            _ => {}
        }
        if matches!(self.byte(self.pos), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(self.pos + 1), b'+' | b'-'));
            if is(self.byte(self.pos + 1 + sign), DIGIT) {
                kind = TokenKind::Float;
                self.pos += 1 + sign;
                self.take_digits();
            }
        }
        self.end_of_number(kind)
    }

    /// The rest of dimensions, at the `x` behind the first one.
    fn shape(&mut self) -> TokenKind {
        while self.byte(self.pos) == b'x' {
            self.pos += 1;
            match self.byte(self.pos) {
                b'?' => self.pos += 1,
                byte if is(byte, DIGIT) => self.take_digits(),
                _ => return TokenKind::Shape,
            }
        }
        self.end_of_number(TokenKind::Shape)
    }

    fn end_of_number(&mut self, kind: TokenKind) -> TokenKind {
        if !is(self.byte(self.pos), CONT) {
            return kind;
        }
        self.take_name();
        TokenKind::BadNumber
    }

    /// Takes a run of characters outside ASCII as one token, so that a file in another language gives few errors.
    fn bad_char(&mut self, first: u8) -> TokenKind {
        if !first.is_ascii() {
            while self.pos < self.bytes.len() && !self.bytes[self.pos].is_ascii() {
                self.pos += 1;
            }
        }
        TokenKind::BadChar
    }
}
