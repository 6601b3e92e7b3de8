//! Races between ranks: two of them access overlapping bytes of a window, one writes, and nothing orders the two.
//!
//! Theory: happens-before by vector clocks with one component for each rank, which grows when the rank notifies or meets
//! the others. When ranks meet, each learns what all have touched since the last meeting, with the clocks they had, and
//! looks at every pair: so what is found depends on the program and not on which rank was faster. Everything before
//! a meeting is ordered before everything after it, and is forgotten then.
//!
//! Limits: only the path that was executed is judged. A wait that any of several ranks could have satisfied orders the
//! waiting rank after the one that did.

use std::collections::BTreeSet;

use super::log::Segment;

/// An access of a rank, and what is needed to order it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) rank: usize,
    pub(super) step: u32,
    pub(super) write: bool,
}

/// Two accesses that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Race {
    pub(super) buffer: usize,
    /// First byte of the window that both touch.
    pub(super) byte: u64,
    /// Of the lower rank.
    pub(super) first: Place,
    pub(super) second: Place,
}

#[derive(Clone, Copy)]
struct Item<'s> {
    start: u64,
    end: u64,
    place: Place,
    segment: &'s Segment,
}

/// Races that are looked for: more would not help anybody.
const MOST: usize = 64;

/// The races between what the ranks touched, each pair of steps once.
pub(super) fn races(all: &[Vec<Segment>]) -> Vec<Race> {
    let buffers: BTreeSet<usize> = all.iter().flatten().flat_map(|s| s.touched.iter().map(|t| t.buffer)).collect();
    let mut found = Vec::new();
    for buffer in buffers {
        let mut items = items(all, buffer);
        items.sort_by_key(|item| (item.start, item.end, item.place.rank, item.place.step));
        // Items that may still overlap what follows.
        let mut active: Vec<Item<'_>> = Vec::new();
        let mut said = BTreeSet::new();
        for item in items {
            active.retain(|other| other.end > item.start);
            for other in &active {
                let conflict = other.place.write || item.place.write;
                if other.place.rank == item.place.rank || !conflict || ordered(other, &item) || ordered(&item, other) {
                    continue;
                }
                let (first, second) = if other.place.rank < item.place.rank {
                    (other.place, item.place)
                } else {
                    (item.place, other.place)
                };
                // Which pair of ranks shows it is a detail.
                let mut steps = [(first.step, first.write), (second.step, second.write)];
                steps.sort_unstable();
                if said.insert(steps) && found.len() < MOST {
                    found.push(Race { buffer, byte: item.start, first, second });
                }
            }
            active.push(item);
        }
    }
    found
}

fn items(all: &[Vec<Segment>], buffer: usize) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    for (rank, segments) in all.iter().enumerate() {
        for segment in segments {
            for touched in segment.touched.iter().filter(|touched| touched.buffer == buffer) {
                let place = Place { rank, step: touched.step, write: touched.write };
                items.extend(touched.ranges.iter().map(|&(start, end)| Item { start, end, place, segment }));
            }
        }
    }
    items
}

/// True if `later` had seen the epoch of `earlier`.
fn ordered(earlier: &Item<'_>, later: &Item<'_>) -> bool {
    later.segment.clock.get(earlier.place.rank).is_some_and(|seen| *seen >= earlier.segment.epoch)
}

#[cfg(test)]
mod tests {
    use super::super::log::Touched;
    use super::*;

    fn segment(epoch: u64, clock: [u64; 2], write: bool, range: (u64, u64)) -> Segment {
        let touched = vec![Touched { buffer: 0, write, step: epoch as u32, ranges: vec![range] }];
        Segment { epoch, clock: clock.to_vec(), touched }
    }

    #[test]
    fn what_was_not_seen_races_and_what_was_seen_does_not() {
        let write = || vec![segment(1, [1, 0], true, (0, 64))];
        let blind = races(&[write(), vec![segment(1, [0, 1], false, (32, 96))]]);
        assert_eq!(blind.iter().map(|race| race.byte).collect::<Vec<_>>(), [32]);
        assert_eq!(races(&[write(), vec![segment(1, [1, 1], false, (32, 96))]]), []);
        assert_eq!(races(&[write(), vec![segment(1, [0, 1], false, (64, 96))]]), []);
    }

    #[test]
    fn two_reads_never_race_and_a_rank_does_not_race_with_itself() {
        let read = |clock| vec![segment(1, clock, false, (0, 8))];
        assert_eq!(races(&[read([1, 0]), read([0, 1])]), []);
        assert_eq!(races(&[vec![segment(1, [1, 0], true, (0, 8)), segment(2, [2, 0], true, (0, 8))], vec![]]), []);
    }
}
