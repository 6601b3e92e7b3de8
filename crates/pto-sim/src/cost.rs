//! What a memory instruction costs, counted from its operands.

use pto_isa::{Atomic, Coalesce, Conflict, Instruction, OutOfBounds, Target, TensorLayout};

use crate::collisions::Met;
use crate::machine::Machine;
use crate::slots::Slots;
use crate::state::{TileState, View, known};
use crate::timing::{self, Cost};
use crate::warps::Simt;

/// Lanes whose bursts are counted; the others of an instruction are taken to be like them.
pub(crate) const SAMPLED_LANES: usize = 256;

impl Machine<'_> {
    pub(crate) fn cost(
        &mut self,
        instruction: &Instruction,
        payload: &TileState,
        view: &View,
        slots: &Slots,
        (done, met): (pto_exec::Lanes, Met),
        gather: bool,
    ) -> Cost {
        let Some(timing) = self.timing else { return Cost { scalar: 0, mover: 0 } };
        let policy = instruction.policy().copied().unwrap_or_default();
        let mode = instruction.coalesce(self.target).unwrap_or(Coalesce::Elem);
        let (rows, cols) = (known(payload.tile.valid_rows), known(payload.tile.valid_cols));
        let shape = view.tensor.shape.map(known);
        let nz = view.tensor.layout == TensorLayout::Nz;
        let size = view.tensor.element.size();
        let atomic = if gather { Atomic::None } else { policy.atomic_or_default() };
        let last = !gather && atomic == Atomic::None && policy.conflict_or_default() == Conflict::Last;
        let element_mode = mode == Coalesce::Elem;
        let elements = self.buffers[view.buffer].bytes.len() as u64 / size;
        let coalesced = if element_mode && self.target == Target::A5 {
            {
                let sample = &slots.starts[..slots.starts.len().min(SAMPLED_LANES)];
                let bursts = self.collisions.bursts(sample, size, timing.coalesced_bytes, elements);
                // As many bursts per lane as the sample has.
                (bursts * (done.written - done.zeroed)).div_ceil((sample.len() as u64).max(1))
            }
        } else {
            0
        };
        let work = timing::Work {
            mode,
            oob: policy.oob.unwrap_or(OutOfBounds::Undefined),
            atomic,
            last,
            rows,
            cols,
            size,
            lanes: done.written - done.zeroed,
            dmas: if nz { shape[0] } else { 1 },
            bursts: if nz { shape[1] } else { 1 },
            slots: instruction.capacity(self.target).unwrap_or(0),
            coalesced,
            multiplicity: met.multiplicity.max(1),
        };
        match self.target {
            Target::A5 if rows * cols == 1 && element_mode => timing::a2a3_elem(timing, &work, gather),
            Target::A5 => {
                let simt = if last { Simt::by_destination(work.slots) } else { Simt::by_source(mode, rows, cols) };
                self.simt = Some(simt);
                Cost { scalar: 0, mover: timing::a5_simt(timing, &work, simt.grid.warps) }
            }
            _ if element_mode => timing::a2a3_elem(timing, &work, gather),
            _ => timing::a2a3_row(timing, &work),
        }
    }
}
