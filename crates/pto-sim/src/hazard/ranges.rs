//! Accesses to contiguous bytes: disjoint ranges, each with its last write and the last read of each pipe.

use std::collections::BTreeMap;

use pto_ir::Pipe;

use super::{Access, Kind, Race, Races};
use crate::clock::{Clock, PIPES, slot};

/// What is known of the bytes of one range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cell {
    end: u64,
    write: Option<Access>,
    reads: [Option<Access>; PIPES],
}

/// A map of disjoint ranges of bytes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranges {
    cells: BTreeMap<u64, Cell>,
}

/// A kept access that a pipe has not seen, and its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unseen {
    pub(crate) access: Access,
    pub(crate) kind: Kind,
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Cell {
    /// The kept accesses that race with one of this kind.
    fn races(&self, kind: Kind, pipe: Pipe, clock: &Clock) -> impl Iterator<Item = (Access, Kind)> {
        let reads: &[Option<Access>] = if kind == Kind::Write { &self.reads } else { &[] };
        let reads = reads.iter().flatten().map(|access| (*access, Kind::Read));
        let all = self.write.map(|access| (access, Kind::Write)).into_iter().chain(reads);
        all.filter(move |(access, _)| access.unseen_by(pipe, clock))
    }

    fn record(&mut self, kind: Kind, access: Access) {
        match kind {
            Kind::Read => self.reads[slot(access.pipe)] = Some(access),
            Kind::Write => {
                self.write = Some(access);
                self.reads = [None; PIPES];
            }
        }
    }
}

impl Ranges {
    /// Records an access to `start..end` and reports the races that it is part of.
    pub(crate) fn access(
        &mut self,
        kind: Kind,
        access: Access,
        clock: &Clock,
        (start, end): (u64, u64),
        races: &mut Races,
    ) {
        if let Some(cell) = self.known(kind, access, (start, end)) {
            let found = cell.races(kind, access.pipe, clock);
            return races.extend(found.map(|(earlier, earlier_kind)| Race { earlier, earlier_kind, byte: start }));
        }
        self.split(start);
        self.split(end);
        let mut gaps = Vec::new();
        let mut next = start;
        for (&at, cell) in self.cells.range_mut(start..end) {
            if at > next {
                gaps.push((next, at));
            }
            next = cell.end;
            let found = cell.races(kind, access.pipe, clock);
            races.extend(found.map(|(earlier, earlier_kind)| Race { earlier, earlier_kind, byte: at }));
            cell.record(kind, access);
        }
        if next < end {
            gaps.push((next, end));
        }
        for (from, to) in gaps {
            let mut cell = Cell { end: to, ..Cell::default() };
            cell.record(kind, access);
            self.cells.insert(from, cell);
        }
        self.merge(start, end);
    }

    /// The range around `start..end`, if recording the access would change nothing: a loop reads the same tiles every
    /// round.
    fn known(&self, kind: Kind, access: Access, (start, end): (u64, u64)) -> Option<&Cell> {
        let (_, cell) = self.cells.range(..=start).next_back().filter(|(_, cell)| end <= cell.end)?;
        let last = match kind {
            Kind::Read => cell.reads[slot(access.pipe)],
            Kind::Write => cell.write.filter(|_| cell.reads == [None; PIPES]),
        };
        (last == Some(access)).then_some(cell)
    }

    /// The kept accesses within `start..end` that would race with an access of a pipe.
    pub(crate) fn unseen(&self, kind: Kind, pipe: Pipe, clock: &Clock, start: u64, end: u64) -> Vec<Unseen> {
        let first = self.cells.range(..start).next_back().filter(|(_, cell)| cell.end > start);
        let cells = first.into_iter().chain(self.cells.range(start..end));
        cells
            .flat_map(|(&at, cell)| {
                let found = cell.races(kind, pipe, clock);
                found.map(move |(access, kind)| Unseen { access, kind, start: at, end: cell.end })
            })
            .collect()
    }

    /// Makes `at` a border between ranges.
    fn split(&mut self, at: u64) {
        if let Some((_, cell)) = self.cells.range_mut(..at).next_back()
            && cell.end > at
        {
            let right = *cell;
            cell.end = at;
            self.cells.insert(at, right);
        }
    }

    /// Joins neighbours with the same history, so that the map stays as small as the accesses are regular.
    fn merge(&mut self, start: u64, end: u64) {
        let before = self.cells.range(..start).next_back().map_or(start, |(&at, _)| at);
        let mut at = before;
        while let Some((&next, next_cell)) = self.cells.range(at + 1..).next() {
            if next > end {
                break;
            }
            let next_cell = *next_cell;
            match self.cells.get_mut(&at) {
                Some(cell) if cell.end == next && Cell { end: 0, ..*cell } == Cell { end: 0, ..next_cell } => {
                    cell.end = next_cell.end;
                    self.cells.remove(&next);
                }
                _ => at = next,
            }
        }
    }

    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.cells.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clocks;

    fn at(pipe: Pipe, clocks: &Clocks, step: u32) -> Access {
        Access { pipe, epoch: clocks.epoch(pipe), step }
    }

    fn touch(ranges: &mut Ranges, kind: Kind, access: Access, clocks: &Clocks, bytes: (u64, u64)) -> Vec<Race> {
        let mut races = Races::default();
        ranges.access(kind, access, clocks.of(access.pipe), bytes, &mut races);
        races.into_iter().collect()
    }

    #[test]
    fn an_unordered_read_after_write_races_and_an_ordered_one_does_not() {
        let mut clocks = Clocks::new();
        let mut ranges = Ranges::default();
        let write = at(Pipe::Mte2, &clocks, 1);
        assert_eq!(touch(&mut ranges, Kind::Write, write, &clocks, (0, 64)), []);
        let read = at(Pipe::V, &clocks, 2);
        let race = touch(&mut ranges, Kind::Read, read, &clocks, (32, 96));
        assert_eq!(race, [Race { earlier: write, earlier_kind: Kind::Write, byte: 32 }]);
        clocks.order(Pipe::Mte2, Pipe::V);
        assert_eq!(touch(&mut ranges, Kind::Read, at(Pipe::V, &clocks, 3), &clocks, (0, 64)), []);
    }

    #[test]
    fn an_access_again_races_again_and_where_it_begins() {
        let clocks = Clocks::new();
        let mut ranges = Ranges::default();
        let (write, read) = (at(Pipe::Mte2, &clocks, 1), at(Pipe::V, &clocks, 2));
        assert_eq!(touch(&mut ranges, Kind::Write, write, &clocks, (0, 64)), []);
        for (start, end) in [(0, 64), (0, 64), (16, 64), (16, 32)] {
            let race = touch(&mut ranges, Kind::Read, read, &clocks, (start, end));
            assert_eq!(race, [Race { earlier: write, earlier_kind: Kind::Write, byte: start }]);
        }
        // The same write again is one after the read.
        let race = touch(&mut ranges, Kind::Write, write, &clocks, (0, 64));
        assert_eq!(race, [Race { earlier: read, earlier_kind: Kind::Read, byte: 0 }]);
        assert_eq!(touch(&mut ranges, Kind::Write, write, &clocks, (8, 32)), []);
        assert_eq!(touch(&mut ranges, Kind::Read, read, &clocks, (63, 65)).len(), 1);
        assert_eq!(ranges.len(), 3);
    }

    #[test]
    fn a_write_races_with_any_unseen_read_and_bytes_beside_do_not_matter() {
        let clocks = Clocks::new();
        let mut ranges = Ranges::default();
        let read = at(Pipe::Mte3, &clocks, 1);
        assert_eq!(touch(&mut ranges, Kind::Read, read, &clocks, (0, 32)), []);
        assert_eq!(touch(&mut ranges, Kind::Write, at(Pipe::Mte2, &clocks, 2), &clocks, (32, 64)), []);
        let race = touch(&mut ranges, Kind::Write, at(Pipe::Mte2, &clocks, 3), &clocks, (31, 33));
        assert_eq!(race, [Race { earlier: read, earlier_kind: Kind::Read, byte: 31 }]);
    }

    #[test]
    fn every_step_that_races_is_named_once() {
        let clocks = Clocks::new();
        let mut ranges = Ranges::default();
        let load = at(Pipe::Mte2, &clocks, 1);
        assert_eq!(touch(&mut ranges, Kind::Write, load, &clocks, (0, 64)), []);
        // A scalar write in the middle, whose own race is its own matter, cuts the load's bytes in two.
        let scalar = at(Pipe::S, &clocks, 2);
        assert_eq!(touch(&mut ranges, Kind::Write, scalar, &clocks, (12, 16)).len(), 1);
        let store = at(Pipe::Mte3, &clocks, 3);
        let steps = |races: Vec<Race>| races.iter().map(|race| race.earlier.step).collect::<Vec<_>>();
        assert_eq!(steps(touch(&mut ranges, Kind::Read, store, &clocks, (0, 64))), [1, 2]);
        // A write is not ordered after the reads either.
        let overwrite = at(Pipe::V, &clocks, 4);
        assert_eq!(steps(touch(&mut ranges, Kind::Write, overwrite, &clocks, (0, 64))), [1, 3, 2]);
    }

    #[test]
    fn repeating_the_same_accesses_does_not_grow_the_map() {
        let mut clocks = Clocks::new();
        let mut ranges = Ranges::default();
        for round in 0..1000 {
            for tile in 0..4 {
                let access = at(Pipe::Mte2, &clocks, round);
                touch(&mut ranges, Kind::Write, access, &clocks, (tile * 1024, (tile + 1) * 1024));
            }
            clocks.order(Pipe::Mte2, Pipe::V);
        }
        assert_eq!(ranges.len(), 1);
    }
}
