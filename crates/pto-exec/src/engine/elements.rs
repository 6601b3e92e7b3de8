//! Elementwise gathers and scatters of one run, on one thread or several.

use pto_isa::{Atomic, ElementType};

use super::cost::{Method, PARALLEL_LANES, Skew};
use super::share::Sample;
use super::{Engine, cuts};
use crate::kernel::BLOCK;
use crate::kernel::address::AddressMap;
use crate::kernel::bounds::{Bounds, Part};
use crate::kernel::elements::{CountOutside, Lookup, Moved, Outside, Run, gather};
use crate::kernel::kind::{Kernel, kernel};
use crate::kernel::partition::{Buckets, Partition, Split, entry_bytes, region_length};

/// Below this cap there is too little memory to sort in.
const LEAST_MEMORY: usize = 4 << 20;

/// Lanes that are looked at and then carried out while they are in the first-level cache.
const UNDO_LANES: usize = 16384;

impl Engine {
    /// True if this many lanes get more than the caller's thread.
    fn is_parallel(&self, lanes: usize) -> bool {
        let enough = match self.method {
            None => lanes >= PARALLEL_LANES,
            Some(method) => method != Method::Direct,
        };
        enough && self.threads.get() > 1
    }

    /// Looks at all lanes, if no policy says what to do with those out of range.
    pub(crate) fn check_lanes(&self, lookup: &Lookup<'_>, run: Run) -> Result<(), Outside> {
        if lookup.resolver.bounds != Bounds::Checked {
            return Ok(());
        }
        let count = |from: usize, to: usize| {
            self.backend.run(CountOutside { lookup: *lookup, idx: run.idx.after(from), length: to - from })
        };
        let outside = if self.is_parallel(run.length) {
            self.each(cuts(run.length, self.threads.get()), |(from, to)| count(from, to)).into_iter().sum()
        } else {
            count(0, run.length)
        };
        if outside == 0 { Ok(()) } else { Err(Outside) }
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
        let work = self.work(lanes, capacity.saturating_mul(scatter.kernel.size()), atomic);
        let is_direct = match self.method {
            Some(method) => method == Method::Direct,
            None => !self.is_parallel(lanes) && !work.pays_partition(),
        };
        // Only a table that is a plain array can be cut.
        if is_direct || *lookup.map != AddressMap::Linear {
            return scatter.direct(table);
        }
        let table = &mut table[..capacity * scatter.kernel.size()];
        let sample = Sample::draw(self.backend, lookup, run);
        let method = self.method.unwrap_or_else(|| {
            let bucket = Split::of(capacity).map_or(capacity, Split::bucket_length);
            let skew = Skew { sampled: sample.len(), crowd: sample.crowd(bucket), repeats: sample.repeats() };
            work.method(skew)
        });
        match method {
            Method::Direct => scatter.direct(table),
            Method::Owned => scatter.owned(table, &sample),
            Method::Partitioned => {
                self.check_lanes(&lookup, run)?;
                scatter.partitioned(table).or_else(|table| scatter.owned(table, &sample))
            }
        }
    }

    /// Gathers a run from `table`, zero for dropped lanes; returns how many lanes were out of range.
    pub(crate) fn gather_run(
        &self,
        element: ElementType,
        lookup: Lookup<'_>,
        run: Run,
        tile: &mut [u8],
        table: &[u8],
    ) -> Result<usize, Outside> {
        let size = element.size() as usize;
        if !self.is_parallel(run.length) || run.payload.step != 1 {
            return match lookup.check_whole(self.backend, run) {
                Some(offsets) => Ok(self.gather_whole(size, tile, whole(run, offsets?), table)),
                None => {
                    self.check_lanes(&lookup, run)?;
                    Ok(self.gather_part(size, &lookup, run, tile, table))
                }
            };
        }
        let cuts = cuts(run.length, self.threads.get());
        // Checked in parts first: what is seen there need not be looked at again.
        let checked = self.each(cuts.clone(), |(from, to)| lookup.check_whole(self.backend, run.part(from, to)));
        if checked.iter().any(|offsets| matches!(offsets, Some(Err(Outside)))) {
            return Err(Outside);
        }
        if checked.iter().any(Option::is_none) {
            self.check_lanes(&lookup, run)?;
        }
        let mut rest = &mut tile[run.payload.start * size..][..run.length * size];
        let mut tasks = Vec::with_capacity(cuts.len());
        for ((from, to), offsets) in cuts.into_iter().zip(checked) {
            let (mine, others) = core::mem::take(&mut rest).split_at_mut((to - from) * size);
            rest = others;
            let mut run = run.part(from, to);
            run.payload.start = 0;
            tasks.push((offsets, run, mine));
        }
        let outside = self.each(tasks, |(offsets, run, tile)| match offsets {
            Some(Ok(offsets)) => self.gather_whole(size, tile, whole(run, offsets), table),
            _ => self.gather_part(size, &lookup, run, tile, table),
        });
        Ok(outside.into_iter().sum())
    }

    fn gather_whole(&self, size: usize, tile: &mut [u8], moved: Moved<'_>, table: &[u8]) -> usize {
        gather(self.backend, size, tile, moved, table);
        0
    }

    fn gather_part(&self, size: usize, lookup: &Lookup<'_>, run: Run, tile: &mut [u8], table: &[u8]) -> usize {
        lookup.for_each_block(self.backend, run, &mut |moved| gather(self.backend, size, tile, moved, table))
    }
}

/// A whole run as one block.
fn whole(run: Run, offsets: crate::kernel::AnyOffsets<'_>) -> Moved<'_> {
    Moved { payload: run.payload, count: run.length, offsets, positions: None }
}

/// A scatter of one run.
struct Scatter<'a> {
    engine: &'a Engine,
    kernel: &'static dyn Kernel,
    lookup: Lookup<'a>,
    run: Run,
    tile: &'a [u8],
}

impl Scatter<'_> {
    /// On this thread, in source order.
    fn direct(&self, table: &mut [u8]) -> Result<usize, Outside> {
        let Self { engine, kernel, lookup, run, tile } = *self;
        if self.undo_is_cheaper(table) {
            return self.direct_with_undo(table);
        }
        let ahead = engine.cold_tables;
        if let Some(offsets) = lookup.check_whole(engine.backend, run) {
            let (moved, part) = (whole(run, offsets?), if ahead { BLOCK } else { run.length });
            for from in (0..run.length).step_by(part.max(1)) {
                let moved = moved.part(from, run.length.min(from + part));
                if ahead {
                    moved.prefetch(table, kernel.size());
                }
                kernel.scatter(engine.backend, table, moved, tile);
            }
            return Ok(0);
        }
        engine.check_lanes(&lookup, run)?;
        Ok(lookup.for_each_block(engine.backend, run, &mut |moved| {
            if ahead {
                moved.prefetch(table, kernel.size());
            }
            kernel.scatter(engine.backend, table, moved, tile);
        }))
    }

    /// True if saving the table costs less than looking at all lanes beforehand.
    fn undo_is_cheaper(&self, table: &[u8]) -> bool {
        let index_bytes = self.run.length * self.lookup.reader.element.size() as usize;
        self.lookup.resolver.bounds == Bounds::Checked
            && self.run.length > UNDO_LANES
            && table.len() <= index_bytes / 4
            && table.len() <= self.engine.memory_cap
    }

    /// As [`direct`](Self::direct), looking at lanes just before they are carried out.
    fn direct_with_undo(&self, table: &mut [u8]) -> Result<usize, Outside> {
        let Self { engine, kernel, lookup, run, tile } = *self;
        let saved = table.to_vec();
        for from in (0..run.length).step_by(UNDO_LANES) {
            let run = run.part(from, run.length.min(from + UNDO_LANES));
            let done = match lookup.check_whole(engine.backend, run) {
                Some(offsets) => {
                    offsets.map(|offsets| kernel.scatter(engine.backend, table, whole(run, offsets), tile))
                }
                None => engine.check_lanes(&lookup, run).map(|()| {
                    let scatter = &mut |moved: Moved<'_>| kernel.scatter(engine.backend, table, moved, tile);
                    lookup.for_each_block(engine.backend, run, scatter);
                }),
            };
            if done.is_err() {
                table.copy_from_slice(&saved);
                return Err(Outside);
            }
        }
        Ok(0)
    }

    /// Each thread scatters what falls into its part of the table.
    fn owned(&self, table: &mut [u8], sample: &Sample) -> Result<usize, Outside> {
        let Self { engine, kernel, lookup, run, tile } = *self;
        let mut resolver = lookup.resolver;
        let saved = self.undo_is_cheaper(table).then(|| table.to_vec());
        match saved {
            // Lanes out of range are dropped for now, and counted.
            Some(_) => resolver.bounds = Bounds::Drop,
            None => engine.check_lanes(&lookup, run)?,
        }
        let parts = sample.parts(resolver.capacity, engine.threads.get());
        let outside = engine.each(split_parts(table, &parts, kernel.size()), |(part, table)| {
            let lookup = Lookup { resolver: resolver.within(part), ..lookup };
            lookup.for_each_block(engine.backend, run, &mut |moved| kernel.scatter(engine.backend, table, moved, tile))
        });
        // Every thread has seen every lane.
        let outside = outside.first().copied().unwrap_or(0);
        match saved {
            Some(saved) if outside > 0 => {
                table.copy_from_slice(&saved);
                Err(Outside)
            }
            _ => Ok(outside),
        }
    }

    /// Sorts lanes by destination and applies them; gives the table back if there is no memory for it.
    fn partitioned<'t>(&self, table: &'t mut [u8]) -> Result<usize, &'t mut [u8]> {
        let Self { engine, kernel, run, .. } = *self;
        let Some(split) = Split::of(table.len() / kernel.size()) else { return Err(table) };
        if engine.memory_cap < LEAST_MEMORY {
            return Err(table);
        }
        let entry = entry_bytes(kernel.size());
        // A ninth is for the gaps between buckets.
        let round = run.length.min(engine.memory_cap / entry / 9 * 8).clamp(1, 1 << 31);
        let threads = engine.threads.get();
        let region = region_length(round.div_ceil(threads)) * entry;
        engine.scratch.with(region * threads, |memory| {
            let Some(memory) = memory else { return Err(table) };
            let rounds = (0..run.length).step_by(round);
            let outside = rounds.map(|from| {
                let run = run.part(from, run.length.min(from + round));
                self.round(table, split, run, memory, region)
            });
            Ok(outside.sum())
        })
    }

    /// One round of a partition.
    fn round(&self, table: &mut [u8], split: Split, run: Run, memory: &mut [u8], region: usize) -> usize {
        let Self { engine, kernel, lookup, tile, .. } = *self;
        let tasks = cuts(run.length, engine.threads.get()).into_iter().zip(memory.chunks_mut(region)).collect();
        let partitions = engine.each(tasks, |((from, to), region)| {
            let partition = Partition { lookup, run: run.part(from, to), split };
            partition.write(engine.backend, kernel.size(), tile, region)
        });
        let outside = partitions.iter().map(|(_, outside)| outside).sum();
        let regions: Vec<(&[u8], Buckets)> =
            memory.chunks(region).zip(partitions).map(|(region, (buckets, _))| (region, buckets)).collect();
        let entry = entry_bytes(kernel.size());
        let buckets = table.chunks_mut(split.bucket_length() * kernel.size()).enumerate().collect();
        engine.each(buckets, |(bucket, table)| {
            for (region, buckets) in &regions {
                let entries = buckets[bucket].start * entry..buckets[bucket].end * entry;
                kernel.apply(engine.backend, table, &region[entries]);
            }
        });
        outside
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
