//! Plain Rust: what the compiler makes of it for the machine the program was built for.
#![expect(unsafe_code, reason = "the promise that `Simd` asks for")]

use half::f16;

use super::{Landing, Simd, Streams, Task};
use crate::kernel::modulus::Modulus;
use crate::kernel::offsets::{Offsets, Word};
use crate::kernel::transfer;

/// No vector instructions of our own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Portable;

// SAFETY: `keep` and `keep_values` are the functions below, which count a word only if it is below the length, as is
// `are_below`, which holds the largest word against the limit.
unsafe impl Simd for Portable {
    #[inline(always)]
    fn gather4(self, destination: &mut [[u8; 4]], table: &[[u8; 4]], words: &[[u8; 4]], _: Option<&Streams>) -> bool {
        gather4(destination, table, words)
    }

    #[inline(always)]
    fn add_f16(self, a: u16, b: u16) -> u16 {
        self.add_wide_f16(a, f16::from_bits(b).to_f32_const())
    }

    #[inline(always)]
    fn add_wide_f16(self, a: u16, b: f32) -> u16 {
        // The `const` conversions are the ones that do not ask the machine for its features.
        f16::from_f32_const(f16::from_bits(a).to_f32_const() + b).to_bits()
    }

    #[inline(always)]
    fn widen_f16(self, halves: &[[u8; 2]], wide: &mut [f32]) {
        wide.iter_mut().zip(halves).for_each(|(wide, half)| *wide = f16::from_le_bytes(*half).to_f32_const());
    }
}

/// Runs a task, in a function of its own as with every instruction set.
#[inline(never)]
pub(super) fn enter<T: Task>(task: T) -> T::Output {
    task.run(Portable)
}

/// [`Simd::are_below`] by the largest word.
#[inline(always)]
pub(super) fn are_below<W: Word>(words: &[W], limit: u64) -> bool {
    words.is_empty() || W::largest(words) < limit
}

/// [`Simd::keep`] without a compress instruction: every word is stored, and the next one overwrites it unless it stays.
#[inline(always)]
pub(super) fn keep<W: Word>(words: &[W], base: u64, length: u64, kept: &mut [W], positions: &mut [u32]) -> usize {
    let (kept, positions) = (&mut kept[..words.len()], &mut positions[..words.len()]);
    let mut count = 0;
    for (i, word) in words.iter().enumerate() {
        let offset = word.less(base);
        kept[count] = offset;
        positions[count] = i as u32;
        count += usize::from(offset.get() < length);
    }
    count
}

/// [`Simd::keep_values`] in the same way.
#[inline(always)]
pub(super) fn keep_values<const N: usize>(
    (words, values): (&[[u8; 4]], &[[u8; N]]),
    (base, length): (u64, u64),
    kept: &mut [[u8; 4]],
    kept_values: &mut [[u8; N]],
) -> usize {
    assert!(words.len() == values.len(), "each word has a value");
    let (kept, kept_values) = (&mut kept[..words.len()], &mut kept_values[..words.len()]);
    let mut count = 0;
    for (word, value) in words.iter().zip(values) {
        let offset = word.less(base);
        kept[count] = offset;
        kept_values[count] = *value;
        count += usize::from(offset.get() < length);
    }
    count
}

/// [`Simd::gather4`]
#[inline(always)]
pub(super) fn gather4(destination: &mut [[u8; 4]], table: &[[u8; 4]], words: &[[u8; 4]]) -> bool {
    assert!(words.len() == destination.len());
    destination.chunks_mut(LOOK).zip(words.chunks(LOOK)).all(|(slots, words)| {
        let offsets = Offsets::check(words, table.len() as u64);
        offsets.map(|offsets| transfer::gather_each(slots, table, offsets)).is_some()
    })
}

/// [`Simd::gather4_landing`], word by word.
#[inline(always)]
pub(super) fn gather4_landing(
    destination: &mut [[u8; 4]],
    table: &[[u8; 4]],
    words: &[[u8; 4]],
    landing: Landing,
) -> usize {
    assert!(words.len() == destination.len());
    let Some(last) = (table.len() as u64).checked_sub(1) else { return words.len() };
    let last = last.min(u32::MAX.into());
    let mut outside = 0;
    for (slot, &word) in destination.iter_mut().zip(words) {
        let at = match landing {
            Landing::Nearest { signed: false } => Word::clamp(word, last),
            Landing::Nearest { signed: true } => word.clamp_signed(last),
            Landing::Wrapped { modulus, signed: false } => word.remainder(modulus),
            Landing::Wrapped { modulus, signed: true } => word.remainder_signed(modulus),
        };
        *slot = table[at.get() as usize];
        outside += usize::from(word.get() > last);
    }
    outside
}

/// Words that are looked at and then used while they are in the first-level cache.
const LOOK: usize = 64;

/// [`Simd::remainders`], word by word.
#[inline(always)]
pub(super) fn remainders<W: Word>(words: &[W], modulus: Modulus, signed: bool, remainders: &mut [W]) {
    assert!(words.len() == remainders.len(), "each word has a remainder");
    let each = remainders.iter_mut().zip(words);
    if signed {
        each.for_each(|(slot, word)| *slot = word.remainder_signed(modulus));
    } else {
        each.for_each(|(slot, word)| *slot = word.remainder(modulus));
    }
}
