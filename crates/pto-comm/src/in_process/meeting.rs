//! Where the threads of a group wait for each other, and learn that one will not come.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::CommError;

/// A barrier that knows who is alive: it opens when all ranks have come, and fails, once and for good, when one is
/// gone, comes to another operation, or does not come in time.
pub(super) struct Meeting {
    size: usize,
    timeout: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// How often all ranks have come.
    round: u64,
    /// Ranks that have come to this round, and to what.
    arrived: Vec<(usize, &'static str)>,
    /// The first rank that went, and how: others may follow because of it.
    gone: Option<(usize, String)>,
    failure: Option<CommError>,
    /// Messages under way to each rank, and who sent them.
    inboxes: Vec<VecDeque<(usize, Vec<u8>)>>,
}

impl Meeting {
    pub(super) fn new(size: usize, timeout: Duration) -> Self {
        let state =
            State { round: 0, arrived: Vec::new(), gone: None, failure: None, inboxes: vec![VecDeque::new(); size] };
        Self { size, timeout, state: Mutex::new(state), changed: Condvar::new() }
    }

    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The moment at which waiting from now on turns into a failure.
    pub(super) fn deadline(&self) -> Instant {
        Instant::now() + self.timeout
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all ranks have come.
    pub(super) fn come(&self, rank: usize, operation: &'static str) -> Result<(), CommError> {
        let deadline = self.deadline();
        let mut state = self.state();
        state.check()?;
        if let Some(&(other, theirs)) = state.arrived.iter().find(|(_, other)| *other != operation) {
            let mismatch =
                |rank, theirs: &str, mine: &str| CommError::Mismatch { rank, theirs: theirs.into(), mine: mine.into() };
            // Those who wait see it from their side.
            state.failure = Some(mismatch(rank, operation, theirs));
            self.changed.notify_all();
            return Err(mismatch(other, theirs, operation));
        }
        state.arrived.push((rank, operation));
        if state.arrived.len() == self.size {
            state.arrived.clear();
            state.round += 1;
            self.changed.notify_all();
            return Ok(());
        }
        let round = state.round;
        // The round comes first: who leaves after it has done its part in it.
        while state.round == round {
            if let Some(failure) = &state.failure {
                return Err(failure.clone());
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.fail(&mut state, self.late(operation));
            } else {
                state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
        Ok(())
    }

    /// Leaves a message for a rank.
    pub(super) fn post(&self, from: usize, to: usize, message: Vec<u8>) -> Result<(), CommError> {
        let mut state = self.state();
        state.check()?;
        let inbox = state.inboxes.get_mut(to).ok_or(CommError::NoSuchRank { rank: to, size: self.size })?;
        inbox.push_back((from, message));
        self.changed.notify_all();
        Ok(())
    }

    /// Waits for a message to a rank.
    pub(super) fn receive(&self, rank: usize) -> Result<(usize, Vec<u8>), CommError> {
        let deadline = self.deadline();
        let mut state = self.state();
        loop {
            if let Some(message) = state.inboxes[rank].pop_front() {
                return Ok(message);
            }
            state.check()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                self.fail(&mut state, self.late("receive"));
            } else {
                state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            }
        }
    }

    /// The error of having waited too long in an operation.
    pub(super) fn late(&self, operation: &'static str) -> CommError {
        CommError::Timeout { operation, seconds: self.timeout.as_secs() }
    }

    /// A rank goes. Those who wait for it now fail at once, those who will come to wait fail then.
    pub(super) fn leave(&self, rank: usize, reason: &str) {
        let mut state = self.state();
        state.gone.get_or_insert_with(|| (rank, reason.into()));
        if !state.arrived.is_empty() {
            self.fail(&mut state, CommError::RankLost { rank, reason: reason.into() });
        }
    }

    /// An error if a rank is gone or the group has failed.
    pub(super) fn check(&self) -> Result<(), CommError> {
        self.state().check()
    }

    fn fail(&self, state: &mut State, failure: CommError) {
        state.failure.get_or_insert(failure);
        self.changed.notify_all();
    }
}

impl State {
    fn check(&self) -> Result<(), CommError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        match &self.gone {
            Some((rank, reason)) => Err(CommError::RankLost { rank: *rank, reason: reason.clone() }),
            None => Ok(()),
        }
    }
}
