//! What instructions touch: races, bytes never written, tiles overwritten.

use pto_ir::{Diagnostic, Pipe, Touch, ValueId};
use pto_isa::{PadValue, Rule};

use crate::hazard::{Access, Kind, Races};
use crate::machine::Machine;
use crate::pipeline::Outcome;
use crate::rules;
use crate::state::{ByteRanges, TileState, View};
use crate::ub::Problem;
use crate::work::Work;

impl Machine<'_> {
    pub(crate) fn touch(&mut self, work: &Work, touch: Touch, pipe: Pipe, outcome: &Outcome, step: u32) {
        match (touch, work) {
            (Touch::ReadSrc, Work::Load { view, tile }) => {
                let ranges = view.ranges(tile);
                self.touch_buffer(view.buffer, &ranges, Kind::Read, pipe, step);
            }
            (Touch::WriteDst, Work::Load { tile, .. }) => {
                let ranges = if tile.tile.pad == PadValue::Null {
                    tile.valid_ranges()
                } else {
                    ByteRanges::One([tile.allocation()])
                };
                self.touch_ub(tile.owner, &ranges, Kind::Write, pipe, step);
            }
            (Touch::ReadSrc, Work::Store { tile, .. }) => {
                self.touch_ub(tile.owner, &tile.valid_ranges(), Kind::Read, pipe, step);
            }
            (Touch::WriteDst, Work::Store { tile, view }) => {
                let ranges = view.ranges(tile);
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
        let mut races = Races::default();
        for &(start, end) in ranges {
            if kind == Kind::Write {
                self.contents.write(owner, start, end, step);
            }
            if self.is_device() {
                let access = Access { pipe, epoch: self.device.clocks.epoch(pipe), step };
                let clock = *self.device.clocks.of(pipe);
                races.extend(self.ub_shadow.access(kind, access, &clock, start, end));
            }
        }
        let function = self.function;
        let tile = || format!("`%{}`", function.value(ValueId(owner)).name);
        self.races(rules::RACE_UB, tile, races, kind, pipe, step);
    }

    pub(crate) fn touch_buffer(&mut self, buffer: usize, ranges: &[(u64, u64)], kind: Kind, pipe: Pipe, step: u32) {
        let access = Access { pipe, epoch: self.device.clocks.epoch(pipe), step };
        let clock = *self.device.clocks.of(pipe);
        self.log_window(buffer, ranges, kind, access);
        let mut races = Races::default();
        for &(start, end) in ranges {
            races.extend(self.buffers[buffer].shadow.access(kind, access, &clock, start, end));
        }
        self.table_races(buffer, races, kind, pipe, step);
    }

    pub(crate) fn touch_buffer_scalar(&mut self, buffer: usize, at: u64, size: u64, kind: Kind, step: u32) {
        self.touch_window_scalar(buffer, (at, at + size), kind, step);
        if self.is_device() && self.options.sanitize {
            self.touch_buffer(buffer, &[(at, at + size)], kind, Pipe::S, step);
        }
    }

    pub(crate) fn touch_table(&mut self, view: &View, outcome: &Outcome, kind: Kind, pipe: Pipe, step: u32) {
        let access = Access { pipe, epoch: self.device.clocks.epoch(pipe), step };
        let clock = *self.device.clocks.of(pipe);
        let size = view.tensor.element.size();
        if self.owner(view.buffer).is_some() {
            let run = |start: &u64| (start * size, (start + outcome.slots.length) * size);
            let ranges: Vec<_> = outcome.slots.starts.iter().map(run).collect();
            self.log_window(view.buffer, &ranges, kind, access);
        }
        let buffer = &mut self.buffers[view.buffer];
        let length = buffer.length;
        // What a scatter writes was noted when its lanes were looked at for collisions.
        let elements = (&outcome.slots, kind == Kind::Write && outcome.hit);
        let seen = || self.device.seen(pipe);
        let races = buffer.shadow.settle(kind, access, (&clock, seen), (length, size), elements);
        self.table_races(view.buffer, races, kind, pipe, step);
    }

    fn table_races(&mut self, buffer: usize, races: Races, kind: Kind, pipe: Pipe, step: u32) {
        if !races.is_empty() {
            let name = self.buffers[buffer].name.clone();
            self.races(rules::RACE_GM, || format!("`{name}`"), races, kind, pipe, step);
        }
    }

    /// Reports the races of one access that are not known yet; `what` is the tile or array that is touched now.
    fn races(
        &mut self,
        rule: &'static Rule,
        what: impl FnOnce() -> String,
        races: Races,
        kind: Kind,
        pipe: Pipe,
        step: u32,
    ) {
        let place = self.place(step);
        let mut new = races.latest_first(step);
        new.retain(|race| self.first_time(rule, place, self.place(race.earlier.step)));
        let Some((race, others)) = new.split_first() else { return };
        let (what, verb) = (what(), |kind: Kind| if kind == Kind::Read { "reads" } else { "writes" });
        let (earlier, byte) = (race.earlier, race.byte);
        let memory = if rule == rules::RACE_UB { "UB" } else { "it" };
        let message = format!(
            "{} {} {what} here (byte 0x{byte:x} of {memory}), and nothing orders that after {} {} it",
            pipe.name(),
            verb(kind),
            earlier.pipe.name(),
            if race.earlier_kind == Kind::Read { "reading" } else { "writing" },
        );
        let pair = format!("[\"{}\", \"{}\", \"EVENT_IDn\"]", earlier.pipe.name(), pipe.name());
        let help = format!("pto.set_flag{pair} after the earlier access, pto.wait_flag{pair} before this one");
        let mut diagnostic = Diagnostic::new(rule, place, message).help(help);
        for (race, also) in core::iter::once((race, "")).chain(others.iter().map(|other| (other, "also unordered: "))) {
            let earlier = race.earlier;
            // What stands later in the program and ran earlier did so in an earlier round of a loop.
            let round = if earlier.step >= step { ", in an earlier round" } else { "" };
            let label = format!("{also}{} {} it here{round}", earlier.pipe.name(), verb(race.earlier_kind));
            diagnostic = diagnostic.label(self.place(earlier.step), label);
        }
        self.tell(diagnostic);
    }

    /// Everything an instruction reads from UB was written, and is still there.
    pub(crate) fn check_reads(&mut self, work: &Work, step: u32) {
        for state in work.tiles_read() {
            for &(start, end) in &*state.valid_ranges() {
                if !self.check_bytes(state, start, end, step) {
                    break;
                }
            }
        }
    }

    /// True if these bytes of a tile were written and are still there.
    pub(crate) fn check_bytes(&mut self, state: &TileState, start: u64, end: u64, step: u32) -> bool {
        if !self.options.sanitize {
            return true;
        }
        let problem = self.contents.read(state.owner, start, end);
        if let Some(problem) = problem {
            self.bad_read(state, problem, step);
        }
        problem.is_none()
    }

    pub(crate) fn bad_read(&mut self, state: &TileState, problem: Problem, step: u32) {
        let value = self.function.value(ValueId(state.owner));
        let (name, defined, place) = (value.name.clone(), value.place, self.place(step));
        let first = state.tile.address.unwrap_or(0);
        match problem {
            Problem::Uninitialised(byte) => {
                let message = format!(
                    "`%{name}` is read here, but nothing has written its byte {} (0x{byte:x} of UB)",
                    byte - first
                );
                let label = format!("`%{name}`: {}", state.tile);
                self.say(Diagnostic::new(rules::UNINIT_READ, place, message).label(defined, label));
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
    pub(crate) fn record_writes(&mut self, work: &Work, outcome: &Outcome, step: u32) {
        let written = match work {
            // Slots that no lane names keep what they held.
            Work::Tile { dst, idx: Some(_), .. } => return self.record_slots(dst, &outcome.slots.starts, step),
            // A tile with a pad value is filled to its padded extents.
            Work::Load { tile, .. } if tile.tile.pad != PadValue::Null => {
                let (start, end) = tile.allocation();
                return self.contents.write(tile.owner, start, end, step);
            }
            Work::Load { tile, .. } => Some(tile),
            Work::Move { dst, .. } | Work::Gather { dst, .. } | Work::Tile { dst, .. } => Some(dst),
            Work::Store { .. } | Work::Scatter { .. } | Work::Collective(_) => None,
        };
        if let Some(state) = written {
            for &(start, end) in &*state.valid_ranges() {
                self.contents.write(state.owner, start, end, step);
            }
        }
    }

    /// Slots of a tile were written one by one; neighbours count as one range.
    fn record_slots(&mut self, state: &TileState, slots: &[u64], step: u32) {
        let mut slots = slots.to_vec();
        slots.sort_unstable();
        slots.dedup();
        let (first, size) = (state.tile.address.unwrap_or(0), state.tile.element.size());
        for run in slots.chunk_by(|a, b| a + 1 == *b) {
            let (from, to) = (first + run[0] * size, first + (run[run.len() - 1] + 1) * size);
            self.contents.write(state.owner, from, to, step);
        }
    }
}
