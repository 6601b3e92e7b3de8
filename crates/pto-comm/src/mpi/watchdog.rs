//! A second pair of eyes on calls that can only block.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::alive::{Losses, last_words};
use crate::CommError;

/// A thread that ends the process if a watched call does not come back in time, or waits for a rank that is lost. It
/// never touches MPI.
pub(super) struct Watchdog {
    under_way: Arc<UnderWay>,
    /// The thread ends when this is dropped.
    _stop: Option<Sender<()>>,
}

/// The call under way, and since when.
type UnderWay = Mutex<Option<(&'static str, Instant)>>;

/// How often the thread looks: what a failure may take longer than the timeout.
const PERIOD: Duration = Duration::from_millis(200);

impl Watchdog {
    pub(super) fn start(rank: usize, timeout: Duration, losses: Losses) -> Self {
        let under_way = Arc::<UnderWay>::default();
        let (stop, stopped) = channel::<()>();
        let watched = Arc::clone(&under_way);
        let watch = move || {
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let Some((operation, since)) = *watched.lock().unwrap_or_else(PoisonError::into_inner) else {
                    continue;
                };
                if since.elapsed() > timeout {
                    last_words(rank, &CommError::Timeout { operation, seconds: timeout.as_secs() });
                }
                // A call that needs a rank that is lost does not end.
                if let Some((error, known)) = losses.first()
                    && known.elapsed() > PERIOD
                {
                    last_words(rank, &error);
                }
            }
        };
        // Without a thread to spare, a blocked call is left to the launcher.
        let thread = std::thread::Builder::new().name("watchdog".into()).spawn(watch);
        Self { under_way, _stop: thread.ok().map(|_| stop) }
    }

    /// Makes a call that may block. Calls do not nest.
    pub(super) fn watch<T>(&self, operation: &'static str, call: impl FnOnce() -> T) -> T {
        self.set(Some((operation, Instant::now())));
        let result = call();
        self.set(None);
        result
    }

    fn set(&self, call: Option<(&'static str, Instant)>) {
        *self.under_way.lock().unwrap_or_else(PoisonError::into_inner) = call;
    }
}
