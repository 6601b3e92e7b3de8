//! Where in its table's buffer an instruction's lanes go: what hazards, collisions and bursts are counted from.

use pto_exec::reference;
use pto_isa::{Coalesce, Instruction, OutOfBounds, Target, TensorLayout};

use crate::effects::refusal;
use crate::state::{TileState, View, known};
use crate::work::Refusal;

/// The elements that the lanes of an instruction touch, as runs of one length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// First element of each run, from the start of the buffer.
    pub(crate) starts: Vec<u64>,
    /// Elements in a run.
    pub(crate) length: u64,
    /// Runs of one lane: 1, but where a row is in several pieces.
    pub(crate) runs_per_lane: usize,
}

impl Slots {
    /// The first element of each lane: two lanes collide if theirs is the same.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        self.starts.iter().copied().step_by(self.runs_per_lane.max(1))
    }

    /// The slots of a memory instruction that has run without a fault; of its first `limit` lanes where that is cheaper.
    pub(crate) fn of(
        instruction: &Instruction,
        target: Target,
        view: &View,
        (idx, lanes): (&TileState, &[u8]),
        limit: usize,
    ) -> Result<Self, Refusal> {
        let mode = instruction.coalesce(target).unwrap_or(Coalesce::Elem);
        let columns = known(instruction.payload().valid_cols);
        let device = matches!(target, Target::A2A3 | Target::A5);
        if device && view.tensor.layout == TensorLayout::Nd {
            let stride = match (mode, target) {
                (Coalesce::Elem, _) => 1,
                (_, Target::A5) => columns,
                _ => known(view.tensor.strides[3]),
            };
            let length = if mode == Coalesce::Elem { 1 } else { columns };
            let capacity = instruction.capacity(target).unwrap_or(0);
            let oob = instruction.policy().map_or(OutOfBounds::Undefined, |policy| policy.oob_or_default());
            let starts = resolve((idx, lanes), (capacity, oob), limit, |slot| view.offset + slot * stride);
            return Ok(Self { starts, length, runs_per_lane: 1 });
        }
        let slots = reference::slots(instruction, target, lanes).map_err(refusal)?;
        let starts: Vec<u64> = slots.into_iter().flatten().map(|slot| slot + view.offset).collect();
        let runs_per_lane = if mode == Coalesce::Row { columns as usize } else { 1 };
        Ok(Self { starts, length: 1, runs_per_lane })
    }
}

/// The lanes of an index tile after the policy, mapped; device lanes are unsigned 32-bit numbers.
fn resolve(
    (idx, lanes): (&TileState, &[u8]),
    (capacity, oob): (u64, OutOfBounds),
    limit: usize,
    map: impl Fn(u64) -> u64,
) -> Vec<u64> {
    let tile = &idx.tile;
    let (rows, cols) = (known(tile.valid_rows), known(tile.valid_cols));
    let words = lanes.as_chunks::<4>().0;
    let mut starts = Vec::with_capacity(((rows * cols) as usize).min(limit));
    let resolved = |word: &[u8; 4]| {
        let index = u64::from(u32::from_le_bytes(*word));
        let slot = match oob {
            _ if index < capacity => index,
            OutOfBounds::Clamp if capacity > 0 => capacity - 1,
            OutOfBounds::Wrap if capacity > 0 => index % capacity,
            _ => return None,
        };
        Some(map(slot))
    };
    for row in 0..rows {
        if starts.len() >= limit {
            break;
        }
        if tile.is_row_major() {
            let first = (row * tile.cols) as usize;
            starts.extend(words[first..first + cols as usize].iter().filter_map(&resolved));
        } else {
            starts.extend((0..cols).filter_map(|col| resolved(&words[tile.offset(row, col) as usize])));
        }
    }
    starts
}
