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
    /// Starts differ by multiples of this.
    pub(crate) stride: u64,
    /// Runs of one lane: 1, but where a row is in several pieces.
    pub(crate) runs_per_lane: usize,
}

impl Slots {
    /// For rows that are either the same or have nothing in common: how far to shift a start for a number that is the
    /// row's own, below that of the rows there is room for.
    pub(crate) fn row_shift(&self) -> Option<u32> {
        (self.length > 1 && self.stride >= self.length).then(|| self.stride.ilog2())
    }

    /// The first element of each lane: two lanes collide if theirs is the same.
    pub(crate) fn lanes(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        self.starts.iter().copied().step_by(self.runs_per_lane.max(1))
    }

    /// The slots of a memory instruction that has run without a fault; of its first `limit` lanes where that is cheaper.
    ///
    /// `inside` says that no lane was out of range. The slots go to `room`, whatever it held.
    pub(crate) fn of(
        instruction: &Instruction,
        target: Target,
        view: &View,
        (idx, lanes, inside): (&TileState, &[u8], bool),
        (limit, mut room): (usize, Vec<u64>),
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
            let oob = (!inside).then_some(oob);
            room.clear();
            if stride == 1 {
                resolve((idx, lanes), (capacity, oob), (limit, &mut room), |slot| view.offset + slot);
            } else {
                resolve((idx, lanes), (capacity, oob), (limit, &mut room), |slot| view.offset + slot * stride);
            }
            return Ok(Self { starts: room, length, stride, runs_per_lane: 1 });
        }
        let slots = reference::slots(instruction, target, lanes).map_err(refusal)?;
        let starts: Vec<u64> = slots.into_iter().flatten().map(|slot| slot + view.offset).collect();
        let runs_per_lane = if mode == Coalesce::Row { columns as usize } else { 1 };
        Ok(Self { starts, length: 1, stride: 1, runs_per_lane })
    }
}

/// The lanes of an index tile after the policy, if one is needed, mapped; device lanes are unsigned 32-bit numbers.
#[inline(always)]
fn resolve(
    (idx, lanes): (&TileState, &[u8]),
    (capacity, oob): (u64, Option<OutOfBounds>),
    (limit, starts): (usize, &mut Vec<u64>),
    map: impl Fn(u64) -> u64,
) {
    let tile = &idx.tile;
    let (rows, cols) = (known(tile.valid_rows), known(tile.valid_cols));
    let words = lanes.as_chunks::<4>().0;
    starts.reserve(((rows * cols) as usize).min(limit));
    let lane = |word: &[u8; 4]| u64::from(u32::from_le_bytes(*word));
    let resolved = |word: &[u8; 4]| oob.unwrap_or_default().slot(lane(word).into(), capacity).map(&map);
    for row in 0..rows {
        if starts.len() >= limit {
            break;
        }
        if tile.is_row_major() {
            let first = (row * tile.cols) as usize;
            let words = &words[first..first + cols as usize];
            // Where all are in range, as almost always, no lane needs a decision.
            match oob {
                None => starts.extend(words.iter().map(|word| map(lane(word)))),
                Some(_) => starts.extend(words.iter().filter_map(resolved)),
            }
        } else {
            starts.extend((0..cols).filter_map(|col| resolved(&words[tile.offset(row, col) as usize])));
        }
    }
}
