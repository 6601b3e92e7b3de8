//! A gather in the order of the table instead of the lanes.
//!
//! Offsets are sorted into buckets as those of a scatter are (see [`partition`](super::partition)); each bucket's
//! offsets are replaced by the values found there, while its part of the table is in cache; then the lanes are gone
//! through once more, and each takes the next value of its bucket. Lanes fall into the same buckets in the same order
//! both times, so that nobody has to write down where a value belongs.

use super::buckets::{Buckets, Chunking, Walk};
use super::offsets::Word;
use super::partition::{LOOK, Split, ask_ahead};
use super::simd::{self, Backend, LINE, Simd, StreamCopy, Streams, Task};

/// A place in a bucket: an offset, and later the value, in its first bytes.
type Place = [u8; 4];

/// Bytes of a place. Values must fit.
pub(crate) const PLACE_BYTES: usize = size_of::<Place>();

/// Places in a line.
const LINE_PLACES: usize = LINE / PLACE_BYTES;

/// Places between asking for an element and reading it.
const AHEAD: usize = 128;

/// Places between asking for one and reading it.
const LATER: usize = 2 * AHEAD;

/// Sorts offsets into a region; returns the buckets, or `None` if an offset is at or beyond the capacity.
pub(crate) fn sort(
    backend: Backend,
    words: &[[u8; 4]],
    capacity: u64,
    (split, chunking): (Split, Chunking),
    region: &mut [u8],
) -> Option<Buckets> {
    let region = region.as_chunks_mut().0;
    backend.run(Sort { words, capacity, split, walk: Walk::new(chunking, region) })
}

struct Sort<'a> {
    words: &'a [[u8; 4]],
    capacity: u64,
    split: Split,
    walk: Walk<'a, Place>,
}

impl Sort<'_> {
    /// True if all of these words are offsets; they are sorted then.
    #[inline(always)]
    fn look(&mut self, words: &[[u8; 4]]) -> bool {
        let split = self.split;
        let within = Word::largest(words) < self.capacity;
        if within {
            self.walk.fill(words.len(), |k| {
                let offset = words[k].get();
                (split.bucket(offset), split.rest(offset).to_le_bytes())
            });
        }
        within
    }
}

impl Task for Sort<'_> {
    type Output = Option<Buckets>;

    #[inline(always)]
    fn run<S: Simd>(mut self, _: S) -> Option<Buckets> {
        let words = self.words;
        let (looks, rest) = words.as_chunks::<LOOK>();
        for (i, look) in looks.iter().enumerate() {
            ask_ahead(words, i * LOOK);
            if !self.look(look) {
                return None;
            }
        }
        self.look(rest).then(|| self.walk.finish())
    }
}

/// Replaces offsets, of which each piece holds some, by the elements of `size` bytes that they stand for in their bucket's part of
/// the table.
pub(crate) fn look_up(size: usize, pieces: Vec<&mut [u8]>, table: &[u8]) {
    match size {
        1 => look_up_as::<1>(pieces, table),
        2 => look_up_as::<2>(pieces, table),
        _ => look_up_as::<4>(pieces, table),
    }
}

fn look_up_as<const N: usize>(pieces: Vec<&mut [u8]>, table: &[u8]) {
    let table = table.as_chunks::<N>().0;
    let offset = |place: &Place| u32::from_le_bytes(*place) as usize;
    let ask = |places: &[Place]| places.iter().for_each(|place| simd::prefetch_far(table, offset(place)));
    let mut pieces = pieces.into_iter().map(|piece| piece.as_chunks_mut::<PLACE_BYTES>().0).peekable();
    let mut is_first = true;
    while let Some(mut places) = pieces.next() {
        let next = pieces.peek().map_or(&[][..], |next| next);
        if core::mem::take(&mut is_first) {
            ask(&places[..AHEAD.min(places.len())]);
        }
        while !places.is_empty() {
            let (now, later) = places.split_at_mut(LINE_PLACES.min(places.len()));
            // While the last offsets of a piece are replaced, the first ones of the next are asked for.
            let ahead = |distance: usize| {
                let distance = distance - LINE_PLACES;
                let ahead = later.get(distance..).filter(|ahead| !ahead.is_empty());
                let ahead = ahead.unwrap_or_else(|| next.get(distance - later.len()..).unwrap_or(&[]));
                &ahead[..LINE_PLACES.min(ahead.len())]
            };
            simd::prefetch_run(ahead(LATER), 0, 1);
            ask(ahead(AHEAD));
            for place in now {
                let value = table[offset(place)];
                place[..N].copy_from_slice(&value);
            }
            places = later;
        }
    }
}

/// Hands the values of a region out to the lanes that were [sorted](sort) into it, past the caches if allowed.
pub(crate) fn hand_out(
    (backend, size, streams): (Backend, usize, Option<&Streams>),
    words: &[[u8; 4]],
    split: Split,
    (chunking, region): (Chunking, &mut [u8]),
    tile: &mut [u8],
) {
    match size {
        1 => hand_out_as::<1>((backend, streams), words, split, (chunking, region), tile),
        2 => hand_out_as::<2>((backend, streams), words, split, (chunking, region), tile),
        _ => hand_out_as::<4>((backend, streams), words, split, (chunking, region), tile),
    }
}

fn hand_out_as<const N: usize>(
    (backend, streams): (Backend, Option<&Streams>),
    all: &[[u8; 4]],
    split: Split,
    (chunking, region): (Chunking, &mut [u8]),
    tile: &mut [u8],
) {
    let mut walk = Walk::new(chunking, region.as_chunks_mut::<PLACE_BYTES>().0);
    for (i, (words, slots)) in all.chunks(LOOK).zip(tile.as_chunks_mut::<N>().0.chunks_mut(LOOK)).enumerate() {
        ask_ahead(all, i * LOOK);
        let found = &mut [[0; N]; LOOK][..words.len()];
        for (word, slot) in words.iter().zip(&mut *found) {
            slot.copy_from_slice(&walk.take(split.bucket(word.get()))[..N]);
        }
        match streams {
            Some(streams) => {
                // On its own: with AVX-512 the compiler would put the gather instruction in the place of the loads above.
                let (to, from) = (slots.as_flattened_mut(), found.as_flattened());
                backend.run(StreamCopy { streams, to, from });
            }
            None => slots.copy_from_slice(found),
        }
    }
}
