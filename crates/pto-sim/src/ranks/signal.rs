//! Signals: a rank tells another that it is done, and one waits to be told.
//!
//! A notification is a message to the rank whose window holds the signal. It changes the signal when that rank waits for
//! it, or meets the others, and brings what its sender had seen: so it orders the two ranks. Of one sender's
//! notifications only those that a wait needs are taken, so what is ordered does not depend on which came early.
//!
//! A rank that waits, or comes to a meeting, says so to all others, with the notifications it has sent and heard until
//! then. If that is known of every rank, and each of those that wait has heard all that was sent to it, then nobody
//! will ever send another one: the wait fails. Whoever had gone on since would have heard a notification that
//! somebody counted as sent, or sent one that nobody has heard.

use std::collections::{BTreeMap, VecDeque};

use pto_comm::CommError;
use pto_ir::{Diagnostic, NotifyOp, Pipe, ValueId, WaitCompare};
use serde::{Deserialize, Serialize};

use super::Peers;
use crate::device::Span;
use crate::machine::{Machine, decode, encode};
use crate::rules;
use crate::state::Value;
use crate::work::Refusal;

/// A notification under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Notice {
    buffer: usize,
    byte: u64,
    add: bool,
    value: i64,
    clock: Vec<u64>,
    cycle: u64,
}

/// A rank cannot go on by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Blocked {
    /// Meetings before this one.
    meeting: u64,
    /// It has come to the next one; otherwise it waits for a signal.
    arrived: bool,
    /// Notifications that it has sent to each rank, and heard of each.
    sent: Vec<u64>,
    heard: Vec<u64>,
}

/// What one rank sends another between meetings.
#[derive(Serialize, Deserialize)]
enum Message {
    Notice(Notice),
    Blocked(Blocked),
}

/// Notifications that have come and were not yet taken, by signal and sender; and how many have been sent and heard.
#[derive(Debug, Default)]
pub(super) struct Signals {
    waiting: BTreeMap<(usize, u64), Vec<VecDeque<Notice>>>,
    sent: Vec<u64>,
    heard: Vec<u64>,
    /// The same of all messages.
    pub(super) posted: Vec<u64>,
    received: Vec<u64>,
    /// What the others said when they could not go on.
    others: Vec<Option<Blocked>>,
    /// What this rank said last.
    said: Option<Blocked>,
    meeting: u64,
}

impl Signals {
    pub(super) fn new(ranks: usize) -> Self {
        let none = vec![0; ranks];
        Self {
            sent: none.clone(),
            heard: none.clone(),
            posted: none.clone(),
            received: none,
            others: vec![None; ranks],
            ..Self::default()
        }
    }

    fn keep(&mut self, from: usize, notice: Notice) {
        let ranks = self.heard.len();
        let queues = self.waiting.entry((notice.buffer, notice.byte)).or_insert_with(|| vec![VecDeque::new(); ranks]);
        queues[from].push_back(notice);
    }

    /// True if no rank can go on, this one included.
    fn stuck(&self, rank: usize) -> bool {
        let Some(mine) = &self.said else { return false };
        let all: Option<Vec<&Blocked>> =
            (0..self.heard.len()).map(|at| if at == rank { Some(mine) } else { self.others[at].as_ref() }).collect();
        let Some(all) = all.filter(|all| all.iter().all(|one| one.meeting == self.meeting)) else { return false };
        let heard_all = |(at, one): (usize, &&Blocked)| {
            one.arrived || all.iter().enumerate().all(|(from, other)| from == at || other.sent[at] == one.heard[from])
        };
        all.iter().enumerate().all(heard_all)
    }

    /// The next notification to a signal; of several senders, of the lowest rank.
    fn take(&mut self, signal: (usize, u64)) -> Option<Notice> {
        self.waiting.get_mut(&signal)?.iter_mut().find_map(VecDeque::pop_front)
    }
}

impl Machine<'_> {
    /// The signal of a notification or a wait that the scalar unit has come to; `None` if it never does, or must not.
    fn reach_signal(&mut self, signal: ValueId, step: u32) -> Option<(usize, u64, Option<usize>)> {
        self.pump();
        if self.stopped || self.device.scalar_is_stuck() {
            self.stopped = true;
            return None;
        }
        self.signal(signal).map_err(|(rule, message)| self.trap(rule, step, message)).ok()
    }

    /// The buffer and byte of a signal, and the rank whose memory it is where there are several.
    fn signal(&self, signal: ValueId) -> Result<(usize, u64, Option<usize>), Refusal> {
        let view = self.view_operand(signal)?;
        let size = view.tensor.element.size();
        let byte = view.offset * size;
        if view.tensor.span().unwrap_or(0) == 0 {
            return Err((rules::BOUNDS_BUFFER, "expected a signal of one element, found an empty view".into()));
        }
        let owner = self.owner(view.buffer);
        if self.peers.is_some() && owner.is_none() {
            let name = &self.buffers[view.buffer].name;
            let message = format!(
                "expected a signal in the window of a rank, found it in `{name}`, which each rank has for itself"
            );
            return Err((rules::COMM_WINDOW, message));
        }
        Ok((view.buffer, byte, owner))
    }

    pub(crate) fn notify(&mut self, signal: ValueId, value: ValueId, op: NotifyOp, step: u32) {
        let Some((buffer, byte, owner)) = self.reach_signal(signal, step) else { return };
        let (add, value) = (op == NotifyOp::Add, self.integer(value));
        let cycle = self.device.now();
        let notice = Notice { buffer, byte, add, value, clock: Vec::new(), cycle };
        let Some(owner) = owner else { return self.change(&notice) };
        if let Err(error) = self.deliver().and_then(|()| self.send(owner, notice)) {
            return self.comm_failure(&error, Some(step));
        }
        let issue = self.timing.map_or(0, |timing| timing.issue);
        self.device.spend(issue);
    }

    /// Sends a notification: others may learn of everything this rank has done.
    fn send(&mut self, owner: usize, mut notice: Notice) -> Result<(), CommError> {
        let seen = self.is_device().then(|| *self.device.clocks.of(Pipe::S));
        let Some(peers) = &mut self.peers else { return Ok(()) };
        let rank = peers.rank();
        peers.log.close(rank, &peers.clock, seen.as_ref());
        notice.clock.clone_from(&peers.clock);
        peers.clock[rank] += 1;
        if owner == rank {
            peers.signals.keep(rank, notice);
            return Ok(());
        }
        peers.signals.sent[owner] += 1;
        post(peers, owner, &Message::Notice(notice))
    }

    pub(crate) fn wait(&mut self, signal: ValueId, value: ValueId, compare: WaitCompare, step: u32) {
        let Some((buffer, byte, owner)) = self.reach_signal(signal, step) else { return };
        let here = self.peers.as_ref().map(Peers::rank);
        if owner != here {
            let message = format!(
                "expected a signal in this rank's own window, found one of rank {}: rank {} waits",
                owner.unwrap_or(0),
                here.unwrap_or(0)
            );
            return self.trap(rules::COMM_WINDOW, step, message);
        }
        let value = self.integer(value);
        let start = self.device.now();
        let mut waited = false;
        loop {
            if let Err((rule, message)) = self.fetch(buffer) {
                return self.trap(rule, step, message);
            }
            if compare.holds(self.read_signal(buffer, byte), value) {
                break;
            }
            waited = true;
            match self.next_notice((buffer, byte)) {
                Ok(Some(notice)) => {
                    self.change(&notice);
                    self.learn(&notice);
                }
                Ok(None) => {
                    let message = "this waits for a notification that nobody will send: every rank waits or has ended";
                    return self.trap(rules::SYNC_DEADLOCK, step, message);
                }
                Err(error) => return self.comm_failure(&error, Some(step)),
            }
        }
        let end = self.device.now();
        let place = self.place(step);
        if waited && self.is_device() {
            self.span(Span { pipe: Pipe::S, start, end, name: "twait", place });
        }
        // What the notifying ranks delivered before is there now.
        if let Some(peers) = &mut self.peers {
            peers.windows.expire();
        }
    }

    fn read_signal(&self, buffer: usize, byte: u64) -> i64 {
        let buffer = &self.buffers[buffer];
        let size = buffer.element.size() as usize;
        match buffer.bytes.get(byte as usize..byte as usize + size).map(|bytes| decode(buffer.element, bytes)) {
            Some(Value::Integer(value)) => value,
            _ => 0,
        }
    }

    /// The next notification to a signal, waited for; `None` where nobody could send one.
    fn next_notice(&mut self, signal: (usize, u64)) -> Result<Option<Notice>, CommError> {
        let Some(peers) = &mut self.peers else { return Ok(None) };
        loop {
            if let Some(notice) = peers.signals.take(signal) {
                return Ok(Some(notice));
            }
            say_blocked(peers, false)?;
            if peers.signals.stuck(peers.rank()) {
                return Ok(None);
            }
            hear(peers)?;
        }
    }

    /// Changes a signal as a notification says.
    fn change(&mut self, notice: &Notice) {
        let (at, byte) = (notice.buffer, notice.byte);
        let before = self.read_signal(at, byte);
        let value = if notice.add { before.wrapping_add(notice.value) } else { notice.value };
        let buffer = &mut self.buffers[at];
        let size = buffer.element.size();
        let bytes = encode(buffer.element, &Value::Integer(value));
        if let Some(room) = buffer.bytes.get_mut(byte as usize..(byte + size) as usize) {
            room.copy_from_slice(&bytes[..size as usize]);
        }
        if let Some(peers) = &mut self.peers {
            peers.windows.wrote(at, &[(byte, byte + size)]);
        }
    }

    /// Learns what the sender of a notification had seen and done.
    fn learn(&mut self, notice: &Notice) {
        if let Some(peers) = &mut self.peers {
            for (mine, theirs) in peers.clock.iter_mut().zip(&notice.clock) {
                *mine = (*mine).max(*theirs);
            }
        }
        let travel = self.timing.map_or(0, |timing| timing.handshake);
        self.device.hold(Pipe::S, notice.cycle + travel);
    }

    /// At a meeting: every notification that was sent before it takes effect.
    pub(super) fn settle_signals(&mut self, sent: &[u64]) -> Result<(), CommError> {
        let Some(peers) = &mut self.peers else { return Ok(()) };
        while (0..peers.size()).any(|from| peers.signals.received[from] < sent[from]) {
            hear(peers)?;
        }
        peers.signals.meeting += 1;
        peers.signals.said = None;
        let waiting = std::mem::take(&mut peers.signals.waiting);
        for ((buffer, _), queues) in waiting {
            if queues.iter().any(|queue| !queue.is_empty())
                && let Err((rule, message)) = self.fetch(buffer)
            {
                let place = self.function.place;
                self.say(Diagnostic::new(rule, place, message));
            }
            queues.into_iter().flatten().for_each(|notice| self.change(&notice));
        }
        self.deliver()
    }
}

/// Waits for a message and keeps what it says.
fn hear(peers: &mut Peers<'_>) -> Result<(), CommError> {
    let (from, message) = peers.transport.receive()?;
    let message: Message =
        serde_json::from_slice(&message).map_err(|error| CommError::Peer { rank: from, message: error.to_string() })?;
    let signals = &mut peers.signals;
    signals.received[from] += 1;
    match message {
        Message::Notice(notice) => {
            signals.heard[from] += 1;
            signals.keep(from, notice);
        }
        Message::Blocked(blocked) => signals.others[from] = Some(blocked),
    }
    Ok(())
}

fn post(peers: &mut Peers<'_>, to: usize, message: &Message) -> Result<(), CommError> {
    peers.signals.posted[to] += 1;
    peers.transport.post(to, serde_json::to_vec(message).unwrap_or_default())
}

/// Tells the others that this rank cannot go on by itself, if there are waits to which that matters.
pub(super) fn say_blocked(peers: &mut Peers<'_>, arrived: bool) -> Result<(), CommError> {
    if !peers.says.waits {
        return Ok(());
    }
    let signals = &mut peers.signals;
    let (sent, heard) = (signals.sent.clone(), signals.heard.clone());
    let blocked = Blocked { meeting: signals.meeting, arrived, sent, heard };
    if signals.said.as_ref() == Some(&blocked) {
        return Ok(());
    }
    signals.said = Some(blocked.clone());
    let message = Message::Blocked(blocked);
    let rank = peers.rank();
    (0..peers.size()).filter(|to| *to != rank).try_for_each(|to| post(peers, to, &message))
}
