//! Offsets that were seen to be in range: checked once, then used without checks.

use super::bounds::Part;
use super::modulus::Modulus;
use super::simd::Simd;

/// An index lane or offset as it lies in memory: 4 or 8 little-endian bytes, at any address.
pub(crate) trait Word: bytemuck::Pod + Send + Sync {
    /// Its size.
    const BYTES: usize;

    /// Its unsigned value.
    fn get(self) -> u64;

    /// The word of a value that fits.
    fn put(value: u64) -> Self;

    /// `self - base`, wrapping around within the word.
    fn less(self, base: u64) -> Self;

    /// The largest of the words, 0 if there is none.
    fn largest(words: &[Self]) -> u64;

    /// How many of at most 2^16 words are at or beyond a number.
    fn count_from(words: &[Self], number: u64) -> u64;

    /// True if the word is beyond a number.
    fn is_beyond(self, number: u64) -> bool;

    /// The word, at most `last`.
    fn clamp(self, last: u64) -> Self;

    /// The word as a signed number, at least 0 and at most `last`.
    fn clamp_signed(self, last: u64) -> Self;

    /// The word modulo the divisor.
    fn remainder(self, modulus: Modulus) -> Self;

    /// The word as a signed number modulo the divisor, never negative.
    fn remainder_signed(self, modulus: Modulus) -> Self;
}

macro_rules! words {
    ($($type:ty, $signed:ty, $double:ty);*) => {$(
        impl Word for [u8; size_of::<$type>()] {
            const BYTES: usize = size_of::<$type>();

            #[inline(always)]
            fn get(self) -> u64 {
                <$type>::from_le_bytes(self).into()
            }

            #[inline(always)]
            fn put(value: u64) -> Self {
                (value as $type).to_le_bytes()
            }

            #[inline(always)]
            fn less(self, base: u64) -> Self {
                <$type>::from_le_bytes(self).wrapping_sub(base as $type).to_le_bytes()
            }

            #[inline(always)]
            fn largest(words: &[Self]) -> u64 {
                words.iter().fold(0, |largest: $type, word| largest.max(<$type>::from_le_bytes(*word))).into()
            }

            #[inline(always)]
            fn count_from(words: &[Self], number: u64) -> u64 {
                if number > u64::from(<$type>::MAX) {
                    return 0;
                }
                let number = number as $type;
                let beyond: $type = words.iter().map(|word| <$type>::from(<$type>::from_le_bytes(*word) >= number)).sum();
                beyond.into()
            }

            #[inline(always)]
            fn is_beyond(self, number: u64) -> bool {
                // Compared in the width of a word, so that a register holds four of 4 bytes.
                <$type>::from_le_bytes(self) > number.min(<$type>::MAX.into()) as $type
            }

            #[inline(always)]
            fn clamp(self, last: u64) -> Self {
                <$type>::from_le_bytes(self).min(last as $type).to_le_bytes()
            }

            #[inline(always)]
            fn clamp_signed(self, last: u64) -> Self {
                (<$signed>::from_le_bytes(self).max(0) as $type).min(last as $type).to_le_bytes()
            }

            #[inline(always)]
            fn remainder(self, modulus: Modulus) -> Self {
                let (x, d) = (<$type>::from_le_bytes(self), modulus.divisor as $type);
                let quotient = (<$double>::from(x) * <$double>::from(modulus.reciprocal as $type)) >> <$type>::BITS;
                let rest = x.wrapping_sub((quotient as $type).wrapping_mul(d));
                // One divisor too much at the most, and then the difference is the smaller of the two.
                rest.min(rest.wrapping_sub(d)).to_le_bytes()
            }

            #[inline(always)]
            fn remainder_signed(self, modulus: Modulus) -> Self {
                // The complement of a negative number is not negative, and counts from the other end.
                let x = <$signed>::from_le_bytes(self);
                let sign = x >> (<$type>::BITS - 1);
                let rest = <$type>::from_le_bytes((x ^ sign).to_le_bytes().remainder(modulus));
                let other = (modulus.divisor as $type).wrapping_sub(1).wrapping_sub(rest);
                (if sign == 0 { rest } else { other }).to_le_bytes()
            }
        }
    )*};
}

words!(u32, i32, u64; u64, i64, u128);

/// Words that are all below a limit.
///
/// They can be made by looking at all words only, and the words stay borrowed: what was seen once
/// stays true.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Offsets<'a, W> {
    words: &'a [W],
    limit: u64,
}

impl<'a, W: Word> Offsets<'a, W> {
    /// The words, if all are below the limit.
    #[inline(always)]
    pub(crate) fn check(words: &'a [W], limit: u64) -> Option<Self> {
        let inside = words.is_empty() || W::largest(words) < limit;
        inside.then_some(Self { words, limit })
    }

    /// As [`check`](Self::check), with an instruction set.
    #[inline(always)]
    pub(crate) fn look<S: Simd>(simd: S, words: &'a [W], limit: u64) -> Option<Self> {
        // Implementors of `Simd` promise that this is so.
        simd.are_below(words, limit).then_some(Self { words, limit })
    }

    /// A handful of words, if none is beyond the last that may be, and none of the values that go with them is a special case.
    #[inline(always)]
    pub(crate) fn check_few<V>(
        words: &'a [W],
        values: &[V],
        last: u32,
        is_special: impl Fn(&V) -> bool,
    ) -> Option<Self> {
        let (values, last) = (&values[..words.len()], u64::from(last));
        let is_odd = |word: &W, value: &V| word.is_beyond(last) | is_special(value);
        let is_any_odd = match (words.last_chunk::<4>(), values.last_chunk::<4>()) {
            (Some(end), Some(value_end)) => {
                // Four side by side in a register, those at the end mostly once more.
                let odd = |(words, values): (&[W; 4], &[V; 4])| -> [u32; 4] {
                    core::array::from_fn(|k| if is_odd(&words[k], &values[k]) { u32::MAX } else { 0 })
                };
                let fours = words.as_chunks::<4>().0.iter().zip(values.as_chunks::<4>().0);
                let join = |found: [u32; 4], others: [u32; 4]| core::array::from_fn(|k| found[k] | others[k]);
                fours.map(odd).fold(odd((end, value_end)), join) != [0; 4]
            }
            _ => words.iter().zip(values).any(|(word, value)| is_odd(word, value)),
        };
        (!is_any_odd).then_some(Self { words, limit: last + 1 })
    }

    /// The words `w` with `w - base < length`, less `base`, and where they stood; see [`Simd::keep`].
    #[inline(always)]
    pub(crate) fn keep<'b, S: Simd>(
        simd: S,
        words: &[W],
        (base, length): (u64, u64),
        kept: &'a mut [W],
        positions: &'b mut [u32],
    ) -> (Self, &'b [u32]) {
        let count = simd.keep(words, base, length, kept, positions);
        // Implementors of `Simd` promise that these are below the length.
        (Self { words: &kept[..count], limit: length }, &positions[..count])
    }

    /// The words with a limit that is just above the largest.
    #[inline(always)]
    pub(crate) fn bounded(words: &'a [W]) -> Self {
        // A word of all ones has no number above it; a limit that large is beyond every table.
        Self { words, limit: W::largest(words).saturating_add(1) }
    }

    /// The words.
    #[inline(always)]
    pub(crate) fn words(self) -> &'a [W] {
        self.words
    }

    /// All but the first words, as many as there are.
    #[inline(always)]
    pub(crate) fn after(self, count: usize) -> Self {
        Self { words: &self.words[count.min(self.words.len())..], limit: self.limit }
    }

    /// How many words there are.
    #[inline(always)]
    pub(crate) fn len(self) -> usize {
        self.words.len()
    }

    /// What every word is below of; if there are none, anything.
    #[inline(always)]
    pub(crate) fn limit(self) -> u64 {
        self.limit
    }
}

/// Lanes that [`KeptLanes::add`] takes at most.
pub(crate) const KEEP: usize = 1024;

/// Offsets below a limit with their values: those of the lanes of one part of a table.
pub(crate) struct KeptLanes<const N: usize> {
    /// The first `count` are below the length of the part.
    words: [[u8; 4]; 2 * KEEP],
    values: [[u8; N]; 2 * KEEP],
    count: usize,
    part: Part,
}

impl<const N: usize> KeptLanes<N> {
    #[inline(always)]
    pub(crate) fn new(part: Part) -> Self {
        Self { words: [[0; 4]; 2 * KEEP], values: [[0; N]; 2 * KEEP], count: 0, part }
    }

    /// Adds those of the lanes that go to the part.
    ///
    /// # Panics
    /// If these are more than [`KEEP`], or as many have not been [taken off](Self::take_off).
    #[inline(always)]
    pub(crate) fn add<S: Simd>(&mut self, simd: S, words: &[[u8; 4]], values: &[[u8; N]]) {
        let Self { words: kept, values: kept_values, count, part } = self;
        let (kept, kept_values) = (&mut kept[*count..], &mut kept_values[*count..]);
        // Implementors of `Simd` promise that these are below the length.
        *count += simd.keep_values((words, values), (part.base, part.length), kept, kept_values);
    }

    /// All lanes and their values.
    #[inline(always)]
    pub(crate) fn all(&self) -> (Offsets<'_, [u8; 4]>, &[[u8; N]]) {
        (Offsets { words: &self.words[..self.count], limit: self.part.length }, &self.values[..self.count])
    }

    /// Takes the first lanes off.
    #[inline(always)]
    pub(crate) fn take_off(&mut self, first: usize) {
        self.words.copy_within(first..self.count, 0);
        self.values.copy_within(first..self.count, 0);
        self.count -= first;
    }
}

/// Offsets of either width.
#[derive(Clone, Copy, Debug)]
pub(crate) enum AnyOffsets<'a> {
    /// Of 4 bytes.
    Narrow(Offsets<'a, [u8; 4]>),
    /// Of 8 bytes.
    Wide(Offsets<'a, [u8; 8]>),
}

impl<'a, W: Word> From<Offsets<'a, W>> for AnyOffsets<'a> {
    #[inline(always)]
    fn from(Offsets { words, limit }: Offsets<'a, W>) -> Self {
        if W::BYTES == 4 {
            Self::Narrow(Offsets { words: bytemuck::cast_slice(words), limit })
        } else {
            Self::Wide(Offsets { words: bytemuck::cast_slice(words), limit })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_word_at_the_limit_is_seen_at_every_position_and_length() {
        for length in 1..200usize {
            for bad in 0..length {
                let mut narrow = vec![6u32.to_le_bytes(); length];
                let mut wide = vec![6u64.to_le_bytes(); length];
                assert!(Offsets::check(&narrow, 7).is_some() && Offsets::check(&wide, 7).is_some());
                let values = vec![0u16; length];
                let are_few_inside = |narrow: &[[u8; 4]], wide: &[[u8; 8]], last| {
                    let narrow = Offsets::check_few(narrow, &values, last, |_| false);
                    let wide = Offsets::check_few(wide, &values, last, |_| false);
                    [narrow.is_some(), wide.is_some()]
                };
                assert_eq!(are_few_inside(&narrow, &wide, 6), [true; 2]);
                for value in [7, 8, 1 << 31, u64::from(u32::MAX)] {
                    narrow[bad] = Word::put(value);
                    wide[bad] = Word::put(value);
                    assert!(Offsets::check(&narrow, 7).is_none() && Offsets::check(&wide, 7).is_none());
                    assert_eq!(are_few_inside(&narrow, &wide, 6), [false; 2]);
                    assert_eq!(are_few_inside(&narrow, &wide, (1 << 31) - 1), [value < 1 << 31; 2]);
                    assert_eq!(are_few_inside(&narrow, &wide, u32::MAX), [true; 2]);
                }
                wide[bad] = u64::MAX.to_le_bytes();
                assert!(Offsets::check(&wide, u64::MAX).is_none());
                assert_eq!(are_few_inside(&narrow, &wide, u32::MAX), [true, false]);
            }
        }
    }

    #[test]
    fn one_special_value_is_seen_at_every_position_and_length() {
        for length in 1..70usize {
            let words = vec![6u32.to_le_bytes(); length];
            for bad in 0..length {
                let mut values = vec![0.0f32; length];
                assert!(Offsets::check_few(&words, &values, 6, |value| value.is_nan()).is_some());
                values[bad] = f32::NAN;
                assert!(Offsets::check_few(&words, &values, 6, |value| value.is_nan()).is_none());
            }
        }
    }

    #[test]
    fn no_words_are_below_anything() {
        assert!(Offsets::<[u8; 4]>::check(&[], 0).is_some());
        assert!(Offsets::<[u8; 4]>::check_few(&[], &[0u8; 0], 0, |_| true).is_some());
    }
}
