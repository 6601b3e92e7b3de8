//! The production executor against the reference, over the legal space: types, policies, layouts, targets, shapes,
//! duplicate-heavy and hostile indices. Buffers are compared whole, padding included, between guard bytes.

mod common;

use std::num::NonZeroUsize;
use std::sync::OnceLock;

use common::{Program, draw};
use proptest::prelude::*;
use proptest::sample::select;
use pto_exec::host::{Backend, Engine, Method};
use pto_exec::{Fault, Lanes, Memory, Plan, Schedule, reference};
use pto_isa::{
    Atomic, Coalesce, Conflict, ElementClass, ElementType, Instruction, Launch, MaskPattern, OutOfBounds, Severity,
    Target, check,
};

const LAUNCH: Launch = Launch { dyn_ub: None };
const GUARD: [u8; 64] = [0xc3; 64];

fn memory<'a>(instruction: &Instruction, written: &'a mut [u8], inputs: &'a [Vec<u8>]) -> Memory<'a> {
    match instruction {
        Instruction::MGather { .. } => Memory::MGather { dst: written, table: &inputs[0], idx: &inputs[1] },
        Instruction::MScatter { .. } => Memory::MScatter { table: written, src: &inputs[0], idx: &inputs[1] },
        Instruction::TScatter { .. } => Memory::TScatter { dst: written, src: &inputs[0], idx: &inputs[1] },
        Instruction::TScatterMask { .. } => Memory::TScatterMask { dst: written, src: &inputs[0] },
    }
}

/// Every instruction set of the machine, on one thread in source order, and on several in each other way.
fn engines() -> &'static [Engine] {
    static ENGINES: OnceLock<Vec<Engine>> = OnceLock::new();
    ENGINES.get_or_init(|| {
        // No transfer is cut into more parts than there are threads. Where tests share a process, the first has made them.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(8).build_global();
        let alone = [(1, Method::Direct), (1, Method::Partitioned)];
        let several = [2, 3, 8]
            .map(|threads| [(threads, Method::Owned), (threads, Method::Merged), (threads, Method::Partitioned)]);
        let engine = |backend, (threads, method)| {
            let threads = NonZeroUsize::new(threads).expect("not zero");
            Engine::new().with_backend(backend).with_threads(threads).with_method(method)
        };
        let each =
            |backend| alone.into_iter().chain(several.into_iter().flatten()).map(move |way| engine(backend, way));
        Backend::available().flat_map(each).collect()
    })
}

/// Runs the production executor between guard bytes, at an odd address.
fn produce(program: &Program, schedule: Schedule) -> (Result<Lanes, Fault>, Vec<u8>) {
    produce_on(Engine::shared(), program, schedule)
}

fn produce_on(engine: &Engine, program: &Program, schedule: Schedule) -> (Result<Lanes, Fault>, Vec<u8>) {
    let mut guarded = [&GUARD[..], &[0xc3], &program.written, &GUARD].concat();
    let range = GUARD.len() + 1..guarded.len() - GUARD.len();
    let memory = memory(&program.instruction, &mut guarded[range.clone()], &program.inputs);
    let outcome =
        Plan::new(&program.instruction, program.target, LAUNCH).and_then(|plan| plan.run_on(engine, memory, schedule));
    assert!(guarded[..range.start].iter().chain(&guarded[range.end..]).all(|b| *b == 0xc3), "a guard was touched");
    (outcome, guarded[range].to_vec())
}

fn agree(program: &Program, schedule: Schedule) -> Result<(), TestCaseError> {
    let Program { instruction, target, written, inputs } = program;
    let broken: Vec<_> =
        check(instruction, *target, LAUNCH).into_iter().filter(|f| f.rule.severity == Severity::Error).collect();
    prop_assert!(broken.is_empty(), "the generator left the legal space: {broken:?}");
    let mut expected = written.clone();
    let reference =
        reference::execute(instruction, *target, LAUNCH, memory(instruction, &mut expected, inputs), schedule);
    for engine in engines() {
        let (production, actual) = produce_on(engine, program, schedule);
        prop_assert_eq!(&production, &reference, "{:?}", engine);
        if reference.is_err() {
            prop_assert_eq!(&actual, written, "a fault left a trace");
        }
        same(instruction, &actual, &expected)?;
    }
    Ok(())
}

/// The same bytes; a NaN that came out of arithmetic may have any payload.
fn same(instruction: &Instruction, actual: &[u8], expected: &[u8]) -> Result<(), TestCaseError> {
    let element = instruction.payload().element;
    let atomic = instruction.policy().is_some_and(|p| p.atomic_or_default() != Atomic::None);
    if atomic && element.class() == ElementClass::Float {
        let size = element.size() as usize;
        for (a, b) in actual.chunks_exact(size).zip(expected.chunks_exact(size)) {
            prop_assert!(a == b || (is_nan(element, a) && is_nan(element, b)), "{:02x?} {:02x?}", a, b);
        }
    } else {
        prop_assert_eq!(actual, expected);
    }
    Ok(())
}

fn is_nan(element: ElementType, bytes: &[u8]) -> bool {
    let mut padded = [0; 8];
    padded[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(padded);
    match element {
        ElementType::F16 => half::f16::from_bits(bits as u16).is_nan(),
        ElementType::BF16 => half::bf16::from_bits(bits as u16).is_nan(),
        ElementType::F32 => f32::from_bits(bits as u32).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    }
}

/// Cases to try: fewer where `PROPTEST_CASES` says so, as it does under a sanitizer.
fn cases(most: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(most)
}

fn any_of<T: Copy + core::fmt::Debug + 'static>(values: &'static [T]) -> impl Strategy<Value = T> {
    select(values)
}

/// A memory instruction that is legal on its target.
fn memory_program() -> impl Strategy<Value = Program> {
    let policies = (any_of(OutOfBounds::ALL), any_of(Atomic::ALL), any_of(Conflict::ALL));
    (draw(), any_of(Target::ALL), any::<bool>(), any_of(Coalesce::ALL), policies, any::<[prop::sample::Index; 2]>())
        .prop_map(|(draw, target, scatter, mode, (oob, atomic, conflict), [e, i])| {
            let profile = target.profile();
            let oob = match (scatter, oob) {
                (true, OutOfBounds::Zero) => OutOfBounds::Skip,
                (false, OutOfBounds::Skip) => OutOfBounds::Zero,
                _ => oob,
            };
            let atomic = if scatter && !profile.atomic(atomic).is_empty() { atomic } else { Atomic::None };
            let elements: Vec<_> =
                profile.atomic(atomic).iter().filter(|e| profile.memory_elements.contains(*e)).collect();
            let indices: Vec<_> = profile.memory_indices.iter().collect();
            let (element, index) = (elements[e.index(elements.len())], indices[i.index(indices.len())]);
            common::memory(&draw, target, scatter, element, index, mode, (oob, atomic, conflict))
        })
}

fn tile_program() -> impl Strategy<Value = Program> {
    (draw(), any_of(Target::ALL), any::<[prop::sample::Index; 2]>()).prop_map(|(draw, target, [e, i])| {
        let profile = target.profile();
        let elements: Vec<_> = profile.tile_elements.iter().collect();
        let element = elements[e.index(elements.len())];
        let device = matches!(target, Target::A2A3 | Target::A5);
        let width = if element.size() == 4 { 4 } else { 2 };
        let indices: Vec<_> = profile.tile_indices.iter().filter(|i| !device || i.size() == width).collect();
        common::tscatter(&draw, target, element, indices[i.index(indices.len())])
    })
}

fn mask_program() -> impl Strategy<Value = Program> {
    let target = select(&[Target::A5, Target::Host][..]);
    (draw(), target, any::<prop::sample::Index>(), any_of(MaskPattern::ALL)).prop_map(|(draw, target, e, pattern)| {
        let elements: Vec<_> = target.profile().tile_elements.iter().collect();
        common::mask(&draw, target, elements[e.index(elements.len())], pattern)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(2_500), ..ProptestConfig::default() })]

    #[test]
    fn memory_instructions_agree(program in memory_program()) {
        agree(&program, Schedule::InOrder)?;
    }

    #[test]
    fn tile_scatters_agree(program in tile_program()) {
        agree(&program, Schedule::InOrder)?;
    }

    #[test]
    fn mask_scatters_agree(program in mask_program()) {
        agree(&program, Schedule::InOrder)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(1_000), ..ProptestConfig::default() })]

    #[test]
    fn seeded_schedules_agree(program in memory_program(), seed in any::<u64>()) {
        agree(&program, Schedule::Seeded(seed))?;
    }

    /// A scatter in chunks gives what the single shot gives ("Tiled iteration"), for every policy but Default.
    #[test]
    fn chunks_of_rows_give_what_one_shot_gives(program in memory_program(), cut in any::<prop::sample::Index>()) {
        let Instruction::MScatter { table, src, idx, policy } = program.instruction else { return Ok(()) };
        let target = program.target;
        let one_row_index = idx.valid_rows.known() == Some(1) && src.valid_rows.known() != Some(1);
        let nz_elem = table.layout == pto_isa::TensorLayout::Nz
            && target == Target::A2A3
            && program.instruction.coalesce(target) == Some(Coalesce::Elem);
        // A2/A3 walks NZ elements by block column, so cutting by rows changes who is last; see docs/semantics.md.
        if one_row_index || !src.is_row_major() || !idx.is_row_major() || nz_elem || policy.coalesce.is_none() {
            return Ok(());
        }
        let rows = src.valid_rows.known().unwrap();
        let cut = cut.index(rows as usize) as u64;
        let (whole, expected) = produce(&program, Schedule::InOrder);
        if whole.is_err() {
            return Ok(());
        }
        let mut actual = program.written.clone();
        for (from, count) in [(0, cut), (cut, rows - cut)] {
            if count == 0 {
                continue;
            }
            let part = |tile: &pto_isa::Tile, bytes: &[u8]| {
                let row = (tile.cols * tile.element.size()) as usize;
                let part = pto_isa::Tile { rows: tile.rows - from, ..tile.with_valid(count, tile.valid_cols.known().unwrap()) };
                (part, bytes[from as usize * row..].to_vec())
            };
            let (src, src_bytes) = part(&src, &program.inputs[0]);
            let (idx, idx_bytes) = part(&idx, &program.inputs[1]);
            let chunk = Program {
                instruction: Instruction::MScatter { table, src, idx, policy },
                target,
                written: actual,
                inputs: vec![src_bytes, idx_bytes],
            };
            let (outcome, after) = produce(&chunk, Schedule::InOrder);
            prop_assert!(outcome.is_ok(), "{outcome:?}");
            actual = after;
        }
        prop_assert_eq!(actual, expected);
    }
}

/// The generator must not drift into a corner: every target, mode, layout, policy and fault is met.
#[test]
fn the_generator_covers_the_space() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..6_000 {
        let program = memory_program().new_tree(&mut runner).expect("a program").current();
        let (outcome, _) = produce(&program, Schedule::InOrder);
        let policy = program.instruction.policy().copied().unwrap_or_default();
        let table = program.instruction.table().expect("a table");
        seen.insert(format!("{} {}", program.target, program.instruction.opcode()));
        seen.insert(format!("{} {} {}", program.target, table.layout, table.element));
        seen.insert(format!("{} {:?}", program.target, program.instruction.coalesce(program.target)));
        seen.insert(format!("{} {}", program.target, policy.oob_or_default()));
        seen.insert(format!("{} {}", program.target, policy.atomic_or_default()));
        seen.insert(format!("{} fault {}", program.target, outcome.is_err()));
        seen.insert(format!("{} implicit {}", program.target, policy.coalesce.is_none()));
    }
    // 4 targets: opcodes 8, (layout, type) 9 + 18 + 12 + 30, modes 7, oob 20, atomics 4 + 2 + 4 + 4, faults 8, implicit 7 or 8.
    assert!(seen.len() >= 132, "{} kinds: {seen:#?}", seen.len());
}
