//! What is known of tiles.

use pto_isa::{Extent, Tile};

use super::Facts;
use crate::{Function, OpKind, Operand, Region, Type, ValueId};

/// Where a tile lies in UB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Nobody has said.
    Unplaced,
    /// At an address that only the run knows.
    Unknown,
    /// At this byte.
    At(u64),
}

/// The bytes that a tile is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    /// The tile that was allocated, of which this one may be a window; `None` if it may be one of several.
    pub root: Option<ValueId>,
    /// The bytes `start..end` of the root that it may touch.
    pub bytes: (u64, u64),
}

/// What is known of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileFact {
    /// Type and valid extents, with the address where it is known.
    pub tile: Tile,
    /// Where it lies.
    pub placement: Placement,
    /// What it shares bytes with.
    pub storage: Storage,
}

impl TileFact {
    pub(super) fn parameter(value: ValueId, tile: Tile) -> Self {
        let storage = Storage { root: Some(value), bytes: (0, tile.bytes().unwrap_or(u64::MAX)) };
        Self { tile, placement: Placement::Unplaced, storage }
    }

    pub(super) fn unknown(tile: Tile) -> Self {
        let storage = Storage { root: None, bytes: (0, tile.bytes().unwrap_or(u64::MAX)) };
        Self { tile, placement: Placement::Unknown, storage }
    }

    /// The bytes `start..end` of UB that it may touch, if known.
    pub fn range(&self) -> Option<(u64, u64)> {
        match self.placement {
            // The placement of a window is that of its root.
            Placement::At(address) => {
                Some((address.checked_add(self.storage.bytes.0)?, address.checked_add(self.storage.bytes.1)?))
            }
            _ => None,
        }
    }

    fn place(&mut self, placement: Placement) {
        self.placement = placement;
        self.tile.address = match placement {
            Placement::At(address) => Some(address),
            _ => None,
        };
    }
}

/// The tiles whose address or valid extents change in another region than the one that allocated them, sorted.
///
/// Where both stand in one region, the change holds for exactly what follows there; everything else would need a join
/// over rounds and branches, and is left to the run.
pub(super) fn varying(function: &Function) -> Vec<ValueId> {
    let mut search = Search { region_of: vec![0; function.values.len()], regions: 0, varying: Vec::new() };
    search.region(&function.body, 0);
    search.varying.sort_unstable();
    search.varying
}

struct Search {
    /// The region that each tile was allocated in; parameters belong to the outermost, number 0.
    region_of: Vec<u32>,
    regions: u32,
    varying: Vec<ValueId>,
}

impl Search {
    fn region(&mut self, region: &Region, depth: usize) {
        if depth > crate::NESTING {
            return;
        }
        let here = self.regions;
        let inner = |search: &mut Self, region: &Region| {
            search.regions += 1;
            search.region(region, depth + 1);
        };
        for op in &region.ops {
            match &op.kind {
                OpKind::AllocTile { result, .. } | OpKind::Subview { result, .. } => {
                    if let Some(slot) = self.region_of.get_mut(result.0 as usize) {
                        *slot = here;
                    }
                }
                OpKind::Assign { tile, .. } | OpKind::SetValidShape { tile, .. }
                    if self.region_of.get(tile.0 as usize) != Some(&here) =>
                {
                    self.varying.push(*tile);
                }
                OpKind::For(op) => inner(self, &op.body),
                OpKind::If(op) => {
                    inner(self, &op.then);
                    inner(self, &op.otherwise);
                }
                _ => {}
            }
        }
    }
}

impl Facts<'_> {
    fn tile_type(&self, value: ValueId) -> Option<Tile> {
        match self.ty(value)? {
            Type::Tile(tile) => Some(*tile),
            _ => None,
        }
    }

    fn is_varying(&self, value: ValueId) -> bool {
        self.varying.binary_search(&value).is_ok()
    }

    /// A valid extent: the type's, or what fills it.
    fn filled(&self, extent: Extent, operand: Option<Operand>) -> Extent {
        match extent {
            Extent::Static(_) => extent,
            Extent::Dynamic(_) => {
                let value = operand.and_then(|operand| self.operand(operand));
                Extent::Dynamic(value.and_then(|value| u64::try_from(value).ok()))
            }
        }
    }

    fn placed(&self, address: Operand) -> Placement {
        match self.operand(address).map(u64::try_from) {
            Some(Ok(address)) => Placement::At(address),
            _ => Placement::Unknown,
        }
    }

    pub(super) fn alloc_tile(
        &mut self,
        result: ValueId,
        address: Option<Operand>,
        rows: Option<Operand>,
        cols: Option<Operand>,
    ) {
        let Some(tile) = self.tile_type(result) else { return };
        let mut fact = TileFact::parameter(result, tile);
        let varying = self.is_varying(result);
        if varying {
            fact.place(Placement::Unknown);
        } else {
            fact.tile.valid_rows = self.filled(tile.valid_rows, rows);
            fact.tile.valid_cols = self.filled(tile.valid_cols, cols);
        }
        if let Some(address) = address {
            // A tile with an address of its own may still be moved by a `tassign`.
            fact.place(if varying { Placement::Unknown } else { self.placed(address) });
        }
        self.set_tile(result, fact);
    }

    pub(super) fn assign(&mut self, tile: ValueId, address: Operand) {
        let placement = if self.is_varying(tile) { Placement::Unknown } else { self.placed(address) };
        if let Some(fact) = self.tile_mut(tile) {
            fact.place(placement);
        }
    }

    pub(super) fn set_valid_shape(&mut self, tile: ValueId, rows: Operand, cols: Operand) {
        let Some(ty) = self.tile_type(tile) else { return };
        let varying = self.is_varying(tile);
        let filled = [(ty.valid_rows, rows), (ty.valid_cols, cols)]
            .map(|(extent, operand)| self.filled(extent, (!varying).then_some(operand)));
        if let Some(fact) = self.tile_mut(tile) {
            [fact.tile.valid_rows, fact.tile.valid_cols] = filled;
        }
    }

    /// A window shares the bytes of its source; which of them is known for constant offsets in unboxed tiles.
    pub(super) fn subview(&mut self, result: ValueId, source: ValueId, offsets: [Operand; 2], sizes: [Operand; 2]) {
        let Some(mut tile) = self.tile_type(result) else { return };
        tile.valid_rows = self.filled(tile.valid_rows, Some(sizes[0]));
        tile.valid_cols = self.filled(tile.valid_cols, Some(sizes[1]));
        let Some(whole) = self.tile(source).copied() else {
            return self.set_tile(result, TileFact::unknown(tile));
        };
        let constant = |operand: Operand| self.operand(operand).and_then(|value| u64::try_from(value).ok());
        let [row, col, rows, cols] = [offsets[0], offsets[1], sizes[0], sizes[1]].map(constant);
        let window = match (row, col, rows, cols) {
            (Some(row), Some(col), Some(rows), Some(cols)) => window(&whole.tile, (row, col), (rows, cols)),
            _ => None,
        };
        let (base, end) = whole.storage.bytes;
        let bytes = match window {
            // Windows of windows are rare, and strides of a window are its root's: the whole source is safe.
            Some((from, to)) if base == 0 && to <= end => (from, to),
            _ => (base, end),
        };
        let storage = Storage { root: whole.storage.root, bytes };
        tile.address = match (whole.placement, window) {
            (Placement::At(address), Some((from, _))) if base == 0 => address.checked_add(from),
            _ => None,
        };
        self.set_tile(result, TileFact { tile, placement: whole.placement, storage });
    }
}

/// The bytes from the first to the last element of a window of an unboxed tile.
fn window(tile: &Tile, (row, col): (u64, u64), (rows, cols): (u64, u64)) -> Option<(u64, u64)> {
    let (last_row, last_col) = (row.checked_add(rows)?.checked_sub(1)?, col.checked_add(cols)?.checked_sub(1)?);
    if tile.is_boxed() || tile.bytes().is_none() || last_row >= tile.rows || last_col >= tile.cols {
        return None;
    }
    let size = tile.element.size();
    Some((tile.offset(row, col) * size, (tile.offset(last_row, last_col) + 1) * size))
}
