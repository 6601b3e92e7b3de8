//! Flags, barriers and what goes wrong with them.

use pto_ir::{Diagnostic, OpKind, Pipe};

use crate::device::FlagFault;
use crate::machine::Machine;
use crate::rules;

impl Machine<'_> {
    pub(crate) fn synchronise(&mut self, op: &OpKind, step: u32) {
        if !self.is_device() {
            return;
        }
        let room = match op {
            OpKind::SetFlag(flag) => self.device.set(*flag, step),
            OpKind::WaitFlag(flag) => self.device.wait(*flag, step),
            OpKind::Barrier(Pipe::All) => {
                self.pump();
                // A pipe that hangs never drains: the scalar unit stops here, and what follows is never issued.
                let drained = self.device.stuck().is_empty();
                if drained {
                    self.device.barrier_all();
                }
                drained
            }
            // A pipe does its work in order anyway, and so does the scalar unit.
            OpKind::Barrier(_) => true,
            OpKind::FlushCache => {
                self.flushing = true;
                true
            }
            OpKind::DataBarrier => {
                if self.flushing {
                    self.unflushed = None;
                }
                true
            }
            _ => true,
        };
        let cycles = self.timing.map_or(0, |timing| timing.issue);
        self.device.spend(cycles);
        self.pump();
        if !room || self.device.scalar_is_stuck() {
            self.stopped = true;
        }
    }

    /// Runs what is ready, and reports what goes wrong with flags.
    pub(crate) fn pump(&mut self) {
        let mut faults = Vec::new();
        while let Some((_, number)) = self.device.advance(&mut faults) {
            if let Some(issued) = self.issued.remove(&number) {
                self.execute(&issued);
            }
            if self.stopped {
                break;
            }
        }
        faults.into_iter().for_each(|fault| self.flag_fault(fault));
    }

    /// What is left to be said when the program has ended.
    pub(crate) fn end(&mut self) {
        // Flags that are left after an instruction faulted are no finding of their own.
        let trapped = self.stopped && self.device.stuck().is_empty();
        if self.is_device() && !trapped {
            for fault in self.device.finish() {
                self.flag_fault(fault);
            }
        }
        if let Some(step) = self.unflushed
            && !self.stopped
        {
            let found = if self.flushing { "pto.dcci without pto.dsb" } else { "neither" };
            let message =
                format!("expected pto.dcci and pto.dsb after this scatter, before the kernel ends; found {found}");
            let place = self.place(step);
            self.say(Diagnostic::new(rules::FLUSH_MISSING, place, message));
        }
    }

    pub(crate) fn flag_fault(&mut self, fault: FlagFault) {
        let name = |flag: pto_ir::Flag| format!("{} -> {} EVENT_ID{}", flag.from.name(), flag.to.name(), flag.event);
        match fault {
            FlagFault::DoubleSet { flag, step, earlier } => {
                let message = format!("{} is set again before anyone has waited for it", name(flag));
                let label = if earlier >= step { "set here, in an earlier round" } else { "set here before" };
                let (place, earlier) = (self.place(step), self.place(earlier));
                self.say(Diagnostic::new(rules::SYNC_DOUBLE_SET, place, message).label(earlier, label));
                self.set_twice.entry(flag).or_insert(place);
            }
            FlagFault::Collision { flag, step, earlier } => {
                let message = format!("this instruction uses {} inside, and that flag is pending", name(flag));
                let place = self.place(step);
                let earlier = self.place(earlier);
                self.say(Diagnostic::new(rules::SYNC_EVENT_COLLISION, place, message).label(earlier, "set here"));
            }
            // Of two sets one is lost; that the other is not waited for either is the same mistake.
            FlagFault::NeverWaited { flag, .. } if self.set_twice.contains_key(&flag) => {}
            FlagFault::NeverWaited { flag, step } => {
                let message = format!("{} is set here, and the program ends before anyone waits for it", name(flag));
                let place = self.place(step);
                self.say(Diagnostic::new(rules::SYNC_NEVER_WAITED, place, message));
            }
            FlagFault::Deadlock { waits, pending } => {
                let all: Vec<String> =
                    waits.iter().map(|(flag, _)| format!("{} waits for {}", flag.to.name(), name(*flag))).collect();
                let Some(((flag, first), rest)) = waits.split_first() else { return };
                let place = self.place(*first);
                // A set that was lost is why its wait hangs: one mistake, one finding.
                if let Some(twice) = self.set_twice.get(flag) {
                    let of_set = |d: &&mut Diagnostic| (d.rule, d.place) == (rules::SYNC_DOUBLE_SET, *twice);
                    if let Some(found) = self.diagnostics.iter_mut().find(of_set) {
                        found.labels.push((place, "one of the two sets is lost: the device hangs in this wait".into()));
                        return;
                    }
                }
                let mut diagnostic =
                    Diagnostic::new(rules::SYNC_DEADLOCK, place, format!("the device hangs: {}", all.join("; ")));
                for (flag, step) in rest {
                    diagnostic = diagnostic.label(self.place(*step), format!("waits for {}", name(*flag)));
                }
                // The flag that was meant is often set under another number, or for another pipe.
                for (flag, step) in pending {
                    let label = format!("{} is set here, and nobody waits for it", name(flag));
                    diagnostic = diagnostic.label(self.place(step), label);
                }
                self.say(diagnostic);
            }
        }
    }
}
