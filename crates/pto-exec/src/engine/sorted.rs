//! Gathers that sort their lanes first.

use pto_isa::ElementType;

use super::cost::{Method, PARALLEL_LANES, Work};
use super::elements::LEAST_MEMORY;
use super::share::Sample;
use super::{Engine, cuts};
use crate::kernel::address::AddressMap;
use crate::kernel::bounds::Bounds;
use crate::kernel::buckets::Chunking;
use crate::kernel::elements::{Lookup, Outside, Run};
use crate::kernel::partition::Split;
use crate::kernel::simd::Streams;
use crate::kernel::sorted::{PLACE_BYTES, hand_out, look_up, sort};

impl Engine {
    /// Gathers a run in the order of the table, if that costs less and there is memory for it.
    ///
    /// Only lanes that are their own offsets are sorted, and elements of up to 4 bytes: those for which it was measured
    /// to pay.
    pub(crate) fn gather_sorted(
        &self,
        element: ElementType,
        lookup: Lookup<'_>,
        run: Run,
        tile: &mut [u8],
        table: &[u8],
    ) -> Option<Result<usize, Outside>> {
        // Small ones first: choosing a way must not take longer than going it.
        if run.length < PARALLEL_LANES && self.method.is_none() {
            return None;
        }
        let (size, capacity) = (element.size() as usize, lookup.resolver.capacity as usize);
        let work = Work { gathers: true, ..self.work(run.length, capacity.saturating_mul(size)) };
        let wanted = self.method.map_or_else(|| work.pays_partition(), |method| method == Method::Partitioned);
        let fits = size <= PLACE_BYTES && run.payload.step == 1 && run.length <= 1 << 31;
        let plain = *lookup.map == AddressMap::Linear && lookup.resolver.bounds == Bounds::Checked;
        if !(wanted && fits && plain && lookup.is_narrow()) {
            return None;
        }
        let words = lookup.whole::<[u8; 4]>(run)?;
        let buckets = work.buckets();
        let split = Split::of(capacity, buckets)?;
        if self.method.is_none() {
            let sample = Sample::draw(self.backend, lookup, run);
            if work.method(sample.skew(split.bucket_length())) != Method::Partitioned {
                return None;
            }
        }
        let cut = |parts: usize| {
            let chunking = Chunking::of(words.len().div_ceil(parts), buckets);
            (parts, chunking, (chunking.entries() * PLACE_BYTES).saturating_mul(parts))
        };
        let fits = |(_, _, bytes): &(usize, Chunking, usize)| *bytes <= self.memory_cap;
        // More parts than threads take more memory.
        let (parts, chunking, bytes) = [work.sorted_parts(), work.threads].map(cut).into_iter().find(fits)?;
        if self.memory_cap < LEAST_MEMORY {
            return None;
        }
        let tile = &mut tile[run.payload.start * size..][..words.len() * size];
        let cuts = cuts(words.len(), parts);
        let sorted = Sorted { engine: self, words, capacity, size, split, chunking, cuts };
        self.scratch.with(bytes, |memory| memory.map(|memory| sorted.gather(memory, tile, table)))
    }
}

struct Sorted<'a> {
    engine: &'a Engine,
    words: &'a [[u8; 4]],
    capacity: usize,
    size: usize,
    split: Split,
    chunking: Chunking,
    /// The lanes that are sorted together.
    cuts: Vec<(usize, usize)>,
}

impl Sorted<'_> {
    fn gather(&self, memory: &mut [u8], mut tile: &mut [u8], table: &[u8]) -> Result<usize, Outside> {
        let Self { engine, words, capacity, size, split, chunking, ref cuts } = *self;
        let region = chunking.entries() * PLACE_BYTES;
        let tasks = cuts.iter().zip(memory.chunks_mut(region)).collect();
        let sorted = engine.each(tasks, |(&(from, to), region): (&(usize, usize), &mut [u8])| {
            sort(engine.backend, &words[from..to], capacity as u64, (split, chunking), region)
        });
        let Some(sorted) = sorted.into_iter().collect::<Option<Vec<_>>>() else { return Err(Outside) };
        // The chunks of a region are dealt out to the buckets that have them.
        let mut pieces: Vec<Vec<&mut [u8]>> = (0..chunking.buckets()).map(|_| Vec::new()).collect();
        let chunk = chunking.chunk() * PLACE_BYTES;
        for (buckets, region) in sorted.iter().zip(memory.chunks_mut(region)) {
            let mut chunks: Vec<&mut [u8]> = region.chunks_mut(chunk).collect();
            for (bucket, pieces) in pieces.iter_mut().enumerate() {
                for piece in buckets.pieces(bucket).iter().filter(|piece| !piece.is_empty()) {
                    let places = core::mem::take(&mut chunks[piece.start / chunking.chunk()]);
                    let start = piece.start % chunking.chunk();
                    pieces.push(&mut places[start * PLACE_BYTES..][..piece.len() * PLACE_BYTES]);
                }
            }
        }
        let table = &table[..capacity * size];
        let tasks = pieces.into_iter().zip(table.chunks((split.bucket_length() * size).max(1))).collect();
        engine.each(tasks, |(pieces, table): (Vec<&mut [u8]>, &[u8])| look_up(size, pieces, table));
        let mut tasks = Vec::with_capacity(cuts.len());
        for (&(from, to), region) in cuts.iter().zip(memory.chunks_mut(region)) {
            let (mine, rest) = core::mem::take(&mut tile).split_at_mut((to - from) * size);
            tile = rest;
            tasks.push((&words[from..to], region, mine));
        }
        let streams = engine.streams_out(words.len() * size, table.len());
        engine.each(tasks, |(words, region, tile): (&[[u8; 4]], &mut [u8], &mut [u8])| {
            let streams = streams.then(Streams::new);
            hand_out((engine.backend, size, streams.as_ref()), words, split, (chunking, region), tile);
        });
        Ok(0)
    }
}
