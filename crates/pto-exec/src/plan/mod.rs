//! The production executor: an instruction is planned once and run as often as its operands change.
//!
//! Planning checks legality and reduces layouts and addresses to arithmetic progressions; running allocates nothing,
//! looks at every index before the first write where a lane may fault, and then moves blocks through the kernels.

mod elements;
mod rows;
mod walk;

use pto_isa::{
    Atomic, Coalesce, Conflict, Extent, Instruction, Launch, MaskPattern, OutOfBounds, Role, Severity, Target,
    TensorLayout, Tile, check,
};

use crate::kernel::address::AddressMap;
use crate::kernel::lanes::{Bounds, LaneReader, Resolver, Strided};
use crate::kernel::mask;
use crate::{Fault, Lanes, Memory, Schedule, simt};
use elements::Elements;
use rows::Rows;
use walk::{Axis, Order, Walk};

/// An instruction that was found legal and is ready to run on operands of its shape.
///
/// ```
/// use pto_exec::{Memory, Plan, Schedule};
/// use pto_isa::{Atomic, Coalesce, ElementType::*, Instruction, Launch, Policy, Target, Tensor, Tile};
/// let add = Instruction::MScatter {
///     table: Tensor::packed(I32, [1, 1, 1, 1, 4]),
///     src: Tile::new(I32, 1, 8).with_valid(1, 3),
///     idx: Tile::new(I32, 1, 8).with_valid(1, 3),
///     policy: Policy::coalesce(Coalesce::Elem).with_atomic(Atomic::Add),
/// };
/// let plan = Plan::new(&add, Target::Host, Launch::default())?;
/// let mut table = [0i32; 4];
/// let (src, idx) = ([10i32, 20, 30, 0, 0, 0, 0, 0], [2i32, 0, 2, 0, 0, 0, 0, 0]);
/// # use pto_isa::Element;
/// fn bytes<T: Element>(values: &[T]) -> Vec<u8> { bytemuck::cast_slice(values).to_vec() }
/// let memory = Memory::MScatter {
///     table: bytemuck::cast_slice_mut(&mut table),
///     src: &bytes(&src),
///     idx: &bytes(&idx),
/// };
/// let lanes = plan.run(memory, Schedule::InOrder)?;
/// assert_eq!((table, lanes.written), ([20, 0, 40, 0], 3));
/// # Ok::<(), pto_exec::Fault>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    instruction: Instruction,
    target: Target,
    work: Work,
}

#[derive(Clone, Debug)]
enum Work {
    Elements(Elements),
    Rows(Rows),
    Mask(MaskPattern),
}

/// A value that the legality check has seen to be known.
fn known(extent: Extent) -> Result<u64, Fault> {
    extent.known().ok_or(Fault::Call("an extent that the instruction needs is unknown"))
}

impl Plan {
    /// Checks an instruction whose extents are known and prepares to run it.
    ///
    /// # Errors
    /// [`Fault::Illegal`] with every broken rule; [`Fault::Call`] if an extent is unknown or larger than any memory.
    pub fn new(instruction: &Instruction, target: Target, launch: Launch) -> Result<Self, Fault> {
        let broken: Vec<_> =
            check(instruction, target, launch).into_iter().filter(|f| f.rule.severity == Severity::Error).collect();
        if !broken.is_empty() {
            return Err(Fault::Illegal(broken));
        }
        let work = match instruction {
            Instruction::MGather { dst: payload, idx, .. } | Instruction::MScatter { src: payload, idx, .. } => {
                Self::memory(instruction, target, payload, idx)?
            }
            Instruction::TScatter { src, idx, .. } => {
                let rows = known(src.valid_rows)?.min(known(idx.valid_rows)?);
                let cols = known(src.valid_cols)?.min(known(idx.valid_cols)?);
                let walk = Walk::new(src, idx, rows, cols, Order::RowMajor)?;
                Work::Elements(Elements { walk, map: AddressMap::Linear })
            }
            Instruction::TScatterMask { pattern, .. } => Work::Mask(*pattern),
        };
        Ok(Self { instruction: *instruction, target, work })
    }

    fn memory(instruction: &Instruction, target: Target, payload: &Tile, idx: &Tile) -> Result<Work, Fault> {
        let unclear = Fault::Call("an extent that decides the coalesce mode is unknown");
        let (Some(mode), Some(table)) = (instruction.coalesce(target), instruction.table()) else {
            return Err(unclear);
        };
        let (rows, cols) = (known(payload.valid_rows)?, known(payload.valid_cols)?);
        let map = AddressMap::of(instruction, table, mode, target);
        match mode {
            Coalesce::Elem => {
                let by_blocks = target == Target::A2A3 && table.layout == TensorLayout::Nz;
                let order = if by_blocks { Order::BlockColumn } else { Order::RowMajor };
                Ok(Work::Elements(Elements { walk: Walk::new(payload, idx, rows, cols, order)?, map }))
            }
            Coalesce::Row => {
                // [1, R] has its lanes along the columns, [R, 1] along the rows; 1x1 is both.
                let axis = if known(idx.valid_rows)? == 1 { Axis::Cols } else { Axis::Rows };
                let starts = walk::tile_axis(payload, Axis::Rows, rows)?;
                let lanes = walk::pair(&starts, &walk::tile_axis(idx, axis, rows)?);
                let columns = walk::tile_axis(payload, Axis::Cols, cols)?;
                let segments = walk::segments(&columns, &walk::table_columns(table, cols)?)?;
                Ok(Work::Rows(Rows { lanes, segments, map }))
            }
        }
    }

    /// The instruction that was planned.
    pub fn instruction(&self) -> &Instruction {
        &self.instruction
    }

    /// The target it was planned for.
    pub fn target(&self) -> Target {
        self.target
    }

    /// Runs on operands of the planned shapes.
    ///
    /// # Errors
    /// [`Fault::Lane`] if an index is out of range under `undefined`, [`Fault::ShortBuffer`] if a buffer is shorter
    /// than its operand, [`Fault::Call`] if the operands are another instruction's. No byte has changed then.
    pub fn run(&self, memory: Memory<'_>, schedule: Schedule) -> Result<Lanes, Fault> {
        memory.check(&self.instruction)?;
        match (&self.instruction, memory) {
            (Instruction::MGather { dst, idx, .. }, Memory::MGather { dst: to, table, idx: lanes }) => {
                let lanes = self.lanes(idx, lanes)?;
                let outside = match &self.work {
                    Work::Elements(elements) => elements.gather(dst.element, lanes, to, table),
                    Work::Rows(rows) => rows.gather(dst.element, lanes, to, table),
                    Work::Mask(_) => 0,
                };
                Ok(self.counts(idx, outside))
            }
            (Instruction::MScatter { src, idx, .. }, Memory::MScatter { table, src: from, idx: lanes }) => {
                let atomic = self.atomic();
                let resolved = self.lanes(idx, lanes)?;
                if let Some(seed) = self.seed(schedule) {
                    let outside = self.scatter_seeded(seed, src, lanes, table, from)?;
                    return Ok(self.counts(idx, outside));
                }
                let outside = match &self.work {
                    Work::Elements(elements) => elements.scatter(src.element, atomic, resolved, table, from),
                    Work::Rows(rows) => rows.scatter(src.element, atomic, resolved, table, from),
                    Work::Mask(_) => 0,
                };
                Ok(self.counts(idx, outside))
            }
            (Instruction::TScatter { dst, src, idx }, Memory::TScatter { dst: to, src: from, idx: lanes }) => {
                let lanes = self.lanes(idx, lanes)?;
                if self.instruction.clears_destination(self.target) {
                    to.fill(0);
                }
                if let Work::Elements(elements) = &self.work {
                    elements.scatter(dst.element, Atomic::None, lanes, to, from);
                }
                let rows = known(src.valid_rows)?.min(known(idx.valid_rows)?);
                let cols = known(src.valid_cols)?.min(known(idx.valid_cols)?);
                Ok(Lanes { written: rows * cols, ..Lanes::default() })
            }
            (Instruction::TScatterMask { dst, src, .. }, Memory::TScatterMask { dst: to, src: from }) => {
                self.widen(dst, src, to, from)
            }
            _ => Err(Fault::Call("the operands given are those of another instruction")),
        }
    }

    /// The atomic operation in force: cpu runs none.
    fn atomic(&self) -> Atomic {
        let atomic = self.instruction.policy().map_or(Atomic::None, |p| p.atomic_or_default());
        if self.target == Target::Cpu { Atomic::None } else { atomic }
    }

    /// The out-of-bounds policy in force: cpu runs none.
    fn oob(&self) -> OutOfBounds {
        let oob = self.instruction.policy().map_or(OutOfBounds::Undefined, |p| p.oob_or_default());
        if self.target == Target::Cpu { OutOfBounds::Undefined } else { oob }
    }

    /// The reader and resolver of the index lanes, after every lane that could fault was looked at.
    fn lanes<'a>(&self, idx: &Tile, bytes: &'a [u8]) -> Result<(LaneReader<'a>, Resolver), Fault> {
        let signed = self.target.profile().signed_lanes && matches!(idx.element.class(), pto_isa::ElementClass::Signed);
        let reader = LaneReader { bytes, element: idx.element, signed };
        let unclear = Fault::Call("an extent that decides the capacity is unknown");
        let capacity = self.instruction.capacity(self.target).ok_or(unclear)?;
        let bounds = Bounds::of(self.oob());
        if bounds == Bounds::Checked && self.count_outside(reader, capacity) > 0 {
            return Err(self.first_outside(idx, reader, capacity)?);
        }
        Ok((reader, Resolver { bounds, capacity, signed, narrow: idx.element.size() <= 4 }))
    }

    /// The fault of the first lane, in row-major order, that is out of range.
    #[cold]
    fn first_outside(&self, idx: &Tile, reader: LaneReader<'_>, capacity: u64) -> Result<Fault, Fault> {
        let payload = self.instruction.payload();
        let (mut rows, mut cols) = (known(idx.valid_rows)?, known(idx.valid_cols)?);
        if matches!(self.instruction, Instruction::TScatter { .. }) {
            (rows, cols) = (rows.min(known(payload.valid_rows)?), cols.min(known(payload.valid_cols)?));
        }
        for row in 0..rows {
            for column in 0..cols {
                let mut lane = [0];
                reader.read(Strided { start: idx.offset(row, column) as usize, step: 1 }, &mut lane);
                if lane[0] >= capacity {
                    let index = if reader.signed { i128::from(lane[0] as i64) } else { i128::from(lane[0]) };
                    let (opcode, target) = (self.instruction.opcode(), self.target);
                    return Ok(Fault::Lane { opcode, target, lane: row * cols + column, row, column, index, capacity });
                }
            }
        }
        Err(Fault::Call("an index changed while it was being read"))
    }

    /// What happened to the lanes, given how many were out of range.
    fn counts(&self, idx: &Tile, outside: usize) -> Lanes {
        let total = idx.valid_rows.known().unwrap_or(0) * idx.valid_cols.known().unwrap_or(0);
        let outside = outside as u64;
        let mut lanes = Lanes { written: total, ..Lanes::default() };
        match self.oob() {
            OutOfBounds::Undefined => {}
            OutOfBounds::Skip => {
                lanes.skipped = outside;
                lanes.written -= outside;
            }
            OutOfBounds::Clamp => lanes.clamped = outside,
            OutOfBounds::Wrap => lanes.wrapped = outside,
            OutOfBounds::Zero => lanes.zeroed = outside,
        }
        lanes
    }

    /// The seed, if the result may depend on the order in which warps run.
    fn seed(&self, schedule: Schedule) -> Option<u64> {
        let policy = self.instruction.policy()?;
        let depends = policy.atomic_or_default() != Atomic::None || policy.conflict_or_default() == Conflict::Default;
        match schedule {
            Schedule::Seeded(seed) if depends && self.target == Target::A5 => Some(seed),
            _ => None,
        }
    }

    /// Scatters in the order of a seeded warp schedule. Exploring schedules is not a hot path: it may allocate.
    fn scatter_seeded(
        &self,
        seed: u64,
        src: &Tile,
        lanes: &[u8],
        table: &mut [u8],
        from: &[u8],
    ) -> Result<usize, Fault> {
        let mode = self.instruction.coalesce(self.target).unwrap_or(Coalesce::Elem);
        let slots = crate::reference::slots(&self.instruction, self.target, lanes)?;
        let cols = known(src.valid_cols)?;
        let order: Vec<(u64, usize)> = simt::lane_order(mode, known(src.valid_rows)?, cols, seed)
            .into_iter()
            .filter_map(|(row, col)| {
                let slot = slots[(row * cols + col) as usize]?;
                Some((slot, src.offset(row, col) as usize))
            })
            .collect();
        elements::scatter_ordered(src.element, self.atomic(), &order, table, from);
        let (reader, resolver) = match self.instruction.tile(Role::Idx) {
            Some(idx) => self.lanes(idx, lanes)?,
            None => return Err(Fault::Call("a scatter has an index tile")),
        };
        Ok(self.count_outside(reader, resolver.capacity))
    }

    fn count_outside(&self, reader: LaneReader<'_>, capacity: u64) -> usize {
        match &self.work {
            Work::Elements(elements) => elements.count_outside(reader, capacity),
            Work::Rows(rows) => rows.count_outside(reader, capacity),
            Work::Mask(_) => 0,
        }
    }

    fn widen(&self, dst: &Tile, src: &Tile, to: &mut [u8], from: &[u8]) -> Result<Lanes, Fault> {
        let Work::Mask(pattern) = self.work else { return Err(Fault::Call("a mask pattern is wanted")) };
        if self.instruction.clears_destination(self.target) {
            to.fill(0);
        }
        let (rows, cols) = (known(src.valid_rows)? as usize, known(src.valid_cols)? as usize);
        let (dst_stride, src_stride) = (dst.cols as usize, src.cols as usize);
        match dst.element.size() {
            1 => widen::<1>(to, from, (dst_stride, src_stride), (rows, cols), pattern),
            2 => widen::<2>(to, from, (dst_stride, src_stride), (rows, cols), pattern),
            4 => widen::<4>(to, from, (dst_stride, src_stride), (rows, cols), pattern),
            _ => widen::<8>(to, from, (dst_stride, src_stride), (rows, cols), pattern),
        }
        Ok(Lanes { written: (rows * cols) as u64, ..Lanes::default() })
    }
}

fn widen<const N: usize>(
    to: &mut [u8],
    from: &[u8],
    (dst_stride, src_stride): (usize, usize),
    (rows, cols): (usize, usize),
    pattern: MaskPattern,
) {
    if rows == 0 || cols == 0 {
        return;
    }
    let (to, from) = (to.as_chunks_mut::<N>().0, from.as_chunks::<N>().0);
    let wide = cols * pattern.factor() as usize;
    for (dst, src) in to.chunks_mut(dst_stride).zip(from.chunks(src_stride)).take(rows) {
        mask::widen(&mut dst[..wide], &src[..cols], pattern);
    }
}
