//! Whether slots come from memory: some are loaded, and the time is taken.
//!
//! What lanes touched a moment ago is in the last level, and asking for it takes longer than loading it; what they did not is in
//! memory, and asking for it halves the time. Nothing but a clock tells the two apart. What is written is the same either way, but
//! for the bits of a NaN that was computed.

use core::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::distance::stay_at_hand;
use crate::kernel::cache::Caches;
use crate::kernel::offsets::{AnyOffsets, Offsets, Word};
use crate::kernel::simd::{self, LINE};

/// Lanes from which on a trial is worth its time: 30 to 40 ns if slots are at hand, and else what the slots take, which are wanted
/// anyway.
pub(super) const TRIED_LANES: usize = 1 << 11;

/// Lanes that are tried.
const TRIED: usize = 8;

/// How long so many loads take, side by side, if some slots come from memory: 150 to 400 ns if all of them do, and 20 to 100 from the
/// last level.
pub(super) const SOME_AFAR: Duration = Duration::from_nanos(125);

/// As [`SOME_AFAR`] for most slots.
pub(super) const MOST_AFAR: Duration = Duration::from_nanos(165);

/// True if slots of so many lanes, in a table of so many bytes, may come from memory, and a trial tells.
///
/// What a table that the last level holds has brought once it keeps: lanes that touch each of its lines again and again wait for few.
#[inline(always)]
pub(super) fn are_tried(caches: Caches, bytes: usize, lanes: usize) -> bool {
    // Nothing is asked for on other machines.
    cfg!(target_arch = "x86_64")
        && caches.brings_in_time()
        && lanes >= TRIED_LANES
        && bytes > caches.l2
        && (bytes > caches.near_l3() || lanes <= bytes / LINE)
}

/// How long it takes to load the slots of some of the words, of so many bytes each. Words beyond the table stand for others.
#[cold]
#[inline(never)]
pub(super) fn time_loads<W: Word>((table, size): (&[u8], usize), words: &[W]) -> Duration {
    if words.is_empty() || is_clock_slow() {
        return Duration::ZERO;
    }
    let length = (table.len() / size.max(1)).max(1);
    let places: [usize; TRIED] = core::array::from_fn(|k| {
        let word = words[(2 * k + 1) * words.len() / (2 * TRIED)].get();
        word as usize % length * size
    });
    // Words that come from memory themselves are waited for before.
    let places = black_box(places);
    let start = Instant::now();
    black_box(places.iter().fold(0, |bits, place| bits | table.get(*place).copied().unwrap_or(0)));
    start.elapsed()
}

/// True if reading the clock takes longer than loads from the last level, as where the kernel is called for it: a trial would tell
/// nothing. Found out once.
fn is_clock_slow() -> bool {
    static IS_SLOW: OnceLock<bool> = OnceLock::new();
    *IS_SLOW.get_or_init(|| {
        let least = (0..16).map(|_| Instant::now().elapsed()).min();
        least.is_none_or(|least| least > SOME_AFAR / 2)
    })
}

/// How long it takes at the most to look at so many bytes, one after the other, that come from the last level: 0.3 to 0.6 ns for a
/// line. From memory it takes 0.9 to 1.8.
fn time_at_hand(bytes: usize) -> Duration {
    Duration::from_nanos((bytes / (LINE + LINE / 4)) as u64)
}

/// What a look at so many bytes of words gives, and whether they were at hand, and so the values that go with them: what has just been
/// used a second time is mostly used a third time, and need not be asked for.
pub(crate) fn look_timed<R>(caches: Caches, bytes: usize, look: impl FnOnce() -> R) -> (R, bool) {
    if !caches.reaches_l3() || is_clock_slow() {
        return (look(), stay_at_hand(caches, bytes));
    }
    let start = Instant::now();
    let seen = look();
    (seen, start.elapsed() < time_at_hand(bytes))
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
        Self { size, is_tried: are_tried(Caches::get(), table.len(), lanes), blocks: 0, are_afar: false }
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
        // A block of which nearly all lanes were dropped says nothing.
        if offsets.len() < TRIED {
            return;
        }
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
    fn slots_are_tried_where_they_may_be_afar() {
        let [mesh, chiplet, large] = [Caches::MESH, Caches::ZEN3, Caches::ZEN4];
        let is_x86 = cfg!(target_arch = "x86_64");
        assert!(![mesh, chiplet].iter().any(|caches| are_tried(*caches, 64 << 20, 1 << 16)));
        let few_and_enough = [TRIED_LANES - 1, TRIED_LANES].map(|lanes| are_tried(large, 64 << 20, lanes));
        assert_eq!(few_and_enough, [false, is_x86]);
        let near_and_beyond = [1 << 20, (1 << 20) + 1].map(|bytes| are_tried(large, bytes, TRIED_LANES));
        assert_eq!(near_and_beyond, [false, is_x86]);
        // As many lanes as lines of a table that the last level holds, and more; of one that it does not.
        let lanes = [1 << 16, (1 << 16) + 1].map(|lanes| are_tried(large, 4 << 20, lanes));
        assert_eq!((lanes, are_tried(large, (16 << 20) + 64, usize::MAX)), ([is_x86, false], is_x86));
    }

    #[test]
    fn a_look_tells_where_words_were() {
        // No bytes are looked at in less than no time, and a petabyte within days.
        assert_eq!(look_timed(Caches::ZEN5, 0, || 7), (7, is_clock_slow()));
        assert_eq!(look_timed(Caches::ZEN5, 1 << 50, || 7), (7, !is_clock_slow()));
        // Where that was not measured, the number of words decides.
        assert_eq!([1 << 19, (1 << 19) + 1].map(|bytes| look_timed(Caches::ZEN4, bytes, || ()).1), [true, false]);
        assert!(!look_timed(Caches::MESH, 64, || ()).1);
    }

    #[test]
    fn blocks_are_asked_for_as_the_last_trial_found() {
        let table = vec![0; 1 << 12];
        let words: Vec<[u8; 8]> = (0..TRIED as u64).map(u64::to_le_bytes).collect();
        let offsets = |count: usize| Offsets::check(&words[..count], 64).expect("all inside");
        // As if slots had been found afar: they are at hand, which the next trial finds.
        let mut asking = BlockAsking { size: 4, is_tried: true, blocks: 1, are_afar: true };
        (1..TRIED_BLOCKS).for_each(|_| asking.ask(&table, offsets(TRIED).into()));
        assert_eq!((asking.blocks, asking.are_afar), (TRIED_BLOCKS, true));
        asking.ask(&table, offsets(TRIED - 1).into());
        assert_eq!((asking.blocks, asking.are_afar), (TRIED_BLOCKS, true), "too few to say anything");
        asking.ask(&table, offsets(TRIED).into());
        assert_eq!(asking.blocks, TRIED_BLOCKS + 1);
        let mut never = BlockAsking::new(TRIED_LANES, &table, 4);
        never.ask(&table, offsets(TRIED).into());
        assert_eq!((never.blocks, never.are_afar), (0, false));
    }
}
