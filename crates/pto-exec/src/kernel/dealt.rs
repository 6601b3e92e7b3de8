//! Rows that replace others, dealt out to threads by where they come from.
//!
//! Threads that own a part of the table each go through all rows of the source, and prefetchers bring those of the others along.
//! Here each reads its share of them, once. Of several rows that go to one place the last has to stay: a share leaves out what a
//! later one replaces, so that no place is written by two of them, and they can be carried out in any order.
#![expect(unsafe_code, reason = "which rows of a table a thread writes is known at run time only")]

use core::marker::PhantomData;

use super::offsets::Word;
use super::rows::WholeLines;
use super::simd::{LINE, Line, Simd, Streams, Task};

/// Rows that are marked in a word.
const MARKS: usize = u64::BITS as usize;

/// Words of marks that a table of so many rows takes for each share.
pub(crate) fn marks(rows: usize) -> usize {
    rows.div_ceil(MARKS)
}

/// Lanes, and the rows that they go to, marked.
pub(crate) struct Marked<'a> {
    words: &'a [[u8; 4]],
    marks: &'a mut [u64],
}

impl<'a> Marked<'a> {
    /// Marks the rows that lanes go to, and no others.
    ///
    /// # Panics
    /// If there are fewer [`marks`] than rows.
    pub(crate) fn new(words: &'a [[u8; 4]], marks: &'a mut [u64]) -> Self {
        marks.fill(0);
        for word in words {
            let row = word.get() as usize;
            marks[row / MARKS] |= 1 << (row % MARKS);
        }
        Self { words, marks }
    }
}

/// Lanes that replace rows of a table, those of them that no later lane replaces again.
pub(crate) struct Share<'a> {
    /// The first line of the table, and how many there are; this share's are those of its rows.
    table: (*mut Line, usize),
    /// Lines of a row, and from the first of a row to that of the next.
    shape: (usize, usize),
    words: &'a [[u8; 4]],
    /// The rows that later shares replace.
    later: &'a [u64],
    lives: PhantomData<&'a mut [Line]>,
}

// SAFETY: it stands for `&mut` of the rows that it writes, which are no other share's, see `deal`.
unsafe impl Send for Share<'_> {}

/// Deals out a table: to each of these lanes, the first ones first, the rows that are theirs.
///
/// # Panics
/// If rows overlap, or some have other marks than the rest.
pub(crate) fn deal<'a>(table: WholeLines<'a>, mut marked: Vec<Marked<'a>>) -> Vec<Share<'a>> {
    assert!(table.length <= table.step, "rows do not overlap");
    // What is marked becomes the rows of a share and of all later ones.
    for i in (1..marked.len()).rev() {
        let (before, after) = marked.split_at_mut(i);
        let (marks, later) = (&mut *before[i - 1].marks, &*after[0].marks);
        assert!(marks.len() == later.len(), "all mark rows of one table");
        marks.iter_mut().zip(later).for_each(|(mark, later)| *mark |= later);
    }
    let (lanes, marks): (Vec<_>, Vec<&'a [u64]>) = marked.into_iter().map(|it| (it.words, &*it.marks)).unzip();
    let later = marks.into_iter().skip(1).chain([&[][..]]);
    let (count, first) = (table.lines.len(), table.lines.as_mut_ptr());
    // No row is written by two shares: the later one has marked it, so that it is marked among what is later than the other.
    let share = |(words, later)| Share {
        table: (first, count),
        shape: (table.length, table.step),
        words,
        later,
        lives: PhantomData,
    };
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
pub(crate) struct Replace<'a> {
    pub(crate) share: Share<'a>,
    /// The source, from the first row of the share on.
    pub(crate) rows: &'a [u8],
    /// Bytes from the start of a row to that of the next.
    pub(crate) step: usize,
}

impl Task for Replace<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { share: Share { table: (first, count), shape: (length, distance), words, later, .. }, rows, step } =
            self;
        let streams = Streams::new();
        for (i, word) in words.iter().enumerate() {
            let row = word.get() as usize;
            if is_marked(later, row) {
                continue;
            }
            let new = rows[i * step..][..length * LINE].as_chunks::<LINE>().0;
            let at = row.checked_mul(distance).filter(|at| at.saturating_add(length) <= count);
            let at = at.expect("rows are in the table");
            // SAFETY: `length` lines from `at` on are in the table, and rows do not overlap. This one is none that another share writes, see
            // `deal`; none reads any, and nobody else can while the shares live.
            let lines = unsafe { core::slice::from_raw_parts_mut(first.add(at), length) };
            for (line, new) in lines.iter_mut().zip(new) {
                simd.stream_line(line, new, &streams);
            }
        }
    }
}
