//! `docs/rules.md` is what `pto explain` says. `BLESS=1 cargo test -p pto-cli --test rules_doc` writes it anew.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn generated() -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pto")).args(["explain", "--json"]).output().expect("pto starts");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let rules: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut page = String::from(
        "# Rules\n\nGenerated from `pto explain`; a test holds it up to date. `pto explain RULE` adds a failing and a corrected example.\n",
    );
    let mut prefix = "";
    for rule in &rules {
        let field = |name: &str| rule[name].as_str().unwrap_or_default();
        let first = field("rule").split('.').next().unwrap_or_default();
        if first != prefix {
            writeln!(page, "\n## {first}\n").expect("a string takes everything");
            prefix = first;
        }
        let (name, severity, summary, help, spec) =
            (field("rule"), field("severity"), field("summary"), field("help"), field("spec"));
        writeln!(page, "- **`{name}`** ({severity}): {summary}. *To do:* {help}. *Source:* {spec}").expect("as above");
    }
    page
}

#[test]
fn the_page_of_rules_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules.md");
    let generated = generated();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &generated).expect("docs/rules.md can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == generated, "docs/rules.md is not what pto explain says: run this test with BLESS=1");
}
