//! Moving a plan between plain memories with several threads.
//!
//! Between memories that this process can address, a stop in a staging buffer on the way changes no byte and costs an
//! eighth of the time, so there is none: rows go straight to where they belong. The rows of one outer index are cut
//! into bands, no two of which share a byte of what is written, and threads take bands.

use std::ops::Range;

use pto_isa::Tensor;
use rayon::prelude::*;

use super::{in_window, member};
use crate::region::copy;
use crate::{Chunk, ChunkPlan, CommError, ParallelGroup, Region};

/// Bytes that are worth handing to another thread.
const BAND_BYTES: u64 = 256 << 10;

/// Rows of one rank at one outer index, and where they lie on both sides.
struct Band {
    rank: usize,
    in_root: Region,
    in_window: Region,
}

/// One band on its way into its part of the written memory.
struct Job<'m> {
    from: (&'m [u8], Region),
    to: (&'m mut [u8], Region),
}

impl Job<'_> {
    fn run(self) {
        copy(self.from.0, self.from.1, self.to.0, self.to.1);
    }
}

/// The bands of one rank at one outer index, first row first.
fn bands(
    group: &ParallelGroup<'_>,
    plan: &ChunkPlan,
    local: &Tensor,
    outer: [u64; 3],
    rank: u64,
) -> Result<Vec<Band>, CommError> {
    let (member, rows, cols) = (member(group, rank)?, plan.rows(), plan.cols());
    let row_bytes = plan.bytes_per_outer() / plan.ranks() / rows;
    let step = (BAND_BYTES / row_bytes).max(1);
    let band = |row| {
        let chunk = Chunk { index: 0, rank, outer, row, rows: step.min(rows - row), col: 0, cols };
        let (in_root, in_window) = (plan.in_root(&chunk, local)?, in_window(plan, &chunk, &member)?);
        Ok(Band { rank: rank as usize, in_root, in_window })
    };
    (0..rows).step_by(step as usize).map(band).collect()
}

/// Cuts a buffer at regions that ascend and share no byte; each part comes with its region in it.
pub(super) fn cut(
    mut memory: &mut [u8],
    regions: impl Iterator<Item = Region>,
) -> Result<Vec<(&mut [u8], Region)>, CommError> {
    let mut at = 0;
    let mut parts = Vec::new();
    for region in regions {
        let end = region.end().ok_or(CommError::UnknownExtent("a region is larger than any memory"))?;
        let Range { start, end } = (region.offset - at) as usize..(end - at) as usize;
        let (part, rest) = memory.split_at_mut(end);
        parts.push((&mut part[start..], Region { offset: 0, ..region }));
        (memory, at) = (rest, at + end as u64);
    }
    Ok(parts)
}

fn run(jobs: Vec<Job<'_>>) {
    // A process that is bound to one processor is not handed a thread to wait for.
    if rayon::current_num_threads() == 1 {
        jobs.into_iter().for_each(Job::run);
    } else {
        jobs.into_par_iter().for_each(Job::run);
    }
}

/// The root's rows to every rank. The ranks' tensors do not overlap themselves.
pub(super) fn scatter(
    group: &ParallelGroup<'_>,
    plan: &ChunkPlan,
    src: &Tensor,
    bytes: &[u8],
    mut windows: Vec<&mut [u8]>,
) -> Result<(), CommError> {
    for outer in plan.outers() {
        let mut jobs = Vec::new();
        for (rank, window) in windows.iter_mut().enumerate() {
            let bands = bands(group, plan, src, outer, rank as u64)?;
            let parts = cut(window, bands.iter().map(|band| band.in_window))?;
            jobs.extend(bands.iter().zip(parts).map(|(band, to)| Job { from: (bytes, band.in_root), to }));
        }
        run(jobs);
    }
    Ok(())
}

/// Every rank's rows to the root, whose tensor does not overlap itself.
pub(super) fn gather(
    group: &ParallelGroup<'_>,
    plan: &ChunkPlan,
    dst: &Tensor,
    bytes: &mut [u8],
    windows: Vec<&mut [u8]>,
) -> Result<(), CommError> {
    let windows: Vec<&[u8]> = windows.into_iter().map(|window| &*window).collect();
    for outer in plan.outers() {
        let mut all = Vec::new();
        for rank in 0..plan.ranks() {
            all.extend(bands(group, plan, dst, outer, rank)?);
        }
        let parts = cut(bytes, all.iter().map(|band| band.in_root))?;
        run(all.iter().zip(parts).map(|(band, to)| Job { from: (windows[band.rank], band.in_window), to }).collect());
    }
    Ok(())
}
