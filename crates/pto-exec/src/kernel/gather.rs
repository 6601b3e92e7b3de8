//! Gathers of single elements, of a run or a block of one.

use super::address::AddressMap;
use super::bounds::Resolver;
use super::elements::{Lookup, Moved, Outside, Run};
use super::offsets::{AnyOffsets, Offsets, Word};
use super::simd::{self, Backend, Simd, Streams, Task};
use super::transfer;

/// Gathers elements of `size` bytes, zero for lanes that were dropped, past the caches where that is allowed and possible.
pub(crate) fn gather(
    (backend, streams): (Backend, Option<&Streams>),
    size: usize,
    tile: &mut [u8],
    moved: Moved<'_>,
    table: &[u8],
) {
    match size {
        1 => gather_as::<1>(backend, streams, tile, moved, table),
        2 => gather_as::<2>(backend, streams, tile, moved, table),
        4 => gather_as::<4>(backend, streams, tile, moved, table),
        _ => gather_as::<8>(backend, streams, tile, moved, table),
    }
}

/// As [`gather`] for a run of which no lane is dropped, whatever its index; returns how many were out of range. Lanes are
/// looked at on the way: [`Outside`] if there is one that no policy has an answer to, and some elements were written then.
/// `None` if lanes are dropped, or do not lie in memory as words that are offsets once they are resolved.
pub(crate) fn gather_resolving(
    way: (Backend, Option<&Streams>),
    size: usize,
    tile: &mut [u8],
    (lookup, run): (&Lookup<'_>, Run),
    table: &[u8],
) -> Option<Result<usize, Outside>> {
    let resolver = lookup.resolver;
    let is_plain = *lookup.map == AddressMap::Linear && run.payload.step == 1;
    if !is_plain || !(resolver.is_total() || resolver.is_identity()) {
        return None;
    }
    let tile = &mut tile[run.payload.start * size..][..run.length * size];
    if lookup.is_narrow() {
        let words = lookup.reader.native::<[u8; 4]>(run.idx, run.length)?;
        Some(gather_words_resolving(way, size, tile, (resolver, words), table))
    } else {
        let words = lookup.reader.native::<[u8; 8]>(run.idx, run.length)?;
        Some(gather_words_resolving(way, size, tile, (resolver, words), table))
    }
}

fn gather_words_resolving<W: Word>(
    (backend, streams): (Backend, Option<&Streams>),
    size: usize,
    tile: &mut [u8],
    (resolver, words): (Resolver, &[W]),
    table: &[u8],
) -> Result<usize, Outside> {
    macro_rules! gathered {
        ($n:literal) => {{
            let (tile, table) = (tile.as_chunks_mut::<$n>().0, table.as_chunks::<$n>().0);
            backend.run(GatherResolving { tile, words, from: Resolving { table, resolver, streams } })
        }};
    }
    match size {
        1 => gathered!(1),
        2 => gathered!(2),
        4 => gathered!(4),
        _ => gathered!(8),
    }
}

/// Lanes that are resolved and then gathered. So few that the machine resolves the next ones while loads are under way.
const AT_ONCE: usize = 64;

struct GatherResolving<'a, const N: usize, W> {
    tile: &'a mut [[u8; N]],
    words: &'a [W],
    from: Resolving<'a, N>,
}

impl<const N: usize, W: Word> Task for GatherResolving<'_, N, W> {
    type Output = Result<usize, Outside>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        let Self { tile, words, from } = self;
        if N == 4 && W::BYTES == 4 && simd.lands().covers(transfer::are_gathered(from.table, words.len())) {
            return from.gather_landing(simd, tile, words);
        }
        // Whole lines are written after these.
        let head = tile.as_ptr().align_offset(simd::LINE).min(AT_ONCE).min(words.len());
        let ((first, tile), (first_words, words)) = (tile.split_at_mut(head), words.split_at(head));
        let ((tiles, last), (chunks, last_words)) = (tile.as_chunks_mut::<AT_ONCE>(), words.as_chunks::<AT_ONCE>());
        let ahead = if from.resolver.is_identity() { transfer::far_gathers(from.table, words) } else { &[] };
        let mut remapped = [W::put(0); AT_ONCE];
        let mut outside = from.resolve_and_gather(simd, first, first_words, &mut remapped, &[])?;
        for (i, (tile, chunk)) in tiles.iter_mut().zip(chunks).enumerate() {
            // The machine's prefetchers lose the stream among the other accesses.
            simd::prefetch_run(words, (i + 8) * AT_ONCE, AT_ONCE);
            let ahead = ahead.get(i * AT_ONCE..).unwrap_or(&[]);
            outside += from.resolve_and_gather(simd, tile, chunk, &mut remapped, ahead)?;
        }
        Ok(outside + from.resolve_and_gather(simd, last, last_words, &mut remapped, &[])?)
    }
}

/// A table, with what its lanes are resolved by and whether its elements are written past the caches.
struct Resolving<'a, const N: usize> {
    table: &'a [[u8; N]],
    resolver: Resolver,
    streams: Option<&'a Streams>,
}

impl<const N: usize> Resolving<'_, N> {
    /// Resolves lanes and gathers them; returns how many were out of range. The elements of `ahead` are asked for.
    #[inline(always)]
    fn resolve_and_gather<W: Word, S: Simd>(
        &self,
        simd: S,
        tile: &mut [[u8; N]],
        words: &[W],
        remapped: &mut [W; AT_ONCE],
        ahead: &[W],
    ) -> Result<usize, Outside> {
        let (words, outside) = self.resolver.remap(simd, words, remapped);
        self.gather(simd, tile, words, ahead)?;
        Ok(outside)
    }

    /// Gathers lanes that are resolved on the way, elements and words of 4 bytes; returns how many were out of range.
    #[inline(always)]
    fn gather_landing<W: Word, S: Simd>(&self, simd: S, tile: &mut [[u8; N]], words: &[W]) -> Result<usize, Outside> {
        let table = bytemuck::cast_slice(&self.table[..self.resolver.capacity as usize]);
        let (tile, words) = (bytemuck::cast_slice_mut(tile), bytemuck::cast_slice(words));
        let outside = simd.gather4_landing(tile, table, words, self.resolver.landing(), self.streams);
        if outside > 0 && self.resolver.is_identity() { Err(Outside) } else { Ok(outside) }
    }

    /// Gathers at most [`AT_ONCE`] lanes that are resolved, looking at each. The elements of `ahead` are asked for.
    #[inline(always)]
    fn gather<W: Word, S: Simd>(&self, simd: S, tile: &mut [[u8; N]], words: &[W], ahead: &[W]) -> Result<(), Outside> {
        let offsets = Offsets::look(simd, words, self.resolver.capacity).ok_or(Outside)?;
        match self.streams {
            Some(streams) => {
                let found = &mut [[0; N]; AT_ONCE][..tile.len()];
                transfer::gather_ahead(found, self.table, offsets, ahead);
                streams.copy(simd, tile.as_flattened_mut(), found.as_flattened());
            }
            None => transfer::gather_ahead(tile, self.table, offsets, ahead),
        }
        Ok(())
    }
}

fn gather_as<const N: usize>(
    backend: Backend,
    streams: Option<&Streams>,
    tile: &mut [u8],
    moved: Moved<'_>,
    table: &[u8],
) {
    let (tile, table) = (tile.as_chunks_mut::<N>().0, table.as_chunks::<N>().0);
    match moved.offsets {
        AnyOffsets::Narrow(offsets)
            if transfer::is_gathered(table) && moved.positions.is_none() && moved.payload.step == 1 =>
        {
            let tile = bytemuck::cast_slice_mut(&mut tile[moved.payload.start..][..offsets.len()]);
            backend.run(Gather4 { tile, table: bytemuck::cast_slice(table), offsets, streams });
        }
        AnyOffsets::Narrow(offsets) => gather_words(tile, moved, table, offsets),
        AnyOffsets::Wide(offsets) => gather_words(tile, moved, table, offsets),
    }
}

fn gather_words<const N: usize, W: Word>(
    tile: &mut [[u8; N]],
    moved: Moved<'_>,
    table: &[[u8; N]],
    offsets: Offsets<'_, W>,
) {
    match moved.positions {
        None => transfer::gather(tile, moved.payload, table, offsets),
        Some(positions) => transfer::gather_some(tile, moved.payload, moved.count, table, offsets, positions),
    }
}

struct Gather4<'a> {
    tile: &'a mut [[u8; 4]],
    table: &'a [[u8; 4]],
    offsets: Offsets<'a, [u8; 4]>,
    streams: Option<&'a Streams>,
}

impl Task for Gather4<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let inside = simd.gather4(self.tile, self.table, self.offsets.words(), self.streams);
        assert!(inside, "an element offset leaves its buffer");
    }
}
