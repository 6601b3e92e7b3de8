//! The loops that put values to slots, one after the other.
//!
//! They look at nothing: whoever calls them has seen that all words are below the table's length.
#![expect(unsafe_code, reason = "a bounds check per element costs a third of the time of a scatter")]

use bytemuck::Pod;

use super::distance::{AHEAD, FAR};
use crate::kernel::cache::Caches;
use crate::kernel::combine::Combine;
use crate::kernel::offsets::Word;
use crate::kernel::simd::{self, LINE, Simd};

/// Combines the k-th value into `table[words[k]]`, in order, asking for the slots of the words that follow among `all`: into the
/// second-level cache and, where they are only stored to, once more into the first.
///
/// A function of its own: with it inside, the loops for near tables get slower by a quarter.
///
/// # Safety
/// All of `words` are below `table.len()`.
#[inline(never)]
pub(super) unsafe fn combine_far<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    (words, all): (&[W], &[W]),
    values: &[[u8; N]],
) {
    for (k, (word, new)) in words.iter().zip(values).enumerate() {
        if let Some(far) = all.get(k + FAR) {
            simd::prefetch_far(table, far.get() as usize);
        }
        if let (false, Some(near)) = (C::READS, all.get(k + AHEAD)) {
            simd::prefetch(table, near.get() as usize);
        }
        // SAFETY: the caller vouches for all words.
        C::put(simd, unsafe { table.get_unchecked_mut(word.get() as usize) }, *new);
    }
}

/// As [`combine_far`] where the last level is near: slots are asked for into the second-level cache only, and so are lanes and
/// values that come later, into the first.
///
/// # Safety
/// All of `words` are below `table.len()`.
#[inline(never)]
pub(super) unsafe fn combine_beyond<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    (words, all): (&[W], &[W]),
    values: &[[u8; N]],
) {
    let put = |slot: &mut [u8; N], new| C::put(simd, slot, new);
    let passing = Caches::get().passing_lanes();
    let far = all.get(FAR..).unwrap_or(&[]).as_chunks::<16>().0;
    let lanes = words.as_chunks::<16>().0.iter().zip(values.as_chunks::<16>().0).zip(far);
    let soon = 16 * lanes.len();
    for (i, ((words, values), far)) in lanes.enumerate() {
        if passing + 16 * i < all.len() {
            (0..16).step_by(LINE / W::BYTES).for_each(|k| simd::prefetch(all, passing + 16 * i + k));
            (0..16).step_by(LINE / N).for_each(|k| simd::prefetch(values, passing + k));
        }
        if C::are_tame(values) {
            for ((word, new), far) in words.iter().zip(values).zip(far) {
                simd::prefetch_far(table, far.get() as usize);
                // SAFETY: the caller vouches for all words.
                let slot = unsafe { table.get_unchecked_mut(word.get() as usize) };
                *slot = C::combine_tame(simd, *slot, *new);
            }
            continue;
        }
        for ((word, new), far) in words.iter().zip(values).zip(far) {
            simd::prefetch_far(table, far.get() as usize);
            // SAFETY: the caller vouches for all words.
            put(unsafe { table.get_unchecked_mut(word.get() as usize) }, *new);
        }
    }
    for (word, new) in words[soon..].iter().zip(&values[soon..]) {
        // SAFETY: as above.
        put(unsafe { table.get_unchecked_mut(word.get() as usize) }, *new);
    }
}

/// Combines the k-th value into `table[words[k]]`, in order, in a table whose page addresses are waited for: nothing is asked
/// for, and nothing loaded in pairs. Either would take a third longer. The values are [tame](Combine::are_tame), or may not be.
///
/// A function of its own, as [`combine_far`].
///
/// # Safety
/// All words are below `table.len()`.
#[inline(never)]
pub(super) unsafe fn combine_waiting<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    words: &[W],
    values: &[[u8; N]],
    are_tame: bool,
) {
    let lanes = words.iter().zip(values);
    if are_tame {
        for (word, new) in lanes {
            // SAFETY: the caller vouches for all words.
            let slot = unsafe { table.get_unchecked_mut(word.get() as usize) };
            *slot = C::combine_tame(simd, *slot, *new);
        }
    } else {
        for (word, new) in lanes {
            // SAFETY: as above.
            C::put(simd, unsafe { table.get_unchecked_mut(word.get() as usize) }, *new);
        }
    }
}

/// Puts the k-th value to `table[words[k]]`, in order, asking for the slots of `ahead` on the way.
///
/// # Safety
/// All words are below `table.len()`.
#[inline(always)]
pub(super) unsafe fn put_all<const N: usize, V, W: Word>(
    table: &mut [[u8; N]],
    words: &[W],
    mut values: impl Iterator<Item = V>,
    ahead: &[W],
    put: impl Fn(&mut [u8; N], V),
) {
    let (soon, rest) = words.split_at(ahead.len().min(words.len()));
    for ((word, next), new) in soon.iter().zip(ahead).zip(values.by_ref()) {
        simd::prefetch(table, next.get() as usize);
        // SAFETY: the caller vouches for all words.
        let slot = unsafe { table.get_unchecked_mut(word.get() as usize) };
        put(slot, new);
    }
    for (word, new) in rest.iter().zip(values) {
        // SAFETY: as above.
        let slot = unsafe { table.get_unchecked_mut(word.get() as usize) };
        put(slot, new);
    }
}

/// How words and values are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loading {
    OneByOne,
    /// In [pairs](both).
    InPairs,
    /// Words in pairs, values [four at a time](simd::load_apart), to be combined in vector registers.
    InFours,
}

impl Loading {
    /// The quickest for such elements.
    pub(super) fn of<const N: usize, C: Combine<N>>() -> Self {
        if C::IN_VECTORS || C::WIDENS { Self::InFours } else { Self::InPairs }
    }

    /// Four words.
    #[inline(always)]
    fn words<W: Word>(self, words: &[W; 4]) -> [W; 4] {
        if self == Self::OneByOne { *words } else { pairs(words) }
    }

    /// Four values.
    #[inline(always)]
    fn values<V: Pod>(self, values: &[V; 4]) -> [V; 4] {
        match self {
            Self::OneByOne => *values,
            Self::InFours if size_of::<V>() == 4 => simd::load_apart(bytemuck::cast_ref(values)).map(bytemuck::cast),
            Self::InPairs | Self::InFours => pairs(values),
        }
    }
}

/// Two pairs of something.
#[inline(always)]
fn pairs<T: Pod>(four: &[T; 4]) -> [T; 4] {
    let [low, high]: &[[T; 2]; 2] = bytemuck::cast_ref(four);
    let ([a, b], [c, d]) = (both(low), both(high));
    [a, b, c, d]
}

/// As [`put_all`] for dense values, asking for nothing.
///
/// # Safety
/// All words are below `table.len()`.
#[inline(always)]
pub(super) unsafe fn put_few<const N: usize, V: Pod, W: Word>(
    table: &mut [[u8; N]],
    words: &[W],
    values: &[V],
    loading: Loading,
    put: impl Fn(&mut [u8; N], V),
) {
    let length = words.len().min(values.len());
    // Four a turn: counting turns would take as long as moving an element.
    let (fours, words) = words[..length].as_chunks::<4>();
    let (value_fours, values) = values[..length].as_chunks::<4>();
    for (words, values) in fours.iter().zip(value_fours) {
        for (word, new) in loading.words(words).into_iter().zip(loading.values(values)) {
            // SAFETY: the caller vouches for all words.
            put(unsafe { table.get_unchecked_mut(word.get() as usize) }, new);
        }
    }
    for (word, new) in words.iter().zip(values) {
        // SAFETY: as above.
        put(unsafe { table.get_unchecked_mut(word.get() as usize) }, *new);
    }
}

/// Two of something; those of 4 bytes are loaded at once, which takes a tenth off a scatter into a near table.
#[inline(always)]
fn both<T: Pod>(two: &[T; 2]) -> [T; 2] {
    if size_of::<T>() != 4 {
        return *two;
    }
    let both: u64 = bytemuck::pod_read_unaligned(bytemuck::bytes_of(two));
    [both as u32, (both >> 32) as u32].map(|half| bytemuck::cast(half))
}

/// As [`put_few`] for more. `ask` is called before every 16 lanes, with their position.
///
/// # Safety
/// All words are below `table.len()`.
#[inline(always)]
pub(super) unsafe fn put_dense<const N: usize, V: Pod, W: Word>(
    table: &mut [[u8; N]],
    words: &[W],
    values: &[V],
    (loading, ask): (Loading, impl Fn(usize)),
    put: impl Fn(&mut [u8; N], V),
) {
    let length = words.len().min(values.len());
    let (chunks, words) = words[..length].as_chunks::<16>();
    let (value_chunks, values) = values[..length].as_chunks::<16>();
    for (i, (words, values)) in chunks.iter().zip(value_chunks).enumerate() {
        ask(16 * i);
        // SAFETY: the caller vouches for all words.
        unsafe { put_few(table, words, values, loading, &put) };
    }
    // SAFETY: as above.
    unsafe { put_few(table, words, values, loading, &put) }
}

/// As [`put_dense`], combining values of which some may be [special cases](Combine::TAMES). They are looked at sixteen at a time, just
/// before they are combined: the vector unit has nothing else to do then.
///
/// # Safety
/// All words are below `table.len()`.
#[inline(always)]
pub(super) unsafe fn combine_taming<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    words: &[W],
    values: &[[u8; N]],
    ask: impl Fn(usize),
) {
    let length = words.len().min(values.len());
    let (chunks, words) = words[..length].as_chunks::<16>();
    let (value_chunks, values) = values[..length].as_chunks::<16>();
    for (i, (words, values)) in chunks.iter().zip(value_chunks).enumerate() {
        ask(16 * i);
        // SAFETY: the caller vouches for all words.
        unsafe {
            if C::are_tame(values) {
                put_few(
                    table,
                    words,
                    values,
                    Loading::of::<N, C>(),
                    // By force: a closure on its own is compiled without the instruction set.
                    #[inline(always)]
                    |slot, new| *slot = C::combine_tame(simd, *slot, new),
                );
            } else {
                combine_special::<N, C, W, S>(simd, table, words, values);
            }
        }
    }
    // SAFETY: as above.
    unsafe { combine_special::<N, C, W, S>(simd, table, words, values) }
}

/// As [`combine_taming`] for a few lanes, each of which may be a special case.
///
/// # Safety
/// All words are below `table.len()`.
#[inline(always)]
unsafe fn combine_special<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    words: &[W],
    values: &[[u8; N]],
) {
    for (word, new) in words.iter().zip(values) {
        // SAFETY: the caller vouches for all words.
        C::put(simd, unsafe { table.get_unchecked_mut(word.get() as usize) }, *new);
    }
}

/// As [`put_dense`], asking for a slot of `ahead` with each one that is put.
///
/// # Safety
/// All words are below `table.len()`.
#[inline(always)]
pub(super) unsafe fn put_asking<const N: usize, W: Word>(
    table: &mut [[u8; N]],
    words: &[W],
    values: &[[u8; N]],
    (ahead, ask): (&[W], impl Fn(usize)),
    put: impl Fn(&mut [u8; N], [u8; N]),
) {
    let soon = words.len().min(values.len()).min(ahead.len()) / 16 * 16;
    let ((words, last_words), (values, last_values)) = (words.split_at(soon), values.split_at(soon));
    let chunks = words.as_chunks::<16>().0.iter().zip(values.as_chunks::<16>().0).zip(ahead.as_chunks::<16>().0);
    for (i, ((words, values), ahead)) in chunks.enumerate() {
        ask(16 * i);
        let fours = words.as_chunks::<4>().0.iter().zip(values.as_chunks::<4>().0).zip(ahead.as_chunks::<4>().0);
        for ((words, values), ahead) in fours {
            for ((word, new), next) in words.iter().zip(values).zip(ahead) {
                simd::prefetch(table, next.get() as usize);
                // SAFETY: the caller vouches for all words.
                put(unsafe { table.get_unchecked_mut(word.get() as usize) }, *new);
            }
        }
    }
    // SAFETY: as above.
    unsafe { put_dense(table, last_words, last_values, (Loading::InPairs, |k| ask(soon + k)), put) }
}
