//! Moving a block of elements between a tile and scattered places of a table.
//!
//! The only unsafe code of this crate. Every function here is safe to call with any arguments: it first makes sure,
//! without branches in the loop, that all places lie inside the slices, and only then goes through them unchecked.
#![expect(unsafe_code, reason = "a bounds check per element costs a third of the time of a scatter")]

use super::combine::Combine;
use super::lanes::Strided;

/// Panics unless every offset is below `length`.
#[inline(always)]
fn assert_inside(offsets: &[u64], length: usize) {
    let largest = offsets.iter().fold(0, |largest, &offset| largest.max(offset));
    assert!(offsets.is_empty() || largest < length as u64, "an element offset leaves its buffer");
}

/// Panics unless `count` elements of the run lie below `length`.
#[inline(always)]
fn assert_run_inside(run: Strided, count: usize, length: usize) {
    let last = count.checked_sub(1).map(|n| n.checked_mul(run.step).and_then(|n| n.checked_add(run.start)));
    assert!(last.is_none_or(|last| last.is_some_and(|last| last < length)), "a run leaves its tile");
}

/// `table[offsets[k]] = combine(table[offsets[k]], tile[run.start + k * run.step])`, in order.
#[inline]
pub(crate) fn scatter<const N: usize, C: Combine<N>>(
    table: &mut [[u8; N]],
    offsets: &[u64],
    tile: &[[u8; N]],
    run: Strided,
) {
    assert_inside(offsets, table.len());
    assert_run_inside(run, offsets.len(), tile.len());
    for (k, &offset) in offsets.iter().enumerate() {
        // SAFETY: `offset < table.len()` and `run.start + k * run.step < tile.len()` by the assertions above, the
        // latter because `k < offsets.len()` and the position grows with `k`.
        unsafe {
            let new = *tile.get_unchecked(run.start + k * run.step);
            let slot = table.get_unchecked_mut(offset as usize);
            *slot = C::combine(*slot, new);
        }
    }
}

/// As [`scatter`], for the lanes of the run whose positions are listed.
#[inline]
pub(crate) fn scatter_some<const N: usize, C: Combine<N>>(
    table: &mut [[u8; N]],
    offsets: &[u64],
    tile: &[[u8; N]],
    run: Strided,
    positions: &[u32],
) {
    assert_inside(offsets, table.len());
    assert_positions_inside(positions, run, tile.len());
    for (&offset, &position) in offsets.iter().zip(positions) {
        // SAFETY: `offset < table.len()` and `run.start + position * run.step < tile.len()` by the assertions above.
        unsafe {
            let new = *tile.get_unchecked(run.start + position as usize * run.step);
            let slot = table.get_unchecked_mut(offset as usize);
            *slot = C::combine(*slot, new);
        }
    }
}

/// `tile[run.start + k * run.step] = table[offsets[k]]`.
#[inline]
pub(crate) fn gather<const N: usize>(tile: &mut [[u8; N]], run: Strided, table: &[[u8; N]], offsets: &[u64]) {
    assert_inside(offsets, table.len());
    assert_run_inside(run, offsets.len(), tile.len());
    for (k, &offset) in offsets.iter().enumerate() {
        // SAFETY: as in `scatter`.
        unsafe {
            *tile.get_unchecked_mut(run.start + k * run.step) = *table.get_unchecked(offset as usize);
        }
    }
}

/// As [`gather`], for the lanes of the run whose positions are listed; the others become zero.
#[inline]
pub(crate) fn gather_some<const N: usize>(
    tile: &mut [[u8; N]],
    run: Strided,
    count: usize,
    table: &[[u8; N]],
    offsets: &[u64],
    positions: &[u32],
) {
    assert_inside(offsets, table.len());
    assert_run_inside(run, count, tile.len());
    assert_positions_inside(positions, run, tile.len());
    for k in 0..count {
        // SAFETY: `run.start + k * run.step < tile.len()` for every `k < count` by the second assertion.
        unsafe {
            *tile.get_unchecked_mut(run.start + k * run.step) = [0; N];
        }
    }
    for (&offset, &position) in offsets.iter().zip(positions) {
        // SAFETY: as in `scatter_some`.
        unsafe {
            *tile.get_unchecked_mut(run.start + position as usize * run.step) = *table.get_unchecked(offset as usize);
        }
    }
}

/// Panics unless every listed position of the run lies below `length`.
#[inline(always)]
fn assert_positions_inside(positions: &[u32], run: Strided, length: usize) {
    let largest = positions.iter().fold(0, |largest, &position| largest.max(position));
    if !positions.is_empty() {
        assert_run_inside(run, largest as usize + 1, length);
    }
}

#[cfg(test)]
mod tests {
    use super::super::combine::{Add, Replace};
    use super::*;

    const GUARD: [u8; 4] = [0xee; 4];

    fn elements(values: impl IntoIterator<Item = u32>) -> Vec<[u8; 4]> {
        values.into_iter().map(u32::to_le_bytes).collect()
    }

    #[test]
    fn every_lane_position_of_a_block_reaches_its_slot_and_no_other() {
        for length in 1..=33usize {
            for step in [1, 3] {
                let tile = elements(100..100 + (length * step) as u32);
                let mut table = vec![GUARD; length + 2];
                let offsets: Vec<u64> = (0..length as u64).rev().collect();
                scatter::<4, Replace>(&mut table[1..=length], &offsets, &tile, Strided { start: 0, step });
                assert_eq!((table[0], table[length + 1]), (GUARD, GUARD));
                for k in 0..length {
                    assert_eq!(table[1 + length - 1 - k], tile[k * step]);
                }
            }
        }
    }

    #[test]
    fn an_offset_or_position_outside_panics_before_any_write() {
        let tile = elements(0..8);
        for bad in 0..8 {
            for offset in [8u64, 9, 1 << 31, u64::MAX] {
                let mut table = elements(50..58);
                let mut offsets: Vec<u64> = (0..8).collect();
                offsets[bad] = offset;
                let run = Strided { start: 0, step: 1 };
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    scatter::<4, Add<u32>>(&mut table, &offsets, &tile, run);
                }));
                assert!(outcome.is_err());
                assert_eq!(table, elements(50..58));
            }
        }
        let outside = std::panic::catch_unwind(|| {
            let mut tile = elements(0..4);
            gather::<4>(&mut tile, Strided { start: 1, step: 1 }, &elements(0..4), &[0, 1, 2, 3]);
        });
        assert!(outside.is_err());
        let overflow = std::panic::catch_unwind(|| {
            let mut tile = elements(0..4);
            gather::<4>(&mut tile, Strided { start: 1, step: usize::MAX }, &elements(0..4), &[0, 1]);
        });
        assert!(overflow.is_err());
    }

    #[test]
    fn listed_positions_scatter_and_gather_with_zeros_between() {
        let tile = elements(10..14);
        let mut table = elements([0; 4]);
        scatter_some::<4, Replace>(&mut table, &[3, 0], &tile, Strided { start: 0, step: 1 }, &[1, 2]);
        assert_eq!(table, elements([12, 0, 0, 11]));
        let mut dst = elements([7; 5]);
        gather_some::<4>(&mut dst, Strided { start: 0, step: 1 }, 4, &table, &[3, 0], &[1, 2]);
        assert_eq!(dst, elements([0, 11, 12, 0, 7]));
    }
}
