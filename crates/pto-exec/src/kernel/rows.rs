//! Whole rows, each a few contiguous pieces of tile and table.

use super::elements::Moved;
use super::offsets::AnyOffsets;
use super::simd::{self, Backend, Simd, Task};

/// Rows that are asked for ahead of the one that is moved.
const AHEAD: usize = 4;

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
    /// Where the rows start.
    pub(crate) moved: Moved<'a>,
    /// The pieces of each.
    pub(crate) segments: &'a [Segment],
}

impl RowBlock<'_> {
    /// Visits the rows: where each starts in the tile, and in the table unless its lane was dropped, with the start of
    /// a row to come.
    #[inline(always)]
    pub(super) fn for_each_row(&self, mut visit: impl FnMut(usize, Option<usize>, Option<usize>)) {
        let Moved { payload, count, offsets, positions } = self.moved;
        // Addresses of rows are always wide.
        let AnyOffsets::Wide(offsets) = offsets else { return };
        let words = offsets.words();
        let base = |k: usize| words.get(k).map(|word| u64::from_le_bytes(*word) as usize);
        let start = |row: usize| payload.start + row * payload.step;
        match positions {
            None => (0..count).for_each(|row| visit(start(row), base(row), base(row + AHEAD))),
            Some(positions) => {
                let mut next = 0;
                for row in 0..count {
                    let kept = positions.get(next).is_some_and(|&position| position as usize == row);
                    visit(start(row), if kept { base(next) } else { None }, base(next + AHEAD));
                    next += usize::from(kept);
                }
            }
        }
    }
}

/// Asks for the cache lines of a row of the table.
#[inline(always)]
pub(super) fn prefetch<const N: usize>(table: &[[u8; N]], base: Option<usize>, segments: &[Segment]) {
    let Some(base) = base else { return };
    for segment in segments {
        for at in (0..segment.length).step_by(64 / N) {
            simd::prefetch(table, base.wrapping_add(segment.table).wrapping_add(at));
        }
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
        block.for_each_row(|start, base, ahead| {
            prefetch(table, ahead, block.segments);
            for segment in block.segments {
                let row = &mut tile[start + segment.tile..][..segment.length];
                match base {
                    Some(base) => row.copy_from_slice(&table[base + segment.table..][..segment.length]),
                    None => row.fill([0; N]),
                }
            }
        });
    }
}
