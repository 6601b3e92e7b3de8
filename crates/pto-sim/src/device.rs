//! Pipes in time: what is issued in program order runs on its pipe when the pipe is free and its flags are set.
//!
//! Time is in cycles and follows from starts and durations alone, so it does not depend on the order in which the
//! simulator happens to look at the pipes. A wait that no set can ever satisfy is a deadlock.

use std::collections::{BTreeMap, VecDeque};

use pto_ir::{Flag, Pipe, Place};

use crate::clock::{Clock, Clocks, PIPES, slot};
use crate::hazard::Seen;

/// Instructions that a pipe's queue holds before the scalar unit has to wait for it.
const QUEUE: usize = 4096;

/// One entry of a pipe's queue.
#[derive(Clone, Debug)]
enum Queued {
    /// Sets a flag.
    Set(Flag, u32),
    /// Waits for a flag.
    Wait(Flag, u32),
    /// An instruction: effects are the caller's, by number.
    Run(u64),
}

/// A flag that was set and not yet waited for.
#[derive(Clone, Copy, Debug)]
struct Pending {
    seen: Clock,
    time: u64,
    step: u32,
}

/// A run on one pipe, for traces and reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Where it ran.
    pub pipe: Pipe,
    /// First cycle.
    pub start: u64,
    /// One past the last cycle.
    pub end: u64,
    /// What ran.
    pub name: &'static str,
    /// Where it stands in the program.
    pub place: Place,
}

/// A flag from the moment it was set until the pipe that waits for it went on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The flag.
    pub flag: Flag,
    /// When it was set.
    pub set: u64,
    /// When the waiting pipe went on.
    pub waited: u64,
    /// Where it is set.
    pub set_at: Place,
    /// Where it is waited for.
    pub waited_at: Place,
}

/// A flag that was waited for, by the steps of its set and its wait.
pub(crate) struct Passed {
    pub(crate) flag: Flag,
    pub(crate) set: u64,
    pub(crate) waited: u64,
    pub(crate) steps: (u32, u32),
}

/// What goes wrong with flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FlagFault {
    /// Set again before anyone waited.
    DoubleSet { flag: Flag, step: u32, earlier: u32 },
    /// An instruction's own handshake meets a caller's pending flag on the same pair and event.
    Collision { flag: Flag, step: u32, earlier: u32 },
    /// Set, and never waited for.
    NeverWaited { flag: Flag, step: u32 },
    /// Waits that nothing will satisfy, and the flags that are set meanwhile.
    Deadlock { waits: Vec<(Flag, u32)>, pending: Vec<(Flag, u32)> },
}

/// Why a wait hangs, the cause first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Hang {
    /// Nothing sets its flag.
    NeverSet,
    /// The pipe that would set it waits, through others or not, for this very wait.
    Circle,
    /// The pipe that would set it is stuck for another reason.
    Behind,
}

/// The pipes of one device.
pub(crate) struct Device {
    pub(crate) clocks: Clocks,
    queues: [VecDeque<Queued>; PIPES],
    free_at: [u64; PIPES],
    busy: [u64; PIPES],
    flags: BTreeMap<Flag, Pending>,
    /// The first flags that were waited for, at most so many.
    pub(crate) passed: Vec<Passed>,
    room: usize,
    /// Cycle at which the scalar unit issues the next instruction.
    now: u64,
}

/// An instruction that became ready: its number, to be executed by the caller, which then reports the durations.
pub(crate) type Ready = u64;

impl Device {
    /// A device that remembers this many flags for its trace.
    pub(crate) fn new(room: usize) -> Self {
        Self {
            clocks: Clocks::new(),
            queues: Default::default(),
            free_at: [0; PIPES],
            busy: [0; PIPES],
            flags: BTreeMap::new(),
            passed: Vec::new(),
            room,
            now: 0,
        }
    }

    /// The last cycle in which anything runs.
    pub(crate) fn total(&self) -> u64 {
        self.free_at.iter().copied().chain([self.now]).max().unwrap_or(0)
    }

    /// Cycles that each pipe was busy.
    pub(crate) fn busy(&self) -> impl Iterator<Item = (Pipe, u64)> + '_ {
        Pipe::EACH.into_iter().map(|pipe| (pipe, self.busy[slot(pipe)]))
    }

    /// The scalar unit spends cycles on its own.
    pub(crate) fn spend(&mut self, cycles: u64) {
        self.now += cycles;
        self.free_at[slot(Pipe::S)] = self.free_at[slot(Pipe::S)].max(self.now);
    }

    /// Issues an instruction to the pipe of its first phase.
    pub(crate) fn issue(&mut self, pipe: Pipe, number: u64) -> bool {
        self.enqueue(pipe, Queued::Run(number))
    }

    /// Issues a set; it takes effect when the pipe gets there.
    pub(crate) fn set(&mut self, flag: Flag, step: u32) -> bool {
        self.enqueue(flag.from, Queued::Set(flag, step))
    }

    /// Issues a wait.
    pub(crate) fn wait(&mut self, flag: Flag, step: u32) -> bool {
        self.enqueue(flag.to, Queued::Wait(flag, step))
    }

    /// False if the queue is full, which stops the scalar unit for good when its pipe is stuck.
    fn enqueue(&mut self, pipe: Pipe, entry: Queued) -> bool {
        let queue = &mut self.queues[slot(pipe)];
        queue.push_back(entry);
        queue.len() <= QUEUE
    }

    /// True if the scalar unit itself is stuck in a wait, so that nothing more can be issued.
    pub(crate) fn scalar_is_stuck(&self) -> bool {
        !self.queues[slot(Pipe::S)].is_empty()
    }

    /// Runs queues until an instruction is ready to execute, or nothing moves any more.
    pub(crate) fn advance(&mut self, faults: &mut Vec<FlagFault>) -> Option<(Pipe, Ready)> {
        loop {
            let mut moved = false;
            for pipe in Pipe::EACH {
                while let Some(entry) = self.queues[slot(pipe)].front() {
                    match *entry {
                        Queued::Run(number) => {
                            self.queues[slot(pipe)].pop_front();
                            return Some((pipe, number));
                        }
                        Queued::Set(flag, step) => self.do_set(flag, step, faults),
                        Queued::Wait(flag, step) => {
                            if !self.do_wait(flag, step) {
                                break;
                            }
                        }
                    }
                    self.queues[slot(pipe)].pop_front();
                    moved = true;
                }
            }
            if !moved {
                return None;
            }
        }
    }

    fn do_set(&mut self, flag: Flag, step: u32, faults: &mut Vec<FlagFault>) {
        let time = self.free_at[slot(flag.from)].max(if flag.from == Pipe::S { self.now } else { 0 });
        let seen = self.clocks.release(flag.from);
        if let Some(earlier) = self.flags.insert(flag, Pending { seen, time, step }) {
            faults.push(FlagFault::DoubleSet { flag, step, earlier: earlier.step });
        }
    }

    fn do_wait(&mut self, flag: Flag, step: u32) -> bool {
        let Some(pending) = self.flags.remove(&flag) else { return false };
        self.clocks.acquire(flag.to, &pending.seen);
        let free = &mut self.free_at[slot(flag.to)];
        *free = (*free).max(pending.time);
        let waited = *free;
        if flag.to == Pipe::S {
            self.now = self.now.max(pending.time);
        }
        if self.passed.len() < self.room {
            self.passed.push(Passed { flag, set: pending.time, waited, steps: (pending.step, step) });
        }
        true
    }

    /// Everything issued is done before anything that follows.
    pub(crate) fn barrier_all(&mut self) {
        self.clocks.join_all();
        let total = self.total();
        self.free_at = [total; PIPES];
        self.now = total;
    }

    /// A phase runs on its pipe for a number of cycles, not before `earliest`: when it started and ended.
    pub(crate) fn run(&mut self, pipe: Pipe, issued: u64, earliest: u64, cycles: u64) -> (u64, u64) {
        let start = self.free_at[slot(pipe)].max(issued).max(earliest);
        let end = start + cycles;
        self.free_at[slot(pipe)] = end;
        self.busy[slot(pipe)] += cycles;
        if pipe == Pipe::S {
            self.now = self.now.max(end);
        }
        (start, end)
    }

    /// When a pipe has nothing more to do.
    pub(crate) fn free_at(&self, pipe: Pipe) -> u64 {
        self.free_at[slot(pipe)]
    }

    /// A pipe's later work starts no earlier than this.
    pub(crate) fn hold(&mut self, pipe: Pipe, until: u64) {
        self.free_at[slot(pipe)] = self.free_at[slot(pipe)].max(until);
        if pipe == Pipe::S {
            self.now = self.now.max(until);
        }
    }

    /// How far the work of a pipe has been seen, or may yet be seen by waiting for a flag that is set.
    pub(crate) fn seen(&self, pipe: Pipe) -> Seen {
        let own = slot(pipe);
        let others = || Pipe::EACH.into_iter().filter(|other| *other != pipe);
        let pending = self.flags.values().map(|pending| pending.seen.0[own]);
        let up_to = others().map(|other| self.clocks.of(other).0[own]).chain(pending).collect();
        let touching = others().filter(|other| matches!(other, Pipe::S | Pipe::V | Pipe::Mte2 | Pipe::Mte3));
        let by_all = touching.map(|other| self.clocks.of(other).0[own]).min().unwrap_or(0);
        Seen { up_to, by_all }
    }

    /// The cycle of the scalar unit.
    pub(crate) fn now(&self) -> u64 {
        self.now
    }

    /// The caller's pending flags that the handshakes inside an instruction would run into.
    ///
    /// On each of the pairs it uses the first events, as many as `events`.
    pub(crate) fn collisions(&self, pairs: &[(Pipe, Pipe)], events: u8, step: u32) -> Vec<FlagFault> {
        let flags = pairs.iter().flat_map(|&(from, to)| (0..events).map(move |event| Flag { from, to, event }));
        let pending = |flag: Flag| {
            let earlier = self.flags.get(&flag)?.step;
            Some(FlagFault::Collision { flag, step, earlier })
        };
        flags.filter_map(pending).collect()
    }

    /// What is left when the program has ended: waits that hang, flags that nobody waited for.
    pub(crate) fn finish(&self) -> Vec<FlagFault> {
        let waits = self.stuck();
        if !waits.is_empty() {
            let related = |flag: &Flag| waits.iter().any(|(wait, _)| wait.from == flag.from || wait.to == flag.to);
            let pending = self.flags.iter().filter(|(flag, _)| related(flag));
            let pending = pending.map(|(flag, pending)| (*flag, pending.step)).collect();
            return vec![FlagFault::Deadlock { waits, pending }];
        }
        let never = |(flag, pending): (&Flag, &Pending)| FlagFault::NeverWaited { flag: *flag, step: pending.step };
        self.flags.iter().map(never).collect()
    }

    /// The waits at the head of every queue that is stuck, the cause first: waits for a flag that nothing sets, then
    /// those in a circle, then those that only wait for pipes that are stuck; each in the order of the program.
    pub(crate) fn stuck(&self) -> Vec<(Flag, u32)> {
        let mut waits: Vec<(Flag, u32)> = Pipe::EACH.iter().filter_map(|pipe| self.stuck_in(*pipe)).collect();
        waits.sort_by_key(|(flag, step)| (self.hang(*flag), *step));
        waits
    }

    fn stuck_in(&self, pipe: Pipe) -> Option<(Flag, u32)> {
        match self.queues[slot(pipe)].front() {
            Some(Queued::Wait(flag, step)) => Some((*flag, *step)),
            _ => None,
        }
    }

    fn hang(&self, flag: Flag) -> Hang {
        let mut next = flag;
        for _ in 0..PIPES {
            let Some(blocker) = self.blocker(next) else { break };
            if blocker.to == flag.to {
                return Hang::Circle;
            }
            next = blocker;
        }
        if next == flag { Hang::NeverSet } else { Hang::Behind }
    }

    /// The wait behind which the set of this flag is stuck; none if nothing sets it.
    fn blocker(&self, flag: Flag) -> Option<Flag> {
        let sets = |entry: &Queued| matches!(entry, Queued::Set(set, _) if *set == flag);
        let queued = self.queues[slot(flag.from)].iter().any(sets);
        // What a stuck scalar unit would have issued, nobody knows.
        let pipe = if queued { flag.from } else { Pipe::S };
        self.stuck_in(pipe).map(|(wait, _)| wait).filter(|wait| queued || wait.to != flag.to)
    }
}
