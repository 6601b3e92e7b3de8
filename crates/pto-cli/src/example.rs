//! What breaks each rule and what does not, side by side, as files that a test holds to it.

/// A text that breaks a rule beside one that does not.
#[derive(Clone, Copy)]
pub(crate) struct Example {
    pub(crate) shown: Shown,
    pub(crate) failing: &'static str,
    pub(crate) corrected: &'static str,
}

/// What shows that the rule is broken, and with it what the texts of an example are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Programs, judged for this target.
    Check(&'static str),
    /// Programs, run on this target: only a run breaks the rule.
    Run(&'static str),
    /// Programs, converted to this spelling.
    Convert(&'static str),
    /// Cases of a corpus, whose arrays are all zero.
    Conform,
    /// Descriptions: nothing that could be printed here breaks the rule. They are comments, lest they be taken for
    /// programs.
    Words,
}

impl Shown {
    /// From the first line of a file.
    fn read(head: &'static str) -> Option<Self> {
        match head.strip_prefix("// ")?.split_once(": ") {
            Some(("target", target)) => Some(Self::Check(target)),
            Some(("form", form)) => Some(Self::Convert(form)),
            _ if head == "// case" => Some(Self::Conform),
            _ if head == "// words" => Some(Self::Words),
            _ => None,
        }
    }

    /// The target that the example is for, if it is for one.
    pub(crate) fn target(self) -> Option<&'static str> {
        match self {
            Self::Check(target) | Self::Run(target) => Some(target),
            Self::Convert(_) | Self::Conform | Self::Words => None,
        }
    }

    /// The command that reports the rule.
    pub(crate) fn command(self) -> Option<String> {
        match self {
            Self::Check(target) => Some(format!("pto check --target {target}")),
            Self::Run(target) => Some(format!("pto run --target {target}")),
            Self::Convert(form) => Some(format!("pto fmt --form {form}")),
            Self::Conform => Some("pto conform".into()),
            Self::Words => None,
        }
    }
}

/// The line between the two texts of a file.
const MARKER: &str = "// corrected:\n";

macro_rules! files {
    ($($name:literal)*) => {
        static FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../explain/", $name, ".pto")))),*];
    };
}

files! {
    "alias.clear"
    "alias.gather"
    "alias.live"
    "alias.mixed-placement"
    "align.address"
    "align.row-width"
    "bounds.element"
    "bounds.partition"
    "bounds.step"
    "bounds.subview"
    "bounds.table"
    "budget.dyn-ub"
    "budget.ub"
    "comm.divide-cols"
    "comm.divide-rows"
    "comm.element"
    "comm.group-type"
    "comm.hole"
    "comm.ping-pong"
    "comm.rank-shapes"
    "comm.root"
    "comm.root-dims"
    "comm.root-rows"
    "comm.staging-count"
    "comm.staging-location"
    "comm.staging-type"
    "comm.staging-valid"
    "launch.direct-dispatch"
    "launch.dyn-ub-target"
    "layout.box"
    "layout.index"
    "layout.inner-stride"
    "layout.location"
    "layout.mask"
    "layout.packed"
    "layout.pair"
    "layout.payload"
    "layout.table"
    "layout.tscatter-box"
    "parse.attribute"
    "parse.character"
    "parse.duplicate-alias"
    "parse.duplicate-key"
    "parse.enumerator"
    "parse.expected"
    "parse.file-size"
    "parse.missing-bang"
    "parse.nesting"
    "parse.number"
    "parse.operands"
    "parse.operation"
    "parse.placeholder"
    "parse.string"
    "parse.too-many-errors"
    "parse.type"
    "parse.type-parameter"
    "parse.unclosed"
    "parse.unknown-alias"
    "parse.unknown-type"
    "parse.unmatched"
    "parse.utf8"
    "policy.atomic-target"
    "policy.atomic-type"
    "policy.coalesce"
    "policy.coalesce-implicit"
    "policy.conflict-target"
    "policy.gather"
    "policy.ignored"
    "policy.name"
    "policy.oob"
    "shape.empty"
    "shape.empty-table"
    "shape.index-coalesce"
    "shape.index-payload"
    "shape.index-region"
    "shape.index-smaller"
    "shape.mask-columns"
    "shape.mask-rows"
    "shape.negative"
    "shape.nz-block-cols"
    "shape.nz-block-rows"
    "shape.nz-row"
    "shape.nz-tile-cols"
    "shape.nz-tile-rows"
    "shape.overflow"
    "shape.rank"
    "shape.row-columns"
    "shape.row-width"
    "shape.rows"
    "shape.table"
    "shape.transfer"
    "shape.valid-extent"
    "shape.valid-static"
    "shape.view"
    "sync.event-range"
    "sync.pipe"
    "sync.same-pipe"
    "target.mask"
    "target.mismatch"
    "type.arithmetic"
    "type.element"
    "type.implicit-argument"
    "type.index"
    "type.index-width"
    "type.loop"
    "type.mismatch"
    "type.name"
    "type.operand"
    "type.redefined"
    "type.return"
    "type.same"
    "type.table"
    "type.terminator"
    "type.transfer"
    "type.undefined"
    "type.view"
    "type.yield"
    "uninit.address"
    "unsupported.dropped"
    "unsupported.form"
    "unsupported.nesting"
    "unsupported.op"
}

macro_rules! kernels {
    ($($rule:literal $name:literal $target:literal)*) => {
        /// Rules that only a run raises, each with a kernel of `tests/kernels` and its clean twin.
        static KERNELS: &[(&str, Example)] = &[$((
            $rule,
            Example {
                shown: Shown::Run($target),
                failing: include_str!(concat!("../../../tests/kernels/", $rule, "/", $name, ".pto")),
                corrected: include_str!(concat!("../../../tests/kernels/", $rule, "/", $name, ".clean.pto")),
            },
        )),*];
    };
}

kernels! {
    "alias.clobbered" "address_argument" "a5"
    "bounds.buffer" "view_parameter" "a5"
    "bounds.lane" "pto_as_a5" "a5"
    "bounds.negative-lane" "skip_a5" "a5"
    "comm.caller" "everybody_scatters" "a5"
    "comm.group-size" "three_ranks" "a5"
    "comm.rank-lost" "ended_before_barrier" "a5"
    "comm.window" "two_homes" "a5"
    "conflict.collision" "ssa_cpu" "cpu"
    "conflict.nondeterministic" "pto_as" "a5"
    "flush.missing" "no_dsb" "a5"
    "launch.argument" "tile_parameter" "a5"
    "launch.step-limit" "long_loop" "a5"
    "race.gm" "store_scalar_then_load" "a5"
    "race.ranks" "read_before_barrier" "a5"
    "race.ub" "tgetval" "a5"
    "sync.deadlock" "scalar_waits" "a5"
    "sync.double-set" "every_round" "a2a3"
    "sync.event-collision" "gather" "a2a3"
    "sync.never-waited" "left_set" "a5"
    "uninit.read" "tgetval" "a5"
}

/// The example of a rule: a file or a kernel.
pub(crate) fn of(rule: &str) -> Option<Example> {
    if let Some((_, kernel)) = KERNELS.iter().find(|(name, _)| *name == rule) {
        return Some(*kernel);
    }
    let (_, text) = FILES.iter().find(|(name, _)| *name == rule)?;
    let (head, texts) = text.split_once('\n')?;
    let (failing, corrected) = texts.split_once(MARKER)?;
    Some(Example { shown: Shown::read(head)?, failing, corrected })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pto_conform::{Outcome, Via};
    use pto_isa::Target;
    use pto_text::{Form, Levels, Source, to_text};

    use super::*;
    use crate::check::judge;
    use crate::input::{Text, all_rules};

    /// The rules that no text of a few lines breaks: by its size, by its bytes, or because the parser breaks off before.
    const DESCRIBED: &[&str] = &["parse.file-size", "parse.too-many-errors", "parse.utf8", "unsupported.nesting"];

    /// The rules of which `pto check` says something.
    fn checked(text: &str, target: &str) -> BTreeSet<&'static str> {
        let target = Target::from_name(target).expect("a target");
        let judged = judge(Text::new(Source::new("example", text)), Some(target), &Levels::default());
        judged.found.iter().map(|one| one.rule.name).collect()
    }

    /// The rules of which `pto fmt --form` says something.
    fn converted(text: &str, form: &str) -> BTreeSet<&'static str> {
        let text = Text::new(Source::new("example", text));
        let form = Form::from_name(form).expect("a spelling");
        let refused = to_text(&text.program.module, form, Some(&text.parsed.tree)).err().unwrap_or_default();
        let found = [text.found(), refused, text.program.dropped];
        found.iter().flatten().map(|one| one.rule.name).collect()
    }

    /// The rules for which `pto conform` refuses a case.
    fn conformed(text: &str) -> BTreeSet<&'static str> {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("zeros.bin"), [0; 4096]).expect("a file");
        let case = serde_json::from_str(text).expect("a case");
        let Outcome { verdict, diagnostics } = pto_conform::run(folder.path(), &case, Via::Exec);
        assert_eq!(verdict.is_err(), !diagnostics.is_empty(), "{verdict:?}: {diagnostics:?}");
        let named = |rule: &str| diagnostics.iter().any(|said| said.contains(&format!("{rule}: ")));
        all_rules().iter().map(|rule| rule.name).filter(|rule| named(rule)).collect()
    }

    #[test]
    fn failing_texts_break_their_rule_alone_and_corrected_ones_none() {
        for rule in all_rules() {
            let Example { shown, failing, corrected } = of(rule.name).unwrap_or_else(|| panic!("{}", rule.name));
            let (broken, left) = match shown {
                Shown::Check(target) => (checked(failing, target), checked(corrected, target)),
                Shown::Convert(form) => (converted(failing, form), converted(corrected, form)),
                Shown::Conform => (conformed(failing), conformed(corrected)),
                // Kernels are run, and held against what they expect, by the test of kernels.
                Shown::Run(_) | Shown::Words => continue,
            };
            assert_eq!(broken, BTreeSet::from([rule.name]), "{} is to be broken by\n{failing}", rule.name);
            assert_eq!(left, BTreeSet::new(), "{} is to be corrected by\n{corrected}", rule.name);
        }
    }

    #[test]
    fn what_cannot_be_shown_is_described() {
        let described = |name: &&str| of(name).is_some_and(|example| example.shown == Shown::Words);
        let names: Vec<&str> = all_rules().iter().map(|rule| rule.name).filter(described).collect();
        assert_eq!(names, DESCRIBED);
        for Example { failing, corrected, .. } in DESCRIBED.iter().filter_map(|name| of(name)) {
            assert!([failing, corrected].iter().all(|text| text.lines().all(|line| line.starts_with("// "))));
        }
    }

    #[test]
    fn every_file_is_the_example_of_a_rule() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("explain");
        let files = std::fs::read_dir(folder).expect("the folder").count();
        assert_eq!(files, FILES.len(), "a file is not listed");
        let rules: BTreeSet<&str> = all_rules().iter().map(|rule| rule.name).collect();
        assert!(FILES.iter().all(|(name, _)| rules.contains(name)), "a file belongs to no rule");
    }
}
