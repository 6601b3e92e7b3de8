//! Gathers and scatters of the rows of one run, on one thread or several.

use pto_isa::{Atomic, ElementType};

use super::cost::{
    DEALT_SHARES, Method, SPILL, STREAMED_ROW, STREAMED_ROWS, gathered_rows_pay_help, pays_dealing, pays_owning_rows,
    pays_streaming_rows, scattered_rows_pay_help,
};
use super::elements::split_parts;
use super::share::Sample;
use super::{Engine, PIECE_BYTES, cuts};
use crate::kernel::Word;
use crate::kernel::address::AddressMap;
use crate::kernel::cache::Caches;
use crate::kernel::dealt::{Marked, Replace, Rows, deal, marks};
use crate::kernel::elements::{Lookup, Outside, Run};
use crate::kernel::kind::kernel;
use crate::kernel::rows::{RowBlock, Segment, gather};
use crate::kernel::simd::Streams;

/// Rows at a constant distance are found when they are moved; the places of others are worked out by the block.
fn by_row(lookup: Lookup<'_>) -> (Lookup<'_>, usize) {
    match *lookup.map {
        AddressMap::Rows { stride } => (Lookup { map: &AddressMap::Linear, ..lookup }, stride as usize),
        _ => (lookup, 1),
    }
}

/// What a transfer of rows moves.
fn bytes(run: Run, segments: &[Segment], size: usize) -> usize {
    let elements: usize = segments.iter().map(|segment| segment.length).sum();
    run.length.saturating_mul(elements * size)
}

impl Engine {
    /// True if rows of this many elements that replace others in a table are written past the caches: the table is far
    /// beyond them, and lines are mostly written whole.
    fn streams_rows(&self, rows: usize, segments: &[Segment], size: usize, table_bytes: usize) -> bool {
        let long = segments.iter().all(|segment| segment.length * size >= STREAMED_ROW);
        let many = rows >= STREAMED_ROWS && table_bytes > Caches::get().l2.saturating_mul(SPILL);
        self.method == Some(Method::Partitioned) || (long && many)
    }

    /// Scatters the rows of a run; returns how many lanes were out of range.
    pub(crate) fn scatter_rows_run(
        &self,
        (element, atomic): (ElementType, Atomic),
        lookup: Lookup<'_>,
        run: Run,
        segments: &[Segment],
        table: &mut [u8],
        tile: &[u8],
    ) -> Result<usize, Outside> {
        self.check_lanes(&lookup, run)?;
        let (kernel, size) = (kernel(element, atomic), element.size() as usize);
        let streams_out = atomic == Atomic::None && self.streams_rows(run.length, segments, size, table.len());
        let scatter = |lookup: Lookup<'_>, table: &mut [u8]| {
            let streams = streams_out.then(Streams::new);
            let (lookup, stride) = by_row(lookup);
            lookup.for_each_long_block(self.backend, run, &mut |moved| {
                let block = RowBlock { moved, stride, segments, streams: streams.as_ref() };
                kernel.scatter_rows(self.backend, table, block, tile);
            })
        };
        let reach = segments.iter().map(|segment| segment.table + segment.length).max().unwrap_or(0);
        // Only rows that lie one after the other can be dealt out to threads.
        let stride = match *lookup.map {
            AddressMap::Rows { stride } if reach > 0 && reach as u64 <= stride => stride as usize,
            _ => return Ok(scatter(lookup, table)),
        };
        if !self.is_helped(|| scattered_rows_pay_help(bytes(run, segments, size))) {
            return Ok(scatter(lookup, table));
        }
        if streams_out && self.replace_dealt(&lookup, (run, segments), size, table, tile) {
            return Ok(0);
        }
        let row = bytes(run, segments, size) / run.length.max(1);
        if self.method.is_none() && !pays_owning_rows(Caches::get(), (row, table.len()), self.workers()) {
            return Ok(scatter(lookup, table));
        }
        let parts = Sample::draw(self.backend, Lookup { map: &AddressMap::Linear, ..lookup }, run)
            .parts(lookup.resolver.capacity, self.workers());
        let outside = self.each(split_parts(table, &parts, stride.saturating_mul(size)), |(part, table)| {
            scatter(Lookup { resolver: lookup.resolver.within(part), ..lookup }, table)
        });
        // Every thread has seen every lane.
        Ok(outside.first().copied().unwrap_or(0))
    }

    /// Replaces rows that are [dealt out](crate::kernel::dealt) by where they come from; false, with nothing written, if that does not
    /// pay or cannot be.
    fn replace_dealt(
        &self,
        lookup: &Lookup<'_>,
        (run, segments): (Run, &[Segment]),
        size: usize,
        table: &mut [u8],
        tile: &[u8],
    ) -> bool {
        let (lookup, stride) = by_row(*lookup);
        let ([segment], Some(step)) = (segments, stride.checked_mul(size)) else { return false };
        let rows = Rows { length: segment.length * size, step };
        let table = table.get_mut(segment.table * size..).unwrap_or(&mut []);
        let tile = tile.get((run.payload.start + segment.tile) * size..).unwrap_or(&[]);
        let dealt = (rows, run.payload.step * size, lookup.resolver.capacity as usize);
        if lookup.is_narrow() {
            lookup.whole::<[u8; 4]>(run).is_some_and(|words| self.replace_words(words, dealt, table, tile))
        } else {
            lookup.whole::<[u8; 8]>(run).is_some_and(|words| self.replace_words(words, dealt, table, tile))
        }
    }

    /// As [`replace_dealt`](Self::replace_dealt), with lanes that are rows of a table of so many, each of which comes so many bytes after the
    /// one before it in the tile.
    fn replace_words<W: Word>(
        &self,
        words: &[W],
        (rows, step, capacity): (Rows, usize, usize),
        table: &mut [u8],
        tile: &[u8],
    ) -> bool {
        let cuts = cuts(words.len(), self.workers() * DEALT_SHARES);
        let marks = marks(capacity);
        let memory_bytes = cuts.len().saturating_mul(marks * size_of::<u64>());
        let pays = match self.method {
            // It stands for transfers beyond those that tests have the time for.
            Some(method) => method == Method::Partitioned,
            None => pays_dealing(Caches::get(), memory_bytes, words.len().saturating_mul(rows.length)),
        };
        if !pays || marks == 0 || memory_bytes > self.memory_cap {
            return false;
        }
        self.scratch.with(memory_bytes, |memory| {
            let memory = memory.map(bytemuck::pod_align_to_mut::<u8, u64>);
            let Some(([], memory, [])) = memory else { return false };
            let mark = |((from, to), marks): ((usize, usize), _)| Marked::new(&words[from..to], marks);
            let marked = self.each(cuts.iter().copied().zip(memory.chunks_mut(marks)).collect(), mark);
            let shares = cuts.iter().zip(deal(table, rows, marked));
            self.each(shares.collect(), |((from, _), share)| {
                self.backend.run(Replace { share, rows: &tile[from * step..], step });
            });
            true
        })
    }

    /// Gathers the rows of a run, zero for dropped lanes; returns how many lanes were out of range.
    pub(crate) fn gather_rows_run(
        &self,
        element: ElementType,
        lookup: Lookup<'_>,
        run: Run,
        segments: &[Segment],
        tile: &mut [u8],
        table: &[u8],
    ) -> Result<usize, Outside> {
        self.check_lanes(&lookup, run)?;
        let size = element.size() as usize;
        let bytes = bytes(run, segments, size);
        let reach = segments.iter().map(|segment| segment.tile + segment.length).max().unwrap_or(0);
        let are_apart = reach > 0 && reach <= run.payload.step;
        let is_helped = are_apart && self.is_helped(|| gathered_rows_pay_help(bytes));
        // A method stands for transfers beyond those that tests have the time for.
        let streams_out = self.method == Some(Method::Partitioned)
            || pays_streaming_rows(Caches::get(), bytes, if is_helped { self.workers() } else { 1 });
        let collect = |run: Run, tile: &mut [u8]| {
            let streams = streams_out.then(Streams::new);
            let (lookup, stride) = by_row(lookup);
            lookup.for_each_long_block(self.backend, run, &mut |moved| {
                let block = RowBlock { moved, stride, segments, streams: streams.as_ref() };
                gather(self.backend, size, tile, block, table);
            })
        };
        if !is_helped {
            return Ok(collect(run, tile));
        }
        let least = PIECE_BYTES / (bytes / run.length.max(1)).max(1);
        self.gather_pieces(run, (least, size), tile, |run, tile| Ok(collect(run, tile)))
    }
}
