//! Workloads through the simulator: one kernel that scatters the same tile many times, as A5 runs it.

use std::collections::BTreeMap;

use bytemuck::cast_slice;
use pto_exec::host::Engine;
use pto_ir::{Flag, FunctionBuilder, Module, OpKind, Pipe};
use pto_isa::{Coalesce, Conflict, ElementType, Policy, Target, Tile};
use pto_sim::{Argument, Options, Status, simulate};

use crate::data::{small, uniform};
use crate::measure::{Case, digest};
use crate::{Array, Error};

/// Scatters of one kernel: enough that binding its arrays does not show.
const ROUNDS: usize = 512;

/// MSCATTER of one tile into a table, `ROUNDS` times.
pub(crate) struct Scatter {
    module: Module,
    sanitize: bool,
    /// Columns that one index moves.
    width: usize,
    table: Array<f32>,
    source: Array<f32>,
    indices: Array<i32>,
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
        let mut build = FunctionBuilder::new("scatter");
        let table = build.pointer("table", ElementType::F32);
        let source = build.pointer("source", ElementType::F32);
        let indices = build.pointer("indices", ElementType::I32);
        let table = build.view(table, &[table_rows, table_cols]);
        let source = build.view(source, &[rows, cols]);
        let indices = build.view(indices, &[idx_rows, idx_cols]);
        let src = build.tile_at(Tile::new(ElementType::F32, rows, cols), 0);
        let idx = build.tile_at(Tile::new(ElementType::I32, idx_rows, idx_cols), (rows * cols * 4) as i64);
        build.push(OpKind::Load { src: source, dst: src }).push(OpKind::Load { src: indices, dst: idx });
        let loaded = Flag { from: Pipe::Mte2, to: Pipe::V, event: 0 };
        build.set_flag(loaded).wait_flag(loaded);
        let [lower, upper, step] = [0, ROUNDS as i64, 1].map(|value| build.index(value));
        let policy = Policy::coalesce(mode).with_conflict(Conflict::Default);
        build.for_loop([lower, upper, step], |build, _| {
            build.push(OpKind::MScatter { table, src, idx, policy });
        });
        build.push(OpKind::FlushCache).push(OpKind::DataBarrier);
        let table: Array<f32> = Array::zeroed((table_rows * table_cols) as usize)?;
        let source = Array::from_values((rows * cols) as usize, small(3))?;
        let indices = Array::from_values((idx_rows * idx_cols) as usize, uniform(4, slots).map(|x| x as i32))?;
        let memory = BTreeMap::from([
            ("table".to_owned(), cast_slice(&table[..]).to_vec()),
            ("source".to_owned(), cast_slice(&source[..]).to_vec()),
            ("indices".to_owned(), cast_slice(&indices[..]).to_vec()),
        ]);
        let width = if mode == Coalesce::Row { cols as usize } else { 1 };
        Ok(Self { module: build.finish(), sanitize, width, table, source, indices, memory })
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
        for _ in 0..ROUNDS {
            if self.width == 1 {
                for (value, &index) in self.source.iter().zip(self.indices.iter()) {
                    self.table[index as usize] = *value;
                }
                continue;
            }
            for (values, &index) in self.source.chunks_exact(self.width).zip(self.indices.iter()) {
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
