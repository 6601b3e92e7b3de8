//! Carrying out the buckets of a [partition](super::partition).

use core::marker::PhantomData;

use super::buckets::WRITTEN_OUT;
use super::cache::Caches;
use super::combine::Combine;
use super::partition::{Entry, entry_bytes};
use super::simd::{self, LINE, Simd, Task};
use super::transfer::{AHEAD, FAR};

/// Entries between asking for one and combining it: soon enough for its slot to be asked for, and so late that the lines of slots
/// have not pushed it out of the first-level cache by then.
const LATER: usize = 256;

/// What is asked for while a bucket is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Nothing: each line is visited so often that few visits find it far away.
    Nothing,
    /// The slots of entries that come soon.
    Slots,
    /// The lines of another part of the table, in order, a few with every eight entries: all but some of the last ones, if
    /// there are enough entries. This part was asked for in the same way, unless it is the first.
    InOrder {
        /// No part before this one has asked for it.
        is_first: bool,
        /// How many parts further on that other part is; it has the same length, or is the last.
        next: Option<usize>,
    },
}

/// Combines the entries of a bucket into its part of a table.
pub(super) struct Apply<'a, const N: usize, C> {
    pub(super) table: &'a mut [[u8; N]],
    /// Entries each.
    pub(super) pieces: &'a [&'a [u8]],
    pub(super) asks: Asks,
    pub(super) combine: PhantomData<C>,
}

impl<const N: usize, C: Combine<N>> Task for Apply<'_, N, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { table, pieces, asks, .. } = self;
        let entries = |i: usize| pieces.get(i).map_or(&[][..], |piece| bytemuck::cast_slice::<_, Entry<N>>(piece));
        let asks_slots = matches!(asks, Asks::Slots | Asks::InOrder { is_first: true, .. });
        // As for scatters in source order.
        let asks_to_write = asks_slots && !C::READS && Caches::get().is_l3_far();
        let mut lines = Lines::of::<N>(table.len(), asks, pieces);
        let mut piece = entries(0);
        if asks_slots {
            piece.iter().take(FAR).for_each(|entry| simd::prefetch_far(table, entry.slot()));
        }
        for i in 0..pieces.len() {
            let next = entries(i + 1);
            let mut start = 0;
            // While the last entries of a piece are combined, the first ones of the next are asked for.
            for end in [LATER, FAR, AHEAD, 0].map(|distance| piece.len().saturating_sub(distance)) {
                let ahead = |distance: usize| match (start + distance).checked_sub(piece.len()) {
                    None => &piece[start + distance..],
                    Some(beyond) => from(next, beyond),
                };
                let far = if asks_slots { ahead(FAR) } else { &[] };
                let near = if asks_to_write { ahead(AHEAD) } else { &[] };
                combine_ahead::<N, C, S>(simd, table, &piece[start..end], [near, far, ahead(LATER)], &mut lines);
                start = end;
            }
            piece = next;
        }
    }
}

/// Lines that are asked for in order, a few with each step.
struct Lines {
    /// The first element of the line that is asked for next, from the beginning of the part in use.
    at: usize,
    end: usize,
    each: usize,
}

impl Lines {
    fn of<const N: usize>(length: usize, asks: Asks, pieces: &[&[u8]]) -> Self {
        let Asks::InOrder { next: Some(next), .. } = asks else { return Self { at: 0, end: 0, each: 0 } };
        let steps = pieces.iter().map(|piece| piece.len()).sum::<usize>() / (entry_bytes(N) * WRITTEN_OUT);
        let start = length.saturating_mul(next);
        Self { at: start, end: start.saturating_add(length), each: (length * N / LINE).div_ceil(steps.max(1)) }
    }

    #[inline(always)]
    fn ask<const N: usize>(&mut self, table: &[[u8; N]]) {
        for _ in 0..self.each {
            if self.at >= self.end {
                break;
            }
            simd::prefetch_far(table, self.at);
            self.at += LINE / N;
        }
    }
}

/// What begins at a place, if anything does.
fn from<T>(entries: &[T], start: usize) -> &[T] {
    &entries[start.min(entries.len())..]
}

/// Combines entries, in order. With each one a slot of `far` is asked for into the second-level cache, and one of `near`, to be
/// written, into the first: stores are carried out one after the other, each waiting for its line. Later
/// entries are asked for, too: the machine's prefetchers lose their stream among the other accesses.
#[inline(always)]
fn combine_ahead<'a, const N: usize, C: Combine<N>, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    entries: &[Entry<N>],
    [near, far, later]: [&'a [Entry<N>]; 3],
    lines: &mut Lines,
) {
    let ahead = |entries: &'a [Entry<N>], i: usize| entries.get(i * WRITTEN_OUT..)?.first_chunk::<WRITTEN_OUT>();
    let (steps, rest) = entries.as_chunks::<WRITTEN_OUT>();
    for (i, step) in steps.iter().enumerate() {
        simd::prefetch_run(later, i * WRITTEN_OUT, WRITTEN_OUT);
        lines.ask(table);
        if let Some(far) = ahead(far, i) {
            far.iter().for_each(|entry| simd::prefetch_far(table, entry.slot()));
        }
        if let Some(near) = ahead(near, i) {
            near.iter().for_each(|entry| simd::prefetch_write(table, entry.slot()));
        }
        for entry in step {
            C::put(simd, &mut table[entry.slot()], entry.value);
        }
    }
    for entry in rest {
        C::put(simd, &mut table[entry.slot()], entry.value);
    }
}

#[cfg(test)]
mod tests {
    use super::super::combine::{Add, Replace};
    use super::super::simd::Backend;
    use super::*;

    /// Whatever is asked for, and wherever that lies, the results are the same.
    #[test]
    fn nothing_that_is_asked_for_changes_a_result() {
        fn check<C: Combine<4>>(combine: fn(u32, u32) -> u32) {
            for count in [0usize, 1, 7, 8, 200, 1000] {
                let entry = |k: usize| [(k as u32 * 37 % 100).to_le_bytes(), (k as u32).to_le_bytes()];
                let pieces: Vec<Vec<u8>> =
                    (0..3).map(|i| (0..count).flat_map(|k| entry(k + i).concat()).collect()).collect();
                let pieces: Vec<&[u8]> = pieces.iter().map(Vec::as_slice).collect();
                let mut expected = [0u32; 100];
                for k in (0..3).flat_map(|i| (0..count).map(move |k| k + i)) {
                    expected[k * 37 % 100] = combine(expected[k * 37 % 100], k as u32);
                }
                let in_order = |is_first, next| Asks::InOrder { is_first, next };
                let parts = [in_order(true, Some(1)), in_order(false, Some(usize::MAX)), in_order(false, None)];
                for asks in [Asks::Nothing, Asks::Slots].into_iter().chain(parts) {
                    for backend in Backend::available() {
                        let mut table = [[0; 4]; 100];
                        backend.run(Apply { table: &mut table, pieces: &pieces, asks, combine: PhantomData::<C> });
                        assert_eq!(table.map(u32::from_le_bytes), expected, "{count} {asks:?}");
                    }
                }
            }
        }
        check::<Add<u32>>(|old, new| old + new);
        check::<Replace>(|_, new| new);
    }

    /// All lines of the other part, and none beyond it.
    #[test]
    fn each_line_is_asked_for_once() {
        let entries = [0; 8 * 64];
        let asks = Asks::InOrder { is_first: false, next: Some(2) };
        let mut lines = Lines::of::<4>(1024, asks, &[&entries[..8 * 24], &entries[..8 * 40]]);
        assert_eq!((lines.at, lines.end, lines.each), (2048, 3072, 8));
        for step in 1..=8 {
            lines.ask(&[[0; 4]; 1024]);
            assert_eq!(lines.at, 2048 + step * 8 * 16);
        }
        lines.ask(&[[0; 4]; 1024]);
        assert_eq!(lines.at, 3072);
    }
}
