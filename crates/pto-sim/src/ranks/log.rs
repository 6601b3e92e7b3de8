//! What a rank touched in windows, between two meetings.

use serde::{Deserialize, Serialize};

use pto_ir::Pipe;

use crate::clock::{Clock, slot};
use crate::hazard::{Access, Kind};
use crate::ranges::order;

/// Accesses of one step to one window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Touched {
    /// The window, by its number among the buffers, which is the same at all ranks.
    pub(super) buffer: usize,
    pub(super) write: bool,
    pub(super) step: u32,
    /// Bytes of the window, ascending and apart.
    pub(super) ranges: Vec<(u64, u64)>,
}

/// What a rank touched between two moments at which others may learn of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Segment {
    /// The rank's epoch then.
    pub(super) epoch: u64,
    /// What it had seen of the others.
    pub(super) clock: Vec<u64>,
    pub(super) touched: Vec<Touched>,
}

/// Accesses that nobody can have learnt of yet, and the pipe's epoch in which they were made.
#[derive(Debug)]
struct Open {
    touched: Touched,
    pipe: Pipe,
    epoch: u64,
    /// Ranges that were in order last.
    ordered: usize,
}

/// The accesses of a rank since the last meeting.
#[derive(Debug, Default)]
pub(super) struct Log {
    segments: Vec<Segment>,
    open: Vec<Open>,
}

impl Log {
    pub(super) fn add(&mut self, buffer: usize, ranges: &[(u64, u64)], kind: Kind, access: Access) {
        let write = kind == Kind::Write;
        let same = |open: &Open| {
            let touched = &open.touched;
            (touched.buffer, touched.write, touched.step) == (buffer, write, access.step)
                && (open.pipe, open.epoch) == (access.pipe, access.epoch)
        };
        // The steps of a loop come round again soon, and there are few of them.
        let at = self.open.iter().rposition(same).unwrap_or_else(|| {
            let touched = Touched { buffer, write, step: access.step, ranges: Vec::new() };
            self.open.push(Open { touched, pipe: access.pipe, epoch: access.epoch, ordered: 0 });
            self.open.len() - 1
        });
        let open = &mut self.open[at];
        open.touched.ranges.extend_from_slice(ranges);
        if open.touched.ranges.len() > 2 * open.ordered + 1024 {
            order(&mut open.touched.ranges);
            open.ordered = open.touched.ranges.len();
        }
    }

    /// Others may learn of what the scalar unit has seen done; all of it where there are no pipes. The rest stays open.
    pub(super) fn close(&mut self, rank: usize, clock: &[u64], scalar: Option<&Clock>) {
        let done =
            |open: &Open| scalar.is_none_or(|seen| open.pipe == Pipe::S || seen.0[slot(open.pipe)] >= open.epoch);
        let (done, open): (Vec<Open>, Vec<Open>) = std::mem::take(&mut self.open).into_iter().partition(done);
        self.open = open;
        self.segments.push(segment(clock[rank], clock, done.into_iter().map(|open| open.touched)));
    }

    /// Everything since the last meeting, to be told there: what is still open belongs to the epoch to come.
    pub(super) fn told(&self, rank: usize, clock: &[u64]) -> Vec<Segment> {
        let open = self.open.iter().map(|open| open.touched.clone());
        let open = segment(clock[rank], clock, open);
        self.segments.iter().cloned().chain([open]).filter(|segment| !segment.touched.is_empty()).collect()
    }

    /// After a meeting, what was closed before it is ordered before everything to come.
    pub(super) fn forget(&mut self) {
        self.segments.clear();
    }
}

fn segment(epoch: u64, clock: &[u64], touched: impl Iterator<Item = Touched>) -> Segment {
    let mut touched: Vec<Touched> = touched.collect();
    touched.iter_mut().for_each(|touched| order(&mut touched.ranges));
    // The same step in several epochs of its pipe is the same access to other ranks.
    touched.sort_by_key(|touched| (touched.buffer, touched.step, touched.write));
    touched.dedup_by(|next, first| {
        let same = (next.buffer, next.step, next.write) == (first.buffer, first.step, first.write);
        if same {
            first.ranges.append(&mut next.ranges);
            order(&mut first.ranges);
        }
        same
    });
    Segment { epoch, clock: clock.to_vec(), touched }
}
