//! Ranks as threads of one process: the transport that needs nothing installed.
//!
//! Each rank has its own memory; a window is memory behind a lock that the rank and its peers share, so one-sided
//! access is plain copying, and data races are impossible whatever a program does.

mod execute;
mod meeting;
mod window;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::transport::zeroed;
use crate::{CommError, Transport, Window};
pub use execute::execute_collective;
use meeting::Meeting;
use window::{Memory, ProcessWindow};

/// How long ranks wait for each other before they call it a failure, unless told otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(20);

/// What the ranks of one process share.
struct Shared {
    meeting: Meeting,
    /// Messages under way, from rank `i / size` to rank `i % size`: two sets, used in turn, so that a fast rank's
    /// next exchange does not touch what a slow rank has not yet fetched.
    mail: [Vec<Mutex<Vec<u8>>>; 2],
    /// Windows being opened.
    windows: Mutex<Vec<Option<Arc<Memory>>>>,
}

/// One rank of a group of threads.
pub struct InProcess {
    shared: Arc<Shared>,
    rank: usize,
    exchanges: std::cell::Cell<usize>,
}

/// Runs `body` on `ranks` threads that form a group, and returns what each made of it, in rank order.
///
/// A rank that panics, or returns early, is gone: ranks that wait for it get [`CommError::RankLost`].
///
/// ```
/// use pto_comm::{CommError, Transport, launch};
/// let sums = launch(3, |rank| {
///     let parts = rank.all_to_all(vec![vec![rank.rank() as u8]; 3])?;
///     Ok(parts.iter().map(|p| p[0]).sum::<u8>())
/// });
/// assert_eq!(sums, vec![Ok(3); 3]);
///
/// let lost = launch(2, |rank| if rank.rank() == 0 { Ok(()) } else { rank.barrier() });
/// assert!(matches!(lost[1], Err(CommError::RankLost { rank: 0, .. })));
/// ```
pub fn launch<T: Send>(
    ranks: usize,
    body: impl Fn(&InProcess) -> Result<T, CommError> + Sync,
) -> Vec<Result<T, CommError>> {
    launch_within(ranks, DEFAULT_TIMEOUT, body)
}

/// [`launch`] with a time after which a rank that does not come is called lost.
pub fn launch_within<T: Send>(
    ranks: usize,
    timeout: Duration,
    body: impl Fn(&InProcess) -> Result<T, CommError> + Sync,
) -> Vec<Result<T, CommError>> {
    launch_with(ranks, timeout, body)
}

/// [`launch_within`] for ranks that fail with an error of their own.
pub fn launch_with<T: Send, E: From<CommError> + std::fmt::Display + Send>(
    ranks: usize,
    timeout: Duration,
    body: impl Fn(&InProcess) -> Result<T, E> + Sync,
) -> Vec<Result<T, E>> {
    let mailboxes = || (0..ranks * ranks).map(|_| Mutex::default()).collect();
    let shared = Arc::new(Shared {
        meeting: Meeting::new(ranks, timeout),
        mail: [mailboxes(), mailboxes()],
        windows: Mutex::new(vec![None; ranks]),
    });
    let (shared, body) = (&shared, &body);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..ranks)
            .map(|rank| {
                let run = move || live(&InProcess { shared: Arc::clone(shared), rank, exchanges: 0.into() }, body);
                let thread = std::thread::Builder::new().name(format!("rank {rank}")).spawn_scoped(scope, run);
                thread.map_err(|error| {
                    let reason = format!("its thread could not be started: {error}");
                    shared.meeting.leave(rank, &reason);
                    CommError::RankLost { rank, reason }
                })
            })
            .collect();
        let lost = |rank| CommError::RankLost { rank, reason: "its thread ended".into() };
        let joined = threads
            .into_iter()
            .enumerate()
            .map(|(rank, thread)| thread?.join().unwrap_or_else(|_| Err(lost(rank).into())));
        joined.collect()
    })
}

/// The life of a rank: however it ends, the others are told.
fn live<T, E: From<CommError> + std::fmt::Display>(
    rank: &InProcess,
    body: impl Fn(&InProcess) -> Result<T, E>,
) -> Result<T, E> {
    let (outcome, reason) = match catch_unwind(AssertUnwindSafe(|| body(rank))) {
        Ok(Ok(value)) => (Ok(value), "it left the group".into()),
        Ok(Err(error)) => {
            let reason = error.to_string();
            (Err(error), reason)
        }
        Err(panic) => {
            let words = panic.downcast_ref::<&str>().copied();
            let words = words.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
            let reason = format!("it panicked: {words}");
            (Err(CommError::RankLost { rank: rank.rank, reason: reason.clone() }.into()), reason)
        }
    };
    rank.shared.meeting.leave(rank.rank, &reason);
    outcome
}

impl Transport for InProcess {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.shared.meeting.size()
    }

    fn expose(&self, bytes: u64) -> Result<Box<dyn Window + '_>, CommError> {
        let windows = || self.shared.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = zeroed(bytes);
        self.agree(memory.as_ref().map(drop).map_err(CommError::clone))?;
        windows()[self.rank] = Some(Arc::new(Memory::new(memory?)));
        self.shared.meeting.come(self.rank, "expose")?;
        let all: Vec<_> = windows().iter().flatten().cloned().collect();
        // Everybody has fetched the windows before the list is emptied for the next ones.
        self.shared.meeting.come(self.rank, "expose")?;
        windows()[self.rank] = None;
        Ok(Box::new(ProcessWindow::new(&self.shared.meeting, self.rank, all)))
    }

    fn barrier(&self) -> Result<(), CommError> {
        self.shared.meeting.come(self.rank, "barrier")
    }

    fn post(&self, rank: usize, message: Vec<u8>) -> Result<(), CommError> {
        self.shared.meeting.post(self.rank, rank, message)
    }

    fn receive(&self) -> Result<(usize, Vec<u8>), CommError> {
        self.shared.meeting.receive(self.rank)
    }

    fn all_to_all(&self, parts: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CommError> {
        let size = self.size();
        if parts.len() != size {
            return Err(CommError::Parts { ranks: size, found: parts.len() });
        }
        let mail = &self.shared.mail[self.exchanges.get() % 2];
        self.exchanges.set(self.exchanges.get() + 1);
        let slot = |from: usize, to: usize| mail[from * size + to].lock().unwrap_or_else(PoisonError::into_inner);
        for (to, part) in parts.into_iter().enumerate() {
            *slot(self.rank, to) = part;
        }
        self.shared.meeting.come(self.rank, "all_to_all")?;
        Ok((0..size).map(|from| std::mem::take(&mut *slot(from, self.rank))).collect())
    }
}
