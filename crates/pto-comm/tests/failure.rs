//! Ranks that die, leave, hang or do something else: an error at every other rank, never a wait without end.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use pto_comm::in_process::launch_within;
use pto_comm::{CommError, Indices, Member, ParallelGroup, Region, ShardedTable, Transport, launch, tgather, tscatter};
use pto_isa::{ElementType::U8, Policy, Tensor, Tile};

const TENSOR: Tensor = Tensor::packed(U8, [1, 1, 1, 2, 4]);
const TILE: Tile = Tile::new(U8, 2, 32).with_valid(2, 4);

fn lost(outcome: &Result<(), CommError>, expected: usize) {
    match outcome {
        Err(CommError::RankLost { rank, .. }) if *rank == expected => {}
        other => panic!("expected rank {expected} to be lost, found {other:?}"),
    }
}

#[test]
fn a_panic_is_an_error_at_every_rank_that_waits() {
    let outcomes = launch(4, |rank| {
        assert!(rank.rank() != 2, "rank 2 falls over");
        rank.barrier()
    });
    for outcome in &outcomes {
        lost(outcome, 2);
    }
    assert!(outcomes[0].as_ref().unwrap_err().to_string().contains("falls over"));
}

#[test]
fn a_rank_that_leaves_early_is_missed() {
    let outcomes = launch(3, |rank| if rank.rank() == 1 { Ok(()) } else { rank.all_to_all(vec![vec![]; 3]).map(drop) });
    lost(&outcomes[0], 1);
    assert_eq!(outcomes[1], Ok(()));
    lost(&outcomes[2], 1);
}

#[test]
fn the_error_that_made_a_rank_leave_is_passed_on() {
    let outcomes = launch(2, |rank| if rank.rank() == 0 { rank.all_to_all(vec![]).map(drop) } else { rank.barrier() });
    assert_eq!(outcomes[0], Err(CommError::Parts { ranks: 2, found: 0 }));
    assert!(outcomes[1].as_ref().unwrap_err().to_string().contains("one part for each of 2 ranks"));
}

#[test]
fn leaving_after_the_last_barrier_is_no_failure() {
    for _ in 0..200 {
        assert_eq!(launch(4, |rank| rank.barrier()), vec![Ok(()); 4]);
    }
}

#[test]
fn a_collective_with_a_dead_rank_moves_nothing() {
    let outcomes = launch(3, |rank| {
        let window = rank.expose(8)?;
        let group = ParallelGroup::agree(rank, &*window, 0, Some(TENSOR))?;
        rank.barrier()?;
        match rank.rank() {
            0 => {
                // The scatters go through until the death is known. The one that fails has written nothing, or it had
                // written everything when the rank died: then it says so all the same.
                let source = Tensor::packed(U8, [1, 1, 1, 6, 4]);
                let mut attempt = 0u8;
                let error = loop {
                    match tscatter(&group, &source, &[attempt.wrapping_add(1); 24], &[TILE]) {
                        Ok(_) => attempt = attempt.wrapping_add(1),
                        Err(error) => break error,
                    }
                    std::thread::yield_now();
                };
                let whole = |value: u8| move |memory: &mut [u8]| memory.iter().all(|b| *b == value);
                window.local(&mut |memory| {
                    assert!(whole(attempt)(memory) || whole(attempt.wrapping_add(1))(memory), "{memory:?}");
                })?;
                tgather(&group, &source, &mut [0; 24], &[TILE]).expect_err("the rank is still dead");
                Err(error)
            }
            1 => rank.barrier(),
            _ => panic!("rank 2 dies before the scatter"),
        }
    });
    lost(&outcomes[0], 2);
    lost(&outcomes[1], 2);
    lost(&outcomes[2], 2);
}

#[test]
fn ranks_in_different_operations_are_told() {
    let outcomes =
        launch(2, |rank| if rank.rank() == 0 { rank.barrier() } else { rank.all_to_all(vec![vec![]; 2]).map(drop) });
    for outcome in outcomes {
        let error = outcome.unwrap_err();
        assert!(matches!(error, CommError::Mismatch { .. }), "{error}");
    }
}

#[test]
fn a_rank_that_hangs_is_an_error_after_the_deadline() {
    let (release, held) = channel::<()>();
    let (release, held) = (Mutex::new(Some(release)), Mutex::new(held));
    let outcomes = launch_within(3, Duration::from_millis(50), |rank| {
        if rank.rank() == 1 {
            // Hangs until another rank has given up.
            let _ = held.lock().unwrap().recv();
            return Ok(());
        }
        let outcome = rank.barrier();
        drop(release.lock().unwrap().take());
        outcome
    });
    assert_eq!(outcomes[0], Err(CommError::Timeout { operation: "barrier", seconds: 0 }));
    assert_eq!(outcomes[2], outcomes[0]);
}

#[test]
fn a_rank_that_keeps_its_memory_is_an_error_after_the_deadline() {
    let ((inside, entered), (give_up, given_up)) = (channel::<()>(), channel::<()>());
    let (entered, give_up) = (Mutex::new(entered), Mutex::new(Some(give_up)));
    let (inside, given_up) = (Mutex::new(inside), Mutex::new(given_up));
    let outcomes = launch_within(2, Duration::from_millis(50), |rank| {
        let window = rank.expose(8)?;
        if rank.rank() == 1 {
            return window.local(&mut |_| {
                inside.lock().unwrap().send(()).unwrap();
                let _ = given_up.lock().unwrap().recv();
            });
        }
        entered.lock().unwrap().recv().unwrap();
        let outcome = window.lock(&[]).map(drop);
        drop(give_up.lock().unwrap().take());
        outcome
    });
    assert_eq!(outcomes, [Err(CommError::Timeout { operation: "lock", seconds: 0 }), Ok(())]);
}

#[test]
fn a_panic_inside_a_window_poisons_it() {
    let outcomes = launch(2, |rank| {
        let window = rank.expose(4)?;
        if rank.rank() == 1 {
            window.local(&mut |_| panic!("inside"))?;
        }
        rank.barrier()
    });
    lost(&outcomes[0], 1);
}

#[test]
fn a_group_of_one_is_fine_and_a_group_of_none_empty() {
    let outcome = launch(1, |rank| {
        let window = rank.expose(8)?;
        let group = ParallelGroup::agree(rank, &*window, 0, Some(TENSOR))?;
        let moved = tscatter(&group, &TENSOR, &[1, 2, 3, 4, 5, 6, 7, 8], &[TILE, TILE])?;
        assert_eq!((moved.chunks, moved.bytes), (1, 8));
        let mut bytes = Vec::new();
        window.local(&mut |memory| bytes = memory.to_vec())?;
        Ok(bytes)
    });
    assert_eq!(outcome, [Ok(vec![1, 2, 3, 4, 5, 6, 7, 8])]);
    assert_eq!(launch(0, |_| Ok(())), []);
}

#[test]
fn accesses_that_leave_a_window_are_refused_before_they_touch_it() {
    let outcomes = launch(2, |rank| {
        let window = rank.expose(16)?;
        let mut epoch = window.lock(&[8])?;
        let stage = Region::bytes_at(0, 8);
        assert!(matches!(
            epoch.put(0, stage, 1, Region::bytes_at(9, 8)),
            Err(CommError::OutsideWindow { rank: 1, .. })
        ));
        assert!(matches!(epoch.get(0, stage, 0, Region::bytes_at(u64::MAX, 8)), Err(CommError::OutsideWindow { .. })));
        assert!(matches!(epoch.put(0, Region::bytes_at(1, 8), 1, stage), Err(CommError::OutsideWindow { .. })));
        assert!(matches!(epoch.put(0, stage, 2, stage), Err(CommError::NoSuchRank { rank: 2, size: 2 })));
        assert!(matches!(epoch.put(1, stage, 1, stage), Err(CommError::NoSuchSlot { slot: 1, slots: 1 })));
        assert!(matches!(epoch.put(0, stage, 1, Region::bytes_at(0, 7)), Err(CommError::Extents { .. })));
        epoch.put(0, stage, 1, Region::bytes_at(8, 8))?;
        epoch.flush()?;
        drop(epoch);
        rank.barrier()
    });
    assert_eq!(outcomes, vec![Ok(()); 2]);
}

#[test]
fn memory_that_cannot_be_had_is_an_error_at_every_rank() {
    let outcomes = launch(2, |rank| rank.expose(if rank.rank() == 1 { u64::MAX >> 1 } else { 8 }).map(drop));
    assert_eq!(outcomes[1], Err(CommError::OutOfMemory { bytes: u64::MAX >> 1 }));
    assert!(matches!(outcomes[0], Err(CommError::Peer { rank: 1, .. })));
    let outcomes = launch(2, |rank| ShardedTable::new(rank, U8, u64::MAX / 2, u64::MAX / 2).map(drop));
    assert!(outcomes.iter().all(|o| matches!(o, Err(CommError::OutOfMemory { .. }))), "{outcomes:?}");
}

#[test]
fn sharded_calls_that_differ_between_ranks_change_nothing() {
    use pto_isa::{Atomic, OutOfBounds};
    let outcomes = launch(2, |rank| {
        let first = rank.rank() == 0;
        let mut table = ShardedTable::new(rank, U8, 4, 1)?;
        let differing = Policy::default().with_atomic(if first { Atomic::Add } else { Atomic::Max });
        let error = table.mscatter(Indices::from(&[0u32][..]), &[1], &differing).unwrap_err();
        assert!(matches!(error, CommError::Mismatch { .. }), "{error}");
        // One rank's payload is too short, another's lane out of range, a policy that there is not: all are told.
        let plain = Policy::default();
        let error =
            table.mscatter(Indices::from(&[0u32, 1][..]), if first { &[1] } else { &[1, 2] }, &plain).unwrap_err();
        assert!(first == matches!(error, CommError::Length { .. }), "{error}");
        assert!(first != matches!(error, CommError::Peer { rank: 0, .. }), "{error}");
        let zero = Policy::default().with_oob(OutOfBounds::Zero);
        let error = table.mscatter(Indices::from(&[0u32][..]), &[1], &zero).unwrap_err();
        assert!(error.to_string().contains("policy."), "{error}");
        assert!(table.shard().iter().all(|b| *b == 0));
        // And the group goes on.
        table.mscatter(Indices::from(&[0u32][..]), &[9], &plain)?;
        let mismatch = ShardedTable::new(rank, U8, if first { 1 } else { 2 }, 1).map(drop).unwrap_err();
        assert!(matches!(mismatch, CommError::Mismatch { .. }));
        Ok(table.shard().to_vec())
    });
    assert_eq!(outcomes, [Ok(vec![9, 0]), Ok(vec![0, 0])]);
}

#[test]
fn tables_without_rows_take_only_lanes_that_touch_none() {
    use pto_isa::OutOfBounds::{Clamp, Skip, Undefined, Wrap};
    for outcome in launch(2, |rank| {
        let mut table = ShardedTable::new(rank, U8, 0, 3)?;
        let mut scatter = |oob| {
            let lanes = [0u32, 5];
            table.mscatter(Indices::from(&lanes[..]), &[0; 6], &Policy::default().with_oob(oob))
        };
        assert_eq!(scatter(Skip)?.skipped, 2);
        assert!(scatter(Undefined).is_err() && scatter(Clamp).is_err() && scatter(Wrap).is_err());
        Ok(())
    }) {
        outcome.unwrap();
    }
}

#[test]
fn members_with_extents_unknown_at_the_call_are_errors() {
    let outcome = launch(1, |rank| {
        let window = rank.expose(8)?;
        let unknown = Member::new(TENSOR.into_dynamic().erased());
        let group = ParallelGroup::new(&*window, vec![Some(unknown)], 0);
        tscatter(&group, &TENSOR, &[0; 8], &[TILE]).map(drop)
    });
    assert!(matches!(outcome[0], Err(CommError::UnknownExtent(_))), "{outcome:?}");
}
