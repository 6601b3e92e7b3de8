//! Which pipes an operation runs on, what it touches there, and which pipes it hands over to by itself.
//!
//! One table for lowering (which inserts the flags that are missing) and for the simulator (which finds the ones that
//! are): 001, "Pipe / Synchronisation Model". A phase is a run on one pipe; inside an instruction each phase is ordered
//! after the previous one by the instruction's own handshakes, all on `EVENT_ID0`.
//!
//! Decided here, because 001 is silent on it: MGATHER mirrors MSCATTER with MTE2 in the place of MTE3, and the tiles
//! that MSCATTER and MGATHER read on A2/A3 count as read from the vector pipe first, since 001 makes the caller's
//! `MTE2 -> V` pair part of the contract although the instruction's own `MTE2 -> S` would order the accesses too.

use pto_isa::{Atomic, Coalesce, Target};

use crate::Pipe;

/// What a phase touches, named by the instruction's operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Touch {
    /// Reads the source tile or view.
    ReadSrc,
    /// Reads the index tile.
    ReadIdx,
    /// Reads the table.
    ReadTable,
    /// Writes the destination tile or view.
    WriteDst,
    /// Writes the table.
    WriteTable,
}

/// A run on one pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Where it runs.
    pub pipe: Pipe,
    /// What it touches.
    pub touches: &'static [Touch],
}

/// The pipes of one instruction on one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// In order; each is ordered after the one before.
    pub phases: &'static [Phase],
    /// Pipes whose earlier work is done before the *second* phase, by a handshake of the instruction.
    ///
    /// The first phase is ordered by the caller's flags alone: on A2/A3 it is the read of the tiles from the vector
    /// pipe, for which 001 wants the caller's `MTE2 -> V` pair.
    pub waits_for: &'static [Pipe],
    /// Pipes whose later work starts after the last phase, by a handshake of the instruction.
    pub releases: &'static [Pipe],
    /// The pairs of pipes whose `EVENT_ID0` the instruction uses inside.
    pub handshakes: &'static [(Pipe, Pipe)],
}

/// The instructions with a footprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executed {
    /// `TLOAD`.
    Load,
    /// `TSTORE`.
    Store,
    /// `TMOV`.
    Move,
    /// Both forms of tile `TSCATTER`.
    TScatter,
    /// `MGATHER`.
    MGather(Coalesce, Lanes),
    /// `MSCATTER`.
    MScatter(Coalesce, Atomic, Lanes),
    /// A scalar access to global memory or a tile.
    ScalarRead,
    /// A scalar access to global memory or a tile.
    ScalarWrite,
}

/// How many lanes a memory instruction has: A5 runs a single element without SIMT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// One element.
    One,
    /// More than one, or not known.
    Many,
}

use Pipe::{Mte2, Mte3, S, V};
use Touch::{ReadIdx, ReadSrc, ReadTable, WriteDst, WriteTable};

const fn simple(phases: &'static [Phase]) -> Footprint {
    Footprint { phases, waits_for: &[], releases: &[], handshakes: &[] }
}

const LOAD: Footprint = simple(&[Phase { pipe: Mte2, touches: &[ReadSrc, WriteDst] }]);
const STORE: Footprint = simple(&[Phase { pipe: Mte3, touches: &[ReadSrc, WriteDst] }]);
const VECTOR_MOVE: Footprint = simple(&[Phase { pipe: V, touches: &[ReadSrc, WriteDst] }]);
const VECTOR_SCATTER: Footprint = simple(&[Phase { pipe: V, touches: &[ReadSrc, ReadIdx, WriteDst] }]);
const SCALAR_READ: Footprint = simple(&[Phase { pipe: S, touches: &[ReadSrc] }]);
const SCALAR_WRITE: Footprint = simple(&[Phase { pipe: S, touches: &[WriteDst] }]);

/// 001, A2/A3 Row: V->S, MTE2->S, S->MTE3; per row MTE3->S unless atomic; MTE3->V, MTE3->MTE2.
const A2A3_SCATTER_ROW: Footprint = Footprint {
    phases: &[
        Phase { pipe: V, touches: &[ReadSrc, ReadIdx] },
        Phase { pipe: S, touches: &[ReadIdx] },
        Phase { pipe: Mte3, touches: &[ReadSrc, WriteTable] },
    ],
    waits_for: &[V, Mte2],
    releases: &[V, Mte2, S],
    handshakes: &[(V, S), (Mte2, S), (S, Mte3), (Mte3, S), (Mte3, V), (Mte3, Mte2)],
};

/// As the plain one, with MTE3->S, S->V and S->MTE2 to leave atomic mode.
const A2A3_SCATTER_ROW_ADD: Footprint = Footprint {
    handshakes: &[(V, S), (Mte2, S), (S, Mte3), (Mte3, S), (S, V), (S, Mte2), (Mte3, V), (Mte3, Mte2)],
    ..A2A3_SCATTER_ROW
};

/// 001, A2/A3 Elem: V->S, MTE3->S, MTE2->S; S->V, S->MTE2, S->MTE3.
const A2A3_SCATTER_ELEM: Footprint = Footprint {
    phases: &[
        Phase { pipe: V, touches: &[ReadSrc, ReadIdx] },
        Phase { pipe: S, touches: &[ReadSrc, ReadIdx, WriteTable] },
    ],
    waits_for: &[V, Mte3, Mte2],
    releases: &[V, Mte2, Mte3],
    handshakes: &[(V, S), (Mte3, S), (Mte2, S), (S, V), (S, Mte2), (S, Mte3)],
};

const A2A3_SCATTER_ELEM_ADD: Footprint = Footprint {
    phases: &[
        Phase { pipe: V, touches: &[ReadSrc, ReadIdx] },
        Phase { pipe: S, touches: &[ReadSrc, ReadIdx, ReadTable, WriteTable] },
    ],
    ..A2A3_SCATTER_ELEM
};

const A2A3_GATHER_ROW: Footprint = Footprint {
    phases: &[
        Phase { pipe: V, touches: &[ReadIdx] },
        Phase { pipe: S, touches: &[ReadIdx] },
        Phase { pipe: Mte2, touches: &[ReadTable, WriteDst] },
    ],
    waits_for: &[V, Mte2],
    releases: &[V, Mte3, S],
    handshakes: &[(V, S), (Mte2, S), (S, Mte2), (Mte2, V), (Mte2, Mte3)],
};

const A2A3_GATHER_ELEM: Footprint = Footprint {
    phases: &[Phase { pipe: V, touches: &[ReadIdx] }, Phase { pipe: S, touches: &[ReadIdx, ReadTable, WriteDst] }],
    waits_for: &[V, Mte3, Mte2],
    releases: &[V, Mte2, Mte3],
    handshakes: &[(V, S), (Mte3, S), (Mte2, S), (S, V), (S, Mte2), (S, Mte3)],
};

/// A5: one SIMT launch on the vector pipe.
const A5_SCATTER: Footprint = simple(&[Phase { pipe: V, touches: &[ReadSrc, ReadIdx, WriteTable] }]);
const A5_SCATTER_ATOMIC: Footprint = simple(&[Phase { pipe: V, touches: &[ReadSrc, ReadIdx, ReadTable, WriteTable] }]);
const A5_GATHER: Footprint = simple(&[Phase { pipe: V, touches: &[ReadIdx, ReadTable, WriteDst] }]);

/// A5, Elem (1, 1): the scalar fallback between V->S and S->V.
const A5_SCATTER_ONE: Footprint = Footprint {
    phases: &[
        Phase { pipe: V, touches: &[ReadSrc, ReadIdx] },
        Phase { pipe: S, touches: &[ReadSrc, ReadIdx, WriteTable] },
    ],
    waits_for: &[V],
    releases: &[V],
    handshakes: &[(V, S), (S, V)],
};

const A5_GATHER_ONE: Footprint = Footprint {
    phases: &[Phase { pipe: V, touches: &[ReadIdx] }, Phase { pipe: S, touches: &[ReadIdx, ReadTable, WriteDst] }],
    ..A5_SCATTER_ONE
};

/// The footprint of an instruction on a target.
///
/// `cpu` and `host` have no pipes: everything there runs in order on the scalar pipe, which the callers of this
/// function need not ask about.
///
/// ```
/// use pto_ir::{Executed, Pipe, footprint};
/// use pto_isa::Target;
/// assert_eq!(footprint(Executed::Load, Target::A5).phases[0].pipe, Pipe::Mte2);
/// ```
pub fn footprint(executed: Executed, target: Target) -> Footprint {
    let a5 = target == Target::A5;
    match executed {
        Executed::Load => LOAD,
        Executed::Store => STORE,
        Executed::Move => VECTOR_MOVE,
        Executed::TScatter => VECTOR_SCATTER,
        Executed::ScalarRead => SCALAR_READ,
        Executed::ScalarWrite => SCALAR_WRITE,
        Executed::MGather(Coalesce::Elem, Lanes::One) if a5 => A5_GATHER_ONE,
        Executed::MGather(..) if a5 => A5_GATHER,
        Executed::MGather(Coalesce::Row, _) => A2A3_GATHER_ROW,
        Executed::MGather(Coalesce::Elem, _) => A2A3_GATHER_ELEM,
        Executed::MScatter(Coalesce::Elem, _, Lanes::One) if a5 => A5_SCATTER_ONE,
        Executed::MScatter(_, Atomic::None, _) if a5 => A5_SCATTER,
        Executed::MScatter(..) if a5 => A5_SCATTER_ATOMIC,
        Executed::MScatter(Coalesce::Row, Atomic::None, _) => A2A3_SCATTER_ROW,
        Executed::MScatter(Coalesce::Row, ..) => A2A3_SCATTER_ROW_ADD,
        Executed::MScatter(Coalesce::Elem, Atomic::None, _) => A2A3_SCATTER_ELEM,
        Executed::MScatter(Coalesce::Elem, ..) => A2A3_SCATTER_ELEM_ADD,
    }
}
