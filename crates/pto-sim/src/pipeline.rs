//! Instructions on their pipes: issue, phases, clocks and time.

use pto_ir::check::rules as ir;
use pto_ir::{Dispatch, Executed, Footprint, Pipe, Touch, ValueId, footprint};
use pto_isa::{Coalesce, Target};

use crate::collective::HANDSHAKES;
use crate::device::Span;
use crate::machine::Machine;
use crate::report::Residence;
use crate::slots::Slots;
use crate::timing::Cost;
use crate::work::{Issued, Work};

/// What executing an instruction has shown: its lanes' slots and what it costs.
pub(crate) struct Outcome {
    /// Elements of the table's buffer that were touched.
    pub(crate) slots: Slots,
    /// True if the race detector has taken note of the slots that are written.
    pub(crate) hit: bool,
    pub(crate) cost: Cost,
}

impl Machine<'_> {
    /// Issues an instruction to its first pipe, or runs it at once where there are none.
    pub(crate) fn issue_work(&mut self, work: Work, step: u32) {
        let footprint = footprint(work.executed(self.target), self.target);
        let issued = Issued { step, work, footprint, issued_at: self.device.now() };
        let Some(timing) = self.timing else {
            return self.execute(&issued);
        };
        if self.hangs(&issued.work) {
            let message = "this instruction launches SIMT, and pto.dispatch = \"direct\" gives it no warp scheduler";
            return self.trap(&ir::DIRECT, step, message);
        }
        self.device.spend(timing.issue);
        let pipe = footprint.phases.first().map_or(Pipe::S, |phase| phase.pipe);
        let number = self.next;
        self.next += 1;
        self.issued.insert(number, Box::new(issued));
        let room = self.device.issue(pipe, number);
        self.pump();
        if !room {
            self.stopped = true;
        }
    }

    pub(crate) fn hangs(&self, work: &Work) -> bool {
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
        let (pairs, events) = match &issued.work {
            Work::Collective(work) if self.target.profile().ub.is_some() => (&HANDSHAKES[..], work.staging.len() as u8),
            _ => (issued.footprint.handshakes, 1),
        };
        for fault in self.device.collisions(pairs, events, step) {
            self.flag_fault(fault);
        }
        if let Work::Collective(work) = &issued.work {
            return self.run_collective(work, step, issued.issued_at);
        }
        if self.options.sanitize {
            self.check_reads(&issued.work, step);
        }
        if let Err((rule, message)) = self.fetch_operands(&issued.work) {
            return self.trap(rule, step, message);
        }
        let outcome = match self.effect(&issued.work, writer(&issued.footprint), step) {
            Ok(outcome) => outcome,
            Err((rule, message)) => return self.trap(rule, step, message),
        };
        if self.peers.is_some() {
            self.touch_windows(&issued.work, &outcome, step);
        }
        if self.is_device() {
            self.phases(issued, &outcome);
        } else if self.options.sanitize {
            self.record_writes(&issued.work, &outcome, step);
        }
        self.room = outcome.slots.starts;
        if matches!(issued.work, Work::Scatter { .. }) && self.target == Target::A5 {
            self.unflushed = Some(step);
            self.flushing = false;
        }
    }

    /// The instruction's phases, in order: clocks, hazards, time.
    pub(crate) fn phases(&mut self, issued: &Issued, outcome: &Outcome) {
        let (step, footprint) = (issued.step, &issued.footprint);
        let mut ended = 0;
        let last = footprint.phases.len().saturating_sub(1);
        for (i, phase) in footprint.phases.iter().enumerate() {
            // A first phase on V stands for 001's contract that loads are observed there. The lanes themselves are read
            // by the scalar unit, in order with its own writes; the end of the instruction orders V after those anyway.
            let observing = i < last && phase.pipe == Pipe::V;
            if observing {
                self.device.clocks.order(Pipe::S, phase.pipe);
            }
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
                // What is read and written in one phase conflicts as a write does.
                let writes = phase.touches.contains(&Touch::WriteTable);
                for touch in phase.touches.iter().filter(|touch| !(writes && **touch == Touch::ReadTable)) {
                    self.touch(&issued.work, *touch, phase.pipe, outcome, step);
                }
            }
            let cycles = match phase.pipe {
                _ if observing => continue,
                Pipe::S => outcome.cost.scalar,
                _ => outcome.cost.mover,
            };
            let (start, end) = self.device.run(phase.pipe, issued.issued_at, ended, cycles);
            ended = end;
            self.reside(&issued.work, start, end);
            let place = self.place(step);
            self.launched(start, end, place);
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
    pub(crate) fn reside(&mut self, work: &Work, from: u64, to: u64) {
        for state in work.tiles() {
            let (start, end) = state.allocation();
            let tile = || self.function.value(ValueId(state.owner)).name.to_string();
            let stay =
                self.residences.entry(state.owner).or_insert_with(|| Residence { tile: tile(), start, end, from, to });
            stay.from = stay.from.min(from);
            stay.to = stay.to.max(to);
        }
    }
}

/// The pipe that writes the table.
fn writer(footprint: &Footprint) -> Option<Pipe> {
    footprint.phases.iter().find(|phase| phase.touches.contains(&Touch::WriteTable)).map(|phase| phase.pipe)
}
