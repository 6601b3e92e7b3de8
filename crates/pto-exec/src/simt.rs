//! A5's SIMT launches: how many warps 001 starts for a kernel, which lanes they own, and an order they may run in.

use pto_isa::Coalesce;

/// Lanes of a warp.
pub const WARP_LANES: u64 = 32;
/// The most warps that one launch starts.
pub const MAX_WARPS: u64 = 32;

/// The grid of a launch that is sized by the source (001, "Shape-adaptive launch").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Warps started.
    pub warps: u64,
    /// Warps that cooperate on the columns of one row; 1 in Elem mode.
    pub warps_per_row: u64,
}

impl Grid {
    /// The grid for a payload of `rows` x `cols`, `Conflict::Default` or atomic.
    ///
    /// ```
    /// use pto_exec::simt::Grid;
    /// use pto_isa::Coalesce;
    /// // Eight rows of 64 columns: two warps share each row.
    /// assert_eq!(Grid::by_source(Coalesce::Row, 8, 64), Grid { warps: 16, warps_per_row: 2 });
    /// assert_eq!(Grid::by_source(Coalesce::Elem, 8, 64), Grid { warps: 16, warps_per_row: 1 });
    /// ```
    pub fn by_source(mode: Coalesce, rows: u64, cols: u64) -> Self {
        match mode {
            Coalesce::Row => {
                let row_warps = rows.clamp(1, MAX_WARPS);
                let warps_per_row = (MAX_WARPS / row_warps).min(cols.div_ceil(WARP_LANES)).max(1);
                Self { warps: row_warps * warps_per_row, warps_per_row }
            }
            Coalesce::Elem => {
                let warps = rows.saturating_mul(cols).div_ceil(WARP_LANES).clamp(1, MAX_WARPS);
                Self { warps, warps_per_row: 1 }
            }
        }
    }

    /// The grid of a `Conflict::Last` kernel: one lane per destination slot (rows or elements).
    ///
    /// ```
    /// use pto_exec::simt::Grid;
    /// assert_eq!(Grid::by_destination(65536).warps, 32);
    /// assert_eq!(Grid::by_destination(40).warps, 2);
    /// ```
    pub fn by_destination(slots: u64) -> Self {
        Self { warps: slots.div_ceil(WARP_LANES).clamp(1, MAX_WARPS), warps_per_row: 1 }
    }
}

/// A possible order of the payload elements (row, column) of a kernel that is sized by its source.
///
/// Each warp runs its own steps in order; which warp runs next, and in which order the lanes of one step reach memory,
/// is drawn from the seed.
pub fn lane_order(mode: Coalesce, rows: u64, cols: u64, seed: u64) -> Vec<(u64, u64)> {
    let grid = Grid::by_source(mode, rows, cols);
    let mut steps: Vec<Vec<Vec<(u64, u64)>>> = vec![Vec::new(); grid.warps as usize];
    match mode {
        Coalesce::Row => {
            let row_warps = grid.warps / grid.warps_per_row;
            for row in 0..rows {
                for (chunk, start) in (0..cols).step_by(WARP_LANES as usize).enumerate() {
                    let part = chunk as u64 % grid.warps_per_row;
                    let warp = row % row_warps * grid.warps_per_row + part;
                    let lanes = (start..(start + WARP_LANES).min(cols)).map(|col| (row, col)).collect();
                    steps[warp as usize].push(lanes);
                }
            }
        }
        Coalesce::Elem => {
            let elements = rows * cols;
            for (step, start) in (0..elements).step_by(WARP_LANES as usize).enumerate() {
                let warp = step as u64 % grid.warps;
                let lanes = (start..(start + WARP_LANES).min(elements)).map(|e| (e / cols, e % cols)).collect();
                steps[warp as usize].push(lanes);
            }
        }
    }
    interleave(steps, seed)
}

fn interleave(mut steps: Vec<Vec<Vec<(u64, u64)>>>, seed: u64) -> Vec<(u64, u64)> {
    let mut random = SplitMix(seed);
    for warp in &mut steps {
        warp.reverse();
    }
    let mut order = Vec::new();
    loop {
        steps.retain(|warp| !warp.is_empty());
        if steps.is_empty() {
            return order;
        }
        let warp = random.below(steps.len());
        if let Some(mut lanes) = steps[warp].pop() {
            // Fisher-Yates.
            for i in (1..lanes.len()).rev() {
                lanes.swap(i, random.below(i + 1));
            }
            order.append(&mut lanes);
        }
    }
}

/// The SplitMix64 generator: enough to draw schedules, and the same everywhere.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        // The bounds are at most a few thousand, so the bias of the remainder does not matter.
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}
