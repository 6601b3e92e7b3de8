//! Gather and scatter on plain arrays: mixture-of-experts dispatch, an embedding's gradients, a histogram. The results are
//! the same to the last bit on any number of threads.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::host::{self, Atomic, Engine, OutOfBounds, View, ViewMut};

/// Rows of `tokens` in the order of the experts that take them, each expert's in source order.
fn dispatch(tokens: &[f32], width: usize, expert_of: &[u32], experts: usize) -> Result<Vec<f32>, host::Fault> {
    let mut next = vec![0u32; experts + 1];
    expert_of.iter().for_each(|expert| next[*expert as usize + 1] += 1);
    (1..=experts).for_each(|expert| next[expert] += next[expert - 1]);
    let places: Vec<u32> = expert_of
        .iter()
        .map(|expert| {
            let place = &mut next[*expert as usize];
            *place += 1;
            *place - 1
        })
        .collect();
    let count = expert_of.len();
    let mut sorted = vec![0.0; tokens.len()];
    let (to, from) = (ViewMut::new(&mut sorted, count, width)?, View::new(tokens, count, width)?);
    host::scatter_rows(to, from, &places, Atomic::None, OutOfBounds::Undefined)?;
    Ok(sorted)
}

pub(crate) fn main() -> Result<(), host::Fault> {
    let tokens: Vec<f32> = (0..6 * 4).map(|k| (k / 4) as f32).collect();
    let sorted = dispatch(&tokens, 4, &[2, 0, 1, 0, 2, 1], 3)?;
    println!("tokens by expert: {:?}", sorted.iter().step_by(4).collect::<Vec<_>>());
    assert_eq!(sorted.iter().step_by(4).copied().collect::<Vec<_>>(), [1.0, 3.0, 2.0, 5.0, 0.0, 4.0]);

    // Gradients of an embedding: id -1 marks padding and is dropped.
    let (gradients, ids) = (vec![0.25f32; 5 * 8], [3i64, 0, -1, 3, 3]);
    let mut embedding = vec![0f32; 4 * 8];
    let (table, rows) = (ViewMut::new(&mut embedding, 4, 8)?, View::new(&gradients, 5, 8)?);
    let lanes = host::scatter_rows(table, rows, &ids, Atomic::Add, OutOfBounds::Skip)?;
    println!("rows written {}, skipped {}", lanes.written, lanes.skipped);
    assert_eq!((lanes.written, lanes.skipped, embedding[3 * 8]), (4, 1, 0.75));

    // A histogram, and the same on one thread: the bits agree, though floats are added.
    let values: Vec<u32> = (0..100_000u32).map(|k| k.wrapping_mul(2_654_435_761) >> 24).collect();
    let weights: Vec<f32> = (0..100_000).map(|k| 1.0 / (1 + k) as f32).collect();
    let (mut bins, mut alone) = (vec![0f32; 256], vec![0f32; 256]);
    host::scatter(&mut bins, &weights, &values, Atomic::Add, OutOfBounds::Undefined)?;
    let one = Engine::new().with_threads(core::num::NonZeroUsize::MIN);
    one.scatter(&mut alone, &weights, &values, Atomic::Add, OutOfBounds::Undefined)?;
    println!("first bin: {}", bins[0]);
    assert!(bins.iter().zip(&alone).all(|(a, b)| a.to_bits() == b.to_bits()));
    Ok(())
}
