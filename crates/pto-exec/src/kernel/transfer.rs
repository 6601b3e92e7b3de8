//! Moving elements between dense or strided runs and scattered places of a table.
//!
//! Every function is safe to call with any arguments: [`Offsets`] are below their limit by construction, the limit is
//! held against the table and the run against its tile before the loop, and only then is memory accessed unchecked.
#![expect(unsafe_code, reason = "a bounds check per element costs a third of the time of a scatter")]

use super::BLOCK;
use super::combine::Combine;
use super::lanes::Strided;
use super::offsets::{Offsets, Word};
use super::simd::{self, Simd};

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

/// Lanes between asking for a slot and replacing it.
pub(crate) const AHEAD: usize = 32;

/// Tables of up to this many bytes are in the first-level cache soon anyway.
const NEAR_BYTES: usize = 1 << 15;

/// The slots of so few lanes are in the first-level cache, too.
const NEAR_LANES: usize = 512;

/// True if slots have to be asked for. Sums and the like begin with a load, and the core keeps many of those under way;
/// stores are carried out one after the other.
#[inline(always)]
fn asks_ahead<const N: usize, C: Combine<N>>(table: &[[u8; N]]) -> bool {
    !C::READS && !is_near(table)
}

#[inline(always)]
fn is_near<const N: usize>(table: &[[u8; N]]) -> bool {
    table.len() <= NEAR_BYTES / N
}

/// Of larger tables most slots come from beyond the second-level cache.
const FAR_BYTES: usize = 1 << 23;

/// Lanes between asking for a slot of a far table and combining it. It is asked for into the second-level cache, which waits
/// for more lines at a time than the first.
pub(crate) const FAR: usize = 128;

#[inline(always)]
fn is_far<const N: usize>(table: &[[u8; N]]) -> bool {
    table.len() > FAR_BYTES / N
}

/// Lanes from which on their slots of a far table are asked for [far ahead](FAR). Shorter runs wait for the addresses of its
/// pages more than for its slots, and asking for both twice takes a fifth longer.
const FAR_LANES: usize = 1 << 20;

/// As [`FAR_LANES`] for gathers.
const FAR_GATHERED: usize = 3 << 10;

/// Lanes between asking for a slot and combining it, at most, in a run of some length.
#[inline(always)]
pub(crate) fn lookahead<const N: usize, C: Combine<N>>(table: &[[u8; N]], length: usize) -> usize {
    if is_far(table) && length >= FAR_LANES && !C::WIDENS { FAR } else { AHEAD }
}

/// Combines the k-th value into `table[words[k]]`, in order, asking for the slots of the words that follow: into the
/// second-level cache and, where they are only stored to, once more into the first. There may be more words than values.
///
/// A function of its own: with it inside, the loops for near tables get slower by a quarter.
///
/// # Safety
/// All words are below `table.len()`.
#[inline(never)]
unsafe fn combine_far<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    words: &[W],
    values: &[[u8; N]],
) {
    for (k, (word, new)) in words.iter().zip(values).enumerate() {
        if let Some(far) = words.get(k + FAR) {
            simd::prefetch_far(table, far.get() as usize);
        }
        if let (false, Some(near)) = (C::READS, words.get(k + AHEAD)) {
            simd::prefetch(table, near.get() as usize);
        }
        // SAFETY: the caller vouches for all words.
        C::put(simd, unsafe { table.get_unchecked_mut(word.get() as usize) }, *new);
    }
}

/// Puts the k-th value to `table[words[k]]`, in order, asking for the slots of `ahead` on the way.
///
/// # Safety
/// All words are below `table.len()`.
#[inline(always)]
unsafe fn put_all<const N: usize, V, W: Word>(
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

/// As [`put_all`] for dense values, asking for no slots. `ask` is called before every 16 lanes, with their position.
///
/// # Safety
/// All words are below `table.len()`.
#[inline(always)]
unsafe fn put_dense<const N: usize, V: Copy, W: Word>(
    table: &mut [[u8; N]],
    words: &[W],
    values: &[V],
    ask: impl Fn(usize),
    put: impl Fn(&mut [u8; N], V),
) {
    let length = words.len().min(values.len());
    let (chunks, words) = words[..length].as_chunks::<16>();
    let (value_chunks, values) = values[..length].as_chunks::<16>();
    for (i, (words, values)) in chunks.iter().zip(value_chunks).enumerate() {
        ask(16 * i);
        // Four a turn: counting turns would take as long as moving an element.
        for (words, values) in words.as_chunks::<4>().0.iter().zip(values.as_chunks::<4>().0) {
            for (word, new) in words.iter().zip(values) {
                // SAFETY: the caller vouches for all words.
                put(unsafe { table.get_unchecked_mut(word.get() as usize) }, *new);
            }
        }
    }
    for (word, new) in words.iter().zip(values) {
        // SAFETY: as above.
        put(unsafe { table.get_unchecked_mut(word.get() as usize) }, *new);
    }
}

/// Combines the k-th value into `table[words[k]]`, in order and in the quickest way for such values, up to [`BLOCK`] of
/// them. There may be more words than values: the slots of those that follow are asked for where that helps, as far as
/// [`lookahead`] says. `ask` is called before every 16 lanes, with their position.
///
/// # Safety
/// All words are below `table.len()`.
#[inline(always)]
unsafe fn combine_dense<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    words: &[W],
    values: &[[u8; N]],
    lookahead: usize,
    ask: impl Fn(usize),
) {
    if lookahead == FAR {
        // SAFETY: the caller vouches for all words.
        return unsafe { combine_far::<N, C, W, S>(simd, table, words, values) };
    }
    let ahead = &words[AHEAD.min(words.len())..];
    let words = &words[..values.len()];
    let mut wide = [0.0; BLOCK];
    let wide = &mut wide[..words.len()];
    // All at once where no slots are waited for; elsewhere that would take their place.
    let is_near = is_near(table);
    if is_near || asks_ahead::<N, C>(table) {
        (0..BLOCK).step_by(16).for_each(&ask);
    }
    let ask = |k: usize| {
        if !is_near {
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
                ask,
                // By force: a closure on its own is compiled without the instruction set.
                #[inline(always)]
                |slot, new| *slot = C::combine_wide(simd, *slot, new),
            );
        } else if is_near && C::are_tame(values) {
            put_dense(table, words, values, ask, |slot, new| *slot = C::combine_tame(simd, *slot, new));
        } else if asks_ahead::<N, C>(table) {
            put_all(table, words, values.iter().copied(), ahead, |slot, new| C::put(simd, slot, new));
        } else {
            put_dense(table, words, values, ask, |slot, new| C::put(simd, slot, new));
        }
    }
}

/// `table[offsets[k]] = combine(table[offsets[k]], tile[run.start + k * run.step])`, in order.
#[inline(always)]
pub(crate) fn scatter<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    offsets: Offsets<'_, W>,
    tile: &[[u8; N]],
    run: Strided,
) {
    assert_inside(offsets, table.len());
    assert_run_inside(run, offsets.len(), tile.len());
    let all = offsets.words();
    let lookahead = lookahead::<N, C>(table, all.len());
    for (i, words) in all.chunks(BLOCK).enumerate() {
        let run = run.after(i * BLOCK);
        if let Some(slot) = common(words) {
            // Waiting for a sum in a register takes half the time of waiting for it to come back from memory.
            let slot = &mut table[slot.get() as usize];
            let values = (0..words.len()).map(|k| tile[run.start + k * run.step]);
            *slot = values.fold(*slot, |old, new| C::combine(simd, old, new));
        } else if run.step == 1 {
            // The machine's prefetchers lose the two streams among all the other accesses.
            let ask = |k: usize| {
                let next = (i + 1) * BLOCK + k;
                (0..16).step_by(64 / W::BYTES).for_each(|j| simd::prefetch(all, next + j));
                (0..16).step_by(64 / N).for_each(|j| simd::prefetch(tile, run.start + BLOCK + k + j));
            };
            let values = &tile[run.start..][..words.len()];
            // SAFETY: every word is below `offsets.limit() <= table.len()` by the first assertion.
            unsafe { combine_dense::<N, C, W, S>(simd, table, &all[i * BLOCK..], values, lookahead, ask) };
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
        let slot = &mut table[slot.get() as usize];
        *slot = values.iter().fold(*slot, |old, new| C::combine(simd, old, *new));
        return;
    }
    let lookahead = lookahead::<N, C>(table, length);
    for (i, values) in values.chunks(BLOCK).enumerate() {
        // SAFETY: every word is below `table.len()` by the assertion above.
        unsafe { combine_dense::<N, C, W, S>(simd, table, &all[i * BLOCK..], values, lookahead, |_| ()) };
    }
}

/// The one word that all are, if there are several.
#[inline(always)]
fn common<W: Word>(words: &[W]) -> Option<W> {
    let [first, second, rest @ ..] = words else { return None };
    let alike = first.get() == second.get() && rest.iter().all(|word| word.get() == first.get());
    alike.then_some(*first)
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
    let ahead = if asks_ahead::<N, C>(table) { &words[AHEAD.min(words.len())..] } else { &[] };
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

/// The words whose elements are to be asked for while those before them are gathered.
#[inline(always)]
pub(crate) fn far_gathers<'a, const N: usize, W: Word>(table: &[[u8; N]], words: &'a [W]) -> &'a [W] {
    let is_far = is_far(table) && words.len() >= FAR_GATHERED;
    words.get(FAR..).filter(|_| is_far).unwrap_or(&[])
}

/// As [`gather_each`]. Elements of words that come later are asked for on the way; any word is fine there.
///
/// A function of its own: with AVX-512 the compiler would put the gather instruction in the place of single loads.
#[inline(never)]
pub(crate) fn gather_ahead<const N: usize, W: Word>(
    destination: &mut [[u8; N]],
    table: &[[u8; N]],
    offsets: Offsets<'_, W>,
    ahead: &[W],
) {
    let length = destination.len().min(offsets.len());
    let Some(ahead) = ahead.get(..length) else { return gather_each(destination, table, offsets) };
    assert_inside(offsets, table.len());
    for ((slot, word), far) in destination.iter_mut().zip(offsets.words()).zip(ahead) {
        simd::prefetch_far(table, far.get() as usize);
        // SAFETY: `word < offsets.limit() <= table.len()` by the assertion.
        *slot = unsafe { *table.get_unchecked(word.get() as usize) };
    }
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

/// As [`scatter`] for dense values that are in the first-level cache, as their offsets are: nothing is asked for.
#[inline(always)]
pub(crate) fn scatter_near<const N: usize, C: Combine<N>, W: Word, S: Simd>(
    simd: S,
    table: &mut [[u8; N]],
    offsets: Offsets<'_, W>,
    values: &[[u8; N]],
) {
    assert_inside(offsets, table.len());
    let words = offsets.words();
    // SAFETY: every word is below `offsets.limit() <= table.len()` by the assertion.
    unsafe {
        if (is_near(table) || words.len() <= NEAR_LANES) && C::are_tame(values) {
            put_dense(table, words, values, |_| (), |slot, new| *slot = C::combine_tame(simd, *slot, new));
        } else {
            put_dense(table, words, values, |_| (), |slot, new| C::put(simd, slot, new));
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
mod tests {
    use super::super::combine::{Add, Replace};
    use super::super::simd::{Backend, Streams, Task};
    use super::*;

    const GUARD: [u8; 4] = [0xee; 4];

    enum Move<'a> {
        Set(&'a mut [[u8; 4]], Offsets<'a, [u8; 4]>, &'a [[u8; 4]], Strided),
        Add(&'a mut [[u8; 4]], Offsets<'a, [u8; 4]>, &'a [[u8; 4]], Strided),
        Get(&'a mut [[u8; 4]], Strided, &'a [[u8; 4]], Offsets<'a, [u8; 4]>),
    }

    impl Task for Move<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            match self {
                Self::Set(table, offsets, tile, run) => scatter::<4, Replace, _, _>(simd, table, offsets, tile, run),
                Self::Add(table, offsets, tile, run) => scatter::<4, Add<u32>, _, _>(simd, table, offsets, tile, run),
                Self::Get(tile, run, table, offsets) if run.step == 1 => {
                    let tile = &mut tile[run.start..][..offsets.len()];
                    for streams in [None, Some(&Streams::new())] {
                        tile.fill(GUARD);
                        assert!(simd.gather4(tile, table, offsets.words(), streams));
                    }
                }
                Self::Get(tile, run, table, offsets) => gather(tile, run, table, offsets),
            }
        }
    }

    fn elements(values: impl IntoIterator<Item = u32>) -> Vec<[u8; 4]> {
        values.into_iter().map(u32::to_le_bytes).collect()
    }

    #[test]
    fn every_lane_position_reaches_its_slot_and_no_other() {
        for backend in Backend::available() {
            for length in 1..=70usize {
                for step in [1, 3] {
                    let run = Strided { start: 0, step };
                    let tile = elements(100..100 + (length * step) as u32);
                    let mut table = vec![GUARD; length + 2];
                    let words = elements((0..length as u32).rev());
                    let offsets = Offsets::check(&words, length as u64).expect("all inside");
                    backend.run(Move::Set(&mut table[1..=length], offsets, &tile, run));
                    assert_eq!((table[0], table[length + 1]), (GUARD, GUARD));
                    for k in 0..length {
                        assert_eq!(table[length - k], tile[k * step]);
                    }
                    let mut back = vec![GUARD; length * step + 2];
                    backend.run(Move::Get(&mut back[1..=length * step], run, &table[1..=length], offsets));
                    for (k, slot) in back.iter().enumerate() {
                        let inside = k > 0 && k <= length * step && (k - 1) % step == 0;
                        assert_eq!(*slot, if inside { tile[k - 1] } else { GUARD }, "{length} {step} {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn lanes_on_one_slot_add_up_in_a_register() {
        for backend in Backend::available() {
            for length in [2usize, 16, 255, 256, 257, 700] {
                let tile = elements((0..length as u32).map(|k| k * k));
                let words = vec![1u32.to_le_bytes(); length];
                let mut table = elements([7, 8, 9]);
                let offsets = Offsets::check(&words, 3).expect("all inside");
                backend.run(Move::Add(&mut table, offsets, &tile, Strided { start: 0, step: 1 }));
                assert_eq!(table, elements([7, 8 + (0..length as u32).map(|k| k * k).sum::<u32>(), 9]));
            }
        }
    }

    #[test]
    fn a_limit_beyond_the_table_or_a_run_beyond_the_tile_panics_before_any_write() {
        let panics = |work: &mut dyn FnMut()| {
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
        };
        let words = elements(0..4);
        for backend in Backend::available() {
            let (mut table, tile) = (elements(50..53), elements(0..4));
            let offsets = Offsets::check(&words, 4).expect("all inside");
            let dense = Strided { start: 0, step: 1 };
            panics(&mut || backend.run(Move::Add(&mut table, offsets, &tile, dense)));
            panics(&mut || backend.run(Move::Get(&mut elements(0..4), dense, &tile[..3], offsets)));
            assert_eq!(table, elements(50..53));
            for run in [Strided { start: 1, step: 1 }, Strided { start: 1, step: usize::MAX }] {
                let mut table = elements(50..54);
                panics(&mut || backend.run(Move::Set(&mut table, offsets, &tile, run)));
                panics(&mut || backend.run(Move::Get(&mut table, run, &tile, offsets)));
                assert_eq!(table, elements(50..54));
            }
        }
    }

    #[test]
    fn listed_positions_scatter_and_gather_with_zeros_between() {
        struct Listed<'a>(&'a mut [[u8; 4]], &'a [[u8; 4]], &'a [[u8; 4]]);
        impl Task for Listed<'_> {
            type Output = ();

            #[inline(always)]
            fn run<S: Simd>(self, simd: S) {
                let offsets = Offsets::check(self.2, 4).expect("all inside");
                scatter_some::<4, Replace, _, _>(simd, self.0, offsets, self.1, Strided { start: 0, step: 1 }, &[1, 2]);
            }
        }
        let (tile, words) = (elements(10..14), elements([3, 0]));
        for backend in Backend::available() {
            let mut table = elements([0; 4]);
            backend.run(Listed(&mut table, &tile, &words));
            assert_eq!(table, elements([12, 0, 0, 11]));
            let mut dst = elements([7; 5]);
            let offsets = Offsets::check(&words, 4).expect("all inside");
            gather_some::<4, _>(&mut dst, Strided { start: 0, step: 1 }, 4, &table, offsets, &[1, 2]);
            assert_eq!(dst, elements([0, 11, 12, 0, 7]));
        }
    }
}
