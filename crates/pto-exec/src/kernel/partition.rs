//! A stable partition of a scatter by destination.
//!
//! The source is cut into parts. Of each, a thread copies offset and value of every lane to the lane's bucket, an
//! equal part of the table. Buckets grow by chunks of a region of the part's own, so that nobody has to count lanes
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

/// The number of buckets at the most.
pub(crate) const MOST_BUCKETS: usize = 128;

/// The number of buckets at the least; all numbers are powers of two.
pub(crate) const LEAST_BUCKETS: usize = 64;

/// Lanes of each thread in a bucket of average length from which on a partition pays; with much fewer, its chunks would take
/// more than twice the memory of the lanes.
pub(crate) const BUCKET_LANES: usize = 1 << 10;

/// Lanes in a bucket of average length from which on a region takes a quarter more than its lanes at the most.
pub(crate) const ROOMY_LANES: usize = CHUNKS * 2 * SMALLEST_CHUNK;

/// Chunks that a bucket of average length has at least, so that the unfilled ones do not matter.
const CHUNKS: usize = 16;

/// Entries of the smallest chunk: room for several looks.
const SMALLEST_CHUNK: usize = 4 * LOOK;

/// Entries of the largest chunk.
const LARGEST_CHUNK: usize = 4096;

/// Lanes that are looked at and then copied: so few that the machine's prefetchers see one steady stream.
pub(super) const LOOK: usize = 64;

/// Lanes that are copied by code written out one after the other. A machine that remembers which loads had to wait for which
/// stores takes a loop's one load of a bucket's end for one that always has to: that doubles the time of a partition.
pub(super) const WRITTEN_OUT: usize = 8;

/// Chunks that buckets get between asking for the first lines of one and filling it: nobody else has them in a cache.
const SOON: usize = 2;

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

/// How the region of a part of the source is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunking {
    /// Entries of a chunk: a power of two.
    chunk: usize,
    /// How many chunks there are.
    count: usize,
    /// How many buckets there are.
    buckets: usize,
}

impl Chunking {
    /// Enough for this many lanes, whatever their buckets.
    ///
    /// A bucket of `n` lanes that starts at entry `s` of its first chunk takes `(n + s) / chunk + 1` chunks, and the starts of all
    /// buckets add up to less than half of theirs.
    ///
    /// # Panics
    /// If the number of buckets is not one of those that there may be.
    pub(crate) fn of(lanes: usize, buckets: usize) -> Self {
        assert!(buckets.is_power_of_two() && (LEAST_BUCKETS..=MOST_BUCKETS).contains(&buckets));
        let chunk = (lanes / (buckets * CHUNKS)).clamp(SMALLEST_CHUNK, LARGEST_CHUNK);
        let chunk = 1 << chunk.ilog2();
        Self { chunk, count: lanes / chunk + 1 + buckets + buckets / 2, buckets }
    }

    /// Entries of a chunk.
    pub(crate) fn chunk(self) -> usize {
        self.chunk
    }

    /// Entries of the region.
    pub(crate) fn entries(self) -> usize {
        self.chunk * self.count
    }

    /// How many buckets there are.
    pub(crate) fn buckets(self) -> usize {
        self.buckets
    }

    /// Where the first chunk of a bucket begins to be used. Streams that start at the same place of their chunks would compete
    /// for the same sets of the cache.
    fn start(self, bucket: usize) -> usize {
        bucket * self.chunk + self.chunk * bucket / self.buckets
    }

    /// Where the first chunk of each bucket begins to be used.
    fn starts(self) -> Places {
        let start = |bucket| if bucket < self.buckets { self.start(bucket) as u32 } else { 0 };
        Places { at: core::array::from_fn(start) }
    }
}

/// How offsets fall into buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split {
    shift: u32,
}

impl Split {
    /// The split of a table into at most so many parts, a power of two; `None` if a part exceeds 2^32 elements.
    pub(crate) fn of(capacity: usize, buckets: usize) -> Option<Self> {
        let bits = usize::BITS - capacity.saturating_sub(1).leading_zeros();
        let shift = bits.saturating_sub(buckets.ilog2());
        (shift <= 32).then_some(Self { shift })
    }

    /// Elements of the table in a bucket.
    pub(crate) fn bucket_length(self) -> usize {
        1 << self.shift
    }

    #[inline(always)]
    pub(super) fn bucket(self, offset: u64) -> usize {
        (offset >> self.shift) as usize % MOST_BUCKETS
    }

    #[inline(always)]
    pub(super) fn rest(self, offset: u64) -> u32 {
        (offset & ((1 << self.shift) - 1)) as u32
    }
}

/// A place in each bucket.
pub(super) struct Places {
    at: [u32; MOST_BUCKETS],
}

impl Places {
    /// Visits the place in a bucket, which then moves on by one; from the last of a chunk, of so many entries, to where `next`
    /// says; both are given the region. The visit comes first: what it needs would have to be kept beyond the call.
    #[inline(always)]
    fn visit<R>(
        &mut self,
        region: &mut R,
        chunk: u32,
        bucket: usize,
        visit: impl FnOnce(&mut R, usize),
        next: impl FnOnce(&mut R, u32) -> u32,
    ) {
        let at = &mut self.at[bucket % MOST_BUCKETS];
        let place = *at;
        *at = place + 1;
        visit(region, place as usize);
        if (place + 1) & (chunk - 1) == 0 {
            *at = next(region, place);
        }
    }
}

/// The chunks of a region in the order in which buckets got them.
struct Chunks {
    /// Entries of a chunk.
    chunk: usize,
    /// The first place of the chunk that follows each, once that one is full.
    next: Vec<u32>,
    /// The first chunk that no bucket has.
    free: usize,
}

impl Chunks {
    /// The first place of a new chunk after that of a place. Mostly there is room in a chunk.
    #[cold]
    #[inline(never)]
    fn add<E>(&mut self, region: &[E], place: u32) -> u32 {
        let next = (self.free * self.chunk) as u32;
        self.free += 1;
        self.ask(region, self.free);
        self.next[place as usize / self.chunk] = next;
        next
    }

    /// The first place of the chunk after that of a place. Whoever follows the entries in their order comes to chunks in the order in
    /// which buckets got them.
    #[cold]
    #[inline(never)]
    fn after<E>(&self, region: &[E], place: u32) -> u32 {
        let next = self.next[place as usize / self.chunk];
        self.ask(region, next as usize / self.chunk + 1);
        next
    }

    /// Asks for the first lines of a chunk that comes soon after this one.
    fn ask<E>(&self, region: &[E], chunk: usize) {
        simd::prefetch_run(region, (chunk + SOON) * self.chunk, 2 * LINE / size_of::<E>());
    }
}

/// Where the buckets of a region lie in it.
pub(crate) struct Buckets {
    chunking: Chunking,
    /// Where the next entry of each bucket goes.
    ends: Places,
    chunks: Chunks,
}

impl Buckets {
    pub(super) fn new(chunking: Chunking) -> Self {
        let next = vec![0; chunking.count];
        let chunks = Chunks { chunk: chunking.chunk, next, free: chunking.buckets };
        Self { chunking, ends: chunking.starts(), chunks }
    }

    /// Puts entries to the ends of their buckets, in order. `entry` gives the k-th with its bucket.
    ///
    /// # Panics
    /// If there are more than the region has room for.
    #[inline(always)]
    pub(super) fn fill<E>(&mut self, region: &mut [E], count: usize, entry: impl Fn(usize) -> (usize, E)) {
        let body = count / WRITTEN_OUT * WRITTEN_OUT;
        for k in (0..body).step_by(WRITTEN_OUT) {
            for i in 0..WRITTEN_OUT {
                self.put(region, entry(k + i));
            }
        }
        (body..count).for_each(|k| self.put(region, entry(k)));
    }

    /// Puts an entry to the end of its bucket.
    #[inline(always)]
    fn put<E>(&mut self, mut region: &mut [E], (bucket, entry): (usize, E)) {
        let put = |region: &mut &mut [E], place: usize| {
            region[place] = entry;
            // The prefetchers of the machine follow fewer streams than there are buckets.
            simd::prefetch(region, place + LINE / size_of::<E>());
        };
        let add = |region: &mut &mut [E], place| self.chunks.add(region, place);
        self.ends.visit(&mut region, self.chunking.chunk as u32, bucket, put, add);
    }

    /// The places of the first entries of all buckets.
    pub(super) fn starts(&self) -> Places {
        self.chunking.starts()
    }

    /// Visits the next entry of a bucket that has one; entries are followed in the order in which they were put.
    #[inline(always)]
    pub(super) fn follow<E>(&self, mut region: &[E], places: &mut Places, bucket: usize, visit: impl FnOnce(&E)) {
        let visit = |region: &mut &[E], place: usize| {
            visit(&region[place]);
            simd::prefetch(region, place + LINE / size_of::<E>());
        };
        let after = |region: &mut &[E], place| self.chunks.after(region, place);
        places.visit(&mut region, self.chunking.chunk as u32, bucket, visit, after);
    }

    /// The pieces of a bucket, in order.
    pub(crate) fn pieces(&self, bucket: usize) -> impl Iterator<Item = Range<usize>> + '_ {
        let (chunk, end) = (self.chunking.chunk, self.ends.at[bucket] as usize);
        let mut at = Some(self.chunking.start(bucket));
        core::iter::from_fn(move || {
            let start = at?;
            let current = start / chunk;
            if current == end / chunk {
                at = None;
                return Some(start..end);
            }
            at = Some(self.chunks.next[current] as usize);
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
    /// At most [`LOOK`] lanes, of which the k-th has this offset and value.
    #[inline(always)]
    fn lanes(&mut self, count: usize, lane: impl Fn(usize) -> (u64, [u8; N])) {
        let split = self.split;
        if N == 4 {
            // One store instead of two.
            let region = bytemuck::cast_slice_mut::<_, [u8; 8]>(self.region);
            let entry = |rest: u32, value: &[u8; N]| {
                let value = bytemuck::pod_read_unaligned::<[u8; 4]>(value);
                (u64::from(rest) | u64::from(u32::from_le_bytes(value)) << 32).to_le_bytes()
            };
            self.buckets.fill(region, count, |k| {
                let (offset, value) = lane(k);
                (split.bucket(offset), entry(split.rest(offset), &value))
            });
        } else {
            self.buckets.fill(self.region, count, |k| {
                let (offset, value) = lane(k);
                (split.bucket(offset), Entry { offset: split.rest(offset).to_le_bytes(), value })
            });
        }
    }

    fn block<W: Word>(&mut self, tile: &[[u8; N]], moved: Moved<'_>, offsets: Offsets<'_, W>) {
        let Strided { start, step } = moved.payload;
        for (i, words) in offsets.words().chunks(LOOK).enumerate() {
            let first = i * LOOK;
            match moved.positions {
                None => self.lanes(words.len(), |k| (words[k].get(), tile[start + (first + k) * step])),
                Some(positions) => {
                    let positions = &positions[first..][..words.len()];
                    self.lanes(words.len(), |k| (words[k].get(), tile[start + positions[k] as usize * step]));
                }
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
    fn run<S: Simd>(self, _: S) -> usize {
        let Self { words: all, values: all_values, capacity, copy } = self;
        let mut outside = 0;
        for (i, (words, values)) in all.chunks(LOOK).zip(all_values.chunks(LOOK)).enumerate() {
            ask_ahead(all, i * LOOK);
            ask_ahead(all_values, i * LOOK);
            if Word::largest(words) >= capacity {
                outside += count_outside(words, capacity);
                continue;
            }
            match (words.as_array::<LOOK>(), values.as_array::<LOOK>()) {
                (Some(words), Some(values)) => copy.lanes(LOOK, |k| (words[k].get(), values[k])),
                _ => copy.lanes(words.len(), |k| (words[k].get(), values[k])),
            }
        }
        outside
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_covers_every_capacity_with_at_most_so_many_parts() {
        for buckets in [LEAST_BUCKETS, MOST_BUCKETS] {
            for capacity in [0usize, 1, 2, 63, 64, 65, 127, 128, 129, 1_000_003, 1 << 24, (1 << 24) + 1, 1 << 38] {
                let split = Split::of(capacity, buckets).expect("small enough");
                assert!(capacity.div_ceil(split.bucket_length()) <= buckets, "{capacity}");
                let last = capacity.saturating_sub(1) as u64;
                assert_eq!(split.bucket(last) * split.bucket_length() + split.rest(last) as usize, last as usize);
            }
        }
        assert_eq!((Split::of((1 << 38) + 1, 64), Split::of((1 << 39) + 1, 128)), (None, None));
    }

    #[test]
    fn a_region_has_room_for_any_mixture_of_buckets() {
        for lanes in [0usize, 1, 2, 63, 64, 1023, 1024, 1025, 5000, 1 << 16, 100_000, 1 << 17, 1 << 21] {
            for most in [LEAST_BUCKETS, MOST_BUCKETS] {
                let chunking = Chunking::of(lanes, most);
                // A quarter more than the lanes, once there are enough of them for the chunks to have a size.
                assert!(lanes / most < ROOMY_LANES || chunking.entries() <= lanes + lanes / 4, "{lanes}: {chunking:?}");
                // Twice as many at the most where a partition begins to pay.
                assert!(lanes < most * BUCKET_LANES || chunking.entries() <= 2 * lanes, "{lanes}: {chunking:?}");
                let mixtures: [fn(usize, usize) -> usize; 4] =
                    [|_, _| 0, |_, most| most - 1, |i, most| i % most, |i, most| i * i / 7 % most];
                for mixture in mixtures {
                    fill_and_find(chunking, lanes, |lane| mixture(lane, most));
                }
            }
        }
    }

    /// Each bucket has filled its first chunk and begun another.
    #[test]
    fn a_region_has_room_for_as_many_chunks_as_there_can_be() {
        for most in [LEAST_BUCKETS, MOST_BUCKETS] {
            let length = |bucket| SMALLEST_CHUNK - SMALLEST_CHUNK * bucket / most + 1;
            let of: Vec<usize> = (0..most).flat_map(|bucket| core::iter::repeat_n(bucket, length(bucket))).collect();
            let chunking = Chunking::of(of.len(), most);
            assert_eq!(chunking.chunk, SMALLEST_CHUNK);
            fill_and_find(chunking, of.len(), |lane| of[lane]);
        }
    }

    /// Fills a region, by looks, and finds all in order: by pieces, and by following a place in each bucket.
    fn fill_and_find(chunking: Chunking, lanes: usize, bucket_of: impl Fn(usize) -> usize) {
        let mut buckets = Buckets::new(chunking);
        let mut region = vec![usize::MAX; chunking.entries()];
        for first in (0..lanes).step_by(LOOK) {
            buckets.fill(&mut region, LOOK.min(lanes - first), |k| (bucket_of(first + k), first + k));
        }
        let mut expected = vec![Vec::new(); chunking.buckets()];
        (0..lanes).for_each(|lane| expected[bucket_of(lane)].push(lane));
        for (bucket, expected) in expected.iter().enumerate() {
            let found = buckets.pieces(bucket).flatten().map(|place| region[place]);
            assert!(found.eq(expected.iter().copied()), "{lanes} {bucket}");
        }
        let mut places = buckets.starts();
        for lane in 0..lanes {
            buckets.follow(&region, &mut places, bucket_of(lane), |found| assert_eq!(*found, lane));
        }
    }
}
