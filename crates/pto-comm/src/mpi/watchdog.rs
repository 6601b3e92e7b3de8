//! A second pair of eyes on calls that can only block.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::alive::last_words;
use crate::CommError;

/// A thread that ends the process if a watched call does not come back in time. It never touches MPI.
pub(super) struct Watchdog {
    /// Milliseconds after `start` at which the call under way is late; 0 while there is none.
    late: Arc<AtomicU64>,
    start: Instant,
    timeout: Duration,
    /// The thread ends when this is dropped.
    _stop: Option<Sender<()>>,
}

/// How often the thread looks: what a failure may take longer than the timeout.
const PERIOD: Duration = Duration::from_millis(200);

impl Watchdog {
    /// One that does not watch.
    pub(super) fn off(timeout: Duration) -> Self {
        Self { late: Arc::default(), start: Instant::now(), timeout, _stop: None }
    }

    /// `lost` says which rank is lost, if any.
    pub(super) fn start(
        rank: usize,
        timeout: Duration,
        lost: impl Fn() -> Option<(CommError, Instant)> + Send + 'static,
    ) -> Self {
        let (late, start) = (Arc::new(AtomicU64::new(0)), Instant::now());
        let (stop, stopped) = channel::<()>();
        let watched = Arc::clone(&late);
        let watch = move || {
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let late = watched.load(Ordering::Relaxed);
                if late != 0 && start.elapsed().as_millis() as u64 > late {
                    let operation = "the end of a one-sided transfer";
                    last_words(rank, &CommError::Timeout { operation, seconds: timeout.as_secs() });
                }
                // A transfer with a rank that is lost does not end.
                if late != 0
                    && let Some((error, known)) = lost()
                    && known.elapsed() > PERIOD
                {
                    last_words(rank, &error);
                }
            }
        };
        // Without a thread to spare, a blocked call is left to the launcher.
        let thread = std::thread::Builder::new().name("watchdog".into()).spawn(watch);
        Self { late, start, timeout, _stop: thread.ok().map(|_| stop) }
    }

    /// Makes a call that may block.
    pub(super) fn watch<T>(&self, call: impl FnOnce() -> T) -> T {
        let late = (self.start.elapsed() + self.timeout).as_millis() as u64;
        self.late.store(late.max(1), Ordering::Relaxed);
        let result = call();
        self.late.store(0, Ordering::Relaxed);
        result
    }
}
