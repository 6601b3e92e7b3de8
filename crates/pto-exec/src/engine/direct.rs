//! Elementwise scatters on one thread, in source order, and how one that meets a lane out of range leaves no trace.

use super::cost::{NEAR_BYTES, look_pays_help, pays_saving};
use super::elements::{LOOKED_PIECE, Scatter, UNDO_LANES};
use super::hot::HotStart;
use crate::kernel::bounds::Bounds;
use crate::kernel::cache::Caches;
use crate::kernel::elements::{Moved, Outside};
use crate::kernel::kind::Table;
use crate::kernel::simd::{Backend, StreamCopy, Streams};
use crate::kernel::transfer::{BlockAsking, look_timed};

impl Scatter<'_> {
    /// On this thread, in source order.
    pub(super) fn direct(&self, table: &mut [u8]) -> Result<usize, Outside> {
        if !self.saves(table) {
            return self.direct_looked_at(table);
        }
        // Memory that is kept: mapping it anew each time would cost as much as looking at all lanes first.
        self.engine.scratch.with(table.len(), |memory| match memory {
            Some(memory) => self.direct_saving(table, memory),
            None => self.direct_looked_at(table),
        })
    }

    /// As [`direct`](Self::direct), looking at all lanes first.
    fn direct_looked_at(&self, table: &mut [u8]) -> Result<usize, Outside> {
        let Self { engine, kernel, lookup, run, tile } = *self;
        let dense = run.payload.step == 1 && run.length > UNDO_LANES;
        let values = dense.then(|| self.values(run));
        let start = HotStart::combine(engine.backend, kernel, (&lookup, run), table, values);
        let run = run.part(start.lanes, run.length);
        let rest = Scatter { run, ..*self };
        if let Some(looked) = rest.shared_look() {
            let looked = looked?;
            start.put(table);
            looked.into_iter().for_each(|moved| kernel.scatter(engine.backend, table, moved, tile));
            return Ok(0);
        }
        let look = || lookup.check_whole(engine.backend, run);
        if let (Some(offsets), is_at_hand) = look_timed(Caches::get(), rest.index_bytes(), look) {
            let offsets = offsets?;
            start.put(table);
            kernel.scatter(engine.backend, table, Moved { is_at_hand, ..Moved::whole(run, offsets) }, tile);
            return Ok(0);
        }
        engine.check_lanes(&lookup, run)?;
        start.put(table);
        let mut asking = BlockAsking::new(run.length, table, kernel.size());
        let scatter = &mut |moved: Moved<'_>| {
            asking.ask(table, moved.offsets);
            kernel.scatter(engine.backend, table, moved, tile);
        };
        Ok(lookup.for_each_block(engine.backend, run, scatter))
    }

    /// All threads look at the lanes, if these are their own offsets and more than the second-level cache holds: whoever carries
    /// them out alone need not read them twice.
    fn shared_look(&self) -> Option<Result<Vec<Moved<'_>>, Outside>> {
        let Self { engine, ref lookup, run, .. } = *self;
        if self.index_bytes() <= Caches::get().l2 || !engine.is_helped(|| look_pays_help(run.length)) {
            return None;
        }
        let looked = engine.each(engine.pieces(run.length, LOOKED_PIECE), |(from, to)| {
            let part = run.part(from, to);
            let offsets = lookup.check_whole(engine.backend, part)?;
            Some(offsets.map(|offsets| Moved::whole(part, offsets)))
        });
        looked.into_iter().collect::<Option<Vec<_>>>().map(|looked| looked.into_iter().collect())
    }

    /// True if saving the table costs less than looking at all lanes beforehand.
    pub(super) fn saves(&self, table: &[u8]) -> bool {
        self.lookup.resolver.bounds == Bounds::Checked
            && self.run.length > UNDO_LANES
            && pays_saving(Caches::get(), table.len(), self.index_bytes())
            && table.len() <= self.engine.memory_cap
    }

    fn index_bytes(&self) -> usize {
        self.run.length * self.lookup.reader.element.size() as usize
    }

    /// As [`direct`](Self::direct), looking at lanes just before they are carried out, in `memory` as long as the table.
    fn direct_saving(&self, table: &mut [u8], memory: &mut [u8]) -> Result<usize, Outside> {
        save(self.engine.backend, memory, table);
        if self.looking(self.run, table, Table::Given).is_some() {
            return Ok(0);
        }
        table.copy_from_slice(memory);
        Err(Outside)
    }
}

/// Keeps a table for an undo.
pub(super) fn save(backend: Backend, memory: &mut [u8], table: &[u8]) {
    if table.len() <= NEAR_BYTES {
        memory.copy_from_slice(table);
    } else {
        // Past the caches, where the table is wanted.
        backend.run(StreamCopy { streams: &Streams::new(), to: memory, from: table });
    }
}
