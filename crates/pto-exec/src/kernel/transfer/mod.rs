//! Moving elements between dense or strided runs and scattered places of a table.
//!
//! Every function is safe to call with any arguments: [`Offsets`] are below their limit by construction, the limit is
//! held against the table and the run against its tile before the loop, and only then is memory accessed unchecked.
#![expect(unsafe_code, reason = "a bounds check per element costs a third of the time of a scatter")]

mod distance;
mod put;
mod trial;

use super::BLOCK;
use super::cache::Caches;
use super::combine::Combine;
use super::lanes::Strided;
use super::offsets::{Offsets, Word};
use super::simd::{self, LINE, Portable, Simd};
pub(crate) use distance::{AHEAD, FAR, are_gathered, far_gathers, is_at_hand, is_gathered, lookahead};
use distance::{MANY, asks_ahead, is_far, lookahead_of, waits_for_pages};
use put::{
    Loading, combine_beyond, combine_far, combine_taming, combine_waiting, put_all, put_asking, put_dense, put_few,
};
pub(crate) use trial::{BlockAsking, look_timed};

/// Panics unless all offsets are below `length`.
#[inline(always)]
fn assert_inside<W: Word>(offsets: Offsets<'_, W>, length: usize) {
    assert!(offsets.len() == 0 || offsets.limit() <= length as u64, "an element offset leaves its buffer");
}

/// Panics unless `count` elements of the run lie below `length`.
#[inline(always)]
fn assert_run_inside(run: Strided, count: usize, length: usize) {
    let last = count.checked_sub(1).map(|n| n.checked_mul(run.step).and_then(|n| n.checked_add(run.start)));
    assert!(last.is_none_or(|last| last.is_some_and(|last| last < length)), "a run leaves its tile");
}

/// Combines the k-th value into `table[words[k]]`, in order and in the quickest way for such values, up to [`BLOCK`] of
/// them. `all` are these words and others, whose slots are asked for where that helps, as far as [`lookahead`] says. `ask` is
/// called before every 16 lanes, with their position.
///
/// # Safety
/// All of `words` are below `table.len()`.
#[inline(always)]
unsafe fn combine_dense<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    (words, all): (&[W], &[W]),
    values: &[[u8; N]],
    lookahead: usize,
    ask: impl Fn(usize),
) {
    if lookahead == FAR {
        // SAFETY: the caller vouches for all words.
        return unsafe {
            match Caches::get().is_l3_far() {
                true => combine_far::<N, C, W, S>(simd, table, (words, all), values),
                false => combine_beyond::<N, C, W, S>(simd, table, (words, all), values),
            }
        };
    }
    let waits = waits_for_pages(table);
    // Values are widened, and such slots combined, by instructions that a function of its own does not have.
    if waits && !C::WIDENS {
        // SAFETY: the caller vouches for all words.
        return unsafe { combine_waiting::<N, C, W, S>(simd, table, words, values, C::are_tame(values)) };
    }
    let (ahead, loading) = (&all[AHEAD.min(all.len())..], Loading::of::<N, C>());
    let mut wide = [0.0; BLOCK];
    let wide = &mut wide[..words.len()];
    // Asking for anything would take a third longer for those that are widened, too.
    let ask = |k: usize| {
        if !waits {
            ask(k);
        }
    };
    // SAFETY: the caller vouches for all words.
    unsafe {
        if C::WIDENS {
            C::widen(simd, values, wide);
            put_dense(
                table,
                words,
                wide,
                (loading, ask),
                // By force: a closure on its own is compiled without the instruction set.
                #[inline(always)]
                |slot, new| *slot = C::combine_wide(simd, *slot, new),
            );
        } else if C::TAMES {
            combine_taming::<N, C, W, S>(simd, table, words, values, ask);
        } else if asks_ahead::<N, C>(table, MANY) {
            put_asking(table, words, values, (ahead, ask), |slot, new| C::put(simd, slot, new));
        } else {
            put_dense(table, words, values, (loading, ask), |slot, new| C::put(simd, slot, new));
        }
    }
}

/// `table[offsets[k]] = combine(table[offsets[k]], tile[run.start + k * run.step])`, in order. The offsets are the first of some
/// words, of which the others may be any: their slots are asked for where that helps in a run of some length. So are lanes and
/// values to come, if it `asks`.
#[inline(always)]
pub(crate) fn scatter<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    (offsets, words, length): (Offsets<'_, W>, &[W], usize),
    (tile, run): (&[[u8; N]], Strided),
    asks: bool,
) {
    assert_inside(offsets, table.len());
    assert_run_inside(run, offsets.len(), tile.len());
    let (all, ahead) = (words, Caches::get().passing_lanes());
    // Strided values are put one by one, and nothing is asked for.
    let lookahead = if run.step == 1 { lookahead_of::<N, C, W>(table, length, offsets.words()) } else { AHEAD };
    for (i, words) in offsets.words().chunks(BLOCK).enumerate() {
        let run = run.after(i * BLOCK);
        // The machine's prefetchers lose the two streams among all the other accesses. Beyond these words there may be others of the
        // same run, as there are values; but not beyond all: looking for the address of a page that is not there takes as long as 50
        // lanes.
        let ask = |k: usize| {
            if asks {
                simd::prefetch_run(all, i * BLOCK + ahead + k, 16);
                simd::prefetch_run(tile, run.start + ahead + k, 16);
            }
        };
        if let Some(slot) = common(words) {
            // Waiting for a sum in a register takes half the time of waiting for it to come back from memory.
            let slot = &mut table[slot.get() as usize];
            if run.step == 1 {
                // While the machine waits for one sum after the other it does not look far ahead by itself.
                (0..BLOCK).step_by(16).for_each(ask);
                combine_all::<N, C, S>(simd, slot, tile[run.start..][..words.len()].iter());
            } else {
                combine_all::<N, C, S>(simd, slot, tile[run.start..].iter().step_by(run.step).take(words.len()));
            }
        } else if run.step == 1 {
            let values = &tile[run.start..][..words.len()];
            // SAFETY: every word is below `offsets.limit() <= table.len()` by the first assertion.
            unsafe { combine_dense::<N, C, W, S>(simd, table, (words, &all[i * BLOCK..]), values, lookahead, ask) };
        } else {
            for (k, word) in words.iter().enumerate() {
                // SAFETY: as above; the position grows with `k` and is below `tile.len()` for the last one by the
                // second assertion.
                unsafe {
                    let new = *tile.get_unchecked(run.start + k * run.step);
                    C::put(simd, table.get_unchecked_mut(word.get() as usize), new);
                }
            }
        }
    }
}

/// As [`scatter`] for dense values, the first `count` lanes of them, of a run of some length. The slots of those that come
/// later are asked for.
#[inline(always)]
pub(crate) fn scatter_first<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    offsets: Offsets<'_, W>,
    values: &[[u8; N]],
    (count, length): (usize, usize),
) {
    assert_inside(offsets, table.len());
    let (all, values) = (offsets.words(), &values[..count]);
    let words = &all[..count];
    if let Some(slot) = common(words) {
        return combine_all::<N, C, S>(simd, &mut table[slot.get() as usize], values.iter());
    }
    let lookahead = lookahead::<N, C>(table, length);
    for (i, (words, values)) in words.chunks(BLOCK).zip(values.chunks(BLOCK)).enumerate() {
        // SAFETY: every word is below `table.len()` by the assertion above.
        unsafe { combine_dense::<N, C, W, S>(simd, table, (words, &all[i * BLOCK..]), values, lookahead, |_| ()) };
    }
}

/// Combines values into one slot, in order.
#[inline(always)]
pub(crate) fn combine_all<'a, const N: usize, C: Combine<N>, S: Simd>(
    simd: S,
    slot: &mut [u8; N],
    values: impl Iterator<Item = &'a [u8; N]>,
) {
    *slot = values.fold(*slot, |old, new| C::combine(simd, old, *new));
}

/// The one word that all are, if there are several.
#[inline(always)]
fn common<W: Word>(words: &[W]) -> Option<W> {
    let [first, second, rest @ ..] = words else { return None };
    if first.get() != second.get() {
        return None;
    }
    are_all(rest, *first).then_some(*first)
}

/// True if all words are the same as one.
#[inline(always)]
pub(crate) fn are_all<W: Word>(words: &[W], word: W) -> bool {
    // Without a branch for each: the vector unit's work.
    words.iter().fold(0, |bits, other| bits | (other.get() ^ word.get())) == 0
}

/// As [`scatter`], for the lanes of the run whose positions are listed.
#[inline(always)]
pub(crate) fn scatter_some<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    offsets: Offsets<'_, W>,
    tile: &[[u8; N]],
    run: Strided,
    positions: &[u32],
) {
    assert_inside(offsets, table.len());
    let words = &offsets.words()[..offsets.len().min(positions.len())];
    if let Some(slot) = common(words) {
        let slot = &mut table[slot.get() as usize];
        let values = positions.iter().map(|&position| tile[run.start + position as usize * run.step]);
        *slot = values.fold(*slot, |old, new| C::combine(simd, old, new));
        return;
    }
    let ahead = if asks_ahead::<N, C>(table, MANY) { &words[AHEAD.min(words.len())..] } else { &[] };
    let values = &tile[run.start.min(tile.len())..];
    // SAFETY: every word is below `table.len()` by the assertion above.
    unsafe {
        if run.step == 1 {
            let values = positions.iter().map(|&position| values[position as usize]);
            put_all(table, words, values, ahead, |slot, new| C::put(simd, slot, new));
        } else {
            let values = positions.iter().map(|&position| values[position as usize * run.step]);
            put_all(table, words, values, ahead, |slot, new| C::put(simd, slot, new));
        }
    }
}

/// `tile[run.start + k * run.step] = table[offsets[k]]`.
pub(crate) fn gather<const N: usize, W: Word>(
    tile: &mut [[u8; N]],
    run: Strided,
    table: &[[u8; N]],
    offsets: Offsets<'_, W>,
) {
    assert_inside(offsets, table.len());
    assert_run_inside(run, offsets.len(), tile.len());
    if run.step == 1 {
        return gather_each(&mut tile[run.start..][..offsets.len()], table, offsets);
    }
    for (k, word) in offsets.words().iter().enumerate() {
        // SAFETY: as in `scatter`.
        unsafe {
            *tile.get_unchecked_mut(run.start + k * run.step) = *table.get_unchecked(word.get() as usize);
        }
    }
}

/// As [`gather_each`]. Elements of words that come later are asked for on the way, one with each of the first; any word is fine there.
///
/// A function of its own: with AVX-512 the compiler would put the gather instruction in the place of single loads.
#[inline(never)]
pub(crate) fn gather_ahead<const N: usize, W: Word>(
    destination: &mut [[u8; N]],
    table: &[[u8; N]],
    offsets: Offsets<'_, W>,
    ahead: &[W],
) {
    assert_inside(offsets, table.len());
    let into_first = !ahead.is_empty() && Caches::get().reaches_l3();
    for ((slot, word), far) in destination.iter_mut().zip(offsets.words()).zip(ahead) {
        simd::prefetch_level(table, far.get() as usize, into_first);
        // SAFETY: `word < offsets.limit() <= table.len()` by the assertion.
        *slot = unsafe { *table.get_unchecked(word.get() as usize) };
    }
    let asked = ahead.len().min(destination.len()).min(offsets.len());
    gather_each(&mut destination[asked..], table, offsets.after(asked));
}

/// `destination[k] = table[offsets[k]]`, one by one.
#[inline(always)]
pub(crate) fn gather_each<T: Copy, W: Word>(destination: &mut [T], table: &[T], offsets: Offsets<'_, W>) {
    assert_inside(offsets, table.len());
    // SAFETY: `word < offsets.limit() <= table.len()` by the assertion.
    let get = |word: &W| unsafe { *table.get_unchecked(word.get() as usize) };
    // Four a turn: counting turns would take as long as moving an element.
    let length = destination.len().min(offsets.len());
    let (slots, slots_tail) = destination[..length].as_chunks_mut::<4>();
    let (words, words_tail) = offsets.words()[..length].as_chunks::<4>();
    for (slots, words) in slots.iter_mut().zip(words) {
        for (slot, word) in slots.iter_mut().zip(words) {
            *slot = get(word);
        }
    }
    for (slot, word) in slots_tail.iter_mut().zip(words_tail) {
        *slot = get(word);
    }
}

/// Asks for the indices that lie behind these, 16 of them from the k-th on. Mostly they are those of the next calls, which look at all
/// of theirs at once and would wait for memory, where a loop that looks at one after the other has prefetchers ahead of it. Only where
/// the address differs from that of the last one by less than the [`reach`].
#[inline(always)]
pub(crate) fn ask_next<T>(indices: &[T], k: usize, reach: usize) {
    let last = indices.as_ptr_range().end.addr().wrapping_sub(1);
    for j in (0..16).step_by(LINE / size_of::<T>()) {
        let at = indices.len().max(SOON) + k + j;
        if (indices.as_ptr().wrapping_add(at).addr() ^ last) < reach {
            simd::prefetch(indices, at);
        }
    }
}

/// Bytes of a page, at least.
pub(crate) const PAGE: usize = 1 << 12;

/// How far [`ask_next`] may go: where a core [reaches the last level](Caches::reaches_l3) by itself, not to another page, because looking
/// for the address of one that is not there takes as long as 50 lanes.
#[inline(always)]
pub(crate) fn reach() -> usize {
    if Caches::get().reaches_l3() { PAGE } else { usize::MAX }
}

/// Words between asking for one behind those of a call and its own, at least: with fewer it would come too late.
const SOON: usize = 256;

/// Words behind those of a call that are asked for: from there on the machine's prefetchers have caught up.
const NEXT: usize = 1 << 10;

/// As [`scatter`] for dense values that are near, as their offsets are: neither is asked for; slots are, where that helps, and what
/// [follows](ask_next).
#[inline(always)]
pub(crate) fn scatter_near<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    offsets: Offsets<'_, W>,
    values: &[[u8; N]],
) {
    assert_inside(offsets, table.len());
    let words = offsets.words();
    if let Some(slot) = common(words) {
        return combine_all::<N, C, S>(simd, &mut table[slot.get() as usize], values[..words.len()].iter());
    }
    let put = |slot: &mut [u8; N], new| C::put(simd, slot, new);
    let waits = waits_for_pages(table);
    let (next, reach) = (if waits { 0 } else { NEXT }, reach());
    let ask = |k: usize| {
        if k < next {
            ask_next(words, k, reach);
        }
    };
    // SAFETY: every word is below `offsets.limit() <= table.len()` by the assertion.
    unsafe {
        if lookahead_of::<N, C, W>(table, words.len(), words) == FAR {
            // So few lanes are asked for only if they were tried, where the last level is near.
            combine_beyond::<N, C, W, S>(simd, table, (words, words), values);
        } else if waits && !C::WIDENS {
            for (words, values) in words.chunks(BLOCK).zip(values.chunks(BLOCK)) {
                combine_waiting::<N, C, W, S>(simd, table, words, values, C::are_tame(values));
            }
        } else if asks_ahead::<N, C>(table, words.len()) {
            put_asking(table, words, values, (&words[AHEAD.min(words.len())..], ask), put);
        } else if C::TAMES {
            combine_taming::<N, C, W, S>(simd, table, words, values, ask);
        } else {
            put_dense(table, words, values, (Loading::of::<N, C>(), ask), put);
        }
    }
}

/// Lanes of a scatter from which on those that replace are loaded in pairs, too.
const PAIRED: usize = 16;

/// As [`scatter_near`] for a handful of lanes with tame values, in as few instructions as can be; without a loop for many, if there
/// cannot be: callers have this compiled into them, once for each length that has no loop.
#[inline(always)]
pub(crate) fn scatter_handful<const N: usize, C: Combine<N>, W: Word, const MAY_BE_MANY: bool>(
    table: &mut [[u8; N]],
    offsets: Offsets<'_, W>,
    values: &[[u8; N]],
) {
    assert_inside(offsets, table.len());
    let words = offsets.words();
    // No closure: left to itself, the compiler calls one that is used so often.
    #[inline(always)]
    fn put<const N: usize, C: Combine<N>>(slot: &mut [u8; N], new: [u8; N]) {
        *slot = C::combine_tame(Portable, *slot, new);
    }
    // Pairs make whoever waits for page addresses wait longer, see `combine_waiting`.
    let is_far = is_far(table);
    // SAFETY: every word is below `offsets.limit() <= table.len()` by the assertion.
    unsafe {
        if MAY_BE_MANY && words.len() >= PAIRED && !is_far {
            let reach = reach();
            put_dense(table, words, values, (Loading::of::<N, C>(), |k| ask_next(words, k, reach)), put::<N, C>);
        } else {
            if MAY_BE_MANY && !is_far {
                ask_next(words, 0, PAGE);
            }
            let loading = if C::READS && !is_far { Loading::of::<N, C>() } else { Loading::OneByOne };
            put_few(table, words, values, loading, put::<N, C>);
        }
    }
}

/// As [`gather`], for the lanes of the run whose positions are listed; the others become zero.
pub(crate) fn gather_some<const N: usize, W: Word>(
    tile: &mut [[u8; N]],
    run: Strided,
    count: usize,
    table: &[[u8; N]],
    offsets: Offsets<'_, W>,
    positions: &[u32],
) {
    assert_inside(offsets, table.len());
    assert_run_inside(run, count, tile.len());
    let start = run.start.min(tile.len());
    let places = &mut tile[start..];
    if run.step == 1 {
        places[..count].fill([0; N]);
    } else {
        (0..count).for_each(|k| places[k * run.step] = [0; N]);
    }
    for (word, &position) in offsets.words().iter().zip(positions) {
        // SAFETY: `word < table.len()` by the first assertion.
        places[position as usize * run.step] = unsafe { *table.get_unchecked(word.get() as usize) };
    }
}

#[cfg(test)]
mod tests;
