//! Lowering, held against an oracle that executes what comes out.

mod common;

use std::collections::BTreeSet;

use common::oracle::{faults, flags, overwritten};
use common::program::{PAYLOADS, Shape, Step, build, kernel};
use common::trace::{Choices, Event, trace};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use pto_ir::{EVENTS, Flag, FunctionBuilder, Module, OpKind, Operand, Pipe, Type, check, lower};
use pto_isa::ElementType::F32;
use pto_isa::{Severity, Target, Tile};

const DEVICES: [Target; 2] = [Target::A2A3, Target::A5];
const SMALL: Shape = Shape { branches: true, dynamic: true, depth: 3, rows: [8; PAYLOADS] };
const STRAIGHT: Shape = Shape { branches: false, dynamic: false, depth: 2, rows: [8; PAYLOADS] };
/// Four payloads and two index tiles of 32 rows by 32 columns and more: they do not fit side by side twice.
const LARGE: Shape = Shape { branches: true, dynamic: true, depth: 3, rows: [32, 256, 128, 256] };

fn runs() -> impl Iterator<Item = Choices> {
    (0..4).flat_map(|n| (0..3).map(move |seed| Choices { n, seed: seed * 7919 + n as u64 }))
}

fn is_accepted(module: &Module, target: Target) {
    let found: Vec<_> = check(module, target).into_iter().filter(|found| found.severity > Severity::Note).collect();
    assert!(found.is_empty(), "{target}: {found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// No two conflicting accesses race on any path, flags are balanced, EVENT_ID0 is left to instructions, and the
    /// checker accepts the result.
    #[test]
    fn lowered_programs_are_ordered(steps in kernel(SMALL)) {
        let module = build(&steps, SMALL);
        for target in DEVICES {
            let lowered = lower::lower(&module, target).expect("small tiles fit");
            is_accepted(&lowered, target);
            for choices in runs() {
                let events = trace(&lowered.functions[0], &lowered.types, target, choices);
                let found = faults(&events, &[]);
                prop_assert!(found.is_empty(), "{} {:?}: {}", target, choices, found.join("\n"));
                let found = overwritten(&events);
                prop_assert!(found.is_empty(), "{} {:?}: {}", target, choices, found.join("\n"));
            }
        }
    }

    /// Tiles that share bytes never overwrite what is still read; addresses are aligned and within the budget.
    #[test]
    fn placed_tiles_keep_their_data(steps in kernel(LARGE)) {
        let module = build(&steps, LARGE);
        for target in DEVICES {
            let mut types = module.types.clone();
            let staged = lower::stage(&module.functions[0], &mut types);
            let placed = match lower::place(&staged, &types, target) {
                Ok(placed) => placed,
                Err(found) => {
                    prop_assert_eq!(found[0].rule.name, "budget.ub");
                    continue;
                }
            };
            let limit = target.profile().ub.unwrap().limit(None);
            for choices in runs() {
                let events = trace(&placed, &types, target, choices);
                let found = overwritten(&events);
                prop_assert!(found.is_empty(), "{} {:?}: {}", target, choices, found.join("\n"));
                for access in events.iter().filter_map(|event| match event {
                    Event::Work { accesses, .. } => Some(accesses.iter().flatten().filter(|a| a.tile.is_some())),
                    _ => None,
                }).flatten() {
                    prop_assert!(access.range.0 % 32 == 0 && access.range.1 <= limit, "{:?}", access);
                }
            }
        }
    }
}

// The same programs every time: which flags are redundant is decided for all paths at once, so that deep nests of loops
// may keep one that no single path needs.
proptest! {
    #![proptest_config(ProptestConfig { cases: 200, rng_seed: RngSeed::Fixed(3), failure_persistence: None, ..ProptestConfig::default() })]

    /// Without any one of the flags, something races.
    #[test]
    fn no_flag_is_redundant(steps in kernel(STRAIGHT)) {
        let module = build(&steps, STRAIGHT);
        for target in DEVICES {
            let lowered = lower::lower(&module, target).expect("small tiles fit");
            let events = trace(&lowered.functions[0], &lowered.types, target, Choices { n: 0, seed: 0 });
            for group in flags(&events) {
                prop_assert!(!faults(&events, &group).is_empty(), "{} does not need {:?}", target, group);
            }
        }
    }
}

fn flag_ops(module: &Module) -> usize {
    fn count(ops: &[pto_ir::Op]) -> usize {
        ops.iter()
            .map(|op| match &op.kind {
                OpKind::SetFlag(_) | OpKind::WaitFlag(_) => 1,
                OpKind::For(inner) => count(&inner.body.ops),
                OpKind::If(inner) => count(&inner.then.ops) + count(&inner.otherwise.ops),
                _ => 0,
            })
            .sum()
    }
    count(&module.functions[0].body.ops)
}

#[test]
fn one_pipe_alone_needs_no_flags() {
    let steps = [Step::Load(0, 0), Step::Load(1, 0), Step::Load(0, 2)];
    for target in DEVICES {
        assert_eq!(flag_ops(&lower::lower(&build(&steps, SMALL), target).unwrap()), 0);
    }
}

#[test]
fn targets_without_pipes_get_no_flags() {
    let steps = [Step::Load(0, 0), Step::Store(0, 2)];
    for target in [Target::Cpu, Target::Host] {
        let lowered = lower::lower(&build(&steps, SMALL), target).unwrap();
        assert_eq!(flag_ops(&lowered), 0);
    }
}

#[test]
fn load_and_store_in_a_loop_take_two_flags() {
    // One from load to store in a round, one from store to the next round's load: set before, waited for after.
    let body = vec![Step::Load(0, 0), Step::Store(0, 1)];
    let module = build(&[Step::Loop { trips: 3, fresh: false, swap: false, body }], SMALL);
    assert_eq!(flag_ops(&lower::lower(&module, Target::A5).unwrap()), 2 + 4);
}

#[test]
fn manual_mode_is_left_alone() {
    let mut b = FunctionBuilder::new("k");
    let p = b.pointer("p", F32);
    let (view, tile) = (b.view(p, &[8, 32]), b.tile(Tile::new(F32, 8, 32)));
    let flag = Flag { from: Pipe::Mte2, to: Pipe::Mte3, event: 3 };
    b.push(OpKind::Load { src: view, dst: tile }).set_flag(flag).wait_flag(flag);
    b.push(OpKind::Store { src: tile, dst: view });
    let module = b.finish();
    assert_eq!(flag_ops(&lower::lower(&module, Target::A5).unwrap()), 2);
}

/// A kernel with every address and no flag is one whose flags were forgotten.
#[test]
fn a_function_that_gives_every_address_is_manual() {
    let lowered = |addressed: usize| {
        let mut b = FunctionBuilder::new("k");
        let p = b.pointer("p", F32);
        let view = b.view(p, &[8, 32]);
        for i in 0..2 {
            let result = b.value("t", Type::Tile(Tile::new(F32, 8, 32)));
            let address = (i < addressed).then_some(Operand::Number(i as i64 * 1024));
            b.push(OpKind::AllocTile { result, address, valid_rows: None, valid_cols: None });
            b.push(OpKind::Load { src: view, dst: result });
            b.push(OpKind::Store { src: result, dst: view });
        }
        flag_ops(&lower::lower(&b.finish(), Target::A5).unwrap())
    };
    assert!(lowered(0) > 0 && lowered(1) > 0);
    assert_eq!(lowered(2), 0);
}

#[test]
fn scatters_are_flushed_on_a5_only() {
    let module = build(&[Step::Scatter { src: 0, row: true, add: false }], SMALL);
    let flushes = |target| {
        let lowered = lower::lower(&module, target).unwrap();
        lowered.functions[0].body.ops.iter().filter(|op| matches!(op.kind, OpKind::FlushCache)).count()
    };
    assert_eq!(DEVICES.map(flushes), [0, 1]);
}

/// More flags pending at once than there are events: barriers take over, and everything is still ordered.
#[test]
fn barriers_take_over_when_events_run_out() {
    let mut b = FunctionBuilder::new("k");
    let p = b.pointer("p", F32);
    let q = b.pointer("q", F32);
    let tiles: Vec<_> = (0..12).map(|_| b.tile(Tile::new(F32, 8, 32))).collect();
    let (from, to) = (b.view(p, &[8, 32]), b.view(q, &[8, 32]));
    for tile in &tiles {
        b.push(OpKind::Load { src: from, dst: *tile });
    }
    // In the same order, so that none of the twelve flags implies another.
    for tile in &tiles {
        b.push(OpKind::Store { src: *tile, dst: to });
    }
    let module = b.finish();
    let lowered = lower::lower(&module, Target::A5).unwrap();
    is_accepted(&lowered, Target::A5);
    let events = trace(&lowered.functions[0], &lowered.types, Target::A5, Choices { n: 0, seed: 0 });
    assert_eq!(faults(&events, &[]), Vec::<String>::new());
    assert!(events.iter().any(|event| matches!(event, Event::Barrier)));
    let used: BTreeSet<u8> = events
        .iter()
        .filter_map(|event| if let Event::Set(flag, _) = event { Some(flag.event) } else { None })
        .collect();
    assert_eq!(used.len(), EVENTS as usize);
}

#[test]
fn tiles_that_do_not_fit_are_listed() {
    let mut b = FunctionBuilder::new("k");
    let p = b.pointer("p", F32);
    let tiles: Vec<_> = (0..3).map(|_| b.tile(Tile::new(F32, 512, 32))).collect();
    let view = b.view(p, &[512, 32]);
    for tile in &tiles {
        b.push(OpKind::Load { src: view, dst: *tile });
    }
    for tile in &tiles {
        b.push(OpKind::Store { src: *tile, dst: view });
    }
    let module = b.finish();
    assert!(lower::lower(&module, Target::A2A3).is_ok(), "three tiles of 64 KiB fit into 192 KiB");
    let found = lower::place(&module.functions[0], &module.types, Target::A5).unwrap_err();
    assert_eq!(found[0].rule.name, "budget.ub");
    assert!(found[0].message.contains("196608 bytes at the worst point"), "{}", found[0].message);
    assert_eq!(found[0].labels.len(), 3);
}

fn addresses(module: &Module) -> Vec<i64> {
    let ops = &module.functions[0].body.ops;
    ops.iter()
        .filter_map(|op| match op.kind {
            OpKind::AllocTile { address: Some(Operand::Number(address)), .. }
            | OpKind::Assign { address: Operand::Number(address), .. } => Some(address),
            _ => None,
        })
        .collect()
}

#[test]
fn given_addresses_are_kept_and_others_placed_around_them() {
    let mut b = FunctionBuilder::new("k");
    let p = b.pointer("p", F32);
    let parameter = b.parameter("x", Type::Tile(Tile::new(F32, 8, 32)));
    let view = b.view(p, &[8, 32]);
    let fixed = b.tile_at(Tile::new(F32, 8, 32), 1056);
    let free = b.tile(Tile::new(F32, 8, 32));
    for tile in [fixed, free, parameter] {
        b.push(OpKind::Load { src: view, dst: tile });
    }
    for tile in [fixed, free, parameter] {
        b.push(OpKind::Store { src: tile, dst: view });
    }
    let lowered = lower::lower(&b.finish(), Target::A2A3).unwrap();
    is_accepted(&lowered, Target::A2A3);
    let mut found = addresses(&lowered);
    assert!(found.contains(&1056));
    found.sort_unstable();
    assert_eq!(found.len(), 3);
    assert!(found.windows(2).all(|pair| pair[1] - pair[0] >= 1024), "{found:?}");
}

/// Three tiles of 48 KiB, two at a time, fit into 128 KiB only if the first and the last share.
#[test]
fn tiles_share_bytes_when_they_have_to() {
    let mut b = FunctionBuilder::new("k");
    let p = b.pointer("p", F32);
    let view = b.view(p, &[384, 32]);
    let tiles: Vec<_> = (0..3).map(|_| b.tile(Tile::new(F32, 384, 32))).collect();
    b.push(OpKind::Load { src: view, dst: tiles[0] }).push(OpKind::Load { src: view, dst: tiles[1] });
    b.push(OpKind::Store { src: tiles[0], dst: view }).push(OpKind::Load { src: view, dst: tiles[2] });
    b.push(OpKind::Store { src: tiles[1], dst: view }).push(OpKind::Store { src: tiles[2], dst: view });
    let module = b.finish();
    let lowered = lower::lower(&module, Target::A5).unwrap();
    is_accepted(&lowered, Target::A5);
    assert_eq!(addresses(&lowered), [0, 49152, 0]);
    // A launch that asks for more lets every tile have its own.
    let mut larger = module.clone();
    larger.functions[0].launch.dyn_ub = Some(200 * 1024);
    assert_eq!(addresses(&lower::lower(&larger, Target::A5).unwrap()), [0, 49152, 98304]);
}

#[test]
fn collectives_get_a_ping_and_a_pong_tile() {
    let module = build(&[Step::Collective(true)], SMALL);
    for target in Target::ALL {
        let lowered = lower::lower(&module, *target).unwrap();
        is_accepted(&lowered, *target);
        let staging = lowered.functions[0].body.ops.iter().find_map(|op| match &op.kind {
            OpKind::Collective(call) => Some(call.staging.clone()),
            _ => None,
        });
        assert_eq!(staging.unwrap().len(), 2);
    }
}
