//! The accesses that later ones may still have to be ordered after.

use super::clock::Clock;
use super::work::{Access, Space};
use crate::{Pipe, ValueId};

/// Accesses kept before those of one pipe to one memory are taken together.
const MOST: usize = 256;

/// An access that ran: who, when, where in the program, and what its pipe knew then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) access: Access,
    pub(super) pipe: Pipe,
    pub(super) time: u32,
    pub(super) node: u32,
    pub(super) clock: Clock,
}

/// What happened so far, without what can no longer matter.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    entries: Vec<Entry>,
}

fn same_bytes(a: &Access, b: &Access) -> bool {
    let ranges = a.range.0 < b.range.1 && b.range.0 < a.range.1;
    match (a.space, b.space) {
        (Space::Ub, Space::Ub) => ranges,
        (Space::Memory(a), Space::Memory(b)) => a == b && ranges,
        (Space::AnyMemory, Space::Memory(_) | Space::AnyMemory) | (Space::Memory(_), Space::AnyMemory) => true,
        _ => false,
    }
}

fn conflicts(earlier: &Entry, later: &Access) -> bool {
    if later.space == Space::Cache {
        let in_memory = matches!(earlier.access.space, Space::Memory(_) | Space::AnyMemory);
        return in_memory && earlier.access.write && earlier.pipe == Pipe::V;
    }
    (earlier.access.write || later.write) && same_bytes(&earlier.access, later)
}

impl History {
    /// The accesses of other pipes that conflict with one of these.
    pub(super) fn conflicting(&self, accesses: &[Access], pipe: Pipe, found: &mut Vec<Entry>) {
        let other = self.entries.iter().filter(|entry| entry.pipe != pipe);
        found.extend(other.filter(|entry| accesses.iter().any(|access| conflicts(entry, access))));
    }

    /// Adds an access that is ordered after all that conflict with it.
    ///
    /// What it covers need not be kept: whoever would conflict with that conflicts with this one, and comes after both.
    pub(super) fn add(&mut self, new: Entry) {
        if new.access.space == Space::Cache {
            return;
        }
        let covers = |old: &Entry| {
            let inside = new.access.range.0 <= old.access.range.0 && old.access.range.1 <= new.access.range.1;
            let same_kind = old.pipe == new.pipe && !old.access.write && !new.access.write;
            new.access.space == old.access.space && inside && (same_kind || (new.access.write && old.time < new.time))
        };
        self.entries.retain(|old| !covers(old));
        self.entries.push(new);
        if self.entries.len() > MOST {
            self.condense();
        }
    }

    /// What is left of a region that may not have run: all from before, and what it added.
    pub(super) fn with(mut self, inside: Self, since: u32) -> Self {
        self.entries.extend(inside.entries.into_iter().filter(|entry| entry.time > since));
        if self.entries.len() > MOST {
            self.condense();
        }
        self
    }

    /// Takes the accesses of one pipe to one memory together: whoever waits for the last has waited for all.
    fn condense(&mut self) {
        self.merge();
        if self.entries.len() > MOST {
            for entry in &mut self.entries {
                if entry.access.space != Space::Ub {
                    entry.access.space = Space::AnyMemory;
                }
            }
            self.merge();
        }
    }

    fn merge(&mut self) {
        let key = |entry: &Entry| (space_key(entry.access.space), entry.pipe, entry.access.write, entry.time);
        self.entries.sort_by_key(key);
        self.entries.dedup_by(|later, kept| {
            let same = (kept.access.space, kept.pipe, kept.access.write)
                == (later.access.space, later.pipe, later.access.write);
            if same {
                let range =
                    (kept.access.range.0.min(later.access.range.0), kept.access.range.1.max(later.access.range.1));
                *kept = *later;
                kept.access.range = range;
            }
            same
        });
    }
}

fn space_key(space: Space) -> (u8, ValueId) {
    match space {
        Space::Ub => (0, ValueId(0)),
        Space::Memory(memory) => (1, memory),
        Space::AnyMemory => (2, ValueId(0)),
        Space::Cache => (3, ValueId(0)),
    }
}
