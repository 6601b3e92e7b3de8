//! Instructions with their operands, as they were when they were issued.

use pto_ir::check::rules as ir;
use pto_ir::{Executed, Footprint, OpKind, ValueId};
use pto_isa::{Atomic, Coalesce, Instruction, Rule, Target, rules as isa};

use crate::collective::CollectiveWork;
use crate::machine::Machine;
use crate::rules;
use crate::state::{TileState, Value, View, known};

/// An instruction that waits for its pipe, with its operands as they were when it was issued.
#[derive(Debug)]
pub(crate) struct Issued {
    pub(crate) step: u32,
    pub(crate) work: Work,
    pub(crate) footprint: Footprint,
    pub(crate) issued_at: u64,
}

/// What an instruction does, with its operands.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    Load { view: View, tile: TileState },
    Store { tile: TileState, view: View },
    Move { src: TileState, dst: TileState },
    Gather { instruction: Instruction, dst: TileState, idx: TileState, view: View },
    Scatter { instruction: Instruction, src: TileState, idx: TileState, view: View },
    Tile { instruction: Instruction, dst: TileState, src: TileState, idx: Option<TileState> },
    Collective(Box<CollectiveWork>),
}

/// A broken rule and what was expected and found.
pub(crate) type Refusal = (&'static Rule, String);

impl Work {
    /// Takes the operands of an operation as they are now.
    pub(crate) fn capture(machine: &Machine<'_>, op: &OpKind) -> Result<Self, Refusal> {
        let tile = |id: ValueId| machine.tile_operand(id);
        let view = |id: ValueId| machine.view_operand(id);
        Ok(match op {
            OpKind::Load { src, dst } => Self::Load { view: view(*src)?, tile: tile(*dst)? },
            OpKind::Store { src, dst } => Self::Store { tile: tile(*src)?, view: view(*dst)? },
            OpKind::Move { src, dst } => Self::Move { src: tile(*src)?, dst: tile(*dst)? },
            OpKind::MGather { dst, table, idx, policy } => {
                let (dst, idx, view) = (tile(*dst)?, tile(*idx)?, view(*table)?);
                let instruction =
                    Instruction::MGather { dst: dst.tile, table: view.tensor, idx: idx.tile, policy: *policy };
                Self::Gather { instruction, dst, idx, view }
            }
            OpKind::MScatter { table, src, idx, policy } => {
                let (src, idx, view) = (tile(*src)?, tile(*idx)?, view(*table)?);
                let instruction =
                    Instruction::MScatter { table: view.tensor, src: src.tile, idx: idx.tile, policy: *policy };
                Self::Scatter { instruction, src, idx, view }
            }
            OpKind::TScatter { dst, src, idx } => {
                let (dst, src, idx) = (tile(*dst)?, tile(*src)?, tile(*idx)?);
                let instruction = Instruction::TScatter { dst: dst.tile, src: src.tile, idx: idx.tile };
                Self::Tile { instruction, dst, src, idx: Some(idx) }
            }
            OpKind::TScatterMask { dst, src, pattern } => {
                let (dst, src) = (tile(*dst)?, tile(*src)?);
                let instruction = Instruction::TScatterMask { dst: dst.tile, src: src.tile, pattern: *pattern };
                Self::Tile { instruction, dst, src, idx: None }
            }
            OpKind::Collective(op) => Self::Collective(Box::new(machine.capture_collective(op)?)),
            _ => return Err((isa::POLICY_NAME, "not an instruction".into())),
        })
    }

    /// The tiles of the instruction.
    pub(crate) fn tiles(&self) -> impl Iterator<Item = &TileState> {
        let tiles = match self {
            Self::Load { tile, .. } | Self::Store { tile, .. } => [Some(tile), None, None],
            Self::Move { src, dst } => [Some(src), Some(dst), None],
            Self::Gather { dst, idx, .. } => [Some(dst), Some(idx), None],
            Self::Scatter { src, idx, .. } => [Some(src), Some(idx), None],
            Self::Tile { dst, src, idx, .. } => [Some(dst), Some(src), idx.as_ref()],
            Self::Collective(_) => [None; 3],
        };
        tiles.into_iter().flatten()
    }

    /// How many elements it moves, at the most.
    pub(crate) fn elements(&self) -> u64 {
        let valid = |state: &TileState| known(state.tile.valid_rows).saturating_mul(known(state.tile.valid_cols));
        match self {
            Self::Collective(work) => {
                let views = work.ranks.iter().map(|view| view.tensor.elements().unwrap_or(0));
                views.fold(0, u64::saturating_add)
            }
            _ => self.tiles().map(valid).max().unwrap_or(0),
        }
    }

    /// Those that it reads.
    pub(crate) fn tiles_read(&self) -> impl Iterator<Item = &TileState> {
        let tiles = match self {
            Self::Load { .. } | Self::Collective(_) => [None; 2],
            Self::Store { tile, .. } => [Some(tile), None],
            Self::Move { src, .. } => [Some(src), None],
            Self::Gather { idx, .. } => [Some(idx), None],
            Self::Scatter { src, idx, .. } => [Some(src), Some(idx)],
            Self::Tile { src, idx, .. } => [Some(src), idx.as_ref()],
        };
        tiles.into_iter().flatten()
    }

    pub(crate) fn executed(&self, target: Target) -> Executed {
        let lanes = |instruction: &Instruction| {
            let payload = instruction.payload();
            let one = known(payload.valid_rows) == 1 && known(payload.valid_cols) == 1;
            if one { pto_ir::Lanes::One } else { pto_ir::Lanes::Many }
        };
        match self {
            // A collective starts with a load; its chunks order themselves.
            Self::Load { .. } | Self::Collective(_) => Executed::Load,
            Self::Store { .. } => Executed::Store,
            Self::Move { .. } => Executed::Move,
            Self::Tile { .. } => Executed::TScatter,
            Self::Gather { instruction, .. } => {
                Executed::MGather(instruction.coalesce(target).unwrap_or(Coalesce::Elem), lanes(instruction))
            }
            Self::Scatter { instruction, .. } => {
                let mode = instruction.coalesce(target).unwrap_or(Coalesce::Elem);
                let atomic = instruction.policy().map_or(Atomic::None, |p| p.atomic_or_default());
                Executed::MScatter(mode, atomic, lanes(instruction))
            }
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Load { .. } => "tload",
            Self::Store { .. } => "tstore",
            Self::Move { .. } => "tmov",
            Self::Gather { .. } => "mgather",
            Self::Scatter { .. } => "mscatter",
            Self::Tile { .. } => "tscatter",
            Self::Collective(_) => "comm",
        }
    }
}

impl Machine<'_> {
    pub(crate) fn tile_operand(&self, id: ValueId) -> Result<TileState, Refusal> {
        match self.value(id) {
            Value::Tile(state) if state.tile.address.is_some() => Ok(**state),
            Value::Tile(_) => {
                let name = &self.function.value(id).name;
                Err((&ir::UNASSIGNED, format!("expected `%{name}` to have an address, found none")))
            }
            _ => Err((isa::TYPE_NAME, "expected a tile".into())),
        }
    }

    pub(crate) fn view_operand(&self, id: ValueId) -> Result<View, Refusal> {
        match self.value(id) {
            Value::View(view) => Ok(**view),
            _ => Err((rules::BOUNDS_BUFFER, "expected a view that is bound to an array".into())),
        }
    }
}
