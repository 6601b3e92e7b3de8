//! The kernels of `tests/kernels`, and what their comments say.

use std::path::{Path, PathBuf};

/// All of them, in order.
pub fn paths() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kernels");
    let folders = entries(&root).into_iter().filter(|path| path.is_dir());
    folders.flat_map(|folder| entries(&folder)).collect()
}

fn entries(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).expect("a folder");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    paths
}

/// The comments `// WHAT: ...` and `# WHAT: ...` of a kernel's text, in order.
pub fn said<'t>(text: &'t str, what: &str) -> Vec<&'t str> {
    let marks = ["//", "#"].map(|comment| format!("{comment} {what}: "));
    text.lines().filter_map(|line| marks.iter().find_map(|mark| line.strip_prefix(mark.as_str()))).collect()
}

/// The arguments of each run that the comments ask for.
pub fn runs(text: &str) -> Vec<Vec<String>> {
    said(text, "run").iter().map(|run| run.split_whitespace().map(String::from).collect()).collect()
}
