//! Calls with few lanes, carried out on the spot.
//!
//! Bringing a transfer to the engine's kernels takes as long as a hundred lanes of it. So calls on plain slices with
//! fewer than a few hundred lanes are loops right here, compiled for their types. What happens to an element is still
//! said once, by [`Combine`]; what becomes of an index is said here a second time, one lane at a time, and property
//! tests hold both against the reference.

use core::marker::PhantomData;

use pto_isa::{Atomic, Element, OutOfBounds};

use super::Index;
use crate::kernel::combine::Combine;
use crate::kernel::elements::Outside;
use crate::kernel::kind::with_combine;
use crate::kernel::simd::{Backend, Simd, Task};

/// The slot of an index under `Clamp`; there is at least one.
#[inline(always)]
fn clamped<I: Index>(index: I, capacity: usize) -> usize {
    let bits = index.bits();
    match bits < capacity as u64 {
        true => bits as usize,
        false if I::SIGNED && (bits as i64) < 0 => 0,
        false => capacity - 1,
    }
}

/// The slot of an index under `Wrap`; there is at least one.
#[inline(always)]
fn wrapped<I: Index>(index: I, capacity: usize) -> usize {
    let bits = index.bits();
    if bits < capacity as u64 {
        return bits as usize;
    }
    // A slice has at most `isize::MAX` elements.
    if I::SIGNED { (bits as i64).rem_euclid(capacity as i64) as usize } else { (bits % capacity as u64) as usize }
}

/// How many indices are out of range.
#[inline(always)]
fn outside<I: Index>(indices: &[I], capacity: usize) -> usize {
    indices.iter().filter(|index| index.bits() >= capacity as u64).count()
}

/// True if no index is out of range.
#[inline(always)]
fn all_inside<I: Index>(indices: &[I], capacity: usize) -> bool {
    if size_of::<I>() == 4 && capacity <= 1 << 31 {
        // The sign of one of the two numbers says so, and every vector unit finds it four lanes at a time.
        let last = (capacity as i64 - 1) as i32;
        let lanes: &[i32] = bytemuck::cast_slice(indices);
        return lanes.iter().fold(0, |signs, &index| signs | index | last.wrapping_sub(index)) >= 0;
    }
    !indices.iter().fold(false, |any, index| any | (index.bits() >= capacity as u64))
}

/// `destination[i] = table[indices[i]]`; returns how many lanes were out of range.
#[inline(always)]
pub(super) fn gather<T: Element, I: Index>(
    destination: &mut [T],
    table: &[T],
    indices: &[I],
    oob: OutOfBounds,
) -> Result<usize, Outside> {
    let slots = destination.iter_mut().zip(indices);
    match oob {
        OutOfBounds::Undefined => {
            if !all_inside(indices, table.len()) {
                return Err(Outside);
            }
            slots.for_each(|(slot, index)| *slot = table[index.bits() as usize]);
            return Ok(0);
        }
        OutOfBounds::Clamp => slots.for_each(|(slot, &index)| *slot = table[clamped(index, table.len())]),
        OutOfBounds::Wrap => slots.for_each(|(slot, &index)| *slot = table[wrapped(index, table.len())]),
        OutOfBounds::Skip | OutOfBounds::Zero => slots.for_each(|(slot, index)| {
            let inside = index.bits() < table.len() as u64;
            *slot = if inside { table[index.bits() as usize] } else { T::zeroed() };
        }),
    }
    Ok(outside(indices, table.len()))
}

/// `table[indices[i]] = source[i]`, or combined, in source order; returns how many lanes were out of range.
#[inline(always)]
pub(super) fn scatter<T: Element, I: Index>(
    backend: Backend,
    table: &mut [T],
    source: &[T],
    indices: &[I],
    (atomic, oob): (Atomic, OutOfBounds),
) -> Result<usize, Outside> {
    with_combine!(T::TYPE, atomic, N, C => {
        let (table, source) = (bytemuck::cast_slice_mut(table), bytemuck::cast_slice(source));
        let task = Scatter::<N, C, I> { table, source, indices, oob, combine: PhantomData };
        <C as Combine<N>>::enter(backend, task)
    })
}

struct Scatter<'a, const N: usize, C, I> {
    table: &'a mut [[u8; N]],
    source: &'a [[u8; N]],
    indices: &'a [I],
    oob: OutOfBounds,
    combine: PhantomData<C>,
}

impl<const N: usize, C: Combine<N>, I: Index> Task for Scatter<'_, N, C, I> {
    type Output = Result<usize, Outside>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        let Self { table, source, indices, oob, .. } = self;
        let capacity = table.len();
        let lanes = indices.iter().zip(source);
        let mut put = |slot: usize, value: &[u8; N]| table[slot] = C::combine(simd, table[slot], *value);
        match oob {
            OutOfBounds::Undefined => {
                if !all_inside(indices, capacity) {
                    return Err(Outside);
                }
                lanes.for_each(|(index, value)| put(index.bits() as usize, value));
                return Ok(0);
            }
            OutOfBounds::Clamp => lanes.for_each(|(&index, value)| put(clamped(index, capacity), value)),
            OutOfBounds::Wrap => lanes.for_each(|(&index, value)| put(wrapped(index, capacity), value)),
            OutOfBounds::Skip | OutOfBounds::Zero => lanes
                .filter(|(index, _)| index.bits() < capacity as u64)
                .for_each(|(index, value)| put(index.bits() as usize, value)),
        }
        Ok(outside(indices, capacity))
    }
}
