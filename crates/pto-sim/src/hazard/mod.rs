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

/// The accesses to one memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shadow {
    ranges: Ranges,
    scattered: Scattered,
}

impl Shadow {
    /// A contiguous access to bytes `start..end`.
    pub(crate) fn access(&mut self, kind: Kind, access: Access, clock: &Clock, start: u64, end: u64) -> Option<Race> {
        if start >= end {
            return None;
        }
        let race = self.ranges.access(kind, access, clock, start, end);
        race.or_else(|| self.scattered.find(kind, access, clock, start, end))
    }

    /// Looks at the elements that an instruction is about to touch; returns the starts of lanes that met.
    pub(crate) fn hit(&mut self, kind: Kind, pipe: Pipe, buffer: (u64, u64), elements: &Slots) -> Vec<u64> {
        self.scattered.hit(kind, pipe, buffer, elements)
    }

    /// A scattered access to elements that were [`hit`](Self::hit) before or not, in a buffer of this many bytes with
    /// so many for each element; reports the first race.
    pub(crate) fn settle(
        &mut self,
        kind: Kind,
        access: Access,
        (clock, seen): (&Clock, impl FnOnce() -> Seen),
        (length, size): (u64, u64),
        (elements, hit): (&Slots, bool),
    ) -> Option<Race> {
        let mut race = None;
        // Usually nothing in the whole buffer is unseen; only otherwise is each lane looked at.
        for unseen in self.ranges.unseen(kind, access.pipe, clock, 0, length) {
            let meets = elements.starts.iter().find_map(|start| {
                let (from, to) = (start * size, (start + elements.length) * size);
                (from < unseen.end && unseen.start < to).then(|| from.max(unseen.start))
            });
            if let Some(byte) = meets {
                race = Some(Race { earlier: unseen.access, earlier_kind: unseen.kind, byte });
                break;
            }
        }
        let scattered = self.scattered.settle(kind, access, (clock, seen), (length, size), (elements, hit));
        race.or(scattered)
    }
}
