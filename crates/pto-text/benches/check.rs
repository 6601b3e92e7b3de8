//! How fast a large program is read and judged, on one thread: what `pto check` does between reading the file and
//! printing the findings.
//!
//! `cargo bench -p pto-text --bench check` prints megabytes of text per second for a quarter of the size and for all of
//! it, the best of several rounds; an argument gives the size in megabytes (40 if there is none). The two numbers are
//! close to each other: time grows with the text, not faster. Time is the thread's own on the processor where the system
//! tells it (Linux), so that other work on the machine counts little; else it is wall time.
#![allow(clippy::print_stdout, reason = "the numbers are what a benchmark is for")]

use pto_isa::Target;
use pto_text::{Source, elaborate, parse};
use std::time::Instant;

const ROUNDS: usize = 5;

/// A kernel as compilers write them: views, tiles, loops, flags, comments.
const KERNEL: &str = include_str!("kernel.pto");

/// A module of many functions.
fn module(bytes: usize) -> Source {
    let mut text = String::from("module attributes {pto.target_arch = \"a5\"} {\n");
    let mut number = 0;
    while text.len() < bytes {
        text += &KERNEL.replace("@update", &format!("@update_{number}"));
        number += 1;
    }
    text += "}\n";
    Source::new("bench", text)
}

/// Seconds that this thread has run, or that have passed.
fn now(start: Instant) -> f64 {
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let running = scheduled.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    running.map_or_else(|| start.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}

fn main() {
    let clock = Instant::now();
    let megabytes = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(40usize);
    for megabytes in [megabytes.div_ceil(4), megabytes] {
        let source = module(megabytes * 1_000_000);
        let mut best = [f64::INFINITY; 4];
        for _ in 0..ROUNDS {
            let start = now(clock);
            let parsed = parse(&source);
            let parse = now(clock) - start;
            let program = elaborate(&parsed);
            let elaborate = now(clock) - start;
            let found = program.check(&source, Target::A5);
            let all = now(clock) - start;
            assert!(parsed.is_clean() && program.is_clean() && !found.iter().any(|one| one.is_error()), "{found:?}");
            for (best, time) in best.iter_mut().zip([parse, elaborate - parse, all - elaborate, all]) {
                *best = best.min(time);
            }
        }
        for (what, time) in ["parse", "elaborate", "check", "all"].into_iter().zip(best) {
            let rate = source.text().len() as f64 / 1e6 / time;
            println!("{megabytes:>4} MB {what:<10} {rate:8.1} MB/s {:8.1} ms", time * 1e3);
        }
    }
}
