//! How long things take: one table of cycles per target, and how instructions are counted with it.
//!
//! This is a model. 001 gives its structure (one DMA per row, scalar access per element, 128-byte coalescing, the cost
//! of `Last`); most numbers are assumed, and `docs/timing.md` says which.

use pto_isa::{Atomic, Coalesce, OutOfBounds, Target};

/// The parameters of a target, in cycles and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Cycles to issue an instruction from the scalar unit.
    pub issue: u64,
    /// Cycles before the first byte of a DMA.
    pub dma_startup: u64,
    /// Cycles for each further burst of one DMA.
    pub dma_burst: u64,
    /// Bytes that a DMA moves per cycle.
    pub dma_bytes: u64,
    /// Cycles before the first element of a vector instruction.
    pub vector_startup: u64,
    /// Bytes that the vector unit handles per cycle.
    pub vector_bytes: u64,
    /// Lanes that the vector unit scatters or gathers within UB per cycle.
    pub vector_lanes: u64,
    /// Cycles for a scalar read of UB.
    pub scalar_ub: u64,
    /// Cycles for a scalar read of global memory.
    pub scalar_gm_read: u64,
    /// Cycles for a scalar write to global memory.
    pub scalar_gm_write: u64,
    /// Cycles for a flag between two pipes.
    pub handshake: u64,
    /// Cycles to switch atomic mode on, and again to switch it off.
    pub atomic_mode: u64,
    /// Cycles to start a SIMT kernel.
    pub simt_launch: u64,
    /// Cycles to start one warp.
    pub warp_launch: u64,
    /// Cycles for a warp to issue one instruction for its 32 lanes.
    pub warp_issue: u64,
    /// Bytes of one coalesced burst.
    pub coalesced_bytes: u64,
    /// Cycles for one burst of a warp to global memory.
    pub warp_burst: u64,
    /// Cycles for each further update of a slot that several lanes update atomically.
    pub atomic_serial: u64,
    /// Cycles for a lane of a `Last` kernel to look at one index.
    pub scan: u64,
}

/// What a target's memories and units cost.
const A2A3: Timing = Timing {
    issue: 2,
    dma_startup: 60,
    dma_burst: 4,
    dma_bytes: 128,
    vector_startup: 16,
    vector_bytes: 256,
    vector_lanes: 8,
    scalar_ub: 4,
    scalar_gm_read: 120,
    scalar_gm_write: 20,
    handshake: 8,
    atomic_mode: 2,
    simt_launch: 0,
    warp_launch: 0,
    warp_issue: 0,
    coalesced_bytes: 0,
    warp_burst: 0,
    atomic_serial: 0,
    scan: 0,
};

const A5: Timing = Timing {
    issue: 2,
    dma_startup: 50,
    dma_burst: 3,
    dma_bytes: 256,
    vector_startup: 12,
    vector_bytes: 256,
    vector_lanes: 16,
    scalar_ub: 4,
    scalar_gm_read: 100,
    scalar_gm_write: 16,
    handshake: 8,
    atomic_mode: 0,
    simt_launch: 120,
    warp_launch: 2,
    warp_issue: 1,
    coalesced_bytes: 128,
    warp_burst: 4,
    atomic_serial: 8,
    scan: 1,
};

impl Timing {
    /// The parameters of a target; `None` for `cpu` and `host`, which have no device time.
    pub const fn of(target: Target) -> Option<&'static Self> {
        match target {
            Target::A2A3 => Some(&A2A3),
            Target::A5 => Some(&A5),
            Target::Cpu | Target::Host => None,
        }
    }

    /// One DMA of `bursts` pieces and `bytes` in all.
    pub const fn dma(&self, bursts: u64, bytes: u64) -> u64 {
        let further = if bursts > 0 { bursts - 1 } else { 0 };
        self.dma_startup + further * self.dma_burst + bytes.div_ceil(self.dma_bytes)
    }

    /// A vector instruction over `bytes`.
    pub const fn vector(&self, bytes: u64) -> u64 {
        self.vector_startup + bytes.div_ceil(self.vector_bytes)
    }

    /// A scatter of `lanes` within UB, after a clear of `cleared` bytes.
    pub const fn vector_scatter(&self, lanes: u64, cleared: u64) -> u64 {
        self.vector(cleared) + lanes.div_ceil(self.vector_lanes)
    }

    /// What the out-of-bounds policy adds per index: nothing, a branch, or an arithmetic remap.
    pub const fn bounds(&self, oob: OutOfBounds) -> u64 {
        match oob {
            OutOfBounds::Undefined => 0,
            OutOfBounds::Skip | OutOfBounds::Zero => 1,
            OutOfBounds::Clamp | OutOfBounds::Wrap => 2,
        }
    }
}

/// What a memory instruction has to move, counted from its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) mode: Coalesce,
    pub(crate) oob: OutOfBounds,
    pub(crate) atomic: Atomic,
    /// A `Last` kernel, sized by its destination.
    pub(crate) last: bool,
    pub(crate) rows: u64,
    pub(crate) cols: u64,
    pub(crate) size: u64,
    /// Lanes that access the table: rows or elements, after the policy.
    pub(crate) lanes: u64,
    /// DMAs per row and bursts per DMA (NZ: one DMA per batch, one burst per block column).
    pub(crate) dmas: u64,
    pub(crate) bursts: u64,
    /// Slots of the destination.
    pub(crate) slots: u64,
    /// Bursts of up to 128 bytes that warps need in Elem mode.
    pub(crate) coalesced: u64,
    /// The most lanes that update one slot.
    pub(crate) multiplicity: u64,
}

/// Cycles on the scalar unit and on the DMA or vector pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) scalar: u64,
    pub(crate) mover: u64,
}

/// A2/A3, Row: the scalar unit reads an index and issues one DMA per row (or batch of an NZ row).
///
/// Without atomics it waits for each DMA; with them the DMAs follow each other.
pub(crate) fn a2a3_row(timing: &Timing, work: &Work) -> Cost {
    let index = timing.scalar_ub + timing.bounds(work.oob);
    let dma = timing.dma(work.bursts, work.cols * work.size / work.dmas.max(1));
    let mover = work.lanes * work.dmas * dma;
    let issue = work.rows * index + work.lanes * work.dmas * timing.issue;
    let scalar = match work.atomic {
        Atomic::None => issue + work.lanes * timing.handshake,
        _ => issue + 2 * timing.atomic_mode,
    };
    Cost { scalar, mover }
}

/// A2/A3, Elem: a scalar read of UB and a scalar access to global memory per element.
pub(crate) fn a2a3_elem(timing: &Timing, work: &Work, gather: bool) -> Cost {
    let lanes = work.rows * work.cols;
    let index = timing.scalar_ub + timing.bounds(work.oob);
    let access = match (gather, work.atomic) {
        (true, _) => timing.scalar_gm_read + timing.scalar_ub,
        (false, Atomic::None) => timing.scalar_ub + timing.scalar_gm_write,
        (false, _) => timing.scalar_ub + timing.scalar_gm_read + timing.scalar_gm_write,
    };
    Cost { scalar: lanes * index + work.lanes * access, mover: 0 }
}

/// A5: warps that issue side by side and share the path to memory.
pub(crate) fn a5_simt(timing: &Timing, work: &Work, warps: u64) -> u64 {
    let launch = timing.simt_launch + warps * timing.warp_launch;
    let elements = work.rows * work.cols;
    let per_row = (work.cols * work.size).div_ceil(timing.coalesced_bytes.max(1));
    let bursts = match work.mode {
        Coalesce::Row => work.lanes * per_row,
        Coalesce::Elem => work.coalesced,
    };
    let lookups = match work.mode {
        Coalesce::Row => work.rows,
        Coalesce::Elem => elements.div_ceil(32),
    };
    let steps = match work.mode {
        Coalesce::Row => work.rows * work.cols.div_ceil(32),
        Coalesce::Elem => elements.div_ceil(32),
    };
    let issue = (steps * timing.warp_issue + lookups * timing.bounds(work.oob)).div_ceil(warps.max(1));
    let memory = bursts * timing.warp_burst;
    let serial =
        if work.atomic == Atomic::None { 0 } else { work.multiplicity.saturating_sub(1) * timing.atomic_serial };
    let scan = if work.last {
        // Each lane owns a slot and scans the index tile backwards; a warp is as slow as its slowest lane.
        let rounds = work.slots.div_ceil(32 * warps.max(1));
        let indices = if work.mode == Coalesce::Row { work.rows } else { elements };
        rounds * indices * (timing.scan + timing.bounds(work.oob))
    } else {
        0
    };
    launch + issue + memory + serial + scan
}
