//! Rows that replace others, dealt out to threads by where they come from.
//!
//! Threads that own a part of the table each go through all rows of the source, and prefetchers bring those of the others along.
//! Here each reads its share of them, once. Of several rows that go to one place the last has to stay: a share leaves out what a
//! later one replaces, so that no place is written by two of them, and they can be carried out in any order.
#![expect(unsafe_code, reason = "which rows of a table a thread writes is known at run time only")]

use core::marker::PhantomData;

use super::offsets::Word;
use super::simd::{LINE, Line, Simd, Streams, Task};

/// Rows that are marked in a word.
const MARKS: usize = u64::BITS as usize;

/// Words of marks that a table of so many rows takes for each share.
pub(crate) fn marks(rows: usize) -> usize {
    rows.div_ceil(MARKS)
}

/// Lanes, and the rows that they go to, marked.
pub(crate) struct Marked<'a, W> {
    words: &'a [W],
    marks: &'a mut [u64],
}

impl<'a, W: Word> Marked<'a, W> {
    /// Marks the rows that lanes go to, and no others.
    ///
    /// # Panics
    /// If there are fewer [`marks`] than rows.
    pub(crate) fn new(words: &'a [W], marks: &'a mut [u64]) -> Self {
        marks.fill(0);
        for word in words {
            let row = word.get() as usize;
            marks[row / MARKS] |= 1 << (row % MARKS);
        }
        Self { words, marks }
    }
}

/// Rows of a table: the bytes of each, and from the start of one to that of the next.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) length: usize,
    pub(crate) step: usize,
}

/// Lanes that replace rows of a table, those of them that no later lane replaces again.
pub(crate) struct Share<'a, W> {
    /// The first byte of the table, and how many there are; this share's are those of its rows.
    table: (*mut u8, usize),
    shape: Rows,
    words: &'a [W],
    /// The rows that later shares replace.
    later: &'a [u64],
    lives: PhantomData<&'a mut [u8]>,
}

// SAFETY: it stands for `&mut` of the rows that it writes, which are no other share's, see `deal`.
unsafe impl<W: Word> Send for Share<'_, W> {}

/// Deals out a table: to each of these lanes, the first ones first, the rows that are theirs.
///
/// # Panics
/// If rows overlap, or some have other marks than the rest.
pub(crate) fn deal<'a, W>(table: &'a mut [u8], shape: Rows, mut marked: Vec<Marked<'a, W>>) -> Vec<Share<'a, W>> {
    assert!(shape.length <= shape.step, "rows do not overlap");
    // What is marked becomes the rows of a share and of all later ones.
    for i in (1..marked.len()).rev() {
        let (before, after) = marked.split_at_mut(i);
        let (marks, later) = (&mut *before[i - 1].marks, &*after[0].marks);
        assert!(marks.len() == later.len(), "all mark rows of one table");
        marks.iter_mut().zip(later).for_each(|(mark, later)| *mark |= later);
    }
    let (lanes, marks): (Vec<_>, Vec<&'a [u64]>) = marked.into_iter().map(|it| (it.words, &*it.marks)).unzip();
    let later = marks.into_iter().skip(1).chain([&[][..]]);
    let table = (table.as_mut_ptr(), table.len());
    // No row is written by two shares: the later one has marked it, so that it is marked among what is later than the other.
    let share = |(words, later)| Share { table, shape, words, later, lives: PhantomData };
    lanes.into_iter().zip(later).map(share).collect()
}

#[inline(always)]
fn is_marked(marks: &[u64], row: usize) -> bool {
    marks.get(row / MARKS).is_some_and(|word| word >> (row % MARKS) & 1 == 1)
}

/// Carries out a share, past the caches.
///
/// # Panics
/// If a row is beyond the table, or there are fewer in the source than lanes.
pub(crate) struct Replace<'a, W> {
    pub(crate) share: Share<'a, W>,
    /// The source, from the first row of the share on.
    pub(crate) rows: &'a [u8],
    /// Bytes from the start of a row of the source to that of the next.
    pub(crate) step: usize,
}

impl<W: Word> Task for Replace<'_, W> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { share: Share { table: (first, count), shape, words, later, .. }, rows, step } = self;
        let are_lines = [first.addr(), shape.length, shape.step].iter().all(|bytes| bytes.is_multiple_of(LINE));
        let streams = Streams::new();
        for (i, word) in words.iter().enumerate() {
            let row = word.get() as usize;
            if is_marked(later, row) {
                continue;
            }
            let new = &rows[i * step..][..shape.length];
            let at = row.checked_mul(shape.step).filter(|at| at.saturating_add(shape.length) <= count);
            let at = at.expect("rows are in the table");
            // SAFETY: so many bytes from `at` on are in the table, and rows do not overlap. This one is none that another share
            // writes, see `deal`; none reads any, and nobody else can while the shares live.
            let old = unsafe { core::slice::from_raw_parts_mut(first.add(at), shape.length) };
            if are_lines {
                let lines = bytemuck::cast_slice_mut::<u8, Line>(old).iter_mut().zip(new.as_chunks::<LINE>().0);
                lines.for_each(|(line, new)| simd.stream_line(line, new, &streams));
            } else {
                streams.copy(simd, old, new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::simd::Backend;

    /// Shares carried out one after the other, in every rotation of their order and of its reverse, against all lanes in turn. Rows of
    /// whole lines and others, a table that ends with its last row, guards between rows.
    #[test]
    fn the_last_row_stays_in_whatever_order_shares_are_carried_out() {
        const ROWS: usize = 70;
        for (length, step, away) in [(64, 64, 0), (128, 192, 0), (128, 128, 16), (80, 96, 0), (3, 5, 1)] {
            // The first and the last row of the source go to one place, which no other goes to.
            let mut words: Vec<[u8; 4]> = (0..90u32).map(|k| (k * k * 31 % 69).to_le_bytes()).collect();
            (words[0], words[89]) = (69u32.to_le_bytes(), 69u32.to_le_bytes());
            let rows: Vec<u8> = (0..90 * (length + 7)).map(|k| (k % 251) as u8).collect();
            let count = (ROWS - 1) * step + length;
            let mut memory = vec![Line([0xee; LINE]); (away + count).div_ceil(LINE) + 1];
            let mut expected = vec![0xee; memory.len() * LINE];
            for (lane, word) in words.iter().enumerate() {
                let at = away + u32::from_le_bytes(*word) as usize * step;
                expected[at..][..length].copy_from_slice(&rows[lane * (length + 7)..][..length]);
            }
            for (shares, turn, backend) in [1, 2, 3, 8].into_iter().flat_map(|shares| {
                (0..2 * shares).flat_map(move |turn| Backend::available().map(move |it| (shares, turn, it)))
            }) {
                memory.fill(Line([0xee; LINE]));
                let mut marks = vec![[u64::MAX; 2]; shares];
                let cut = |i: usize| 90 * i / shares;
                let lanes = (0..shares).map(|i| &words[cut(i)..cut(i + 1)]);
                let marked = lanes.zip(&mut marks).map(|(words, marks)| Marked::new(words, marks)).collect();
                let table = &mut bytemuck::cast_slice_mut::<Line, u8>(&mut memory)[away..away + count];
                let dealt = deal(table, Rows { length, step }, marked);
                let mut dealt: Vec<_> = dealt.into_iter().enumerate().collect();
                dealt.rotate_left(turn / 2);
                if turn % 2 == 1 {
                    dealt.reverse();
                }
                for (i, share) in dealt {
                    backend.run(Replace { share, rows: &rows[cut(i) * (length + 7)..], step: length + 7 });
                }
                assert!(
                    bytemuck::cast_slice::<Line, u8>(&memory) == expected,
                    "{length} {step} {away} {shares} {turn}"
                );
            }
        }
    }

    #[test]
    #[should_panic(expected = "rows are in the table")]
    fn a_row_beyond_the_table_is_not_written() {
        let (words, mut marks, mut table) = ([2u32.to_le_bytes()], [0], [0; 23]);
        let share = deal(&mut table, Rows { length: 8, step: 8 }, vec![Marked::new(&words, &mut marks)]).pop().unwrap();
        Backend::PORTABLE.run(Replace { share, rows: &[1; 8], step: 8 });
    }
}
