//! Which rank holds which rows.

use std::ops::Range;

/// Rows in equal blocks, one per rank in rank order; where they do not divide, the first ranks hold one more.
///
/// ```
/// use pto_comm::Partition;
/// let partition = Partition::new(10, 4);
/// assert_eq!((0..4).map(|r| partition.rows(r)).collect::<Vec<_>>(), [0..3, 3..6, 6..8, 8..10]);
/// assert_eq!(partition.owner(7), 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    rows: u64,
    ranks: u64,
}

impl Partition {
    /// `rows` rows over `ranks` ranks.
    pub const fn new(rows: u64, ranks: usize) -> Self {
        Self { rows, ranks: if ranks == 0 { 1 } else { ranks as u64 } }
    }

    /// All rows.
    pub const fn total(&self) -> u64 {
        self.rows
    }

    /// Number of ranks.
    pub const fn ranks(&self) -> usize {
        self.ranks as usize
    }

    /// The rows of a rank; empty for a rank that there is not.
    pub fn rows(&self, rank: usize) -> Range<u64> {
        let (each, more) = (self.rows / self.ranks, self.rows % self.ranks);
        let start = |rank: u64| rank.min(self.ranks) * each + rank.min(more);
        start(rank as u64)..start((rank as u64).saturating_add(1))
    }

    /// The rank that holds a row; the last rank for a row that there is not.
    pub fn owner(&self, row: u64) -> usize {
        let (each, more) = (self.rows / self.ranks, self.rows % self.ranks);
        let larger = more * (each + 1);
        let rank = if row < larger { row / (each + 1) } else { more + (row - larger) / each.max(1) };
        rank.min(self.ranks - 1) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_the_owner_that_holds_it() {
        for (rows, ranks) in [(0, 3), (1, 1), (2, 7), (7, 2), (100, 7), (49, 7)] {
            let partition = Partition::new(rows, ranks);
            let held: Vec<u64> = (0..ranks).flat_map(|rank| partition.rows(rank)).collect();
            assert_eq!(held, (0..rows).collect::<Vec<_>>());
            for row in 0..rows {
                assert!(partition.rows(partition.owner(row)).contains(&row), "row {row} of {rows} over {ranks}");
            }
        }
    }
}
