//! Bandwidth of the collectives between threads, against a plain parallel copy of the same bytes, and the cost of a
//! message: `cargo bench -p pto-comm --bench in_process`.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]

mod support;

use std::time::{Duration, Instant};

use pto_comm::{CommError, ParallelGroup, Transport, launch, tgather, tscatter};
use pto_isa::{ElementType::F32, Tensor, Tile};
use rayon::prelude::*;
use support::median;

const RANKS: usize = 4;
const ROWS: u64 = 1024;
const COLS: u64 = 1024;
const BYTES: usize = (ROWS * COLS * 4) as usize;
const ROUNDS: usize = 41;

fn main() {
    println!(
        "4 ranks of 1024x1024 f32 (16 MiB), {} threads, medians of {ROUNDS}; the ratio is of paired runs",
        rayon::current_num_threads()
    );
    println!("{:>12} {:>9} {:>9}  {:>11} {:>11} {:>7}", "tile", "staging", "op", "copy GB/s", "here GB/s", "ratio");
    for (rows, cols) in [(2, 1024), (8, 256), (64, 32), (2048, 1), (16, 1024), (64, 512), (1024, 1024)] {
        for slots in [1, 2] {
            collectives(Tile::new(F32, rows, cols).with_dynamic_valid(rows, cols), slots);
        }
    }
    for ranks in [2, 4, 8] {
        for outcome in launch(ranks, |rank| support::messages(rank).and_then(|()| support::sharded(rank))) {
            outcome.expect("a rank failed");
        }
    }
}

/// Measured in turn with the collectives, so that both see the same machine.
fn plain(from: &[u8], to: &mut [Vec<u8>]) {
    const PIECE: usize = 256 << 10;
    from.par_chunks(BYTES).zip(to.par_iter_mut()).for_each(|(from, to)| {
        from.par_chunks(PIECE).zip(to.par_chunks_mut(PIECE)).for_each(|(from, to)| to.copy_from_slice(from));
    });
}

fn collectives(tile: Tile, slots: usize) {
    let outcome = launch(RANKS, |rank| {
        let window = rank.expose(BYTES as u64)?;
        let group = ParallelGroup::agree(rank, &*window, 0, Some(Tensor::packed(F32, [1, 1, 1, ROWS, COLS])))?;
        if rank.rank() == 0 {
            measure(&group, &vec![tile; slots])?;
        }
        rank.barrier()
    });
    for rank in outcome {
        rank.expect("a rank failed");
    }
}

fn measure(group: &ParallelGroup<'_>, staging: &[Tile]) -> Result<(), CommError> {
    let tensor = Tensor::packed(F32, [1, 1, 1, RANKS as u64 * ROWS, COLS]);
    let mut local: Vec<u8> = (0..RANKS * BYTES).map(|i| (i * 7) as u8).collect();
    let mut plain_to = vec![vec![1; BYTES]; RANKS];
    let (mut copies, mut scatters, mut gathers) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS + 3 {
        let timed = |times: &mut Vec<Duration>, work: &mut dyn FnMut() -> Result<(), CommError>| {
            let start = Instant::now();
            work()?;
            if round >= 3 {
                times.push(start.elapsed());
            }
            Ok::<_, CommError>(())
        };
        timed(&mut copies, &mut || {
            plain(&local, &mut plain_to);
            Ok(())
        })?;
        timed(&mut scatters, &mut || tscatter(group, &tensor, &local, staging).map(drop))?;
        timed(&mut gathers, &mut || tgather(group, &tensor, &mut local, staging).map(drop))?;
    }
    let bandwidth = |times: &[Duration]| (RANKS * BYTES) as f64 / median(times) / 1e9;
    let copy = bandwidth(&copies);
    for (name, times) in [("tscatter", scatters), ("tgather", gathers)] {
        let here = bandwidth(&times);
        // Of neighbouring measurements, so that what else the machine does falls out.
        let mut ratios: Vec<f64> =
            copies.iter().zip(&times).map(|(copy, here)| copy.as_secs_f64() / here.as_secs_f64()).collect();
        ratios.sort_by(f64::total_cmp);
        let tile = format!("{}x{}", staging[0].rows, staging[0].cols);
        let kind = if staging.len() == 1 { "single" } else { "ping-pong" };
        println!(
            "{tile:>12} {kind:>9} {name:>9}  {copy:>11.2} {here:>11.2} {:>6.1}%",
            100.0 * ratios[ratios.len() / 2]
        );
    }
    Ok(())
}
