//! What an operation does on which pipes, to which bytes.

use pto_isa::{Coalesce, Direction, Target};

use crate::check::lanes;
use crate::facts::{Facts, Root};
use crate::{Executed, Footprint, OpKind, Pipe, Touch, ValueId, footprint};

/// Bytes of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    /// The unified buffer.
    Ub,
    /// The buffer behind a parameter.
    Memory(ValueId),
    /// Some buffer, it is not known which.
    AnyMemory,
    /// What the vector unit has stored to global memory through the data cache.
    Cache,
}

/// An access to a range of bytes or elements; ranges are comparable within one space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) space: Space,
    pub(super) range: (u64, u64),
    pub(super) write: bool,
}

const EVERYTHING: (u64, u64) = (0, u64::MAX);

/// A run on one pipe.
#[derive(Clone, Debug)]
pub(super) struct Phase {
    pub(super) pipe: Pipe,
    /// Pipes whose earlier work the instruction itself waits for before this phase.
    pub(super) after: Vec<Pipe>,
    pub(super) accesses: Vec<Access>,
}

/// What an operation does; each phase is ordered after the one before.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    pub(super) phases: Vec<Phase>,
    /// Pipes whose later work starts after the last phase.
    pub(super) releases: Vec<Pipe>,
    /// Events that the instruction uses inside: pair of pipes and how many, from 0 on.
    pub(super) events: Vec<((Pipe, Pipe), u8)>,
}

/// The work of an operation, with everything that is known at it.
pub(super) fn work(op: &OpKind, facts: &Facts<'_>, target: Target) -> Work {
    match op {
        OpKind::Load { src, dst } => plain(Executed::Load, target, facts, Operands { src, dst, ..NONE }),
        OpKind::Store { src, dst } => plain(Executed::Store, target, facts, Operands { src, dst, ..NONE }),
        OpKind::Move { src, dst } => plain(Executed::Move, target, facts, Operands { src, dst, ..NONE }),
        OpKind::TScatter { dst, src, idx } => {
            plain(Executed::TScatter, target, facts, Operands { src, dst, idx, ..NONE })
        }
        OpKind::TScatterMask { dst, src, .. } => {
            plain(Executed::TScatter, target, facts, Operands { src, dst, ..NONE })
        }
        OpKind::LoadScalar { pointer: src, .. } | OpKind::GetValue { tile: src, .. } => {
            plain(Executed::ScalarRead, target, facts, Operands { src, ..NONE })
        }
        OpKind::StoreScalar { pointer: dst, .. } | OpKind::SetValue { tile: dst, .. } => {
            plain(Executed::ScalarWrite, target, facts, Operands { dst, ..NONE })
        }
        OpKind::MGather { dst, table, idx, .. } => memory(op, facts, target, Operands { dst, table, idx, ..NONE }),
        OpKind::MScatter { table, src, idx, .. } => memory(op, facts, target, Operands { src, table, idx, ..NONE }),
        OpKind::Collective(call) => collective(call, facts),
        OpKind::FlushCache => {
            let access = Access { space: Space::Cache, range: EVERYTHING, write: false };
            let phase = Phase { pipe: Pipe::S, after: Vec::new(), accesses: vec![access] };
            Work { phases: vec![phase], ..Work::default() }
        }
        _ => Work::default(),
    }
}

#[derive(Clone, Copy)]
struct Operands<'a> {
    src: &'a ValueId,
    dst: &'a ValueId,
    idx: &'a ValueId,
    table: &'a ValueId,
}

/// Stands for an operand that the instruction does not have: no value has this number.
const ABSENT: ValueId = ValueId(u32::MAX);
const NONE: Operands<'static> = Operands { src: &ABSENT, dst: &ABSENT, idx: &ABSENT, table: &ABSENT };

impl Operands<'_> {
    fn access(&self, touch: Touch, facts: &Facts<'_>, accesses: &mut Vec<Access>) {
        let (value, write) = match touch {
            Touch::ReadSrc => (self.src, false),
            Touch::ReadIdx => (self.idx, false),
            Touch::ReadTable => (self.table, false),
            Touch::WriteDst => (self.dst, true),
            Touch::WriteTable => (self.table, true),
        };
        if *value != ABSENT {
            touched(*value, write, facts, accesses);
        }
    }
}

/// The bytes of a tile, or the elements of a view or of the members of a group.
fn touched(value: ValueId, write: bool, facts: &Facts<'_>, accesses: &mut Vec<Access>) {
    if let Some(tile) = facts.tile(value) {
        let range = tile.range().unwrap_or(EVERYTHING);
        return accesses.push(Access { space: Space::Ub, range, write });
    }
    for root in facts.roots(value) {
        let access = match root {
            Root::Memory(memory) => {
                let range = facts.view(value).filter(|view| view.root == root).and_then(|view| view.elements());
                let range = range.unwrap_or(EVERYTHING);
                Access { space: Space::Memory(memory), range, write }
            }
            Root::Unknown => Access { space: Space::AnyMemory, range: EVERYTHING, write },
        };
        accesses.push(access);
    }
}

fn plain(executed: Executed, target: Target, facts: &Facts<'_>, operands: Operands<'_>) -> Work {
    from_footprint(&footprint(executed, target), facts, operands)
}

fn from_footprint(footprint: &Footprint, facts: &Facts<'_>, operands: Operands<'_>) -> Work {
    let phase = |(number, phase): (usize, &crate::Phase)| {
        let mut accesses = Vec::new();
        phase.touches.iter().for_each(|touch| operands.access(*touch, facts, &mut accesses));
        // The instruction's own waits order its second phase: the first is ordered by the caller's flags alone.
        let after = if number == 1 { footprint.waits_for.to_vec() } else { Vec::new() };
        Phase { pipe: phase.pipe, after, accesses }
    };
    Work {
        phases: footprint.phases.iter().enumerate().map(phase).collect(),
        releases: footprint.releases.to_vec(),
        events: footprint.handshakes.iter().map(|pair| (*pair, 1)).collect(),
    }
}

/// MGATHER and MSCATTER; where the index shape decides the mode and only the run knows it, what holds for both.
fn memory(op: &OpKind, facts: &Facts<'_>, target: Target, operands: Operands<'_>) -> Work {
    let Some(instruction) = facts.instruction(op) else { return Work::default() };
    let atomic = instruction.policy().map(|policy| policy.atomic_or_default()).unwrap_or_default();
    let lanes = lanes(&instruction);
    let in_mode = |mode: Coalesce| {
        let executed = match op {
            OpKind::MGather { .. } => Executed::MGather(mode, lanes),
            _ => Executed::MScatter(mode, atomic, lanes),
        };
        plain(executed, target, facts, operands)
    };
    match instruction.coalesce(target) {
        Some(mode) => in_mode(mode),
        None => either(in_mode(Coalesce::Row), in_mode(Coalesce::Elem)),
    }
}

/// Everything that either does, ordered only by what both do. The second's pipes are among the first's.
fn either(mut first: Work, second: Work) -> Work {
    for phase in second.phases {
        if let Some(same) = first.phases.iter_mut().find(|same| same.pipe == phase.pipe) {
            same.accesses.extend(phase.accesses);
            same.after.retain(|pipe| phase.after.contains(pipe));
        } else {
            first.phases.push(phase);
        }
    }
    first.releases.retain(|pipe| second.releases.contains(pipe));
    first.events.extend(second.events);
    first
}

/// A collective loads chunks and stores them, with its own flags between the two; ping-pong needs two events a pair.
fn collective(call: &crate::Collective, facts: &Facts<'_>) -> Work {
    let mut load = Vec::new();
    let mut store = Vec::new();
    let group = |accesses: &mut Vec<Access>, write: bool| {
        call.group.iter().for_each(|member| touched(*member, write, facts, accesses));
    };
    match call.direction {
        Direction::Scatter => {
            touched(call.local, false, facts, &mut load);
            group(&mut store, true);
        }
        Direction::Gather => {
            group(&mut load, false);
            touched(call.local, true, facts, &mut store);
        }
    }
    for tile in &call.staging {
        touched(*tile, true, facts, &mut load);
        touched(*tile, false, facts, &mut store);
    }
    let phase = |pipe, accesses| Phase { pipe, after: Vec::new(), accesses };
    Work {
        phases: vec![phase(Pipe::Mte2, load), phase(Pipe::Mte3, store)],
        releases: Vec::new(),
        events: vec![((Pipe::Mte2, Pipe::Mte3), 2), ((Pipe::Mte3, Pipe::Mte2), 2)],
    }
}
