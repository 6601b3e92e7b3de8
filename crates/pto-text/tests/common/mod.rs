//! The sample files, and what every text that parses must satisfy.
#![allow(dead_code, reason = "every test binary uses its own part")]

use pto_text::{Parse, Source, parse, print};
use std::path::{Path, PathBuf};

/// The files of a folder beside this one, by name.
pub fn files(folder: &str) -> Vec<(String, String)> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).expect("the folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let name = |path: &Path| path.file_name().expect("a file").to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).expect("text"))).collect()
}

pub fn parse_text(name: &str, text: &str) -> Parse {
    parse(&Source::new(name, text))
}

/// The comments' texts; `#text` and `# text` are the same comment.
fn comments(parsed: &Parse) -> Vec<String> {
    let source = parsed.tree.source();
    let normal = |text: &str| match text.strip_prefix('#') {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => format!("# {rest}"),
        _ => text.to_string(),
    };
    parsed.tree.comments().iter().map(|span| normal(source.slice(*span))).collect()
}

/// Printing a text that parses gives a text that parses to the same, with the same comments, and prints to itself.
pub fn assert_round_trip(name: &str, parsed: &Parse) -> String {
    let printed = print(&parsed.tree);
    let again = parse_text(name, &printed);
    assert!(again.is_clean(), "{name}: the printed text does not parse: {:?}\n{printed}", again.diagnostics);
    assert!(parsed.tree.same_as(&again.tree), "{name}: the printed text says something else:\n{printed}");
    assert_eq!(comments(parsed), comments(&again), "{name}: comments changed:\n{printed}");
    assert_eq!(print(&again.tree), printed, "{name}: printing is not idempotent");
    printed
}
