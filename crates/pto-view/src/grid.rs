//! Grids of cells: each cell one item where there is room, and a range of items where there is not.

/// How many items a cell stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bin {
    /// A block of rows and columns.
    Block(u64, u64),
    /// A run of items in row-major order; the grid's rows are then not the tile's.
    Run(u64),
}

/// A grid on the canvas.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    cols: u64,
    items: u64,
    bin: Bin,
    /// Rows and columns of cells.
    pub(crate) shown: (usize, usize),
    cell: (f64, f64),
    /// Upper left corner.
    pub(crate) at: (f64, f64),
}

impl Grid {
    /// A grid of `rows` by `cols` items in at most `most` rows and columns of cells.
    ///
    /// What does not fit is binned by blocks; as runs in row-major order if `as_runs` says so or blocks would be slivers.
    pub(crate) fn fit((rows, cols): (u64, u64), most: (u64, u64), as_runs: bool) -> Self {
        let (rows, cols) = (rows.max(1), cols.max(1));
        let items = rows.saturating_mul(cols);
        let fits = rows <= most.0 && cols <= most.1;
        let (bin, shown) = if !fits && (as_runs || (rows.min(cols) < 8 && cols > 1)) {
            let per = items.div_ceil(most.0 * most.1);
            let cells = items.div_ceil(per);
            (Bin::Run(per), (cells.div_ceil(most.1), most.1.min(cells)))
        } else {
            let (down, across) = (rows.div_ceil(most.0), cols.div_ceil(most.1));
            (Bin::Block(down, across), (rows.div_ceil(down), cols.div_ceil(across)))
        };
        Self { cols, items, bin, shown: (shown.0 as usize, shown.1 as usize), cell: (0.0, 0.0), at: (0.0, 0.0) }
    }

    /// Sets the size of a cell so that the grid fits into a room, no larger than `most`.
    pub(crate) fn scale(&mut self, room: (f64, f64), most: (f64, f64)) {
        let (rows, cols) = (self.shown.0 as f64, self.shown.1 as f64);
        self.cell = ((room.0 / cols).min(most.0), (room.1 / rows).min(most.1));
    }

    /// Width and height.
    pub(crate) fn size(&self) -> (f64, f64) {
        (self.cell.0 * self.shown.1 as f64, self.cell.1 * self.shown.0 as f64)
    }

    /// Number of cells.
    pub(crate) fn cells(&self) -> usize {
        self.shown.0 * self.shown.1
    }

    /// True if every cell is one item.
    pub(crate) fn is_exact(&self) -> bool {
        matches!(self.bin, Bin::Block(1, 1) | Bin::Run(1))
    }

    /// Items in a cell.
    pub(crate) fn items_per_cell(&self) -> u64 {
        match self.bin {
            Bin::Block(down, across) => down * across,
            Bin::Run(per) => per,
        }
    }

    /// The cell of an item, counted in row-major order.
    pub(crate) fn cell_of(&self, item: u64) -> usize {
        let at = match self.bin {
            Bin::Block(down, across) => {
                let (row, col) = (item / self.cols / down, item % self.cols / across);
                row as usize * self.shown.1 + col as usize
            }
            Bin::Run(per) => (item / per) as usize,
        };
        at.min(self.cells() - 1)
    }

    /// The first item of a cell, in row-major order; `None` for a cell after the last item.
    pub(crate) fn first_item(&self, cell: usize) -> Option<u64> {
        let (row, col) = ((cell / self.shown.1) as u64, (cell % self.shown.1) as u64);
        let item = match self.bin {
            Bin::Block(down, across) => (row * down).saturating_mul(self.cols).saturating_add(col * across),
            Bin::Run(per) => cell as u64 * per,
        };
        (item < self.items).then_some(item)
    }

    /// Place and size of a cell, with a gap to its neighbours.
    pub(crate) fn rect(&self, cell: usize) -> [f64; 4] {
        let (row, col) = ((cell / self.shown.1) as f64, (cell % self.shown.1) as f64);
        let gap = if self.cell.0.min(self.cell.1) > 14.0 { 1.0 } else { 0.5 };
        [
            self.at.0 + col * self.cell.0 + gap,
            self.at.1 + row * self.cell.1 + gap,
            self.cell.0 - 2.0 * gap,
            self.cell.1 - 2.0 * gap,
        ]
    }

    /// Labels of the rows of cells: what number the first item has, and the height of its middle; thinned out.
    pub(crate) fn row_labels(&self) -> Vec<(u64, f64)> {
        let every = (12.0 / self.cell.1).ceil().max(1.0) as usize;
        let number = |row: usize| match self.bin {
            Bin::Block(down, _) => row as u64 * down,
            Bin::Run(per) => (row * self.shown.1) as u64 * per,
        };
        let middle = |row: usize| self.at.1 + (row as f64 + 0.5) * self.cell.1;
        (0..self.shown.0).step_by(every).map(|row| (number(row), middle(row))).collect()
    }

    /// Labels of the columns, the same way; none where rows are runs, for their columns have no number.
    pub(crate) fn column_labels(&self) -> Vec<(u64, f64)> {
        let Bin::Block(_, across) = self.bin else { return Vec::new() };
        if self.cols == 1 {
            return Vec::new();
        }
        let every = (22.0 / self.cell.0).ceil().max(1.0) as usize;
        let middle = |col: usize| self.at.0 + (col as f64 + 0.5) * self.cell.0;
        (0..self.shown.1).step_by(every).map(|col| (col as u64 * across, middle(col))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_grids_are_exact() {
        let grid = Grid::fit((3, 4), (16, 16), true);
        assert!(grid.is_exact());
        assert_eq!(grid.shown, (3, 4));
        assert_eq!((grid.cell_of(5), grid.first_item(5)), (5, Some(5)));
    }

    #[test]
    fn large_grids_are_blocks_or_runs() {
        let blocks = Grid::fit((128, 64), (20, 20), false);
        assert_eq!((blocks.shown, blocks.items_per_cell()), ((19, 16), 7 * 4));
        assert_eq!(blocks.cell_of(127 * 64 + 63), 19 * 16 - 1);
        let runs = Grid::fit((1, 1 << 20), (24, 32), true);
        assert!(runs.cells() <= 24 * 32);
        assert_eq!(runs.cell_of((1 << 20) - 1), ((1 << 20) - 1) / runs.items_per_cell() as usize);
    }

    #[test]
    fn every_item_is_in_a_cell_that_begins_at_or_before_it() {
        for shape in [(1, 1), (0, 0), (7, 300), (300, 7), (33, 33), (u64::MAX, 2)] {
            for runs in [false, true] {
                let grid = Grid::fit(shape, (20, 20), runs);
                assert!(grid.cells() <= 400, "{shape:?}");
                for item in [0, 1, 20, shape.0.saturating_mul(shape.1).saturating_sub(1)] {
                    let first = grid.first_item(grid.cell_of(item));
                    assert!(first.is_some_and(|first| first <= item), "{shape:?} {item} {first:?}");
                }
            }
        }
    }
}
