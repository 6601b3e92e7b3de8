//! Accesses to scattered elements: for each pipe and way, which access touched each element last.
//!
//! An element holds the number of an access, which is new for every instruction executed. So one pass over the lanes
//! both records them and shows which of them meet: an element that already holds the number was hit before.

use pto_ir::Pipe;

use super::{Access, Kind, Race};
use crate::clock::{Clock, slot};
use crate::slots::Slots;

/// Accesses that are remembered before those that no element holds any more are forgotten.
const REMEMBERED: usize = 1 << 20;

/// The last access of one pipe, in one way, to each element of a buffer.
#[derive(Clone, Debug)]
struct Layer {
    pipe: Pipe,
    kind: Kind,
    /// Bytes of an element.
    size: u64,
    /// The latest epoch: if that was seen, all were.
    latest: u64,
    /// The number of the last access to each element; 0 where there was none.
    marks: Vec<u32>,
    /// Epoch and step of each access, by its number.
    accesses: Vec<(u64, u32)>,
}

/// The scattered accesses to one buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scattered {
    /// At most one for each pipe, way and element size.
    layers: Vec<Layer>,
}

impl Layer {
    fn access(&self, mark: u32) -> Access {
        let (epoch, step) = self.accesses[mark as usize];
        Access { pipe: self.pipe, epoch, step }
    }

    /// True if the layer may hold an access that races with one of `kind` by a pipe with this clock.
    fn matters(&self, kind: Kind, pipe: Pipe, clock: &Clock) -> bool {
        (kind == Kind::Write || self.kind == Kind::Write) && self.pipe != pipe && clock.0[slot(self.pipe)] < self.latest
    }

    /// The first unseen element that overlaps bytes `start..end`.
    fn find(&self, clock: &Clock, start: u64, end: u64) -> Option<Race> {
        let seen = clock.0[slot(self.pipe)];
        let first = (start / self.size) as usize;
        let last = (end.div_ceil(self.size) as usize).min(self.marks.len());
        let unseen = |mark: &u32| *mark != 0 && self.accesses[*mark as usize].0 > seen;
        let element = first + self.marks.get(first..last)?.iter().position(unseen)?;
        let byte = (element as u64 * self.size).max(start);
        Some(Race { earlier: self.access(self.marks[element]), earlier_kind: self.kind, byte })
    }

    /// A number for a new access.
    fn number(&mut self) -> u32 {
        if self.accesses.len() >= REMEMBERED {
            self.forget();
        }
        self.accesses.push((0, 0));
        (self.accesses.len() - 1) as u32
    }

    /// Forgets accesses that no element holds any more.
    fn forget(&mut self) {
        let mut numbers = vec![0u32; self.accesses.len()];
        let mut kept = vec![(0, 0)];
        for mark in &mut self.marks {
            let number = &mut numbers[*mark as usize];
            if *mark != 0 && *number == 0 {
                *number = kept.len() as u32;
                kept.push(self.accesses[*mark as usize]);
            }
            *mark = *number;
        }
        self.accesses = kept;
    }

    /// Marks the elements and returns the starts that were marked by this access before.
    fn mark(&mut self, elements: &Slots, number: u32) -> Vec<u64> {
        let mut meeting = Vec::new();
        for start in &elements.starts {
            let Some(slots) = self.marks.get_mut(*start as usize..(start + elements.length) as usize) else { continue };
            if slots.first() == Some(&number) {
                meeting.push(*start);
            }
            slots.fill(number);
        }
        meeting
    }
}

impl Scattered {
    /// A contiguous access to `start..end`: does it race with a scattered one?
    pub(crate) fn find(&self, kind: Kind, access: Access, clock: &Clock, start: u64, end: u64) -> Option<Race> {
        self.layers
            .iter()
            .filter(|layer| layer.matters(kind, access.pipe, clock))
            .find_map(|layer| layer.find(clock, start, end))
    }

    /// Marks elements of a buffer of `length` bytes as accessed; returns the number of the access and where lanes meet.
    pub(crate) fn mark(&mut self, kind: Kind, pipe: Pipe, length: u64, size: u64, elements: &Slots) -> (u32, Vec<u64>) {
        let same = |layer: &Layer| (layer.kind, layer.pipe, layer.size) == (kind, pipe, size);
        let position = self.layers.iter().position(same).unwrap_or_else(|| {
            let marks = vec![0; (length / size) as usize];
            self.layers.push(Layer { pipe, kind, size, latest: 0, marks, accesses: vec![(0, 0)] });
            self.layers.len() - 1
        });
        let layer = &mut self.layers[position];
        let number = layer.number();
        (number, layer.mark(elements, number))
    }

    /// Says when the marked access happened, and reports the first race with another pipe's.
    pub(crate) fn settle(
        &mut self,
        number: u32,
        kind: Kind,
        access: Access,
        clock: &Clock,
        size: u64,
        elements: &Slots,
    ) -> Option<Race> {
        let same = |layer: &&mut Layer| (layer.kind, layer.pipe, layer.size) == (kind, access.pipe, size);
        if let Some(layer) = self.layers.iter_mut().find(same) {
            layer.latest = access.epoch;
            if let Some(entry) = layer.accesses.get_mut(number as usize) {
                *entry = (access.epoch, access.step);
            }
        }
        let others = self.layers.iter().filter(|layer| layer.matters(kind, access.pipe, clock));
        let meets = |layer: &Layer| {
            let race = |start: &u64| layer.find(clock, start * size, (start + elements.length) * size);
            elements.starts.iter().find_map(race)
        };
        others.map(meets).find_map(|race| race)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clocks;

    fn slots(starts: &[u64]) -> Slots {
        Slots { starts: starts.to_vec(), length: 1, runs_per_lane: 1 }
    }

    fn access(scattered: &mut Scattered, clocks: &Clocks, pipe: Pipe, step: u32, starts: &[u64]) -> Option<Race> {
        let (number, _) = scattered.mark(Kind::Write, pipe, 64, 4, &slots(starts));
        let access = Access { pipe, epoch: clocks.epoch(pipe), step };
        scattered.settle(number, Kind::Write, access, clocks.of(pipe), 4, &slots(starts))
    }

    #[test]
    fn only_the_elements_that_were_hit_race() {
        let mut clocks = Clocks::new();
        let mut scattered = Scattered::default();
        assert_eq!(access(&mut scattered, &clocks, Pipe::V, 7, &[3, 9]), None);
        let write = Access { pipe: Pipe::V, epoch: clocks.epoch(Pipe::V), step: 7 };
        let read = Access { pipe: Pipe::Mte2, epoch: 1, step: 8 };
        let find = |scattered: &Scattered, clocks: &Clocks, start, end| {
            scattered.find(Kind::Read, read, clocks.of(Pipe::Mte2), start, end).map(|race| (race.earlier, race.byte))
        };
        assert_eq!(find(&scattered, &clocks, 0, 12), None);
        assert_eq!(find(&scattered, &clocks, 0, 13), Some((write, 12)));
        assert_eq!(find(&scattered, &clocks, 38, 64), Some((write, 38)));
        assert!(access(&mut scattered, &clocks, Pipe::S, 9, &[9]).is_some());
        clocks.order(Pipe::V, Pipe::Mte2);
        clocks.order(Pipe::S, Pipe::Mte2);
        assert_eq!(find(&scattered, &clocks, 0, 64), None);
    }

    #[test]
    fn lanes_that_meet_are_found_anew_for_every_access() {
        let mut scattered = Scattered::default();
        for _ in 0..3 {
            let (_, meeting) = scattered.mark(Kind::Write, Pipe::V, 64, 4, &slots(&[1, 2, 1, 1]));
            assert_eq!(meeting, [1, 1]);
        }
    }

    #[test]
    fn forgetting_keeps_what_elements_still_hold() {
        let clocks = Clocks::new();
        let mut scattered = Scattered::default();
        access(&mut scattered, &clocks, Pipe::V, 1, &[5]);
        for step in 0..10 {
            access(&mut scattered, &clocks, Pipe::V, step, &[6]);
        }
        scattered.layers[0].forget();
        assert_eq!(scattered.layers[0].accesses.len(), 3);
        let held = scattered.layers[0].access(scattered.layers[0].marks[5]);
        assert_eq!(held.step, 1);
    }
}
