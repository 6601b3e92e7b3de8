//! Running row-indexed instructions.

use pto_isa::{Atomic, ElementType};

use super::walk::Pair;
use crate::engine::{Engine, Outside};
use crate::kernel::address::AddressMap;
use crate::kernel::bounds::{Resolver, count_outside};
use crate::kernel::elements::{Lookup, Run};
use crate::kernel::lanes::LaneReader;
use crate::kernel::rows::Segment;

/// Everything that decides where the rows of the payload go.
#[derive(Clone, Debug)]
pub(super) struct Rows {
    /// Where payload rows start, and where their indices stand.
    pub(super) lanes: Vec<Pair>,
    /// The pieces of one row.
    pub(super) segments: Vec<Segment>,
    pub(super) map: AddressMap,
}

impl Rows {
    fn lookup<'a>(&'a self, (reader, resolver): (LaneReader<'a>, Resolver)) -> Lookup<'a> {
        Lookup { reader, resolver, map: &self.map }
    }

    /// Looks at all lanes, if no policy says what to do with those out of range.
    pub(super) fn check(&self, engine: &Engine, lanes: (LaneReader<'_>, Resolver)) -> Result<(), Outside> {
        let lookup = self.lookup(lanes);
        self.lanes.iter().try_for_each(|pair| engine.check_lanes(&lookup, pair.run()))
    }

    fn each_run(
        &self,
        engine: &Engine,
        lanes: (LaneReader<'_>, Resolver),
        mut work: impl FnMut(Lookup<'_>, Run) -> Result<usize, Outside>,
    ) -> Result<usize, Outside> {
        // A single run is looked at where it is moved.
        if self.lanes.len() != 1 || self.segments.is_empty() {
            self.check(engine, lanes)?;
        }
        let lookup = self.lookup(lanes);
        // Rows without columns touch nothing, and a table without columns has no place for them to start.
        if self.segments.is_empty() {
            return Ok(self.lanes.iter().map(|pair| outside(&lookup, pair.run())).sum());
        }
        self.lanes.iter().map(|pair| work(lookup, pair.run())).sum()
    }

    /// Scatters the payload; returns how many lanes were out of range.
    pub(super) fn scatter(
        &self,
        engine: &Engine,
        kind: (ElementType, Atomic),
        lanes: (LaneReader<'_>, Resolver),
        table: &mut [u8],
        tile: &[u8],
    ) -> Result<usize, Outside> {
        self.each_run(engine, lanes, |lookup, run| {
            engine.scatter_rows_run(kind, lookup, run, &self.segments, table, tile)
        })
    }

    /// Gathers into the payload, zero for dropped lanes; returns how many lanes were out of range.
    pub(super) fn gather(
        &self,
        engine: &Engine,
        element: ElementType,
        lanes: (LaneReader<'_>, Resolver),
        tile: &mut [u8],
        table: &[u8],
    ) -> Result<usize, Outside> {
        self.each_run(engine, lanes, |lookup, run| {
            engine.gather_rows_run(element, lookup, run, &self.segments, tile, table)
        })
    }
}

/// How many lanes of a run are out of range.
fn outside(lookup: &Lookup<'_>, run: Run) -> usize {
    let count = |lane: usize| {
        let mut word = [[0u8; 8]];
        lookup.reader.read(run.idx.after(lane), &mut word);
        count_outside(&word, lookup.resolver.capacity)
    };
    (0..run.length).map(count).sum()
}
