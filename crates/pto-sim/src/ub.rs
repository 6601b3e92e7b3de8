//! What each byte of UB holds: nothing yet, or data of a tile; and which tiles have lost theirs.

use std::collections::BTreeMap;

/// A tile, for the question of whose data a byte holds: subviews count as their parent.
pub(crate) type Owner = u32;

/// Who overwrote a tile's data, and in which step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loss {
    pub(crate) loser: Owner,
    pub(crate) winner: Owner,
    pub(crate) step: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    end: u64,
    owner: Owner,
    lost: Vec<Loss>,
}

/// What is wrong with a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Nothing has written this byte.
    Uninitialised(u64),
    /// The tile's data at this byte is gone.
    Clobbered(u64, Loss),
}

/// The contents of UB, as ranges.
#[derive(Clone, Debug, Default)]
pub(crate) struct Contents {
    cells: BTreeMap<u64, Cell>,
}

impl Contents {
    /// A tile writes `start..end` in a step.
    pub(crate) fn write(&mut self, owner: Owner, start: u64, end: u64, step: u32) {
        if start >= end {
            return;
        }
        self.split(start);
        self.split(end);
        let mut lost: Vec<Loss> = Vec::new();
        let inside: Vec<u64> = self.cells.range(start..end).map(|(at, _)| *at).collect();
        for at in inside {
            if let Some(cell) = self.cells.remove(&at) {
                lost.extend(cell.lost.into_iter().filter(|loss| loss.loser != owner));
                if cell.owner != owner {
                    lost.push(Loss { loser: cell.owner, winner: owner, step });
                }
            }
        }
        // One loss per tile says enough, and keeps the list as short as there are tiles at this place.
        lost.sort_by_key(|loss| loss.loser);
        lost.dedup_by_key(|loss| loss.loser);
        self.cells.insert(start, Cell { end, owner, lost });
        self.merge_with_previous(start);
    }

    /// A tile reads `start..end`.
    pub(crate) fn read(&self, owner: Owner, start: u64, end: u64) -> Option<Problem> {
        let mut next = start;
        let first = self.cells.range(..=start).next_back().filter(|(_, cell)| cell.end > start);
        for (&at, cell) in first.into_iter().chain(self.cells.range(start + 1..end.max(start + 1))) {
            if at > next {
                return Some(Problem::Uninitialised(next));
            }
            if let Some(loss) = cell.lost.iter().find(|loss| loss.loser == owner) {
                return Some(Problem::Clobbered(at.max(start), *loss));
            }
            next = cell.end;
        }
        (next < end).then_some(Problem::Uninitialised(next))
    }

    fn split(&mut self, at: u64) {
        if let Some((_, cell)) = self.cells.range_mut(..at).next_back()
            && cell.end > at
        {
            let right = cell.clone();
            cell.end = at;
            self.cells.insert(at, right);
        }
    }

    fn merge_with_previous(&mut self, start: u64) {
        let Some(cell) = self.cells.get(&start).cloned() else { return };
        if let Some((_, previous)) = self.cells.range_mut(..start).next_back()
            && previous.end == start
            && previous.owner == cell.owner
            && previous.lost == cell.lost
        {
            previous.end = cell.end;
            self.cells.remove(&start);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwritten_bytes_are_found_at_their_place() {
        let mut ub = Contents::default();
        ub.write(1, 32, 64, 0);
        assert_eq!(ub.read(1, 32, 64), None);
        assert_eq!(ub.read(1, 32, 65), Some(Problem::Uninitialised(64)));
        assert_eq!(ub.read(1, 0, 64), Some(Problem::Uninitialised(0)));
        assert_eq!(ub.read(1, 70, 80), Some(Problem::Uninitialised(70)));
    }

    #[test]
    fn a_tile_that_lost_its_data_may_not_read_it_but_an_alias_may() {
        let mut ub = Contents::default();
        ub.write(1, 0, 64, 0);
        ub.write(2, 32, 96, 5);
        assert_eq!(ub.read(1, 0, 32), None);
        assert_eq!(ub.read(1, 0, 64), Some(Problem::Clobbered(32, Loss { loser: 1, winner: 2, step: 5 })));
        assert_eq!(ub.read(3, 0, 96), None, "a tile that never wrote here is another view of the bytes");
        ub.write(1, 0, 64, 6);
        assert_eq!(ub.read(1, 0, 64), None);
        assert_eq!(ub.read(2, 64, 96), None);
    }

    #[test]
    fn writing_the_same_rows_again_does_not_grow_the_map() {
        let mut ub = Contents::default();
        for step in 0..1000 {
            for row in 0..16 {
                ub.write(1, row * 64, row * 64 + 64, step);
            }
        }
        assert_eq!(ub.cells.len(), 1);
    }
}
