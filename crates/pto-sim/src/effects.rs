//! What instructions do to memory.

use std::rc::Rc;

use pto_exec::transfer::{self, Misfit};
use pto_exec::{Fault, Memory, Plan};
use pto_ir::check::rules::TRANSFER_SHAPE;
use pto_ir::{Diagnostic, Pipe, ValueId};
use pto_isa::{Instruction, Rule, Severity, TensorLayout, rules as isa};

use crate::collisions::Met;
use crate::cost::SAMPLED_LANES;
use crate::lanes::{lane_values, tile_slots};
use crate::machine::Machine;
use crate::pipeline::Outcome;
use crate::report::Operation;
use crate::rules;
use crate::slots::Slots;
use crate::state::{TileState, View, known};
use crate::timing::Cost;
use crate::work::{Refusal, Work};

impl Machine<'_> {
    /// What an instruction does to memory.
    pub(crate) fn effect(&mut self, work: &Work, writer: Option<Pipe>, step: u32) -> Result<Outcome, Refusal> {
        match work {
            Work::Load { view, tile } => {
                self.load(view, tile)?;
                let at = tile.tile.address.unwrap_or(0) as usize;
                transfer::fill_padding(&tile.tile, &mut self.ub[at..]).map_err(misfit(isa::TYPE_TABLE))?;
                Ok(self.moved(tile, view))
            }
            Work::Store { tile, view } => {
                self.store(tile, view)?;
                Ok(self.moved(tile, view))
            }
            Work::Move { src, dst } => {
                let copy = self.tile_slice(src).to_vec();
                let at = dst.tile.address.unwrap_or(0) as usize;
                transfer::copy(&dst.tile, &mut self.ub[at..], &src.tile, &copy).map_err(misfit(isa::TYPE_SAME))?;
                let bytes = known(src.tile.valid_rows) * known(src.tile.valid_cols) * src.tile.element.size();
                let cost = self.timing.map_or(0, |timing| timing.vector(bytes));
                Ok(Outcome { slots: Slots::default(), hit: false, cost: Cost { scalar: 0, mover: cost } })
            }
            Work::Collective(_) => Err((isa::POLICY_NAME, "a collective has no single effect".into())),
            Work::Tile { instruction, dst, src, idx } => self.tile_scatter(instruction, dst, src, idx.as_ref(), step),
            Work::Gather { instruction, dst, idx, view } => self.memory(instruction, dst, idx, view, step, None),
            Work::Scatter { instruction, src, idx, view } => {
                self.memory(instruction, src, idx, view, step, Some(writer))
            }
        }
    }

    /// The bytes of a tile.
    pub(crate) fn tile_slice(&self, state: &TileState) -> &[u8] {
        bytes_of(&self.ub, state)
    }

    /// Copies the view's matrix into the tile's valid region.
    pub(crate) fn load(&mut self, view: &View, tile: &TileState) -> Result<(), Refusal> {
        let at = tile.tile.address.unwrap_or(0) as usize;
        let from = view.bytes(&self.buffers[view.buffer].bytes);
        transfer::load(&tile.tile, &mut self.ub[at..], &view.tensor, from).map_err(misfit(isa::TYPE_TABLE))
    }

    /// Copies the tile's valid region into the view's matrix.
    pub(crate) fn store(&mut self, tile: &TileState, view: &View) -> Result<(), Refusal> {
        let at = tile.tile.address.unwrap_or(0) as usize;
        let to = view.bytes_mut(&mut self.buffers[view.buffer].bytes);
        transfer::store(&view.tensor, to, &tile.tile, &self.ub[at..]).map_err(misfit(isa::TYPE_TABLE))
    }

    pub(crate) fn moved(&self, tile: &TileState, view: &View) -> Outcome {
        let (rows, cols) = (known(tile.tile.valid_rows), known(tile.tile.valid_cols));
        let size = tile.tile.element.size();
        let bursts = match view.tensor.layout {
            TensorLayout::Nz => rows * (cols * size).div_ceil(32),
            _ => rows,
        };
        let mover = self.timing.map_or(0, |timing| timing.dma(bursts, rows * cols * size));
        Outcome { slots: Slots::default(), hit: false, cost: Cost { scalar: 0, mover } }
    }

    /// The plan of a step, made anew only when its operands are not among the last ones: buffers take turns.
    pub(crate) fn plan(&mut self, instruction: &Instruction, step: u32) -> Result<Rc<Plan>, Refusal> {
        if let Some(plan) = self.plans.get(instruction, step) {
            return Ok(plan);
        }
        let plan = Rc::new(Plan::new(instruction, self.target, self.launch()).map_err(refusal)?);
        // Legal, but worth a note: what the types leave open only shows here.
        for note in plan.notes().iter().filter(|note| note.rule == isa::SHAPE_INDEX_SMALLER) {
            self.say(Diagnostic::new(note.rule, self.place(step), note.to_string()));
        }
        self.plans.keep(&plan, step);
        Ok(plan)
    }

    pub(crate) fn tile_scatter(
        &mut self,
        instruction: &Instruction,
        dst: &TileState,
        src: &TileState,
        idx: Option<&TileState>,
        step: u32,
    ) -> Result<Outcome, Refusal> {
        let plan = self.plan(instruction, step)?;
        // Operands are copied out: where tiles overlap on purpose, they are read before anything is written.
        let from = self.tile_slice(src).to_vec();
        let lanes = idx.map(|idx| self.tile_slice(idx).to_vec()).unwrap_or_default();
        let (start, end) = dst.allocation();
        let to = &mut self.ub[start as usize..end as usize];
        let memory = match idx {
            Some(_) => Memory::TScatter { dst: to, src: &from, idx: &lanes },
            None => Memory::TScatterMask { dst: to, src: &from },
        };
        let done = plan.run(memory, self.options.schedule).map_err(refusal)?;
        self.count(done);
        if let Some(idx) = idx
            && self.operations.len() < self.options.max_operations
        {
            let indices = lane_values(idx, &lanes, self.target.profile().signed_lanes);
            let slots = indices.iter().map(|index| u64::try_from(*index).ok()).collect();
            let name = self.function.value(ValueId(dst.owner)).name.to_string();
            self.operations.push(Operation {
                name: instruction.opcode().name(),
                place: self.place(step),
                mode: None,
                table: (name, dst.tile.rows, dst.tile.cols),
                payload: (known(src.tile.valid_rows), known(src.tile.valid_cols)),
                indices,
                slots,
            });
        }
        let cleared = if instruction.clears_destination(self.target) { end - start } else { 0 };
        let mut slots = Slots::default();
        if let (Some(idx), true) = (idx, self.options.sanitize) {
            slots = Slots { starts: tile_slots(instruction, idx, &lanes), length: 1, stride: 1, runs_per_lane: 1 };
            let met = self.collisions.count(slots.lanes(), dst.tile.elements().unwrap_or(0));
            self.lanes.collisions += met.collisions;
            if let Some(slot) = met.first {
                let message = format!(
                    "{} lanes meet in slots written before, first in slot {slot}; the last one in row-major order stays",
                    met.collisions
                );
                let place = self.place(step);
                self.say(Diagnostic::new(isa::CONFLICT_COLLISION, place, message));
            }
        }
        let mover = self.timing.map_or(0, |timing| timing.vector_scatter(done.written, cleared));
        Ok(Outcome { slots, hit: false, cost: Cost { scalar: 0, mover } })
    }

    pub(crate) fn count(&mut self, done: pto_exec::Lanes) {
        self.lanes.written += done.written;
        self.lanes.skipped += done.skipped;
        self.lanes.clamped += done.clamped;
        self.lanes.wrapped += done.wrapped;
        self.lanes.zeroed += done.zeroed;
    }

    /// MGATHER and MSCATTER; for a scatter, with the pipe that writes the table where there are pipes.
    pub(crate) fn memory(
        &mut self,
        instruction: &Instruction,
        payload: &TileState,
        idx: &TileState,
        view: &View,
        step: u32,
        scatter: Option<Option<Pipe>>,
    ) -> Result<Outcome, Refusal> {
        let plan = self.plan(instruction, step)?;
        // UB leaves the machine for the while: a scatter reads its lanes in place.
        let mut ub = std::mem::take(&mut self.ub);
        // A gather may overwrite its lanes.
        let copied = scatter.is_none().then(|| bytes_of(&ub, idx).to_vec());
        // Before it runs: an instruction that faults is the one that people want to see.
        self.picture(instruction, view, idx, bytes_of(&ub, idx), step);
        let before = (self.options.explore && scatter.is_some()).then(|| self.buffers[view.buffer].bytes.clone());
        let size = view.tensor.element.size();
        let first = (view.offset * size) as usize;
        let length = (view.tensor.span().unwrap_or(0) * size) as usize;
        let table = &mut self.buffers[view.buffer].bytes[first..first + length];
        let ran = match scatter {
            None => {
                let ((start, end), room) = (payload.allocation(), ub.len());
                let dst = &mut ub[start as usize..(end as usize).min(room)];
                let idx = copied.as_deref().unwrap_or(&[]);
                plan.run(Memory::MGather { dst, table, idx }, self.options.schedule)
            }
            Some(_) => {
                let (src, idx) = (bytes_of(&ub, payload), bytes_of(&ub, idx));
                plan.run(Memory::MScatter { table, src, idx }, self.options.schedule)
            }
        };
        let outcome = ran.map_err(refusal).and_then(|done| {
            self.count(done);
            let lanes = copied.as_deref().unwrap_or_else(|| bytes_of(&ub, idx));
            let outcome = self.memory_outcome(instruction, (payload, idx, lanes), view, (step, done), scatter)?;
            if let Some(before) = before {
                self.explore(instruction, (payload, &ub), view, lanes, &before)?;
            }
            Ok(outcome)
        });
        self.ub = ub;
        outcome
    }

    /// What a memory instruction has shown: its lanes' slots, where they met, what it cost.
    fn memory_outcome(
        &mut self,
        instruction: &Instruction,
        (payload, idx, lanes): (&TileState, &TileState, &[u8]),
        view: &View,
        (step, done): (u32, pto_exec::Lanes),
        scatter: Option<Option<Pipe>>,
    ) -> Result<Outcome, Refusal> {
        // What goes to a window is delivered byte by byte.
        let limit = match (self.options.sanitize || self.owner(view.buffer).is_some(), self.is_device()) {
            (true, _) => usize::MAX,
            (false, true) => SAMPLED_LANES,
            (false, false) => 0,
        };
        let room = std::mem::take(&mut self.room);
        let inside = done.skipped + done.clamped + done.wrapped + done.zeroed == 0;
        let slots = if limit > 0 {
            Slots::of(instruction, self.target, view, (idx, lanes, inside), (limit, room))?
        } else {
            Slots::default()
        };
        let (met, hit) = match scatter {
            Some(writer) if self.options.sanitize => self.meet(view, &slots, writer),
            _ => (Met::default(), false),
        };
        if self.options.sanitize {
            self.negative_lanes(idx, lanes, step);
            if scatter.is_some() {
                self.collisions(instruction, view, met, step);
            }
        }
        let cost = self.cost(instruction, payload, view, &slots, (done, met), scatter.is_none());
        Ok(Outcome { slots, hit, cost })
    }
}

/// The bytes of a tile, up to the end of UB where its last row is a window of a wider one.
fn bytes_of<'u>(ub: &'u [u8], state: &TileState) -> &'u [u8] {
    let (start, end) = state.allocation();
    ub.get(start as usize..(end as usize).min(ub.len())).unwrap_or(&[])
}

/// What a move that does not fit its operands breaks; `types` is the rule for element types that differ.
fn misfit(types: &'static Rule) -> impl Fn(Misfit) -> Refusal {
    move |misfit| match misfit {
        Misfit::Types(..) => (types, misfit.to_string()),
        Misfit::Valid { .. } => (isa::SHAPE_VALID_EXTENT, misfit.to_string()),
        Misfit::Region { tile: (rows, cols), tensor } => {
            let found = format!("{}x{}", tensor.0, tensor.1);
            let message = format!("expected a view of at least {rows}x{cols}, the tile's valid region, found {found}");
            (&TRANSFER_SHAPE, message)
        }
        Misfit::Regions { dst, src } => {
            (&TRANSFER_SHAPE, format!("expected equal valid extents, found {src:?} and {dst:?}"))
        }
        Misfit::Short { .. } => (rules::BOUNDS_BUFFER, misfit.to_string()),
    }
}

pub(crate) fn refusal(fault: Fault) -> Refusal {
    match &fault {
        Fault::Illegal(findings) => {
            let worst = findings.iter().find(|f| f.rule.severity == Severity::Error).or(findings.first());
            let rule = worst.map_or(isa::SHAPE_OVERFLOW, |f| f.rule);
            (rule, findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))
        }
        Fault::Lane { .. } => (isa::BOUNDS_LANE, fault.to_string()),
        Fault::ShortBuffer { .. } => (rules::BOUNDS_BUFFER, fault.to_string()),
        Fault::Call(_) => (isa::SHAPE_OVERFLOW, fault.to_string()),
    }
}
