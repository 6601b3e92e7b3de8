//! One thread against the plain loop at every number of lanes: where a call costs more than what it does. Prints
//! comma-separated values: the median of several turns, in nanoseconds per call, and how many times as fast.
//!
//! Lanes are the powers of two and what lies halfway between them. The plain loop is measured twice, as a function that is
//! called (`plain`) and compiled into the measuring loop (`inlined`), as the call of the engine is. Which of the two is
//! faster depends on where the compiler happened to put them, by up to a factor of two; `times` is against the faster one.
//!
//! `cargo run --release -p pto-bench --example sizes -- [LOG2_TABLE] [LOG2_LEAST_LANES] [LOG2_MOST_LANES]`
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::Instant;

use pto_bench::{Array, Random, plain, uniform};
use pto_exec::host::Engine;
use pto_isa::{Atomic, OutOfBounds};

/// Nanoseconds per call over as many calls as the clock can see. A function of its own for each loop: none has to share
/// registers with the others.
#[inline(never)]
fn time(lanes: usize, mut work: impl FnMut()) -> f64 {
    let repeats = (1 << 13) / lanes + 1;
    let start = Instant::now();
    (0..repeats).for_each(|_| work());
    start.elapsed().as_secs_f64() * 1e9 / repeats as f64
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The operations: a gather, or a scatter with what it does to a slot.
const OPERATIONS: [(&str, Option<Atomic>); 4] =
    [("gather", None), ("set", Some(Atomic::None)), ("add", Some(Atomic::Add)), ("max", Some(Atomic::Max))];

/// One turn: the plain loop, the same inlined, the engine.
fn turn(engine: &Engine, atomic: Option<Atomic>, payload: &mut [f32], table: &mut [f32], indices: &[i32]) -> [f64; 3] {
    let lanes = indices.len();
    // Known where the call is written, as it mostly is.
    const UNDEFINED: OutOfBounds = OutOfBounds::Undefined;
    let Some(atomic) = atomic else {
        return [
            time(lanes, || plain::gather(payload, table, black_box(indices))),
            time(lanes, || {
                for (slot, &index) in payload.iter_mut().zip(black_box(indices)) {
                    *slot = table[index as usize];
                }
            }),
            time(lanes, || {
                black_box(engine.gather(&mut *payload, &*table, black_box(indices), UNDEFINED).is_ok());
            }),
        ];
    };
    // What is combined is known where the loop or the call is written.
    macro_rules! scatter {
        ($atomic:expr, $put:expr) => {
            [
                time(lanes, || plain::scatter(table, payload, black_box(indices), $atomic, UNDEFINED)),
                time(lanes, || {
                    let put: fn(&mut f32, f32) = $put;
                    for (&value, &index) in payload.iter().zip(black_box(indices)) {
                        put(&mut table[index as usize], value);
                    }
                }),
                time(lanes, || {
                    black_box(engine.scatter(&mut *table, &*payload, black_box(indices), $atomic, UNDEFINED).is_ok());
                }),
            ]
        };
    }
    match atomic {
        Atomic::Add => scatter!(Atomic::Add, |slot, value| *slot += value),
        Atomic::Max => scatter!(Atomic::Max, |slot, value| *slot = if value > *slot { value } else { *slot }),
        _ => scatter!(Atomic::None, |slot, value| *slot = value),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<usize> = std::env::args().skip(1).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let argument = |at: usize, usual: usize| arguments.get(at).copied().unwrap_or(usual);
    let (size, least, most) = (1usize << argument(0, 11), argument(1, 0), argument(2, 22));
    let engine = Engine::new().with_threads(NonZeroUsize::MIN);
    println!("operation,table,lanes,plain,inlined,engine,times");
    for log2 in least..=most {
        // Halfway to the next power, until a turn takes long.
        let halfway = (1usize << log2) * 3 / 2;
        let steps = if log2 == 0 || log2 > 19 { vec![1 << log2] } else { vec![1 << log2, halfway] };
        for lanes in steps {
            let indices = Array::from_values(lanes, uniform(1, size as u64).map(|x| x as i32))?;
            let values = |seed| Random::new(seed).map(|x| (x % 17) as f32 - 8.0);
            let mut payload = Array::from_values(lanes, values(3))?;
            let mut table = Array::from_values(size, values(2))?;
            let turns = if log2 < 20 { 101 } else { 7 };
            for (name, atomic) in OPERATIONS {
                let mut times: [Vec<f64>; 3] = Default::default();
                for _ in 0..turns {
                    let turn = turn(&engine, atomic, &mut payload, &mut table, &indices);
                    times.iter_mut().zip(turn).for_each(|(times, time)| times.push(time));
                }
                let [plain, inlined, engine] = times.map(|mut times| median(&mut times));
                let times = plain.min(inlined) / engine;
                println!("{name},{size},{lanes},{plain:.1},{inlined:.1},{engine:.1},{times:.2}");
            }
        }
    }
    Ok(())
}
