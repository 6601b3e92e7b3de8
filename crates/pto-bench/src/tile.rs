//! Workloads through the instruction path, on the `host` target: one plan, many tiles.

use bytemuck::{cast_slice, cast_slice_mut};
use pto_exec::host::Engine;
use pto_exec::{Memory, Plan, Schedule};
use pto_isa::{Atomic, Coalesce, ElementType, Instruction, Launch, MaskPattern, Policy, Target, Tensor, Tile};

use crate::data::{small, uniform};
use crate::measure::{Case, digest};
use crate::{Array, Error, plain};

/// Mask TSCATTER of 64 x 64 tiles of f16: 256 of them.
pub(crate) struct Mask {
    plan: Plan,
    source: Array<u16>,
    destination: Array<u16>,
    pattern: MaskPattern,
}

const MASK_TILE: usize = 64 * 64;
const MASK_TILES: usize = 256;

impl Mask {
    pub(crate) fn new(pattern: MaskPattern) -> Result<Self, Error> {
        let wide = 64 * pattern.factor();
        let (dst, src) = (Tile::new(ElementType::F16, 64, wide), Tile::new(ElementType::F16, 64, 64));
        let instruction = Instruction::TScatterMask { dst, src, pattern };
        Ok(Self {
            plan: Plan::new(&instruction, Target::Host, Launch::default())?,
            source: Array::from_values(MASK_TILES * MASK_TILE, uniform(2, 1 << 16).map(|x| x as u16))?,
            destination: Array::zeroed(MASK_TILES * MASK_TILE * pattern.factor() as usize)?,
            pattern,
        })
    }
}

impl Case for Mask {
    fn elements(&self) -> usize {
        self.source.len()
    }

    fn payload_bytes(&self) -> usize {
        self.source.len() * 2
    }

    fn table_bytes(&self) -> usize {
        self.destination.len() * 2
    }

    fn run(&mut self, engine: &Engine) -> Result<(), Error> {
        let wide = MASK_TILE * self.pattern.factor() as usize;
        for (dst, src) in self.destination.chunks_exact_mut(wide).zip(self.source.chunks_exact(MASK_TILE)) {
            let memory = Memory::TScatterMask { dst: cast_slice_mut(dst), src: cast_slice(src) };
            self.plan.run_on(engine, memory, Schedule::InOrder)?;
        }
        Ok(())
    }

    fn plain(&mut self) {
        let (factor, position) = (self.pattern.factor() as usize, self.pattern.position() as usize);
        let wide = MASK_TILE * factor;
        for (dst, src) in self.destination.chunks_exact_mut(wide).zip(self.source.chunks_exact(MASK_TILE)) {
            plain::widen(dst, src, factor, position);
        }
    }

    fn settle(&mut self) -> u64 {
        let sum = digest(cast_slice(&self.destination));
        self.destination.fill(0);
        sum
    }
}

/// MSCATTER Elem Add of 128 tiles of 128 x 64 f32 into 2^20 slots.
pub(crate) struct Elements {
    plan: Plan,
    table: Array<f32>,
    source: Array<f32>,
    indices: Array<i32>,
}

const ELEMENTS_TILE: usize = 128 * 64;

impl Elements {
    pub(crate) fn new() -> Result<Self, Error> {
        let (size, lanes) = (1 << 20, 1 << 20);
        let instruction = Instruction::MScatter {
            table: Tensor::packed(ElementType::F32, [1, 1, 1, 1, size]),
            src: Tile::new(ElementType::F32, 128, 64),
            idx: Tile::new(ElementType::I32, 128, 64),
            policy: Policy::coalesce(Coalesce::Elem).with_atomic(Atomic::Add),
        };
        Ok(Self {
            plan: Plan::new(&instruction, Target::Host, Launch::default())?,
            table: Array::zeroed(size as usize)?,
            source: Array::from_values(lanes, small(3))?,
            indices: Array::from_values(lanes, uniform(1, size).map(|x| x as i32))?,
        })
    }
}

impl Case for Elements {
    fn elements(&self) -> usize {
        self.source.len()
    }

    fn payload_bytes(&self) -> usize {
        self.source.len() * 4
    }

    fn table_bytes(&self) -> usize {
        self.table.len() * 4
    }

    fn run(&mut self, engine: &Engine) -> Result<(), Error> {
        let tiles = self.source.chunks_exact(ELEMENTS_TILE).zip(self.indices.chunks_exact(ELEMENTS_TILE));
        for (src, idx) in tiles {
            let table = cast_slice_mut(&mut self.table);
            let memory = Memory::MScatter { table, src: cast_slice(src), idx: cast_slice(idx) };
            self.plan.run_on(engine, memory, Schedule::InOrder)?;
        }
        Ok(())
    }

    fn plain(&mut self) {
        let oob = pto_isa::OutOfBounds::Undefined;
        plain::scatter(&mut self.table, &self.source, &self.indices, Atomic::Add, oob);
    }

    fn settle(&mut self) -> u64 {
        let sum = digest(cast_slice(&self.table));
        self.table.fill(0.0);
        sum
    }
}

/// MGATHER Row of 1,024 tiles of 64 x 256 f32, 65,536 rows in all, out of 65,536 rows.
pub(crate) struct Rows {
    plan: Plan,
    table: Array<f32>,
    tiles: Array<f32>,
    indices: Array<i32>,
}

const ROWS_TILE: usize = 64;
const COLS: usize = 256;

impl Rows {
    pub(crate) fn new() -> Result<Self, Error> {
        let rows = 1 << 16;
        let instruction = Instruction::MGather {
            dst: Tile::new(ElementType::F32, ROWS_TILE as u64, COLS as u64),
            table: Tensor::packed(ElementType::F32, [1, 1, 1, rows, COLS as u64]),
            idx: Tile::new(ElementType::I32, 1, ROWS_TILE as u64),
            policy: Policy::coalesce(Coalesce::Row),
        };
        Ok(Self {
            plan: Plan::new(&instruction, Target::Host, Launch::default())?,
            table: Array::from_values(rows as usize * COLS, small(2))?,
            tiles: Array::zeroed(rows as usize * COLS)?,
            indices: Array::from_values(rows as usize, uniform(1, rows).map(|x| x as i32))?,
        })
    }
}

impl Case for Rows {
    fn elements(&self) -> usize {
        self.tiles.len()
    }

    fn payload_bytes(&self) -> usize {
        self.tiles.len() * 4
    }

    fn table_bytes(&self) -> usize {
        self.table.len() * 4
    }

    fn run(&mut self, engine: &Engine) -> Result<(), Error> {
        let tiles = self.tiles.chunks_exact_mut(ROWS_TILE * COLS).zip(self.indices.chunks_exact(ROWS_TILE));
        for (dst, idx) in tiles {
            let memory =
                Memory::MGather { dst: cast_slice_mut(dst), table: cast_slice(&self.table), idx: cast_slice(idx) };
            self.plan.run_on(engine, memory, Schedule::InOrder)?;
        }
        Ok(())
    }

    fn plain(&mut self) {
        plain::gather_rows(&mut self.tiles, &self.table, COLS, &self.indices);
    }

    fn settle(&mut self) -> u64 {
        let sum = digest(cast_slice(&self.tiles));
        self.tiles.fill(0.0);
        sum
    }
}
