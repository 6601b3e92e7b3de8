//! Buckets that grow by chunks.
//!
//! A region is cut into chunks of equal length. Each bucket has one, and gets the next free one whenever another entry comes and its
//! own is full: nobody has to know beforehand how long a bucket becomes. Whoever goes through the same entries in the same order a
//! second time comes to the same chunks in the same order, and so needs no list of them.

use core::ops::Range;
use core::slice::IterMut;

use super::simd::{self, LINE};

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
const CHUNKS: usize = 8;

/// Entries of the smallest chunk.
const SMALLEST_CHUNK: usize = 256;

/// Entries of the largest chunk.
const LARGEST_CHUNK: usize = 4096;

/// Lanes that are copied by code written out one after the other. A machine that remembers which loads had to wait for which
/// stores takes a loop's one load of a bucket's end for one that always has to: that doubles the time of a partition.
pub(super) const WRITTEN_OUT: usize = 8;

/// Chunks that buckets get between asking for the first lines of one and filling it: nobody else has them in a cache.
const SOON: usize = 2;

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
    /// A bucket of `n` lanes that starts at entry `s` of its first chunk takes at most `(n + s) / chunk + 1` chunks, and the starts of
    /// all buckets add up to less than half of theirs.
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

    /// From which entry on the first chunk of a bucket is used. Streams that start at the same place of their chunks would compete
    /// for the same sets of the cache.
    fn start(self, bucket: usize) -> usize {
        self.chunk * bucket / self.buckets
    }
}

/// A walk through the buckets of a region, an entry of one of them at a time.
pub(super) struct Walk<'a, E> {
    chunking: Chunking,
    /// What is left of each bucket's chunk. One comparison tells that a chunk has ended and that an entry is within it.
    left: [IterMut<'a, E>; MOST_BUCKETS],
    /// The chunks that no bucket has got yet.
    free: &'a mut [E],
    /// Which bucket got each chunk.
    owners: Vec<u8>,
}

impl<'a, E: Copy> Walk<'a, E> {
    /// The walk at its beginning.
    ///
    /// # Panics
    /// If the region is too short.
    pub(super) fn new(chunking: Chunking, region: &'a mut [E]) -> Self {
        let Chunking { chunk, count, buckets } = chunking;
        let (first, free) = region[..count * chunk].split_at_mut(buckets * chunk);
        let mut left: [IterMut<'_, E>; MOST_BUCKETS] = core::array::from_fn(|_| IterMut::default());
        for (bucket, (left, chunk)) in left.iter_mut().zip(first.chunks_mut(chunk)).enumerate() {
            *left = chunk[chunking.start(bucket)..].iter_mut();
        }
        let mut owners = Vec::with_capacity(count);
        owners.extend((0..buckets).map(|bucket| bucket as u8));
        Self { chunking, left, free, owners }
    }

    /// Puts so many entries to the ends of their buckets, in order. `entry` gives the k-th with its bucket.
    ///
    /// # Panics
    /// If there are more than the region has room for.
    #[inline(always)]
    pub(super) fn fill(&mut self, count: usize, entry: impl Fn(usize) -> (usize, E)) {
        let body = count / WRITTEN_OUT * WRITTEN_OUT;
        for k in (0..body).step_by(WRITTEN_OUT) {
            for i in 0..WRITTEN_OUT {
                self.put(entry(k + i));
            }
        }
        (body..count).for_each(|k| self.put(entry(k)));
    }

    /// Puts an entry to the end of its bucket.
    #[inline(always)]
    fn put(&mut self, (bucket, entry): (usize, E)) {
        let left = &mut self.left[bucket % MOST_BUCKETS];
        // The prefetchers of the machine follow fewer streams than there are buckets.
        simd::prefetch(left.as_slice(), LINE / size_of::<E>());
        match left.next() {
            Some(place) => *place = entry,
            None => self.put_in_next(bucket, entry),
        }
    }

    /// The next entry of a bucket that has one; entries are taken in the order in which they were put.
    ///
    /// # Panics
    /// If more are taken than the region has room for.
    #[inline(always)]
    pub(super) fn take(&mut self, bucket: usize) -> E {
        let left = &mut self.left[bucket % MOST_BUCKETS];
        simd::prefetch(left.as_slice(), LINE / size_of::<E>());
        match left.next() {
            Some(entry) => *entry,
            None => *self.next_chunk(bucket),
        }
    }

    // Mostly there is room in a chunk. What an entry is made of need not be kept beyond this call.
    #[cold]
    #[inline(never)]
    fn put_in_next(&mut self, bucket: usize, entry: E) {
        *self.next_chunk(bucket) = entry;
    }

    /// The first place of a bucket's next chunk.
    #[cold]
    #[inline(never)]
    fn next_chunk(&mut self, bucket: usize) -> &'a mut E {
        let (chunk, free) = core::mem::take(&mut self.free).split_at_mut(self.chunking.chunk);
        // Nobody has the first lines of a chunk in a cache that comes soon.
        simd::prefetch_run(free, SOON * self.chunking.chunk, 2 * LINE / size_of::<E>());
        self.free = free;
        self.owners.push(bucket as u8);
        let (first, rest) = chunk.split_first_mut().expect("a chunk has entries");
        self.left[bucket % MOST_BUCKETS] = rest.iter_mut();
        first
    }

    /// Where everything is, now that nothing more comes. Whoever filled the region has it at hand; another thread would look for one
    /// chunk after the other in a far cache.
    pub(super) fn finish(self) -> Buckets {
        let Self { chunking, left, owners, .. } = self;
        let mut ends = vec![0; chunking.buckets];
        owners.iter().for_each(|&owner| ends[usize::from(owner)] += 1);
        let mut sum = 0;
        for end in &mut ends {
            (*end, sum) = (sum, sum + *end);
        }
        let mut pieces = vec![0..0; owners.len()];
        for (chunk, &owner) in owners.iter().enumerate() {
            let start = if chunk < chunking.buckets { chunking.start(chunk) } else { 0 };
            let end = &mut ends[usize::from(owner)];
            pieces[*end] = chunk * chunking.chunk + start..(chunk + 1) * chunking.chunk;
            *end += 1;
        }
        for (&end, left) in ends.iter().zip(&left) {
            pieces[end - 1].end -= left.len();
        }
        Buckets { pieces, ends }
    }
}

/// Where the buckets of a region lie in it.
pub(crate) struct Buckets {
    /// Those of one bucket after those of another.
    pieces: Vec<Range<usize>>,
    /// Where the pieces of each bucket end.
    ends: Vec<usize>,
}

impl Buckets {
    /// The pieces of a bucket, in order.
    pub(crate) fn pieces(&self, bucket: usize) -> &[Range<usize>] {
        let start = bucket.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.pieces[start..self.ends[bucket]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// Fills a region and finds all in order: by pieces, and by a second walk.
    fn fill_and_find(chunking: Chunking, lanes: usize, bucket_of: impl Fn(usize) -> usize) {
        let mut region = vec![usize::MAX; chunking.entries()];
        let mut walk = Walk::new(chunking, &mut region);
        walk.fill(lanes, |lane| (bucket_of(lane), lane));
        let buckets = walk.finish();
        let mut expected = vec![Vec::new(); chunking.buckets()];
        (0..lanes).for_each(|lane| expected[bucket_of(lane)].push(lane));
        for (bucket, expected) in expected.iter().enumerate() {
            let found = buckets.pieces(bucket).iter().cloned().flatten().map(|place| region[place]);
            assert!(found.eq(expected.iter().copied()), "{lanes} {bucket}");
        }
        let mut walk = Walk::new(chunking, &mut region);
        assert!((0..lanes).all(|lane| walk.take(bucket_of(lane)) == lane), "{lanes}");
    }
}
