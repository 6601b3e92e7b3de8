//! Whole rows, each a few contiguous pieces of tile and table.

use super::elements::Moved;
use super::offsets::{AnyOffsets, Word};
use super::simd::{self, Backend, LINE, Simd, Streams, Task};

/// Rows of up to this many bytes are asked for before they are copied through the caches.
const ASKED_BYTES: usize = 512;

/// Rows of up to this many bytes are copied in place, longer ones by a call.
const INLINE_BYTES: usize = 4096;

/// Rows of this many bytes and more are copied by lines of the destination: a store to two lines takes as long as two.
const ALIGNED_BYTES: usize = 512;

/// What rows to come are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// To be read, or read and written: the core keeps many loads under way.
    Read,
    /// To be replaced: a store waits for its line to be the core's own, and those after it wait with it.
    Write,
}

impl Ask {
    /// Cache lines of each piece of a row that are asked for. The machine's prefetchers find the rest of what is read,
    /// but not soon enough what is written.
    const fn lines(self) -> usize {
        match self {
            Self::Read => 4,
            Self::Write => INLINE_BYTES / LINE,
        }
    }

    /// Cache lines that are under way at a time: as many as the second-level cache keeps track of, or as many as leave
    /// the first one room for everything else.
    const fn in_flight(self) -> usize {
        match self {
            Self::Read => 48,
            Self::Write => 32,
        }
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
        let lines = |segment: &Segment| (segment.length * N).div_ceil(LINE).clamp(1, ask.lines());
        ask.in_flight() / self.segments.iter().map(lines).sum::<usize>().clamp(1, ask.in_flight())
    }

    /// Asks for the first rows of the block, those that no other row comes before by [`ahead`](Self::ahead).
    #[inline(always)]
    pub(super) fn prefetch_first<const N: usize>(&self, table: &[[u8; N]], ask: Ask) {
        (0..self.ahead::<N>(ask)).for_each(|row| prefetch(table, self.base(row), self.segments, ask));
    }

    /// Where in the table a row starts, of those that are left.
    #[inline(always)]
    fn base(&self, row: usize) -> Option<usize> {
        let word = match self.moved.offsets {
            AnyOffsets::Narrow(offsets) => offsets.words().get(row)?.get(),
            AnyOffsets::Wide(offsets) => offsets.words().get(row)?.get(),
        };
        Some(word as usize * self.stride)
    }

    /// Visits the rows: where each starts in the tile, and in the table unless its lane was dropped, with the start of
    /// a row to come. Elements have `N` bytes.
    #[inline(always)]
    pub(super) fn for_each_row<const N: usize>(
        &self,
        ask: Ask,
        mut visit: impl FnMut(usize, Option<usize>, Option<usize>),
    ) {
        let Moved { payload, count, positions, .. } = self.moved;
        let ahead = self.ahead::<N>(ask);
        let mut next = 0;
        for row in 0..count {
            let kept = match positions {
                None => true,
                Some(positions) => positions.get(next).is_some_and(|&position| position as usize == row),
            };
            let base = if kept { self.base(next) } else { None };
            visit(payload.start + row * payload.step, base, self.base(next + ahead));
            next += usize::from(kept);
        }
    }
}

/// Asks for cache lines of each piece of a row of the table.
#[inline(always)]
pub(super) fn prefetch<const N: usize>(table: &[[u8; N]], base: Option<usize>, segments: &[Segment], ask: Ask) {
    let Some(base) = base else { return };
    for segment in segments {
        let start = base.wrapping_add(segment.table);
        match ask {
            Ask::Read => {
                lines::<N>(segment.length, ask).for_each(|at| simd::prefetch_far(table, start.wrapping_add(at)))
            }
            Ask::Write => prefetch_piece(table, start, segment.length),
        }
    }
}

/// The first elements of the lines to ask for, in a piece of so many.
#[inline(always)]
fn lines<const N: usize>(length: usize, ask: Ask) -> impl Iterator<Item = usize> {
    let per_line = LINE / N;
    (0..length.div_ceil(per_line).min(ask.lines())).map(move |line| line * per_line)
}

/// Asks for the lines of one piece, to be written.
#[inline(always)]
fn prefetch_piece<const N: usize>(table: &[[u8; N]], start: usize, length: usize) {
    lines::<N>(length, Ask::Write).for_each(|at| simd::prefetch_write(table, start.wrapping_add(at)));
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
    fn run<S: Simd>(self, _: S) {
        let Self { tile, block, table } = self;
        // Of long rows that go through the caches the lines to be written are asked for, in time for the next one; the
        // machine's prefetchers find those to be read. Those of short rows are written one after the other anyway.
        let asks = block.streams.is_some() || block.segments.iter().any(|segment| segment.length * N <= ASKED_BYTES);
        if asks {
            block.prefetch_first(table, Ask::Read);
        }
        let step = block.moved.payload.step;
        // Inlined by force: a closure on its own is compiled without the instruction set.
        block.for_each_row::<N>(
            Ask::Read,
            #[inline(always)]
            |start, base, ahead| {
                if asks {
                    prefetch(table, ahead, block.segments, Ask::Read);
                }
                for segment in block.segments {
                    if !asks {
                        prefetch_piece(tile, start + step + segment.tile, segment.length);
                    }
                    let row = &mut tile[start + segment.tile..][..segment.length];
                    match base {
                        Some(base) => {
                            let from = &table[base + segment.table..][..segment.length];
                            match block.streams {
                                Some(streams) => streams.copy(row.as_flattened_mut(), from.as_flattened()),
                                None => copy(row, from),
                            }
                        }
                        None => row.fill([0; N]),
                    }
                }
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
