//! Collectives through the typed API: what is wrong is an error at the call, and no byte has moved.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use pto::comm::{self, ExposedTensor, ParallelGroup, Transport};
use pto::prelude::*;

const ROWS: usize = 4;
const COLS: usize = 16;
type Mine = Shape<1, 1, 1, ROWS, COLS>;
type Staging = Tile<i32, ROWS, COLS, RowMajor, DYN, DYN>;

/// Rank `caller` of three scatters `rows` rows with root 0; what each rank made of it, and what it then holds.
fn scatter(caller: usize, rows: usize, valid: [usize; 2]) -> Vec<(Result<(), pto::Error>, Vec<i32>)> {
    let outcomes = comm::launch(3, |rank| {
        let mine = ExposedTensor::<i32, Mine>::new(rank)?;
        mine.write(&[-1; ROWS * COLS])?;
        let group = ParallelGroup::new(rank, &mine, 0)?;
        let outcome = if rank.rank() == caller {
            let data: Vec<i32> = (0..(rows * COLS) as i32).collect();
            let shape = Shape::<1, 1, 1, DYN, COLS>::dynamic([rows]);
            let source = GlobalRef::<i32, _>::dynamic(&data, shape, Packed)?;
            VectorCore::<A5>::new().comm_tscatter(&group, &source, &Staging::dynamic(valid)).map(drop)
        } else {
            Ok(())
        };
        rank.barrier()?;
        Ok((outcome, mine.read()?))
    });
    outcomes.into_iter().map(Result::unwrap).collect()
}

#[test]
fn what_is_right_arrives() {
    for (rank, (outcome, rows)) in scatter(0, 3 * ROWS + 1, [3, 7]).into_iter().enumerate() {
        outcome.unwrap();
        let first = (rank * ROWS * COLS) as i32;
        assert_eq!(rows, (first..first + (ROWS * COLS) as i32).collect::<Vec<_>>());
    }
}

#[test]
fn what_is_wrong_moves_nothing() {
    let cases = [
        ("comm.caller", scatter(1, 3 * ROWS, [2, 8])),
        ("comm.root-rows", scatter(0, 3 * ROWS - 1, [2, 8])),
        ("comm.staging-valid", scatter(0, 3 * ROWS, [ROWS + 1, 8])),
        ("comm.staging-valid", scatter(0, 3 * ROWS, [0, 8])),
    ];
    for (rule, outcomes) in cases {
        let errors: Vec<_> = outcomes.iter().filter_map(|(outcome, _)| outcome.as_ref().err()).collect();
        assert_eq!(errors.iter().map(|error| error.rule().unwrap().name).collect::<Vec<_>>(), [rule]);
        assert!(errors[0].place().file().ends_with("comm.rs"));
        for (_, rows) in outcomes {
            assert_eq!(rows, [-1; ROWS * COLS]);
        }
    }
}

#[test]
fn a_rank_that_fails_is_an_error_at_the_others() {
    let outcomes = comm::launch(3, |rank| {
        if rank.rank() == 2 {
            VectorCore::<A5>::new().tassign(&mut Tile::<i32, 1, 8>::new(), 3)?;
        }
        rank.barrier()?;
        Ok(())
    });
    assert_eq!(outcomes[2].as_ref().unwrap_err().rule().unwrap().name, "align.address");
    for outcome in &outcomes[..2] {
        assert!(outcome.as_ref().unwrap_err().to_string().contains("rank 2 is gone"), "{outcome:?}");
    }
}

#[test]
fn a_recorded_kernel_refuses_a_collective() {
    let outcomes = comm::launch(1, |rank| {
        let mine = ExposedTensor::<i32, Mine>::new(rank)?;
        let group = ParallelGroup::new(rank, &mine, 0)?;
        let data = [0; ROWS * COLS];
        let recorded = pto::record::record::<A5, _>("kernel", |core| {
            core.comm_tscatter(&group, &GlobalRef::<i32, Mine>::new(&data)?, &Staging::dynamic([1, 8]))?;
            Ok(())
        });
        Ok(recorded.err())
    });
    let error = outcomes.into_iter().next().unwrap().unwrap().unwrap();
    assert!(matches!(error.cause(), pto::Cause::NotRecorded), "{error}");
}
