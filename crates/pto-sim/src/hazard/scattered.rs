//! Accesses to scattered elements: for each pipe, the epoch and step of the last access to each element.

use pto_ir::Pipe;

use super::{Access, Kind, Race};
use crate::clock::{Clock, slot};
use crate::slots::Slots;

/// Steps fit into the low bits of a mark, epochs into the others.
const STEP_BITS: u32 = 24;

/// The last access of one pipe, in one way, to each element of a buffer.
#[derive(Clone, Debug)]
struct Layer {
    pipe: Pipe,
    kind: Kind,
    /// Bytes of an element.
    size: u64,
    /// The latest epoch in `marks`: if that was seen, all were.
    latest: u64,
    /// Epoch and step of the last access to each element; 0 where there was none.
    marks: Vec<u64>,
}

/// The scattered accesses to one buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scattered {
    /// At most one for each pipe, way and element size.
    layers: Vec<Layer>,
}

impl Layer {
    fn unpack(&self, mark: u64) -> Access {
        Access { pipe: self.pipe, epoch: mark >> STEP_BITS, step: (mark & ((1 << STEP_BITS) - 1)) as u32 }
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
        let position = self.marks.get(first..last)?.iter().position(|mark| mark >> STEP_BITS > seen)?;
        let element = first + position;
        let byte = (element as u64 * self.size).max(start);
        Some(Race { earlier: self.unpack(self.marks[element]), earlier_kind: self.kind, byte })
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

    /// Records accesses to elements of a buffer of `length` bytes and reports the first race.
    pub(crate) fn access(
        &mut self,
        kind: Kind,
        access: Access,
        clock: &Clock,
        (length, size): (u64, u64),
        elements: &Slots,
    ) -> Option<Race> {
        let mut race = None;
        for layer in self.layers.iter().filter(|layer| layer.matters(kind, access.pipe, clock)) {
            race = race.or_else(|| {
                elements.starts.iter().find_map(|e| layer.find(clock, e * size, (e + elements.length) * size))
            });
        }
        let layer = self.layer(kind, access.pipe, length, size);
        layer.latest = access.epoch;
        let mark = access.epoch << STEP_BITS | u64::from(access.step) & ((1 << STEP_BITS) - 1);
        if elements.length == 1 {
            for start in &elements.starts {
                if let Some(slot) = layer.marks.get_mut(*start as usize) {
                    *slot = mark;
                }
            }
        } else {
            for start in &elements.starts {
                if let Some(slots) = layer.marks.get_mut(*start as usize..(start + elements.length) as usize) {
                    slots.fill(mark);
                }
            }
        }
        race
    }

    fn layer(&mut self, kind: Kind, pipe: Pipe, length: u64, size: u64) -> &mut Layer {
        let same = |layer: &Layer| (layer.kind, layer.pipe, layer.size) == (kind, pipe, size);
        let position = self.layers.iter().position(same).unwrap_or_else(|| {
            let marks = vec![0; (length / size) as usize];
            self.layers.push(Layer { pipe, kind, size, latest: 0, marks });
            self.layers.len() - 1
        });
        &mut self.layers[position]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clocks;

    #[test]
    fn only_the_elements_that_were_hit_race() {
        let mut clocks = Clocks::new();
        let mut scattered = Scattered::default();
        let write = Access { pipe: Pipe::V, epoch: clocks.epoch(Pipe::V), step: 7 };
        let hit = Slots { starts: vec![3, 9], length: 1, runs_per_lane: 1 };
        assert_eq!(scattered.access(Kind::Write, write, clocks.of(Pipe::V), (64, 4), &hit), None);
        let read = Access { pipe: Pipe::Mte2, epoch: 1, step: 8 };
        let find = |scattered: &Scattered, clocks: &Clocks, start, end| {
            scattered.find(Kind::Read, read, clocks.of(Pipe::Mte2), start, end).map(|race| (race.earlier, race.byte))
        };
        assert_eq!(find(&scattered, &clocks, 0, 12), None);
        assert_eq!(find(&scattered, &clocks, 0, 13), Some((write, 12)));
        assert_eq!(find(&scattered, &clocks, 38, 64), Some((write, 38)));
        clocks.order(Pipe::V, Pipe::Mte2);
        assert_eq!(find(&scattered, &clocks, 0, 64), None);
    }
}
