//! Instructions on their pipes: values, hazards, lanes and cycles.

use pto_exec::{Fault, Memory, Plan, reference, simt};
use pto_ir::{Diagnostic, Dispatch, Executed, Footprint, OpKind, Pipe, Touch, ValueId, footprint};
use pto_isa::{
    Atomic, Coalesce, Conflict, ElementClass, Instruction, Launch, OutOfBounds, Rule, Severity, Target, TensorLayout,
    rules as isa,
};

use crate::collective::CollectiveWork;
use crate::collisions;
use crate::device::Span;
use crate::hazard::{Access, Kind, Race};
use crate::machine::{Machine, decode};
use crate::report::{Nondeterministic, Operation, Residence};
use crate::rules;
use crate::state::{TileState, Value, View, known};
use crate::timing::{self, Cost};
use crate::transfer;
use crate::ub::Problem;

/// An instruction that waits for its pipe, with its operands as they were when it was issued.
#[derive(Debug)]
pub(crate) struct Issued {
    step: u32,
    work: Work,
    footprint: Footprint,
    issued_at: u64,
}

/// What an instruction does, with its operands.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Load { view: View, tile: TileState },
    Store { tile: TileState, view: View },
    Move { src: TileState, dst: TileState },
    Gather { instruction: Instruction, dst: TileState, idx: TileState, view: View },
    Scatter { instruction: Instruction, src: TileState, idx: TileState, view: View },
    Tile { instruction: Instruction, dst: TileState, src: TileState, idx: Option<TileState> },
    Collective(Box<CollectiveWork>),
}

type Refusal = (&'static Rule, String);

impl Work {
    /// Takes the operands of an operation as they are now.
    pub(crate) fn capture(machine: &Machine<'_>, op: &OpKind) -> Result<Self, Refusal> {
        let tile = |id: ValueId| machine.tile_operand(id);
        let view = |id: ValueId| machine.view_operand(id);
        Ok(match op {
            OpKind::Load { src, dst } => Self::Load { view: view(*src)?, tile: tile(*dst)? },
            OpKind::Store { src, dst } => Self::Store { tile: tile(*src)?, view: view(*dst)? },
            OpKind::Move { src, dst } => Self::Move { src: tile(*src)?, dst: tile(*dst)? },
            OpKind::MGather { dst, table, idx, policy } => {
                let (dst, idx, view) = (tile(*dst)?, tile(*idx)?, view(*table)?);
                let instruction =
                    Instruction::MGather { dst: dst.tile, table: view.tensor, idx: idx.tile, policy: *policy };
                Self::Gather { instruction, dst, idx, view }
            }
            OpKind::MScatter { table, src, idx, policy } => {
                let (src, idx, view) = (tile(*src)?, tile(*idx)?, view(*table)?);
                let instruction =
                    Instruction::MScatter { table: view.tensor, src: src.tile, idx: idx.tile, policy: *policy };
                Self::Scatter { instruction, src, idx, view }
            }
            OpKind::TScatter { dst, src, idx } => {
                let (dst, src, idx) = (tile(*dst)?, tile(*src)?, tile(*idx)?);
                let instruction = Instruction::TScatter { dst: dst.tile, src: src.tile, idx: idx.tile };
                Self::Tile { instruction, dst, src, idx: Some(idx) }
            }
            OpKind::TScatterMask { dst, src, pattern } => {
                let (dst, src) = (tile(*dst)?, tile(*src)?);
                let instruction = Instruction::TScatterMask { dst: dst.tile, src: src.tile, pattern: *pattern };
                Self::Tile { instruction, dst, src, idx: None }
            }
            OpKind::Collective(op) => Self::Collective(Box::new(machine.capture_collective(op)?)),
            _ => return Err((isa::POLICY_NAME, "not an instruction".into())),
        })
    }

    /// The tiles of the instruction.
    fn tiles(&self) -> Vec<&TileState> {
        match self {
            Self::Load { tile, .. } | Self::Store { tile, .. } => vec![tile],
            Self::Move { src, dst } => vec![src, dst],
            Self::Gather { dst, idx, .. } => vec![dst, idx],
            Self::Scatter { src, idx, .. } => vec![src, idx],
            Self::Tile { dst, src, idx, .. } => [Some(dst), Some(src), idx.as_ref()].into_iter().flatten().collect(),
            Self::Collective(_) => vec![],
        }
    }

    fn executed(&self, target: Target) -> Executed {
        let lanes = |instruction: &Instruction| {
            let payload = instruction.payload();
            let one = known(payload.valid_rows) == 1 && known(payload.valid_cols) == 1;
            if one { pto_ir::Lanes::One } else { pto_ir::Lanes::Many }
        };
        match self {
            // A collective starts with a load; its chunks order themselves.
            Self::Load { .. } | Self::Collective(_) => Executed::Load,
            Self::Store { .. } => Executed::Store,
            Self::Move { .. } => Executed::Move,
            Self::Tile { .. } => Executed::TScatter,
            Self::Gather { instruction, .. } => {
                Executed::MGather(instruction.coalesce(target).unwrap_or(Coalesce::Elem), lanes(instruction))
            }
            Self::Scatter { instruction, .. } => {
                let mode = instruction.coalesce(target).unwrap_or(Coalesce::Elem);
                let atomic = instruction.policy().map_or(Atomic::None, |p| p.atomic_or_default());
                Executed::MScatter(mode, atomic, lanes(instruction))
            }
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Load { .. } => "tload",
            Self::Store { .. } => "tstore",
            Self::Move { .. } => "tmov",
            Self::Gather { .. } => "mgather",
            Self::Scatter { .. } => "mscatter",
            Self::Tile { .. } => "tscatter",
            Self::Collective(_) => "comm",
        }
    }
}

/// What executing an instruction has shown: its lanes' slots and what it costs.
struct Outcome {
    /// Elements of the table's buffer that were touched.
    slots: Vec<u64>,
    cost: Cost,
}

impl Machine<'_> {
    pub(crate) fn tile_operand(&self, id: ValueId) -> Result<TileState, Refusal> {
        match self.value(id) {
            Value::Tile(state) if state.tile.address.is_some() => Ok(**state),
            Value::Tile(_) => {
                let name = &self.function.value(id).name;
                Err((rules::UNINIT_ADDRESS, format!("expected `%{name}` to have an address, found none")))
            }
            _ => Err((isa::TYPE_NAME, "expected a tile".into())),
        }
    }

    fn view_operand(&self, id: ValueId) -> Result<View, Refusal> {
        match self.value(id) {
            Value::View(view) => Ok(**view),
            _ => Err((rules::BOUNDS_BUFFER, "expected a view that is bound to an array".into())),
        }
    }

    /// Issues an instruction to its first pipe, or runs it at once where there are none.
    pub(crate) fn issue_work(&mut self, work: Work, step: u32) {
        let footprint = footprint(work.executed(self.target), self.target);
        let issued = Issued { step, work, footprint, issued_at: self.device.now() };
        let Some(timing) = self.timing else {
            return self.execute(&issued);
        };
        if self.hangs(&issued.work) {
            let message = "this instruction launches SIMT, and pto.dispatch = \"direct\" gives it no warp scheduler";
            return self.trap(rules::LAUNCH_HANG, step, message);
        }
        self.device.spend(timing.issue);
        let pipe = footprint.phases.first().map_or(Pipe::S, |phase| phase.pipe);
        let number = self.next;
        self.next += 1;
        self.issued.insert(number, issued);
        let room = self.device.issue(pipe, number);
        self.pump();
        if !room {
            self.stopped = true;
        }
    }

    fn hangs(&self, work: &Work) -> bool {
        let simt = match work.executed(self.target) {
            Executed::MGather(mode, lanes) | Executed::MScatter(mode, _, lanes) => {
                !(mode == Coalesce::Elem && lanes == pto_ir::Lanes::One)
            }
            _ => false,
        };
        simt && self.target == Target::A5 && self.function.launch.dispatch == Dispatch::Direct
    }

    /// Executes an instruction whose pipe has reached it.
    pub(crate) fn execute(&mut self, issued: &Issued) {
        let step = issued.step;
        self.instructions += 1;
        for fault in self.device.collisions(&issued.footprint, step) {
            self.flag_fault(fault);
        }
        if let Work::Collective(work) = &issued.work {
            return self.run_collective(work, step, issued.issued_at);
        }
        if self.options.sanitize {
            self.check_reads(&issued.work, step);
        }
        let outcome = match self.effect(&issued.work, step) {
            Ok(outcome) => outcome,
            Err((rule, message)) => return self.trap(rule, step, message),
        };
        if self.is_device() {
            self.phases(issued, &outcome);
        } else if self.options.sanitize {
            self.record_writes(&issued.work, step);
        }
        if matches!(issued.work, Work::Scatter { .. }) && self.target == Target::A5 {
            self.unflushed = Some(step);
            self.flushing = false;
        }
    }

    /// The instruction's phases, in order: clocks, hazards, time.
    fn phases(&mut self, issued: &Issued, outcome: &Outcome) {
        let (step, footprint) = (issued.step, &issued.footprint);
        let mut ended = 0;
        let last = footprint.phases.len().saturating_sub(1);
        for (i, phase) in footprint.phases.iter().enumerate() {
            if i == 1 {
                for pipe in footprint.waits_for {
                    self.device.clocks.order(*pipe, phase.pipe);
                    ended = ended.max(self.device.free_at(*pipe));
                }
            }
            if i > 0 {
                self.device.clocks.order(footprint.phases[i - 1].pipe, phase.pipe);
            }
            if self.options.sanitize {
                for touch in phase.touches {
                    self.touch(&issued.work, *touch, phase.pipe, outcome, step);
                }
            }
            let observing = i < last && phase.pipe == Pipe::V;
            let cycles = match phase.pipe {
                _ if observing => continue,
                Pipe::S => outcome.cost.scalar,
                _ => outcome.cost.mover,
            };
            let (start, end) = self.device.run(phase.pipe, issued.issued_at, ended, cycles);
            ended = end;
            self.reside(&issued.work, start, end);
            let place = self.place(step);
            self.span(Span { pipe: phase.pipe, start, end, name: issued.work.name(), place });
        }
        if let Some(phase) = footprint.phases.last() {
            for pipe in footprint.releases {
                self.device.clocks.order(phase.pipe, *pipe);
                self.device.hold(*pipe, ended);
            }
        }
    }

    /// The instruction's tiles were in use from `from` to `to`.
    fn reside(&mut self, work: &Work, from: u64, to: u64) {
        for state in work.tiles() {
            let (start, end) = state.allocation();
            let tile = || self.function.value(ValueId(state.owner)).name.to_string();
            let stay =
                self.residences.entry(state.owner).or_insert_with(|| Residence { tile: tile(), start, end, from, to });
            stay.from = stay.from.min(from);
            stay.to = stay.to.max(to);
        }
    }

    fn touch(&mut self, work: &Work, touch: Touch, pipe: Pipe, outcome: &Outcome, step: u32) {
        match (touch, work) {
            (Touch::ReadSrc, Work::Load { view, tile }) => {
                let ranges = transfer::view_ranges(view, tile);
                self.touch_buffer(view.buffer, &ranges, Kind::Read, pipe, step);
            }
            (Touch::WriteDst, Work::Load { tile, .. }) => {
                let ranges = if tile.tile.pad == pto_isa::PadValue::Null {
                    tile.valid_ranges()
                } else {
                    vec![tile.allocation()]
                };
                self.touch_ub(tile.owner, &ranges, Kind::Write, pipe, step);
            }
            (Touch::ReadSrc, Work::Store { tile, .. }) => {
                self.touch_ub(tile.owner, &tile.valid_ranges(), Kind::Read, pipe, step);
            }
            (Touch::WriteDst, Work::Store { tile, view }) => {
                let ranges = transfer::view_ranges(view, tile);
                self.touch_buffer(view.buffer, &ranges, Kind::Write, pipe, step);
            }
            (Touch::ReadSrc, Work::Move { src, .. } | Work::Tile { src, .. } | Work::Scatter { src, .. }) => {
                self.touch_ub(src.owner, &src.valid_ranges(), Kind::Read, pipe, step)
            }
            (
                Touch::ReadIdx,
                Work::Tile { idx: Some(idx), .. } | Work::Gather { idx, .. } | Work::Scatter { idx, .. },
            ) => {
                self.touch_ub(idx.owner, &idx.valid_ranges(), Kind::Read, pipe, step);
            }
            (Touch::WriteDst, Work::Move { dst, .. } | Work::Gather { dst, .. }) => {
                self.touch_ub(dst.owner, &dst.valid_ranges(), Kind::Write, pipe, step);
            }
            // Device targets clear the whole allocation first.
            (Touch::WriteDst, Work::Tile { dst, .. }) => {
                self.touch_ub(dst.owner, &[dst.allocation()], Kind::Write, pipe, step);
            }
            (Touch::ReadTable, Work::Gather { view, .. } | Work::Scatter { view, .. }) => {
                self.touch_table(view, outcome, Kind::Read, pipe, step);
            }
            (Touch::WriteTable, Work::Scatter { view, .. }) => {
                self.touch_table(view, outcome, Kind::Write, pipe, step);
            }
            _ => {}
        }
    }

    /// A contiguous access to UB: races, and whose data the bytes hold.
    pub(crate) fn touch_ub(&mut self, owner: u32, ranges: &[(u64, u64)], kind: Kind, pipe: Pipe, step: u32) {
        if !self.options.sanitize {
            return;
        }
        for &(start, end) in ranges {
            if kind == Kind::Write {
                self.contents.write(owner, start, end, step);
            }
            if self.is_device() {
                let access = Access { pipe, epoch: self.device.clocks.epoch(pipe), step };
                let clock = *self.device.clocks.of(pipe);
                if let Some(race) = self.ub_shadow.access(kind, access, &clock, start, end) {
                    self.race(rules::RACE_UB, "UB", &race, kind, pipe, step);
                }
            }
        }
    }

    pub(crate) fn touch_buffer(&mut self, buffer: usize, ranges: &[(u64, u64)], kind: Kind, pipe: Pipe, step: u32) {
        let access = Access { pipe, epoch: self.device.clocks.epoch(pipe), step };
        let clock = *self.device.clocks.of(pipe);
        for &(start, end) in ranges {
            if let Some(race) = self.buffers[buffer].shadow.access(kind, access, &clock, start, end) {
                let name = self.buffers[buffer].name.clone();
                self.race(rules::RACE_GM, &name, &race, kind, pipe, step);
            }
        }
    }

    pub(crate) fn touch_buffer_scalar(&mut self, buffer: usize, at: u64, size: u64, kind: Kind, step: u32) {
        if self.is_device() && self.options.sanitize {
            self.touch_buffer(buffer, &[(at, at + size)], kind, Pipe::S, step);
        }
    }

    fn touch_table(&mut self, view: &View, outcome: &Outcome, kind: Kind, pipe: Pipe, step: u32) {
        let access = Access { pipe, epoch: self.device.clocks.epoch(pipe), step };
        let clock = *self.device.clocks.of(pipe);
        let size = view.tensor.element.size();
        let buffer = &mut self.buffers[view.buffer];
        let length = buffer.bytes.len() as u64;
        if let Some(race) = buffer.shadow.access_scattered(kind, access, &clock, (length, size), &outcome.slots) {
            let name = buffer.name.clone();
            self.race(rules::RACE_GM, &name, &race, kind, pipe, step);
        }
    }

    fn race(&mut self, rule: &'static Rule, memory: &str, race: &Race, kind: Kind, pipe: Pipe, step: u32) {
        let verb = |kind: Kind| if kind == Kind::Read { "reads" } else { "writes" };
        let (earlier, byte) = (race.earlier, race.byte);
        let message = format!(
            "{} {} byte 0x{byte:x} of {memory} here, and nothing orders that after {} {} it",
            pipe.name(),
            verb(kind),
            earlier.pipe.name(),
            if race.earlier_kind == Kind::Read { "reading" } else { "writing" },
        );
        let help = format!(
            "set_flag[{0}, {1}, EVENT_IDn] after the earlier access and wait_flag[{0}, {1}, EVENT_IDn] before this one",
            earlier.pipe.name(),
            pipe.name()
        );
        let (place, other) = (self.place(step), self.place(earlier.step));
        let label = format!("{} {} it here", earlier.pipe.name(), verb(race.earlier_kind));
        self.say(Diagnostic::new(rule, place, message).label(other, label).help(help));
    }

    /// Everything an instruction reads from UB was written, and is still there.
    fn check_reads(&mut self, work: &Work, step: u32) {
        let read: Vec<TileState> = match work {
            Work::Load { .. } | Work::Collective(_) => vec![],
            Work::Store { tile, .. } => vec![*tile],
            Work::Move { src, .. } => vec![*src],
            Work::Gather { idx, .. } => vec![*idx],
            Work::Scatter { src, idx, .. } => vec![*src, *idx],
            Work::Tile { src, idx, .. } => [Some(*src), *idx].into_iter().flatten().collect(),
        };
        for state in read {
            for (start, end) in state.valid_ranges() {
                match self.contents.read(state.owner, start, end) {
                    None => {}
                    Some(problem) => {
                        self.bad_read(&state, problem, step);
                        break;
                    }
                }
            }
        }
    }

    fn bad_read(&mut self, state: &TileState, problem: Problem, step: u32) {
        let value = self.function.value(ValueId(state.owner));
        let (name, defined, place) = (value.name.clone(), value.place, self.place(step));
        let first = state.tile.address.unwrap_or(0);
        match problem {
            Problem::Uninitialised(byte) => {
                let message = format!(
                    "expected every byte of the valid region of `%{name}` to be written, found byte 0x{byte:x} of UB (byte {} of the tile) unwritten",
                    byte - first
                );
                self.say(Diagnostic::new(rules::UNINIT_READ, place, message).label(defined, "the tile"));
            }
            Problem::Clobbered(byte, loss) => {
                let winner = self.function.value(ValueId(loss.winner)).name.clone();
                let message =
                    format!("`%{name}` is read here, but `%{winner}` has overwritten it from byte 0x{byte:x} of UB on");
                let by = self.place(loss.step);
                self.say(
                    Diagnostic::new(rules::ALIAS_CLOBBERED, place, message)
                        .label(by, format!("`%{winner}` is written here"))
                        .label(defined, format!("`%{name}`")),
                );
            }
        }
    }

    /// Where there are no pipes, only whose data the bytes hold matters.
    fn record_writes(&mut self, work: &Work, step: u32) {
        let written = match work {
            Work::Load { tile, .. } => Some(tile),
            Work::Move { dst, .. } | Work::Gather { dst, .. } | Work::Tile { dst, .. } => Some(dst),
            Work::Store { .. } | Work::Scatter { .. } | Work::Collective(_) => None,
        };
        if let Some(state) = written {
            for (start, end) in state.valid_ranges() {
                self.contents.write(state.owner, start, end, step);
            }
        }
    }

    /// What an instruction does to memory.
    fn effect(&mut self, work: &Work, step: u32) -> Result<Outcome, Refusal> {
        match work {
            Work::Load { view, tile } => {
                self.same_extents(view, tile)?;
                let at = tile.tile.address.unwrap_or(0) as usize;
                transfer::load(view, &self.buffers[view.buffer].bytes, &tile.tile, &mut self.ub[at..]);
                transfer::pad(&tile.tile, &mut self.ub[at..]);
                Ok(self.moved(tile, view))
            }
            Work::Store { tile, view } => {
                self.same_extents(view, tile)?;
                let at = tile.tile.address.unwrap_or(0) as usize;
                transfer::store(&tile.tile, &self.ub[at..], view, &mut self.buffers[view.buffer].bytes);
                Ok(self.moved(tile, view))
            }
            Work::Move { src, dst } => {
                if src.tile.element != dst.tile.element {
                    return Err((
                        isa::TYPE_SAME,
                        format!("expected one element type, found {} and {}", src.tile.element, dst.tile.element),
                    ));
                }
                let extents = |t: &TileState| (known(t.tile.valid_rows), known(t.tile.valid_cols));
                if extents(src) != extents(dst) {
                    let message =
                        format!("expected equal valid extents, found {:?} and {:?}", extents(src), extents(dst));
                    return Err((rules::SHAPE_TRANSFER, message));
                }
                let copy = self.tile_slice(src).to_vec();
                let at = dst.tile.address.unwrap_or(0) as usize;
                transfer::copy(&src.tile, &copy, &dst.tile, &mut self.ub[at..]);
                let (rows, cols) = extents(src);
                let bytes = rows * cols * src.tile.element.size();
                let cost = self.timing.map_or(0, |timing| timing.vector(bytes));
                Ok(Outcome { slots: vec![], cost: Cost { scalar: 0, mover: cost } })
            }
            Work::Collective(_) => Err((isa::POLICY_NAME, "a collective has no single effect".into())),
            Work::Tile { instruction, dst, src, idx } => self.tile_scatter(instruction, dst, src, idx.as_ref(), step),
            Work::Gather { instruction, dst, idx, view } => self.memory(instruction, dst, idx, view, step, true),
            Work::Scatter { instruction, src, idx, view } => self.memory(instruction, src, idx, view, step, false),
        }
    }

    /// The bytes of a tile, up to the end of UB where its last row is a window of a wider one.
    fn tile_slice(&self, state: &TileState) -> &[u8] {
        let (start, end) = state.allocation();
        &self.ub[start as usize..(end as usize).min(self.ub.len())]
    }

    fn same_extents(&self, view: &View, tile: &TileState) -> Result<(), Refusal> {
        if view.tensor.element != tile.tile.element {
            let message = format!("expected one element type, found {} and {}", view.tensor.element, tile.tile.element);
            return Err((isa::TYPE_TABLE, message));
        }
        let valid = (known(tile.tile.valid_rows), known(tile.tile.valid_cols));
        if view.matrix() == valid {
            return Ok(());
        }
        let (rows, cols) = view.matrix();
        Err((rules::SHAPE_TRANSFER, format!("expected a view of {}x{}, found {rows}x{cols}", valid.0, valid.1)))
    }

    fn moved(&self, tile: &TileState, view: &View) -> Outcome {
        let (rows, cols) = (known(tile.tile.valid_rows), known(tile.tile.valid_cols));
        let size = tile.tile.element.size();
        let bursts = match view.tensor.layout {
            TensorLayout::Nz => rows * (cols * size).div_ceil(32),
            _ => rows,
        };
        let mover = self.timing.map_or(0, |timing| timing.dma(bursts, rows * cols * size));
        Outcome { slots: vec![], cost: Cost { scalar: 0, mover } }
    }

    fn launch(&self) -> Launch {
        Launch { dyn_ub: self.options.dyn_ub.or(self.function.launch.dyn_ub) }
    }

    /// The plan of a step, made anew only when its operands changed shape.
    fn plan(&mut self, instruction: &Instruction, step: u32) -> Result<Plan, Refusal> {
        if let Some(plan) = self.plans[step as usize].take()
            && plan.instruction() == instruction
        {
            return Ok(plan);
        }
        Plan::new(instruction, self.target, self.launch()).map_err(refusal)
    }

    fn tile_scatter(
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
        self.plans[step as usize] = Some(plan);
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
        if let (Some(idx), true) = (idx, self.options.sanitize) {
            let slots = tile_slots(instruction, idx, &lanes);
            let met = self.collisions.count(&slots, dst.tile.elements().unwrap_or(0));
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
        Ok(Outcome { slots: vec![], cost: Cost { scalar: 0, mover } })
    }

    fn count(&mut self, done: pto_exec::Lanes) {
        self.lanes.written += done.written;
        self.lanes.skipped += done.skipped;
        self.lanes.clamped += done.clamped;
        self.lanes.wrapped += done.wrapped;
        self.lanes.zeroed += done.zeroed;
    }

    /// MGATHER and MSCATTER.
    fn memory(
        &mut self,
        instruction: &Instruction,
        payload: &TileState,
        idx: &TileState,
        view: &View,
        step: u32,
        gather: bool,
    ) -> Result<Outcome, Refusal> {
        let plan = self.plan(instruction, step)?;
        let lanes = self.tile_slice(idx).to_vec();
        let size = view.tensor.element.size();
        let first = (view.offset * size) as usize;
        let length = (view.tensor.span().unwrap_or(0) * size) as usize;
        let before = self.options.explore.then(|| self.buffers[view.buffer].bytes.clone());
        let (start, end) = payload.allocation();
        let ran = {
            let table = &mut self.buffers[view.buffer].bytes[first..first + length];
            let memory = if gather {
                let room = (end as usize).min(self.ub.len());
                Memory::MGather { dst: &mut self.ub[start as usize..room], table, idx: &lanes }
            } else {
                Memory::MScatter {
                    table,
                    src: self.ub.get(start as usize..(end as usize).min(self.ub.len())).unwrap_or(&[]),
                    idx: &lanes,
                }
            };
            plan.run(memory, self.options.schedule)
        };
        let done = ran.map_err(refusal)?;
        self.plans[step as usize] = Some(plan);
        self.count(done);
        let slots = self.slots(instruction, view, &lanes)?;
        self.picture(instruction, view, idx, &lanes, step);
        if self.options.sanitize {
            self.negative_lanes(idx, &lanes, step);
            if !gather {
                self.collisions(instruction, view, &slots, step);
            }
        }
        if let Some(before) = before
            && !gather
        {
            self.explore(instruction, payload, view, &lanes, &before)?;
        }
        let cost = self.cost(instruction, payload, view, &slots, done, gather);
        Ok(Outcome { slots, cost })
    }

    /// Elements of the table's buffer that the lanes touch.
    fn slots(&self, instruction: &Instruction, view: &View, lanes: &[u8]) -> Result<Vec<u64>, Refusal> {
        if !self.options.sanitize && self.timing.is_none() {
            return Ok(Vec::new());
        }
        let slots = reference::slots(instruction, self.target, lanes).map_err(refusal)?;
        Ok(slots.into_iter().flatten().map(|slot| slot + view.offset).collect())
    }

    /// Keeps what a picture of the instruction needs.
    fn picture(&mut self, instruction: &Instruction, view: &View, idx: &TileState, lanes: &[u8], step: u32) {
        if self.operations.len() >= self.options.max_operations {
            return;
        }
        let capacity = instruction.capacity(self.target).unwrap_or(0);
        let oob = instruction.policy().map_or(OutOfBounds::Undefined, |p| p.oob_or_default());
        let indices = lane_values(idx, lanes, self.target.profile().signed_lanes);
        let slots = indices.iter().map(|index| slot_of(*index, capacity, oob)).collect();
        let mode = instruction.coalesce(self.target);
        let payload = instruction.payload();
        let cols = known(view.tensor.shape[4]).max(1);
        let rows = if mode == Some(Coalesce::Row) { capacity } else { capacity.div_ceil(cols) };
        self.operations.push(Operation {
            name: instruction.opcode().name(),
            place: self.place(step),
            mode,
            table: (self.buffers[view.buffer].name.clone(), rows, cols),
            payload: (known(payload.valid_rows), known(payload.valid_cols)),
            indices,
            slots,
        });
    }

    fn negative_lanes(&mut self, idx: &TileState, lanes: &[u8], step: u32) {
        let signed = idx.tile.element.class() == ElementClass::Signed;
        if !signed || self.target.profile().signed_lanes {
            return;
        }
        let tile = &idx.tile;
        let (rows, cols, size) = (known(tile.valid_rows), known(tile.valid_cols), tile.element.size());
        let negative = |row: u64, col: u64| {
            let top = (tile.offset(row, col) * size + size - 1) as usize;
            lanes[top] & 0x80 != 0
        };
        let mut found =
            (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))).filter(|(r, c)| negative(*r, *c));
        let Some((row, col)) = found.next() else { return };
        let count = 1 + found.count();
        let at = (tile.offset(row, col) * size) as usize;
        let Value::Integer(value) = decode(tile.element, &lanes[at..at + size as usize]) else { return };
        let message = format!(
            "{count} index lane(s) are negative, first ({row}, {col}) = {value}, which {} reads as {}",
            self.target, value as u32
        );
        let place = self.place(step);
        self.say(Diagnostic::new(isa::BOUNDS_NEGATIVE_LANE, place, message));
    }

    fn collisions(&mut self, instruction: &Instruction, view: &View, slots: &[u64], step: u32) {
        let elements = self.buffers[view.buffer].bytes.len() as u64 / view.tensor.element.size();
        let met = self.collisions.count(slots, elements);
        self.lanes.collisions += met.collisions;
        let (Some(slot), Target::A5) = (met.first, self.target) else { return };
        let policy = instruction.policy().copied().unwrap_or_default();
        let float = view.tensor.element.class() == ElementClass::Float;
        let why = match policy.atomic_or_default() {
            Atomic::None if policy.conflict_or_default() == Conflict::Default => {
                "the surviving writer is whichever the warp scheduler runs last"
            }
            Atomic::Add if float => "the sum's last bits depend on the order in which warps add",
            _ => return,
        };
        let message = format!("{} lanes meet in slots hit before, first in element {slot}: {why}", met.collisions);
        let place = self.place(step);
        self.say(Diagnostic::new(isa::CONFLICT_NONDETERMINISTIC, place, message));
    }

    /// Lists the slots whose value depends on the schedule, with the values they may take.
    fn explore(
        &mut self,
        instruction: &Instruction,
        src: &TileState,
        view: &View,
        lanes: &[u8],
        before: &[u8],
    ) -> Result<(), Refusal> {
        let policy = instruction.policy().copied().unwrap_or_default();
        let element = view.tensor.element;
        let float = element.class() == ElementClass::Float;
        let atomic = policy.atomic_or_default();
        let depends = match atomic {
            Atomic::None => policy.conflict_or_default() == Conflict::Default,
            Atomic::Add => float,
            Atomic::Max | Atomic::Min => false,
        };
        if !depends || self.target != Target::A5 {
            return Ok(());
        }
        let slots = reference::slots(instruction, self.target, lanes).map_err(refusal)?;
        let cols = known(src.tile.valid_cols);
        let mut writers: std::collections::BTreeMap<u64, Vec<f64>> = Default::default();
        let tile = self.tile_slice(src).to_vec();
        let size = element.size() as usize;
        for (lane, slot) in slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let (row, col) = (lane as u64 / cols, lane as u64 % cols);
            let at = src.tile.offset(row, col) as usize * size;
            writers.entry(slot + view.offset).or_default().push(number(decode(element, &tile[at..at + size])));
        }
        let name = self.buffers[view.buffer].name.clone();
        for (index, values) in writers.into_iter().filter(|(_, values)| values.len() > 1) {
            let mut candidates = match atomic {
                Atomic::None => values,
                _ => {
                    let at = index as usize * size;
                    sums(element, number(decode(element, &before[at..at + size])), &values)
                }
            };
            candidates.sort_by(f64::total_cmp);
            candidates.dedup_by(|a, b| a.to_bits() == b.to_bits());
            if candidates.len() > 1 {
                self.nondeterministic.push(Nondeterministic { buffer: name.clone(), index, candidates });
            }
        }
        Ok(())
    }

    fn cost(
        &self,
        instruction: &Instruction,
        payload: &TileState,
        view: &View,
        slots: &[u64],
        done: pto_exec::Lanes,
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
            coalesced: if element_mode { collisions::bursts(slots, size, timing.coalesced_bytes) } else { 0 },
            multiplicity: if atomic == Atomic::None { 1 } else { collisions::multiplicity(slots) },
        };
        match self.target {
            Target::A5 if rows * cols == 1 && element_mode => timing::a2a3_elem(timing, &work, gather),
            Target::A5 => {
                let grid =
                    if last { simt::Grid::by_destination(work.slots) } else { simt::Grid::by_source(mode, rows, cols) };
                Cost { scalar: 0, mover: timing::a5_simt(timing, &work, grid.warps) }
            }
            _ if element_mode => timing::a2a3_elem(timing, &work, gather),
            _ => timing::a2a3_row(timing, &work),
        }
    }
}

/// The index lanes as numbers, row-major.
fn lane_values(idx: &TileState, lanes: &[u8], signed: bool) -> Vec<i64> {
    let tile = &idx.tile;
    let size = tile.element.size() as usize;
    let (rows, cols) = (known(tile.valid_rows), known(tile.valid_cols));
    let value = |(row, col): (u64, u64)| {
        let at = tile.offset(row, col) as usize * size;
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&lanes[at..at + size]);
        let bits = u64::from_le_bytes(bytes);
        match decode(tile.element, &lanes[at..at + size]) {
            Value::Integer(value) if signed => value,
            _ => bits as i64,
        }
    };
    (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))).map(value).collect()
}

/// Where the policy sends an index; `None` if it is dropped or zeroed.
fn slot_of(index: i64, capacity: u64, oob: OutOfBounds) -> Option<u64> {
    match u64::try_from(index) {
        Ok(slot) if slot < capacity => Some(slot),
        outside => match oob {
            OutOfBounds::Clamp => Some(outside.map_or(0, |_| capacity.saturating_sub(1))),
            OutOfBounds::Wrap if capacity > 0 => Some(i128::from(index).rem_euclid(i128::from(capacity)) as u64),
            _ => None,
        },
    }
}

/// Storage slots that the lanes of an index TSCATTER write.
fn tile_slots(instruction: &Instruction, idx: &TileState, lanes: &[u8]) -> Vec<u64> {
    let src = instruction.payload();
    let tile = &idx.tile;
    let rows = known(tile.valid_rows).min(known(src.valid_rows));
    let cols = known(tile.valid_cols).min(known(src.valid_cols));
    let size = tile.element.size() as usize;
    let lane = |row: u64, col: u64| {
        let at = tile.offset(row, col) as usize * size;
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&lanes[at..at + size]);
        u64::from_le_bytes(bytes)
    };
    (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))).map(|(row, col)| lane(row, col)).collect()
}

fn refusal(fault: Fault) -> Refusal {
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

fn number(value: Value) -> f64 {
    match value {
        Value::Integer(value) => value as f64,
        Value::Float(value) => value,
        _ => 0.0,
    }
}

/// The most orders of addition that are tried for one slot.
const MAX_ORDERS: usize = 64;

/// Sums that different orders of addition give, each addition rounded to the element type.
fn sums(element: pto_isa::ElementType, old: f64, values: &[f64]) -> Vec<f64> {
    let round = |x: f64| match element {
        pto_isa::ElementType::F16 => half::f16::from_f32(x as f32).to_f64(),
        pto_isa::ElementType::BF16 => half::bf16::from_f32(x as f32).to_f64(),
        pto_isa::ElementType::F32 => f64::from(x as f32),
        _ => x,
    };
    let mut found = Vec::new();
    let mut order: Vec<f64> = values.to_vec();
    for turn in 0..MAX_ORDERS {
        found.push(order.iter().fold(old, |sum, value| round(sum + value)));
        // Rotations and swaps visit different orders without enumerating all of them.
        let n = order.len();
        order.rotate_left(1);
        order.swap(turn % n, (turn * 7 + 3) % n);
    }
    found
}
