//! Windows between processes: memory that MPI allocated, opened to the others.

use std::cell::Cell;
use std::rc::Rc;

use mpi::ffi::{self, MPI_Win};

use super::Mpi;
use super::call::{check, count};
use super::epoch::MpiEpoch;
use crate::{CommError, Epoch, Window};

/// An MPI window and this rank's memory in it.
pub(super) struct Allocation {
    win: MPI_Win,
    /// This rank's memory.
    memory: Memory,
    /// Every rank's memory, where all ranks share a machine.
    memories: Option<Vec<Memory>>,
    /// Its [`MpiWindow`] is gone at this rank. MPI frees windows at all ranks together, so that waits.
    dropped: Cell<bool>,
}

/// Bytes of a window in this process's address space.
#[derive(Clone, Copy)]
struct Memory {
    base: *mut u8,
    length: usize,
}

impl Memory {
    const NONE: Self = Self { base: std::ptr::null_mut(), length: 0 };

    /// The bytes, for as long as the caller says.
    ///
    /// # Safety
    /// The window must not be freed during `'a`, and this rank must hold the lock of the rank whose memory it is, once.
    unsafe fn bytes<'a>(self) -> &'a mut [u8] {
        if self.length == 0 {
            return &mut [];
        }
        // SAFETY: MPI allocated `length` bytes there. Under the exclusive lock no other process accesses them, and the
        // caller makes no second borrow.
        unsafe { std::slice::from_raw_parts_mut(self.base, self.length) }
    }
}

impl Allocation {
    /// All ranks call together.
    pub(super) fn new(mpi: &Mpi, length: usize) -> Result<Self, CommError> {
        let size = ffi::MPI_Aint::try_from(length).map_err(|_| CommError::OutOfMemory { bytes: length as u64 })?;
        let mut memory = Memory { length, ..Memory::NONE };
        // SAFETY: the window and the address of its memory are written before they are used. The memory is `length`
        // bytes that nobody else accesses yet.
        let win = unsafe {
            let (mut win, info) = (ffi::RSMPI_WIN_NULL, ffi::RSMPI_INFO_NULL);
            let address: *mut *mut u8 = &mut memory.base;
            if mpi.shared {
                let code = ffi::MPI_Win_allocate_shared(size, 1, info, mpi.work, address.cast(), &mut win);
                check("MPI_Win_allocate_shared", code)?;
            } else {
                check("MPI_Win_allocate", ffi::MPI_Win_allocate(size, 1, info, mpi.work, address.cast(), &mut win))?;
            }
            check("MPI_Win_set_errhandler", ffi::MPI_Win_set_errhandler(win, ffi::RSMPI_ERRORS_RETURN))?;
            if length > 0 {
                memory.base.write_bytes(0, length);
            }
            win
        };
        let query = |rank: usize| {
            let (mut size, mut unit, mut base): (_, _, *mut u8) = (0, 0, std::ptr::null_mut());
            let address: *mut *mut u8 = &mut base;
            // SAFETY: the window is a shared one, and every result has its place.
            let code = unsafe { ffi::MPI_Win_shared_query(win, count(rank)?, &mut size, &mut unit, address.cast()) };
            check("MPI_Win_shared_query", code)?;
            Ok(Memory { base, length: usize::try_from(size).unwrap_or(0) })
        };
        let memories = mpi.shared.then(|| (0..mpi.size).map(query).collect::<Result<_, CommError>>()).transpose()?;
        Ok(Self { win, memory, memories, dropped: Cell::new(false) })
    }

    /// Every rank's memory as plain bytes, where it is that.
    ///
    /// # Safety
    /// This rank must hold the locks of all ranks during `'a`, and no other borrow of their memory.
    pub(super) unsafe fn memories<'a>(&self) -> Option<Vec<&'a mut [u8]>> {
        // SAFETY: the caller's promise; a window is freed only after its `MpiWindow` and its epochs are gone. Ranks'
        // memories do not overlap.
        self.memories.as_ref().map(|all| all.iter().map(|memory| unsafe { memory.bytes() }).collect())
    }

    /// Makes what this process wrote to plain memory, and what others wrote, one and the same.
    pub(super) fn sync(&self) -> Result<(), CommError> {
        // SAFETY: the window is open, in a passive-target epoch.
        check("MPI_Win_sync", unsafe { ffi::MPI_Win_sync(self.win) })
    }

    /// All ranks call together, with no epoch open.
    pub(super) fn free(&self) -> Result<(), CommError> {
        let mut win = self.win;
        // SAFETY: called once, when no `MpiWindow` is left to use the handle or the memory.
        check("MPI_Win_free", unsafe { ffi::MPI_Win_free(&mut win) })
    }

    pub(super) fn handle(&self) -> MPI_Win {
        self.win
    }
}

impl Mpi {
    /// Frees the windows that are gone at every rank.
    pub(super) fn free_dropped_windows(&self) -> Result<(), CommError> {
        let windows = self.windows.borrow().clone();
        let dropped: Vec<u8> = windows.iter().map(|w| u8::from(w.dropped.get())).collect();
        if windows.is_empty() {
            return Ok(());
        }
        let said = crate::Transport::all_to_all(self, vec![dropped; self.size])?;
        // All ranks have opened the same windows in the same order, so all free the same ones.
        let everywhere = |i: usize| said.iter().all(|dropped| dropped.get(i) == Some(&1));
        for (i, window) in windows.iter().enumerate() {
            if everywhere(i) {
                self.note(self.watchdog.watch("the end of a window", || window.free()))?;
            }
        }
        let mut i = 0;
        self.windows.borrow_mut().retain(|_| {
            i += 1;
            !everywhere(i - 1)
        });
        Ok(())
    }
}

pub(super) struct MpiWindow<'a> {
    pub(super) mpi: &'a Mpi,
    pub(super) allocation: Rc<Allocation>,
    sizes: Vec<u64>,
    /// An epoch is open: MPI would wait for it forever.
    open: Cell<bool>,
}

/// One rank's memory, locked: no other rank accesses it until this is dropped.
pub(super) struct Locked<'a> {
    window: &'a MpiWindow<'a>,
    rank: i32,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let mpi = self.window.mpi;
        // SAFETY: the lock was taken when this was made. Unlocking waits for transfers, whose buffers the epoch still
        // holds.
        let code = mpi.watchdog.watch("an unlock", || unsafe { ffi::MPI_Win_unlock(self.rank, self.window.handle()) });
        // There is no one to tell here; the next operation fails.
        let _ = mpi.note(check("MPI_Win_unlock", code));
    }
}

/// Marks the window as open until dropped.
pub(super) struct Open<'a>(&'a Cell<bool>);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl<'a> MpiWindow<'a> {
    pub(super) fn new(mpi: &'a Mpi, allocation: Rc<Allocation>, sizes: Vec<u64>) -> Self {
        Self { mpi, allocation, sizes, open: Cell::new(false) }
    }

    pub(super) fn handle(&self) -> MPI_Win {
        self.allocation.handle()
    }

    fn enter(&self) -> Result<Open<'_>, CommError> {
        if self.open.replace(true) { Err(CommError::Busy) } else { Ok(Open(&self.open)) }
    }

    fn lock_rank(&self, rank: usize) -> Result<Locked<'_>, CommError> {
        let rank = count(rank)?;
        let exclusive = ffi::MPI_LOCK_EXCLUSIVE as i32;
        // SAFETY: the window is open at all ranks, and this rank holds no lock on this rank's part of it.
        let code =
            self.mpi.watchdog.watch("a lock", || unsafe { ffi::MPI_Win_lock(exclusive, rank, 0, self.handle()) });
        self.mpi.note(check("MPI_Win_lock", code))?;
        Ok(Locked { window: self, rank })
    }
}

impl Window for MpiWindow<'_> {
    fn rank(&self) -> usize {
        self.mpi.rank
    }

    fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    fn lock(&self, staging: &[u64]) -> Result<Box<dyn Epoch + '_>, CommError> {
        self.mpi.check_ranks()?;
        let open = self.enter()?;
        // Always in rank order, so that two roots never wait for each other.
        let locks = (0..self.sizes.len()).map(|rank| self.lock_rank(rank)).collect::<Result<_, _>>()?;
        Ok(Box::new(MpiEpoch::new(self, open, locks, staging)))
    }

    fn local(&self, access: &mut dyn FnMut(&mut [u8])) -> Result<(), CommError> {
        let _open = self.enter()?;
        let _lock = self.lock_rank(self.mpi.rank)?;
        self.allocation.sync()?;
        // SAFETY: the window is freed after this borrow of it, the lock is held, and no other borrow exists in this
        // process: `open` was not set.
        access(unsafe { self.allocation.memory.bytes() });
        self.allocation.sync()
    }
}

impl Drop for MpiWindow<'_> {
    fn drop(&mut self) {
        self.allocation.dropped.set(true);
    }
}
