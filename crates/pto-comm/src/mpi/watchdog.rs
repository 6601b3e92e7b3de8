//! A second pair of eyes on calls that can only block.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

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
const PERIOD: Duration = Duration::from_millis(500);

impl Watchdog {
    pub(super) fn start(timeout: Duration) -> Self {
        let (late, start) = (Arc::new(AtomicU64::new(0)), Instant::now());
        let (stop, stopped) = channel::<()>();
        let watched = Arc::clone(&late);
        let watch = move || {
            while stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let late = watched.load(Ordering::Relaxed);
                if late != 0 && start.elapsed().as_millis() as u64 > late {
                    end(timeout);
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

#[expect(clippy::print_stderr, reason = "the process is about to end and has no other way to say why")]
fn end(timeout: Duration) -> ! {
    eprintln!("pto-comm: a one-sided transfer did not end within {} s: a rank is lost", timeout.as_secs());
    std::process::abort();
}
