//! A stable partition of a scatter by destination.
//!
//! The source is cut into parts. Of each, a thread copies offset and value of every lane to the lane's bucket, an
//! equal part of the table. Buckets grow by chunks of a region of the part's own, so that nobody has to count lanes
//! beforehand: one look at each lane does for its range, its bucket and its copy. Afterwards each bucket is applied by
//! one thread, the regions in the order of the source: a slot sees its writers in source order whatever the number of
//! threads, and the part of the table in use stays in cache.

use bytemuck::{Pod, Zeroable};

use super::bounds::{Bounds, count_outside};
use super::buckets::{Buckets, Chunking, MOST_BUCKETS, Walk};
use super::elements::{Lookup, Moved, Run};
use super::lanes::Strided;
use super::offsets::{AnyOffsets, Offsets, Word};
use super::simd::{self, Backend, Simd, Task};

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
    fn new(offset: u32, value: [u8; N]) -> Self {
        if N == 4 {
            // One store instead of two.
            let value = u32::from_le_bytes(bytemuck::pod_read_unaligned(&value));
            bytemuck::pod_read_unaligned(&(u64::from(offset) | u64::from(value) << 32).to_le_bytes())
        } else {
            Self { offset: offset.to_le_bytes(), value }
        }
    }

    #[inline(always)]
    pub(super) fn slot(&self) -> usize {
        u32::from_le_bytes(self.offset) as usize
    }
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
        let mut copy = Copy { split, walk: Walk::new(chunking, region) };
        let words = if lookup.is_narrow() { lookup.whole::<[u8; 4]>(run) } else { None };
        if let Some(words) = words.filter(|_| run.payload.step == 1) {
            let values = &tile[run.payload.start..][..words.len()];
            let capacity = lookup.resolver.capacity;
            let outside = backend.run(CopyWhole { words, values, capacity, copy: &mut copy });
            return (copy.walk.finish(), outside);
        }
        if lookup.resolver.bounds == Bounds::Checked {
            lookup.resolver.bounds = Bounds::Drop;
        }
        let outside = lookup.for_each_block(backend, run, &mut |moved| match moved.offsets {
            AnyOffsets::Narrow(offsets) => copy.block(tile, moved, offsets),
            AnyOffsets::Wide(offsets) => copy.block(tile, moved, offsets),
        });
        (copy.walk.finish(), outside)
    }
}

/// Copies lanes to their buckets.
struct Copy<'a, const N: usize> {
    split: Split,
    walk: Walk<'a, Entry<N>>,
}

impl<const N: usize> Copy<'_, N> {
    /// So many lanes, of which the k-th has this offset and value.
    #[inline(always)]
    fn lanes(&mut self, count: usize, lane: impl Fn(usize) -> (u64, [u8; N])) {
        let split = self.split;
        self.walk.fill(count, |k| {
            let (offset, value) = lane(k);
            (split.bucket(offset), Entry::new(split.rest(offset), value))
        });
    }

    /// Lanes that are their own offsets, or none of them if one is out of range; returns how many are.
    #[inline(always)]
    fn look(&mut self, words: &[[u8; 4]], values: &[[u8; N]], capacity: u64) -> usize {
        if Word::largest(words) >= capacity {
            return count_outside(words, capacity);
        }
        self.lanes(words.len(), |k| (words[k].get(), values[k]));
        0
    }

    fn block<W: Word>(&mut self, tile: &[[u8; N]], moved: Moved<'_>, offsets: Offsets<'_, W>) {
        let Strided { start, step } = moved.payload;
        let words = offsets.words();
        match moved.positions {
            None => self.lanes(words.len(), |k| (words[k].get(), tile[start + k * step])),
            Some(positions) => {
                let positions = &positions[..words.len()];
                self.lanes(words.len(), |k| (words[k].get(), tile[start + positions[k] as usize * step]));
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
        let Self { words, values, capacity, copy } = self;
        let mut outside = 0;
        let (looks, rest) = words.as_chunks::<LOOK>();
        let (look_values, rest_values) = values.as_chunks::<LOOK>();
        for (i, (look, look_values)) in looks.iter().zip(look_values).enumerate() {
            ask_ahead(words, i * LOOK);
            ask_ahead(values, i * LOOK);
            outside += copy.look(look, look_values, capacity);
        }
        outside + copy.look(rest, rest_values, capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::super::buckets::LEAST_BUCKETS;
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
}
