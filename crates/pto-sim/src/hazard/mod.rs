//! The race detector: two accesses to overlapping bytes, one of them a write, that nothing orders.
//!
//! Theory: happens-before by vector clocks ([`crate::clock`]). For each byte the last write is kept, and the last read
//! of each pipe since; an access races with a kept one that its pipe has not seen. Keeping only the last suffices: an
//! earlier access was either ordered before the later one, and is then ordered before whatever that one is, or the
//! pair was reported when the later one came. So the detector is complete for the executed path, and it does not
//! depend on timing.
//!
//! Contiguous accesses live in a map of ranges ([`ranges`]). Scattered ones (the table of a gather or scatter) would
//! make one range per lane, so they go to sets of elements beside the buffer ([`scattered`]), one bit per element.
//!
//! Limits: only the path that was executed is judged, and every rank by itself.

mod elements;
mod ranges;
mod scattered;

use pto_ir::Pipe;

pub(crate) use ranges::Ranges;
pub(crate) use scattered::{Scattered, Seen};

use crate::clock::{Clock, slot};
use crate::slots::Slots;

/// An access that may still race: where it ran, in which epoch, and which step made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) pipe: Pipe,
    pub(crate) epoch: u64,
    pub(crate) step: u32,
}

impl Access {
    /// True if a pipe with this clock has not seen the access.
    pub(crate) fn unseen_by(&self, pipe: Pipe, clock: &Clock) -> bool {
        self.pipe != pipe && clock.0[slot(self.pipe)] < self.epoch
    }
}

/// Reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
}

/// Two accesses that race: the earlier one, and where they meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Race {
    pub(crate) earlier: Access,
    pub(crate) earlier_kind: Kind,
    /// First byte that both touch.
    pub(crate) byte: u64,
}

/// Different steps whose accesses race with one access, the first so many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Races(Vec<Race>);

impl Races {
    const MOST: usize = 8;

    fn known(&self, step: u32, kind: Kind) -> bool {
        self.0.len() == Self::MOST || self.0.iter().any(|race| (race.earlier.step, race.earlier_kind) == (step, kind))
    }

    pub(crate) fn extend(&mut self, more: impl IntoIterator<Item = Race>) {
        for race in more {
            if !self.known(race.earlier.step, race.earlier_kind) {
                self.0.push(race);
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The latest first, as the access at `step` sees them: what is ordered after that is often ordered after the others.
    pub(crate) fn latest_first(mut self, step: u32) -> Vec<Race> {
        self.0.sort_by_key(|race| core::cmp::Reverse((race.earlier.step < step, race.earlier.step)));
        self.0
    }
}

impl IntoIterator for Races {
    type Item = Race;
    type IntoIter = std::vec::IntoIter<Race>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The accesses to one memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shadow {
    ranges: Ranges,
    scattered: Scattered,
}

impl Shadow {
    /// A contiguous access to bytes `start..end`, and the races that it is part of.
    pub(crate) fn access(&mut self, kind: Kind, access: Access, clock: &Clock, start: u64, end: u64) -> Races {
        let mut races = Races::default();
        if start < end {
            self.ranges.access(kind, access, clock, (start, end), &mut races);
            races.extend(self.scattered.find(kind, access, clock, start, end));
        }
        races
    }

    /// Looks at the elements that an instruction is about to touch; returns the starts of lanes that met.
    pub(crate) fn hit(&mut self, kind: Kind, pipe: Pipe, buffer: (u64, u64), elements: &Slots) -> Vec<u64> {
        self.scattered.hit(kind, pipe, buffer, elements)
    }

    /// A scattered access to elements that were [`hit`](Self::hit) before or not, in a buffer of this many bytes with
    /// so many for each element, and the races that it is part of.
    pub(crate) fn settle(
        &mut self,
        kind: Kind,
        access: Access,
        (clock, seen): (&Clock, impl FnOnce() -> Seen),
        (length, size): (u64, u64),
        (elements, hit): (&Slots, bool),
    ) -> Races {
        let mut races = Races::default();
        // Usually nothing in the whole buffer is unseen; only otherwise is each lane looked at.
        for unseen in self.ranges.unseen(kind, access.pipe, clock, 0, length) {
            if races.known(unseen.access.step, unseen.kind) {
                continue;
            }
            let meets = elements.starts.iter().find_map(|start| {
                let (from, to) = (start * size, (start + elements.length) * size);
                (from < unseen.end && unseen.start < to).then(|| from.max(unseen.start))
            });
            races.extend(meets.map(|byte| Race { earlier: unseen.access, earlier_kind: unseen.kind, byte }));
        }
        races.extend(self.scattered.settle(kind, access, (clock, seen), (length, size), (elements, hit)));
        races
    }
}
