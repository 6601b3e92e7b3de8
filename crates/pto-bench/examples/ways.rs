//! Each way of a gather or scatter and the plain loop over table sizes, lane counts and skews: where the cost rule's crossovers
//! come from. Prints comma-separated values: the least time of several turns, in nanoseconds per lane.
//!
//! `cargo run --release -p pto-bench --example ways -- [LOG2_LANES] [THREADS]`
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::num::NonZeroUsize;
use std::time::Instant;

use pto_bench::{Array, plain, uniform, zipf};
use pto_exec::host::{Engine, Method};
use pto_isa::{Atomic, OutOfBounds};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<usize> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let lanes = 1usize << arguments.first().copied().unwrap_or(22);
    let threads = NonZeroUsize::new(arguments.get(1).copied().unwrap_or(1)).ok_or("no threads")?;
    let engine = |method| Engine::new().with_threads(threads).with_method(method);
    let ways = [Method::Direct, Method::Owned, Method::Merged, Method::Partitioned].map(engine);
    let chosen = Engine::new().with_threads(threads);
    println!("operation,indices,table,lanes,threads,plain,chosen,direct,owned,merged,partitioned");
    let operations =
        [("get", None), ("set", Some(Atomic::None)), ("add", Some(Atomic::Add)), ("max", Some(Atomic::Max))];
    for (name, atomic) in operations {
        for (spread, skewed) in [("uniform", false), ("zipf", true)] {
            for log2 in [11, 14, 16, 18, 19, 20, 21, 22, 23, 24, 25, 26] {
                let size = 1usize << log2;
                let indices: Box<dyn Iterator<Item = u64>> =
                    if skewed { Box::new(zipf(1, size as u64, 1.1)) } else { Box::new(uniform(1, size as u64)) };
                let indices = Array::from_values(lanes, indices.map(|x| x as i32))?;
                let mut source = Array::from_values(lanes, std::iter::repeat(1f32))?;
                let mut table = Array::from_values(size, std::iter::repeat(1f32))?;
                let mut best = [f64::MAX; 6];
                for _ in 0..7 {
                    let start = Instant::now();
                    match atomic {
                        Some(atomic) => plain::scatter(&mut table, &source, &indices, atomic, OutOfBounds::Undefined),
                        None => plain::gather(&mut source, &table, &indices),
                    }
                    best[0] = best[0].min(start.elapsed().as_secs_f64());
                    for (best, engine) in best[1..].iter_mut().zip([&chosen].into_iter().chain(&ways)) {
                        let start = Instant::now();
                        match atomic {
                            Some(atomic) => {
                                engine.scatter(&mut *table, &*source, &*indices, atomic, OutOfBounds::Undefined)?
                            }
                            None => engine.gather(&mut *source, &*table, &*indices, OutOfBounds::Undefined)?,
                        };
                        *best = best.min(start.elapsed().as_secs_f64());
                    }
                }
                let [plain, chosen, direct, owned, merged, partitioned] = best.map(|b| b * 1e9 / lanes as f64);
                println!(
                    "{name},{spread},2^{log2},{lanes},{threads},{plain:.3},{chosen:.3},{direct:.3},{owned:.3},{merged:.3},{partitioned:.3}"
                );
            }
        }
    }
    Ok(())
}
