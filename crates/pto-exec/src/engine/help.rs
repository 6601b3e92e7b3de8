//! Work that other threads may help with.
//!
//! Waking a thread takes 30 to 60 microseconds where a machine saves power, up to 500 where others share it: one thread gathers a
//! hundred thousand lanes meanwhile. A scope waits for all that it has spawned, begun or not. Here the caller works until nothing is
//! left to do, then shuts the door: whoever comes later finds it shut and goes away, and the caller waits for those inside only.
#![expect(unsafe_code, reason = "a helper borrows what the caller has on its stack, for as long as the caller says")]

use core::any::Any;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long the caller looks whether helpers are done, before it sleeps: as long as their last piece and waking it would take.
const PATIENCE: Duration = Duration::from_micros(200);

/// Helpers that may have been asked for and not have come, before nobody else is asked: where all threads are busy none comes for
/// long, and each takes memory.
const MOST_WAITING: usize = 64;

/// Set in [`Door::inside`] when the door is shut.
const SHUT: usize = 1 << (usize::BITS - 1);

/// Threads that help with a call.
#[derive(Debug, Default)]
pub(super) struct Helpers {
    /// How many were asked for, by any call, and have not come yet.
    waiting: Arc<AtomicUsize>,
}

impl Helpers {
    /// Calls `work` on this thread and, as long as that takes, on up to `count` threads of the caller's rayon pool. It ends when
    /// this thread's call and all that others have begun have ended.
    ///
    /// # Panics
    /// If one of the calls does.
    pub(super) fn call(&self, count: usize, work: &Work<'_>) {
        if count == 0 {
            return work();
        }
        // SAFETY: only the lifetime changes, of a pointer.
        let work_for_others = unsafe { core::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
        let door = Arc::new(Door {
            work: work_for_others,
            inside: AtomicUsize::new(0),
            panic: Mutex::new(None),
            caller: thread::current(),
        });
        let shutting = Shutting(&door);
        (0..count).take_while(|_| self.may_ask()).for_each(|_| self.ask(&door));
        work();
        drop(shutting);
        if let Some(panic) = door.panic.lock().unwrap_or_else(PoisonError::into_inner).take() {
            resume_unwind(panic);
        }
    }

    fn may_ask(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < MOST_WAITING
    }

    /// Asks one thread to come.
    fn ask(&self, door: &Arc<Door>) {
        let (door, waiting) = (Arc::clone(door), Arc::clone(&self.waiting));
        waiting.fetch_add(1, Ordering::Relaxed);
        rayon::spawn(move || {
            waiting.fetch_sub(1, Ordering::Relaxed);
            door.enter();
        });
    }
}

/// What the caller and its helpers do.
type Work<'a> = dyn Fn() + Sync + 'a;

/// What helpers share with the caller.
struct Door {
    /// Lives until the door is shut and nobody is inside.
    work: *const Work<'static>,
    /// How many helpers are at work; [`SHUT`] if no more may begin.
    inside: AtomicUsize,
    /// What the last helper that panicked left.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    caller: Thread,
}

// SAFETY: the work is `Sync`. All else is shared as it is.
unsafe impl Send for Door {}
// SAFETY: as above.
unsafe impl Sync for Door {}

impl Door {
    /// Helps, unless the door is shut.
    fn enter(&self) {
        let count_in = |inside| (inside & SHUT == 0).then_some(inside + 1);
        if self.inside.fetch_update(Ordering::Acquire, Ordering::Relaxed, count_in).is_err() {
            return;
        }
        let _leaving = Leaving(self);
        // SAFETY: this helper is counted in and the door was not shut: `Shutting` waits for it, before the call ends in any way,
        // and what the work borrows outlives that.
        let work = unsafe { &*self.work };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
            *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
    }
}

/// Counts a helper out at its end.
struct Leaving<'a>(&'a Door);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        // Whatever the helper has written is there for whoever sees that it has left.
        if self.0.inside.fetch_sub(1, Ordering::Release) == SHUT + 1 {
            self.0.caller.unpark();
        }
    }
}

/// Shuts the door at its end and waits for those inside.
struct Shutting<'a>(&'a Door);

impl Drop for Shutting<'_> {
    fn drop(&mut self) {
        let Door { inside, .. } = self.0;
        // Those that have come and left are seen, too: each changed the same number.
        if inside.fetch_or(SHUT, Ordering::AcqRel) == 0 {
            return;
        }
        let since = Instant::now();
        while inside.load(Ordering::Acquire) != SHUT {
            if since.elapsed() < PATIENCE {
                core::hint::spin_loop();
            } else {
                thread::park();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes numbers from a queue; returns their sum, and how many threads took some.
    fn sum_with_help(helpers: usize, count: usize) -> (usize, usize) {
        let (next, sum, threads) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        Helpers::default().call(helpers, &|| {
            let mut mine = 0;
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    break;
                }
                mine += number;
            }
            threads.fetch_add(usize::from(mine > 0), Ordering::Relaxed);
            sum.fetch_add(mine, Ordering::Relaxed);
        });
        (sum.into_inner(), threads.into_inner())
    }

    #[test]
    fn all_is_done_once_whoever_comes() {
        for helpers in [0, 1, 3, 8] {
            for count in [0, 1, 2, 1000, 100_000] {
                for _ in 0..20 {
                    let (sum, threads) = sum_with_help(helpers, count);
                    assert_eq!(sum, count * count.saturating_sub(1) / 2);
                    assert!(threads <= helpers + 1);
                }
            }
        }
    }

    #[test]
    fn a_helper_comes_and_is_waited_for() {
        let caller = thread::current().id();
        for patience in [0, 3] {
            let (started, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
            Helpers::default().call(1, &|| {
                // Each waits for the other.
                started.fetch_add(1, Ordering::AcqRel);
                while started.load(Ordering::Acquire) < 2 {
                    thread::yield_now();
                }
                if thread::current().id() != caller {
                    // Long enough for the caller to fall asleep.
                    let since = Instant::now();
                    while since.elapsed() < PATIENCE * patience {
                        thread::yield_now();
                    }
                    left.store(1, Ordering::Relaxed);
                }
            });
            assert_eq!((started.into_inner(), left.into_inner()), (2, 1));
        }
    }

    #[test]
    fn whoever_comes_late_finds_the_door_shut() {
        // The only thread of the pool is the caller's: its own helpers begin after the call has ended.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let calls = AtomicUsize::new(0);
        pool.install(|| {
            Helpers::default().call(3, &|| {
                calls.fetch_add(1, Ordering::Relaxed);
            });
        });
        // Jobs of the same thread go before those from outside.
        pool.install(|| ());
        assert_eq!(calls.into_inner(), 1);
    }

    #[test]
    fn helpers_that_do_not_come_are_not_asked_for_without_end() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let helpers = Helpers::default();
        let waiting = || helpers.waiting.load(Ordering::Relaxed);
        pool.install(|| {
            (0..10 * MOST_WAITING).for_each(|_| helpers.call(3, &|| ()));
            assert_eq!(waiting(), MOST_WAITING);
        });
        // Jobs of the same thread go before those from outside.
        pool.install(|| ());
        assert_eq!(waiting(), 0);
    }

    #[test]
    fn a_panic_of_anyone_is_the_callers() {
        let caller = thread::current().id();
        for caller_panics in [true, false] {
            let started = AtomicUsize::new(0);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                Helpers::default().call(1, &|| {
                    started.fetch_add(1, Ordering::AcqRel);
                    while started.load(Ordering::Acquire) < 2 {
                        thread::yield_now();
                    }
                    assert!((thread::current().id() == caller) != caller_panics, "as wanted");
                });
            }));
            assert!(caught.is_err());
            // Threads of the pool are as they were.
            assert_eq!(sum_with_help(1, 1000).0, 999 * 500);
        }
    }
}
