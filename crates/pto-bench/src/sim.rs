//! Workloads through the simulator: one kernel that scatters a tile many times, as A5 runs it.
//!
//! The lanes come from several index tiles by turns. With one of them the table would be the few lines that 8192 lanes
//! touch, for the plain loop as well.

use std::collections::BTreeMap;

use bytemuck::cast_slice;
use pto_exec::host::Engine;
use pto_ir::{Arithmetic, Flag, FunctionBuilder, LaunchAttributes, Module, OpKind, Operand, Pipe, Type};
use pto_isa::{Coalesce, Conflict, ElementType, Policy, Target, Tile};
use pto_sim::{Argument, Options, Status, simulate};

use crate::Error;
use crate::data::{small, uniform};
use crate::measure::{Case, digest};

/// Scatters of one kernel: enough that binding its arrays does not show.
const ROUNDS: usize = 510;

/// Index tiles that are scattered through by turns: what UB has room for, or what reaches about every row of the table.
const fn index_tiles(mode: Coalesce) -> usize {
    match mode {
        Coalesce::Elem => 5,
        Coalesce::Row => 64,
    }
}

/// `dynUBufSize` of the launch.
const UB: u64 = 192 << 10;

/// MSCATTER of a tile into a table, `ROUNDS` times.
pub(crate) struct Scatter {
    module: Module,
    sanitize: bool,
    /// Index tiles.
    tiles: usize,
    /// Columns that one index moves.
    width: usize,
    table: Vec<f32>,
    source: Vec<f32>,
    indices: Vec<i32>,
    /// The same three as a run takes and returns them.
    memory: BTreeMap<String, Vec<u8>>,
}

impl Scatter {
    /// Elem, 128 x 64 f32 into 2^20 slots.
    pub(crate) fn elements(sanitize: bool) -> Result<Self, Error> {
        Self::new(Coalesce::Elem, (128, 64), (1024, 1024), sanitize)
    }

    /// Row, 64 x 256 f32 into 4096 rows.
    pub(crate) fn rows(sanitize: bool) -> Result<Self, Error> {
        Self::new(Coalesce::Row, (64, 256), (4096, 256), sanitize)
    }

    fn new(
        mode: Coalesce,
        (rows, cols): (u64, u64),
        (table_rows, table_cols): (u64, u64),
        sanitize: bool,
    ) -> Result<Self, Error> {
        let (idx_rows, idx_cols, slots) = match mode {
            Coalesce::Row => (1, rows, table_rows),
            Coalesce::Elem => (rows, cols, table_rows * table_cols),
        };
        let tiles = index_tiles(mode);
        let (src_bytes, idx_bytes) = ((rows * cols * 4) as i64, (idx_rows * idx_cols * 4) as i64);
        let mut build = FunctionBuilder::new("scatter");
        build.launch(LaunchAttributes { dyn_ub: Some(UB), ..LaunchAttributes::default() });
        let table = build.pointer("table", ElementType::F32);
        let source = build.pointer("source", ElementType::F32);
        let indices = build.pointer("indices", ElementType::I32);
        let table = build.view(table, &[table_rows, table_cols]);
        let source = build.view(source, &[rows, cols]);
        let indices = build.view(indices, &[tiles as u64 * idx_rows, idx_cols]);
        let src = build.tile_at(Tile::new(ElementType::F32, rows, cols), 0);
        // One tile over all lanes for the load, and one that moves over it.
        let all = build.tile_at(Tile::new(ElementType::I32, tiles as u64 * idx_rows, idx_cols), src_bytes);
        build.push(OpKind::Load { src: source, dst: src }).push(OpKind::Load { src: indices, dst: all });
        let loaded = Flag { from: Pipe::Mte2, to: Pipe::V, event: 0 };
        build.set_flag(loaded).wait_flag(loaded);
        let [lower, upper, step] = [0, ROUNDS as i64, 1].map(|value| build.index(value));
        let [first, size, turns] = [src_bytes, idx_bytes, tiles as i64].map(|value| build.index(value));
        let policy = Policy::coalesce(mode).with_conflict(Conflict::Default);
        build.for_loop([lower, upper, step], |build, round| {
            let tile = build.arithmetic(Arithmetic::Rem, round, turns);
            let offset = build.arithmetic(Arithmetic::Mul, tile, size);
            let address = Some(Operand::Value(build.arithmetic(Arithmetic::Add, first, offset)));
            let idx = build.value("idx", Type::Tile(Tile::new(ElementType::I32, idx_rows, idx_cols)));
            build.push(OpKind::AllocTile { result: idx, address, valid_rows: None, valid_cols: None });
            build.push(OpKind::MScatter { table, src, idx, policy });
        });
        build.push(OpKind::FlushCache).push(OpKind::DataBarrier);
        // Ordinary memory for both: a run takes its arrays as they come.
        let table = vec![0f32; (table_rows * table_cols) as usize];
        let source: Vec<f32> = small(3).take((rows * cols) as usize).collect();
        let lanes = tiles * (idx_rows * idx_cols) as usize;
        let indices: Vec<i32> = uniform(4, slots).map(|x| x as i32).take(lanes).collect();
        let memory = BTreeMap::from([
            ("table".to_owned(), cast_slice(&table[..]).to_vec()),
            ("source".to_owned(), cast_slice(&source[..]).to_vec()),
            ("indices".to_owned(), cast_slice(&indices[..]).to_vec()),
        ]);
        let width = if mode == Coalesce::Row { cols as usize } else { 1 };
        Ok(Self { module: build.finish(), sanitize, tiles, width, table, source, indices, memory })
    }
}

impl Case for Scatter {
    fn elements(&self) -> usize {
        self.source.len() * ROUNDS
    }

    fn payload_bytes(&self) -> usize {
        self.elements() * 4
    }

    fn table_bytes(&self) -> usize {
        self.table.len() * 4
    }

    fn run(&mut self, _: &Engine) -> Result<(), Error> {
        let memory = std::mem::take(&mut self.memory).into_iter();
        let arguments = memory.map(|(name, bytes)| (name, Argument::Array(bytes))).collect();
        let options = Options { sanitize: self.sanitize, ..Options::default() };
        let report = simulate(&self.module, &self.module.functions[0], Target::A5, arguments, &options);
        if report.status != Status::Ok {
            return Err(Error::Simulation);
        }
        self.memory = report.buffers.into_iter().collect();
        Ok(())
    }

    fn plain(&mut self) {
        let lanes = self.indices.len() / self.tiles;
        for indices in self.indices.chunks_exact(lanes).cycle().take(ROUNDS) {
            if self.width == 1 {
                for (value, &index) in self.source.iter().zip(indices) {
                    self.table[index as usize] = *value;
                }
                continue;
            }
            for (values, &index) in self.source.chunks_exact(self.width).zip(indices) {
                let at = index as usize * self.width;
                self.table[at..at + self.width].copy_from_slice(values);
            }
        }
    }

    fn settle(&mut self) -> u64 {
        // Either of the two tables was written since the last time; the other one is zeros.
        let table = self.memory.entry("table".to_owned()).or_default();
        let sum = digest(cast_slice(&self.table)).wrapping_add(digest(table));
        self.table.fill(0.0);
        table.fill(0);
        sum
    }
}
