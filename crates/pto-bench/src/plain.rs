//! The loops that one would write instead: one thread, one lane after the other, nothing clever.
//!
//! They stand for what the engine replaces, and check its results. An index out of range panics, as it does in any
//! loop.

use half::{bf16, f16};
use pto_isa::{Atomic, OutOfBounds};

/// Elements that the plain loops combine.
pub trait Value: bytemuck::Pod + PartialEq {
    /// The sum.
    fn add(self, other: Self) -> Self;
    /// The larger one.
    fn larger(self, other: Self) -> Self;
}

macro_rules! values {
    ($($type:ty, $add:expr);* $(;)?) => {$(
        impl Value for $type {
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                let add: fn($type, $type) -> $type = $add;
                add(self, other)
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if other > self { other } else { self }
            }
        }
    )*};
}

values! {
    f32, |a, b| a + b;
    f16, |a, b| a + b;
    bf16, |a, b| a + b;
}

/// `destination[i] = table[indices[i]]`.
#[inline(never)]
pub fn gather<T: Value>(destination: &mut [T], table: &[T], indices: &[i32]) {
    for (slot, &index) in destination.iter_mut().zip(indices) {
        *slot = table[index as usize];
    }
}

/// `destination[i] = table[indices[i] % table.len()]`.
#[inline(never)]
pub fn gather_wrapped<T: Value>(destination: &mut [T], table: &[T], indices: &[u32]) {
    for (slot, &index) in destination.iter_mut().zip(indices) {
        *slot = table[(index % table.len() as u32) as usize];
    }
}

/// `table[indices[i]] = source[i]`, or combined; lanes out of range are dropped under `Skip`.
pub fn scatter<T: Value>(table: &mut [T], source: &[T], indices: &[i32], atomic: Atomic, oob: OutOfBounds) {
    match (atomic, oob) {
        (Atomic::Add, _) => each(table, source, indices, |slot, value| *slot = slot.add(value)),
        (Atomic::Max, _) => each(table, source, indices, |slot, value| *slot = slot.larger(value)),
        (_, OutOfBounds::Skip) => skipping(table, source, indices),
        _ => each(table, source, indices, |slot, value| *slot = value),
    }
}

#[inline(never)]
fn each<T: Value>(table: &mut [T], source: &[T], indices: &[i32], put: impl Fn(&mut T, T)) {
    for (&value, &index) in source.iter().zip(indices) {
        put(&mut table[index as usize], value);
    }
}

#[inline(never)]
fn skipping<T: Value>(table: &mut [T], source: &[T], indices: &[i32]) {
    for (&value, &index) in source.iter().zip(indices) {
        if index >= 0 && (index as usize) < table.len() {
            table[index as usize] = value;
        }
    }
}

/// `destination[i, :] = table[indices[i], :]`.
#[inline(never)]
pub fn gather_rows<T: Value>(destination: &mut [T], table: &[T], cols: usize, indices: &[i32]) {
    for (row, &index) in destination.chunks_exact_mut(cols).zip(indices) {
        row.copy_from_slice(&table[index as usize * cols..][..cols]);
    }
}

/// `table[indices[i], :] = source[i, :]`, or added.
#[inline(never)]
pub fn scatter_rows<T: Value>(table: &mut [T], source: &[T], cols: usize, indices: &[i32], atomic: Atomic) {
    for (row, &index) in source.chunks_exact(cols).zip(indices) {
        let slots = &mut table[index as usize * cols..][..cols];
        match atomic {
            Atomic::Add => slots.iter_mut().zip(row).for_each(|(slot, value)| *slot = slot.add(*value)),
            _ => slots.copy_from_slice(row),
        }
    }
}

/// Widens a tile by `factor`, its elements at `position` of each group, zero between.
#[inline(never)]
pub fn widen(destination: &mut [u16], source: &[u16], factor: usize, position: usize) {
    for (i, &value) in source.iter().enumerate() {
        for lane in 0..factor {
            destination[i * factor + lane] = if lane == position { value } else { 0 };
        }
    }
}
