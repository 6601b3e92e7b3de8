//! Cutting a table into parts that get about the same number of lanes each.

use super::cost::Skew;
use crate::kernel::bounds::{Bounds, Part};
use crate::kernel::elements::{Lookup, Run};
use crate::kernel::lanes::Strided;
use crate::kernel::simd::Backend;
use crate::kernel::{AnyOffsets, Word};

/// Lanes that are looked at.
const SAMPLES: usize = 512;

/// Where a sample of the lanes goes, sorted.
pub(crate) struct Sample(Vec<u64>);

impl Sample {
    /// Looks at lanes at equal distances. Those that are out of range without a policy for it do not matter here.
    pub(crate) fn draw(backend: Backend, mut lookup: Lookup<'_>, run: Run) -> Self {
        if lookup.resolver.bounds == Bounds::Checked {
            lookup.resolver.bounds = Bounds::Drop;
        }
        let count = SAMPLES.min(run.length);
        let mut drawn = Vec::with_capacity(count);
        let step = run.length / count.max(1);
        let idx = Strided { start: run.idx.start, step: run.idx.step * step };
        lookup.for_each_block(backend, Run { idx, length: count, ..run }, &mut |moved| match moved.offsets {
            AnyOffsets::Narrow(offsets) => drawn.extend(offsets.words().iter().map(|word| word.get())),
            AnyOffsets::Wide(offsets) => drawn.extend(offsets.words().iter().map(|word| word.get())),
        });
        drawn.sort_unstable();
        Self(drawn)
    }

    /// What the cost rule wants to know, for buckets of `length` slots.
    pub(crate) fn skew(&self, length: usize) -> Skew {
        Skew {
            sampled: self.0.len(),
            crowd: self.crowd(length),
            repeats: self.repeats(),
            // Buckets of one slot.
            hottest: self.crowd(1),
        }
    }

    /// How many lanes the fullest of the table's buckets of `length` slots gets.
    fn crowd(&self, length: usize) -> usize {
        self.0.chunk_by(|a, b| a / length as u64 == b / length as u64).map(<[u64]>::len).max().unwrap_or(0)
    }

    /// How many lanes of the sample go where another one does.
    fn repeats(&self) -> usize {
        self.0.len() - self.0.chunk_by(|a, b| a == b).count()
    }

    /// Cuts `0..capacity` so that each part gets about as many lanes of the sample.
    pub(crate) fn parts(&self, capacity: u64, parts: usize) -> Vec<Part> {
        let cut = |i: usize| match i {
            0 => 0,
            _ if i == parts => capacity,
            _ => self.0.get(self.0.len() * i / parts).copied().unwrap_or(0),
        };
        (0..parts).map(|i| Part { base: cut(i), length: cut(i + 1) - cut(i) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_follow_the_lanes_and_cover_the_table() {
        let skewed = Sample((0..100).map(|i| i / 10).chain(100..110).collect());
        let parts = skewed.parts(1_000, 4);
        assert_eq!(parts.iter().map(|p| p.length).sum::<u64>(), 1_000);
        assert!(parts.windows(2).all(|w| w[0].base + w[0].length == w[1].base));
        assert_eq!(parts[0], Part { base: 0, length: 2 });
        let one_slot = Sample(vec![5; 100]).parts(10, 3);
        assert_eq!(one_slot.iter().map(|p| p.length).sum::<u64>(), 10);
        let nothing = Sample(Vec::new()).parts(10, 3);
        assert_eq!(nothing.last(), Some(&Part { base: 0, length: 10 }));
    }

    #[test]
    fn the_fullest_bucket_is_counted() {
        assert_eq!(Sample(vec![0, 1, 2, 7, 8, 8, 9]).crowd(4), 3);
        assert_eq!(Sample(vec![]).crowd(4), 0);
        assert_eq!((Sample(vec![1, 1, 2, 3, 3, 3]).repeats(), Sample(vec![]).repeats()), (3, 0));
    }
}
