//! Views of buffers and tiles in UB, as the program makes them.

use pto_ir::check::rules as ir;
use pto_ir::{OpKind, Operand, Type, ValueId};
use pto_isa::{Rule, TensorLayout};

use crate::machine::{Machine, five_dimensions, packed_view, with_known_valid};
use crate::rules;
use crate::state::{TileState, Value, View, known};
use crate::work::Refusal;

/// Where there is no UB of a fixed size, tiles end by this byte, those of several ranks by their share of it: an address is not a
/// reason to take all memory.
const MAX_TILES: u64 = 1 << 30;

impl Machine<'_> {
    pub(crate) fn view(&mut self, op: &OpKind, step: u32) {
        let made = match op {
            OpKind::MakeView { result, pointer, shape, strides, layout } => {
                self.make_view(*pointer, shape, strides, *layout, *result).map(|view| (*result, view))
            }
            OpKind::PartitionView { result, view, offsets, sizes } => {
                self.partition(*view, offsets, sizes).map(|view| (*result, view))
            }
            OpKind::MakeGroup { result, members } => {
                let views = members.iter().filter_map(|id| match self.value(*id) {
                    Value::View(view) => Some(**view),
                    _ => None,
                });
                let group = Value::Group(views.collect());
                self.set_value(*result, group);
                return;
            }
            _ => return,
        };
        match made {
            Ok((result, view)) => self.set_value(result, Value::View(Box::new(view))),
            Err((rule, message)) => self.trap(rule, step, message),
        }
    }

    pub(crate) fn naturals(&self, operands: &[Operand], rule: &'static Rule, what: &str) -> Result<Vec<u64>, Refusal> {
        let natural = |operand: &Operand| {
            let value = self.operand(*operand);
            u64::try_from(value).map_err(|_| (rule, format!("expected {what} of zero or more, found {value}")))
        };
        operands.iter().map(natural).collect()
    }

    pub(crate) fn make_view(
        &self,
        pointer: ValueId,
        shape: &[Operand],
        strides: &[Operand],
        layout: Option<TensorLayout>,
        result: ValueId,
    ) -> Result<View, Refusal> {
        let buffer_rule = |message: String| (rules::BOUNDS_BUFFER, message);
        let Value::Pointer { buffer, offset } = *self.value(pointer) else {
            return Err(buffer_rule("expected a pointer that is bound to an array".into()));
        };
        let Type::View(ty) = self.module.types.get(self.function.value(result).ty) else {
            return Err(buffer_rule("expected the type of a view".into()));
        };
        let shape = self.naturals(shape, pto_isa::rules::SHAPE_NEGATIVE, "extents")?;
        let tensor = if strides.is_empty() {
            packed_view(ty, &shape).map_err(buffer_rule)?
        } else {
            let layout = layout.or(ty.layout).unwrap_or(TensorLayout::Nd);
            let strides = self.naturals(strides, pto_isa::rules::SHAPE_NEGATIVE, "strides")?;
            five_dimensions(ty.element, &shape, &strides, layout).map_err(buffer_rule)?
        };
        let view = View { buffer, offset, tensor, rank: shape.len() };
        self.fits(&view).map_err(buffer_rule)?;
        Ok(view)
    }

    /// The view lies inside its buffer.
    pub(crate) fn fits(&self, view: &View) -> Result<(), String> {
        let buffer = &self.buffers[view.buffer];
        let size = view.tensor.element.size();
        let end = view.tensor.span().and_then(|span| span.checked_add(view.offset)).unwrap_or(u64::MAX);
        let needed = end.saturating_mul(size);
        if needed <= buffer.length {
            return Ok(());
        }
        let (name, found) = (&buffer.name, buffer.length);
        Err(format!("the view addresses {needed} bytes of `{name}`, but the array bound to it has {found}"))
    }

    pub(crate) fn partition(&self, view: ValueId, offsets: &[Operand], sizes: &[Operand]) -> Result<View, Refusal> {
        let rule: &'static Rule = &ir::PARTITION;
        let Value::View(view) = self.value(view) else { return Err((rule, "expected a view".into())) };
        let mut part = **view;
        let lead = 5 - view.rank;
        let (offsets, sizes) = (self.naturals(offsets, rule, "offsets")?, self.naturals(sizes, rule, "sizes")?);
        if offsets.len() != view.rank || sizes.len() != view.rank {
            let (found, others) = (offsets.len(), sizes.len());
            let message = format!("expected {} offsets and sizes, found {found} and {others}", view.rank);
            return Err((rule, message));
        }
        for (i, (offset, size)) in offsets.iter().zip(&sizes).enumerate() {
            let whole = known(view.tensor.shape[lead + i]);
            if offset.checked_add(*size).is_none_or(|end| end > whole) {
                let message = format!(
                    "dimension {i}: expected a window inside the view's extent {whole}, found offset {offset} and size {size}"
                );
                return Err((rule, message));
            }
            part.offset += offset * known(view.tensor.strides[lead + i]);
            part.tensor.shape[lead + i] = pto_isa::Extent::Dynamic(Some(*size));
        }
        Ok(part)
    }

    pub(crate) fn tile(&mut self, op: &OpKind, step: u32) {
        match op {
            OpKind::AllocTile { result, address, valid_rows, valid_cols } => {
                let Type::Tile(tile) = *self.module.types.get(self.function.value(*result).ty) else { return };
                let valid = |operand: &Option<Operand>, machine: &Self| {
                    operand.map(|operand| u64::try_from(machine.operand(operand)).unwrap_or(u64::MAX))
                };
                let rows = valid(valid_rows, self).or(tile.valid_rows.known());
                let cols = valid(valid_cols, self).or(tile.valid_cols.known());
                let tile = with_known_valid(tile, rows, cols);
                let address = address.map(|operand| self.operand(operand));
                let Ok(address) = address.map(u64::try_from).transpose() else {
                    return self.trap(pto_isa::rules::SHAPE_NEGATIVE, step, "expected a UB address of zero or more");
                };
                let state = self.place_tile(*result, tile, address);
                if self.tile_fits(&state, step) {
                    self.set_value(*result, Value::Tile(Box::new(state)));
                }
            }
            OpKind::Assign { tile, address } => {
                let address = self.operand(*address);
                let Value::Tile(state) = self.value(*tile) else { return };
                let mut state = **state;
                let Ok(address) = u64::try_from(address) else {
                    return self.trap(pto_isa::rules::SHAPE_NEGATIVE, step, "expected a UB address of zero or more");
                };
                state.tile.address = Some(address);
                if !self.tile_fits(&state, step) {
                    return;
                }
                if let Some(bytes) = self.arriving.remove(&tile.0)
                    && let Err(message) = self.fill_tile(&state, &bytes, step)
                {
                    return self.trap(pto_isa::rules::BUDGET_UB, step, message);
                }
                self.set_value(*tile, Value::Tile(Box::new(state)));
            }
            OpKind::SetValidShape { tile, rows, cols } => {
                let (rows, cols) = (self.operand(*rows), self.operand(*cols));
                let Value::Tile(state) = self.value(*tile) else { return };
                let mut state = **state;
                let (rows, cols) = (u64::try_from(rows).unwrap_or(u64::MAX), u64::try_from(cols).unwrap_or(u64::MAX));
                state.tile = state.tile.with_dynamic_valid(rows, cols);
                self.valid_fits(&state, step);
                self.set_value(*tile, Value::Tile(Box::new(state)));
            }
            OpKind::Subview { result, source, offsets, sizes } => {
                let Value::Tile(state) = self.value(*source) else { return };
                let parent = **state;
                match self.subview(&parent, offsets, sizes) {
                    Ok(state) => self.set_value(*result, Value::Tile(Box::new(state))),
                    Err((rule, message)) => self.trap(rule, step, message),
                }
            }
            _ => {}
        }
    }

    /// A window of a row-major tile: the parent's row distance, another first byte.
    pub(crate) fn subview(
        &self,
        parent: &TileState,
        offsets: &[Operand; 2],
        sizes: &[Operand; 2],
    ) -> Result<TileState, Refusal> {
        let rule: &'static Rule = &ir::SUBVIEW;
        let (at, size) = (self.naturals(offsets, rule, "offsets")?, self.naturals(sizes, rule, "sizes")?);
        let tile = parent.tile;
        if !tile.is_row_major() {
            return Err((rule, "expected a row-major tile: only those have subviews here".into()));
        }
        let inside = |at: u64, size: u64, whole: u64| at.checked_add(size).is_some_and(|end| end <= whole);
        if !inside(at[0], size[0], tile.rows) || !inside(at[1], size[1], tile.cols) {
            let message = format!(
                "expected a window inside the tile's {}x{}, found {}x{} at ({}, {})",
                tile.rows, tile.cols, size[0], size[1], at[0], at[1]
            );
            return Err((rule, message));
        }
        let first = tile.offset(at[0], at[1]) * tile.element.size();
        let mut window = tile.with_dynamic_valid(size[0], size[1]);
        window.rows = size[0];
        window.address = tile.address.map(|address| address + first);
        Ok(TileState { tile: window, owner: parent.owner })
    }

    pub(crate) fn valid_fits(&mut self, state: &TileState, step: u32) {
        let tile = &state.tile;
        if known(tile.valid_rows) > tile.rows || known(tile.valid_cols) > tile.cols {
            let message = format!("expected valid extents within the padded {}x{}, found {tile}", tile.rows, tile.cols);
            self.trap(pto_isa::rules::SHAPE_VALID_EXTENT, step, message);
        }
    }

    /// A tile that is placed lies inside the UB that the launch gives; its valid extents inside its padded ones.
    pub(crate) fn tile_fits(&mut self, state: &TileState, step: u32) -> bool {
        self.valid_fits(state, step);
        let Some(address) = state.tile.address else { return !self.stopped };
        let end = state.tile.allocation().and_then(|bytes| address.checked_add(bytes)).unwrap_or(u64::MAX);
        let most = MAX_TILES / self.options.ranks.max(1);
        if let Some(limit) = self.ub_limit() {
            if !address.is_multiple_of(32) {
                let message = format!("expected an address that is a multiple of 32, found 0x{address:x}");
                self.trap(pto_isa::rules::ALIGN_ADDRESS, step, message);
            } else if end > limit {
                let message = format!(
                    "expected the tile to end by byte {limit} of UB, found {}, which ends at byte {end}",
                    state.tile
                );
                self.trap(pto_isa::rules::BUDGET_UB, step, message);
            }
        } else if end > most {
            let message = format!("expected tiles of at most {most} bytes in all, found one that ends at byte {end}");
            self.trap(pto_isa::rules::SHAPE_OVERFLOW, step, message);
        } else {
            self.reserve(end);
        }
        if !self.stopped {
            self.ub_peak = self.ub_peak.max(end);
        }
        !self.stopped
    }
}
