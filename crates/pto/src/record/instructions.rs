//! The instructions of a recorded core: operands as values of the program, pipes from its footprint.

use core::panic::Location;

use pto_exec::transfer;
use pto_ir::{Executed, Lanes, OpKind};
use pto_isa::{Atomic, Coalesce, Instruction, MaskPattern, Policy, Tensor, Tile};

use super::recorder::{Parameter, Recorder};
use crate::error::{Cause, Error};
use crate::event::Event;
use crate::tensor::Table;
use crate::tile::TileOperand;

/// The instructions; the arguments in the order of the typed API.
impl Recorder {
    pub(crate) fn mscatter(
        &mut self,
        location: &'static Location<'static>,
        policy: Policy,
        table: &impl Table,
        src: &impl TileOperand,
        idx: &impl TileOperand,
    ) -> Result<Event, Error> {
        self.instruction(location, |this, place| {
            let (payload, lanes) = (src.operand(), idx.operand());
            let scatter = Instruction::MScatter { table: table.operand(), src: payload, idx: lanes, policy };
            let mode = scatter.coalesce(this.target).unwrap_or(Coalesce::Elem);
            let atomic = scatter.policy().map_or(Atomic::None, Policy::atomic_or_default);
            let (table, src) = (this.tensor(table, place)?, this.tile(src, place)?);
            let idx = this.tile(idx, place)?;
            Ok((OpKind::MScatter { table, src, idx, policy }, Executed::MScatter(mode, atomic, lanes_of(&payload))))
        })
    }

    pub(crate) fn mgather(
        &mut self,
        location: &'static Location<'static>,
        policy: Policy,
        dst: &impl TileOperand,
        table: &impl Table,
        idx: &impl TileOperand,
    ) -> Result<Event, Error> {
        self.instruction(location, |this, place| {
            let (payload, lanes) = (dst.operand(), idx.operand());
            let gather = Instruction::MGather { dst: payload, table: table.operand(), idx: lanes, policy };
            let mode = gather.coalesce(this.target).unwrap_or(Coalesce::Elem);
            let (dst, table) = (this.tile(dst, place)?, this.tensor(table, place)?);
            let idx = this.tile(idx, place)?;
            Ok((OpKind::MGather { dst, table, idx, policy }, Executed::MGather(mode, lanes_of(&payload))))
        })
    }

    pub(crate) fn tscatter(
        &mut self,
        location: &'static Location<'static>,
        dst: &impl TileOperand,
        src: &impl TileOperand,
        idx: &impl TileOperand,
    ) -> Result<Event, Error> {
        self.instruction(location, |this, place| {
            let (dst, src) = (this.tile(dst, place)?, this.tile(src, place)?);
            Ok((OpKind::TScatter { dst, src, idx: this.tile(idx, place)? }, Executed::TScatter))
        })
    }

    pub(crate) fn tscatter_mask(
        &mut self,
        location: &'static Location<'static>,
        pattern: MaskPattern,
        dst: &impl TileOperand,
        src: &impl TileOperand,
    ) -> Result<Event, Error> {
        self.instruction(location, |this, place| {
            let (dst, src) = (this.tile(dst, place)?, this.tile(src, place)?);
            Ok((OpKind::TScatterMask { dst, src, pattern }, Executed::TScatter))
        })
    }

    pub(crate) fn tload(
        &mut self,
        location: &'static Location<'static>,
        dst: &impl TileOperand,
        src: &impl Table,
    ) -> Result<Event, Error> {
        self.instruction(location, |this, place| {
            let (dst, src) = (this.tile(dst, place)?, this.tensor(src, place)?);
            Ok((OpKind::Load { src, dst }, Executed::Load))
        })
    }

    pub(crate) fn tstore(
        &mut self,
        location: &'static Location<'static>,
        dst: &impl Table,
        src: &impl TileOperand,
    ) -> Result<Event, Error> {
        self.instruction(location, |this, place| {
            let (dst, src) = (this.tensor(dst, place)?, this.tile(src, place)?);
            Ok((OpKind::Store { src, dst }, Executed::Store))
        })
    }

    pub(crate) fn tmov(
        &mut self,
        location: &'static Location<'static>,
        dst: &impl TileOperand,
        src: &impl TileOperand,
    ) -> Result<Event, Error> {
        self.instruction(location, |this, place| {
            let (dst, src) = (this.tile(dst, place)?, this.tile(src, place)?);
            Ok((OpKind::Move { src, dst }, Executed::Move))
        })
    }

    /// Values that the host gives a tile: loaded from a parameter that holds them.
    pub(crate) fn write(
        &mut self,
        location: &'static Location<'static>,
        tile: &impl TileOperand,
        values: &[u8],
    ) -> Result<Event, Error> {
        self.instruction(location, |this, place| {
            let now = tile.operand();
            let (rows, cols) = transfer::valid(&now)?;
            let (expected, found) = (rows * cols, values.len() as u64 / now.element.size());
            if expected != found {
                return Err(Cause::Length { expected, found });
            }
            let name = format!("host{}", this.parameters.iter().filter(|known| known.values.is_some()).count());
            let values = Some(values.to_vec());
            this.parameters.push(Parameter { name, element: now.element, place, range: (0, 0), values });
            let tensor = Tensor::packed(now.element, [1, 1, 1, rows, cols]);
            let (dst, src) = (this.tile(tile, place)?, this.view(this.parameters.len() - 1, tensor, place));
            Ok((OpKind::Load { src, dst }, Executed::Load))
        })
    }
}

/// A5 runs a single element without SIMT.
fn lanes_of(payload: &Tile) -> Lanes {
    match (payload.valid_rows.known(), payload.valid_cols.known()) {
        (Some(1), Some(1)) => Lanes::One,
        _ => Lanes::Many,
    }
}
