//! Plain transfers and scalar accesses: what constants already decide.

use pto_isa::rules::LAYOUT_LOCATION;
use pto_isa::{Extent, Location, Rule, Tile};

use super::memory::{in_a_round, worst};
use super::{Checker, rules};
use crate::facts::Placement;
use crate::{Diagnostic, OpKind, Operand, Place, ValueId};

impl Checker<'_> {
    /// Plain transfers and scalar accesses work on vector tiles that have an address by now.
    pub(super) fn in_tile(&mut self, op: &OpKind, role: &str, value: ValueId, place: Place) {
        let Some(fact) = self.facts.tile(value).copied() else { return };
        if fact.tile.location != Location::Vec {
            let message = format!("`{role}` of {}: expected location vec, found {}", op.name(), fact.tile.location);
            let diagnostic = self.about(Diagnostic::new(LAYOUT_LOCATION, place, message), value);
            self.report(diagnostic);
        }
        self.has_address(op, role, value, place);
    }

    /// A tile that some `tassign` places is used after it.
    pub(super) fn has_address(&mut self, op: &OpKind, role: &str, value: ValueId, place: Place) {
        let unplaced = self.facts.tile(value).is_some_and(|fact| fact.placement == Placement::Unplaced);
        if unplaced && self.assigned.binary_search(&value).is_ok() {
            let message = format!("`{role}` of {}: {} has no address yet", op.name(), self.name(value));
            let diagnostic = self.about(Diagnostic::new(&rules::UNASSIGNED, place, message), value);
            self.report(diagnostic);
        }
    }

    pub(super) fn transfer(&mut self, op: &OpKind, view: ValueId, tile: ValueId, place: Place) {
        self.in_tile(op, "tile", tile, place);
        let (Some(fact), Some(known)) = (self.facts.tile(tile).copied(), self.facts.view(view).copied()) else {
            return;
        };
        if fact.tile.element != known.tensor.element {
            let message = format!(
                "{}: expected one element type, found a view of {} and a tile of {}",
                op.name(),
                known.tensor.element,
                fact.tile.element
            );
            let diagnostic = Diagnostic::new(&rules::TRANSFER_TYPE, place, message);
            let diagnostic = self.about(self.about(diagnostic, view), tile);
            self.report(diagnostic);
        }
        let (rows, cols) = known.matrix();
        let beyond = |valid: Extent, extent: Option<u64>| valid.exceeds(Extent::Dynamic(extent));
        if beyond(fact.tile.valid_rows, rows) || beyond(fact.tile.valid_cols, cols) {
            let known = |extent: Option<u64>| Extent::Dynamic(extent);
            let message = format!(
                "{}: expected a view of at least the tile's valid {}x{}, found {}x{}",
                op.name(),
                fact.tile.valid_rows,
                fact.tile.valid_cols,
                known(rows),
                known(cols)
            );
            let diagnostic = Diagnostic::new(&rules::TRANSFER_SHAPE, place, message);
            let diagnostic = self.about(self.about(diagnostic, view), tile);
            self.report(diagnostic);
        }
    }

    pub(super) fn tile_move(&mut self, op: &OpKind, src: ValueId, dst: ValueId, place: Place) {
        self.in_tile(op, "src", src, place);
        self.in_tile(op, "dst", dst, place);
        let (Some(from), Some(to)) = (self.facts.tile(src).copied(), self.facts.tile(dst).copied()) else { return };
        let target = self.target;
        let mut broken = |rule: &'static Rule, message: String| {
            let diagnostic = Diagnostic::new(rule, place, format!("pto.tmov: {message}"));
            let diagnostic = self.about(self.about(diagnostic, src), dst);
            self.report(diagnostic);
        };
        if from.tile.element != to.tile.element {
            let (found, expected) = (from.tile.element, to.tile.element);
            broken(&rules::TRANSFER_TYPE, format!("expected one element type, found {found} and {expected}"));
        }
        let size = |tile: &Tile| format!("{}x{}", tile.valid_rows, tile.valid_cols);
        if from.tile.valid_rows.differs(to.tile.valid_rows) || from.tile.valid_cols.differs(to.tile.valid_cols) {
            let message = format!(
                "expected the source's valid {} in the destination, found {}",
                size(&from.tile),
                size(&to.tile)
            );
            broken(&rules::TRANSFER_SHAPE, message);
        }
        // A move onto itself is none; anything between overwrites what is still to be read.
        if let (Some(a), Some(b)) = (from.range(), to.range())
            && target.profile().ub.is_some()
            && from.storage.root != to.storage.root
            && a.0 < b.1
            && b.0 < a.1
        {
            broken(
                &rules::ALIAS_LIVE,
                format!(
                    "expected a destination apart from the source's [0x{:x}, 0x{:x}), found [0x{:x}, 0x{:x})",
                    a.0, a.1, b.0, b.1
                ),
            );
        }
    }

    pub(super) fn element(&mut self, op: &OpKind, of: ValueId, offset: Operand, elements: Option<u64>, place: Place) {
        let range = self.ranges.of(offset, &self.facts);
        let Some(offset) = worst(range) else { return };
        let beyond = elements.is_some_and(|elements| offset >= 0 && offset as u64 >= elements);
        if offset < 0 || beyond {
            let limit = elements.map_or("0 or more".into(), |elements| format!("below {elements}"));
            let message = format!("{}: expected an offset {limit}, found {offset}{}", op.name(), in_a_round(range));
            let diagnostic = self.about(Diagnostic::new(&rules::ELEMENT, place, message), of);
            self.report(diagnostic);
        }
    }
}
