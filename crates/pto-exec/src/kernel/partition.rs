//! A stable partition of a scatter by destination.
//!
//! Each thread takes a part of the source and copies offset and value of each of its lanes to the lane's bucket, an
//! equal part of the table. Buckets grow by chunks of a region of the thread's own, so that nobody has to count lanes
//! beforehand: one look at each lane does for its range, its bucket and its copy. Afterwards each bucket is applied by
//! one thread, the regions in the order of the source: a slot sees its writers in source order whatever the number of
//! threads, and the part of the table in use stays in cache.

use core::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::bounds::{Bounds, count_outside};
use super::elements::{Lookup, Moved, Run};
use super::lanes::Strided;
use super::offsets::{AnyOffsets, Offsets, Word};
use super::simd::{self, Backend, LINE, Simd, Task};

/// The number of buckets. With twice as many write streams a partition takes a sixth to a half longer, while applying one
/// gets hardly faster: the step is that from 64 to 128 streams (`docs/performance.md`).
pub(crate) const BUCKETS: usize = 64;

/// Chunks that a bucket of average length has at least, so that the unfilled ones do not matter.
const CHUNKS: usize = 16;

/// Entries of the largest chunk.
const LARGEST_CHUNK: usize = 4096;

/// Lanes that are looked at and then copied: so few that the machine's prefetchers see one steady stream.
pub(super) const LOOK: usize = 64;

/// Lanes between asking for a lane or value and copying it.
const AHEAD: usize = 256;

/// Asks for what comes [`AHEAD`] of the [`LOOK`] lanes or values at a place: the machine's prefetchers lose such a stream
/// among those of the buckets.
#[inline(always)]
pub(super) fn ask_ahead<T>(stream: &[T], at: usize) {
    simd::prefetch_run(stream, at + AHEAD, LOOK);
}

/// One lane: where in its bucket it goes, and its value.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
pub(crate) struct Entry<const N: usize> {
    offset: [u8; 4],
    pub(super) value: [u8; N],
}

impl<const N: usize> Entry<N> {
    #[inline(always)]
    pub(super) fn slot(&self) -> usize {
        u32::from_le_bytes(self.offset) as usize
    }
}

/// Bytes of an entry whose value has `size` bytes.
pub(crate) fn entry_bytes(size: usize) -> usize {
    4 + size
}

/// How the region of a thread is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunking {
    /// Entries of a chunk: a power of two.
    chunk: usize,
    /// How many chunks there are.
    count: usize,
}

impl Chunking {
    /// Enough for this many lanes, whatever their buckets.
    ///
    /// A bucket of `n` lanes that starts at entry `s` of its first chunk takes `(n + s) / chunk + 1` chunks at the
    /// most, and the starts of all buckets add up to less than half of [`BUCKETS`] chunks.
    pub(crate) fn of(lanes: usize) -> Self {
        let chunk = (lanes / (BUCKETS * CHUNKS)).clamp(1, LARGEST_CHUNK);
        let chunk = 1 << chunk.ilog2();
        Self { chunk, count: lanes / chunk + 1 + BUCKETS + BUCKETS / 2 }
    }

    /// Entries of a chunk.
    pub(crate) fn chunk(self) -> usize {
        self.chunk
    }

    /// Entries of the region.
    pub(crate) fn entries(self) -> usize {
        self.chunk * self.count
    }

    /// Where the first chunk of a bucket begins to be used. Streams that start at the same place of their chunks
    /// would compete for the same sets of the cache.
    fn start(self, bucket: usize) -> usize {
        bucket * self.chunk + self.chunk * bucket / BUCKETS
    }
}

/// How offsets fall into buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    shift: u32,
}

impl Split {
    /// The split of a table into at most [`BUCKETS`] parts; `None` if a part exceeds 2^32 elements.
    pub(crate) fn of(capacity: usize) -> Option<Self> {
        let bits = usize::BITS - capacity.saturating_sub(1).leading_zeros();
        let shift = bits.saturating_sub(BUCKETS.ilog2());
        (shift <= 32).then_some(Self { shift })
    }

    /// Elements of the table in a bucket.
    pub(crate) fn bucket_length(self) -> usize {
        1 << self.shift
    }

    #[inline(always)]
    pub(super) fn bucket(self, offset: u64) -> usize {
        (offset >> self.shift) as usize % BUCKETS
    }

    #[inline(always)]
    pub(super) fn rest(self, offset: u64) -> u32 {
        (offset & ((1 << self.shift) - 1)) as u32
    }
}

/// Where the buckets of a region lie in it.
pub(crate) struct Buckets {
    chunking: Chunking,
    /// Where the next entry of each bucket goes.
    ends: [usize; BUCKETS],
    /// The chunk that follows each one in its bucket.
    next: Vec<u32>,
    /// The first chunk that no bucket has.
    free: usize,
}

impl Buckets {
    pub(super) fn new(chunking: Chunking) -> Self {
        let ends = core::array::from_fn(|bucket| chunking.start(bucket));
        Self { chunking, ends, next: vec![0; chunking.count], free: BUCKETS }
    }

    /// Puts entries to the ends of their buckets, which are given with them, in order.
    ///
    /// # Panics
    /// If there are more than the region has room for.
    #[inline(always)]
    pub(super) fn fill<E>(&mut self, region: &mut [E], entries: impl Iterator<Item = (usize, E)>) {
        let within = self.within();
        for (bucket, entry) in entries {
            self.put(region, (bucket, entry), within);
        }
    }

    /// The bits of a place that say where in its chunk it is.
    #[inline(always)]
    fn within(&self) -> usize {
        self.chunking.chunk - 1
    }

    /// Puts an entry to the end of its bucket; `within` is [this](Self::within), read once for many.
    #[inline(always)]
    fn put<E>(&mut self, region: &mut [E], (bucket, entry): (usize, E), within: usize) {
        let place = self.ends[bucket];
        region[place] = entry;
        // The prefetchers of the machine follow fewer streams than there are buckets.
        simd::prefetch(region, place + LINE / size_of::<E>());
        if (place + 1) & within == 0 {
            self.extend(bucket, place);
        } else {
            self.ends[bucket] = place + 1;
        }
    }

    /// Gives a bucket, whose last entry fills its chunk, another chunk.
    #[cold]
    fn extend(&mut self, bucket: usize, last: usize) {
        self.next[last / self.chunking.chunk] = self.free as u32;
        self.ends[bucket] = self.free * self.chunking.chunk;
        self.free += 1;
    }

    /// The place of a bucket's first entry.
    pub(super) fn start(&self, bucket: usize) -> usize {
        self.chunking.start(bucket)
    }

    /// The place of the entry after the one at `place`.
    #[inline(always)]
    pub(super) fn after(&self, place: usize) -> usize {
        let Chunking { chunk, .. } = self.chunking;
        if (place + 1) & (chunk - 1) == 0 { self.next[place >> chunk.ilog2()] as usize * chunk } else { place + 1 }
    }

    /// The pieces of a bucket, in order.
    pub(crate) fn pieces(&self, bucket: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let (chunk, end) = (self.chunking.chunk, self.ends[bucket]);
        let mut at = Some(self.chunking.start(bucket));
        core::iter::from_fn(move || {
            let start = at?;
            let current = start / chunk;
            if current == end / chunk {
                at = None;
                return Some(start..end);
            }
            at = Some(self.next[current] as usize * chunk);
            Some(start..(current + 1) * chunk)
        })
    }
}

/// A part of a scatter that is to be partitioned.
#[derive(Clone, Copy)]
pub(crate) struct Partition<'a> {
    /// Lanes need not have been looked at: those that nothing is said about are dropped, and counted.
    pub(crate) lookup: Lookup<'a>,
    pub(crate) run: Run,
    pub(crate) split: Split,
    /// Enough for the lanes of the run.
    pub(crate) chunking: Chunking,
}

impl Partition<'_> {
    /// Writes the lanes and the values of `tile`, of `size` bytes each, to a region; also returns how many lanes were
    /// out of range.
    pub(crate) fn write(&self, backend: Backend, size: usize, tile: &[u8], region: &mut [u8]) -> (Buckets, usize) {
        match size {
            1 => self.write_as::<1>(backend, tile, region),
            2 => self.write_as::<2>(backend, tile, region),
            4 => self.write_as::<4>(backend, tile, region),
            _ => self.write_as::<8>(backend, tile, region),
        }
    }

    fn write_as<const N: usize>(&self, backend: Backend, tile: &[u8], region: &mut [u8]) -> (Buckets, usize) {
        let Self { mut lookup, run, split, chunking } = *self;
        let (tile, region) = (tile.as_chunks::<N>().0, bytemuck::cast_slice_mut::<_, Entry<N>>(region));
        let mut copy = Copy { split, buckets: Buckets::new(chunking), region };
        let words = if lookup.is_narrow() { lookup.whole::<[u8; 4]>(run) } else { None };
        if let Some(words) = words.filter(|_| run.payload.step == 1) {
            let values = &tile[run.payload.start..][..words.len()];
            let capacity = lookup.resolver.capacity;
            let outside = backend.run(CopyWhole { words, values, capacity, copy: &mut copy });
            return (copy.buckets, outside);
        }
        if lookup.resolver.bounds == Bounds::Checked {
            lookup.resolver.bounds = Bounds::Drop;
        }
        let outside = lookup.for_each_block(backend, run, &mut |moved| match moved.offsets {
            AnyOffsets::Narrow(offsets) => copy.block(tile, moved, offsets),
            AnyOffsets::Wide(offsets) => copy.block(tile, moved, offsets),
        });
        (copy.buckets, outside)
    }
}

/// Copies lanes to their buckets.
struct Copy<'a, const N: usize> {
    split: Split,
    buckets: Buckets,
    region: &'a mut [Entry<N>],
}

impl<const N: usize> Copy<'_, N> {
    #[inline(always)]
    fn lanes(&mut self, lanes: impl Iterator<Item = (u64, [u8; N])>) {
        let split = self.split;
        let entry = |offset, value| Entry { offset: split.rest(offset).to_le_bytes(), value };
        self.buckets.fill(self.region, lanes.map(|(offset, value)| (split.bucket(offset), entry(offset, value))));
    }

    /// Lanes that are their own offsets, all in range.
    #[inline(always)]
    fn whole<S: Simd>(&mut self, simd: S, words: &[[u8; 4]], values: &[[u8; N]]) {
        let done = if N == 4 && S::SPLITS { words.len().min(values.len()) / 16 * 16 } else { 0 };
        if done > 0 {
            let (words, values) = (bytemuck::cast_slice(&words[..done]), bytemuck::cast_slice(&values[..done]));
            let region = bytemuck::cast_slice_mut::<_, [u8; 8]>(self.region);
            let within = self.buckets.within();
            for (words, values) in words.iter().zip(values) {
                let (buckets, entries) = simd.split16::<{ BUCKETS as u32 }>(words, values, self.split.shift);
                // Written out, so that they are taken from registers. A loop would take them through memory, where they are
                // read in other sizes than they were written, which costs as much as all the rest.
                macro_rules! put {
                    ($($k:literal)*) => {$(
                        self.buckets.put(region, (buckets[$k] as usize, entries[$k].to_le_bytes()), within);
                    )*};
                }
                put!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            }
        }
        let rest = words[done..].iter().zip(&values[done..]);
        self.lanes(rest.map(|(word, value)| (word.get(), *value)));
    }

    fn block<W: Word>(&mut self, tile: &[[u8; N]], moved: Moved<'_>, offsets: Offsets<'_, W>) {
        let Strided { start, step } = moved.payload;
        let words = offsets.words().iter().map(|word| word.get());
        match moved.positions {
            None => self.lanes(words.enumerate().map(|(k, offset)| (offset, tile[start + k * step]))),
            Some(positions) => {
                self.lanes(words.zip(positions).map(|(offset, &k)| (offset, tile[start + k as usize * step])));
            }
        }
    }
}

/// Copies lanes that are their own offsets, unless they are out of range; returns how many are.
struct CopyWhole<'a, 'b, const N: usize> {
    words: &'a [[u8; 4]],
    values: &'a [[u8; N]],
    capacity: u64,
    copy: &'b mut Copy<'a, N>,
}

impl<const N: usize> Task for CopyWhole<'_, '_, N> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> usize {
        let Self { words: all, values: all_values, capacity, copy } = self;
        let mut outside = 0;
        for (i, (words, values)) in all.chunks(LOOK).zip(all_values.chunks(LOOK)).enumerate() {
            ask_ahead(all, i * LOOK);
            ask_ahead(all_values, i * LOOK);
            if Word::largest(words) < capacity {
                copy.whole(simd, words, values);
            } else {
                outside += count_outside(words, capacity);
            }
        }
        outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_covers_every_capacity_with_at_most_64_parts() {
        for capacity in [0usize, 1, 2, 63, 64, 65, 127, 128, 129, 1_000_003, 1 << 24, (1 << 24) + 1, 1 << 38] {
            let split = Split::of(capacity).expect("small enough");
            assert!(capacity.div_ceil(split.bucket_length()) <= BUCKETS, "{capacity}");
            let last = capacity.saturating_sub(1) as u64;
            assert_eq!(split.bucket(last) * split.bucket_length() + split.rest(last) as usize, last as usize);
        }
        assert_eq!(Split::of((1 << 38) + 1), None);
    }

    #[test]
    fn a_region_has_room_for_any_mixture_of_buckets() {
        for lanes in [0usize, 1, 2, 63, 64, 1023, 1024, 1025, 5000, 100_000, 1 << 21] {
            let chunking = Chunking::of(lanes);
            // A quarter more than the lanes, once there are enough of them for the chunks to have a size.
            assert!(lanes < BUCKETS * CHUNKS || chunking.entries() <= lanes + lanes / 4, "{lanes}: {chunking:?}");
            let mixtures: [fn(usize) -> usize; 4] = [|_| 0, |_| BUCKETS - 1, |i| i % BUCKETS, |i| i * i / 7 % BUCKETS];
            for mixture in mixtures {
                let mut buckets = Buckets::new(chunking);
                let mut region = vec![usize::MAX; chunking.entries()];
                buckets.fill(&mut region, (0..lanes).map(|lane| (mixture(lane), lane)));
                for bucket in 0..BUCKETS {
                    let found = buckets.pieces(bucket).flatten().map(|place| region[place]);
                    assert!(found.eq((0..lanes).filter(|lane| mixture(*lane) == bucket)), "{lanes} {bucket}");
                }
            }
        }
    }
}
