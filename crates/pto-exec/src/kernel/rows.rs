//! Whole rows, each a few contiguous pieces of tile and table.

use core::ops::Range;

use super::BLOCK;
use super::cache::Caches;
use super::elements::Moved;
use super::lanes::Strided;
use super::offsets::{AnyOffsets, Word};
use super::simd::{self, Backend, LINE, Line, Simd, Streams, Task};

/// Rows of up to this many bytes are asked for before they are copied through the caches.
const ASKED_BYTES: usize = 512;

/// Cache lines that are asked for at a time.
const ASKED_LINES: usize = 8;

/// Rows of up to this many bytes are copied in place, longer ones by a call.
const INLINE_BYTES: usize = 4096;

/// Rows of this many bytes and more are copied by lines of the destination: a store to two lines takes as long as two.
const ALIGNED_BYTES: usize = 512;

/// What rows to come are asked for, and how much of them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Ask {
    /// To be replaced: a store waits for its line to be the core's own, and those after it wait with it. Otherwise to be read,
    /// or read and written: the core keeps many loads under way.
    to_write: bool,
    /// Cache lines of each piece of a row that are asked for.
    lines: usize,
    /// Cache lines that are under way at a time.
    in_flight: usize,
    /// Lines to be read are asked for into the first-level cache, not the second.
    into_first: bool,
}

impl Ask {
    /// For rows to be read. Machines with a large second-level cache find the rest of a row after its first lines, those with
    /// a small one do not.
    pub(super) fn read() -> Self {
        let caches = Caches::get();
        let (lines, in_flight) = match () {
            () if caches.is_l3_far() => (4, 48),
            () if caches.reaches_l3() => (16, 128),
            () => (16, 64),
        };
        Self { to_write: false, lines, in_flight, into_first: caches.reaches_l3() }
    }

    /// For rows to be replaced: all of their lines, as many as leave the first-level cache room for everything else.
    pub(super) fn write() -> Self {
        Self { to_write: true, lines: INLINE_BYTES / LINE, in_flight: 32, into_first: true }
    }

    /// Asks for a line of a piece that is to be read, by its first element.
    #[inline(always)]
    fn line<const N: usize>(self, table: &[[u8; N]], at: usize) {
        simd::prefetch_level(table, at, self.into_first);
    }
}

/// A piece of a row that is contiguous in both the tile and the table, in elements from the row's start in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) tile: usize,
    pub(crate) table: usize,
    pub(crate) length: usize,
}

/// A block of rows to move.
#[derive(Clone, Copy)]
pub(crate) struct RowBlock<'a> {
    /// Which rows, or where they start.
    pub(crate) moved: Moved<'a>,
    /// Elements from the start of a row to that of the next; 1 if where they start is known.
    pub(crate) stride: usize,
    /// The pieces of each.
    pub(crate) segments: &'a [Segment],
    /// Rows that are replaced are written past the caches.
    pub(crate) streams: Option<&'a Streams>,
}

impl RowBlock<'_> {
    /// Rows between asking for one and moving it.
    #[inline(always)]
    fn ahead<const N: usize>(&self, ask: Ask) -> usize {
        let lines = |segment: &Segment| (segment.length * N).div_ceil(LINE).clamp(1, ask.lines);
        ask.in_flight / self.segments.iter().map(lines).sum::<usize>().clamp(1, ask.in_flight)
    }

    /// The lines of the tile from its first row on, if rows are one piece each, none is dropped, and all begin and end with a line.
    #[inline(always)]
    fn tile_lines<'t, const N: usize>(&self, tile: &'t mut [[u8; N]]) -> Option<WholeLines<'t>> {
        let (&[Segment { tile: at, length, .. }], None) = (self.segments, self.moved.positions) else { return None };
        let Strided { start, step } = self.moved.payload;
        WholeLines::of(tile.get_mut(start + at..)?, length, step)
    }

    /// The lines of the table from its first row on, if rows are one piece each and all begin and end with a line.
    #[inline(always)]
    pub(super) fn table_lines<'t, const N: usize>(&self, table: &'t mut [[u8; N]]) -> Option<WholeLines<'t>> {
        let &[Segment { table: at, length, .. }] = self.segments else { return None };
        WholeLines::of(table.get_mut(at..)?, length, self.stride)
    }

    /// Replaces rows of whole lines past the caches, in few instructions each.
    #[inline(always)]
    pub(super) fn replace_lines<const N: usize, W: Word, S: Simd>(
        &self,
        simd: S,
        streams: &Streams,
        whole: WholeLines<'_>,
        words: &[W],
        tile: &[[u8; N]],
    ) {
        let Moved { payload, positions, .. } = self.moved;
        let WholeLines { lines, length, step } = whole;
        let first = payload.start + self.segments[0].tile;
        for (i, word) in words.iter().enumerate() {
            let row = positions.map_or(i, |positions| positions[i] as usize);
            let new = tile[first + row * payload.step..].as_flattened()[..length * LINE].as_chunks::<LINE>().0;
            for (line, new) in lines[word.get() as usize * step..][..length].iter_mut().zip(new) {
                simd.stream_line(line, new, streams);
            }
        }
    }

    /// Gathers rows of whole lines, in few instructions each: past the caches, or through them, where the lines to be written are
    /// asked for as early as those to be read.
    #[inline(always)]
    fn gather_lines<const N: usize, W: Word, S: Simd>(
        &self,
        simd: S,
        whole: WholeLines<'_>,
        words: &[W],
        table: &[[u8; N]],
    ) {
        let ask = Ask::read();
        let (ahead, asked) = (self.ahead::<N>(ask), whole.length.min(ask.lines));
        let first = |word: &W| word.get() as usize * self.stride + self.segments[0].table;
        let prefetch =
            |word: &W| (0..asked).for_each(|line| ask.line(table, first(word).wrapping_add(line * (LINE / N))));
        words.iter().take(ahead).for_each(prefetch);
        let (mut lines, length) = (whole.lines, whole.length);
        for (i, word) in words.iter().enumerate() {
            if let Some(next) = words.get(i + ahead) {
                prefetch(next);
            }
            let from = table[first(word)..].as_flattened()[..length * LINE].as_chunks::<LINE>().0;
            if self.streams.is_none() && i + ahead < words.len() {
                (0..asked).for_each(|line| simd::prefetch_write(lines, ahead * whole.step + line));
            }
            let (row, rest) = lines.split_at_mut(whole.step.min(lines.len()));
            for (line, from) in row[..length].iter_mut().zip(from) {
                match self.streams {
                    Some(streams) => simd.stream_line(line, from, streams),
                    None => line.0 = *from,
                }
            }
            lines = rest;
        }
    }

    /// Visits the rows that are left. The first of those to come are asked for.
    #[inline(always)]
    pub(super) fn for_each_row<T, const N: usize, W: Word>(
        &self,
        words: &[W],
        ask: Option<Ask>,
        table: &mut T,
        mut visit: impl FnMut(&mut T, Row),
    ) where
        T: AsRef<[[u8; N]]> + ?Sized,
    {
        let Moved { payload, positions, .. } = self.moved;
        let base = |word: &W| word.get() as usize * self.stride;
        let prefetch = |table: &T, word: &W, ask| prefetch(table.as_ref(), base(word), self.segments, ask);
        let ahead = ask.map(|ask| (ask, words.get(self.ahead::<N>(ask)..).unwrap_or(&[])));
        // Some at a time, in few instructions: a machine that waits for the page of each waits for as many at once as it has
        // room for instructions. But not more than it waits for lines at once.
        let group = ask.map_or(BLOCK, |ask| self.ahead::<N>(ask) * ASKED_LINES / ask.in_flight).max(1);
        if let Some((ask, ahead)) = ahead {
            words[..words.len() - ahead.len()].iter().for_each(|word| prefetch(table, word, ask));
        }
        for (i, rows) in words.chunks(group).enumerate() {
            let first = i * group;
            if let Some((ask, ahead)) = ahead {
                let next = ahead.get(first..).unwrap_or(&[]);
                next[..next.len().min(group)].iter().for_each(|word| prefetch(table, word, ask));
            }
            for (i, word) in rows.iter().enumerate() {
                let row = positions.map_or(first + i, |positions| positions[first + i] as usize);
                visit(table, Row { row, tile: payload.start + row * payload.step, table: base(word) });
            }
        }
    }
}

/// Rows of a tile or table that consist of whole lines.
pub(super) struct WholeLines<'a> {
    lines: &'a mut [Line],
    /// Lines of a row.
    length: usize,
    /// Lines from the first of a row to that of the next.
    step: usize,
}

impl<'a> WholeLines<'a> {
    /// Rows of so many elements, so many elements apart, if they begin and end with a line.
    #[inline(always)]
    fn of<const N: usize>(rows: &'a mut [[u8; N]], length: usize, step: usize) -> Option<Self> {
        let whole = |elements: usize| elements.checked_mul(N).filter(|bytes| bytes.is_multiple_of(LINE));
        let (length, step) = (whole(length)? / LINE, whole(step)? / LINE);
        let (head, lines, _) = bytemuck::pod_align_to_mut(rows.as_flattened_mut());
        (head.is_empty() && length > 0 && length <= step).then_some(Self { lines, length, step })
    }
}

/// One row to move.
pub(super) struct Row {
    /// Which of the block it is.
    pub(super) row: usize,
    /// Where it starts in the tile.
    pub(super) tile: usize,
    /// Where it starts in the table.
    pub(super) table: usize,
}

/// Asks for cache lines of each piece of a row of the table.
#[inline(always)]
fn prefetch<const N: usize>(table: &[[u8; N]], base: usize, segments: &[Segment], ask: Ask) {
    for segment in segments {
        let start = base.wrapping_add(segment.table);
        if ask.to_write {
            prefetch_piece(table, start, segment.length);
        } else {
            lines::<N>(segment.length, ask).for_each(|at| ask.line(table, start.wrapping_add(at)));
        }
    }
}

/// The first elements of the lines to ask for, in a piece of so many.
#[inline(always)]
fn lines<const N: usize>(length: usize, ask: Ask) -> impl Iterator<Item = usize> {
    let per_line = LINE / N;
    (0..length.div_ceil(per_line).min(ask.lines)).map(move |line| line * per_line)
}

/// Asks for the lines of one piece, to be written.
#[inline(always)]
fn prefetch_piece<const N: usize>(table: &[[u8; N]], start: usize, length: usize) {
    lines::<N>(length, Ask::write()).for_each(|at| simd::prefetch_write(table, start.wrapping_add(at)));
    // A piece that begins within a line ends in one more.
    simd::prefetch_write(table, start.wrapping_add(length.saturating_sub(1)));
}

/// Copies a row. Calling a function for a few cache lines takes as long as copying them.
#[inline(always)]
pub(super) fn copy<const N: usize>(to: &mut [[u8; N]], from: &[[u8; N]]) {
    let (mut to, mut from) = (to.as_flattened_mut(), from.as_flattened());
    if to.len() > INLINE_BYTES || to.len() != from.len() {
        return to.copy_from_slice(from);
    }
    if to.len() >= ALIGNED_BYTES {
        let head = to.as_ptr().align_offset(LINE);
        if (1..LINE).contains(&head) {
            to[..LINE].copy_from_slice(&from[..LINE]);
            (to, from) = (&mut to[head..], &from[head..]);
        }
        let (last, whole) = (to.len() - LINE, to.len() / LINE * LINE);
        if whole < to.len() {
            to[last..].copy_from_slice(&from[last..]);
            (to, from) = (&mut to[..whole], &from[..whole]);
        }
    }
    let ((to, to_rest), (from, from_rest)) = (to.as_chunks_mut::<64>(), from.as_chunks::<64>());
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
    let ((to, to_rest), (from, from_rest)) = (to_rest.as_chunks_mut::<8>(), from_rest.as_chunks::<8>());
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
    for (to, from) in to_rest.iter_mut().zip(from_rest) {
        *to = *from;
    }
}

/// Copies rows of the table, of elements of `size` bytes, into rows of the tile, zero for dropped lanes.
pub(crate) fn gather(backend: Backend, size: usize, tile: &mut [u8], block: RowBlock<'_>, table: &[u8]) {
    match size {
        1 => gather_as::<1>(backend, tile, block, table),
        2 => gather_as::<2>(backend, tile, block, table),
        4 => gather_as::<4>(backend, tile, block, table),
        _ => gather_as::<8>(backend, tile, block, table),
    }
}

fn gather_as<const N: usize>(backend: Backend, tile: &mut [u8], block: RowBlock<'_>, table: &[u8]) {
    let (tile, table) = (tile.as_chunks_mut::<N>().0, table.as_chunks::<N>().0);
    backend.run(Gather { tile, block, table });
}

struct Gather<'a, const N: usize> {
    tile: &'a mut [[u8; N]],
    block: RowBlock<'a>,
    table: &'a [[u8; N]],
}

impl<const N: usize> Task for Gather<'_, N> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match (self.block.moved.offsets, self.block.segments) {
            // What is mostly so, in fewer instructions.
            (AnyOffsets::Narrow(offsets), [only]) => self.rows(simd, offsets.words(), &[*only]),
            (AnyOffsets::Narrow(offsets), segments) => self.rows(simd, offsets.words(), segments),
            (AnyOffsets::Wide(offsets), segments) => self.rows(simd, offsets.words(), segments),
        }
    }
}

impl<const N: usize> Gather<'_, N> {
    #[inline(always)]
    fn rows<W: Word, S: Simd>(self, simd: S, words: &[W], segments: &[Segment]) {
        let Self { tile, block, table } = self;
        let block = RowBlock { segments, ..block };
        let Moved { payload, count, .. } = block.moved;
        if (block.streams.is_some() || Caches::get().reaches_l3())
            && let Some(whole) = block.tile_lines(tile)
        {
            return block.gather_lines(simd, whole, words, table);
        }
        // The prefetchers of machines with a far last level find the lines of long rows that are to be read. There, where such rows
        // go through the caches, the lines to be written are asked for, in time for the next one.
        let is_short = segments.iter().any(|segment| segment.length * N <= ASKED_BYTES);
        let asks = block.streams.is_some() || is_short || !Caches::get().is_l3_far();
        let mut next = 0;
        // Inlined by force: a closure on its own is compiled without the instruction set.
        block.for_each_row(
            words,
            asks.then(Ask::read),
            &mut { table },
            #[inline(always)]
            |table, at| {
                zero_rows(tile, payload, next..at.row, segments);
                next = at.row + 1;
                for segment in segments {
                    if !asks {
                        prefetch_piece(tile, at.tile + payload.step + segment.tile, segment.length);
                    }
                    let row = &mut tile[at.tile + segment.tile..][..segment.length];
                    let from = &table[at.table + segment.table..][..segment.length];
                    match block.streams {
                        Some(streams) => streams.copy(simd, row.as_flattened_mut(), from.as_flattened()),
                        None => copy(row, from),
                    }
                }
            },
        );
        zero_rows(tile, payload, next..count, segments);
    }
}

/// Clears rows of a tile, those of lanes that were dropped.
#[inline(always)]
fn zero_rows<const N: usize>(tile: &mut [[u8; N]], payload: Strided, rows: Range<usize>, segments: &[Segment]) {
    for row in rows {
        let start = payload.start + row * payload.step;
        segments.iter().for_each(|segment| tile[start + segment.tile..][..segment.length].fill([0; N]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::elements::Run;
    use crate::kernel::offsets::Offsets;

    /// Rows of whole lines and others, at every distance in the tile that begins and ends with a line or does not, with guards
    /// between them.
    #[test]
    fn rows_past_the_caches_or_through_them_stay_within_their_ends() {
        const ROWS: usize = 50;
        for (length, gap, start) in [32, 64, 96, 192, 31, 33, 80].into_iter().flat_map(|length| {
            [0, 32, 64, 1].into_iter().flat_map(move |gap| [0, 32, 7].map(|start| (length, gap, start)))
        }) {
            let segment = Segment { tile: 32, table: 5, length };
            let (stride, step) = (length + 9, length + gap);
            let table: Vec<[u8; 2]> = (0..ROWS * stride).map(|i| (i as u16).to_le_bytes()).collect();
            for count in [0, 1, 2, 23, 24, 25, 100] {
                let words: Vec<[u8; 4]> = (0..count).map(|k| (k as u32 * 37 % 50).to_le_bytes()).collect();
                let mut lines = vec![Line([0xee; LINE]); (start + 32 + count * step) / 32 + 2];
                // Where the last row ends before its stride does, so does the tile.
                let end = start + 32 + (count * step).saturating_sub(gap);
                let mut expected = bytemuck::cast_slice::<_, [u8; 2]>(&lines).to_vec();
                for (row, word) in words.iter().enumerate() {
                    let from = u32::from_le_bytes(*word) as usize * stride + segment.table;
                    expected[start + 32 + row * step..][..length].copy_from_slice(&table[from..][..length]);
                }
                let streams = Streams::new();
                for (backend, streams) in Backend::available().flat_map(|b| [(b, Some(&streams)), (b, None)]) {
                    lines.fill(Line([0xee; LINE]));
                    let tile: &mut [[u8; 2]] = bytemuck::cast_slice_mut(&mut lines);
                    let offsets = Offsets::check(&words, ROWS as u64).expect("in range");
                    let payload = Strided { start, step };
                    let moved = Moved::whole(Run { payload, idx: payload, length: count }, AnyOffsets::Narrow(offsets));
                    let block = RowBlock { moved, stride, segments: &[segment], streams };
                    let is_whole = [length, gap, start].iter().all(|elements| elements % 32 == 0);
                    assert_eq!(block.tile_lines(tile).is_some(), is_whole, "{length} {gap} {start}");
                    if is_whole {
                        // Whether this machine would or not.
                        backend.run(GatherLines { tile: &mut tile[..end], block, table: &table });
                    } else {
                        gather_as::<2>(backend, tile[..end].as_flattened_mut(), block, table.as_flattened());
                    }
                    let tile: &[[u8; 2]] = bytemuck::cast_slice(&lines);
                    assert_eq!(tile, expected, "{} {length} {gap} {start} {count}", backend.name());
                }
            }
        }
    }

    struct GatherLines<'a> {
        tile: &'a mut [[u8; 2]],
        block: RowBlock<'a>,
        table: &'a [[u8; 2]],
    }

    impl Task for GatherLines<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let Self { tile, block, table } = self;
            let AnyOffsets::Narrow(offsets) = block.moved.offsets else { unreachable!("words of 4 bytes") };
            let whole = block.tile_lines(tile).expect("whole lines");
            block.gather_lines(simd, whole, offsets.words(), table);
        }
    }

    #[test]
    fn copies_of_every_length_and_address_stay_within_their_ends() {
        let from: Vec<[u8; 1]> = (0..=255).cycle().take(5000).map(|byte| [byte]).collect();
        for start in 1..=LINE {
            for length in (0..=130).chain([511, 512, 513, 575, 576, 577, 1000, 1024, 4095, 4096, 4097]) {
                let mut to = vec![[0xee]; start + length + 1];
                copy(&mut to[start..start + length], &from[3..3 + length]);
                assert_eq!(to[start..start + length], from[3..3 + length], "{start} {length}");
                assert!(to[..start].iter().all(|byte| *byte == [0xee]) && to[start + length] == [0xee]);
            }
        }
    }
}
