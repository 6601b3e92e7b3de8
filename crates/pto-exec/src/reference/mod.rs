//! The reference executor: slow, sequential, and meant to be held against the specification sentence by sentence.
//!
//! It shares nothing with the production executor but the description of instructions and the order in which A5's
//! warps run. It visits one lane at a time, computes every address from scratch, and writes only after it has seen
//! that no lane faults.

mod address;
mod collective;
mod value;

use pto_isa::{
    Atomic, Coalesce, Conflict, Instruction, Launch, OutOfBounds, Policy, Role, Severity, Target, TensorLayout, Tile,
    check,
};

use crate::{Fault, Lanes, Memory, Schedule, simt};
use address::{TableAddress, known};
pub use collective::execute_collective;
use value::{combine, read_lane};

/// Executes an instruction, one lane after the other.
///
/// # Errors
/// [`Fault::Illegal`] if a rule is broken, [`Fault::Lane`] if an index is out of range under `undefined`,
/// [`Fault::ShortBuffer`] if a buffer is shorter than its operand. No byte has changed then.
///
/// ```
/// use pto_exec::{Memory, Schedule, reference};
/// use pto_isa::{ElementType::*, Instruction, Launch, Target, Tile};
/// let scatter = Instruction::TScatter {
///     dst: Tile::new(U8, 1, 4),
///     src: Tile::new(U8, 1, 2),
///     idx: Tile::new(U16, 1, 2),
/// };
/// let mut dst = [9u8; 4];
/// let memory = Memory::TScatter { dst: &mut dst, src: &[5, 6], idx: &[3, 0, 1, 0] };
/// reference::execute(&scatter, Target::A5, Launch::default(), memory, Schedule::InOrder)?;
/// assert_eq!(dst, [0, 6, 0, 5]);
/// # Ok::<(), pto_exec::Fault>(())
/// ```
pub fn execute(
    instruction: &Instruction,
    target: Target,
    launch: Launch,
    memory: Memory<'_>,
    schedule: Schedule,
) -> Result<Lanes, Fault> {
    let findings: Vec<_> =
        check(instruction, target, launch).into_iter().filter(|f| f.rule.severity == Severity::Error).collect();
    if !findings.is_empty() {
        return Err(Fault::Illegal(findings));
    }
    memory.check(instruction)?;
    match (instruction, memory) {
        (Instruction::MGather { dst, idx, .. }, Memory::MGather { dst: to, table: from, idx: lanes }) => {
            let accesses = Accesses::resolve(instruction, target, idx, lanes)?;
            mgather(&accesses, dst, to, from);
            Ok(accesses.lanes())
        }
        (Instruction::MScatter { src, idx, policy, .. }, Memory::MScatter { table: to, src: from, idx: lanes }) => {
            let accesses = Accesses::resolve(instruction, target, idx, lanes)?;
            mscatter(&accesses, src, policy, to, from, schedule);
            Ok(accesses.lanes())
        }
        (Instruction::TScatter { dst, src, idx }, Memory::TScatter { dst: to, src: from, idx: lanes }) => {
            tscatter(instruction, target, [dst, src, idx], to, from, lanes)
        }
        (Instruction::TScatterMask { dst, src, pattern }, Memory::TScatterMask { dst: to, src: from }) => {
            if instruction.clears_destination(target) {
                to.fill(0);
            }
            let size = dst.element.size();
            let (rows, cols) = (known(dst.valid_rows), known(dst.valid_cols));
            for (row, col) in row_major(rows, cols) {
                bytes_mut(to, dst.offset(row, col), size).fill(0);
            }
            for (row, col) in row_major(known(src.valid_rows), known(src.valid_cols)) {
                let slot = dst.offset(row, col * pattern.factor() + pattern.position());
                bytes_mut(to, slot, size).copy_from_slice(bytes(from, src.offset(row, col), size));
            }
            Ok(Lanes { written: known(src.valid_rows) * known(src.valid_cols), ..Lanes::default() })
        }
        _ => Err(Fault::Call("the operands given are those of another instruction")),
    }
}

/// The table element that each payload element (in row-major order) goes to or comes from; `None` for lanes that touch
/// no table element.
///
/// # Errors
/// [`Fault::Lane`] if an index is out of range under `undefined`, [`Fault::Call`] for other than memory instructions.
pub fn slots(instruction: &Instruction, target: Target, idx: &[u8]) -> Result<Vec<Option<u64>>, Fault> {
    let Some(tile) = instruction.tile(Role::Idx).filter(|_| instruction.table().is_some()) else {
        return Err(Fault::Call("only mgather and mscatter address a table"));
    };
    let accesses = Accesses::resolve(instruction, target, tile, idx)?;
    let payload = instruction.payload();
    let cols = known(payload.valid_cols);
    let slot = |(row, col)| match accesses.of(row, col, cols) {
        Access::At { slot, .. } => Some(accesses.address().element(slot, col)),
        Access::Nothing | Access::Zero => None,
    };
    Ok(row_major(known(payload.valid_rows), cols).map(slot).collect())
}

fn row_major(rows: u64, cols: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..rows).flat_map(move |row| (0..cols).map(move |col| (row, col)))
}

fn bytes(memory: &[u8], element: u64, size: u64) -> &[u8] {
    &memory[(element * size) as usize..][..size as usize]
}

fn bytes_mut(memory: &mut [u8], element: u64, size: u64) -> &mut [u8] {
    &mut memory[(element * size) as usize..][..size as usize]
}

/// What one index lane does.
#[derive(Clone, Copy, PartialEq)]
enum Access {
    /// Reads or writes this row or element of the table.
    At { slot: u64, remapped: bool },
    /// Reads or writes nothing (`skip`).
    Nothing,
    /// Reads as zero (`zero`).
    Zero,
}

/// Every lane of a memory instruction, resolved: no write happens before all are.
struct Accesses<'a> {
    instruction: &'a Instruction,
    target: Target,
    mode: Coalesce,
    oob: OutOfBounds,
    /// One per payload row (Row) or payload element in row-major order (Elem).
    slots: Vec<Access>,
}

impl<'a> Accesses<'a> {
    fn resolve(instruction: &'a Instruction, target: Target, idx: &Tile, lanes: &[u8]) -> Result<Self, Fault> {
        let unclear = Fault::Call("an extent that decides the coalesce mode is unknown");
        let mode = instruction.coalesce(target).ok_or(unclear.clone())?;
        let capacity = instruction.capacity(target).ok_or(unclear)?;
        let policy = instruction.policy().copied().unwrap_or_default();
        // cpu runs no policy.
        let oob = if target == Target::Cpu { OutOfBounds::Undefined } else { policy.oob_or_default() };
        let mut slots = Vec::new();
        for (lane, (row, column)) in row_major(known(idx.valid_rows), known(idx.valid_cols)).enumerate() {
            let bits = bytes(lanes, idx.offset(row, column), idx.element.size());
            let index = read_lane(bits, idx.element, target.profile().signed_lanes);
            slots.push(match oob.slot(index, capacity) {
                Some(slot) => Access::At { slot, remapped: i128::from(slot) != index },
                None if oob == OutOfBounds::Skip => Access::Nothing,
                None if oob == OutOfBounds::Zero => Access::Zero,
                None => {
                    let (opcode, lane) = (instruction.opcode(), lane as u64);
                    return Err(Fault::Lane { opcode, target, lane, row, column, index, capacity });
                }
            });
        }
        Ok(Self { instruction, target, mode, oob, slots })
    }

    /// The access of payload element (`row`, `col`) of `cols` columns.
    fn of(&self, row: u64, col: u64, cols: u64) -> Access {
        match self.mode {
            Coalesce::Row => self.slots[row as usize],
            Coalesce::Elem => self.slots[(row * cols + col) as usize],
        }
    }

    fn address(&self) -> TableAddress<'_> {
        TableAddress { instruction: self.instruction, target: self.target, mode: self.mode }
    }

    fn lanes(&self) -> Lanes {
        let count = |wanted: fn(&Access) -> bool| self.slots.iter().filter(|a| wanted(a)).count() as u64;
        let remapped = count(|a| matches!(a, Access::At { remapped: true, .. }));
        let skipped = count(|a| *a == Access::Nothing);
        Lanes {
            written: self.slots.len() as u64 - skipped,
            skipped,
            clamped: if self.oob == OutOfBounds::Clamp { remapped } else { 0 },
            wrapped: if self.oob == OutOfBounds::Wrap { remapped } else { 0 },
            zeroed: count(|a| *a == Access::Zero),
        }
    }
}

fn mgather(accesses: &Accesses<'_>, dst: &Tile, to: &mut [u8], from: &[u8]) {
    let size = dst.element.size();
    let (rows, cols) = (known(dst.valid_rows), known(dst.valid_cols));
    for (row, col) in row_major(rows, cols) {
        let slot = bytes_mut(to, dst.offset(row, col), size);
        match accesses.of(row, col, cols) {
            Access::At { slot: index, .. } => {
                slot.copy_from_slice(bytes(from, accesses.address().element(index, col), size));
            }
            Access::Zero => slot.fill(0),
            Access::Nothing => {}
        }
    }
}

fn mscatter(accesses: &Accesses<'_>, src: &Tile, policy: &Policy, to: &mut [u8], from: &[u8], schedule: Schedule) {
    let atomic = if accesses.target == Target::Cpu { Atomic::None } else { policy.atomic_or_default() };
    let size = src.element.size();
    let cols = known(src.valid_cols);
    for (row, col) in walk(accesses, src, policy, schedule) {
        if let Access::At { slot, .. } = accesses.of(row, col, cols) {
            let old = bytes_mut(to, accesses.address().element(slot, col), size);
            let new = bytes(from, src.offset(row, col), size);
            let combined = combine(src.element, atomic, old, new);
            old.copy_from_slice(&combined[..size as usize]);
        }
    }
}

/// The order in which the target writes payload elements: it decides who is last.
fn walk(accesses: &Accesses<'_>, src: &Tile, policy: &Policy, schedule: Schedule) -> Vec<(u64, u64)> {
    let (rows, cols) = (known(src.valid_rows), known(src.valid_cols));
    let table_is_nz = accesses.instruction.table().is_some_and(|t| t.layout == TensorLayout::Nz);
    let by_warps = policy.atomic_or_default() != Atomic::None || policy.conflict_or_default() == Conflict::Default;
    match (accesses.target, accesses.mode, schedule) {
        (Target::A5, mode, Schedule::Seeded(seed)) if by_warps => simt::lane_order(mode, rows, cols, seed),
        (Target::A2A3, Coalesce::Elem, _) if table_is_nz => {
            // Block column, row, column in the block.
            let c0 = pto_isa::tile::c0(src.element);
            (0..cols)
                .step_by(c0 as usize)
                .flat_map(|block| row_major(rows, c0.min(cols - block)).map(move |(row, col)| (row, block + col)))
                .collect()
        }
        _ => row_major(rows, cols).collect(),
    }
}

fn tscatter(
    instruction: &Instruction,
    target: Target,
    [dst, src, idx]: [&Tile; 3],
    to: &mut [u8],
    from: &[u8],
    lanes: &[u8],
) -> Result<Lanes, Fault> {
    let capacity = instruction.capacity(target).unwrap_or(0);
    let rows = known(src.valid_rows).min(known(idx.valid_rows));
    let cols = known(src.valid_cols).min(known(idx.valid_cols));
    let mut slots = Vec::new();
    for (lane, (row, column)) in row_major(rows, cols).enumerate() {
        let bits = bytes(lanes, idx.offset(row, column), idx.element.size());
        let index = read_lane(bits, idx.element, target.profile().signed_lanes);
        if index < 0 || index >= i128::from(capacity) {
            let (opcode, lane) = (instruction.opcode(), lane as u64);
            return Err(Fault::Lane { opcode, target, lane, row, column, index, capacity });
        }
        slots.push((row, column, index as u64));
    }
    if instruction.clears_destination(target) {
        to.fill(0);
    }
    let size = dst.element.size();
    for (row, col, slot) in slots {
        bytes_mut(to, slot, size).copy_from_slice(bytes(from, src.offset(row, col), size));
    }
    Ok(Lanes { written: rows * cols, ..Lanes::default() })
}
