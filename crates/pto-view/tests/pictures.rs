//! The files: well-formed, complete, harmless, and never large.

mod common;

use common::{empty, random, samples};
use proptest::prelude::*;
use pto_ir::Place;
use pto_isa::{Coalesce, Target};
use pto_sim::{Operation, Report};
use roxmltree::{Document, ParsingOptions};

fn place(place: Place) -> String {
    format!("<kernel>.pto:{}", place.start)
}

/// Both files, each parsed as XML: the page is written so that it is that too.
fn parsed(report: &Report, check: impl Fn(&Document<'_>, &str)) {
    for text in [pto_view::svg(report, place), pto_view::html(report, place)] {
        let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
        let document = Document::parse_with_options(&text, options).expect("well-formed");
        check(&document, &text);
    }
}

fn count(document: &Document<'_>, what: impl Fn(roxmltree::Node<'_, '_>) -> bool) -> usize {
    document.descendants().filter(|node| what(*node)).count()
}

fn has_class(node: roxmltree::Node<'_, '_>, class: &str) -> bool {
    node.attribute("class").is_some_and(|classes| classes.split(' ').any(|c| c == class))
}

#[test]
fn every_sample_is_well_formed_and_has_its_sections() {
    for (name, report) in samples() {
        parsed(&report, |document, _| {
            for id in ["verdict", "timeline", "ub"] {
                assert_eq!(count(document, |node| node.attribute("id") == Some(id)), 1, "{name} {id}");
            }
            let drawn =
                |node: roxmltree::Node<'_, '_>| node.attribute("id").is_some_and(|id| id.starts_with("operation-"));
            assert_eq!(count(document, drawn), report.operations.len().min(8), "{name}");
        });
    }
}

#[test]
fn nothing_is_fetched_and_nothing_runs_that_is_not_ours() {
    for (name, report) in samples() {
        parsed(&report, |document, text| {
            for node in document.descendants().filter(|node| node.is_element()) {
                let tag = node.tag_name().name();
                assert!(!["img", "link", "iframe", "object", "image", "use", "a", "foreignObject"].contains(&tag));
                for attribute in node.attributes() {
                    let attribute = attribute.name();
                    let fetches = ["href", "src", "style"].contains(&attribute) || attribute.starts_with("on");
                    assert!(!fetches, "{name}: {tag} {attribute}");
                }
            }
            let scripts = count(document, |node| node.has_tag_name("script"));
            assert_eq!(scripts, usize::from(text.starts_with("<!DOCTYPE html>")), "{name}");
            assert!(!text.contains("url(") && !text.contains("@import"));
            assert_eq!(text.matches("http").count(), 1, "{name}: only the namespace or the policy's attribute");
        });
    }
}

#[test]
fn names_stay_text() {
    let report = common::hostile();
    parsed(&report, |document, text| {
        assert!(!text.contains("<script>window") && !text.contains("<img") && !text.contains("<kernel>"));
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "no control characters");
        assert!(!text.contains('\u{202e}'));
        let told = document.descendants().filter_map(|node| node.text()).any(|text| text.contains("<script>"));
        assert!(told, "the name is still shown, as text");
        assert!(text.len() < 200_000, "a long name is cut: {}", text.len());
    });
}

#[test]
fn marks_are_where_they_belong() {
    parsed(&common::elements(), |document, _| {
        let arrows = |class: &'static str| count(document, move |n| has_class(n, "arrow") && has_class(n, class));
        assert_eq!(count(document, |node| has_class(node, "arrow")), 29, "one per lane with a slot");
        assert_eq!(arrows("hit"), 5);
        // Payload, index and legend for skipped lanes; the slots as well for colliding ones.
        assert_eq!(count(document, |node| has_class(node, "cell") && has_class(node, "drop")), 3 + 3 + 1);
        assert_eq!(count(document, |node| has_class(node, "cell") && has_class(node, "hit")), 5 + 5 + 2 + 1);
        assert_eq!(count(document, |node| has_class(node, "shared")), 1);
        assert_eq!(count(document, |node| has_class(node, "block")), 4);
        assert_eq!(count(document, |node| has_class(node, "tile")), 3);
    });
}

#[test]
fn what_is_too_much_is_counted() {
    parsed(&common::long(), |_, text| {
        assert!(text.len() < 4_000_000, "{}", text.len());
        for words in [
            "32 more gathers and scatters are not shown",
            "900,000 later runs are not shown",
            "4,700 more tiles are not shown",
            "more findings are not shown",
            "more slots whose value depends on the schedule are not shown",
        ] {
            assert!(text.contains(words), "{words}");
        }
    });
}

#[test]
fn a_large_scatter_is_a_small_picture() {
    let mut report = common::large();
    report.operations.truncate(1);
    parsed(&report, |document, text| {
        assert!(text.len() < 350_000, "{}", text.len());
        assert!(count(document, |node| has_class(node, "ribbon")) > 50);
        assert!(count(document, |node| has_class(node, "hit")) > 10);
    });
}

#[test]
fn the_same_report_gives_the_same_files() {
    for (_, report) in samples() {
        assert_eq!(pto_view::svg(&report, place), pto_view::svg(&report.clone(), place));
        assert_eq!(pto_view::html(&report, place), pto_view::html(&report.clone(), place));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_operation_can_be_drawn(
        name in ".{0,40}",
        table in (0u64..5000, 0u64..5000),
        payload in (0u64..40, 0u64..40),
        lanes in 0usize..1600,
        gather: bool,
        row: bool,
        seed: u64,
    ) {
        let mut next = random(seed);
        let bound = table.0.saturating_mul(table.1).max(1) * 2;
        let slots: Vec<Option<u64>> = (0..lanes).map(|_| Some(next(bound)).filter(|slot| slot % 5 > 0)).collect();
        let mut report = empty(Target::A5);
        report.entry = name.clone();
        report.operations.push(Operation {
            name: if gather { "mgather" } else { "mscatter" },
            place: Place::default(),
            mode: Some(if row { Coalesce::Row } else { Coalesce::Elem }),
            table: (name, table.0, table.1),
            payload,
            indices: slots.iter().map(|slot| slot.map_or(-1, |slot| slot as i64)).collect(),
            slots,
        });
        parsed(&report, |document, text| {
            assert!(text.len() < 500_000);
            assert!(!text.contains("NaN") && !text.contains("inf\""));
            assert_eq!(count(document, |node| node.attribute("id") == Some("operation-0")), 1);
        });
    }
}
