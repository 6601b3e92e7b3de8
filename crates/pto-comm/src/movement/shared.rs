//! Moving a plan between plain memories with several threads.
//!
//! The rows of one outer index are cut into bands, which no two share a byte of; each thread moves bands through a
//! staging buffer of its own that is no larger than the staging tile. Inside a band, pieces are as wide as they can be
//! and small enough for the first-level cache: in plain memory the shape of the tile costs time and changes no byte.

use std::ops::Range;

use pto_isa::Tensor;
use rayon::prelude::*;

use super::{in_window, member};
use crate::region::copy;
use crate::{Chunk, ChunkPlan, CommError, Member, ParallelGroup, Region};

/// The most that goes through a staging buffer at once: it is then read back from the first-level cache.
const PIECE_BYTES: u64 = 16 << 10;

const CACHE_LINE: usize = 64;

/// Bytes that are worth handing to another thread.
const BAND_BYTES: u64 = 256 << 10;

/// Rows of one rank at one outer index.
struct Band {
    rank: u64,
    rows: Range<u64>,
}

/// One transfer, cut up for threads.
struct Transfer<'a> {
    plan: ChunkPlan,
    local: &'a Tensor,
    members: Vec<Member>,
}

impl<'a> Transfer<'a> {
    fn new(group: &ParallelGroup<'_>, plan: &ChunkPlan, local: &'a Tensor) -> Result<Self, CommError> {
        let members = (0..plan.ranks()).map(|rank| member(group, rank)).collect::<Result<_, _>>()?;
        Ok(Self { plan: plan.reshaped(PIECE_BYTES), local, members })
    }

    fn bands(&self, rank: u64) -> impl Iterator<Item = Band> + '_ {
        let (piece_rows, _) = self.plan.tile();
        let row_bytes = self.plan.bytes_per_outer() / self.plan.ranks() / self.plan.rows();
        let step = (BAND_BYTES / row_bytes.max(1)).next_multiple_of(piece_rows).max(piece_rows);
        let rows = self.plan.rows();
        (0..rows).step_by(step as usize).map(move |row| Band { rank, rows: row..rows.min(row + step) })
    }

    fn all_bands(&self) -> Vec<Band> {
        (0..self.plan.ranks()).flat_map(|rank| self.bands(rank)).collect()
    }

    fn in_root(&self, chunk: &Chunk) -> Result<Region, CommError> {
        self.plan.in_root(chunk, self.local)
    }

    fn in_window(&self, chunk: &Chunk) -> Result<Region, CommError> {
        in_window(&self.plan, chunk, &self.members[chunk.rank as usize])
    }

    /// The whole band as one chunk.
    fn whole(&self, outer: [u64; 3], band: &Band) -> Chunk {
        let Range { start, end } = band.rows;
        Chunk { index: 0, rank: band.rank, outer, row: start, rows: end - start, col: 0, cols: self.plan.cols() }
    }

    /// Moves a band from one buffer to another, piece by piece through the staging buffer.
    fn through(&self, stage: &mut [u8], (from, source): (&[u8], Region), (to, target): (&mut [u8], Region)) {
        // Vector moves that start at the same place of a cache line on both sides are aligned on both sides.
        let apart = from[source.offset as usize..].as_ptr().addr().wrapping_sub(stage.as_ptr().addr());
        let stage = &mut stage[apart % CACHE_LINE..];
        let (rows, cols) = self.plan.tile();
        for row in (0..source.rows).step_by(rows as usize) {
            for col in (0..source.cols).step_by(cols as usize) {
                let (rows, cols) = (rows.min(source.rows - row), cols.min(source.cols - col));
                let staged = Region::dense(rows, cols, source.element);
                copy(from, source.part(row, rows, col, cols), stage, staged);
                copy(stage, staged, to, target.part(row, rows, col, cols));
            }
        }
    }

    fn staging(&self) -> Vec<u8> {
        vec![0; self.plan.tile_bytes() as usize + CACHE_LINE]
    }
}

/// Cuts a buffer at the given ranges, which ascend and do not overlap.
fn cut<'m>(mut memory: &'m mut [u8], ranges: &[Range<u64>]) -> Vec<&'m mut [u8]> {
    let mut at = 0;
    let mut parts = Vec::with_capacity(ranges.len());
    for range in ranges {
        let (_, rest) = memory.split_at_mut((range.start - at) as usize);
        let (part, rest) = rest.split_at_mut((range.end - range.start) as usize);
        parts.push(part);
        memory = rest;
        at = range.end;
    }
    parts
}

fn range(region: Region) -> Result<Range<u64>, CommError> {
    Ok(region.offset..region.end().ok_or(CommError::UnknownExtent("a region is larger than any memory"))?)
}

pub(super) fn scatter(
    group: &ParallelGroup<'_>,
    plan: &ChunkPlan,
    src: &Tensor,
    bytes: &[u8],
    mut windows: Vec<&mut [u8]>,
) -> Result<(), CommError> {
    let transfer = Transfer::new(group, plan, src)?;
    for outer in plan.outers() {
        let mut jobs = Vec::new();
        for (rank, window) in windows.iter_mut().enumerate() {
            let bands: Vec<Band> = transfer.bands(rank as u64).collect();
            let whole = |band| transfer.in_window(&transfer.whole(outer, band)).and_then(range);
            let ranges = bands.iter().map(whole).collect::<Result<Vec<_>, _>>()?;
            let parts = cut(window, &ranges);
            jobs.extend(
                bands.into_iter().zip(parts).zip(ranges).map(|((band, part), range)| (band, part, range.start)),
            );
        }
        jobs.into_par_iter().try_for_each_init(
            || transfer.staging(),
            |stage, (band, part, start)| {
                let whole = transfer.whole(outer, &band);
                let from = (bytes, transfer.in_root(&whole)?);
                transfer.through(stage, from, (part, transfer.in_window(&whole)?.back(start)));
                Ok::<_, CommError>(())
            },
        )?;
    }
    Ok(())
}

pub(super) fn gather(
    group: &ParallelGroup<'_>,
    plan: &ChunkPlan,
    dst: &Tensor,
    bytes: &mut [u8],
    windows: Vec<&mut [u8]>,
) -> Result<(), CommError> {
    let transfer = Transfer::new(group, plan, dst)?;
    let windows: Vec<&[u8]> = windows.into_iter().map(|window| &*window).collect();
    for outer in plan.outers() {
        let bands = transfer.all_bands();
        let whole = |band| transfer.in_root(&transfer.whole(outer, band)).and_then(range);
        let ranges = bands.iter().map(whole).collect::<Result<Vec<_>, _>>()?;
        let parts = cut(bytes, &ranges);
        let jobs: Vec<_> = bands.into_iter().zip(parts).zip(ranges).collect();
        jobs.into_par_iter().try_for_each_init(
            || transfer.staging(),
            |stage, ((band, part), range)| {
                let whole = transfer.whole(outer, &band);
                let from = (windows[band.rank as usize], transfer.in_window(&whole)?);
                transfer.through(stage, from, (part, transfer.in_root(&whole)?.back(range.start)));
                Ok::<_, CommError>(())
            },
        )?;
    }
    Ok(())
}
