//! Running element-indexed instructions.

use pto_isa::{Atomic, ElementType};

use super::walk::Walk;
use crate::engine::{Engine, OnFault, Outside};
use crate::kernel::address::AddressMap;
use crate::kernel::bounds::Resolver;
use crate::kernel::elements::{Lookup, Run};
use crate::kernel::lanes::LaneReader;

/// Everything that decides where the elements of a walk go.
#[derive(Clone, Debug)]
pub(super) struct Elements {
    pub(super) walk: Walk,
    pub(super) map: AddressMap,
}

impl Elements {
    fn lookup<'a>(&'a self, (reader, resolver): (LaneReader<'a>, Resolver)) -> Lookup<'a> {
        Lookup { reader, resolver, map: &self.map }
    }

    /// Looks at all lanes, if no policy says what to do with those out of range.
    pub(super) fn check(&self, engine: &Engine, lanes: (LaneReader<'_>, Resolver)) -> Result<(), Outside> {
        let lookup = self.lookup(lanes);
        self.walk.try_for_each_run(|run| engine.check_lanes(&lookup, run))
    }

    /// Goes through the runs of the walk; returns how many lanes were out of range.
    fn each_run(
        &self,
        engine: &Engine,
        lanes: (LaneReader<'_>, Resolver),
        mut work: impl FnMut(Lookup<'_>, Run) -> Result<usize, Outside>,
    ) -> Result<usize, Outside> {
        let lookup = self.lookup(lanes);
        // A single run is checked where it is carried out; of several, none may be before all are checked.
        if let Some(run) = self.walk.single() {
            return work(lookup, run);
        }
        self.check(engine, lanes)?;
        let mut outside = 0;
        self.walk.try_for_each_run(|run| {
            outside += work(lookup, run)?;
            Ok(())
        })?;
        Ok(outside)
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
        self.each_run(engine, lanes, |lookup, run| engine.scatter_run(kind, lookup, run, table, tile))
    }

    /// Gathers into the payload; returns how many lanes were out of range.
    pub(super) fn gather(
        &self,
        engine: &Engine,
        element: ElementType,
        lanes: (LaneReader<'_>, Resolver),
        tile: &mut [u8],
        table: &[u8],
    ) -> Result<usize, Outside> {
        self.each_run(engine, lanes, |lookup, run| {
            engine.gather_run((element, OnFault::NothingWritten), lookup, run, tile, table)
        })
    }
}
