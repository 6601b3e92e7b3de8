//! Moving the chunks of a plan: GM to staging buffer to GM.
//!
//! Two ways with one result. Chunk by chunk through one-sided accesses is what every transport can do, with the load
//! of the next chunk under way while the last one travels if there are two staging tiles. Where the windows are plain
//! memory and there is much to move, [`shared`] does it with several threads.

mod shared;

use pto_isa::{Extent, Tensor};

use crate::region::copy;
use crate::{Chunk, ChunkPlan, CommError, Epoch, Member, ParallelGroup, Region};

/// Bytes at one index of the outer dimensions from which several threads are worth waking.
const PARALLEL_BYTES: u64 = 256 << 10;

fn member(group: &ParallelGroup<'_>, rank: u64) -> Result<Member, CommError> {
    let size = group.members().len();
    let missing = CommError::NoSuchRank { rank: rank as usize, size };
    group.members().get(rank as usize).copied().flatten().ok_or(missing)
}

/// Where a chunk lies in its rank's window.
fn in_window(plan: &ChunkPlan, chunk: &Chunk, member: &Member) -> Result<Region, CommError> {
    let mut region = plan.in_rank(chunk, &member.tensor)?;
    region.offset += member.offset;
    Ok(region)
}

fn epoch<'w>(group: &ParallelGroup<'w>, plan: &ChunkPlan) -> Result<Box<dyn Epoch + 'w>, CommError> {
    group.window().lock(&vec![plan.tile_bytes(); plan.slots()])
}

/// True if threads may write rows of the tensor in any order, each in memory of its own, and there is enough for them
/// to do.
fn splits(plan: &ChunkPlan, written: &Tensor) -> bool {
    plan.bytes_per_outer() >= PARALLEL_BYTES && !overlaps_itself(written) && !interleaves_rows(written)
}

/// True unless a row ends before the next one starts, as it does not in column-major tensors.
fn interleaves_rows(tensor: &Tensor) -> bool {
    let [.., row_stride, col_stride] = tensor.strides.map(Extent::known);
    match (row_stride, col_stride, tensor.shape[4].known()) {
        (Some(row), Some(col), Some(cols)) => row < cols.saturating_sub(1).saturating_mul(col).saturating_add(1),
        _ => true,
    }
}

/// All rows of one rank at one outer index, where they follow each other without gaps on both sides.
struct Piece {
    rank: usize,
    in_root: Region,
    in_window: Region,
    length: usize,
}

impl Piece {
    fn of<'m>(&self, bytes: &'m [u8]) -> &'m [u8] {
        &bytes[self.in_root.offset as usize..][..self.length]
    }
}

/// The pieces of each outer index, if every rank's rows are one at each: these travel as they are, since packing them
/// would copy them once more and cut them smaller. `None` if rows have gaps.
fn whole_pieces(
    group: &ParallelGroup<'_>,
    plan: &ChunkPlan,
    local: &Tensor,
) -> Result<Option<Vec<Vec<Piece>>>, CommError> {
    let mut all = Vec::new();
    for outer in plan.outers() {
        let mut pieces = Vec::with_capacity(plan.ranks() as usize);
        for rank in 0..plan.ranks() {
            let chunk = Chunk { index: 0, rank, outer, row: 0, rows: plan.rows(), col: 0, cols: plan.cols() };
            let in_root = plan.in_root(&chunk, local)?;
            let in_window = in_window(plan, &chunk, &member(group, rank)?)?;
            if !in_root.is_dense() || !in_window.is_dense() {
                return Ok(None);
            }
            let bytes = in_root.bytes().and_then(|bytes| usize::try_from(bytes).ok());
            let length = bytes.ok_or(CommError::UnknownExtent("a piece is larger than any memory"))?;
            pieces.push(Piece { rank: rank as usize, in_root, in_window, length });
        }
        all.push(pieces);
    }
    Ok(Some(all))
}

/// The root's rows to every rank.
pub(crate) fn scatter(
    group: &ParallelGroup<'_>,
    plan: &ChunkPlan,
    src: &Tensor,
    bytes: &[u8],
) -> Result<(), CommError> {
    if plan.is_empty() {
        return Ok(());
    }
    let mut epoch = epoch(group, plan)?;
    if splits(plan, &member(group, 0)?.tensor)
        && let Some(windows) = epoch.memories()
    {
        shared::scatter(group, plan, src, bytes, windows)?;
        return epoch.flush();
    }
    if !overlaps_itself(&member(group, 0)?.tensor)
        && let Some(pieces) = whole_pieces(group, plan, src)?
    {
        for outer in pieces {
            let parts: Vec<_> =
                outer.iter().map(|piece| (piece.of(bytes), piece.rank, piece.in_window.offset)).collect();
            epoch.put_pieces(&parts)?;
        }
        return epoch.flush();
    }
    for chunk in plan.chunks() {
        let (slot, staged) = (plan.slot(&chunk), plan.in_staging(&chunk));
        copy(bytes, plan.in_root(&chunk, src)?, epoch.stage(slot)?, staged);
        let to = in_window(plan, &chunk, &member(group, chunk.rank)?)?;
        epoch.put(slot, staged, chunk.rank as usize, to)?;
    }
    epoch.flush()
}

/// Every rank's rows to the root.
pub(crate) fn gather(
    group: &ParallelGroup<'_>,
    plan: &ChunkPlan,
    dst: &Tensor,
    bytes: &mut [u8],
) -> Result<(), CommError> {
    if plan.is_empty() {
        return Ok(());
    }
    let mut epoch = epoch(group, plan)?;
    if splits(plan, dst)
        && let Some(windows) = epoch.memories()
    {
        shared::gather(group, plan, dst, bytes, windows)?;
        return epoch.flush();
    }
    if !overlaps_itself(dst)
        && let Some(pieces) = whole_pieces(group, plan, dst)?
    {
        for outer in pieces {
            let parts = shared::cut(bytes, outer.iter().map(|piece| piece.in_root))?;
            let mut parts: Vec<_> = parts
                .into_iter()
                .zip(&outer)
                .map(|((to, _), piece)| (&mut to[..piece.length], piece.rank, piece.in_window.offset))
                .collect();
            epoch.get_pieces(&mut parts)?;
        }
        return epoch.flush();
    }
    let mut store = |epoch: &mut dyn Epoch, chunk: Chunk| {
        let to = plan.in_root(&chunk, dst)?;
        copy(epoch.stage(plan.slot(&chunk))?, plan.in_staging(&chunk), bytes, to);
        Ok::<_, CommError>(())
    };
    let mut loading = None;
    for chunk in plan.chunks() {
        let from = in_window(plan, &chunk, &member(group, chunk.rank)?)?;
        epoch.get(plan.slot(&chunk), plan.in_staging(&chunk), chunk.rank as usize, from)?;
        // With two tiles, this chunk loads while the one before is stored.
        let loaded = if plan.slots() > 1 { loading.replace(chunk) } else { Some(chunk) };
        if let Some(chunk) = loaded {
            store(&mut *epoch, chunk)?;
        }
    }
    if let Some(chunk) = loading {
        store(&mut *epoch, chunk)?;
    }
    epoch.flush()
}

/// True unless the strides show that no two elements share a byte: every dimension steps over all smaller ones.
fn overlaps_itself(tensor: &Tensor) -> bool {
    let mut dimensions: Vec<(u64, u64)> = Vec::with_capacity(5);
    for (extent, stride) in tensor.shape.iter().zip(&tensor.strides) {
        match (extent, stride) {
            (Extent::Static(0..=1) | Extent::Dynamic(Some(0..=1)), _) => {}
            (extent, stride) => match (extent.known(), stride.known()) {
                (Some(extent), Some(stride)) => dimensions.push((stride, extent)),
                _ => return true,
            },
        }
    }
    dimensions.sort_unstable();
    let mut span = 1u64;
    for (stride, extent) in dimensions {
        if stride < span {
            return true;
        }
        span = span.saturating_add(stride.saturating_mul(extent - 1));
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use pto_isa::{ElementType::F32, TensorLayout::Nd};

    #[test]
    fn overlap_is_seen_whatever_the_order_of_the_dimensions() {
        let overlaps = |shape, strides| overlaps_itself(&Tensor::strided(F32, shape, strides, Nd));
        assert!(!overlaps([1, 1, 2, 3, 4], [0, 0, 12, 4, 1]));
        assert!(!overlaps([1, 1, 2, 3, 4], [0, 0, 1, 2, 6]));
        assert!(overlaps([1, 1, 2, 3, 4], [0, 0, 11, 4, 1]));
        assert!(overlaps([1, 1, 1, 3, 4], [0, 0, 0, 3, 1]));
        assert!(overlaps([1, 1, 1, 1, 4], [0, 0, 0, 0, 0]));
    }

    #[test]
    fn rows_interleave_in_column_major_tensors_only() {
        let interleaves = |strides| interleaves_rows(&Tensor::strided(F32, [1, 1, 1, 3, 4], strides, Nd));
        assert!(!interleaves([12, 12, 12, 4, 1]) && !interleaves([0, 0, 0, 7, 2]));
        assert!(interleaves([12, 12, 12, 1, 3]) && interleaves([0, 0, 0, 6, 2]));
    }
}
