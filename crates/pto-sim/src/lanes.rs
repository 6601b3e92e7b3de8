//! What the lanes of gathers and scatters show: negative ones, collisions, results that depend on the schedule.

use pto_exec::{reference, transfer};
use pto_ir::{Diagnostic, Pipe};
use pto_isa::{Atomic, Coalesce, Conflict, ElementClass, Instruction, OutOfBounds, Target, rules as isa};

use crate::collisions::Met;
use crate::effects::refusal;
use crate::hazard::Kind;
use crate::machine::{Machine, decode};
use crate::report::Operation;
use crate::slots::Slots;
use crate::state::{TileState, Value, View, known};
use crate::sums::{sort, sums};
use crate::work::Refusal;

/// Steps that a lane of an explored scatter counts as.
const EXPLORED_LANE: u64 = 64;

/// Bytes of an explored array that count as a step.
const EXPLORED_BYTES: u64 = 256;

impl Machine<'_> {
    /// Where lanes of a scatter meet, and whether the race detector has taken note of the slots, as on a device.
    pub(crate) fn meet(&mut self, view: &View, slots: &Slots, writer: Option<Pipe>) -> (Met, bool) {
        let size = view.tensor.element.size();
        let length = self.buffers[view.buffer].length;
        match writer {
            Some(pipe) if self.is_device() => {
                let shadow = &mut self.buffers[view.buffer].shadow;
                let meeting = shadow.hit(Kind::Write, pipe, (length, size), slots);
                (Met::of(meeting, slots.runs_per_lane), true)
            }
            _ => (self.collisions.count(slots.lanes(), length / size), false),
        }
    }

    /// Keeps what a picture of the instruction needs.
    pub(crate) fn picture(&mut self, instruction: &Instruction, view: &View, idx: &TileState, lanes: &[u8], step: u32) {
        if self.operations.len() >= self.options.max_operations {
            return;
        }
        let capacity = instruction.capacity(self.target).unwrap_or(0);
        let oob = instruction.policy().map_or(OutOfBounds::Undefined, |p| p.oob_or_default());
        let indices = lane_values(idx, lanes, self.target.profile().signed_lanes);
        // A lane that no policy catches stays outside the table, where the picture shows it.
        let caught = oob != OutOfBounds::Undefined && self.target != Target::Cpu;
        let beyond = |index: i64| (!caught).then(|| u64::try_from(index).unwrap_or(u64::MAX));
        let slot = |index: i64| oob.slot(index.into(), capacity).or_else(|| beyond(index));
        let slots = indices.iter().map(|index| slot(*index)).collect();
        let mode = instruction.coalesce(self.target);
        let payload = instruction.payload();
        let cols = transfer::extents(&view.tensor).1.max(1);
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

    pub(crate) fn negative_lanes(&mut self, idx: &TileState, lanes: &[u8], step: u32) {
        let signed = idx.tile.element.class() == ElementClass::Signed;
        if !signed || self.target.profile().signed_lanes {
            return;
        }
        let tile = &idx.tile;
        let (rows, cols, size) = (known(tile.valid_rows), known(tile.valid_cols), tile.element.size());
        let sign = |lane: &[u8]| lane[size as usize - 1] & 0x80 != 0;
        // One look over the whole tile, padding included, usually settles it.
        let any = match size {
            4 => lanes.as_chunks().0.iter().fold(0, |all, lane| all | i32::from_le_bytes(*lane)) < 0,
            _ => lanes.chunks_exact(size as usize).any(sign),
        };
        if !any {
            return;
        }
        let negative = |row: u64, col: u64| sign(&lanes[(tile.offset(row, col) * size) as usize..][..size as usize]);
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

    pub(crate) fn collisions(&mut self, instruction: &Instruction, view: &View, met: Met, step: u32) {
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
        let place = self.place(step);
        // A loop meets the same collision every round: only the first one is put into words.
        if self.has_said(isa::CONFLICT_NONDETERMINISTIC, place) {
            return;
        }
        let message = format!("{} lanes meet in slots hit before, first in element {slot}: {why}", met.collisions);
        self.say(Diagnostic::new(isa::CONFLICT_NONDETERMINISTIC, place, message));
    }

    /// Lists the slots whose value depends on the schedule, with the values they may take; counts as steps what that takes.
    pub(crate) fn explore(
        &mut self,
        instruction: &Instruction,
        (src, ub): (&TileState, &[u8]),
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
        // Every order of a slot's writers takes as long as many a scalar operation, and so does the copy of the array.
        let work = EXPLORED_LANE * slots.len() as u64 + before.len() as u64 / EXPLORED_BYTES;
        self.steps = self.steps.saturating_add(work);
        let cols = known(src.tile.valid_cols);
        let mut writers: std::collections::BTreeMap<u64, Vec<f64>> = Default::default();
        let tile = &ub[src.tile.address.unwrap_or(0) as usize..];
        let size = element.size() as usize;
        for (lane, slot) in slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let (row, col) = (lane as u64 / cols, lane as u64 % cols);
            let at = src.tile.offset(row, col) as usize * size;
            writers.entry(slot + view.offset).or_default().push(number(decode(element, &tile[at..at + size])));
        }
        for (index, values) in writers.into_iter().filter(|(_, values)| values.len() > 1) {
            let at = index as usize * size;
            let value = |memory: &[u8]| number(decode(element, &memory[at..at + size]));
            let (mut candidates, complete) = match atomic {
                Atomic::None => (values, true),
                _ => sums(element, value(before), &values),
            };
            // What came out is one of them, also where not all were found.
            candidates.push(value(&self.buffers[view.buffer].bytes));
            sort(&mut candidates);
            if candidates.len() > 1 {
                self.nondeterministic.insert((view.buffer, index), (candidates, complete));
            }
        }
        Ok(())
    }
}

/// The index lanes as numbers, row-major.
pub(crate) fn lane_values(idx: &TileState, lanes: &[u8], signed: bool) -> Vec<i64> {
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

/// Storage slots that the lanes of an index TSCATTER write.
pub(crate) fn tile_slots(instruction: &Instruction, idx: &TileState, lanes: &[u8]) -> Vec<u64> {
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

fn number(value: Value) -> f64 {
    match value {
        Value::Integer(value) => value as f64,
        Value::Float(value) => value,
        _ => 0.0,
    }
}
