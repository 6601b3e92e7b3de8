//! Views, windows and tiles: what constants already decide.

use pto_isa::rules::{ALIGN_ADDRESS, BUDGET_UB, SHAPE_NEGATIVE, SHAPE_OVERFLOW, SHAPE_VALID_EXTENT};
use pto_isa::tile::BLOCK_BYTES;
use pto_isa::{Extent, Location, Rule, Tensor};

use super::{Checker, rules};
use crate::facts::Placement;
use crate::{Diagnostic, GroupType, OpKind, Operand, Place, Type, ValueId, ViewType};

impl<'a> Checker<'a> {
    /// Judges an operation whose operands are of the right kinds.
    pub(super) fn values(&mut self, op: &'a OpKind, place: Place) {
        match op {
            OpKind::MakeView { result, pointer, shape, strides, .. } => {
                self.make_view(op, *result, *pointer, shape, strides, place);
            }
            OpKind::PartitionView { result, view, offsets, sizes } => {
                self.partition(*result, *view, offsets, sizes, place);
            }
            OpKind::AllocTile { result, address, valid_rows, valid_cols } => {
                let operands = [*address, *valid_rows, *valid_cols];
                for operand in operands.into_iter().flatten() {
                    self.not_negative(op, operand, place);
                }
                self.tile(*result, place);
            }
            OpKind::Assign { tile, address } => {
                self.not_negative(op, *address, place);
                self.tile(*tile, place);
            }
            OpKind::SetValidShape { tile, rows, cols } => {
                self.valid_shape(*tile, [*rows, *cols], place);
                self.tile(*tile, place);
            }
            OpKind::Subview { result, source, offsets, sizes } => {
                self.subview(*result, *source, *offsets, *sizes, place);
            }
            OpKind::Load { src: view, dst: tile } | OpKind::Store { src: tile, dst: view } => {
                self.transfer(op, *view, *tile, place);
            }
            OpKind::Move { src, dst } => self.tile_move(op, *src, *dst, place),
            OpKind::GetValue { tile, offset, .. } | OpKind::SetValue { tile, offset, .. } => {
                self.in_tile(op, "tile", *tile, place);
                let elements = self.facts.tile(*tile).and_then(|fact| fact.tile.elements());
                self.element(op, *tile, *offset, elements, place);
            }
            OpKind::LoadScalar { pointer, offset, .. } | OpKind::StoreScalar { pointer, offset, .. } => {
                // A pointer's buffer is known to the run only.
                let elements = self.facts.view(*pointer).and_then(|view| view.tensor.span());
                self.element(op, *pointer, *offset, elements, place);
            }
            _ => self.instruction(op, place),
        }
    }

    /// Judges the type of a parameter, which no operation makes.
    pub(super) fn parameter(&mut self, value: ValueId) {
        let Some(place) = self.place_of(value) else { return };
        match self.facts.ty(value) {
            Some(Type::Tile(_)) => self.tile(value, place),
            Some(Type::View(ty) | Type::Group(GroupType { view: ty, .. })) => {
                if self.rank(ty, place)
                    && let Some(tensor) = self.facts.view(value).map(|view| view.tensor)
                {
                    self.overflow(&tensor, place);
                }
            }
            _ => {}
        }
    }

    fn not_negative(&mut self, op: &OpKind, operand: Operand, place: Place) {
        if let Some(value) = self.facts.operand(operand)
            && value < 0
        {
            let message = format!("{}: expected an extent, stride or address of at least 0, found {value}", op.name());
            self.report(Diagnostic::new(SHAPE_NEGATIVE, place, message));
        }
    }

    fn view_type(&self, value: ValueId) -> Option<&'a ViewType> {
        match self.facts.ty(value)? {
            Type::View(view) | Type::Group(GroupType { view, .. }) => Some(view),
            _ => None,
        }
    }

    /// False if the type has no dimension or more than five.
    fn rank(&mut self, ty: &ViewType, place: Place) -> bool {
        let fits = (1..=5).contains(&ty.shape.len());
        if !fits {
            let message = format!("expected one to five dimensions, found {}", ty.shape.len());
            self.report(Diagnostic::new(&rules::RANK, place, message));
        }
        fits
    }

    fn count(&mut self, what: &str, found: usize, expected: usize, place: Place) {
        if found != expected {
            let message = format!("expected {expected} {what}, one per dimension, found {found}");
            self.report(Diagnostic::new(&rules::VIEW, place, message));
        }
    }

    fn make_view(
        &mut self,
        op: &'a OpKind,
        result: ValueId,
        pointer: ValueId,
        shape: &[Operand],
        strides: &[Operand],
        place: Place,
    ) {
        let Some(ty) = self.view_type(result) else { return };
        if !self.rank(ty, place) {
            return;
        }
        if let Some(Type::Pointer(element)) = self.facts.ty(pointer)
            && *element != ty.element
        {
            let message = format!("expected a view of {element}, the pointer's element type, found {}", ty.element);
            let diagnostic = self.about(Diagnostic::new(&rules::VIEW, place, message), pointer);
            self.report(diagnostic);
        }
        self.count("extents", shape.len(), ty.shape.len(), place);
        if !strides.is_empty() {
            self.count("strides", strides.len(), ty.shape.len(), place);
        }
        for operand in shape.iter().chain(strides) {
            self.not_negative(op, *operand, place);
        }
        self.agrees("extent", &ty.shape, shape, place);
        if let Some(named) = &ty.strides {
            self.agrees("stride", named, strides, place);
        }
        if let Some(tensor) = self.facts.view(result).map(|view| view.tensor) {
            self.overflow(&tensor, place);
        }
    }

    /// Constants are those that the type names.
    fn agrees(&mut self, what: &str, named: &[Option<u64>], operands: &[Operand], place: Place) {
        for (at, (named, operand)) in named.iter().zip(operands).enumerate() {
            if let (Some(named), Some(value)) = (named, self.facts.operand(*operand))
                && i64::try_from(*named) != Ok(value)
            {
                let message = format!("expected {what} {named} of dimension {at} as in the type, found {value}");
                self.report(Diagnostic::new(&rules::VIEW_SHAPE, place, message));
            }
        }
    }

    fn overflow(&mut self, tensor: &Tensor, place: Place) {
        let fits = |elements: Option<u64>| {
            let bytes = elements.and_then(|elements| elements.checked_mul(tensor.element.size()));
            bytes.is_some_and(|bytes| i64::try_from(bytes).is_ok())
        };
        // Packed strides that overflow are unknown, so extents are judged by themselves.
        let extents = tensor.shape.iter().all(|extent| extent.known().is_some());
        if (extents && !fits(tensor.elements())) || (tensor.is_known() && !fits(tensor.span())) {
            let message = format!("expected a size of at most 2^63 - 1 bytes, found {tensor}");
            self.report(Diagnostic::new(SHAPE_OVERFLOW, place, message));
        }
    }

    fn partition(&mut self, result: ValueId, view: ValueId, offsets: &[Operand], sizes: &[Operand], place: Place) {
        let (Some(ty), Some(of)) = (self.view_type(result), self.view_type(view)) else { return };
        if !(self.rank(ty, place) && (1..=5).contains(&of.shape.len())) {
            return;
        }
        if ty.element != of.element {
            let message = format!("expected a window of {}, the view's element type, found {}", of.element, ty.element);
            let diagnostic = self.about(Diagnostic::new(&rules::VIEW, place, message), view);
            self.report(diagnostic);
        }
        let rank = of.shape.len();
        self.count("offsets", offsets.len(), rank, place);
        self.count("sizes", sizes.len(), rank, place);
        self.count("dimensions of the result", ty.shape.len(), rank, place);
        if offsets.len() != rank || sizes.len() != rank {
            return;
        }
        self.agrees("size", &ty.shape, sizes, place);
        let Some(whole) = self.facts.view(view).map(|view| view.tensor) else { return };
        for at in 0..rank {
            let (range, size) = (self.ranges.of(offsets[at], &self.facts), self.facts.operand(sizes[at]));
            let offset = worst(range);
            let extent = whole.shape[5 - rank + at].known();
            // A size that only the run knows is at least zero, so an offset can be too large by itself.
            let broken = match (offset, size, extent) {
                (Some(offset), _, _) if offset < 0 => true,
                (_, Some(size), _) if size < 0 => true,
                (offset, size, Some(extent)) => {
                    i128::from(offset.unwrap_or(0)) + i128::from(size.unwrap_or(0)) > i128::from(extent)
                }
                _ => false,
            };
            if broken {
                let known = |value: Option<i64>| value.map_or("?".into(), |value| value.to_string());
                let extent = extent.map_or("?".into(), |extent| extent.to_string());
                let round = in_a_round(range);
                let message = format!(
                    "expected a window inside the {extent} of dimension {at}, found offset {}{round} and size {}",
                    known(offset),
                    known(size)
                );
                let diagnostic = self.about(Diagnostic::new(&rules::PARTITION, place, message), view);
                self.report(diagnostic);
            }
        }
    }

    /// Judges a tile as it is after the operation that makes or changes it.
    fn tile(&mut self, value: ValueId, place: Place) {
        let Some(fact) = self.facts.tile(value).copied() else { return };
        let (tile, target) = (fact.tile, self.target);
        let mut broken = |rule: &'static Rule, message: String| {
            let diagnostic = Diagnostic::new(rule, place, format!("{}: {message}", self.name(value))).on(target);
            self.report(diagnostic);
        };
        if tile.bytes().is_none_or(|bytes| i64::try_from(bytes).is_err()) {
            return broken(SHAPE_OVERFLOW, format!("expected a size of at most 2^63 - 1 bytes, found {tile}"));
        }
        if tile.valid_rows.exceeds(Extent::Static(tile.rows)) || tile.valid_cols.exceeds(Extent::Static(tile.cols)) {
            let message = format!(
                "expected valid extents within the padded {}x{}, found {}x{}",
                tile.rows, tile.cols, tile.valid_rows, tile.valid_cols
            );
            broken(SHAPE_VALID_EXTENT, message);
        }
        let Some(ub) = target.profile().ub else { return };
        if let (Placement::At(address), Location::Vec) = (fact.placement, tile.location) {
            if !address.is_multiple_of(BLOCK_BYTES) {
                broken(
                    ALIGN_ADDRESS,
                    format!("expected an address that is a multiple of {BLOCK_BYTES}, found 0x{address:x}"),
                );
            }
            let end = ub.end();
            if tile.range().is_none_or(|(_, tile_end)| tile_end > end) {
                let bytes = tile.bytes().unwrap_or_default();
                broken(
                    BUDGET_UB,
                    format!("expected a tile that ends by 0x{end:x}, found {bytes} bytes at 0x{address:x}"),
                );
            }
        }
    }

    fn valid_shape(&mut self, tile: ValueId, extents: [Operand; 2], place: Place) {
        let Some(Type::Tile(ty)) = self.facts.ty(tile) else { return };
        for (what, named, operand) in [("rows", ty.valid_rows, extents[0]), ("columns", ty.valid_cols, extents[1])] {
            let Some(value) = self.facts.operand(operand) else { continue };
            if value < 0 {
                let message = format!("expected at least 0 valid {what}, found {value}");
                self.report(Diagnostic::new(SHAPE_NEGATIVE, place, message));
            } else if let Extent::Static(named) = named
                && named != value as u64
            {
                let message =
                    format!("expected {named} valid {what} as in the type of {}, found {value}", self.name(tile));
                let diagnostic = self.about(Diagnostic::new(&rules::VALID_STATIC, place, message), tile);
                self.report(diagnostic);
            }
        }
    }

    fn subview(&mut self, result: ValueId, source: ValueId, offsets: [Operand; 2], sizes: [Operand; 2], place: Place) {
        let (Some(Type::Tile(ty)), Some(Type::Tile(of))) = (self.facts.ty(result), self.facts.ty(source)) else {
            return;
        };
        if ty.element != of.element {
            let message = format!("expected a window of {}, the tile's element type, found {}", of.element, ty.element);
            let diagnostic = self.about(Diagnostic::new(&rules::TRANSFER_TYPE, place, message), source);
            self.report(diagnostic);
        }
        for (what, offset, size, extent) in
            [("rows", offsets[0], sizes[0], of.rows), ("columns", offsets[1], sizes[1], of.cols)]
        {
            let (range, size) = (self.ranges.of(offset, &self.facts), self.facts.operand(size));
            let offset = worst(range);
            let negative = offset.is_some_and(|offset| offset < 0) || size.is_some_and(|size| size < 0);
            let end = i128::from(offset.unwrap_or(0)) + i128::from(size.unwrap_or(0));
            if negative || end > i128::from(extent) {
                let known = |value: Option<i64>| value.map_or("?".into(), |value| value.to_string());
                let round = in_a_round(range);
                let message = format!(
                    "expected a window inside the {extent} {what} of the tile, found offset {}{round} and size {}",
                    known(offset),
                    known(size)
                );
                let diagnostic = self.about(Diagnostic::new(&rules::SUBVIEW, place, message), source);
                self.report(diagnostic);
            }
        }
    }
}

/// The offset of a range that is sooner outside: a negative one, else the greatest.
pub(super) fn worst(range: Option<(i64, i64)>) -> Option<i64> {
    range.map(|(low, high)| if low < 0 { low } else { high })
}

/// Where an offset is not the same in every round, that one is meant.
pub(super) fn in_a_round(range: Option<(i64, i64)>) -> &'static str {
    if range.is_some_and(|(low, high)| low != high) { " in one round" } else { "" }
}
