//! What must not compile, and what the compiler says about it.
//!
//! The words are those of one compiler version; `TRYBUILD=overwrite` re-blesses them. Other versions word their
//! diagnostics differently, so there it is only held that what passes here passes and what fails here fails.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler whose words are in the `.stderr` files.
const BLESSED: &str = "rustc 1.95.";
/// Set in the child process that judges without words: the folder with the cases.
const WORDLESS: &str = "PTO_UI_WITHOUT_WORDS";

#[test]
fn illegal_instructions_do_not_compile() {
    if let Some(folder) = std::env::var_os(WORDLESS) {
        judge(&PathBuf::from(folder));
    } else if compiler().starts_with(BLESSED) {
        judge(Path::new("tests/ui"));
    } else {
        let copies = copy_cases();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["illegal_instructions_do_not_compile", "--exact"])
            .env(WORDLESS, copies)
            .env("TRYBUILD", "overwrite")
            .status();
        assert!(child.unwrap().success());
    }
}

fn judge(folder: &Path) {
    let cases = trybuild::TestCases::new();
    // A passing case makes trybuild generate code, and with it evaluate the assertions of generic functions.
    cases.pass(folder.join("pass/*.rs"));
    cases.compile_fail(folder.join("bounds/*.rs"));
    cases.compile_fail(folder.join("rules/*.rs"));
}

fn compiler() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    String::from_utf8(Command::new(rustc).arg("--version").output().unwrap().stdout).unwrap()
}

/// Copies the cases, but not the words, to where they may be overwritten.
fn copy_cases() -> PathBuf {
    let copies = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    for kind in ["pass", "bounds", "rules"] {
        std::fs::create_dir_all(copies.join(kind)).unwrap();
        for case in std::fs::read_dir(Path::new("tests/ui").join(kind)).unwrap() {
            let path = case.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                std::fs::copy(&path, copies.join(kind).join(path.file_name().unwrap())).unwrap();
            }
        }
    }
    copies
}
