//! TSCATTER and TGATHER across ranks, as the root runs them: chunks through staging tiles in UB.
//!
//! Chunk k is loaded on MTE2 and stored on MTE3. With one staging tile the next load waits for the store; with two it
//! waits for the store before last, so that loads and stores overlap.

use pto_ir::{Pipe, ValueId};
use pto_isa::check::Verdict;
use pto_isa::{Collective, Direction, Severity, judge_collective, rules as isa};

use crate::device::Span;
use crate::hazard::Kind;
use crate::machine::Machine;
use crate::rules;
use crate::state::{TileState, Value, View, known};
use crate::work::Refusal;

/// The pairs of pipes that a collective orders inside, with one event for each staging tile, from EVENT_ID0 on.
pub(crate) const HANDSHAKES: [(Pipe, Pipe); 2] = [(Pipe::Mte2, Pipe::Mte3), (Pipe::Mte3, Pipe::Mte2)];

/// A collective call with its operands as they were when it was issued.
#[derive(Clone, Debug)]
pub(crate) struct CollectiveWork {
    pub(crate) direction: Direction,
    pub(crate) local: View,
    pub(crate) ranks: Vec<View>,
    pub(crate) staging: Vec<TileState>,
    pub(crate) root: u64,
}

/// One piece of the transfer: a window of the root's tensor and the window of a rank's that it goes to or comes from.
struct Chunk {
    local: View,
    remote: View,
    rows: u64,
    cols: u64,
}

impl Machine<'_> {
    /// Takes the operands of a collective as they are now.
    pub(crate) fn capture_collective(&self, op: &pto_ir::Collective) -> Result<CollectiveWork, Refusal> {
        let views = |id: &ValueId| match self.value(*id) {
            Value::View(view) => Ok(vec![**view]),
            Value::Group(views) => Ok(views.clone()),
            _ => Err((rules::BOUNDS_BUFFER, "expected views that are bound to arrays".to_owned())),
        };
        let staging: Result<Vec<TileState>, _> = op.staging.iter().map(|id| self.tile_operand(*id)).collect();
        let ranks: Result<Vec<Vec<View>>, _> = op.group.iter().map(views).collect();
        let local = views(&op.local)?;
        let local = *local.first().ok_or((rules::BOUNDS_BUFFER, "expected the root's view".to_owned()))?;
        let root = u64::try_from(self.operand(op.root)).unwrap_or(u64::MAX);
        Ok(CollectiveWork { direction: op.direction, local, ranks: ranks?.concat(), staging: staging?, root })
    }

    /// Runs a collective whose pipes have reached it.
    pub(crate) fn run_collective(&mut self, work: &CollectiveWork, step: u32, issued_at: u64) {
        let call = Collective {
            direction: work.direction,
            root: work.root,
            caller: self.options.rank.unwrap_or(work.root),
            local: work.local.tensor,
            group: work.ranks.iter().map(|view| Some(view.tensor)).collect(),
            staging: work.staging.iter().map(|state| state.tile).collect(),
        };
        if let Verdict::Refused(findings) | Verdict::Faults(findings) =
            judge_collective(&call, self.target, self.launch())
        {
            let worst = findings.iter().find(|f| f.rule.severity == Severity::Error);
            let rule = worst.map_or(isa::SHAPE_OVERFLOW, |f| f.rule);
            let message = findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            return self.trap(rule, step, message);
        }
        if let Err((rule, message)) = self.move_between_ranks(work) {
            return self.trap(rule, step, message);
        }
        let mut stored = vec![0; work.staging.len()];
        for (k, chunk) in chunks(work).into_iter().enumerate() {
            let buffer = k % work.staging.len();
            let mut staging = work.staging[buffer];
            staging.tile = staging.tile.with_dynamic_valid(chunk.rows, chunk.cols);
            let (from, to) = match work.direction {
                Direction::Scatter => (chunk.local, chunk.remote),
                Direction::Gather => (chunk.remote, chunk.local),
            };
            if k >= work.staging.len() {
                self.device.clocks.order(Pipe::Mte3, Pipe::Mte2);
            }
            let loaded = self.load_chunk(&from, &chunk.local, &staging, step);
            self.device.clocks.order(Pipe::Mte2, Pipe::Mte3);
            if let Err((rule, message)) = loaded.and_then(|()| self.store_chunk(&staging, &to, step)) {
                return self.trap(rule, step, message);
            }
            let Some(timing) = self.timing else { continue };
            let bytes = chunk.rows * chunk.cols * staging.tile.element.size();
            let cycles = timing.dma(chunk.rows, bytes);
            let place = self.place(step);
            let (start, loaded) = self.device.run(Pipe::Mte2, issued_at, stored[buffer], cycles);
            self.span(Span { pipe: Pipe::Mte2, start, end: loaded, name: "comm load", place });
            let (start, end) = self.device.run(Pipe::Mte3, issued_at, loaded + timing.handshake, cycles);
            self.span(Span { pipe: Pipe::Mte3, start, end, name: "comm store", place });
            stored[buffer] = end + timing.handshake;
        }
    }

    fn load_chunk(&mut self, from: &View, local: &View, staging: &TileState, step: u32) -> Result<(), Refusal> {
        // Between ranks the bytes have moved already: what was gathered lies in the root's tensor.
        self.load(if self.peers.is_some() { local } else { from }, staging)?;
        if self.options.sanitize {
            let ranges = from.ranges(staging);
            self.touch_buffer(from.buffer, &ranges, Kind::Read, Pipe::Mte2, step);
            self.touch_ub(staging.owner, &staging.valid_ranges(), Kind::Write, Pipe::Mte2, step);
        }
        Ok(())
    }

    fn store_chunk(&mut self, staging: &TileState, to: &View, step: u32) -> Result<(), Refusal> {
        if self.peers.is_none() {
            self.store(staging, to)?;
        }
        if self.options.sanitize {
            let ranges = to.ranges(staging);
            self.touch_ub(staging.owner, &staging.valid_ranges(), Kind::Read, Pipe::Mte3, step);
            self.touch_buffer(to.buffer, &ranges, Kind::Write, Pipe::Mte3, step);
        }
        Ok(())
    }
}

/// The chunks of a call: every rank, dimensions 0 to 2 walked, windows of the staging tile's valid extents.
fn chunks(work: &CollectiveWork) -> Vec<Chunk> {
    let Some(staging) = work.staging.first() else { return Vec::new() };
    let (tall, wide) = (known(staging.tile.valid_rows).max(1), known(staging.tile.valid_cols).max(1));
    let mut chunks = Vec::new();
    for (rank, remote) in work.ranks.iter().enumerate() {
        let [d0, d1, d2, rows, cols] = remote.tensor.shape.map(known);
        for a in 0..d0 {
            for b in 0..d1 {
                for c in 0..d2 {
                    for row in (0..rows).step_by(tall as usize) {
                        for col in (0..cols).step_by(wide as usize) {
                            let size = [1, 1, 1, tall.min(rows - row), wide.min(cols - col)];
                            let local_row = rank as u64 * rows + row;
                            chunks.push(Chunk {
                                local: window(&work.local, [a, b, c, local_row, col], size),
                                remote: window(remote, [a, b, c, row, col], size),
                                rows: size[3],
                                cols: size[4],
                            });
                        }
                    }
                }
            }
        }
    }
    chunks
}

fn window(view: &View, at: [u64; 5], size: [u64; 5]) -> View {
    let strides = view.tensor.strides.map(known);
    let mut part = *view;
    part.offset += at.iter().zip(strides).map(|(at, stride)| at * stride).sum::<u64>();
    part.tensor.shape = size.map(|extent| pto_isa::Extent::Dynamic(Some(extent)));
    part
}
