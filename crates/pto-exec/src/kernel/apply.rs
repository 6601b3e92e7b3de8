//! Carrying out the buckets of a [partition](super::partition).

use core::marker::PhantomData;

use super::combine::Combine;
use super::partition::{Entry, WRITTEN_OUT};
use super::simd::{self, Simd, Task};
use super::transfer::{AHEAD, FAR};

/// Combines the entries of a bucket into its part of a table.
pub(super) struct Apply<'a, const N: usize, C> {
    pub(super) table: &'a mut [[u8; N]],
    /// Entries each.
    pub(super) pieces: &'a [&'a [u8]],
    pub(super) combine: PhantomData<C>,
}

impl<const N: usize, C: Combine<N>> Task for Apply<'_, N, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { table, pieces, .. } = self;
        let entries = |i: usize| pieces.get(i).map_or(&[][..], |piece| bytemuck::cast_slice::<_, Entry<N>>(piece));
        let mut piece = entries(0);
        piece.iter().take(FAR).for_each(|entry| simd::prefetch_far(table, entry.slot()));
        for i in 0..pieces.len() {
            let (next, mut later) = (entries(i + 1), entries(i + 2));
            // While the last entries of a piece are combined, the first slots of the next are asked for.
            let (body, last) = piece.split_at(piece.len().saturating_sub(FAR));
            let (last, very_last) = last.split_at(last.len().saturating_sub(AHEAD));
            let parts = [
                (body, from(piece, AHEAD), from(piece, FAR)),
                (last, from(piece, body.len() + AHEAD), next),
                (very_last, next, from(next, last.len())),
            ];
            for (entries, near, far) in parts {
                combine_ahead::<N, C, S>(simd, table, entries, [near, far, later]);
                later = from(later, entries.len());
            }
            piece = next;
        }
    }
}

/// What begins at a place, if anything does.
fn from<T>(entries: &[T], start: usize) -> &[T] {
    &entries[start.min(entries.len())..]
}

/// Combines entries, in order. With each one a slot further on is asked for into the second-level cache, and, where it is
/// only stored to, a nearer one into the first: stores are carried out one after the other, each waiting for its line. Later
/// entries are asked for, too: the machine's prefetchers lose their stream among the other accesses.
#[inline(always)]
fn combine_ahead<'a, const N: usize, C: Combine<N>, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    entries: &[Entry<N>],
    [near, far, later]: [&'a [Entry<N>]; 3],
) {
    let ahead = |entries: &'a [Entry<N>], i: usize| entries.get(i * WRITTEN_OUT..)?.first_chunk::<WRITTEN_OUT>();
    let (steps, rest) = entries.as_chunks::<WRITTEN_OUT>();
    for (i, step) in steps.iter().enumerate() {
        if !later.is_empty() {
            simd::prefetch_run(later, i * WRITTEN_OUT, WRITTEN_OUT);
        }
        if let Some(far) = ahead(far, i) {
            far.iter().for_each(|entry| simd::prefetch_far(table, entry.slot()));
        }
        if let (false, Some(near)) = (C::READS, ahead(near, i)) {
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
