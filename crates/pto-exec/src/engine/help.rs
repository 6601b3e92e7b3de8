//! Work that other threads may help with.
//!
//! Waking a thread takes 30 to 60 microseconds where a machine saves power, as long as a hundred thousand lanes. A scope waits
//! for all that it has spawned, begun or not. Here the caller works until nothing is left to do, then shuts the door: whoever
//! comes later finds it shut and goes away, and the caller waits for those inside only.
#![expect(unsafe_code, reason = "a helper borrows what the caller has on its stack, for as long as the caller says")]

use core::any::Any;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// How long the caller looks whether helpers are done, before it sleeps: as long as waking it would take.
const PATIENCE: Duration = Duration::from_micros(50);

/// Set in [`Door::inside`] when the door is shut.
const SHUT: usize = 1 << (usize::BITS - 1);

/// Calls `work` on this thread and, as long as that takes, on up to `helpers` threads of the caller's rayon pool. It ends when
/// this thread's call and all that others have begun have ended.
///
/// # Panics
/// If one of the calls does.
pub(super) fn with_help(helpers: usize, work: &(dyn Fn() + Sync)) {
    if helpers == 0 {
        return work();
    }
    // SAFETY: only the lifetime changes. `Door::enter` uses the reference between counting itself in and out, and does not come in
    // once the door is shut. `Shutting` shuts it and waits until nobody is inside, before this function ends in any way: what
    // `work` borrows outlives that.
    let work_for_others: &'static (dyn Fn() + Sync) = unsafe { core::mem::transmute(work) };
    let door = Arc::new(Door {
        work: work_for_others,
        inside: AtomicUsize::new(0),
        panic: Mutex::new(None),
        caller: thread::current(),
    });
    let shutting = Shutting(&door);
    for _ in 0..helpers {
        let door = Arc::clone(&door);
        rayon::spawn(move || door.enter());
    }
    work();
    drop(shutting);
    if let Some(panic) = door.panic.lock().unwrap_or_else(PoisonError::into_inner).take() {
        resume_unwind(panic);
    }
}

/// What helpers share with the caller.
struct Door {
    /// Lives until the door is shut and nobody is inside.
    work: &'static (dyn Fn() + Sync),
    /// How many helpers are at work; [`SHUT`] if no more may begin.
    inside: AtomicUsize,
    /// What the last helper that panicked left.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    caller: Thread,
}

impl Door {
    /// Helps, unless the door is shut.
    fn enter(&self) {
        let count_in = |inside| (inside & SHUT == 0).then_some(inside + 1);
        if self.inside.fetch_update(Ordering::Acquire, Ordering::Relaxed, count_in).is_err() {
            return;
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(self.work)) {
            *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
        // Whatever the helper has written is there for whoever sees that it has left.
        if self.inside.fetch_sub(1, Ordering::Release) == SHUT + 1 {
            self.caller.unpark();
        }
    }
}

/// Shuts the door at its end and waits for those inside.
struct Shutting<'a>(&'a Door);

impl Drop for Shutting<'_> {
    fn drop(&mut self) {
        let Door { inside, .. } = self.0;
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
        with_help(helpers, &|| {
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
        let started = AtomicUsize::new(0);
        with_help(1, &|| {
            // Each waits for the other.
            started.fetch_add(1, Ordering::AcqRel);
            while started.load(Ordering::Acquire) < 2 {
                thread::yield_now();
            }
        });
        assert_eq!(started.into_inner(), 2);
    }

    #[test]
    fn whoever_comes_late_finds_the_door_shut() {
        // The only thread of the pool is the caller's: its own helper begins after the call has ended.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        pool.install(|| {
            let calls = Arc::clone(&calls);
            with_help(3, &move || {
                calls.fetch_add(1, Ordering::Relaxed);
            });
        });
        drop(pool);
        assert_eq!(calls.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_panic_of_anyone_is_the_callers() {
        let caller = thread::current().id();
        for caller_panics in [true, false] {
            let started = AtomicUsize::new(0);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                with_help(1, &|| {
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
