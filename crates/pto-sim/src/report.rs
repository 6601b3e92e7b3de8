//! What a run has to say.

use pto_ir::{Diagnostic, Pipe, Place};
use pto_isa::{Coalesce, Severity, Target};

use crate::device::{Held, Span};
use crate::warps::SimtLaunch;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// To the end, without an error.
    Ok,
    /// An error while running.
    Fault,
    /// Stopped from outside: what is reported is of the part that ran.
    Interrupted,
}

/// What happened to the lanes of all gathers and scatters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// Written, remapped and zeroed ones included.
    pub written: u64,
    /// Dropped.
    pub skipped: u64,
    /// Sent to the last slot.
    pub clamped: u64,
    /// Taken modulo the capacity.
    pub wrapped: u64,
    /// Filled with zero.
    pub zeroed: u64,
    /// Lanes that met a slot which an earlier lane of the same instruction had written.
    pub collisions: u64,
}

/// A slot whose value depends on the schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Nondeterministic {
    /// The buffer.
    pub buffer: String,
    /// Element of the buffer.
    pub index: u64,
    /// Values that it may hold, smallest first.
    pub candidates: Vec<f64>,
    /// True if there are no others; sums of many values are only sampled.
    pub complete: bool,
}

/// One gather or scatter, as a picture of it needs it.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// `mgather`, `mscatter` or `tscatter`.
    pub name: &'static str,
    /// Where it stands.
    pub place: Place,
    /// Row or element mode; `None` for tile instructions.
    pub mode: Option<Coalesce>,
    /// Name of the table or destination, and its rows and columns.
    pub table: (String, u64, u64),
    /// Rows and columns of the payload's valid region.
    pub payload: (u64, u64),
    /// The index lanes as numbers, row-major: one per row or per element.
    pub indices: Vec<i64>,
    /// The logical slot that each lane went to or came from; `None` if it was dropped or zeroed. Outside the table
    /// if that is why the instruction was refused.
    pub slots: Vec<Option<u64>>,
}

/// A tile's stay in UB: its bytes, and from the first to the last cycle in which it was touched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residence {
    /// The tile's name.
    pub tile: String,
    /// First byte.
    pub start: u64,
    /// One past the last byte.
    pub end: u64,
    /// First cycle.
    pub from: u64,
    /// One past the last cycle.
    pub to: u64,
}

/// The report of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub status: Status,
    /// The target it ran on.
    pub target: Target,
    /// The function that ran.
    pub entry: String,
    /// Findings, in the order in which the program met them; each once.
    pub diagnostics: Vec<Diagnostic>,
    /// Cycles from the first issue to the last end; 0 on `cpu` and `host`.
    pub cycles: u64,
    /// Cycles that each pipe was busy.
    pub busy: Vec<(Pipe, u64)>,
    /// Instructions executed, scalar arithmetic not counted.
    pub instructions: u64,
    /// One past the last UB byte of any tile that was placed.
    pub ub_peak: u64,
    /// Bytes of UB that tiles may take.
    pub ub_limit: Option<u64>,
    /// What happened to the lanes.
    pub lanes: Lanes,
    /// With exploration: slots whose value depends on the schedule.
    pub nondeterministic: Vec<Nondeterministic>,
    /// What ran when; the first ones of a long run.
    pub spans: Vec<Span>,
    /// Runs that `spans` has no room for.
    pub spans_dropped: u64,
    /// The first SIMT launches.
    pub launches: Vec<SimtLaunch>,
    /// The first flags that were waited for.
    pub flags: Vec<Held>,
    /// The first gathers and scatters, for pictures.
    pub operations: Vec<Operation>,
    /// Which tiles stayed where in UB, and when.
    pub residences: Vec<Residence>,
    /// The arrays bound to parameters, as the run left them.
    pub buffers: Vec<(String, Vec<u8>)>,
}

impl Report {
    /// True if any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }
}
