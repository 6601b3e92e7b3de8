//! Elementwise gathers and scatters of one run, on one thread or several.

use core::slice::ChunksMut;

use pto_isa::{Atomic, ElementType};

use super::cost::{Method, PARALLEL_LANES, Work, look_pays_help, pays_streaming_elements};
use super::direct::save;
use super::share::Sample;
use super::{Engine, PIECE_BYTES, cuts};
use crate::kernel::address::AddressMap;
use crate::kernel::bounds::{Bounds, Part};
use crate::kernel::buckets::{BUCKET_LANES, Chunking};
use crate::kernel::cache::Caches;
use crate::kernel::elements::{CountOutside, Lookup, Moved, Outside, Run};
use crate::kernel::gather::{gather, gather_resolving};
use crate::kernel::kind::{Kernel, PartLanes, Table, WholeLanes, kernel};
use crate::kernel::partition::{Partition, Split, entry_bytes};
use crate::kernel::simd::Streams;
use crate::kernel::transfer::BlockAsking;

/// Below this cap there is too little memory to sort in.
pub(super) const LEAST_MEMORY: usize = 4 << 20;

/// Lanes that are looked at and then carried out while they are in the first-level cache.
pub(super) const UNDO_LANES: usize = 4096;

/// Lanes that a thread looks at, at a time.
pub(super) const LOOKED_PIECE: usize = 1 << 16;

/// Bytes of a table that are merged at a time, a multiple of all elements' sizes.
const MERGED_PART: usize = 1 << 14;

impl Engine {
    /// Looks at all lanes, if no policy says what to do with those out of range.
    pub(crate) fn check_lanes(&self, lookup: &Lookup<'_>, run: Run) -> Result<(), Outside> {
        if lookup.resolver.bounds != Bounds::Checked {
            return Ok(());
        }
        let outside = if self.is_helped(|| look_pays_help(run.length)) {
            let pieces = self.pieces(run.length, LOOKED_PIECE);
            self.each(pieces, |(from, to)| self.count_outside(lookup, run.part(from, to))).into_iter().sum()
        } else {
            self.count_outside(lookup, run)
        };
        if outside == 0 { Ok(()) } else { Err(Outside) }
    }

    /// How many lanes are out of range.
    fn count_outside(&self, lookup: &Lookup<'_>, run: Run) -> usize {
        self.backend.run(CountOutside { lookup: *lookup, idx: run.idx, length: run.length })
    }

    /// Scatters a run into `table`; returns how many lanes were out of range.
    pub(crate) fn scatter_run(
        &self,
        (element, atomic): (ElementType, Atomic),
        lookup: Lookup<'_>,
        run: Run,
        table: &mut [u8],
        tile: &[u8],
    ) -> Result<usize, Outside> {
        let scatter = Scatter { engine: self, kernel: kernel(element, atomic), lookup, run, tile };
        let (lanes, capacity) = (run.length, lookup.resolver.capacity as usize);
        // Small ones first: choosing a way must not take longer than going it.
        if lanes < PARALLEL_LANES && self.method.is_none() {
            return scatter.direct(table);
        }
        let size = scatter.kernel.size();
        let work = Work {
            merges: scatter.kernel.merges() && run.payload.step == 1,
            ..self.work(lanes, capacity.saturating_mul(size))
        };
        let is_direct = match self.method {
            Some(method) => method == Method::Direct,
            None => !work.pays_help() && !work.pays_partition(),
        };
        // Only a table that is a plain array can be cut.
        if is_direct || *lookup.map != AddressMap::Linear {
            return scatter.direct(table);
        }
        let table = &mut table[..capacity * size];
        let sample = Sample::draw(self.backend, lookup, run);
        let part = Split::of(capacity, work.buckets()).map_or(capacity, Split::bucket_length);
        let method = self.method.unwrap_or_else(|| work.method(sample.skew(part)));
        match method {
            Method::Direct => scatter.direct(table),
            Method::Owned => scatter.owned(table, &sample),
            Method::Merged => match work.merges.then(|| scatter.merged(table)).flatten() {
                Some(outside) => Ok(outside),
                None => scatter.owned(table, &sample),
            },
            Method::Partitioned => match scatter.partitioned(table, &work) {
                Ok(done) => done,
                Err(table) => scatter.owned(table, &sample),
            },
        }
    }

    /// Gathers a run from `table`, zero for dropped lanes; returns how many lanes were out of range.
    pub(crate) fn gather_run(
        &self,
        (element, on_fault): (ElementType, OnFault),
        lookup: Lookup<'_>,
        run: Run,
        tile: &mut [u8],
        table: &[u8],
    ) -> Result<usize, Outside> {
        if let Some(done) = self.gather_sorted(element, lookup, run, tile, table) {
            return done;
        }
        if on_fault == OnFault::NothingWritten {
            self.check_lanes(&lookup, run)?;
        }
        let size = element.size() as usize;
        let out = Out { size, streams: self.streams_out(run.length.saturating_mul(size), table.len()) };
        let pays_help =
            || run.length >= PARALLEL_LANES && Work { gathers: true, ..self.work(run.length, table.len()) }.pays_help();
        if !self.is_helped(pays_help) || run.payload.step != 1 {
            return self.gather_part((out, on_fault), &lookup, run, tile, table);
        }
        let gather = |run: Run, tile: &mut [u8]| self.gather_part((out, on_fault), &lookup, run, tile, table);
        self.gather_pieces(run, (PIECE_BYTES / size, size), tile, gather)
    }

    /// Gathers a run piece by piece, of at least so many lanes each, on several threads. Lanes, of elements of so many bytes, are
    /// apart in the tile, of which each piece gets its own; returns how many were out of range.
    pub(super) fn gather_pieces(
        &self,
        run: Run,
        (least, size): (usize, usize),
        tile: &mut [u8],
        gather: impl Fn(Run, &mut [u8]) -> Result<usize, Outside> + Sync,
    ) -> Result<usize, Outside> {
        let mut rest = &mut tile[run.payload.start * size..];
        let mut tasks = Vec::new();
        for (from, to) in self.pieces(run.length, least) {
            // The last row of a tile may end before its stride does.
            let length = ((to - from) * run.payload.step * size).min(rest.len());
            let (mine, others) = core::mem::take(&mut rest).split_at_mut(length);
            rest = others;
            let mut run = run.part(from, to);
            run.payload.start = 0;
            tasks.push((run, mine));
        }
        self.each(tasks, |(run, tile)| gather(run, tile)).into_iter().sum()
    }

    fn gather_part(
        &self,
        (out, on_fault): (Out, OnFault),
        lookup: &Lookup<'_>,
        run: Run,
        tile: &mut [u8],
        table: &[u8],
    ) -> Result<usize, Outside> {
        let streams = out.streams.then(Streams::new);
        let way = (self.backend, streams.as_ref());
        if let Some(done) = gather_resolving(way, out.size, tile, (lookup, run), table) {
            return done;
        }
        // Blocks want their lanes looked at.
        let are_unseen = lookup.resolver.bounds == Bounds::Checked && on_fault == OnFault::AnythingWritten;
        if are_unseen && self.count_outside(lookup, run) > 0 {
            return Err(Outside);
        }
        let mut asking = BlockAsking::new(run.length, table, out.size);
        Ok(lookup.for_each_block(self.backend, run, &mut |moved| {
            asking.ask(table, moved.offsets);
            gather(way, out.size, tile, moved, table);
        }))
    }

    /// True if so many bytes of elements, from a table of so many, are written past the caches.
    pub(super) fn streams_out(&self, bytes: usize, table_bytes: usize) -> bool {
        // The method stands for sizes beyond those that tests have the time for.
        self.method == Some(Method::Partitioned) || pays_streaming_elements(Caches::get(), bytes, table_bytes)
    }
}

/// What a gather writes.
#[derive(Clone, Copy)]
struct Out {
    /// Bytes of an element.
    size: usize,
    /// It is written past the caches.
    streams: bool,
}

/// What has been written where a gather fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnFault {
    /// Nothing: all lanes are looked at before the first is carried out.
    NothingWritten,
    /// Anything: lanes are looked at while they are carried out.
    AnythingWritten,
}

/// A scatter of one run.
pub(super) struct Scatter<'a> {
    pub(super) engine: &'a Engine,
    pub(super) kernel: &'static dyn Kernel,
    pub(super) lookup: Lookup<'a>,
    pub(super) run: Run,
    pub(super) tile: &'a [u8],
}

impl Scatter<'_> {
    /// Lanes of the run, on this thread, in source order, each looked at just before it is carried out; returns how many were
    /// out of range. `None` as soon as one may not be there, or, in a table of a thread's own, has a value that cannot be
    /// merged.
    pub(super) fn looking(&self, run: Run, table: &mut [u8], kind: Table) -> Option<usize> {
        let Self { engine, kernel, lookup, tile, .. } = *self;
        if let Some(words) = self.whole_words(run) {
            let lanes = WholeLanes { words, capacity: lookup.resolver.capacity };
            return kernel.scatter_looking(engine.backend, table, lanes, self.values(run), kind).then_some(0);
        }
        let mut outside = 0;
        for from in (0..run.length).step_by(UNDO_LANES) {
            let run = run.part(from, run.length.min(from + UNDO_LANES));
            engine.check_lanes(&lookup, run).ok()?;
            if kind == Table::Own && !kernel.may_merge(self.values(run)) {
                return None;
            }
            let scatter = &mut |moved: Moved<'_>| kernel.scatter(engine.backend, table, moved, tile);
            outside += lookup.for_each_block(engine.backend, run, scatter);
        }
        Some(outside)
    }

    /// The lanes, if they are their own offsets and values follow each other as they do.
    fn whole_words(&self, run: Run) -> Option<&[[u8; 4]]> {
        let dense = self.lookup.is_narrow() && run.payload.step == 1;
        if dense { self.lookup.whole(run) } else { None }
    }

    /// The values, if they follow each other.
    pub(super) fn values(&self, run: Run) -> &[u8] {
        let size = self.kernel.size();
        &self.tile[run.payload.start * size..][..run.length * size]
    }

    /// Each thread scatters its lanes into a table of its own, and these are merged in the order of the lanes. `None`, with
    /// nothing written, if there is no memory for them, a lane that may not be there, or a value that cannot be merged.
    fn merged(&self, table: &mut [u8]) -> Option<usize> {
        let Self { engine, kernel, run, .. } = *self;
        let (length, cuts) = (table.len(), cuts(run.length, engine.workers()));
        let bytes = length.checked_mul(cuts.len()).filter(|bytes| (1..=engine.memory_cap).contains(bytes))?;
        engine.scratch.with(bytes, |memory| {
            let memory = memory?;
            let tasks = cuts.into_iter().zip(memory.chunks_mut(length)).collect();
            let outside = engine.each(tasks, |((from, to), own)| {
                kernel.clear(own);
                self.looking(run.part(from, to), own, Table::Own)
            });
            let outside = outside.into_iter().sum::<Option<usize>>()?;
            // So short that a part stays in the first-level cache while all tables are merged into it.
            let part = MERGED_PART.min(length);
            engine.each(table.chunks_mut(part).enumerate().collect(), |(i, table): (usize, &mut [u8])| {
                for own in memory.chunks(length) {
                    kernel.merge(engine.backend, table, &own[i * part..][..table.len()]);
                }
            });
            Some(outside)
        })
    }

    /// Each thread scatters what falls into its part of the table.
    fn owned(&self, table: &mut [u8], sample: &Sample) -> Result<usize, Outside> {
        let Self { engine, kernel, lookup, run, tile } = *self;
        let capacity = lookup.resolver.capacity;
        let parts = sample.parts(capacity, engine.workers());
        let words = self.whole_words(run);
        if let Some(words) = words.filter(|_| self.saves(table)) {
            let (whole, bytes) = (WholeLanes { words, capacity }, table.len());
            let scatter = |memory: &mut [u8]| self.owned_with_undo(table, &parts, whole, memory);
            if let Some(done) = engine.scratch.with(bytes, |memory| memory.map(scatter)) {
                return done;
            }
        }
        engine.check_lanes(&lookup, run)?;
        let outside = engine.each(split_parts(table, &parts, kernel.size()), |(part, table)| {
            if let Some(words) = words {
                let whole = WholeLanes { words, capacity: u64::MAX };
                kernel.scatter_part(engine.backend, table, PartLanes { whole, part }, self.values(run));
                return 0;
            }
            let lookup = Lookup { resolver: lookup.resolver.within(part), ..lookup };
            let mut asking = BlockAsking::new(run.length, table, kernel.size());
            lookup.for_each_block(engine.backend, run, &mut |moved| {
                asking.ask(table, moved.offsets);
                kernel.scatter(engine.backend, table, moved, tile);
            })
        });
        // Every thread has seen every lane.
        Ok(outside.first().copied().unwrap_or(0))
    }

    /// As [`owned`](Self::owned), looking at lanes just before they are carried out, in `memory` as long as the table.
    fn owned_with_undo(
        &self,
        table: &mut [u8],
        parts: &[Part],
        whole: WholeLanes<'_>,
        memory: &mut [u8],
    ) -> Result<usize, Outside> {
        let Self { engine, kernel, .. } = *self;
        let size = kernel.size();
        let memories = split_parts(memory, parts, size).into_iter().map(|(_, memory)| memory);
        let tasks = split_parts(table, parts, size).into_iter().zip(memories).collect();
        let done = engine.each(tasks, |((part, table), memory)| {
            save(engine.backend, memory, table);
            kernel.scatter_part(engine.backend, table, PartLanes { whole, part }, self.values(self.run))
        });
        // Every thread looks at every lane.
        if done.into_iter().all(|done| done) {
            return Ok(0);
        }
        table.copy_from_slice(memory);
        Err(Outside)
    }

    /// Sorts lanes by destination and applies them; gives the table back if there is no memory for it.
    fn partitioned<'t>(&self, table: &'t mut [u8], work: &Work) -> Result<Result<usize, Outside>, &'t mut [u8]> {
        let Self { engine, kernel, lookup, run, .. } = *self;
        if engine.memory_cap < LEAST_MEMORY {
            return Err(table);
        }
        let Some(split) = Split::of(table.len() / kernel.size(), work.buckets()) else { return Err(table) };
        let entry = entry_bytes(kernel.size());
        let Some(Round { lanes: round, parts, chunking }) = Round::within(work, engine.memory_cap / entry) else {
            return Err(table);
        };
        let region = chunking.entries() * entry;
        engine.scratch.with(region * parts, |memory| {
            let Some(memory) = memory else { return Err(table) };
            // A single round looks at lanes while sorting them; of several, none may be applied before all are seen.
            if round < run.length && engine.check_lanes(&lookup, run).is_err() {
                return Ok(Err(Outside));
            }
            let rounds = (0..run.length).step_by(round);
            let outside = rounds.map(|from| {
                let run = run.part(from, run.length.min(from + round));
                let work = Work { lanes: run.length, ..*work };
                self.round(table, (split, chunking), (run, &work), memory.chunks_mut(region))
            });
            Ok(outside.sum())
        })
    }

    /// One round of a partition.
    fn round(
        &self,
        table: &mut [u8],
        (split, chunking): (Split, Chunking),
        (run, work): (Run, &Work),
        memory: ChunksMut<'_, u8>,
    ) -> Result<usize, Outside> {
        let Self { engine, kernel, lookup, tile, .. } = *self;
        let tasks = cuts(run.length, memory.len()).into_iter().zip(memory).collect();
        let partitions = engine.each(tasks, |((from, to), region)| {
            let partition = Partition { lookup, run: run.part(from, to), split, chunking };
            let (buckets, outside) = partition.write(engine.backend, kernel.size(), tile, region);
            (&*region, buckets, outside)
        });
        let outside = partitions.iter().map(|(_, _, outside)| outside).sum();
        if lookup.resolver.bounds == Bounds::Checked && outside > 0 {
            return Err(Outside);
        }
        let entry = entry_bytes(kernel.size());
        let buckets: Vec<_> = table.chunks_mut(split.bucket_length() * kernel.size()).enumerate().collect();
        let count = buckets.len();
        engine.each(buckets, |(bucket, table): (usize, &mut [u8])| {
            let pieces = partitions.iter().flat_map(|(region, buckets, _)| {
                buckets.pieces(bucket).iter().map(|piece| &region[piece.start * entry..piece.end * entry])
            });
            kernel.apply(engine.backend, table, &pieces.collect::<Vec<_>>(), work.asks(bucket, count));
        });
        Ok(outside)
    }
}

/// Lanes that are sorted at a time.
struct Round {
    lanes: usize,
    /// Into how many parts they are cut.
    parts: usize,
    /// How the region of each part is cut.
    chunking: Chunking,
}

impl Round {
    /// The longest one that takes so many entries at the most; `None` if it would be too short to pay. Only what takes a single round
    /// is cut into more parts than there are threads: these take more memory.
    fn within(work: &Work, entries: usize) -> Option<Self> {
        let (buckets, all) = (work.buckets(), work.lanes.min(1 << 31));
        let least = (buckets * BUCKET_LANES / 4).saturating_mul(work.threads).min(work.lanes).max(1);
        let lengths = core::iter::successors(Some(all), |length| Some(length / 2));
        let rounds = lengths.take_while(|length| *length >= least).map(|lanes| (lanes, work.threads));
        let single = [(work.lanes, work.sorted_parts())].into_iter().filter(|(lanes, _)| (least..=all).contains(lanes));
        let cut = |(lanes, parts): (usize, usize)| Self {
            lanes,
            parts,
            chunking: Chunking::of(lanes.div_ceil(parts), buckets),
        };
        single.chain(rounds).map(cut).find(|round| round.chunking.entries().saturating_mul(round.parts) <= entries)
    }
}

/// Cuts a table, of which each entry takes `bytes`, into parts that follow each other.
pub(super) fn split_parts<'a>(mut table: &'a mut [u8], parts: &[Part], bytes: usize) -> Vec<(Part, &'a mut [u8])> {
    let cut = |part: &Part| {
        // The last row of a table may end before its stride does.
        let length = (part.length as usize).saturating_mul(bytes).min(table.len());
        let (mine, rest) = core::mem::take(&mut table).split_at_mut(length);
        table = rest;
        (*part, mine)
    };
    parts.iter().map(cut).collect()
}
