//! Memory that partitions work in, kept between calls.

use std::sync::{Mutex, PoisonError};

use memmap2::{Advice, MmapMut};

/// Memory for one call at a time; others go without.
#[derive(Debug, Default)]
pub(crate) struct Scratch(Mutex<Option<MmapMut>>);

impl Scratch {
    /// Calls `work` with at least `bytes` of memory, contents unspecified, or with `None` if there is no memory to be
    /// had or another thread is using it.
    ///
    /// Pages are mapped once and kept, because the first touch of a page costs as much as partitioning what fits into
    /// it; large ones are asked for, because 64 write streams exceed what the TLB holds of small ones.
    pub(crate) fn with<R>(&self, bytes: usize, work: impl FnOnce(Option<&mut [u8]>) -> R) -> R {
        // A panic while the memory was in use leaves nothing in it that matters.
        let mut held = match self.0.try_lock() {
            Ok(held) => held,
            Err(std::sync::TryLockError::Poisoned(poisoned)) => PoisonError::into_inner(poisoned),
            Err(std::sync::TryLockError::WouldBlock) => return work(None),
        };
        if held.as_ref().is_none_or(|memory| memory.len() < bytes) {
            // The old memory goes first: both together would exceed the cap.
            *held = None;
            *held = MmapMut::map_anon(bytes).ok();
            if let Some(memory) = held.as_ref() {
                // Without large pages it is slower, no more.
                #[cfg(target_os = "linux")]
                let _ = memory.advise(Advice::HugePage);
            }
        }
        work(held.as_mut().map(|memory| &mut memory[..bytes]))
    }

    /// Gives the memory back.
    pub(crate) fn release(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Bytes that are held.
    pub(crate) fn held(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(0, |memory| memory.len())
    }
}
