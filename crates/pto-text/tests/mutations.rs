//! Samples, mutated: whatever the text, the parser ends without a panic, its spans are inside the text, and what is free
//! of errors prints back.

mod common;

use common::mutate::{apply, change, tokens};
use common::{assert_round_trip, parse_text};
use proptest::prelude::*;
use pto_text::diagnostic::{json, sarif, terminal};
use pto_text::view::{Op, TypeView, dimensions, integer, string};
use pto_text::{Kind, Node, Parse, Source, parse, print};
use std::sync::LazyLock;

static SAMPLES: LazyLock<Vec<String>> =
    LazyLock::new(|| common::files("samples").into_iter().map(|(_, text)| text).collect());

/// Every token of every sample, to be mixed.
static TOKENS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut all: Vec<String> = SAMPLES.iter().flat_map(|text| tokens(text)).collect();
    all.extend(["\n", "// c\n", "# c\n", "...", "\u{0}", "ü", "\"", ";", "0x", "?x"].map(String::from));
    all.sort();
    all.dedup();
    all
});

fn check_spans(node: Node<'_>) {
    let span = node.span();
    assert!(node.kind() == Kind::File || !node.kind().is_leaf() || !node.text().is_empty() || span.is_empty());
    for child in node.children() {
        // The name of a type with a missing `!` and the like are inside their parent, all of them.
        assert!(span.start <= child.span().start && child.span().end <= span.end, "{child:?} outside {node:?}");
        check_spans(child);
    }
}

/// Reads everything that the views offer, of every operation.
fn read_views(block: Node<'_>) {
    for op in Op::all(block) {
        assert!(!op.name().is_empty() || op.is_generic());
        let types = [op.types(), op.result_types()].concat();
        types.iter().filter_map(|ty| TypeView::cast(*ty)).for_each(|ty| {
            ty.parameters().iter().flat_map(|parameter| &parameter.terms).for_each(|term| drop(dimensions(*term)));
        });
        op.attributes().filter_map(|entry| entry.value).for_each(|value| drop((integer(value), string(value))));
        let arguments = [op.arguments("ins"), op.direct_arguments(), op.symbol().and_then(|(_, arguments)| arguments)];
        for arguments in arguments.into_iter().flatten() {
            drop((arguments.values(), arguments.types(), arguments.parameters().count()));
        }
        drop((op.operands(), op.results().count(), op.entry("shape"), op.has_word("private")));
        op.regions().for_each(read_views);
    }
}

/// A clean text prints back; of any text the spans hold and the findings can be rendered.
fn check(parsed: &Parse) {
    let source = parsed.tree.source();
    if parsed.is_clean() {
        assert_round_trip("mutation", parsed);
        check_spans(parsed.tree.root());
    }
    // A tree with holes can still be printed and read, whatever comes of it.
    drop(print(&parsed.tree));
    read_views(parsed.tree.root());
    parsed.tree.path_at(source.text().len() as u32 / 2);
    for found in parsed.diagnostics.iter().take(5) {
        let span = found.span.unwrap_or_default();
        assert!(span.end as usize <= source.text().len() && source.text().get(span.range()).is_some());
        assert!(terminal::render(source, found, false).contains(found.rule.name));
        assert!(json::line(source, found).contains(found.rule.name));
    }
    sarif::log([(source, parsed.diagnostics.as_slice())]);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn mutated_tokens(sample in any::<prop::sample::Index>(), changes in prop::collection::vec(change(), 0..6)) {
        let mut tokens = tokens(&SAMPLES[sample.index(SAMPLES.len())]);
        for (at, change) in changes {
            apply(&mut tokens, &TOKENS, at, change);
        }
        check(&parse_text("mutation", &tokens.concat()));
    }

    #[test]
    fn mixed_tokens(picks in prop::collection::vec(any::<prop::sample::Index>(), 0..40)) {
        let text: Vec<&str> = picks.iter().map(|pick| TOKENS[pick.index(TOKENS.len())].as_str()).collect();
        check(&parse_text("mixture", &text.join(" ")));
    }

    #[test]
    fn mutated_bytes(
        sample in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..8),
    ) {
        let mut bytes = SAMPLES[sample.index(SAMPLES.len())].clone().into_bytes();
        for (at, byte, what) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = at.index(bytes.len());
            match what {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        check(&parse(&Source::from_bytes("mutation", bytes).unwrap()));
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&parse(&Source::from_bytes("noise", bytes).unwrap()));
    }

    #[test]
    fn cut_short(sample in any::<prop::sample::Index>(), end in any::<prop::sample::Index>()) {
        let text = &SAMPLES[sample.index(SAMPLES.len())];
        let end = text.floor_char_boundary(end.index(text.len() + 1));
        check(&parse_text("cut", &text[..end]));
    }
}
