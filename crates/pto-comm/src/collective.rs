//! TSCATTER and TGATHER: the two collectives, as the root calls them.

use pto_isa::{Direction, Tensor, Tile};

use crate::{CommError, ParallelGroup, movement};

/// What a collective moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Pieces of the size of the staging tile.
    pub chunks: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Distributes the rows of dimension 3 of the root's tensor: rank `r` of `N` receives rows `r*H .. (r+1)*H`.
///
/// Only the root calls; the others keep their windows open, and see the rows after the next
/// [`barrier`](crate::Transport::barrier). Rows beyond `N*H` are ignored. The data goes through one staging tile, or two
/// in turn, in chunks of the tile's valid extents.
///
/// # Errors
/// Before any byte moves: [`CommError::Refused`] or [`CommError::Faults`] if a rule is broken (a caller that is not the
/// root, a root that is no rank, a hole, other types, other shapes, tiles that do not divide), [`CommError::ShortBuffer`],
/// [`CommError::WindowTooSmall`], [`CommError::GroupSize`], or [`CommError::RankLost`] for a rank that is gone. Later:
/// whatever the transport reports.
///
/// See [`ParallelGroup`] for an example.
pub fn tscatter(group: &ParallelGroup<'_>, src: &Tensor, bytes: &[u8], staging: &[Tile]) -> Result<Moved, CommError> {
    let call = group.describe(Direction::Scatter, *src, staging);
    let plan = group.plan(&call, bytes.len() as u64)?;
    movement::scatter(group, &plan, src, bytes)?;
    Ok(Moved { chunks: plan.len(), bytes: plan.bytes() })
}

/// Collects the rows of all ranks into dimension 3 of the root's tensor: the inverse of [`tscatter`].
///
/// Only the root calls, after a [`barrier`](crate::Transport::barrier) that follows the ranks' own writes. Rows of the
/// root's tensor beyond `N*H`, and padding, keep what they hold.
///
/// # Errors
/// As [`tscatter`].
///
/// ```
/// use pto_comm::{ParallelGroup, Transport, launch, tgather};
/// use pto_isa::{ElementType::U8, Tensor, Tile};
/// let collected = launch(3, |rank| {
///     let window = rank.expose(2)?;
///     window.local(&mut |memory| memory.fill(rank.rank() as u8))?;
///     let group = ParallelGroup::agree(rank, &*window, 1, Some(Tensor::packed(U8, [1, 1, 1, 1, 2])))?;
///     let mut rows = vec![9; 8];
///     if rank.rank() == group.root() {
///         let tile = Tile::new(U8, 1, 32).with_valid(1, 2);
///         tgather(&group, &Tensor::packed(U8, [1, 1, 1, 4, 2]), &mut rows, &[tile, tile])?;
///     }
///     rank.barrier()?;
///     Ok(rows)
/// });
/// assert_eq!(collected[1], Ok(vec![0, 0, 1, 1, 2, 2, 9, 9]));
/// ```
pub fn tgather(
    group: &ParallelGroup<'_>,
    dst: &Tensor,
    bytes: &mut [u8],
    staging: &[Tile],
) -> Result<Moved, CommError> {
    let call = group.describe(Direction::Gather, *dst, staging);
    let plan = group.plan(&call, bytes.len() as u64)?;
    movement::gather(group, &plan, dst, bytes)?;
    Ok(Moved { chunks: plan.len(), bytes: plan.bytes() })
}
