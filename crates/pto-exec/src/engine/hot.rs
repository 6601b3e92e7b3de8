//! Lanes that all go to one slot: a chain of sums, each of which waits for the one before.
//!
//! Looking at all lanes first, as a fault that leaves no trace asks for, would take a third as long as the chain itself. The slot is
//! known from the first lane, so that the chain begins at once, beside the table, and lanes are looked at while the machine
//! waits for its sums. What comes out is put where it belongs when the lanes that follow have been looked at, too.

use core::ops::Range;

use crate::kernel::elements::{Lookup, Run};
use crate::kernel::kind::Kernel;
use crate::kernel::simd::{self, Backend, Simd, Task};
use crate::kernel::transfer;
use crate::kernel::{BLOCK, Word};

/// Blocks between asking for one and going through it: while the machine waits for one sum after the other it does not look
/// far ahead by itself.
const BLOCKS_AHEAD: usize = 2;

/// The longest element in bytes.
const LONGEST: usize = 8;

/// The lanes at the start of a run that all go to one slot, as many blocks of them as there are.
pub(super) struct HotStart {
    /// How many lanes these are.
    pub(super) lanes: usize,
    /// The bytes of the table that the slot is.
    slot: Range<usize>,
    /// What it will hold.
    content: [u8; LONGEST],
}

impl HotStart {
    /// Combines the values of those lanes into a copy of their slot. There are none if lanes are not their own offsets, and for
    /// `values` that do not follow each other as they do, which are not handed over.
    pub(super) fn combine(
        backend: Backend,
        kernel: &dyn Kernel,
        (lookup, run): (&Lookup<'_>, Run),
        table: &[u8],
        values: Option<&[u8]>,
    ) -> Self {
        let start = values.and_then(|values| match lookup.is_narrow() {
            true => Self::of(backend, kernel, lookup.whole::<[u8; 4]>(run)?, lookup, table, values),
            false => Self::of(backend, kernel, lookup.whole::<[u8; 8]>(run)?, lookup, table, values),
        });
        start.unwrap_or(Self { lanes: 0, slot: 0..0, content: [0; LONGEST] })
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
        let slot = at..at.checked_add(size)?;
        let mut content = [0; LONGEST];
        content[..size].copy_from_slice(table.get(slot.clone())?);
        let mut lanes = 0;
        for (block, news) in words.chunks(BLOCK).zip(values.chunks(BLOCK * size)) {
            simd::prefetch_run(words, lanes + BLOCKS_AHEAD * BLOCK, BLOCK);
            simd::prefetch_run(values, (lanes + BLOCKS_AHEAD * BLOCK) * size, BLOCK * size);
            if !backend.run(AreAll { words: block, word }) {
                break;
            }
            kernel.combine_all(backend, &mut content[..size], news);
            lanes += block.len();
        }
        Some(Self { lanes, slot, content })
    }

    /// Puts what came out where it belongs.
    pub(super) fn put(&self, table: &mut [u8]) {
        table[self.slot.clone()].copy_from_slice(&self.content[..self.slot.len()]);
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
        transfer::are_all(self.words, self.word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::address::AddressMap;
    use crate::kernel::bounds::{Bounds, Resolver};
    use crate::kernel::kind::kernel;
    use crate::kernel::lanes::{LaneReader, Strided};
    use pto_isa::{Atomic, ElementType};

    /// Whole blocks, up to the first lane that goes elsewhere, of words of either width; nothing of lanes out of range.
    #[test]
    fn a_start_is_as_long_as_its_lanes_are_the_same() {
        let kernel = kernel(ElementType::I16, Atomic::Add);
        let (lanes, table) = (5 * BLOCK + 9, [7u16, 100, 9].map(u16::to_le_bytes));
        let values = vec![3u16.to_le_bytes(); lanes];
        for (odd, slot, expected) in [
            (lanes, 1u64, lanes),
            (0, 1, 0),
            (1, 1, 0),
            (BLOCK, 1, BLOCK),
            (3 * BLOCK - 1, 1, 2 * BLOCK),
            (lanes, 3, 0),
        ] {
            let words = (0..lanes).map(|lane| if lane == odd { 0 } else { slot });
            let narrow: Vec<u8> = words.clone().flat_map(|word| (word as u32).to_le_bytes()).collect();
            let wide: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
            let dense = Strided { start: 0, step: 1 };
            let run = Run { payload: dense, idx: dense, length: lanes };
            for (bytes, element) in [(&narrow, ElementType::I32), (&wide, ElementType::I64)] {
                let reader = LaneReader { bytes, element, signed: true };
                let lookup =
                    Lookup { reader, resolver: Resolver::new(Bounds::Checked, 3, true), map: &AddressMap::Linear };
                for backend in Backend::available() {
                    let values = Some(values.as_flattened());
                    let start = HotStart::combine(backend, kernel, (&lookup, run), table.as_flattened(), values);
                    let mut written = table;
                    start.put(written.as_flattened_mut());
                    let sum = 100 + 3 * expected as u16;
                    // The first lane may be the odd one, and then nothing follows it.
                    assert_eq!((start.lanes, written.map(u16::from_le_bytes)), (expected, [7, sum, 9]), "{odd} {slot}");
                }
                let start = HotStart::combine(Backend::best(), kernel, (&lookup, run), table.as_flattened(), None);
                assert_eq!(start.lanes, 0);
            }
        }
    }
}
