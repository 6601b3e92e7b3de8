//! Running row-indexed instructions.

use pto_isa::{Atomic, ElementType};

use super::walk::Pair;
use crate::kernel::BLOCK;
use crate::kernel::address::AddressMap;
use crate::kernel::combine::{Combine, dispatch};
use crate::kernel::lanes::{LaneReader, Resolver, Strided, count_outside};
use crate::kernel::rows::{self, Segment};

/// Everything that decides where the rows of the payload go.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// Where payload rows start, and where their indices stand.
    pub(super) lanes: Vec<Pair>,
    /// The pieces of one row.
    pub(super) segments: Vec<Segment>,
    pub(super) map: AddressMap,
}

impl Rows {
    #[inline(always)]
    fn for_each_block(&self, mut visit: impl FnMut(Strided, Strided, usize)) {
        for lanes in &self.lanes {
            let mut done = 0;
            while done < lanes.length {
                let count = BLOCK.min(lanes.length - done);
                let at = |run: Strided| Strided { start: run.start + done * run.step, ..run };
                visit(at(lanes.payload), at(lanes.other), count);
                done += count;
            }
        }
    }

    /// How many lanes are at or beyond the capacity.
    pub(super) fn count_outside(&self, reader: LaneReader<'_>, capacity: u64) -> usize {
        let mut block = [0; BLOCK];
        let mut outside = 0;
        self.for_each_block(|_, idx, count| {
            reader.read(idx, &mut block[..count]);
            outside += count_outside(&block[..count], capacity);
        });
        outside
    }

    /// Visits each row: where it starts in the payload, and in the table unless its lane was dropped.
    #[inline(always)]
    fn for_each_row(
        &self,
        reader: LaneReader<'_>,
        resolver: Resolver,
        mut visit: impl FnMut(usize, Option<usize>),
    ) -> usize {
        let (mut block, mut positions) = ([0; BLOCK], [0; BLOCK]);
        let mut outside = 0;
        self.for_each_block(|payload, idx, count| {
            reader.read(idx, &mut block[..count]);
            let out = resolver.resolve(&mut block[..count], &mut positions);
            outside += out;
            // Rows without columns touch nothing, and a table without columns has no place for them to start.
            if self.segments.is_empty() {
                return;
            }
            let start = |row: usize| payload.start + row * payload.step;
            if !resolver.drops() {
                self.map.apply(&mut block[..count]);
                block[..count].iter().enumerate().for_each(|(row, &base)| visit(start(row), Some(base as usize)));
                return;
            }
            let kept = count - out;
            self.map.apply(&mut block[..kept]);
            let mut lanes = positions[..kept].iter().zip(&block[..kept]).peekable();
            for row in 0..count {
                let base = lanes.next_if(|(position, _)| **position as usize == row).map(|(_, base)| *base as usize);
                visit(start(row), base);
            }
        });
        outside
    }

    /// Scatters the payload; returns how many lanes were out of range.
    pub(super) fn scatter(
        &self,
        element: ElementType,
        atomic: Atomic,
        lanes: (LaneReader<'_>, Resolver),
        table: &mut [u8],
        tile: &[u8],
    ) -> usize {
        dispatch!(element, atomic, scatter(self, lanes, table, tile))
    }

    /// Gathers into the payload, zero for dropped lanes; returns how many lanes were out of range.
    pub(super) fn gather(
        &self,
        element: ElementType,
        lanes: (LaneReader<'_>, Resolver),
        tile: &mut [u8],
        table: &[u8],
    ) -> usize {
        match element.size() {
            1 => gather::<1>(self, lanes, tile, table),
            2 => gather::<2>(self, lanes, tile, table),
            4 => gather::<4>(self, lanes, tile, table),
            _ => gather::<8>(self, lanes, tile, table),
        }
    }
}

fn scatter<const N: usize, C: Combine<N>>(
    plan: &Rows,
    (reader, resolver): (LaneReader<'_>, Resolver),
    table: &mut [u8],
    tile: &[u8],
) -> usize {
    let (table, tile) = (table.as_chunks_mut::<N>().0, tile.as_chunks::<N>().0);
    plan.for_each_row(reader, resolver, |start, base| {
        if let Some(base) = base {
            rows::scatter::<N, C>(&mut table[base..], &tile[start..], &plan.segments);
        }
    })
}

fn gather<const N: usize>(
    plan: &Rows,
    (reader, resolver): (LaneReader<'_>, Resolver),
    tile: &mut [u8],
    table: &[u8],
) -> usize {
    let (tile, table) = (tile.as_chunks_mut::<N>().0, table.as_chunks::<N>().0);
    plan.for_each_row(reader, resolver, |start, base| match base {
        Some(base) => rows::gather::<N>(&mut tile[start..], &table[base..], &plan.segments),
        None => rows::clear::<N>(&mut tile[start..], &plan.segments),
    })
}
