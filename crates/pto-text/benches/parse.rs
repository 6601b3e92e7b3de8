//! How fast a large text is lexed, parsed and printed, on one thread.
//!
//! `cargo bench -p pto-text` prints megabytes of text per second, the best of several rounds; an argument gives the size
//! of the text in megabytes (50 if there is none).
#![allow(clippy::print_stdout, reason = "the numbers are what a benchmark is for")]

use pto_text::{Lexer, Source, TokenKind, parse, print};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: usize = 5;

/// A kernel as compilers write them: views, tiles, loops, flags, comments.
const KERNEL: &str = include_str!("kernel.pto");

fn measure<R>(what: &str, bytes: usize, mut work: impl FnMut() -> R) {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let result = black_box(work());
        best = best.min(start.elapsed().as_secs_f64());
        drop(result);
    }
    println!("{what:<8} {:8.1} MB/s  {:7.1} ms", bytes as f64 / 1e6 / best, best * 1e3);
}

fn main() {
    let megabytes = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(50usize);
    let copies = megabytes * 1_000_000 / KERNEL.len() + 1;
    let source = Source::new("bench", KERNEL.repeat(copies));
    let text = source.text();
    println!("{} bytes, {copies} functions", text.len());

    measure("lex", text.len(), || {
        let mut lexer = Lexer::new(text);
        std::iter::from_fn(|| Some(lexer.next_token().kind)).take_while(|kind| *kind != TokenKind::Eof).count()
    });
    measure("parse", text.len(), || parse(&source));
    let parsed = parse(&source);
    assert!(parsed.is_clean(), "{:?}", parsed.diagnostics.first());
    let nodes = parsed.tree.node_count();
    println!("{nodes} nodes, {:.2} for each byte of text", nodes as f64 / text.len() as f64);
    measure("print", text.len(), || print(&parsed.tree));
}
