//! Micro-benchmarks: what a call costs before its first lane, and where the ways of a scatter cross.

use std::num::NonZeroUsize;

use divan::Bencher;
use divan::counter::ItemsCount;
use pto_bench::uniform;
use pto_exec::host::{Backend, Engine, Method};
use pto_isa::{Atomic, OutOfBounds};

fn main() {
    divan::main();
}

const POLICIES: [OutOfBounds; 4] = [OutOfBounds::Undefined, OutOfBounds::Zero, OutOfBounds::Clamp, OutOfBounds::Wrap];

/// A call with 16 indices, as a decoder makes them.
#[divan::bench(args = POLICIES)]
fn gather_16(bencher: Bencher<'_, '_>, oob: OutOfBounds) {
    let table = vec![1f32; 2048];
    let indices: Vec<i32> = uniform(1, 2048).take(16).map(|x| x as i32).collect();
    let mut out = [0f32; 16];
    bencher.bench_local(|| Engine::shared().gather(&mut out, &table, &indices, oob));
}

#[divan::bench(args = [Atomic::None, Atomic::Add, Atomic::Max])]
fn scatter_16(bencher: Bencher<'_, '_>, atomic: Atomic) {
    let mut table = vec![1f32; 2048];
    let indices: Vec<i32> = uniform(1, 2048).take(16).map(|x| x as i32).collect();
    let source = [1f32; 16];
    bencher.bench_local(|| Engine::shared().scatter(&mut table, &source, &indices, atomic, OutOfBounds::Undefined));
}

fn backends() -> impl Iterator<Item = &'static str> {
    Backend::available().map(Backend::name)
}

/// The policies on every instruction set, in cache.
#[divan::bench(args = backends(), consts = [0, 1, 2, 3])]
fn gather_16k<const POLICY: usize>(bencher: Bencher<'_, '_>, backend: &str) {
    let backend = Backend::available().find(|b| b.name() == backend).unwrap_or(Backend::PORTABLE);
    let engine = Engine::new().with_threads(NonZeroUsize::MIN).with_backend(backend);
    let table = vec![1f32; 2048];
    let indices: Vec<i32> = uniform(1, 2048).take(1 << 14).map(|x| x as i32).collect();
    let mut out = vec![0f32; 1 << 14];
    bencher
        .counter(ItemsCount::new(1usize << 14))
        .bench_local(|| engine.gather(&mut out, &table, &indices, POLICIES[POLICY]));
}

/// One thread, 2^20 lanes, each way, over the table's size.
#[divan::bench(args = [18, 20, 21, 22, 23, 24, 25, 26], consts = [0, 1], sample_count = 5)]
fn ways_of_add<const WAY: usize>(bencher: Bencher<'_, '_>, log2: u32) {
    let engine = Engine::new().with_threads(NonZeroUsize::MIN).with_method([Method::Direct, Method::Partitioned][WAY]);
    let mut table = vec![0f32; 1 << log2];
    let indices: Vec<i32> = uniform(1, 1 << log2).take(1 << 20).map(|x| x as i32).collect();
    let source = vec![1f32; 1 << 20];
    bencher
        .counter(ItemsCount::new(1usize << 20))
        .bench_local(|| engine.scatter(&mut table, &source, &indices, Atomic::Add, OutOfBounds::Undefined));
}
