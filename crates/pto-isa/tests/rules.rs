//! Every rule has a program that breaks only it, and a twin that differs in that one thing and passes.

use pto_isa::ElementType::{self, *};
use pto_isa::check::Verdict;
use pto_isa::{
    Atomic, BLayout, Coalesce, Collective, Conflict, Direction, Extent, Finding, Instruction, Launch, Location,
    MaskPattern, OutOfBounds, Policy, SLayout, Severity, Target, Tensor, TensorLayout, Tile, check, check_collective,
    judge, rule, rules,
};

const NONE: Launch = Launch { dyn_ub: None };
const ROW: Policy = Policy::coalesce(Coalesce::Row);
const ELEM: Policy = Policy::coalesce(Coalesce::Elem);

/// One rule: where it is judged, what breaks it, what does not.
struct Trial {
    rule: &'static str,
    target: Target,
    launch: Launch,
    broken: Instruction,
    twin: Instruction,
}

fn names(findings: &[Finding]) -> Vec<&'static str> {
    let mut names: Vec<_> = findings.iter().map(|f| f.rule.name).collect();
    names.dedup();
    names
}

fn packed(element: ElementType, rows: u64, cols: u64) -> Tensor {
    Tensor::packed(element, [1, 1, 1, rows, cols])
}

fn scatter(table: Tensor, src: Tile, idx: Tile, policy: Policy) -> Instruction {
    Instruction::MScatter { table, src, idx, policy }
}

fn gather(dst: Tile, table: Tensor, idx: Tile, policy: Policy) -> Instruction {
    Instruction::MGather { dst, table, idx, policy }
}

/// Four rows of eight f32 into a table of six such rows.
fn row_scatter() -> Instruction {
    scatter(packed(F32, 6, 8), Tile::new(F32, 4, 8), Tile::new(I32, 1, 4), ROW)
}

fn elem_scatter() -> Instruction {
    scatter(packed(F32, 4, 16), Tile::new(F32, 4, 8), Tile::new(I32, 4, 8), ELEM)
}

fn elem_gather() -> Instruction {
    gather(Tile::new(F32, 4, 8), packed(F32, 4, 16), Tile::new(I32, 4, 8), ELEM)
}

/// A fractal table of two by two blocks and a tile of the same shape.
fn nz_row_scatter() -> Instruction {
    let blocks = Tensor::strided(F32, [1, 2, 2, 16, 8], [512, 256, 128, 8, 1], TensorLayout::Nz);
    scatter(blocks, Tile::new(F32, 16, 16).nz(), Tile::new(I32, 1, 16), ROW)
}

fn tile_scatter() -> Instruction {
    Instruction::TScatter { dst: Tile::new(F32, 4, 8), src: Tile::new(F32, 4, 8), idx: Tile::new(I32, 4, 8) }
}

fn mask_scatter() -> Instruction {
    Instruction::TScatterMask { dst: Tile::new(F16, 4, 32), src: Tile::new(F16, 4, 16), pattern: MaskPattern::P0101 }
}

fn edit(mut instruction: Instruction, change: impl FnOnce(&mut Instruction)) -> Instruction {
    change(&mut instruction);
    instruction
}

macro_rules! with {
    ($base:expr, $variant:ident, $field:ident => $change:expr) => {
        edit($base, |instruction| {
            if let Instruction::$variant { $field, .. } = instruction {
                #[allow(clippy::redundant_closure_call, reason = "the change is a closure literal")]
                ($change)($field)
            }
        })
    };
}

fn trial(rule: &'static str, target: Target, broken: Instruction, twin: Instruction) -> Trial {
    Trial { rule, target, launch: NONE, broken, twin }
}

fn type_trials() -> Vec<Trial> {
    use Target::*;
    let wide = |element| scatter(packed(element, 6, 8), Tile::new(element, 4, 8), Tile::new(I32, 1, 4), ROW);
    vec![
        trial("type.element", A5, wide(F64), wide(F32)),
        trial("type.index", A2A3, with!(row_scatter(), MScatter, idx => |i: &mut Tile| i.element = I16), row_scatter()),
        trial(
            "type.table",
            A5,
            with!(row_scatter(), MScatter, table => |t: &mut Tensor| t.element = I32),
            row_scatter(),
        ),
        trial("type.same", A5, with!(tile_scatter(), TScatter, dst => |t: &mut Tile| t.element = I32), tile_scatter()),
        trial(
            "type.index-width",
            A2A3,
            with!(tile_scatter(), TScatter, idx => |t: &mut Tile| t.element = U16),
            tile_scatter(),
        ),
    ]
}

fn shape_trials() -> Vec<Trial> {
    use Target::*;
    let clamp = ELEM.with_oob(OutOfBounds::Clamp);
    let empty = |rows| scatter(packed(F32, rows, 16), Tile::new(F32, 4, 8), Tile::new(I32, 4, 8), clamp);
    let nothing = |cols| {
        scatter(
            packed(F32, 4, 16),
            Tile::new(F32, 4, 8).with_valid(4, cols),
            Tile::new(I32, 4, 8).with_valid(4, cols),
            ELEM,
        )
    };
    let wide_index = |cols| {
        scatter(
            packed(F32, 4, 16),
            Tile::new(F32, 4, 16).with_valid(4, cols),
            Tile::new(I32, 4, 8).with_valid(4, cols),
            ELEM,
        )
    };
    let huge = |rows| scatter(packed(F32, 6, 8), Tile::new(F32, 4, 8), Tile::new(I32, rows, 4).with_valid(1, 4), ROW);
    let cpu_index =
        |cols| with!(elem_scatter(), MScatter, idx => |i: &mut Tile| *i = Tile::new(I32, 4, 8).with_valid(4, cols));
    let cpu_rows =
        |rows| with!(elem_scatter(), MScatter, idx => |i: &mut Tile| *i = Tile::new(I32, rows, 8).with_valid(4, 8));
    let cpu_table = |outer| with!(elem_scatter(), MScatter, table => |t: &mut Tensor| *t = Tensor::packed(F32, [1, 1, outer, 4, 16]));
    let nz = |shape: [u64; 5]| {
        let strides = Tensor::packed(F32, shape).strides.map(|s| s.known().expect("static"));
        let blocks = Tensor::strided(F32, shape, strides, TensorLayout::Nz);
        scatter(blocks, Tile::new(F32, 16, 16).nz(), Tile::new(I32, 16, 16), ELEM)
    };
    let nz_tile = |rows, cols| with!(nz_row_scatter(), MScatter, src => |s: &mut Tile| *s = Tile::new(F32, rows, cols).with_valid(16, 16).nz());
    let nz_i8 = |cols| {
        let blocks = Tensor::strided(I8, [1, 1, 2, 16, 32], [1024, 1024, 512, 32, 1], TensorLayout::Nz);
        scatter(blocks, Tile::new(I8, 16, cols).with_valid(16, 16).nz(), Tile::new(I32, 16, 16), ELEM)
    };
    let partial = |cols| with!(nz_row_scatter(), MScatter, src => |s: &mut Tile| *s = s.with_valid(16, cols));
    let region =
        |cols| with!(tile_scatter(), TScatter, idx => |i: &mut Tile| *i = Tile::new(I32, 4, 16).with_valid(4, cols));
    let mask = |rows, cols| with!(mask_scatter(), TScatterMask, dst => |d: &mut Tile| *d = Tile::new(F16, 8, 64).with_valid(rows, cols));
    vec![
        trial("shape.valid-extent", A5, wide_index(9), wide_index(8)),
        trial("shape.empty", A2A3, nothing(0), nothing(1)),
        trial("shape.overflow", Host, huge(1 << 62), huge(1)),
        trial(
            "shape.index-coalesce",
            A2A3,
            with!(row_scatter(), MScatter, idx => |i: &mut Tile| *i = i.with_valid(1, 3)),
            row_scatter(),
        ),
        trial("shape.index-payload", Cpu, cpu_index(1), cpu_index(8)),
        trial("shape.rows", Cpu, cpu_rows(5), cpu_rows(4)),
        trial("shape.table", Cpu, cpu_table(2), cpu_table(1)),
        trial(
            "shape.row-width",
            A5,
            with!(row_scatter(), MScatter, table => |t: &mut Tensor| *t = packed(F32, 6, 16)),
            row_scatter(),
        ),
        trial(
            "shape.row-columns",
            Host,
            with!(row_scatter(), MScatter, table => |t: &mut Tensor| *t = packed(F32, 6, 7)),
            row_scatter(),
        ),
        trial("shape.nz-block-rows", A2A3, nz([1, 2, 4, 8, 8]), nz([1, 2, 2, 16, 8])),
        trial("shape.nz-block-cols", A2A3, nz([1, 2, 2, 16, 16]), nz([1, 2, 2, 16, 8])),
        trial("shape.nz-tile-rows", A2A3, nz_tile(24, 16), nz_tile(32, 16)),
        trial("shape.nz-tile-cols", A2A3, nz_i8(33), nz_i8(64)),
        trial("shape.nz-row", A2A3, partial(8), partial(16)),
        trial("shape.empty-table", A5, empty(0), empty(1)),
        trial("shape.index-region", A5, region(9), region(8)),
        trial("shape.index-smaller", A5, region(7), region(8)),
        trial("shape.mask-rows", A5, mask(5, 32), mask(4, 32)),
        trial("shape.mask-columns", A5, mask(4, 33), mask(4, 32)),
    ]
}

fn layout_trials() -> Vec<Trial> {
    use Target::*;
    let layout = |b, s| with!(elem_scatter(), MScatter, src => |t: &mut Tile| *t = Tile::new(F32, 16, 8).with_valid(4, 8).with_layout(b, s));
    let index = |b| with!(elem_scatter(), MScatter, idx => |t: &mut Tile| *t = t.with_layout(b, SLayout::NoneBox));
    let boxed = |rows| {
        let tile = Tile::new(F32, rows, 8).with_valid(4, 8).nz();
        with!(elem_scatter(), MScatter, src => |t: &mut Tile| *t = tile)
    };
    let stride = |stride| {
        with!(row_scatter(), MScatter, table => |t: &mut Tensor| {
            *t = Tensor::strided(F32, [1, 1, 1, 6, 8], [96, 96, 96, stride, 1], TensorLayout::Nd);
        })
    };
    let inner = |inner| {
        with!(row_scatter(), MScatter, table => |t: &mut Tensor| {
            *t = Tensor::strided(F32, [1, 1, 1, 6, 8], [96, 96, 96, 16, inner], TensorLayout::Nd);
        })
    };
    let kind = |layout| with!(elem_scatter(), MScatter, table => |t: &mut Tensor| t.layout = layout);
    let src_box = |s| with!(tile_scatter(), TScatter, src => |t: &mut Tile| *t = t.with_layout(BLayout::RowMajor, s));
    let mask = |b| with!(mask_scatter(), TScatterMask, dst => |t: &mut Tile| *t = t.with_layout(b, SLayout::NoneBox));
    let width =
        |cols| with!(elem_scatter(), MScatter, src => |t: &mut Tile| *t = Tile::new(F32, 4, cols).with_valid(4, 8));
    let at = |address| with!(elem_scatter(), MScatter, src => |t: &mut Tile| *t = t.at(address));
    let location = |location| with!(elem_scatter(), MScatter, src => |t: &mut Tile| t.location = location);
    vec![
        trial("layout.location", A5, location(Location::Mat), location(Location::Vec)),
        trial(
            "layout.payload",
            A5,
            layout(BLayout::ColMajor, SLayout::RowMajor),
            layout(BLayout::ColMajor, SLayout::NoneBox),
        ),
        trial(
            "layout.pair",
            A2A3,
            layout(BLayout::ColMajor, SLayout::NoneBox),
            layout(BLayout::RowMajor, SLayout::NoneBox),
        ),
        trial("layout.box", Host, boxed(8), boxed(16)),
        trial("layout.index", A2A3, index(BLayout::ColMajor), index(BLayout::RowMajor)),
        trial("layout.table", A5, kind(TensorLayout::Dn), kind(TensorLayout::Nd)),
        trial("layout.packed", A5, stride(16), stride(8)),
        trial("layout.inner-stride", A2A3, inner(2), inner(1)),
        trial("layout.tscatter-box", A5, src_box(SLayout::RowMajor), src_box(SLayout::NoneBox)),
        trial("layout.mask", A5, mask(BLayout::ColMajor), mask(BLayout::RowMajor)),
        trial("align.row-width", A2A3, width(9), width(16)),
        trial("align.address", A5, at(16), at(32)),
    ]
}

fn policy_trials() -> Vec<Trial> {
    use Target::*;
    let policy = |new| with!(elem_scatter(), MScatter, policy => |p: &mut Policy| *p = new);
    let gather = |new| with!(elem_gather(), MGather, policy => |p: &mut Policy| *p = new);
    let shape = |rows, cols| {
        scatter(packed(F32, 6, 8), Tile::new(F32, 4, 8), Tile::new(I32, 4, 8).with_valid(rows, cols), Policy::default())
    };
    let add = |element| {
        let columns = 32 / element_size(element);
        scatter(
            packed(element, 4, 64),
            Tile::new(element, 4, columns),
            Tile::new(I32, 4, columns),
            ELEM.with_atomic(Atomic::Add),
        )
    };
    vec![
        trial(
            "policy.coalesce",
            Host,
            shape(2, 4),
            with!(shape(2, 4), MScatter, idx => |i: &mut Tile| *i = i.with_valid(4, 8)),
        ),
        trial("policy.coalesce-implicit", A5, policy(Policy::default()), policy(ELEM)),
        trial(
            "policy.atomic-target",
            A2A3,
            policy(ELEM.with_atomic(Atomic::Max)),
            policy(ELEM.with_atomic(Atomic::Add)),
        ),
        trial("policy.atomic-type", A2A3, add(U8), add(I8)),
        trial("policy.conflict-target", A2A3, policy(ELEM.with_conflict(Conflict::Last)), policy(ELEM)),
        trial("policy.oob", A5, policy(ELEM.with_oob(OutOfBounds::Zero)), policy(ELEM.with_oob(OutOfBounds::Skip))),
        trial("policy.gather", A5, gather(ELEM.with_atomic(Atomic::None)), gather(ELEM)),
        trial("policy.ignored", Cpu, policy(ELEM.with_oob(OutOfBounds::Skip)), policy(ELEM)),
        trial("target.mask", A2A3, mask_scatter(), tile_scatter()),
    ]
}

fn element_size(element: ElementType) -> u64 {
    element.size()
}

fn memory_trials() -> Vec<Trial> {
    use Target::*;
    let rows =
        |rows| with!(elem_scatter(), MScatter, idx => |i: &mut Tile| *i = Tile::new(I32, rows, 8).with_valid(4, 8));
    let at = |address| with!(tile_scatter(), TScatter, src => |t: &mut Tile| *t = t.at(address));
    let leaves = |stride| {
        with!(elem_scatter(), MScatter, table => |t: &mut Tensor| {
            *t = Tensor::strided(F32, [2, 1, 1, 3, 8], [stride, 24, 24, 8, 1], TensorLayout::Nd);
        })
    };
    let clear = |dst| Instruction::TScatter {
        dst: Tile::new(F32, 4, 8).at(dst),
        src: Tile::new(F32, 4, 8).at(0),
        idx: Tile::new(I32, 4, 8).at(128),
    };
    let aliased = |dst: u64| gather(Tile::new(F32, 4, 8).at(dst), packed(F32, 4, 16), Tile::new(I32, 4, 8).at(0), ELEM);
    let dyn_ub = |rule, target, broken, twin| -> [Trial; 1] {
        let launch = Launch { dyn_ub: Some(broken) };
        assert!(check(&tile_scatter(), target, Launch { dyn_ub: Some(twin) }).is_empty() || target != A5);
        [Trial { rule, target, launch, broken: tile_scatter(), twin: tile_scatter() }]
    };
    let mut trials = vec![
        trial("budget.ub", A2A3, rows(6141), rows(6140)),
        trial("budget.ub", A5, rows(4093), rows(4092)),
        trial("budget.ub", A2A3, at(192 * 1024 - 96), at(192 * 1024 - 8192)),
        trial("bounds.table", A5, leaves(16), leaves(24)),
        trial("alias.clear", A5, clear(224), clear(256)),
        trial("alias.gather", A5, aliased(96), aliased(128)),
    ];
    trials.extend(dyn_ub("budget.dyn-ub", A5, 216 * 1024 + 32, 216 * 1024));
    trials.extend(dyn_ub("launch.dyn-ub-target", A2A3, 1024, 1024));
    trials
}

fn all_trials() -> Vec<Trial> {
    [type_trials(), shape_trials(), layout_trials(), policy_trials(), memory_trials()].into_iter().flatten().collect()
}

/// Trials of rules on the launch itself have no twin instruction.
fn is_about_the_launch(trial: &Trial) -> bool {
    trial.launch != NONE
}

#[test]
fn each_rule_is_broken_alone_and_its_twin_passes() {
    for trial in all_trials() {
        let Trial { rule, target, launch, broken, twin } = &trial;
        let findings = check(broken, *target, *launch);
        assert_eq!(names(&findings), [*rule], "{target}: {broken}: {findings:#?}");
        let launch = if is_about_the_launch(&trial) { NONE } else { *launch };
        let remaining: Vec<_> = check(twin, *target, launch)
            .into_iter()
            .filter(|f| f.rule.severity == Severity::Error || f.rule.name == *rule)
            .collect();
        assert_eq!(remaining, [], "the twin of {rule} on {target}: {twin}");
    }
}

/// One collective that is legal, to be broken one thing at a time.
fn collective() -> Collective {
    Collective {
        direction: Direction::Scatter,
        root: 1,
        caller: 1,
        local: Tensor::packed(F32, [1, 1, 1, 12, 8]),
        group: vec![Some(Tensor::packed(F32, [1, 1, 1, 4, 8])); 3],
        staging: vec![Tile::new(F32, 2, 8); 2],
    }
}

/// A change to a collective.
type Break = fn(&mut Collective);

#[test]
fn each_rule_of_the_collectives_is_broken_alone() {
    let trials: &[(&str, Target, Break)] = &[
        ("comm.root", Target::A5, |c| c.root = 3),
        ("comm.caller", Target::Cpu, |c| c.caller = 0),
        ("comm.hole", Target::A2A3, |c| c.group[2] = None),
        ("comm.element", Target::A5, |c| {
            c.local.element = F64;
            c.group.iter_mut().flatten().for_each(|t| t.element = F64);
            c.staging.iter_mut().for_each(|t| t.element = F64);
        }),
        ("comm.group-type", Target::Host, |c| c.group.iter_mut().flatten().for_each(|t| t.element = I32)),
        ("comm.staging-type", Target::Host, |c| c.staging.iter_mut().for_each(|t| t.element = I32)),
        ("comm.staging-count", Target::A5, |c| c.staging.clear()),
        ("comm.staging-location", Target::A5, |c| c.staging.iter_mut().for_each(|t| t.location = Location::Mat)),
        ("comm.staging-valid", Target::A5, |c| c.staging.iter_mut().for_each(|t| *t = t.with_valid(4, 8))),
        ("comm.ping-pong", Target::A5, |c| c.staging[1] = Tile::new(F32, 4, 8).with_valid(2, 8)),
        ("comm.rank-shapes", Target::A5, |c| c.group[2] = Some(Tensor::packed(F32, [1, 1, 1, 2, 8]))),
        ("comm.root-dims", Target::A5, |c| c.local.shape[2] = Extent::Static(2)),
        ("comm.root-rows", Target::A5, |c| c.local.shape[3] = Extent::Static(11)),
        ("comm.divide-rows", Target::A5, |c| c.staging.iter_mut().for_each(|t| *t = Tile::new(F32, 3, 8))),
        ("comm.divide-cols", Target::A5, |c| c.staging.iter_mut().for_each(|t| *t = t.with_valid(2, 3))),
        ("shape.overflow", Target::Host, |c| c.local.strides[3] = Extent::Static(u64::MAX / 2)),
        ("budget.ub", Target::A2A3, |c| {
            c.staging.iter_mut().for_each(|t| *t = Tile::new(F32, 3100, 8).with_valid(2, 8))
        }),
    ];
    assert_eq!(check_collective(&collective(), Target::A5, NONE), []);
    for (rule, target, change) in trials {
        let mut call = collective();
        change(&mut call);
        assert_eq!(names(&check_collective(&call, *target, NONE)), [*rule]);
        assert_eq!(check_collective(&collective(), *target, NONE), []);
    }
    let asked = Launch { dyn_ub: Some(1 << 20) };
    assert_eq!(names(&check_collective(&collective(), Target::A5, asked)), ["budget.dyn-ub"]);
    let tried: Vec<&str> = trials.iter().map(|t| t.0).chain(["budget.dyn-ub"]).collect();
    let untried: Vec<_> = rules::all()
        .map(|r| r.name)
        .filter(|name| name.starts_with("comm.") || name.starts_with("budget.ub"))
        .filter(|name| !tried.contains(name))
        .collect();
    assert_eq!(untried, [""; 0]);
}

#[test]
fn every_rule_has_a_trial() {
    let tried: Vec<&str> = all_trials().iter().map(|t| t.rule).collect();
    // Raised by loaders and executors, and tried there.
    let elsewhere = ["policy.name", "type.name", "shape.negative", "bounds.lane", "bounds.negative-lane"];
    let untried: Vec<_> = rules::all()
        .map(|r| r.name)
        .filter(|name| !name.starts_with("comm.") && !name.starts_with("budget.ub") && !name.starts_with("conflict."))
        .filter(|name| !tried.contains(name) && !elsewhere.contains(name))
        .collect();
    assert_eq!(untried, [""; 0]);
}

#[test]
fn names_are_unique_dotted_and_prefixed_and_texts_are_sentences() {
    let mut names = std::collections::BTreeSet::new();
    for rule in rules::all() {
        assert!(names.insert(rule.name), "{} stands twice", rule.name);
        let (prefix, rest) = rule.name.split_once('.').expect("a dot");
        assert!(rule::PREFIXES.contains(&prefix), "{}", rule.name);
        assert!(!rest.is_empty() && rest.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", rule.name);
        assert!(rule.summary.len() > 10 && rule.help.len() > 10 && rule.spec.len() > 10, "{}", rule.name);
        assert!(!rule.summary.ends_with('.') && !rule.help.ends_with('.'), "{}", rule.name);
    }
}

#[test]
fn dynamic_extents_fault_where_static_ones_are_refused() {
    let fixed = with!(row_scatter(), MScatter, idx => |i: &mut Tile| *i = i.with_valid(1, 3));
    assert!(matches!(judge(&fixed, Target::A2A3, NONE), Verdict::Refused(_)));
    let dynamic = with!(row_scatter(), MScatter, idx => |i: &mut Tile| *i = i.with_dynamic_valid(1, 3));
    assert!(matches!(judge(&dynamic, Target::A2A3, NONE), Verdict::Faults(_)));
    assert!(matches!(judge(&row_scatter(), Target::A2A3, NONE), Verdict::Legal(_)));
}

/// A table without elements is empty whatever the mode counts: rows of no columns, or a mode that only a run decides.
#[test]
fn a_table_without_elements_is_empty_in_every_mode() {
    let clamp = |policy: Policy| policy.with_oob(OutOfBounds::Clamp);
    let rows =
        |cols| scatter(packed(F32, 8, cols), Tile::new(F32, 4, 8).with_valid(4, 0), Tile::new(I32, 1, 4), clamp(ROW));
    assert_eq!(names(&check(&rows(0), Target::Host, NONE)), ["shape.empty-table"]);
    assert_eq!(names(&check(&rows(1), Target::Host, NONE)), [""; 0]);
    let undecided = |shape| {
        let (src, idx) = (Tile::new(F32, 4, 8).with_dynamic_valid(4, 8), Tile::new(I32, 4, 8).with_dynamic_valid(4, 8));
        scatter(Tensor::packed(F32, shape), src, idx, clamp(Policy::default()))
    };
    assert!(matches!(judge(&undecided([1, 0, 3, 4, 8]), Target::A5, NONE), Verdict::Refused(_)));
    assert!(matches!(judge(&undecided([1, 1, 3, 4, 8]), Target::A5, NONE), Verdict::Legal(_)));
}

#[test]
fn all_violations_are_reported() {
    let bad = scatter(
        Tensor::strided(I32, [1, 1, 1, 6, 8], [48, 48, 48, 8, 1], TensorLayout::Dn),
        Tile { location: Location::Acc, ..Tile::new(F32, 4, 7).with_valid(5, 7) },
        Tile::new(I16, 1, 4),
        ROW.with_atomic(Atomic::Max).with_conflict(Conflict::Default).with_oob(OutOfBounds::Zero),
    );
    let mut found = names(&check(&bad, Target::A2A3, NONE));
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "align.row-width",
            "layout.location",
            "layout.table",
            "policy.atomic-target",
            "policy.conflict-target",
            "policy.oob",
            "shape.index-coalesce",
            "shape.valid-extent",
            "type.index",
            "type.table",
        ]
    );
}

#[test]
fn extents_near_the_largest_number_neither_panic_nor_pass() {
    let edges = [0, 1, 2, 8, u64::from(u32::MAX), i64::MAX as u64 - 1, i64::MAX as u64, u64::MAX - 1, u64::MAX];
    for a in edges {
        for b in edges {
            for target in Target::ALL {
                for mode in [Some(Coalesce::Row), Some(Coalesce::Elem), None] {
                    for layout in TensorLayout::ALL {
                        let table = Tensor::strided(F32, [a, 1, b, 16, 8], [b, a, b, a, 1], *layout);
                        let policy = Policy { coalesce: mode, ..Policy::default().with_oob(OutOfBounds::Wrap) };
                        let program = scatter(table, Tile::new(F32, a, b), Tile::new(I32, b, a), policy);
                        let broken = check(&program, *target, NONE).iter().any(|f| f.rule.severity == Severity::Error);
                        assert!(broken || a.saturating_mul(b) < 1 << 40, "{target}: {program}");
                    }
                }
            }
        }
    }
}

/// 001, "Minimum Tile Shape", and "Atomic Type Support", line by line.
#[test]
fn tables_hold_against_the_specification() {
    for (element, least) in
        [(I8, 32), (U8, 32), (I16, 16), (U16, 16), (F16, 16), (BF16, 16), (I32, 8), (U32, 8), (F32, 8)]
    {
        assert_eq!((Target::A2A3.min_contiguous(element), Target::A5.min_contiguous(element)), (least, least));
    }
    for element in [F8E4M3, F8E5M2, HiF8] {
        assert_eq!(Target::A5.min_contiguous(element), 32);
    }
    let types = |target: Target, atomic| target.profile().atomic(atomic).to_string();
    assert_eq!(types(Target::Cpu, Atomic::Add), "i32, u32, f16, f32");
    assert_eq!(types(Target::A2A3, Atomic::Add), "i8, i16, i32, f16, bf16, f32");
    assert_eq!(types(Target::A5, Atomic::Add), "i32, u32, f16, bf16, f32");
    for atomic in [Atomic::Max, Atomic::Min] {
        assert_eq!(types(Target::Cpu, atomic), "i32, f32");
        assert_eq!(types(Target::A2A3, atomic), "");
        assert_eq!(types(Target::A5, atomic), "i32, u32, f32");
    }
}
