//! Index lanes: read, resolved against the whole table, and sorted by the rank that owns their row.

use pto_exec::{Fault, Lanes};
use pto_isa::{ElementType, Opcode, OutOfBounds, Role, Target};

use super::partition::Partition;
use crate::CommError;

/// The indices that a rank brings to a call: `i32`, `u32`, `i64` or `u64`. Signed ones are plain integers, so a
/// negative one is out of range.
///
/// ```
/// use pto_comm::Indices;
/// assert_eq!(Indices::from(&[3i64, -1][..]).len(), 2);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Indices<'a> {
    element: ElementType,
    bytes: &'a [u8],
}

impl<'a> Indices<'a> {
    /// Indices of a type known at run time, little-endian. The rules of `host` say which types there are.
    ///
    /// # Errors
    /// [`CommError::Length`] if the bytes are no whole number of lanes.
    pub fn new(element: ElementType, bytes: &'a [u8]) -> Result<Self, CommError> {
        let (found, size) = (bytes.len() as u64, element.size());
        if found.is_multiple_of(size) {
            Ok(Self { element, bytes })
        } else {
            Err(CommError::Length { role: Role::Idx, expected: found.next_multiple_of(size), found })
        }
    }

    /// Number of lanes.
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64 / self.element.size()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Type of a lane.
    pub fn element(&self) -> ElementType {
        self.element
    }

    fn values(&self) -> impl Iterator<Item = i128> + 'a {
        let (signed, element) = (matches!(self.element, ElementType::I32 | ElementType::I64), self.element);
        self.bytes.chunks_exact(element.size() as usize).map(move |lane| {
            let fill = if signed && lane.last().is_some_and(|b| *b >= 0x80) { 0xff } else { 0 };
            let mut padded = [fill; 16];
            padded[..lane.len()].copy_from_slice(lane);
            i128::from_le_bytes(padded)
        })
    }
}

macro_rules! from_slices {
    ($($type:ty = $element:ident),*) => {$(
        impl<'a> From<&'a [$type]> for Indices<'a> {
            fn from(lanes: &'a [$type]) -> Self {
                Self { element: ElementType::$element, bytes: bytemuck::cast_slice(lanes) }
            }
        }
    )*};
}
from_slices!(i32 = I32, u32 = U32, i64 = I64, u64 = U64);

/// Where each lane of a call goes.
pub(super) struct Route {
    /// Lanes in the order of their owners, each owner's in the order of the call.
    lanes: Vec<usize>,
    /// The same lanes as positions in their owner's shard.
    positions: Vec<u64>,
    /// Where each owner's lanes start, and where the last one's end.
    starts: Vec<usize>,
    /// Lanes that touch no row.
    dropped: Vec<usize>,
    counts: Lanes,
}

impl Route {
    /// Resolves every lane before anything moves.
    pub(super) fn new(
        idx: Indices<'_>,
        opcode: Opcode,
        oob: OutOfBounds,
        lanes_per_row: u64,
        partition: &Partition,
    ) -> Result<Self, CommError> {
        let capacity = partition.total().saturating_mul(lanes_per_row);
        let mut counts = Lanes::default();
        let mut dropped = Vec::new();
        // Owner, position in its shard, lane.
        let mut routed = Vec::with_capacity(idx.len() as usize);
        for (lane, index) in idx.values().enumerate() {
            let slot = oob.slot(index, capacity);
            if slot.map(i128::from) != Some(index) {
                match oob {
                    OutOfBounds::Undefined => {
                        let (column, target) = (lane as u64, Target::Host);
                        return Err(
                            Fault::Lane { opcode, target, lane: column, row: 0, column, index, capacity }.into()
                        );
                    }
                    OutOfBounds::Skip => counts.skipped += 1,
                    OutOfBounds::Zero => counts.zeroed += 1,
                    OutOfBounds::Clamp => counts.clamped += 1,
                    OutOfBounds::Wrap => counts.wrapped += 1,
                }
            }
            let Some(slot) = slot else {
                dropped.push(lane);
                continue;
            };
            let owner = partition.owner(slot / lanes_per_row);
            routed.push((owner, slot - partition.rows(owner).start * lanes_per_row, lane));
        }
        counts.written = idx.len() - counts.skipped;
        let mut route = Self { lanes: Vec::new(), positions: Vec::new(), starts: vec![0], dropped, counts };
        route.sort(&routed, partition.ranks());
        Ok(route)
    }

    /// A stable counting sort by owner.
    fn sort(&mut self, routed: &[(usize, u64, usize)], ranks: usize) {
        let mut ends = vec![0; ranks];
        for (owner, ..) in routed {
            ends[*owner] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            total += *end;
            self.starts.push(total);
            *end = total - *end;
        }
        (self.lanes, self.positions) = (vec![0; total], vec![0; total]);
        for &(owner, position, lane) in routed {
            let at = ends[owner];
            ends[owner] += 1;
            (self.lanes[at], self.positions[at]) = (lane, position);
        }
    }

    /// The lanes that go to a rank, in the order of the call.
    pub(super) fn lanes(&self, rank: usize) -> &[usize] {
        &self.lanes[self.starts[rank]..self.starts[rank + 1]]
    }

    /// The same lanes as positions in that rank's shard.
    pub(super) fn indices(&self, rank: usize) -> &[u64] {
        &self.positions[self.starts[rank]..self.starts[rank + 1]]
    }

    /// Lanes that touch no row.
    pub(super) fn dropped(&self) -> impl Iterator<Item = usize> + '_ {
        self.dropped.iter().copied()
    }

    /// What became of the lanes.
    pub(super) fn counts(&self) -> Lanes {
        self.counts
    }

    /// A rank has answered every lane that was sent to it.
    pub(super) fn check_reply(&self, rank: usize, found: u64, lane_bytes: u64) -> Result<(), CommError> {
        super::request::check_length(rank, self.lanes(rank).len() as u64 * lane_bytes, found)
    }
}
