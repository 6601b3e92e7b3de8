//! From tokens to the syntax tree, with recovery.
//!
//! One grammar serves all spellings: a text is operations, an operation is results, a name and terms ([`op`]), a term is
//! a token or a bracketed list of terms ([`term`]). Line breaks matter in one place only: where an operation could end,
//! a token on a new line that cannot continue it begins the next one.
//!
//! After an error the parser passes over the offending token and goes on, silent until the next operation begins: a
//! mistake is reported once, and every operation gets its chance. A closing bracket that fits an outer one ends all
//! inner ones, so that a missing `)` spoils one operation and not the file.
//!
//! Recursion is bounded by [`MAX_DEPTH`]; what is nested deeper is reported and passed over. Every token is looked at a
//! bounded number of times, so time and memory are linear in the text.

mod op;
mod term;
mod types;

use crate::diagnostic::{Diagnostic, cap, suggest};
use crate::lexer::Lexer;
use crate::rules;
use crate::source::Source;
use crate::span::Span;
use crate::syntax::{Kind, NodeId, Slot, Tree};
use crate::token::{Token, TokenKind};
use pto_isa::rule::Rule;
use std::cell::Cell;
use std::collections::HashMap;

pub(crate) use types::suggest_type;

/// How deep brackets and regions may nest.
pub const MAX_DEPTH: u32 = 256;

/// How many findings about one text are reported; one more says that there were others.
pub const MAX_DIAGNOSTICS: usize = 1000;

/// A tree and what was found while it was built. With an error among the findings the tree is incomplete.
#[derive(Clone, Debug)]
pub struct Parse {
    /// The tree of everything that could be read.
    pub tree: Tree,
    /// The findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// How many tokens were scanned, those that were only looked at included: the cost of the parse, by which tests
    /// hold it to linear time on any machine.
    pub tokens_scanned: u64,
}

impl Parse {
    /// Whether the text was read without an error; warnings do not count.
    pub fn is_clean(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Parses a text in any of the four spellings.
///
/// ```
/// use pto_text::{Source, parse};
/// let source = Source::new("k.pto", "%d = mgather %m, %i : !pto.memref<64xf32>, !pto.tile<8x8xi32> -> !pto.tile<8x8xf32>");
/// let parsed = parse(&source);
/// assert!(parsed.is_clean());
/// assert_eq!(parsed.tree.root().len(), 1);
/// ```
pub fn parse(source: &Source) -> Parse {
    let mut parser = Parser::new(source);
    parser.report_invalid_utf8();
    parser.file();
    parser.check_aliases();
    let Parser { slots, children, comments, mut diagnostics, overflow, stack, scanned, .. } = parser;
    diagnostics.sort_by_key(|found| found.span.map_or(u32::MAX, |span| span.start));
    if cap(&mut diagnostics) || overflow {
        let message = format!("only the first {MAX_DIAGNOSTICS} findings are shown");
        diagnostics.push(Diagnostic::new(&rules::TOO_MANY, message));
    }
    let root = stack[0];
    let tree = Tree { source: source.clone(), slots, children, comments, root };
    Parse { tree, diagnostics, tokens_scanned: scanned.get() }
}

struct Parser<'s> {
    source: &'s Source,
    text: &'s str,
    lexer: Lexer<'s>,
    scanned: Cell<u64>,
    /// The token to be looked at.
    tok: Token,
    /// Where the token before it ended.
    prev_end: u32,
    slots: Vec<Slot>,
    children: Vec<NodeId>,
    /// Finished nodes that have no parent yet.
    stack: Vec<NodeId>,
    comments: Vec<Span>,
    diagnostics: Vec<Diagnostic>,
    overflow: bool,
    /// How many warnings, and how many errors.
    kept: [usize; 2],
    /// An error was reported for this operation; further ones are likely to follow from it.
    quiet: bool,
    /// How many brackets of each sort are open.
    open: [u32; 4],
    depth: u32,
    /// Above 0 inside the parameters of types and attributes, where any operator may stand.
    lenient: u32,
    /// Whether the operation being read holds regions by its name; `None` in the generic form, whose regions stand in
    /// parentheses.
    region_holder: Option<bool>,
    /// How many `{` strings without an end have swallowed.
    swallowed: u32,
    /// The first region whose `}` is indented less than its `{`, with that `}`.
    suspect: Option<(Span, Span)>,
    /// Whether an alias is being defined.
    in_alias: bool,
    /// Where `!name` and `#name` are used as aliases, and whether in the definition of another one.
    alias_uses: Vec<(Span, bool)>,
}

impl<'s> Parser<'s> {
    fn new(source: &'s Source) -> Self {
        let text = source.text();
        let mut parser = Self {
            source,
            text,
            lexer: Lexer::new(text),
            scanned: Cell::new(0),
            tok: Token { kind: TokenKind::Eof, newline: true, comment: false, span: Span::at(0) },
            prev_end: 0,
            // A node for five bytes of text is usual; room for more costs address space only.
            slots: Vec::with_capacity(text.len() / 4),
            children: Vec::with_capacity(text.len() / 4),
            stack: Vec::new(),
            comments: Vec::new(),
            diagnostics: Vec::new(),
            overflow: false,
            kept: [0; 2],
            quiet: false,
            open: [0; 4],
            depth: 0,
            lenient: 0,
            region_holder: Some(false),
            swallowed: 0,
            suspect: None,
            in_alias: false,
            alias_uses: Vec::new(),
        };
        parser.bump();
        parser
    }

    // Tokens.

    /// Moves to the next token. Tokens that the lexer could not make sense of are reported here: a bad string is read
    /// as a string and a bad number as a number, what is no token at all is passed over.
    fn bump(&mut self) {
        self.prev_end = self.tok.span.end;
        let mut newline = false;
        loop {
            let gap = self.tok.span.end;
            self.tok = self.lexer.next_token();
            self.scanned.update(|count| count + 1);
            newline |= self.tok.newline;
            if self.tok.comment {
                self.collect_comments(Span::new(gap, self.tok.span.start));
            }
            let bad = self.tok.kind;
            match bad {
                TokenKind::BadStr => {
                    self.tok.kind = TokenKind::Str;
                    let bytes = self.token_text().bytes();
                    let depth =
                        bytes.fold(0i32, |depth, byte| depth + i32::from(byte == b'{') - i32::from(byte == b'}'));
                    self.swallowed += depth.max(0) as u32;
                    if self.token_text().trim_end().ends_with('{') {
                        self.swallowed = self.swallowed.max(1);
                    }
                    self.report(Diagnostic::new(&rules::STRING, "expected `\"` before the end of the line"));
                }
                TokenKind::BadNumber => {
                    self.tok.kind = TokenKind::Int;
                    let message = format!("expected a number, found `{}`", self.token_text());
                    self.report(Diagnostic::new(&rules::NUMBER, message));
                }
                TokenKind::Ellipsis => {
                    let message = "expected something concrete, found the placeholder `...`";
                    self.report(Diagnostic::new(&rules::PLACEHOLDER, message));
                }
                TokenKind::BadChar => {
                    // Bytes that were not UTF-8 have been reported already.
                    if !self.token_text().starts_with(char::REPLACEMENT_CHARACTER) {
                        let message = format!("unexpected `{}`", self.token_text());
                        self.report(Diagnostic::new(&rules::CHARACTER, message));
                    }
                }
                _ => break,
            }
            // What follows in this operation is likely to suffer from it.
            self.quiet = true;
            if matches!(bad, TokenKind::BadStr | TokenKind::BadNumber) {
                break;
            }
        }
        self.tok.newline = newline;
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.tok.kind == kind
    }

    fn token_text(&self) -> &'s str {
        &self.text[self.tok.span.range()]
    }

    /// The byte directly behind the token.
    fn byte_behind(&self) -> u8 {
        self.text.as_bytes().get(self.tok.span.end as usize).copied().unwrap_or(0)
    }

    /// The first byte of the token behind the current one: cheaper than [`Self::peek`] unless a comment is between them.
    fn next_byte(&self) -> u8 {
        let rest = &self.text.as_bytes()[self.tok.span.end as usize..];
        match rest.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
            Some(b'/' | b'#') => self.text.as_bytes().get(self.peek().span.start as usize).copied().unwrap_or(0),
            Some(&byte) => byte,
            None => 0,
        }
    }

    /// Looks at the token behind the current one.
    fn peek(&self) -> Token {
        self.scanned.update(|count| count + 1);
        let mut ahead = self.lexer;
        ahead.next_token()
    }

    /// Looks at the two tokens behind the current one.
    fn peek_two(&self) -> (Token, Token) {
        self.scanned.update(|count| count + 2);
        let mut ahead = self.lexer;
        (ahead.next_token(), ahead.next_token())
    }

    fn collect_comments(&mut self, gap: Span) {
        let bytes = self.text.as_bytes();
        let mut at = gap.start as usize;
        while at < gap.end as usize {
            if !matches!(bytes[at], b'/' | b'#') {
                at += 1;
                continue;
            }
            let line = &self.text[at..gap.end as usize];
            let line = line.split('\n').next().unwrap_or(line);
            self.comments.push(Span::new(at as u32, (at + line.trim_end().len()) as u32));
            at += line.len();
        }
    }

    // Nodes.

    fn leaf(&mut self, kind: Kind, span: Span) {
        self.push(Slot { span, first: 0, count: 0, kind, comma: false });
    }

    /// Makes the current token a leaf and moves on.
    fn token(&mut self, kind: Kind) {
        self.leaf(kind, self.tok.span);
        self.bump();
    }

    /// Makes everything on the stack from `mark` on the children of a new node that begins at `start` and ends with the
    /// last token taken.
    fn finish(&mut self, mark: usize, kind: Kind, start: u32) {
        let first = self.children.len() as u32;
        self.children.extend(self.stack.drain(mark..));
        let count = self.children.len() as u32 - first;
        self.push(Slot { span: Span::new(start, self.prev_end), first, count, kind, comma: false });
    }

    fn push(&mut self, slot: Slot) {
        self.stack.push(NodeId(self.slots.len() as u32));
        self.slots.push(slot);
    }

    fn last_kind(&self, mark: usize) -> Option<Kind> {
        self.stack[mark..].last().map(|id| self.slots[id.0 as usize].kind)
    }

    /// Says that a comma stands before the node that was finished last.
    fn mark_comma(&mut self, comma: bool) {
        if let Some(id) = self.stack.last() {
            self.slots[id.0 as usize].comma = comma;
        }
    }

    // Findings.

    /// Reports a finding at the current token unless it has a place of its own.
    fn report(&mut self, mut found: Diagnostic) {
        // Errors and warnings are counted apart, so that no number of warnings hides an error.
        let kept = &mut self.kept[usize::from(found.is_error())];
        if *kept >= MAX_DIAGNOSTICS {
            self.overflow = true;
            return;
        }
        *kept += 1;
        found.span.get_or_insert(self.tok.span);
        self.diagnostics.push(found);
    }

    /// Reports an error of structure, the first one in this operation only.
    fn error(&mut self, found: Diagnostic) {
        if !self.quiet {
            self.quiet = true;
            self.report(found);
        }
    }

    fn found(&self) -> String {
        match self.tok.kind {
            TokenKind::Eof => TokenKind::Eof.describe().to_string(),
            _ => {
                let text = self.token_text();
                match text.char_indices().nth(40) {
                    Some((at, _)) => format!("`{}…`", &text[..at]),
                    None => format!("`{text}`"),
                }
            }
        }
    }

    /// Says that something is missing before the current token. If that token is on another line, the place is the end
    /// of the line where the missing thing belongs.
    fn missing(&self, rule: &'static Rule, what: &str) -> Diagnostic {
        if self.tok.newline && !self.at(TokenKind::Eof) {
            let message = format!("expected {what}, found the end of the line");
            return Diagnostic::new(rule, message).at(Span::at(self.prev_end));
        }
        let place = if self.at(TokenKind::Eof) { Span::at(self.prev_end) } else { self.tok.span };
        Diagnostic::new(rule, format!("expected {what}, found {}", self.found())).at(place)
    }

    fn expected(&mut self, what: &str) {
        if !self.quiet {
            self.error(self.missing(&rules::EXPECTED, what));
        }
    }

    /// Enters a bracket or region; reports and passes over it, to its end, if it is nested too deep.
    fn enter(&mut self) -> bool {
        if self.depth < MAX_DEPTH {
            self.depth += 1;
            return true;
        }
        self.error(Diagnostic::new(&rules::NESTING, format!("nested more than {MAX_DEPTH} levels deep")));
        let mut level = 0u32;
        loop {
            use TokenKind::*;
            match self.tok.kind {
                LParen | LBracket | LBrace | Lt => level += 1,
                RParen | RBracket | RBrace | Gt => level -= 1,
                Eof => return false,
                _ => {}
            }
            self.bump();
            if level == 0 {
                return false;
            }
        }
    }

    fn report_invalid_utf8(&mut self) {
        for span in self.source.invalid_utf8() {
            self.report(Diagnostic::new(&rules::UTF8, "these bytes are not UTF-8").at(span));
            if self.overflow {
                return;
            }
        }
    }

    /// Checks that every alias that is used is defined, once. An operation may use an alias that is defined below it; an
    /// alias only those that are defined above it, so that there are no cycles.
    fn check_aliases(&mut self) {
        let source = self.source;
        // Each name with its sigil, where it stands in its definition, and where that definition ends.
        let mut defined: HashMap<&str, (Span, u32)> = HashMap::new();
        let root = self.slots[self.stack[0].0 as usize];
        for at in root.first..root.first + root.count {
            let child = self.slots[self.children[at as usize].0 as usize];
            if child.kind != Kind::Alias {
                continue;
            }
            let head = self.slots[self.children[child.first as usize].0 as usize].span;
            let name = source.slice(head);
            if let Some((first, _)) = defined.get(name) {
                let found = Diagnostic::new(&rules::DUPLICATE_ALIAS, format!("`{name}` is defined twice")).at(head);
                self.report(found.with_label(*first, "first defined here"));
            } else {
                defined.insert(name, (head, child.span.end));
            }
        }
        let mut names: Vec<&str> = defined.keys().copied().collect();
        names.sort_unstable();
        // With more aliases than this the search would cost more than it helps.
        names.truncate(256);
        for (span, in_alias) in std::mem::take(&mut self.alias_uses) {
            let name = source.slice(span);
            let found = match defined.get(name) {
                _ if self.overflow => break,
                Some((head, end)) if in_alias && *end > span.start => {
                    let message = format!("`{name}` is used before its definition is complete");
                    let found = Diagnostic::new(&rules::UNKNOWN_ALIAS, message).with_label(*head, "defined here");
                    found.with_help("define aliases above those that use them")
                }
                Some(_) => continue,
                None => {
                    let found = Diagnostic::new(&rules::UNKNOWN_ALIAS, format!("the alias `{name}` is not defined"));
                    match suggest(name, names.iter().copied().filter(|other| other[..1] == name[..1])) {
                        Some(near) => found.with_help(format!("did you mean `{near}`?")),
                        None => found,
                    }
                }
            };
            self.report(found.at(span));
        }
    }
}
