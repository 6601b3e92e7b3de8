//! Texts made to hurt: nothing panics, nothing is quadratic, everything is reported.

mod common;

use common::parse_text;
use pto_text::{MAX_DEPTH, MAX_DIAGNOSTICS, Source, parse};

/// Tokens scanned for each byte of text; every token is looked at a bounded number of times and is at least one byte
/// long, so this is bounded whatever the text.
const TOKENS_PER_BYTE: u64 = 6;

fn assert_linear(name: &str, text: &str) {
    let parsed = parse_text(name, text);
    let bytes = text.len() as u64 + 1;
    assert!(parsed.tokens_scanned <= TOKENS_PER_BYTE * bytes, "{name}: {} for {bytes}", parsed.tokens_scanned);
    assert!(
        parsed.tree.node_count() as u64 <= 3 * bytes,
        "{name}: {} nodes for {bytes} bytes",
        parsed.tree.node_count()
    );
    assert!(parsed.diagnostics.len() <= MAX_DIAGNOSTICS + 1, "{name}");
}

#[test]
fn repeated_anything_is_linear() {
    let pieces = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "<",
        ">",
        "%a",
        "%a=",
        "%a,",
        ",",
        ":",
        "->",
        "=",
        "!a",
        "#a ",
        "\"",
        "\"a\"(",
        "a",
        "a.b ",
        "a(",
        "a<",
        "a{",
        "a{b=",
        "8x",
        "?x",
        "...",
        "~",
        "ü",
        "^b",
        "^b:",
        "@s(",
        ";",
        "\n",
        "\na",
        "\na.b %c",
        "\n%a = b",
        "-",
        "//\n",
        "# c\n",
        "f({",
        "module {",
        "\n}",
        "a = {b, ",
        "!a = ",
        "\n!a = !a<",
        "a : (",
        "a : f32, ",
        "loc(",
        "x : !a.b<",
    ];
    for piece in pieces {
        assert_linear(piece, &piece.repeat(20_000));
    }
}

#[test]
fn pairs_of_pieces_are_linear() {
    let pieces =
        ["(", ")", "{", "}", "<", ">", "%a", " = ", ", ", " : ", "a.b ", "\n", "!t", "8x", "\"", "-> ", "f32 "];
    for first in pieces {
        for second in pieces {
            let pair = format!("{first}{second}");
            assert_linear(&pair, &pair.repeat(2_000));
        }
    }
}

#[test]
fn work_grows_with_the_text() {
    let kernel = common::files("samples").into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n");
    // Aliases may be defined once only, which has nothing to do with the growth.
    let kernel = kernel.lines().filter(|line| !line.starts_with(['!', '#'])).collect::<Vec<_>>().join("\n");
    let cost = |times: usize| parse_text("t", &kernel.repeat(times)).tokens_scanned as f64;
    let (small, large) = (cost(4), cost(64));
    assert!((large / small - 16.0).abs() < 0.5, "16 times the text took {} times the work", large / small);
}

#[test]
fn nesting_is_bounded_and_reported_once() {
    let depth = 50_000;
    for (open, close) in
        [("(", ")"), ("[", "]"), ("{a = ", "}"), ("!p.t<", ">"), ("f(", ")"), ("scf.if %c {\n", "\n}"), ("tuple<", ">")]
    {
        let text = format!("a.b {}{}", open.repeat(depth), close.repeat(depth));
        let found = parse_text("deep", &text).diagnostics;
        let names: Vec<_> = found.iter().map(|one| one.rule.name).collect();
        assert_eq!(names, ["parse.nesting"], "{open}");
    }
}

#[test]
fn the_deepest_allowed_nesting_prints_back() {
    let depth = MAX_DEPTH as usize;
    for (open, close) in [("[", "]"), ("!p.t<", ">"), ("scf.if %c {\n", "\n}\n")] {
        let text = format!("a.b {}{}", open.repeat(depth), close.repeat(depth));
        let parsed = parse_text("deep", &text);
        assert!(parsed.is_clean(), "{open}: {:?}", parsed.diagnostics);
        common::assert_round_trip("deep", &parsed);
        let deeper = format!("a.b {}{}", open.repeat(depth + 1), close.repeat(depth + 1));
        assert!(!parse_text("deeper", &deeper).is_clean(), "{open}");
    }
}

#[test]
fn what_is_printed_is_not_much_longer_than_the_text() {
    let depth = MAX_DEPTH as usize;
    let text = format!("{}{}{}", "scf.if %c {\n".repeat(depth), "a\n".repeat(50_000), "}\n".repeat(depth));
    let parsed = parse_text("deep", &text);
    assert!(parsed.is_clean());
    assert!(common::assert_round_trip("deep", &parsed).len() < 25 * text.len());
}

#[test]
fn findings_are_capped_and_the_cap_is_said() {
    let found = parse_text("t", &"= \n".repeat(5_000)).diagnostics;
    assert_eq!(found.len(), MAX_DIAGNOSTICS + 1);
    assert_eq!(found.last().unwrap().rule.name, "parse.too-many-errors");
}

#[test]
fn bytes_that_are_not_utf8_are_each_reported() {
    let source = Source::from_bytes("t", b"return\n\xff\xfe %a = pto.op\n// \xc3 comment\nreturn ~".to_vec()).unwrap();
    let found = parse(&source).diagnostics;
    let all: Vec<_> =
        found.iter().map(|one| (one.rule.name, source.position(one.span.unwrap().start).to_string())).collect();
    let expected = [("parse.utf8", "2:1"), ("parse.utf8", "2:2"), ("parse.utf8", "3:4"), ("parse.character", "4:8")];
    assert_eq!(all, expected.map(|(rule, place)| (rule, place.to_string())));
}
