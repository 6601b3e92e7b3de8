//! Lanes that all go to one slot: a chain of sums, each of which waits for the one before.
//!
//! Looking at all lanes first, as a fault that leaves no trace asks for, would take a third as long as the chain itself. The slot is
//! known from the first lane, so that the chain begins at once, beside the table, and lanes are looked at while the machine
//! waits for its sums. What comes out is put where it belongs when the lanes that follow have been looked at, too.

use crate::kernel::elements::{Lookup, Run};
use crate::kernel::kind::Kernel;
use crate::kernel::simd::{self, Backend, Simd, Task};
use crate::kernel::{BLOCK, Word};

/// Blocks between asking for one and going through it: while the machine waits for one sum after the other it does not look
/// far ahead by itself.
const BLOCKS_AHEAD: usize = 2;

/// The longest element in bytes.
const LONGEST: usize = 8;

/// The lanes at the start of a run that all go to one slot.
pub(super) struct HotStart {
    /// How many there are.
    pub(super) lanes: usize,
    /// The byte of the table where the slot begins.
    at: usize,
    /// What it will hold.
    content: [u8; LONGEST],
    size: usize,
}

impl HotStart {
    /// Combines the values of those lanes, which are dense, into a copy of their slot. No lanes if they do not go where they say,
    /// or do so one by one.
    pub(super) fn combine(
        backend: Backend,
        kernel: &dyn Kernel,
        (lookup, run): (&Lookup<'_>, Run),
        table: &[u8],
        values: &[u8],
    ) -> Self {
        let none = Self { lanes: 0, at: 0, content: [0; LONGEST], size: 0 };
        let start = match lookup.is_narrow() {
            true => {
                lookup.whole::<[u8; 4]>(run).and_then(|words| Self::of(backend, kernel, words, lookup, table, values))
            }
            false => {
                lookup.whole::<[u8; 8]>(run).and_then(|words| Self::of(backend, kernel, words, lookup, table, values))
            }
        };
        start.unwrap_or(none)
    }

    fn of<W: Word>(
        backend: Backend,
        kernel: &dyn Kernel,
        words: &[W],
        lookup: &Lookup<'_>,
        table: &[u8],
        values: &[u8],
    ) -> Option<Self> {
        let word = words.first().copied().filter(|word| word.get() < lookup.resolver.capacity)?;
        let size = kernel.size();
        let at = usize::try_from(word.get()).ok()?.checked_mul(size)?;
        let mut content = [0; LONGEST];
        content[..size].copy_from_slice(table.get(at..)?.get(..size)?);
        let mut lanes = 0;
        for (block, news) in words.chunks(BLOCK).zip(values.chunks(BLOCK * size)) {
            simd::prefetch_run(words, lanes + BLOCKS_AHEAD * BLOCK, BLOCK);
            simd::prefetch_run(values, (lanes + BLOCKS_AHEAD * BLOCK) * size, BLOCK * size);
            if !backend.run(AreAll { words: block, word }) {
                break;
            }
            kernel.combine(backend, &mut content[..size], news);
            lanes += block.len();
        }
        Some(Self { lanes, at, content, size })
    }

    /// Puts what came out where it belongs.
    pub(super) fn put(&self, table: &mut [u8]) {
        if self.lanes > 0 {
            table[self.at..][..self.size].copy_from_slice(&self.content[..self.size]);
        }
    }
}

/// True if all words are the same as one.
struct AreAll<'a, W> {
    words: &'a [W],
    word: W,
}

impl<W: Word> Task for AreAll<'_, W> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> bool {
        // Without a branch for each: the vector unit's work.
        self.words.iter().fold(0, |bits, word| bits | (word.get() ^ self.word.get())) == 0
    }
}
