//! The windows of all ranks: where they are, and this rank's copies of them.

use std::collections::BTreeMap;

use pto_comm::{CommError, Member, ParallelGroup, Region, Window, tgather, tscatter};
use pto_isa::{Direction, ElementType, Tile};

use super::refusal;
use crate::collective::CollectiveWork;
use crate::hazard::{Access, Kind, Shadow};
use crate::machine::Machine;
use crate::pipeline::Outcome;
use crate::ranges::order;
use crate::rules;
use crate::state::{Buffer, View};
use crate::work::{Refusal, Work};

/// Windows start at multiples of this in what their rank exposes.
pub(super) const ALIGNMENT: u64 = 64;

/// One window, and this rank's copy of it, which is one of the machine's buffers.
#[derive(Debug)]
pub(crate) struct Placed {
    /// The rank whose memory it is.
    pub(crate) owner: usize,
    /// Where it starts in what that rank exposes.
    pub(super) offset: u64,
    pub(super) length: u64,
    /// The window may have changed since it was copied.
    stale: bool,
    /// Bytes of the copy that the window does not have yet.
    dirty: Vec<(u64, u64)>,
}

impl Placed {
    /// A window whose bytes this rank has not seen yet.
    pub(super) fn new(owner: usize, offset: u64, length: u64) -> Self {
        Self { owner, offset, length, stale: true, dirty: Vec::new() }
    }
}

pub(super) struct Windows<'a> {
    pub(super) window: Box<dyn Window + 'a>,
    /// By the number of the buffer that is the copy.
    pub(super) placed: BTreeMap<usize, Placed>,
}

impl Windows<'_> {
    /// Others may have written: copies are fetched anew when they are needed.
    pub(super) fn expire(&mut self) {
        self.placed.values_mut().for_each(|placed| placed.stale = true);
    }

    /// Fetches a window, unless the copy is good.
    fn fetch(&mut self, at: usize, buffer: &mut Buffer) -> Result<(), CommError> {
        let Some(placed) = self.placed.get_mut(&at).filter(|placed| placed.stale) else { return Ok(()) };
        placed.stale = false;
        let (start, length) = (placed.offset as usize, placed.length as usize);
        buffer.bytes.resize(length, 0);
        let kept: Vec<((u64, u64), Vec<u8>)> = placed
            .dirty
            .iter()
            .map(|&(from, to)| ((from, to), buffer.bytes[from as usize..to as usize].to_vec()))
            .collect();
        if placed.owner == self.window.rank() {
            self.window.local(&mut |memory| buffer.bytes.copy_from_slice(&memory[start..start + length]))?;
        } else if length > 0 {
            let mut epoch = self.window.lock(&[placed.length])?;
            let from = Region::bytes_at(placed.offset, placed.length);
            epoch.get(0, Region::bytes_at(0, placed.length), placed.owner, from)?;
            buffer.bytes.copy_from_slice(&epoch.stage(0)?[..length]);
        }
        // What this rank wrote itself it sees, delivered or not.
        for ((from, to), bytes) in kept {
            buffer.bytes[from as usize..to as usize].copy_from_slice(&bytes);
        }
        Ok(())
    }

    /// Delivers what this rank wrote.
    fn deliver(&mut self, buffers: &[Buffer]) -> Result<(), CommError> {
        for (at, placed) in &mut self.placed {
            let mut dirty = std::mem::take(&mut placed.dirty);
            order(&mut dirty);
            let bytes = &buffers[*at].bytes;
            let Some(longest) = dirty.iter().map(|(from, to)| to - from).max() else { continue };
            if placed.owner == self.window.rank() {
                self.window.local(&mut |memory| {
                    for &(from, to) in &dirty {
                        let to_range = (placed.offset + from) as usize..(placed.offset + to) as usize;
                        memory[to_range].copy_from_slice(&bytes[from as usize..to as usize]);
                    }
                })?;
                continue;
            }
            let mut epoch = self.window.lock(&[longest])?;
            for &(from, to) in &dirty {
                let length = (to - from) as usize;
                epoch.stage(0)?[..length].copy_from_slice(&bytes[from as usize..to as usize]);
                let (near, far) = (Region::bytes_at(0, to - from), Region::bytes_at(placed.offset + from, to - from));
                epoch.put(0, near, placed.owner, far)?;
            }
            epoch.flush()?;
        }
        Ok(())
    }

    pub(super) fn wrote(&mut self, at: usize, ranges: &[(u64, u64)]) {
        if let Some(placed) = self.placed.get_mut(&at) {
            placed.dirty.extend_from_slice(ranges);
            if placed.dirty.len() > 1 << 16 {
                order(&mut placed.dirty);
            }
        }
    }
}

impl Machine<'_> {
    /// A buffer that is the copy of a window, with the bytes if the window is this rank's own.
    pub(super) fn add_window(&mut self, name: &str, element: ElementType, bytes: Vec<u8>, placed: Placed) -> usize {
        let at = self.buffers.len();
        let (length, shadow) = (placed.length, Shadow::default());
        self.buffers.push(Buffer { name: name.into(), element, bytes, length, shadow });
        if let Some(peers) = &mut self.peers {
            peers.windows.placed.insert(at, placed);
        }
        at
    }

    /// The rank whose window a buffer is; `None` if it is none.
    pub(crate) fn owner(&self, buffer: usize) -> Option<usize> {
        self.peers.as_ref()?.windows.placed.get(&buffer).map(|placed| placed.owner)
    }

    /// Makes sure that a buffer is as its window, if it is the copy of one.
    pub(crate) fn fetch(&mut self, buffer: usize) -> Result<(), Refusal> {
        match &mut self.peers {
            Some(peers) => peers.windows.fetch(buffer, &mut self.buffers[buffer]).map_err(|error| refusal(&error)),
            None => Ok(()),
        }
    }

    /// What an instruction reads and writes of windows is there.
    pub(crate) fn fetch_operands(&mut self, work: &Work) -> Result<(), Refusal> {
        match work {
            Work::Load { view, .. } | Work::Store { view, .. } => self.fetch(view.buffer),
            Work::Gather { view, .. } | Work::Scatter { view, .. } => self.fetch(view.buffer),
            Work::Move { .. } | Work::Tile { .. } | Work::Collective(_) => Ok(()),
        }
    }

    /// Delivers what this rank wrote to windows.
    pub(super) fn deliver(&mut self) -> Result<(), CommError> {
        match &mut self.peers {
            Some(peers) => peers.windows.deliver(&self.buffers),
            None => Ok(()),
        }
    }

    /// Notes what an instruction did to windows: what is to be delivered, and, where there are no pipes to do it, what
    /// was touched.
    pub(crate) fn touch_windows(&mut self, work: &Work, outcome: &Outcome, step: u32) {
        let runs = |view: &View| {
            let size = view.tensor.element.size();
            let run = |start: &u64| (start * size, (start + outcome.slots.length) * size);
            outcome.slots.starts.iter().map(run).collect::<Vec<_>>()
        };
        let (view, kind, ranges) = match work {
            Work::Load { view, tile } => (view, Kind::Read, view.ranges(tile)),
            Work::Store { tile, view } => (view, Kind::Write, view.ranges(tile)),
            Work::Gather { view, .. } => (view, Kind::Read, runs(view)),
            Work::Scatter { view, .. } => (view, Kind::Write, runs(view)),
            Work::Move { .. } | Work::Tile { .. } | Work::Collective(_) => return,
        };
        if kind == Kind::Write
            && let Some(peers) = &mut self.peers
        {
            peers.windows.wrote(view.buffer, &ranges);
        }
        if !self.is_device() {
            let access = Access { pipe: pto_ir::Pipe::S, epoch: 0, step };
            self.log_window(view.buffer, &ranges, kind, access);
        }
    }

    /// Remembers an access to a window until the ranks meet.
    pub(crate) fn log_window(&mut self, buffer: usize, ranges: &[(u64, u64)], kind: Kind, access: Access) {
        if self.options.sanitize
            && let Some(peers) = &mut self.peers
            && peers.windows.placed.contains_key(&buffer)
        {
            peers.log.add(buffer, ranges, kind, access);
        }
    }

    /// An access of the scalar unit to one element.
    pub(crate) fn touch_window_scalar(&mut self, buffer: usize, range: (u64, u64), kind: Kind, step: u32) {
        if let (Kind::Write, Some(peers)) = (kind, &mut self.peers) {
            peers.windows.wrote(buffer, &[range]);
        }
        if !self.is_device() {
            self.log_window(buffer, &[range], kind, Access { pipe: pto_ir::Pipe::S, epoch: 0, step });
        }
    }

    /// Moves the bytes of a collective between the ranks.
    pub(crate) fn move_between_ranks(&mut self, work: &CollectiveWork) -> Result<(), Refusal> {
        self.deliver().map_err(|error| refusal(&error))?;
        self.fetch(work.local.buffer)?;
        let Some(peers) = &mut self.peers else { return Ok(()) };
        let mut members = Vec::with_capacity(work.ranks.len());
        for (rank, view) in work.ranks.iter().enumerate() {
            let placed = peers.windows.placed.get(&view.buffer);
            let Some(placed) = placed.filter(|placed| placed.owner == rank) else {
                let whose = placed.map_or("the caller's own".into(), |placed| format!("rank {}'s", placed.owner));
                let message =
                    format!("expected member {rank} of the group in the memory of rank {rank}, found it in {whose}");
                return Err((rules::COMM_WINDOW, message));
            };
            let offset = placed.offset + view.offset * view.tensor.element.size();
            members.push(Some(Member { tensor: view.tensor, offset }));
        }
        let root = usize::try_from(work.root).unwrap_or(usize::MAX);
        let launch = pto_isa::Launch { dyn_ub: self.options.dyn_ub.or(self.function.launch.dyn_ub) };
        let group = ParallelGroup::new(&*peers.windows.window, members, root).on(self.target, launch);
        let staging: Vec<Tile> = work.staging.iter().map(|state| state.tile).collect();
        let start = (work.local.offset * work.local.tensor.element.size()) as usize;
        let bytes = self.buffers[work.local.buffer].bytes.get_mut(start..).unwrap_or_default();
        let moved = match work.direction {
            Direction::Scatter => tscatter(&group, &work.local.tensor, bytes, &staging),
            Direction::Gather => tgather(&group, &work.local.tensor, bytes, &staging),
        };
        moved.map_err(|error| refusal(&error))?;
        peers.windows.expire();
        Ok(())
    }

    /// This rank's own windows as they are now, by the name of the parameter.
    pub(super) fn fetch_own_windows(&mut self) {
        let Some(peers) = &mut self.peers else { return };
        let rank = peers.rank();
        let own: Vec<usize> =
            peers.windows.placed.iter().filter(|(_, placed)| placed.owner == rank).map(|(at, _)| *at).collect();
        peers.windows.expire();
        for at in own {
            if let Err(error) = peers.windows.fetch(at, &mut self.buffers[at]) {
                return self.comm_failure(&error, None);
            }
        }
    }
}
