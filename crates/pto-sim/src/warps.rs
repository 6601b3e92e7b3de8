//! What each warp of a SIMT launch does: how many steps, how many lanes, from when to when.

use pto_exec::simt::{Grid, WARP_LANES};
use pto_ir::Place;
use pto_isa::Coalesce;

use crate::timing::Timing;

/// A launch on A5, by the operands that size it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Simt {
    pub(crate) grid: Grid,
    pub(crate) mode: Coalesce,
    /// Rows and columns of the payload; of a `Last` kernel one row of slots.
    pub(crate) rows: u64,
    pub(crate) cols: u64,
}

/// A launch that ran, for traces.
#[derive(Clone, Debug)]
pub struct SimtLaunch {
    pub(crate) simt: Simt,
    pub(crate) timing: &'static Timing,
    /// First cycle.
    pub(crate) start: u64,
    /// One past the last cycle.
    pub(crate) end: u64,
    /// The instruction.
    pub(crate) place: Place,
}

/// One warp of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Warp {
    /// Its number in the launch.
    pub number: u64,
    /// Groups of up to 32 lanes that it works through.
    pub steps: u64,
    /// Lanes that it works through: elements of the payload, or slots of the table in a `Last` kernel.
    pub lanes: u64,
    /// First cycle.
    pub start: u64,
    /// One past the last cycle.
    pub end: u64,
    /// The instruction.
    pub place: Place,
}

impl Simt {
    /// A kernel that owns the slots of its destination.
    pub(crate) fn by_destination(slots: u64) -> Self {
        Self { grid: Grid::by_destination(slots), mode: Coalesce::Elem, rows: 1, cols: slots }
    }

    /// A kernel that owns the elements of its payload.
    pub(crate) fn by_source(mode: Coalesce, rows: u64, cols: u64) -> Self {
        Self { grid: Grid::by_source(mode, rows, cols), mode, rows, cols }
    }

    /// Steps and lanes of a warp.
    fn share(&self, warp: u64) -> (u64, u64) {
        let dealt = |cards: u64, players: u64, player: u64| cards / players + u64::from(player < cards % players);
        // Every lane of a step but those that the last one lacks.
        let lanes = |steps: u64, elements: u64, last: bool| {
            let lacking = elements.div_ceil(WARP_LANES) * WARP_LANES - elements;
            steps * WARP_LANES - if last { lacking } else { 0 }
        };
        match self.mode {
            Coalesce::Elem => {
                let elements = self.rows.saturating_mul(self.cols);
                let all = elements.div_ceil(WARP_LANES);
                let steps = dealt(all, self.grid.warps, warp);
                (steps, lanes(steps, elements, all > 0 && (all - 1) % self.grid.warps == warp))
            }
            Coalesce::Row => {
                let together = self.grid.warps_per_row;
                let rows = dealt(self.rows, self.grid.warps / together, warp / together);
                let all = self.cols.div_ceil(WARP_LANES);
                let chunks = dealt(all, together, warp % together);
                let last = all > 0 && (all - 1) % together == warp % together;
                (rows * chunks, rows * lanes(chunks, self.cols, last))
            }
        }
    }
}

impl SimtLaunch {
    /// Its warps: started one after the other, each at work in proportion to its steps.
    pub fn warps(&self) -> Vec<Warp> {
        let Self { simt, timing, start, end, place } = *self;
        let all = simt.grid.warps;
        let launched = |number: u64| (start + timing.simt_launch + (number + 1) * timing.warp_launch).min(end);
        let shares: Vec<(u64, u64)> = (0..all).map(|number| simt.share(number)).collect();
        let most = shares.iter().map(|share| share.0).max().unwrap_or(0).max(1);
        let body = u128::from(end - launched(all.saturating_sub(1)));
        let warp = |(number, (steps, lanes)): (u64, (u64, u64))| {
            let start = launched(number);
            let busy = (body * u128::from(steps) / u128::from(most)) as u64;
            Warp { number, steps, lanes, start, end: (launched(all - 1) + busy).max(start), place }
        };
        (0..all).zip(shares).map(warp).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pto_exec::simt::lane_order;
    use pto_isa::Target;

    #[test]
    fn all_lanes_are_dealt_out_once() {
        let timing = Timing::of(Target::A5).unwrap();
        for mode in [Coalesce::Row, Coalesce::Elem] {
            for (rows, cols) in [(1, 2), (1, 33), (3, 40), (8, 64), (33, 96), (64, 256), (128, 64), (2, 1000)] {
                let simt = Simt::by_source(mode, rows, cols);
                let warps = SimtLaunch { simt, timing, start: 1000, end: 2000, place: Place::default() }.warps();
                let lanes: u64 = warps.iter().map(|warp| warp.lanes).sum();
                assert_eq!(lanes, lane_order(mode, rows, cols, 0).len() as u64, "{mode:?} {rows}x{cols}");
                assert!(warps.iter().all(|warp| warp.lanes > 0 && warp.lanes <= warp.steps * 32), "no warp is idle");
                assert!(warps.iter().all(|warp| 1000 < warp.start && warp.start <= warp.end && warp.end <= 2000));
                assert_eq!(warps.iter().map(|warp| warp.end).max(), Some(2000));
            }
        }
        let simt = Simt::by_destination(65536);
        let last = SimtLaunch { simt, timing, start: 0, end: 5000, place: Place::default() }.warps();
        assert_eq!((last.len(), last.iter().map(|warp| warp.lanes).sum::<u64>()), (32, 65536));
    }
}
