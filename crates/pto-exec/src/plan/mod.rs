//! The production executor: an instruction is planned once and run as often as its operands change.
//!
//! Planning checks legality and reduces layouts and addresses to arithmetic progressions; running allocates nothing
//! (but for the list of threads or buckets that a long transfer is divided among), looks at every index before the
//! first write where a lane may fault, and then moves blocks through the kernels.

mod elements;
mod rows;
mod walk;

use pto_isa::{
    Atomic, Coalesce, Conflict, Extent, Finding, Instruction, Launch, MaskPattern, OutOfBounds, Severity, Target,
    TensorLayout, Tile, check,
};

use crate::engine::{Engine, Outside};
use crate::kernel::address::AddressMap;
use crate::kernel::bounds::{Bounds, Resolver};
use crate::kernel::kind::kernel;
use crate::kernel::lanes::{LaneReader, Strided};
use crate::kernel::mask::Widen;
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
    notes: Vec<Finding>,
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
        let found = check(instruction, target, launch).into_iter();
        let (broken, notes): (Vec<_>, Vec<_>) = found.partition(|f| f.rule.severity == Severity::Error);
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
        Ok(Self { instruction: *instruction, target, notes, work })
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

    /// What is legal about the instruction, but worth a note.
    pub fn notes(&self) -> &[Finding] {
        &self.notes
    }

    /// Bytes of the lists that the plan holds: for whoever keeps many plans and wants to know how many.
    ///
    /// ```
    /// use pto_exec::Plan;
    /// use pto_isa::{BLayout, Coalesce, ElementType::*, Instruction, Launch, Policy, Target, Tensor, Tile};
    /// let bytes = |blayout| {
    ///     let gather = Instruction::MGather {
    ///         dst: Tile { blayout, ..Tile::new(F32, 8, 1024) },
    ///         table: Tensor::packed(F32, [1, 1, 1, 64, 1024]),
    ///         idx: Tile::new(I32, 1, 8),
    ///         policy: Policy::coalesce(Coalesce::Row),
    ///     };
    ///     Ok::<_, pto_exec::Fault>(Plan::new(&gather, Target::Host, Launch::default())?.list_bytes())
    /// };
    /// // Rows that are not contiguous in the tile are moved element by element.
    /// assert!(bytes(BLayout::RowMajor)? < 1024 && bytes(BLayout::ColMajor)? > 1024);
    /// # Ok::<(), pto_exec::Fault>(())
    /// ```
    pub fn list_bytes(&self) -> usize {
        match &self.work {
            Work::Elements(elements) => elements.walk.list_bytes(),
            Work::Rows(rows) => size_of_val(&*rows.lanes) + size_of_val(&*rows.segments),
            Work::Mask(_) => 0,
        }
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
        self.run_on(Engine::shared(), memory, schedule)
    }

    /// [`run`](Self::run) on an engine of one's own: its threads, its instruction set, the same result.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_on(&self, engine: &Engine, memory: Memory<'_>, schedule: Schedule) -> Result<Lanes, Fault> {
        memory.check(&self.instruction)?;
        match (&self.instruction, memory) {
            (Instruction::MGather { dst, idx, .. }, Memory::MGather { dst: to, table, idx: bytes }) => {
                let lanes = self.lanes(idx, bytes)?;
                let outside = match &self.work {
                    Work::Elements(elements) => elements.gather(engine, dst.element, lanes, to, table),
                    Work::Rows(rows) => rows.gather(engine, dst.element, lanes, to, table),
                    Work::Mask(_) => Ok(0),
                };
                Ok(self.counts(idx, self.or_fault(outside, idx, lanes)?))
            }
            (Instruction::MScatter { src, idx, .. }, Memory::MScatter { table, src: from, idx: bytes }) => {
                let (kind, lanes) = ((src.element, self.atomic()), self.lanes(idx, bytes)?);
                if let Some(seed) = self.seed(schedule) {
                    return self.scatter_seeded(engine, seed, (src, idx), bytes, table, from);
                }
                let outside = match &self.work {
                    Work::Elements(elements) => elements.scatter(engine, kind, lanes, table, from),
                    Work::Rows(rows) => rows.scatter(engine, kind, lanes, table, from),
                    Work::Mask(_) => Ok(0),
                };
                Ok(self.counts(idx, self.or_fault(outside, idx, lanes)?))
            }
            (Instruction::TScatter { dst, src, idx }, Memory::TScatter { dst: to, src: from, idx: bytes }) => {
                let lanes = self.lanes(idx, bytes)?;
                if let Work::Elements(elements) = &self.work {
                    if self.instruction.clears_destination(self.target) {
                        self.or_fault(elements.check(engine, lanes), idx, lanes)?;
                        to.fill(0);
                    }
                    let outside = elements.scatter(engine, (dst.element, Atomic::None), lanes, to, from);
                    self.or_fault(outside, idx, lanes)?;
                }
                let rows = known(src.valid_rows)?.min(known(idx.valid_rows)?);
                let cols = known(src.valid_cols)?.min(known(idx.valid_cols)?);
                Ok(Lanes { written: rows * cols, ..Lanes::default() })
            }
            (Instruction::TScatterMask { dst, src, .. }, Memory::TScatterMask { dst: to, src: from }) => {
                self.widen(engine, dst, src, to, from)
            }
            _ => Err(Fault::Call("the operands given are those of another instruction")),
        }
    }

    /// The result, or the fault of the lane that was out of range.
    fn or_fault<T>(
        &self,
        result: Result<T, Outside>,
        idx: &Tile,
        (reader, resolver): (LaneReader<'_>, Resolver),
    ) -> Result<T, Fault> {
        match result {
            Ok(result) => Ok(result),
            Err(Outside) => Err(self.first_outside(idx, reader, resolver.capacity)?),
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

    /// The reader and resolver of the index lanes.
    fn lanes<'a>(&self, idx: &Tile, bytes: &'a [u8]) -> Result<(LaneReader<'a>, Resolver), Fault> {
        let signed = self.target.profile().signed_lanes && matches!(idx.element.class(), pto_isa::ElementClass::Signed);
        let reader = LaneReader { bytes, element: idx.element, signed };
        let unclear = Fault::Call("an extent that decides the capacity is unknown");
        let capacity = self.instruction.capacity(self.target).ok_or(unclear)?;
        Ok((reader, Resolver::new(Bounds::of(self.oob()), capacity, signed)))
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
                let mut lane = [[0; 8]];
                reader.read(Strided { start: idx.offset(row, column) as usize, step: 1 }, &mut lane);
                let bits = u64::from_le_bytes(lane[0]);
                if bits >= capacity {
                    let index = if reader.signed { i128::from(bits as i64) } else { i128::from(bits) };
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
        Lanes::of(self.oob(), total, outside as u64)
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
        engine: &Engine,
        seed: u64,
        (src, idx): (&Tile, &Tile),
        lanes: &[u8],
        table: &mut [u8],
        from: &[u8],
    ) -> Result<Lanes, Fault> {
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
        kernel(src.element, self.atomic()).scatter_ordered(engine.backend(), table, &order, from);
        let (reader, resolver) = self.lanes(idx, lanes)?;
        let outside = |lane: u64| {
            let (row, column) = (lane / known(idx.valid_cols)?, lane % known(idx.valid_cols)?);
            let mut word = [[0u8; 8]];
            reader.read(Strided { start: idx.offset(row, column) as usize, step: 1 }, &mut word);
            Ok(usize::from(u64::from_le_bytes(word[0]) >= resolver.capacity))
        };
        let lanes = known(idx.valid_rows)? * known(idx.valid_cols)?;
        let outside = (0..lanes).map(outside).sum::<Result<usize, Fault>>()?;
        Ok(self.counts(idx, outside))
    }

    fn widen(&self, engine: &Engine, dst: &Tile, src: &Tile, to: &mut [u8], from: &[u8]) -> Result<Lanes, Fault> {
        let Work::Mask(pattern) = self.work else { return Err(Fault::Call("a mask pattern is wanted")) };
        if self.instruction.clears_destination(self.target) {
            to.fill(0);
        }
        let (rows, cols) = (known(src.valid_rows)? as usize, known(src.valid_cols)? as usize);
        let strides = (dst.cols as usize, src.cols as usize);
        engine.backend().run(Widen { to, from, strides, rows, cols, size: dst.element.size() as usize, pattern });
        Ok(Lanes { written: (rows * cols) as u64, ..Lanes::default() })
    }
}
