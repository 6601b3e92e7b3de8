//! Sets of the elements of a buffer: one bit each, or one for each row.

use crate::slots::Slots;

/// A set of elements.
#[derive(Clone, Debug, Default)]
pub(super) struct Elements(Vec<u64>);

/// The bits of a word that elements `first..end` take, where `word` is the first or last that they touch.
fn mask(word: u64, first: u64, end: u64) -> u64 {
    let (low, high) = (first.max(word * 64) - word * 64, end.min(word * 64 + 64) - word * 64);
    (u64::MAX >> (64 - (high - low))) << low
}

impl Elements {
    /// Makes room for so many.
    pub(super) fn reserve(&mut self, count: u64) {
        let words = count.div_ceil(64) as usize;
        if self.0.is_empty() {
            // New memory need not be cleared.
            self.0 = vec![0; words];
        } else if self.0.len() < words {
            self.0.resize(words, 0);
        }
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Adds the first element of each run, or its number by [`Slots::row_shift`]; the starts of those that were there
    /// have met.
    #[inline(always)]
    pub(super) fn add_firsts(&mut self, starts: &[u64], shift: u32, met: &mut Vec<u64>) {
        let words = &mut self.0[..];
        for &start in starts {
            let number = start >> shift;
            let Some(word) = words.get_mut((number / 64) as usize) else { continue };
            let before = *word;
            *word = before | 1 << (number % 64);
            if *word == before {
                rare(met, start);
            }
        }
    }

    /// Adds runs of elements; the starts of those whose first element was there have met.
    pub(super) fn add_meeting(&mut self, elements: &Slots, met: &mut Vec<u64>) {
        for &start in elements.starts.iter().filter(|_| elements.length > 0) {
            if self.0.get((start / 64) as usize).is_some_and(|word| word & 1 << (start % 64) != 0) {
                rare(met, start);
            }
            self.add_run(start, start + elements.length);
        }
    }

    /// Adds runs of elements.
    pub(super) fn add(&mut self, elements: &Slots) {
        // Rows are mostly of a few whole words, and setting these costs less than a loop that might be of any length.
        match elements.length {
            0 => {}
            1 => self.add_numbers(&elements.starts, 0),
            64 => self.add_words::<1>(&elements.starts),
            128 => self.add_words::<2>(&elements.starts),
            256 => self.add_words::<4>(&elements.starts),
            512 => self.add_words::<8>(&elements.starts),
            1024 => self.add_words::<16>(&elements.starts),
            length => elements.starts.iter().for_each(|start| self.add_run(*start, start + length)),
        }
    }

    /// Adds runs of so many words.
    fn add_words<const WORDS: usize>(&mut self, starts: &[u64]) {
        for &start in starts {
            let words = self.0.get_mut((start / 64) as usize..).and_then(|words| words.first_chunk_mut::<WORDS>());
            match words {
                Some(words) if start.is_multiple_of(64) => *words = [u64::MAX; WORDS],
                _ => self.add_run(start, start + 64 * WORDS as u64),
            }
        }
    }

    fn add_run(&mut self, start: u64, end: u64) {
        let (first, last) = (start / 64, end.div_ceil(64).min(self.0.len() as u64));
        let Some(words) = self.0.get_mut(first as usize..last as usize) else { return };
        words.iter_mut().zip(first..).for_each(|(bits, word)| *bits |= mask(word, start, end));
    }

    /// Adds the numbers of runs.
    fn add_numbers(&mut self, starts: &[u64], shift: u32) {
        for start in starts {
            let number = start >> shift;
            if let Some(word) = self.0.get_mut((number / 64) as usize) {
                *word |= 1 << (number % 64);
            }
        }
    }

    /// Forgets the numbers of all runs that are here.
    pub(super) fn clear(&mut self, starts: &[u64], shift: u32) {
        for start in starts {
            if let Some(word) = self.0.get_mut(((start >> shift) / 64) as usize) {
                *word = 0;
            }
        }
    }

    /// Moves the elements of a set, all of them in `runs`, here.
    pub(super) fn take(&mut self, from: &mut Self, runs: &Slots) {
        let take = |to: &mut u64, from: &mut u64| *to |= std::mem::take(from);
        // Going through the whole set is faster where many of its words have been touched.
        let words = runs.length.div_ceil(64) + 1;
        if runs.starts.len() as u64 * words * 4 >= self.0.len() as u64 {
            self.0.iter_mut().zip(&mut from.0).for_each(|(to, from)| take(to, from));
            return;
        }
        for &start in &runs.starts {
            let words = (start / 64) as usize..(start + runs.length).div_ceil(64) as usize;
            let (Some(to), Some(from)) = (self.0.get_mut(words.clone()), from.0.get_mut(words)) else { continue };
            to.iter_mut().zip(from).for_each(|(to, from)| take(to, from));
        }
    }

    /// Adds the elements of a set that has as much room.
    fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// The first element within `first..end`.
    fn first_within(&self, first: u64, end: u64) -> Option<u64> {
        let end = end.min(self.0.len() as u64 * 64);
        (first / 64..end.div_ceil(64)).find_map(|word| {
            let bits = self.0.get(word as usize)? & mask(word, first, end);
            (bits != 0).then(|| word * 64 + u64::from(bits.trailing_zeros()))
        })
    }

    pub(super) fn each(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.checked_sub(1)?;
                Some(at * 64 + bit as usize)
            })
        })
    }
}

/// Rows of one length at multiples of a power of two from each other, a bit for each.
#[derive(Clone, Debug)]
struct Rows {
    shift: u32,
    /// Where the first one begins, whether it is here or not.
    first: u64,
    length: u64,
    numbers: Elements,
}

impl Rows {
    /// No rows, of the kind of these ones.
    fn like(runs: &Slots) -> Option<Self> {
        let (shift, start) = (runs.row_shift()?, runs.starts.first()?);
        let rows = Self { shift, first: start % runs.stride, length: runs.length, numbers: Elements::default() };
        runs.stride.is_power_of_two().then_some(rows)
    }

    fn are_like(&self, other: &Self) -> bool {
        (self.shift, self.first, self.length) == (other.shift, other.first, other.length)
    }

    fn start(&self, number: u64) -> u64 {
        (number << self.shift) + self.first
    }

    /// The first element within `first..end`.
    fn first_within(&self, first: u64, end: u64) -> Option<u64> {
        let reaching = first.checked_sub(self.first + self.length).map_or(0, |behind| (behind >> self.shift) + 1);
        let beyond = end.saturating_sub(self.first).div_ceil(1 << self.shift);
        let number = (reaching < beyond).then(|| self.numbers.first_within(reaching, beyond))?;
        number.map(|number| self.start(number).max(first))
    }
}

/// Elements of a buffer, those that came in rows as such: a table that is written by rows takes a bit for each row, and
/// the bits that are looked at stay in the nearest cache.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    elements: Elements,
    rows: Option<Rows>,
}

impl Touched {
    /// Adds runs of elements of a buffer of so many.
    pub(super) fn add(&mut self, runs: &Slots, count: u64) {
        if let Some(new) = Rows::like(runs) {
            let rows = self.rows.get_or_insert(new.clone());
            if rows.are_like(&new) {
                rows.numbers.reserve((count >> rows.shift) + 1);
                return rows.numbers.add_numbers(&runs.starts, rows.shift);
            }
        }
        self.elements.reserve(count);
        self.elements.add(runs);
    }

    /// Moves the elements of a set, all of them in `runs`, here.
    pub(super) fn take(&mut self, from: &mut Elements, runs: &Slots, count: u64) {
        self.elements.reserve(count);
        self.elements.take(from, runs);
    }

    pub(super) fn join(&mut self, mut other: Self, count: u64) {
        match (&mut self.rows, other.rows.take()) {
            (_, None) => {}
            (Some(mine), Some(theirs)) if mine.are_like(&theirs) => mine.numbers.join(&theirs.numbers),
            (Some(_), theirs) => {
                other.rows = theirs;
                other.spread(count);
            }
            (mine @ None, theirs) => *mine = theirs,
        }
        if !other.elements.0.is_empty() {
            self.elements.reserve(count);
            self.elements.join(&other.elements);
        }
    }

    /// Rows become elements.
    fn spread(&mut self, count: u64) {
        let Some(rows) = self.rows.take() else { return };
        self.elements.reserve(count);
        for start in rows.numbers.each().map(|number| rows.start(number as u64)) {
            self.elements.add_run(start, start + rows.length);
        }
    }

    /// All of them, one by one.
    pub(super) fn each(&mut self, count: u64) -> impl Iterator<Item = usize> + '_ {
        self.spread(count);
        self.elements.each()
    }

    /// The first one within `first..end`.
    pub(super) fn first_within(&self, first: u64, end: u64) -> Option<u64> {
        let element = self.elements.first_within(first, end);
        let row = self.rows.as_ref().and_then(|rows| rows.first_within(first, end));
        element.into_iter().chain(row).min()
    }
}

/// A lane that met another one. Out of line, where it does not slow the others down.
#[cold]
#[inline(never)]
fn rare(met: &mut Vec<u64>, start: u64) {
    met.push(start);
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u64 = 5 * 1024;

    fn runs(starts: &[u64], length: u64, stride: u64) -> Slots {
        Slots { starts: starts.to_vec(), length, stride, runs_per_lane: 1 }
    }

    fn numbers(touched: &Touched) -> Vec<u64> {
        touched.clone().each(COUNT).map(|element| element as u64).collect()
    }

    #[test]
    fn runs_of_every_length_and_start_are_added_whole() {
        for length in [0, 1, 3, 63, 64, 65, 128, 192, 256, 512, 1024] {
            for start in [0, 1, 63, 64, 320, 1000, COUNT - 64, COUNT - length] {
                for stride in [1, length.max(1), 1024] {
                    let starts = [start, start % stride + 2048 / stride * stride];
                    let mut touched = Touched::default();
                    touched.add(&runs(&starts, length, stride), COUNT);
                    let inside = |element: &u64| starts.iter().any(|start| (*start..start + length).contains(element));
                    let expected: Vec<u64> = (0..COUNT).filter(inside).collect();
                    assert_eq!(numbers(&touched), expected, "{length} at {start} by {stride}");
                }
            }
        }
    }

    #[test]
    fn the_first_element_within_a_range_is_found_in_rows_as_in_elements() {
        let mut rows = Touched::default();
        rows.add(&runs(&[5, 5 + 64, 5 + 64 * 7], 48, 64), COUNT);
        assert!(rows.rows.is_some() && rows.elements.0.is_empty());
        let mut elements = rows.clone();
        elements.spread(COUNT);
        for first in 0..600 {
            for end in first + 1..600 {
                assert_eq!(rows.first_within(first, end), elements.first_within(first, end), "{first}..{end}");
            }
        }
    }

    #[test]
    fn sets_of_different_rows_join_without_loss() {
        let kinds = [runs(&[0, 256], 64, 64), runs(&[2, 34], 32, 32), runs(&[9, 100], 1, 1), runs(&[7, 71], 40, 64)];
        for one in &kinds {
            for other in &kinds {
                let (mut first, mut second, mut both) = (Touched::default(), Touched::default(), Touched::default());
                first.add(one, COUNT);
                second.add(other, COUNT);
                both.add(one, COUNT);
                both.add(other, COUNT);
                let mut expected = [numbers(&first), numbers(&second)].concat();
                expected.sort_unstable();
                expected.dedup();
                first.join(second, COUNT);
                assert_eq!((numbers(&first), numbers(&both)), (expected.clone(), expected));
            }
        }
    }
}
