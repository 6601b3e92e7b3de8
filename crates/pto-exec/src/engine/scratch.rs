//! Memory that partitions work in, kept between calls.

use std::sync::{Mutex, MutexGuard, PoisonError};

use memmap2::{Advice, MmapMut};

/// Memory for one call at a time; others go without.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Mutex<State>);

#[derive(Debug)]
enum State {
    /// Nobody uses it.
    Kept(Option<MmapMut>),
    /// A call has it. No lock is held meanwhile: a thread of a pool that waits for the others of its call may go on to another
    /// call, which asks for the memory as well.
    Lent {
        /// How much there is of it.
        bytes: usize,
        /// It goes back to the system after the call.
        is_released: bool,
    },
}

impl Default for State {
    fn default() -> Self {
        Self::Kept(None)
    }
}

impl Scratch {
    /// Calls `work` with at least `bytes` of memory, contents unspecified, or with `None` if there is no memory to be
    /// had or another call is using it.
    ///
    /// Pages are mapped once and kept, because the first touch of a page costs as much as partitioning what fits into
    /// it; large ones are asked for, because 64 write streams exceed what the TLB holds of small ones.
    pub(crate) fn with<R>(&self, bytes: usize, work: impl FnOnce(Option<&mut [u8]>) -> R) -> R {
        match self.lend(bytes) {
            Some(mut loan) => work(loan.memory.as_mut().map(|memory| &mut memory[..bytes])),
            None => work(None),
        }
    }

    fn lend(&self, bytes: usize) -> Option<Loan<'_>> {
        let mut state = self.lock();
        let State::Kept(memory) = &mut *state else { return None };
        // What is too small goes first: both together would exceed the cap.
        let memory = memory.take().filter(|memory| memory.len() >= bytes).or_else(|| map(bytes));
        *state = State::Lent { bytes: memory.as_ref().map_or(0, |memory| memory.len()), is_released: false };
        Some(Loan { scratch: self, memory })
    }

    /// Gives the memory back, if a call has it, when that is done.
    pub(crate) fn release(&self) {
        match &mut *self.lock() {
            State::Kept(memory) => *memory = None,
            State::Lent { is_released, .. } => *is_released = true,
        }
    }

    /// Bytes that are held.
    pub(crate) fn held(&self) -> usize {
        match &*self.lock() {
            State::Kept(memory) => memory.as_ref().map_or(0, |memory| memory.len()),
            State::Lent { bytes, .. } => *bytes,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn map(bytes: usize) -> Option<MmapMut> {
    let memory = MmapMut::map_anon(bytes).ok()?;
    // Without large pages it is slower, no more.
    #[cfg(target_os = "linux")]
    let _ = memory.advise(Advice::HugePage);
    Some(memory)
}

/// Memory that comes back, after a panic as well.
struct Loan<'a> {
    scratch: &'a Scratch,
    memory: Option<MmapMut>,
}

impl Drop for Loan<'_> {
    fn drop(&mut self) {
        let mut state = self.scratch.lock();
        let is_released = matches!(*state, State::Lent { is_released: true, .. });
        *state = State::Kept(self.memory.take().filter(|_| !is_released));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_kept_and_grows() {
        let scratch = Scratch::default();
        assert_eq!(scratch.held(), 0);
        assert_eq!(scratch.with(100, |memory| memory.map(|memory| memory.len())), Some(100));
        assert_eq!(scratch.held(), 100);
        scratch.with(50, |memory| assert_eq!(memory.map(|memory| memory.len()), Some(50)));
        assert_eq!(scratch.held(), 100);
        scratch.with(200, |memory| assert_eq!(memory.map(|memory| memory.len()), Some(200)));
        assert_eq!(scratch.held(), 200);
        scratch.release();
        assert_eq!(scratch.held(), 0);
    }

    /// A thread of a pool that waits within a call goes on to others, on the same engine.
    #[test]
    fn whoever_has_the_memory_may_ask_about_it() {
        let scratch = Scratch::default();
        scratch.with(100, |memory| {
            assert!(memory.is_some());
            assert_eq!(scratch.held(), 100);
            scratch.with(1, |memory| assert!(memory.is_none()));
            scratch.release();
            assert_eq!(scratch.held(), 100);
        });
        assert_eq!(scratch.held(), 0);
        scratch.with(100, |_| ());
        assert_eq!(scratch.held(), 100);
    }

    #[test]
    fn memory_comes_back_after_a_panic() {
        let scratch = Scratch::default();
        let panics = std::panic::AssertUnwindSafe(|| scratch.with(100, |_| panic!("on purpose")));
        assert!(std::panic::catch_unwind(panics).is_err());
        assert!(scratch.with(100, |memory| memory.is_some()));
    }
}
