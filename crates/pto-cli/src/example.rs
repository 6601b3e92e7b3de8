//! A failing and a corrected program for each rule, as files that a test checks.

/// A program that breaks a rule beside one that does not.
#[derive(Clone, Copy)]
pub(crate) struct Example {
    /// The target that the rule is judged for.
    pub(crate) target: &'static str,
    pub(crate) failing: &'static str,
    pub(crate) corrected: &'static str,
}

/// The line between the two programs of a file.
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
    "parse.missing-bang"
    "parse.number"
    "parse.operands"
    "parse.operation"
    "parse.placeholder"
    "parse.string"
    "parse.type"
    "parse.type-parameter"
    "parse.unclosed"
    "parse.unknown-alias"
    "parse.unknown-type"
    "parse.unmatched"
    "policy.atomic-target"
    "policy.atomic-type"
    "policy.coalesce"
    "policy.coalesce-implicit"
    "policy.conflict-target"
    "policy.gather"
    "policy.ignored"
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
    "unsupported.op"
}

macro_rules! kernels {
    ($($rule:literal $name:literal $target:literal)*) => {
        /// Rules that only a run raises, each with a kernel of `tests/kernels` and its clean twin.
        static KERNELS: &[(&str, Example)] = &[$((
            $rule,
            Example {
                target: $target,
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
    let (head, programs) = text.split_once('\n')?;
    let (failing, corrected) = programs.split_once(MARKER)?;
    Some(Example { target: head.strip_prefix("// target: ")?, failing, corrected })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pto_isa::Target;
    use pto_text::{Levels, Source};

    use super::*;
    use crate::check::judge;
    use crate::input::{Text, all_rules};

    /// Rules that no short text breaks when it is checked: only a run, a corpus or a very large file does.
    const WITHOUT: &[&str] = &[
        "comm.hole",
        "parse.file-size",
        "parse.nesting",
        "parse.too-many-errors",
        "parse.utf8",
        "policy.name",
        "type.name",
        "unsupported.dropped",
        "unsupported.form",
        "unsupported.nesting",
    ];

    /// The rules of which `pto check` says something.
    fn checked(text: &str, target: &str) -> BTreeSet<&'static str> {
        let target = Target::from_name(target).expect("a target");
        let judged = judge(Text::new(Source::new("example", text)), Some(target), &Levels::default());
        judged.found.iter().map(|one| one.rule.name).collect()
    }

    #[test]
    fn failing_texts_break_their_rule_alone_and_corrected_ones_none() {
        for rule in all_rules() {
            // Kernels are run, and held against what they expect, by the test of kernels.
            if KERNELS.iter().any(|(name, _)| *name == rule.name) {
                continue;
            }
            let Some(Example { target, failing, corrected }) = of(rule.name) else { continue };
            let (broken, left) = (checked(failing, target), checked(corrected, target));
            assert_eq!(broken, BTreeSet::from([rule.name]), "{} is to be broken by\n{failing}", rule.name);
            assert_eq!(left, BTreeSet::new(), "{} is to be corrected by\n{corrected}", rule.name);
        }
    }

    #[test]
    fn every_rule_has_an_example_or_a_reason() {
        let run_only: BTreeSet<&str> = pto_sim::rules::RULES.iter().map(|rule| rule.name).collect();
        for rule in all_rules() {
            let excused = WITHOUT.contains(&rule.name) || run_only.contains(rule.name);
            assert!(of(rule.name).is_some() || excused, "{} has no example", rule.name);
            assert!(of(rule.name).is_none() || !WITHOUT.contains(&rule.name), "{} has one", rule.name);
        }
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("explain");
        let files = std::fs::read_dir(folder).expect("the folder").count();
        assert_eq!(files, FILES.len(), "a file is not listed");
    }
}
