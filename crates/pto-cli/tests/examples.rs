//! The example programs: each is legal on exactly the targets that it names, converts, lowers, and reads back.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn pto(arguments: &[&str], path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pto")).args(arguments).arg(path).output().expect("pto runs")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

/// The examples with the targets that their second line names.
fn examples() -> Vec<(PathBuf, Vec<String>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pto");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let targets = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("text");
        let line = text.lines().find_map(|line| line.strip_prefix("// targets: ")).expect("a line of targets");
        line.split(' ').map(String::from).collect()
    };
    paths.into_iter().map(|path| (path.clone(), targets(&path))).collect()
}

#[test]
fn legal_on_the_targets_that_they_name_and_nowhere_else() {
    let examples = examples();
    assert!(examples.len() >= 38, "{} examples", examples.len());
    for (path, targets) in examples {
        for target in ["cpu", "a2a3", "a5", "host"] {
            let output = pto(&["check", "--target", target], &path);
            let legal = targets.iter().any(|name| name == target);
            let said = String::from_utf8_lossy(&output.stdout);
            assert_eq!(code(&output), i32::from(!legal), "{} on {target}:\n{said}", path.display());
        }
        let output = pto(&["check"], &path);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(code(&output), 0, "{}:\n{said}", path.display());
        let summary = said.lines().last().unwrap_or_default();
        assert!(summary.contains(&format!("legal on {}", targets.join(", "))), "{summary}");
    }
}

#[test]
fn canonical_and_convertible() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, targets) in examples() {
        let formatted = pto(&["fmt"], &path);
        assert_eq!(code(&formatted), 0, "{}", path.display());
        let again = folder.path().join("again.pto");
        std::fs::write(&again, &formatted.stdout).expect("a file");
        assert_eq!(code(&pto(&["fmt", "--check"], &again)), 0, "{} is not formatted stably", path.display());
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let own = name.rsplit('_').next().unwrap_or_default().to_string();
        for form in ["as", "ssa", "dps", "level3"] {
            let output = pto(&["fmt", "--form", form], &path);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if code(&output) != 0 {
                assert!(own != form && said.contains("unsupported.form"), "{name} as {form}: {said}");
                continue;
            }
            let written = folder.path().join(format!("{form}.pto"));
            std::fs::write(&written, &output.stdout).expect("a file");
            let output = pto(&["check", "--target", &targets[0]], &written);
            assert_eq!(code(&output), 0, "{name} as {form}: {}", String::from_utf8_lossy(&output.stdout));
        }
    }
}

/// The command that stands at the head of every example works as it is, and finds nothing wrong.
#[test]
fn run_by_the_command_at_their_head() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (path, _) in examples() {
        let text = std::fs::read_to_string(&path).expect("text");
        let command = text.lines().find_map(|line| line.strip_prefix("// run: pto run "));
        let command = command.unwrap_or_else(|| panic!("{} says no command", path.display()));
        let name = path.file_name().expect("a name").to_string_lossy();
        assert!(command.starts_with(&format!("examples/pto/{name} ")), "{name}: {command}");
        let output = Command::new(env!("CARGO_BIN_EXE_pto"))
            .current_dir(&root)
            .arg("run")
            .args(command.split_whitespace())
            .arg("--json")
            .output()
            .expect("pto runs");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(code(&output), 0, "{name}: {said}{}", String::from_utf8_lossy(&output.stderr));
        let report: serde_json::Value = serde_json::from_str(&said).expect("JSON");
        let reports = report["ranks"].as_array().cloned().unwrap_or_else(|| vec![report]);
        let count = |report: &serde_json::Value| report["instructions"].as_u64().unwrap_or(0);
        assert!(reports.iter().map(count).sum::<u64>() > 0, "{name} does nothing: {said}");
    }
}

#[test]
fn lowered_programs_are_legal_level_3() {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, targets) in examples() {
        for target in targets.iter().filter(|target| ["a2a3", "a5"].contains(&target.as_str())) {
            let output = pto(&["lower", "--to", "level3", "--target", target], &path);
            let said = String::from_utf8_lossy(&output.stderr);
            // Tiles that come from outside have no address that lowering could give them.
            if code(&output) != 0 && said.contains("expected an address") {
                continue;
            }
            assert_eq!(code(&output), 0, "{} for {target}: {said}", path.display());
            let lowered = folder.path().join("lowered.pto");
            std::fs::write(&lowered, &output.stdout).expect("a file");
            let output = pto(&["check", "--target", target, "--deny", "alias.mixed-placement"], &lowered);
            assert_eq!(
                code(&output),
                0,
                "{} for {target}: {}",
                path.display(),
                String::from_utf8_lossy(&output.stdout)
            );
        }
    }
}
