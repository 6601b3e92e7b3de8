//! Which lanes of one instruction meet in a slot.

/// Finds lanes that meet, with a bit per slot that is clean again after each question.
#[derive(Clone, Debug, Default)]
pub(crate) struct Collisions {
    seen: Vec<u64>,
}

/// What the slots of an instruction show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Met {
    /// Lanes that met a slot hit before.
    pub(crate) collisions: u64,
    /// The first slot that two lanes hit.
    pub(crate) first: Option<u64>,
    /// The most lanes that hit one slot.
    pub(crate) multiplicity: u64,
}

impl Met {
    /// From the runs that met a slot hit before, in order; a lane may have several runs.
    pub(crate) fn of(mut meeting: Vec<u64>, runs_per_lane: usize) -> Self {
        let collisions = (meeting.len() / runs_per_lane.max(1)) as u64;
        let first = meeting.first().copied();
        meeting.sort_unstable();
        let longest = meeting.chunk_by(|a, b| a == b).map(|group| group.len() as u64).max().unwrap_or(0);
        Self { collisions, first, multiplicity: longest + 1 }
    }
}

impl Collisions {
    fn reserve(&mut self, slots: u64) {
        let words = slots.div_ceil(64) as usize;
        if self.seen.len() < words {
            self.seen.resize(words, 0);
        }
    }

    /// True if the slot was hit before; it is from now on.
    fn hit(&mut self, slot: u64) -> bool {
        let (word, bit) = ((slot / 64) as usize, 1 << (slot % 64));
        let before = self.seen[word] & bit != 0;
        self.seen[word] |= bit;
        before
    }

    fn clean(&mut self, slots: impl Iterator<Item = u64>) {
        slots.for_each(|slot| self.seen[(slot / 64) as usize] = 0);
    }

    /// Looks at the slots of one instruction, all below `capacity`.
    pub(crate) fn count(&mut self, slots: impl Iterator<Item = u64> + Clone, capacity: u64) -> Met {
        self.reserve(capacity);
        // Only lanes that met someone are counted further: usually a few.
        let meeting: Vec<u64> = slots.clone().filter(|slot| self.hit(*slot)).collect();
        self.clean(slots);
        Met::of(meeting, 1)
    }

    /// Bursts that warps of 32 lanes need when neighbours in one block of `block` bytes are joined.
    pub(crate) fn bursts(&mut self, slots: &[u64], size: u64, block: u64, capacity: u64) -> u64 {
        // Blocks and elements are powers of two, so the block of a slot is a shift away.
        let shift = (block / size.max(1)).max(1).ilog2();
        self.reserve((capacity >> shift) + 1);
        let mut bursts = 0;
        for warp in slots.chunks(32) {
            bursts += warp.iter().filter(|slot| !self.hit(**slot >> shift)).count();
            self.clean(warp.iter().map(|slot| slot >> shift));
        }
        bursts as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_meet_and_the_map_is_clean_again() {
        let mut collisions = Collisions::default();
        for _ in 0..2 {
            let met = collisions.count([1, 70, 1, 70, 70].into_iter(), 100);
            assert_eq!(met, Met { collisions: 3, first: Some(1), multiplicity: 3 });
            let met = collisions.count([1, 70].into_iter(), 100);
            assert_eq!(met, Met { collisions: 0, first: None, multiplicity: 1 });
            assert_eq!(collisions.bursts(&[0, 1, 31, 32], 4, 128, 100), 2);
        }
    }
}
