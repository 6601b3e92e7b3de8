//! A stable partition of a scatter by destination.
//!
//! Each thread takes a part of the source, counts how many of its lanes fall into each bucket (an equal part of the
//! table), and copies offset and value of each lane to the bucket's place in a region of its own. Afterwards each
//! bucket is applied by one thread, the regions in the order of the source: a slot sees its writers in source order
//! whatever the number of threads, and the part of the table in use stays in cache.

use core::ops::Range;

use bytemuck::{Pod, Zeroable};

use super::elements::{Lookup, Moved, Run};
use super::lanes::Strided;
use super::offsets::{AnyOffsets, Offsets, Word};
use super::simd::{self, Backend};

/// The number of buckets. With twice as many write streams a partition takes nearly twice as long, while applying one
/// gets hardly faster: the step is that from 64 to 128 streams (`docs/performance.md`).
pub(crate) const BUCKETS: usize = 64;

/// Entries left free after each bucket, so that equally long buckets do not compete for the same sets of the cache:
/// nine cache lines of the commonest entry, or an eighth of a small region in all.
fn gap(lanes: usize) -> usize {
    72.min(lanes / 8 / BUCKETS)
}

/// Entries that the region of this many lanes has.
pub(crate) fn region_length(lanes: usize) -> usize {
    lanes + BUCKETS * gap(lanes)
}

/// One lane: where in its bucket it goes, and its value.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, packed)]
pub(crate) struct Entry<const N: usize> {
    pub(super) offset: [u8; 4],
    pub(super) value: [u8; N],
}

/// Bytes of an entry whose value has `size` bytes.
pub(crate) fn entry_bytes(size: usize) -> usize {
    4 + size
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
    fn bucket(self, offset: u64) -> usize {
        (offset >> self.shift) as usize % BUCKETS
    }

    #[inline(always)]
    fn rest(self, offset: u64) -> u32 {
        (offset & ((1 << self.shift) - 1)) as u32
    }
}

/// Where the buckets of a region lie in it.
pub(crate) type Buckets = [Range<usize>; BUCKETS];

/// A part of a scatter that is to be partitioned.
#[derive(Clone, Copy)]
pub(crate) struct Partition<'a> {
    pub(crate) lookup: Lookup<'a>,
    pub(crate) run: Run,
    pub(crate) split: Split,
}

impl Partition<'_> {
    /// Writes the lanes and the values of `tile`, of `size` bytes each, to a region of [`region_length`] entries; also
    /// returns how many lanes were out of range.
    pub(crate) fn write(&self, backend: Backend, size: usize, tile: &[u8], region: &mut [u8]) -> (Buckets, usize) {
        match size {
            1 => self.write_as::<1>(backend, tile, region),
            2 => self.write_as::<2>(backend, tile, region),
            4 => self.write_as::<4>(backend, tile, region),
            _ => self.write_as::<8>(backend, tile, region),
        }
    }

    fn write_as<const N: usize>(&self, backend: Backend, tile: &[u8], region: &mut [u8]) -> (Buckets, usize) {
        let Self { lookup, run, split } = *self;
        let (tile, region) = (tile.as_chunks::<N>().0, bytemuck::cast_slice_mut::<_, Entry<N>>(region));
        let mut start = 0;
        let starts = self.count(backend).map(|count| {
            let bucket = start;
            start += count + gap(run.length);
            bucket
        });
        let mut ends = starts;
        let outside = lookup.for_each_block(backend, run, &mut |moved| match moved.offsets {
            AnyOffsets::Narrow(offsets) => write_block(split, tile, moved, offsets, &mut ends, region),
            AnyOffsets::Wide(offsets) => write_block(split, tile, moved, offsets, &mut ends, region),
        });
        let mut buckets = starts.map(|start| start..start);
        buckets.iter_mut().zip(ends).for_each(|(bucket, end)| bucket.end = end);
        (buckets, outside)
    }

    /// How many lanes fall into each bucket.
    fn count(&self, backend: Backend) -> [usize; BUCKETS] {
        let mut counts = Counts { side: [[0; BUCKETS]; 4], rest: [0; BUCKETS] };
        self.lookup.for_each_block(backend, self.run, &mut |moved| match moved.offsets {
            AnyOffsets::Narrow(offsets) => counts.add(self.split, offsets.words()),
            AnyOffsets::Wide(offsets) => counts.add(self.split, offsets.words()),
        });
        let mut totals = counts.rest;
        for counts in counts.side {
            totals.iter_mut().zip(counts).for_each(|(total, count)| *total += count as usize);
        }
        totals
    }
}

/// Neighbouring lanes count side by side: one that follows another into its bucket need not wait for it.
struct Counts {
    side: [[u32; BUCKETS]; 4],
    rest: [usize; BUCKETS],
}

impl Counts {
    fn add<W: Word>(&mut self, split: Split, words: &[W]) {
        let (chunks, rest) = words.as_chunks::<4>();
        for chunk in chunks {
            for (counts, word) in self.side.iter_mut().zip(chunk) {
                counts[split.bucket(word.get())] += 1;
            }
        }
        for word in rest {
            self.rest[split.bucket(word.get())] += 1;
        }
    }
}

fn write_block<const N: usize, W: Word>(
    split: Split,
    tile: &[[u8; N]],
    moved: Moved<'_>,
    offsets: Offsets<'_, W>,
    ends: &mut [usize; BUCKETS],
    region: &mut [Entry<N>],
) {
    let Strided { start, step } = moved.payload;
    let mut put = |offset: u64, value: [u8; N]| {
        let end = &mut ends[split.bucket(offset)];
        region[*end] = Entry { offset: split.rest(offset).to_le_bytes(), value };
        // The prefetchers of the machine follow fewer streams than there are buckets.
        simd::prefetch(region, *end + 64 / size_of::<Entry<N>>());
        *end += 1;
    };
    let words = offsets.words();
    match moved.positions {
        None if step == 1 => {
            words.iter().zip(&tile[start..][..words.len()]).for_each(|(word, value)| put(word.get(), *value));
        }
        None => words.iter().enumerate().for_each(|(k, word)| put(word.get(), tile[start + k * step])),
        Some(positions) => {
            words.iter().zip(positions).for_each(|(word, &k)| put(word.get(), tile[start + k as usize * step]));
        }
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
}
