//! The engine, on one thread unless said, against the plain loop at every number of lanes: where a call costs more than what
//! it does. Prints comma-separated values: the median of several turns, in nanoseconds per call, and how many times as fast.
//!
//! Lanes are the powers of two and what lies halfway between them. The plain loop is measured twice, as a function that is
//! called (`plain`) and compiled into the measuring loop (`inlined`), as the call of the engine is. Which of the two is
//! faster depends on where the compiler happened to put them, by up to a factor of two; `times` is against the faster one.
//! Both stop in the middle of a scatter at an index out of range, and keep a NaN that a maximum meets. `promising` is the loop with
//! the engine's promises: it looks at all indices first, so that a fault leaves the table as it was, and a NaN loses (`f32::max`).
//!
//! Every call has the same indices, whose slots are in the caches after the first; with `fresh`, each has the next ones of
//! [`fresh`], as the batches of a program have. With `threads=N` the engine may use several, and still has to keep up with the
//! plain loop, during whose turns the others have gone to sleep.
//!
//! `cargo run --release -p pto-bench --example sizes -- [LOG2_TABLE] [LOG2_LEAST_LANES] [LOG2_MOST_LANES] [fresh] [threads=N]`
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::time::Instant;

use pto_bench::{Array, Random, plain, uniform};
use pto_exec::host::Engine;
use pto_isa::{Atomic, OutOfBounds};

/// Lanes of all calls until the first ones come again, for calls of so many: a power of two, so that no loop of a turn finds what
/// another has brought.
fn fresh(lanes: usize) -> usize {
    (2 * LOOPS * lanes).next_power_of_two().max(1 << 24)
}

/// The lanes of a call.
#[inline(always)]
fn batch<const IS_FRESH: bool>(indices: &[i32], lanes: usize, call: usize) -> &[i32] {
    let indices = black_box(indices);
    if IS_FRESH { &indices[(call * lanes) & (indices.len() - lanes - 1)..][..lanes] } else { indices }
}

/// Nanoseconds per call over as many calls as the clock can see. A function of its own for each loop: none has to share
/// registers with the others.
#[inline(never)]
fn time(lanes: usize, turn: usize, mut work: impl FnMut(usize)) -> f64 {
    let repeats = (1 << 13) / lanes + 1;
    let start = Instant::now();
    (turn * repeats..(turn + 1) * repeats).for_each(&mut work);
    start.elapsed().as_secs_f64() * 1e9 / repeats as f64
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The operations: a gather, or a scatter with what it does to a slot.
const OPERATIONS: [(&str, Option<Atomic>); 4] =
    [("gather", None), ("set", Some(Atomic::None)), ("add", Some(Atomic::Add)), ("max", Some(Atomic::Max))];

/// True if all lanes are in range, as one would ask quickly: by the largest, which the compiler finds with the vector unit.
#[inline(always)]
fn are_inside(lanes: &[i32], capacity: usize) -> bool {
    lanes.iter().fold(0, |largest, &index| (index as u32).max(largest)) < capacity as u32
}

/// What is timed: the plain loop, the same inlined, with promises, the engine.
const LOOPS: usize = 4;

/// One turn of each loop.
fn turn<const IS_FRESH: bool>(
    (engine, atomic, turn): (&Engine, Option<Atomic>, usize),
    payload: &mut [f32],
    table: &mut [f32],
    indices: &[i32],
) -> [f64; LOOPS] {
    let lanes = payload.len();
    // None finds what another has brought, nor what the machine's prefetchers bring when they go on behind it.
    let times = |k: usize| 2 * (LOOPS * turn + k);
    // Known where the call is written, as it mostly is.
    const UNDEFINED: OutOfBounds = OutOfBounds::Undefined;
    // The time of a call with its lanes; written out, so that each is a loop of its own.
    macro_rules! timed {
        ($k:literal, $lanes:ident => $work:expr) => {
            time(lanes, times($k), |call| {
                let $lanes = batch::<IS_FRESH>(indices, lanes, call);
                $work
            })
        };
    }
    let Some(atomic) = atomic else {
        return [
            timed!(0, lanes => plain::gather(payload, table, lanes)),
            timed!(1, lanes => for (slot, &index) in payload.iter_mut().zip(lanes) {
                *slot = table[index as usize];
            }),
            // A gather may have filled a part of its destination: the loop as it is promises as much.
            f64::NAN,
            timed!(3, lanes => {
                assert!(engine.gather(&mut *payload, &*table, lanes, UNDEFINED).is_ok());
            }),
        ];
    };
    // What is combined is known where the loop or the call is written.
    macro_rules! scatter {
        ($atomic:expr, $put:expr, $promising:expr) => {
            [
                timed!(0, lanes => plain::scatter(table, payload, lanes, $atomic, UNDEFINED)),
                timed!(1, lanes => {
                    let put: fn(&mut f32, f32) = $put;
                    for (&value, &index) in payload.iter().zip(lanes) {
                        put(&mut table[index as usize], value);
                    }
                }),
                timed!(2, lanes => {
                    let put: fn(&mut f32, f32) = $promising;
                    assert!(are_inside(lanes, table.len()));
                    for (&value, &index) in payload.iter().zip(lanes) {
                        put(&mut table[index as usize], value);
                    }
                }),
                timed!(3, lanes => {
                    assert!(engine.scatter(&mut *table, &*payload, lanes, $atomic, UNDEFINED).is_ok());
                }),
            ]
        };
    }
    match atomic {
        Atomic::Add => scatter!(Atomic::Add, |slot, value| *slot += value, |slot, value| *slot += value),
        Atomic::Max => {
            let larger = |slot: &mut f32, value: f32| *slot = if value > *slot { value } else { *slot };
            scatter!(Atomic::Max, larger, |slot, value| *slot = slot.max(value))
        }
        _ => scatter!(Atomic::None, |slot, value| *slot = value, |slot, value| *slot = value),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<usize> = std::env::args().skip(1).take(3).map(|a| a.parse()).collect::<Result<_, _>>()?;
    let argument = |at: usize, usual: usize| arguments.get(at).copied().unwrap_or(usual);
    let (mut is_fresh, mut threads) = (false, NonZeroUsize::MIN);
    for word in std::env::args().skip(4) {
        match word.strip_prefix("threads=") {
            Some(number) => threads = number.parse()?,
            None if word == "fresh" => is_fresh = true,
            None => return Err(format!("unknown word {word}: expected fresh or threads=N").into()),
        }
    }
    let (size, least, most) = (1usize << argument(0, 11), argument(1, 0), argument(2, 22));
    let engine = Engine::new().with_threads(threads);
    println!("operation,table,lanes,plain,inlined,promising,engine,times,times_promising");
    for log2 in least..=most {
        // Halfway to the next power, until a turn takes long.
        let halfway = (1usize << log2) * 3 / 2;
        let steps = if log2 == 0 || log2 > 19 { vec![1 << log2] } else { vec![1 << log2, halfway] };
        for lanes in steps {
            let of_all = if is_fresh { lanes + fresh(lanes) } else { lanes };
            let indices = Array::from_values(of_all, uniform(1, size as u64).map(|x| x as i32))?;
            let values = |seed| Random::new(seed).map(|x| (x % 17) as f32 - 8.0);
            let mut payload = Array::from_values(lanes, values(3))?;
            let mut table = Array::from_values(size, values(2))?;
            let turns = if log2 < 20 { 101 } else { 7 };
            for (name, atomic) in OPERATIONS {
                let mut times: [Vec<f64>; LOOPS] = Default::default();
                for number in 0..turns {
                    let what = (&engine, atomic, number);
                    let turn = match is_fresh {
                        true => turn::<true>(what, &mut payload, &mut table, &indices),
                        false => turn::<false>(what, &mut payload, &mut table, &indices),
                    };
                    times.iter_mut().zip(turn).for_each(|(times, time)| times.push(time));
                }
                let [plain, inlined, promising, engine] = times.map(|mut times| median(&mut times));
                let (times, times_promising) = (plain.min(inlined) / engine, promising / engine);
                println!(
                    "{name},{size},{lanes},{plain:.1},{inlined:.1},{promising:.1},{engine:.1},{times:.2},{times_promising:.2}"
                );
            }
        }
    }
    Ok(())
}
