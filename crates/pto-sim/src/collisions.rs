//! Which lanes of one instruction meet in a slot.

/// Counts lanes that meet a slot which an earlier lane has hit; reused between instructions.
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
}

impl Collisions {
    /// Looks at the slots of one instruction, all below `capacity`.
    pub(crate) fn count(&mut self, slots: impl Iterator<Item = u64> + Clone, capacity: u64) -> Met {
        let words = capacity.div_ceil(64) as usize;
        if self.seen.len() < words {
            self.seen.resize(words, 0);
        }
        let mut met = Met::default();
        for slot in slots.clone() {
            let (word, bit) = ((slot / 64) as usize, 1 << (slot % 64));
            if self.seen[word] & bit != 0 {
                met.collisions += 1;
                met.first.get_or_insert(slot);
            }
            self.seen[word] |= bit;
        }
        for slot in slots {
            self.seen[(slot / 64) as usize] = 0;
        }
        met
    }
}

/// The most lanes that hit one slot.
pub(crate) fn multiplicity(slots: impl Iterator<Item = u64>) -> u64 {
    let mut sorted: Vec<u64> = slots.collect();
    sorted.sort_unstable();
    sorted.chunk_by(|a, b| a == b).map(|group| group.len() as u64).max().unwrap_or(0)
}

/// Bursts that warps of 32 lanes need when neighbours in one block of `block` bytes are joined.
pub(crate) fn bursts(slots: &[u64], size: u64, block: u64) -> u64 {
    let per_block = (block / size.max(1)).max(1);
    let blocks = |warp: &[u64]| {
        let mut blocks = [u64::MAX; 32];
        let mut different = 0;
        for slot in warp {
            let block = slot / per_block;
            if !blocks[..different].contains(&block) {
                blocks[different] = block;
                different += 1;
            }
        }
        different as u64
    };
    slots.chunks(32).map(blocks).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_meet_and_the_map_is_clean_again() {
        let mut collisions = Collisions::default();
        for _ in 0..2 {
            assert_eq!(collisions.count([1, 70, 1, 70, 70].into_iter(), 100), Met { collisions: 3, first: Some(1) });
            assert_eq!(collisions.count([1, 70].into_iter(), 100), Met::default());
        }
        assert_eq!(multiplicity([1, 70, 1, 70, 70].into_iter()), 3);
        assert_eq!(bursts(&[0, 1, 31, 32], 4, 128), 2);
    }
}
