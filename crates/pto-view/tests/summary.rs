//! The terminal summary, word for word.

mod common;

use common::{cpu, elements, hostile, long, rows, samples};
use pto_view::summary;

#[test]
fn a_clean_run() {
    insta::assert_snapshot!(summary(&rows(), 80, false));
}

#[test]
fn a_faulty_run() {
    insta::assert_snapshot!(summary(&elements(), 100, false));
}

#[test]
fn a_target_without_time() {
    insta::assert_snapshot!(summary(&cpu(), 80, false));
}

#[test]
fn more_tiles_than_letters() {
    insta::assert_snapshot!(summary(&long(), 80, false));
}

#[test]
fn colours_change_nothing_but_colours() {
    for (name, report) in samples() {
        let (plain, coloured) = (summary(&report, 80, false), summary(&report, 80, true));
        assert!(!plain.contains('\u{1b}'), "{name}");
        assert!(coloured.contains("\u{1b}["), "{name}");
        let mut bare = coloured;
        for code in ["31", "32", "33", "36", "0"] {
            bare = bare.replace(&format!("\u{1b}[{code}m"), "");
        }
        assert_eq!(bare, plain, "{name}");
    }
}

#[test]
fn names_cannot_command_the_terminal() {
    let text = summary(&hostile(), 80, true);
    assert!(!text.contains("\u{1b}[31m\u{202e}") && !text.contains('\u{0}') && !text.contains('\u{202e}'));
}

#[test]
fn any_width_will_do() {
    for width in [0, 1, 39, 40, 80, 1000, usize::MAX] {
        for (_, report) in samples() {
            assert!(summary(&report, width, false).lines().count() < 30);
        }
    }
}
