//! The chunk plan of a collective: which piece of which rank's tensor goes through which staging tile, as data.

use pto_isa::{Collective, Extent, Tensor};

use crate::{CommError, Region};

/// One piece that fits the staging tile: rows and columns of one rank's tensor at one outer index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Position in the plan.
    pub index: u64,
    /// The rank whose tensor it is a part of.
    pub rank: u64,
    /// Position in dimensions 0 to 2.
    pub outer: [u64; 3],
    /// First row of the rank's dimension 3.
    pub row: u64,
    /// Number of rows: the tile's valid rows, or what is left.
    pub rows: u64,
    /// First column of dimension 4.
    pub col: u64,
    /// Number of columns: the tile's valid columns, or what is left.
    pub cols: u64,
}

/// How a collective is cut into chunks: 2-D sliding by the staging tile's valid extents over dimensions 3 and 4, for
/// every index of dimensions 0 to 2, for every rank.
///
/// The plan is what happens, apart from doing it: a device model schedules the load and the store of each chunk, the
/// transports move them.
///
/// ```
/// use pto_comm::ChunkPlan;
/// use pto_isa::{Collective, Direction, ElementType::F32, Tensor, Tile};
/// let plan = ChunkPlan::new(&Collective {
///     direction: Direction::Scatter,
///     root: 0,
///     caller: 0,
///     local: Tensor::packed(F32, [1, 1, 1, 10, 8]),
///     group: vec![Some(Tensor::packed(F32, [1, 1, 1, 5, 8])); 2],
///     staging: vec![Tile::new(F32, 4, 8).with_dynamic_valid(3, 8); 2],
/// })?;
/// let rows: Vec<_> = plan.chunks().map(|c| (c.rank, c.row, c.rows, plan.slot(&c))).collect();
/// assert_eq!(rows, [(0, 0, 3, 0), (0, 3, 2, 1), (1, 0, 3, 0), (1, 3, 2, 1)]);
/// # Ok::<(), pto_comm::CommError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkPlan {
    ranks: u64,
    outer: [u64; 3],
    rows: u64,
    cols: u64,
    tile_rows: u64,
    tile_cols: u64,
    slots: usize,
    element: u64,
}

/// The rules keep a legal collective below 2^63 bytes; a plan of an illegal one must not overflow either.
fn saturating_product(factors: &[u64]) -> u64 {
    factors.iter().fold(1, |product, factor| product.saturating_mul(*factor))
}

fn known(extent: Extent) -> Result<u64, CommError> {
    extent.known().ok_or(CommError::UnknownExtent("an extent of a collective is unknown when it runs"))
}

impl ChunkPlan {
    /// The plan of a legal collective.
    ///
    /// # Errors
    /// [`CommError::UnknownExtent`] if an extent is still unknown, or the group or the staging list is empty.
    pub fn new(call: &Collective) -> Result<Self, CommError> {
        let (Some(tensor), Some(tile)) = (call.group.iter().flatten().next(), call.staging.first()) else {
            return Err(CommError::UnknownExtent("a collective has a rank and a staging tile"));
        };
        let [d0, d1, d2, rows, cols] = tensor.shape;
        let (rows, cols) = (known(rows)?, known(cols)?);
        let (tile_rows, tile_cols) = (known(tile.valid_rows)?, known(tile.valid_cols)?);
        Ok(Self {
            ranks: call.ranks(),
            outer: [known(d0)?, known(d1)?, known(d2)?],
            rows,
            cols,
            // A tile that is larger than a rank's rows or columns is filled in part.
            tile_rows: tile_rows.clamp(1, rows.max(1)),
            tile_cols: tile_cols.clamp(1, cols.max(1)),
            slots: call.staging.len(),
            element: tensor.element.size(),
        })
    }

    /// Number of chunks; 0 if the tensors have no elements.
    pub fn len(&self) -> u64 {
        if self.bytes() == 0 {
            return 0;
        }
        let [a, b, c] = self.outer;
        saturating_product(&[self.ranks, a, b, c, self.per_matrix()])
    }

    /// True if there is nothing to move.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of all chunks.
    pub fn bytes(&self) -> u64 {
        let [a, b, c] = self.outer;
        let extents = [self.ranks, a, b, c, self.rows, self.cols, self.element];
        // The other extents may be too large to multiply where one is 0.
        if extents.contains(&0) { 0 } else { saturating_product(&extents) }
    }

    /// Rows and columns of a full chunk.
    pub fn tile(&self) -> (u64, u64) {
        (self.tile_rows, self.tile_cols)
    }

    /// Bytes of a full chunk: what one staging buffer has to hold.
    pub fn tile_bytes(&self) -> u64 {
        if self.is_empty() { 0 } else { saturating_product(&[self.tile_rows, self.tile_cols, self.element]) }
    }

    /// Number of staging tiles: 1, or 2 for ping-pong.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// The staging tile that a chunk goes through: they take turns.
    pub fn slot(&self, chunk: &Chunk) -> usize {
        (chunk.index % self.slots as u64) as usize
    }

    /// The chunks, rank by rank, each rank's in row-major order.
    pub fn chunks(&self) -> Chunks {
        Chunks { plan: *self, next: 0, end: self.len() }
    }

    /// The chunk at a position; the inverse of [`Chunk::index`].
    pub fn chunk(&self, index: u64) -> Option<Chunk> {
        (index < self.len()).then(|| self.locate(index))
    }

    fn per_matrix(&self) -> u64 {
        self.rows.div_ceil(self.tile_rows).saturating_mul(self.cols.div_ceil(self.tile_cols))
    }

    fn locate(&self, index: u64) -> Chunk {
        let digit = |rest: &mut u64, base: u64| {
            let value = *rest % base;
            *rest /= base;
            value
        };
        let mut rest = index;
        let col = digit(&mut rest, self.cols.div_ceil(self.tile_cols)) * self.tile_cols;
        let row = digit(&mut rest, self.rows.div_ceil(self.tile_rows)) * self.tile_rows;
        let d2 = digit(&mut rest, self.outer[2]);
        let d1 = digit(&mut rest, self.outer[1]);
        let d0 = digit(&mut rest, self.outer[0]);
        Chunk {
            index,
            rank: rest,
            outer: [d0, d1, d2],
            row,
            rows: self.tile_rows.min(self.rows - row),
            col,
            cols: self.tile_cols.min(self.cols - col),
        }
    }

    /// Where a chunk lies in the root's tensor.
    ///
    /// # Errors
    /// [`CommError::UnknownExtent`] if a stride is unknown.
    pub fn in_root(&self, chunk: &Chunk, local: &Tensor) -> Result<Region, CommError> {
        region(local, chunk, chunk.rank * self.rows + chunk.row)
    }

    /// Where a chunk lies in its rank's tensor.
    ///
    /// # Errors
    /// [`CommError::UnknownExtent`] if a stride is unknown.
    pub fn in_rank(&self, chunk: &Chunk, tensor: &Tensor) -> Result<Region, CommError> {
        region(tensor, chunk, chunk.row)
    }

    /// Where a chunk lies in its staging buffer, which holds no padding: padding never travels.
    pub fn in_staging(&self, chunk: &Chunk) -> Region {
        Region::dense(chunk.rows, chunk.cols, self.element)
    }

    /// Every index of dimensions 0 to 2.
    pub(crate) fn outers(&self) -> impl Iterator<Item = [u64; 3]> {
        let [d0, d1, d2] = self.outer;
        (0..d0).flat_map(move |a| (0..d1).flat_map(move |b| (0..d2).map(move |c| [a, b, c])))
    }

    /// Bytes at one index of dimensions 0 to 2, of all ranks together.
    pub(crate) fn bytes_per_outer(&self) -> u64 {
        saturating_product(&[self.ranks, self.rows, self.cols, self.element])
    }

    /// Rows of one rank.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Number of ranks.
    pub(crate) fn ranks(&self) -> u64 {
        self.ranks
    }

    /// Columns of a row.
    pub(crate) fn cols(&self) -> u64 {
        self.cols
    }
}

fn region(tensor: &Tensor, chunk: &Chunk, row: u64) -> Result<Region, CommError> {
    let size = tensor.element.size();
    let mut strides = [0; 5];
    for (stride, extent) in strides.iter_mut().zip(tensor.strides) {
        // A dimension of extent 1 may have any stride: it is never multiplied by more than 0.
        *stride = known(extent)?.saturating_mul(size);
    }
    let [a, b, c] = chunk.outer;
    let at = [a, b, c, row, chunk.col];
    Ok(Region {
        offset: at.iter().zip(strides).map(|(at, stride)| at.saturating_mul(stride)).fold(0, u64::saturating_add),
        rows: chunk.rows,
        row_stride: strides[3],
        cols: chunk.cols,
        col_stride: strides[4],
        element: size,
    })
}

/// The chunks of a [`ChunkPlan`], in order.
#[derive(Clone, Debug)]
pub struct Chunks {
    plan: ChunkPlan,
    next: u64,
    end: u64,
}

impl Iterator for Chunks {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let index = self.next;
        (index < self.end).then(|| {
            self.next += 1;
            self.plan.locate(index)
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end - self.next;
        (usize::try_from(left).unwrap_or(usize::MAX), usize::try_from(left).ok())
    }
}
