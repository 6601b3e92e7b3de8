//! Whether slots come from memory: some are loaded, and the time is taken.
//!
//! What lanes touched a moment ago is in the last level, and asking for it takes longer than loading it; what they did not is in
//! memory, and asking for it halves the time. Nothing but a clock tells the two apart.

use core::hint::black_box;
use std::time::{Duration, Instant};

use crate::kernel::cache::Caches;
use crate::kernel::offsets::{AnyOffsets, Offsets, Word};
use crate::kernel::simd;

/// Lanes from which on it is worth 30 to 40 ns to try some.
pub(super) const TRIED_LANES: usize = 1 << 11;

/// Lanes that are tried.
const TRIED: usize = 8;

/// How long so many loads take, side by side, if some slots come from memory: 150 to 400 ns if all of them do, and 20 to 100 from the
/// last level.
pub(super) const SOME_AFAR: Duration = Duration::from_nanos(125);

/// As [`SOME_AFAR`] for most slots.
pub(super) const MOST_AFAR: Duration = Duration::from_nanos(165);

/// How long it takes to load the slots of some of the words, of so many bytes each. Words beyond the table stand for others.
#[cold]
#[inline(never)]
pub(super) fn time_loads<W: Word>((table, size): (&[u8], usize), words: &[W]) -> Duration {
    let length = (table.len() / size.max(1)).max(1);
    let tried = words.chunks(words.len().div_ceil(TRIED).max(1)).map(|words| words[words.len() / 2].get());
    let mut places = [0; TRIED];
    places.iter_mut().zip(tried).for_each(|(place, word)| *place = word as usize % length * size);
    // Words that come from memory themselves are waited for before.
    let places = black_box(places);
    let start = Instant::now();
    black_box(places.iter().fold(0, |bits, place| bits | table.get(*place).copied().unwrap_or(0)));
    start.elapsed()
}

/// Blocks after which slots are tried again.
const TRIED_BLOCKS: usize = 64;

/// Asks for the slots of a block at once, if they are afar, before the first is used: of a run that is resolved block by block the next
/// ones are not known.
pub(crate) struct BlockAsking {
    /// Bytes of an element.
    size: usize,
    /// The run and the table are such that slots may be afar.
    is_tried: bool,
    blocks: usize,
    are_afar: bool,
}

impl BlockAsking {
    /// For a run of so many lanes, and a table of elements of `size` bytes.
    pub(crate) fn new(lanes: usize, table: &[u8], size: usize) -> Self {
        let caches = Caches::get();
        let is_tried = lanes >= TRIED_LANES && table.len() > caches.l2 && caches.brings_in_time();
        Self { size, is_tried, blocks: 0, are_afar: false }
    }

    /// Asks for the slots of the next block.
    pub(crate) fn ask(&mut self, table: &[u8], offsets: AnyOffsets<'_>) {
        if !self.is_tried {
            return;
        }
        match offsets {
            AnyOffsets::Narrow(offsets) => self.ask_words(table, offsets),
            AnyOffsets::Wide(offsets) => self.ask_words(table, offsets),
        }
    }

    fn ask_words<W: Word>(&mut self, table: &[u8], offsets: Offsets<'_, W>) {
        if self.blocks.is_multiple_of(TRIED_BLOCKS) {
            self.are_afar = time_loads((table, self.size), offsets.words()) >= MOST_AFAR;
        }
        self.blocks += 1;
        if self.are_afar {
            let words = offsets.words().iter();
            words.for_each(|word| simd::prefetch_far(table, (word.get() as usize).wrapping_mul(self.size)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_words_are_tried_on_any_table() {
        let words: Vec<[u8; 8]> = (0..100u64).map(|k| (k << 57 | k).to_le_bytes()).collect();
        for length in 0..words.len() {
            time_loads((&[], 4), &words[..length]);
            time_loads((&[0; 13], 4), &words[..length]);
        }
    }

    #[test]
    fn blocks_are_tried_of_long_runs_into_tables_beyond_the_second_level() {
        let caches = Caches::get();
        let (near, far) = (vec![0; caches.l2], vec![0; caches.l2 + 4]);
        let is_tried = |lanes, table: &[u8]| BlockAsking::new(lanes, table, 4).is_tried;
        assert_eq!(is_tried(TRIED_LANES, &far), caches.brings_in_time());
        assert!(!is_tried(TRIED_LANES - 1, &far) && !is_tried(usize::MAX, &near));
        let words = [7u32.to_le_bytes(); 3];
        let offsets = Offsets::check(&words, 8).expect("all inside");
        for is_tried in [false, true] {
            let mut asking = BlockAsking { size: 4, is_tried, blocks: 0, are_afar: true };
            (0..3).for_each(|_| asking.ask(&far, offsets.into()));
            assert_eq!(asking.blocks, if is_tried { 3 } else { 0 });
        }
    }
}
