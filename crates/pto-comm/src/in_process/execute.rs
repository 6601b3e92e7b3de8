//! A described collective on buffers at hand: a group of threads for one call.

use std::sync::Mutex;

use pto_isa::{Collective, Direction, Launch, Target};

use super::launch;
use crate::{CommError, Member, Moved, ParallelGroup, Transport, group, tgather, tscatter};

/// Executes a collective between threads, on the root's buffer and the buffers of all ranks.
///
/// The counterpart of the reference executor's function of this name: what conformance corpora and tests run.
///
/// # Errors
/// As [`tscatter`]. Every buffer is then as it was.
///
/// ```
/// use pto_isa::{Collective, Direction, ElementType::U8, Launch, Target, Tensor, Tile};
/// let call = Collective {
///     direction: Direction::Scatter,
///     root: 0,
///     caller: 0,
///     local: Tensor::packed(U8, [1, 1, 1, 2, 2]),
///     group: vec![Some(Tensor::packed(U8, [1, 1, 1, 1, 2])); 2],
///     staging: vec![Tile::new(U8, 1, 32).with_valid(1, 2)],
/// };
/// let mut ranks = [vec![0; 2], vec![0; 2]];
/// pto_comm::execute_collective(&call, Target::A5, Launch::default(), &mut [1, 2, 3, 4], &mut ranks)?;
/// assert_eq!(ranks, [[1, 2], [3, 4]]);
/// # Ok::<(), pto_comm::CommError>(())
/// ```
pub fn execute_collective(
    call: &Collective,
    target: Target,
    kernel: Launch,
    local: &mut [u8],
    ranks: &mut [Vec<u8>],
) -> Result<Moved, CommError> {
    // No thread stands for a caller or a root that is no rank.
    group::judge(call, target, kernel)?;
    if ranks.len() != call.group.len() {
        return Err(CommError::GroupSize { described: call.group.len(), ranks: ranks.len() });
    }
    let members: Vec<_> = call.group.iter().map(|tensor| tensor.map(Member::new)).collect();
    let local = Mutex::new(local);
    let buffers: &[Vec<u8>] = ranks;
    let outcomes = launch(buffers.len(), |rank| {
        let buffer = &buffers[rank.rank()];
        let window = rank.expose(buffer.len() as u64)?;
        window.local(&mut |memory| memory.copy_from_slice(buffer))?;
        let group = ParallelGroup::new(&*window, members.clone(), call.root as usize).on(target, kernel);
        rank.barrier()?;
        let mut moved = Ok(Moved::default());
        if rank.rank() as u64 == call.caller {
            let mut local = local.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            moved = match call.direction {
                Direction::Scatter => tscatter(&group, &call.local, &local, &call.staging),
                Direction::Gather => tgather(&group, &call.local, &mut local, &call.staging),
            };
        }
        // The caller's own error is what everybody is told.
        rank.agree(moved.as_ref().map(drop).map_err(CommError::clone))?;
        let mut after = Vec::new();
        window.local(&mut |memory| after = memory.to_vec())?;
        Ok((moved?, after))
    });
    let mut moved = Moved::default();
    let mut after = Vec::with_capacity(ranks.len());
    let caller = outcomes.get(call.caller as usize).and_then(|outcome| outcome.as_ref().err()).cloned();
    for (rank, outcome) in outcomes.into_iter().enumerate() {
        let (this, bytes) = outcome.map_err(|error| caller.clone().unwrap_or(error))?;
        if rank as u64 == call.caller {
            moved = this;
        }
        after.push(bytes);
    }
    for (buffer, bytes) in ranks.iter_mut().zip(after) {
        *buffer = bytes;
    }
    Ok(moved)
}
