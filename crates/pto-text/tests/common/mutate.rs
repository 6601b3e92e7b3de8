//! Texts changed token by token.

use proptest::prelude::*;
use pto_text::{Lexer, TokenKind};

/// The tokens of a text, each with the blanks before it.
pub fn tokens(text: &str) -> Vec<String> {
    let mut lexer = Lexer::new(text);
    let mut end = 0;
    std::iter::from_fn(|| {
        let token = lexer.next_token();
        let piece = text[end..token.span.end as usize].to_string();
        end = token.span.end as usize;
        (token.kind != TokenKind::Eof).then_some(piece)
    })
    .collect()
}

/// One change to a list of tokens.
#[derive(Clone, Debug)]
pub enum Change {
    Drop,
    Double,
    Swap,
    Replace(prop::sample::Index),
    Insert(prop::sample::Index),
}

pub fn change() -> impl Strategy<Value = (prop::sample::Index, Change)> {
    let change = prop_oneof![
        Just(Change::Drop),
        Just(Change::Double),
        Just(Change::Swap),
        any::<prop::sample::Index>().prop_map(Change::Replace),
        any::<prop::sample::Index>().prop_map(Change::Insert),
    ];
    (any::<prop::sample::Index>(), change)
}

/// Applies a change; `pool` is what new tokens are taken from.
pub fn apply(tokens: &mut Vec<String>, pool: &[String], at: prop::sample::Index, change: Change) {
    if tokens.is_empty() {
        return;
    }
    let at = at.index(tokens.len());
    let other = |index: prop::sample::Index| format!(" {}", pool[index.index(pool.len())]);
    match change {
        Change::Drop => drop(tokens.remove(at)),
        Change::Double => tokens.insert(at, tokens[at].clone()),
        Change::Swap => tokens.swap(at, at.saturating_sub(1)),
        Change::Replace(index) => tokens[at] = other(index),
        Change::Insert(index) => tokens.insert(at, other(index)),
    }
}
