//! One thread against the plain loop at every number of lanes: where a call costs more than what it does. Prints
//! comma-separated values: the least time of several turns, in nanoseconds per call, and how many times as fast.
//!
//! `cargo run --release -p pto-bench --example sizes -- [LOG2_TABLE] [LOG2_MOST_LANES]`
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::Instant;

use pto_bench::{Array, plain, uniform};
use pto_exec::host::Engine;
use pto_isa::{Atomic, OutOfBounds};

/// The least time of a call, in nanoseconds, over turns of calls that the clock can see.
fn least(best: &mut f64, lanes: usize, mut work: impl FnMut()) {
    let repeats = (1 << 13) / lanes + 1;
    let start = Instant::now();
    (0..repeats).for_each(|_| work());
    *best = best.min(start.elapsed().as_secs_f64() * 1e9 / repeats as f64);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<usize> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let size = 1usize << arguments.first().copied().unwrap_or(11);
    let most = arguments.get(1).copied().unwrap_or(22);
    let engine = Engine::new().with_threads(NonZeroUsize::MIN);
    println!("operation,table,lanes,plain,engine,times");
    for log2 in 0..=most {
        let lanes = 1usize << log2;
        let indices = Array::from_values(lanes, uniform(1, size as u64).map(|x| x as i32))?;
        let mut payload = Array::from_values(lanes, std::iter::repeat(1f32))?;
        let mut table = Array::<f32>::zeroed(size)?;
        let turns = if log2 < 20 { 50 } else { 7 };
        for (name, atomic) in [("gather", None), ("set", Some(Atomic::None)), ("add", Some(Atomic::Add))] {
            let mut best = [f64::MAX; 2];
            for _ in 0..turns {
                let undefined = OutOfBounds::Undefined;
                match atomic {
                    None => {
                        least(&mut best[0], lanes, || plain::gather(&mut payload, &table, black_box(&indices)));
                        least(&mut best[1], lanes, || {
                            let _ = black_box(engine.gather(&mut *payload, &*table, black_box(&*indices), undefined));
                        });
                    }
                    Some(atomic) => {
                        least(&mut best[0], lanes, || {
                            plain::scatter(&mut table, &payload, black_box(&indices), atomic, undefined);
                        });
                        least(&mut best[1], lanes, || {
                            let (source, indices) = (&*payload, black_box(&*indices));
                            let _ = black_box(engine.scatter(&mut *table, source, indices, atomic, undefined));
                        });
                    }
                }
            }
            let [plain, engine] = best;
            println!("{name},{size},{lanes},{plain:.1},{engine:.1},{:.2}", plain / engine);
        }
    }
    Ok(())
}
