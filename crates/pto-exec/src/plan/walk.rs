//! The walk over a tile, reduced to a few arithmetic progressions.
//!
//! Every layout here is separable: the storage position of (row, column) is a function of the row plus a function of
//! the column, and each is an arithmetic progression within a box. So a tile is its row pieces times its column
//! pieces, and two operands walked together are the pieces of both, cut where either has a seam.

use pto_isa::tile::c0;
use pto_isa::{BLayout, SLayout, Tensor, TensorLayout, Tile};

use crate::Fault;
use crate::engine::Outside;
use crate::kernel::elements::Run;
use crate::kernel::lanes::Strided;
use crate::kernel::rows::Segment;

/// Pieces that one axis may fall into; beyond that no memory could hold the operand.
const MAX_PIECES: u64 = 1 << 24;

/// Positions along one axis of one operand: `length` of them, `run.step` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    run: Strided,
    length: usize,
}

/// Positions along one axis of two operands walked together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) payload: Strided,
    pub(super) other: Strided,
    pub(super) length: usize,
}

impl Pair {
    /// The pair, of payload and index tile, as a run.
    pub(super) fn run(&self) -> Run {
        Run { payload: self.payload, idx: self.other, length: self.length }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Axis {
    Rows,
    Cols,
}

fn too_many() -> Fault {
    Fault::Call("an operand falls into more pieces than any memory holds")
}

fn size(value: u64) -> Result<usize, Fault> {
    usize::try_from(value).map_err(|_| Fault::Call("an operand is larger than the address space"))
}

/// The first `count` positions along an axis of a tile.
pub(super) fn tile_axis(tile: &Tile, axis: Axis, count: u64) -> Result<Vec<Piece>, Fault> {
    let (box_rows, box_cols) = tile.box_extents();
    let (per_box, inner_step) = match (axis, tile.slayout) {
        (_, SLayout::NoneBox) => (count, 0),
        (Axis::Rows, SLayout::RowMajor) => (box_rows, box_cols),
        (Axis::Cols, SLayout::RowMajor) => (box_cols, 1),
        (Axis::Rows, SLayout::ColMajor) => (box_rows, 1),
        (Axis::Cols, SLayout::ColMajor) => (box_cols, box_rows),
    };
    let step = match (axis, tile.blayout) {
        _ if tile.is_boxed() => inner_step,
        (Axis::Rows, BLayout::RowMajor) => tile.cols,
        (Axis::Cols, BLayout::ColMajor) => tile.rows,
        (Axis::Rows, BLayout::ColMajor) | (Axis::Cols, BLayout::RowMajor) => 1,
    };
    let start = |position| match axis {
        Axis::Rows => tile.offset(position, 0),
        Axis::Cols => tile.offset(0, position),
    };
    pieces(count, per_box, |position| Ok(Strided { start: size(start(position))?, step: size(step)? }))
}

/// The first `count` columns of a table row.
pub(super) fn table_columns(table: &Tensor, count: u64) -> Result<Vec<Piece>, Fault> {
    let strides = table.strides.map(|e| e.known().unwrap_or(0));
    match table.layout {
        TensorLayout::Nz => {
            let (c0, block_cols) = (c0(table.element), table.shape[1].known().unwrap_or(1).max(1));
            pieces(count, c0, |col| {
                let block = col / c0;
                let start = block / block_cols * strides[0] + block % block_cols * strides[1];
                Ok(Strided { start: size(start)?, step: size(strides[4])? })
            })
        }
        // A single column has no neighbour, whatever its stride says.
        _ => pieces(count, count, |_| Ok(Strided { start: 0, step: if count == 1 { 1 } else { size(strides[4])? } })),
    }
}

fn pieces(count: u64, length: u64, run: impl Fn(u64) -> Result<Strided, Fault>) -> Result<Vec<Piece>, Fault> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if count.div_ceil(length) > MAX_PIECES {
        return Err(too_many());
    }
    let mut pieces: Vec<Piece> = Vec::new();
    for start in (0..count).step_by(size(length)?) {
        let piece = Piece { run: run(start)?, length: size(length.min(count - start))? };
        match pieces.last_mut() {
            Some(last)
                if last.run.start + last.length * last.run.step == piece.run.start
                    && last.run.step == piece.run.step =>
            {
                last.length += piece.length;
            }
            _ => pieces.push(piece),
        }
    }
    Ok(pieces)
}

/// Two operands walked together along one axis.
pub(super) fn pair(payload: &[Piece], other: &[Piece]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let (mut a, mut b) = (payload.iter().copied(), other.iter().copied());
    let (mut left, mut right) = (a.next(), b.next());
    while let (Some(x), Some(y)) = (left, right) {
        let length = x.length.min(y.length);
        pairs.push(Pair { payload: x.run, other: y.run, length });
        left = rest(x, length).or_else(|| a.next());
        right = rest(y, length).or_else(|| b.next());
    }
    pairs
}

fn rest(piece: Piece, taken: usize) -> Option<Piece> {
    let run = Strided { start: piece.run.start + taken * piece.run.step, ..piece.run };
    (piece.length > taken).then_some(Piece { run, length: piece.length - taken })
}

/// The contiguous pieces of a row in tile and table.
pub(super) fn segments(tile: &[Piece], table: &[Piece]) -> Result<Vec<Segment>, Fault> {
    let mut segments = Vec::new();
    for Pair { payload, other, length } in pair(tile, table) {
        let contiguous = payload.step == 1 && other.step == 1;
        let (count, length) = if contiguous { (1, length) } else { (length, 1) };
        if segments.len() as u64 + count as u64 > MAX_PIECES {
            return Err(too_many());
        }
        segments.extend((0..count).map(|i| Segment {
            tile: payload.start + i * payload.step,
            table: other.start + i * other.step,
            length,
        }));
    }
    Ok(segments)
}

/// Which axis is the outer loop of a walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Row by row.
    RowMajor,
    /// All rows of the first column piece, then of the next: A2/A3's walk of NZ tiles.
    BlockColumn,
}

/// The walk over payload and index tile together.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    rows: Vec<Pair>,
    cols: Vec<Pair>,
    order: Order,
}

impl Walk {
    pub(super) fn new(payload: &Tile, idx: &Tile, rows: u64, cols: u64, order: Order) -> Result<Self, Fault> {
        let both = |axis, count| Ok(pair(&tile_axis(payload, axis, count)?, &tile_axis(idx, axis, count)?));
        let walk = Self { rows: both(Axis::Rows, rows)?, cols: both(Axis::Cols, cols)?, order };
        Ok(walk.collapsed())
    }

    /// Rows that follow each other without gaps in both tiles are one long row.
    fn collapsed(self) -> Self {
        match (self.rows.as_slice(), self.cols.as_slice()) {
            ([rows], [cols])
                if rows.payload.step == cols.length * cols.payload.step
                    && rows.other.step == cols.length * cols.other.step =>
            {
                let whole = Pair { length: rows.length * cols.length, ..*cols };
                let once = Pair { length: 1, ..*rows };
                Self { rows: vec![once], cols: vec![whole], order: self.order }
            }
            _ => self,
        }
    }

    /// Bytes of its lists.
    pub(super) fn list_bytes(&self) -> usize {
        size_of_val(&*self.rows) + size_of_val(&*self.cols)
    }

    /// The run, if the walk is no more than one.
    pub(super) fn single(&self) -> Option<Run> {
        match (self.rows.as_slice(), self.cols.as_slice()) {
            ([rows], [cols]) if rows.length == 1 => Some(at((rows.payload.start, rows.other.start), cols)),
            _ => None,
        }
    }

    /// Visits the walk as runs, until one is refused.
    pub(super) fn try_for_each_run(&self, mut visit: impl FnMut(Run) -> Result<(), Outside>) -> Result<(), Outside> {
        let bases = || {
            self.rows.iter().flat_map(|rows| {
                (0..rows.length)
                    .map(|r| (rows.payload.start + r * rows.payload.step, rows.other.start + r * rows.other.step))
            })
        };
        match self.order {
            Order::RowMajor => bases().try_for_each(|base| self.cols.iter().try_for_each(|cols| visit(at(base, cols)))),
            Order::BlockColumn => {
                self.cols.iter().try_for_each(|cols| bases().try_for_each(|base| visit(at(base, cols))))
            }
        }
    }
}

/// The run of a column pair in the row that starts at `base`.
fn at(base: (usize, usize), cols: &Pair) -> Run {
    let payload = Strided { start: base.0 + cols.payload.start, ..cols.payload };
    let idx = Strided { start: base.1 + cols.other.start, ..cols.other };
    Run { payload, idx, length: cols.length }
}
