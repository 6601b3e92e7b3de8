//! Timing a workload against the plain loop and a copy, by turns.

use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use pto_exec::host::Engine;
use serde::Serialize;

use crate::{Array, Error, Workload};

/// How to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Threads of the engine and of the copy.
    pub threads: usize,
    /// How long each of the three is repeated, at least; three turns of five calls at the least.
    pub time: Duration,
}

impl Default for Options {
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self { threads, time: Duration::from_millis(200) }
    }
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// The workload's name.
    pub workload: &'static str,
    /// Median time for one element.
    pub ns_per_element: f64,
    /// Payload bytes a second.
    pub bytes_per_second: f64,
    /// Threads of the engine.
    pub threads: usize,
    /// Elements of the payload.
    pub elements: usize,
    /// Bytes of the table.
    pub table_bytes: usize,
    /// Payload bandwidth against that of a copy of the same bytes on the same number of threads.
    pub memcpy_ratio: f64,
    /// Speed against the plain loop.
    pub naive_ratio: f64,
}

/// A workload with its data.
pub(crate) trait Case {
    /// Elements of the payload.
    fn elements(&self) -> usize;
    /// Bytes of the payload.
    fn payload_bytes(&self) -> usize;
    /// Bytes of the table.
    fn table_bytes(&self) -> usize;
    /// Once through the engine.
    fn run(&mut self, engine: &Engine) -> Result<(), Error>;
    /// Once through the plain loop, on the same data.
    fn plain(&mut self);
    /// A number that depends on all results so far; starts the results over.
    fn settle(&mut self) -> u64;
}

/// Measures a workload, after checking that engine and plain loop agree.
///
/// # Errors
/// [`Error::Memory`] if its data does not fit, [`Error::Wrong`] if the engine's result is not the plain loop's.
pub fn measure(workload: &Workload, options: &Options) -> Result<Measurement, Error> {
    let mut case = workload.prepare()?;
    let engine = Engine::new().with_threads(NonZeroUsize::new(options.threads).unwrap_or(NonZeroUsize::MIN));
    // Both start from the same contents.
    case.settle();
    case.run(&engine)?;
    let engine_sum = case.settle();
    case.plain();
    if engine_sum != case.settle() {
        return Err(Error::Wrong(workload.name));
    }
    let bytes = case.payload_bytes();
    let from = Array::from_values(bytes, std::iter::repeat(1u8))?;
    let mut to = Array::<u8>::zeroed(bytes)?;
    copy(&mut to, &from, options.threads);
    let mut times: [Vec<f64>; 3] = Default::default();
    let mut spent = Duration::ZERO;
    while times[0].len() < 3 || spent < options.time * 3 {
        let mut failed = None;
        let turns = [
            time(|| failed = case.run(&engine).err().or(failed.take())),
            time(|| case.plain()),
            time(|| copy(&mut to, &from, options.threads)),
        ];
        if let Some(error) = failed {
            return Err(error);
        }
        for (times, turn) in times.iter_mut().zip(turns) {
            times.push(median(turn.map(|call| call.as_secs_f64()).to_vec()));
            spent += turn.iter().sum::<Duration>();
        }
    }
    let [engine, plain, copy] = times.map(median);
    Ok(Measurement {
        workload: workload.name,
        ns_per_element: engine * 1e9 / case.elements() as f64,
        bytes_per_second: bytes as f64 / engine,
        threads: options.threads,
        elements: case.elements(),
        table_bytes: case.table_bytes(),
        memcpy_ratio: copy / engine,
        naive_ratio: plain / engine,
    })
}

/// Calls that are timed in a row, as `bench/peers.py` times those of others.
const CALLS: usize = 5;

/// The times of some calls in a row after one that is not timed: that finds in the caches what others left there, and wakes the
/// other cores.
fn time(mut work: impl FnMut()) -> [Duration; CALLS] {
    work();
    core::array::from_fn(|_| {
        let start = Instant::now();
        work();
        start.elapsed()
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Copies on several threads, each its part.
fn copy(to: &mut [u8], from: &[u8], threads: usize) {
    if threads <= 1 {
        return to.copy_from_slice(from);
    }
    let part = to.len().div_ceil(threads).max(1 << 12);
    let mut parts = to.chunks_mut(part).zip(from.chunks(part));
    let first = parts.next();
    rayon::in_place_scope(|scope| {
        for (to, from) in parts {
            scope.spawn(move |_| to.copy_from_slice(from));
        }
        if let Some((to, from)) = first {
            to.copy_from_slice(from);
        }
    });
}

/// A hash of bytes, for comparing results.
pub(crate) fn digest(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    let hash = words.iter().fold(0, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(hash, |hash, byte| mix(hash, (*byte).into()))
}
