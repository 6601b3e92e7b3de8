//! Running element-indexed instructions.

use pto_isa::{Atomic, ElementType};

use super::walk::Walk;
use crate::kernel::address::AddressMap;
use crate::kernel::combine::{Combine, dispatch};
use crate::kernel::lanes::{LaneReader, Resolver, Strided, count_outside};
use crate::kernel::{BLOCK, transfer};

/// Everything that decides where the elements of a walk go.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    pub(super) walk: Walk,
    pub(super) map: AddressMap,
}

/// Cuts a run into blocks.
#[inline(always)]
fn for_each_block(payload: Strided, idx: Strided, length: usize, mut visit: impl FnMut(Strided, Strided, usize)) {
    let mut done = 0;
    while done < length {
        let count = BLOCK.min(length - done);
        let at = |run: Strided| Strided { start: run.start + done * run.step, ..run };
        visit(at(payload), at(idx), count);
        done += count;
    }
}

impl Elements {
    /// How many lanes are at or beyond the capacity.
    pub(super) fn count_outside(&self, reader: LaneReader<'_>, capacity: u64) -> usize {
        let mut block = [0; BLOCK];
        let mut outside = 0;
        self.walk.for_each_run(|payload, idx, length| {
            for_each_block(payload, idx, length, |_, idx, count| {
                reader.read(idx, &mut block[..count]);
                outside += count_outside(&block[..count], capacity);
            });
        });
        outside
    }

    /// Resolves the walk block by block: payload run, lane count, offsets, and positions where lanes were dropped.
    #[inline(always)]
    fn resolve(
        &self,
        reader: LaneReader<'_>,
        resolver: Resolver,
        mut visit: impl FnMut(Strided, usize, &[u64], Option<&[u32]>),
    ) -> usize {
        let (mut block, mut positions) = ([0; BLOCK], [0; BLOCK]);
        let mut outside = 0;
        let drops = resolver.drops();
        self.walk.for_each_run(|payload, idx, length| {
            for_each_block(payload, idx, length, |payload, idx, count| {
                reader.read(idx, &mut block[..count]);
                let out = resolver.resolve(&mut block[..count], &mut positions);
                outside += out;
                let kept = if drops { count - out } else { count };
                self.map.apply(&mut block[..kept]);
                // A block that lost no lane is as dense as any other.
                let listed = (kept < count).then_some(&positions[..kept]);
                visit(payload, count, &block[..kept], listed);
            });
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

    /// Gathers into the payload; returns how many lanes were out of range.
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
    elements: &Elements,
    (reader, resolver): (LaneReader<'_>, Resolver),
    table: &mut [u8],
    tile: &[u8],
) -> usize {
    let (table, tile) = (table.as_chunks_mut::<N>().0, tile.as_chunks::<N>().0);
    elements.resolve(reader, resolver, |run, _, offsets, positions| match positions {
        None => transfer::scatter::<N, C>(table, offsets, tile, run),
        Some(positions) => transfer::scatter_some::<N, C>(table, offsets, tile, run, positions),
    })
}

fn gather<const N: usize>(
    elements: &Elements,
    (reader, resolver): (LaneReader<'_>, Resolver),
    tile: &mut [u8],
    table: &[u8],
) -> usize {
    let (tile, table) = (tile.as_chunks_mut::<N>().0, table.as_chunks::<N>().0);
    elements.resolve(reader, resolver, |run, count, offsets, positions| match positions {
        None => transfer::gather::<N>(tile, run, table, offsets),
        Some(positions) => transfer::gather_some::<N>(tile, run, count, table, offsets, positions),
    })
}

/// Scatters payload elements in an order of their own, `(offset in the table, position in the tile)` each.
pub(super) fn scatter_ordered(
    element: ElementType,
    atomic: Atomic,
    order: &[(u64, usize)],
    table: &mut [u8],
    tile: &[u8],
) {
    dispatch!(element, atomic, ordered(order, table, tile));
}

fn ordered<const N: usize, C: Combine<N>>(order: &[(u64, usize)], table: &mut [u8], tile: &[u8]) {
    let (table, tile) = (table.as_chunks_mut::<N>().0, tile.as_chunks::<N>().0);
    for &(offset, position) in order {
        let slot = &mut table[offset as usize];
        *slot = C::combine(*slot, tile[position]);
    }
}
