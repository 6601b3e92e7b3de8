//! Transfers between staging buffers and the windows of all ranks.

use mpi::ffi::{self, MPI_Request};

use super::Strided;
use super::call::{check, count};
use super::datatype::Datatypes;
use super::window::{Locked, MpiWindow, Open};
use crate::transport::{Stage, check_transfer};
use crate::{CommError, Epoch, Region};

/// Bytes from which on a row is better put alone: `benches/mpi.rs` measures both ways.
const LONG_ROW: u64 = 4096;

/// The direction of a transfer, as seen from this rank.
#[derive(Clone, Copy)]
enum Way {
    Put,
    Get,
}

/// A staging buffer and the transfers under way that use it.
struct Slot {
    stage: Stage,
    requests: Vec<MPI_Request>,
}

/// Fields are dropped in this order: locks first, which waits for transfers, then their buffers.
pub(super) struct MpiEpoch<'a> {
    _locks: Vec<Locked<'a>>,
    slots: Vec<Slot>,
    datatypes: Datatypes,
    /// Ranks that were written to since the last flush.
    touched: Vec<bool>,
    window: &'a MpiWindow<'a>,
    _open: Open<'a>,
}

impl<'a> MpiEpoch<'a> {
    pub(super) fn new(window: &'a MpiWindow<'a>, open: Open<'a>, locks: Vec<Locked<'a>>, staging: &[u64]) -> Self {
        let slots = staging.iter().map(|bytes| Slot { stage: Stage::new(*bytes), requests: Vec::new() }).collect();
        let touched = vec![false; locks.len()];
        Self { _locks: locks, slots, datatypes: Datatypes::default(), touched, window, _open: open }
    }

    /// Waits for the transfers of a buffer to leave it or to arrive in it.
    fn settle(&mut self, slot: usize) -> Result<(), CommError> {
        let requests = &mut self.slots[slot].requests;
        if requests.is_empty() {
            return Ok(());
        }
        let (mpi, length) = (self.window.mpi, count(requests.len())?);
        // SAFETY: as many initialised requests as it says; their buffers are in `self`.
        let wait = || unsafe { ffi::MPI_Waitall(length, requests.as_mut_ptr(), ffi::RSMPI_STATUSES_IGNORE) };
        let code = mpi.watchdog.watch("the end of a one-sided transfer", wait);
        requests.clear();
        mpi.note(check("MPI_Waitall", code))
    }

    fn transfer(&mut self, way: Way, slot: usize, near: Region, rank: usize, far: Region) -> Result<(), CommError> {
        let (slots, sizes) = (self.slots.len(), crate::Window::sizes(self.window));
        let &found = sizes.get(rank).ok_or(CommError::NoSuchRank { rank, size: sizes.len() })?;
        let near_length = self.slots.get_mut(slot).ok_or(CommError::NoSuchSlot { slot, slots })?.stage.buffer()?.len();
        check_transfer(rank, (near, near_length as u64), (far, found))?;
        if near.is_empty() {
            return Ok(());
        }
        self.touched[rank] = true;
        let whole = match self.window.mpi.strided {
            _ if near.is_dense() && far.is_dense() => true,
            Strided::Measured => near.cols * near.element < LONG_ROW,
            strided => strided == Strided::Datatype,
        };
        if whole || !(near.has_dense_rows() && far.has_dense_rows()) {
            return self.start(way, slot, near, rank, far);
        }
        for row in 0..near.rows {
            self.start(way, slot, near.part(row, 1, 0, near.cols), rank, far.part(row, 1, 0, far.cols))?;
        }
        Ok(())
    }

    /// Starts one transfer between regions that lie inside their buffers.
    fn start(&mut self, way: Way, slot: usize, near: Region, rank: usize, far: Region) -> Result<(), CommError> {
        let (near_count, near_type) = self.datatypes.describe(near)?;
        let (far_count, far_type) = self.datatypes.describe(far)?;
        let (rank, win) = (count(rank)?, self.window.handle());
        let at = far.offset as ffi::MPI_Aint;
        let Slot { stage, requests } = &mut self.slots[slot];
        let buffer = stage.buffer()?[near.offset as usize..].as_mut_ptr();
        // SAFETY: the regions lie inside the staging buffer and the window (`check_transfer`), the rank is locked, and
        // the buffer is neither moved nor lent out before `settle`, nor freed before the locks are released.
        let code = unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let buffer = buffer.cast();
            let code = match way {
                Way::Put => {
                    ffi::MPI_Rput(buffer, near_count, near_type, rank, at, far_count, far_type, win, &mut request)
                }
                Way::Get => {
                    ffi::MPI_Rget(buffer, near_count, near_type, rank, at, far_count, far_type, win, &mut request)
                }
            };
            requests.push(request);
            code
        };
        let call = match way {
            Way::Put => "MPI_Rput",
            Way::Get => "MPI_Rget",
        };
        if code != ffi::MPI_SUCCESS as i32 {
            requests.pop();
        }
        self.window.mpi.note(check(call, code))
    }
}

/// The most that one transfer of a piece carries: a flush is seen sooner, and MPI counts in `int`.
const PIECE_BYTES: usize = 64 << 20;

impl MpiEpoch<'_> {
    /// Moves bytes between this process's memory and windows, and waits until they have left it or arrived in it.
    ///
    /// The caller's memory must be borrowed as long as this call lasts, exclusively if it is written.
    fn pieces(
        &mut self,
        way: Way,
        pieces: impl Iterator<Item = (*mut u8, usize, usize, u64)>,
    ) -> Result<(), CommError> {
        let sizes = crate::Window::sizes(self.window);
        let mut requests = Vec::new();
        let mut outcome = Ok(());
        'all: for (memory, length, rank, at) in pieces {
            let found = match sizes.get(rank) {
                Some(found) => *found,
                None => {
                    outcome = Err(CommError::NoSuchRank { rank, size: sizes.len() });
                    break;
                }
            };
            let needed = at.saturating_add(length as u64);
            if needed > found {
                outcome = Err(CommError::OutsideWindow { rank, needed, found });
                break;
            }
            self.touched[rank] = true;
            for start in (0..length).step_by(PIECE_BYTES) {
                let bytes = PIECE_BYTES.min(length - start) as i32;
                let (win, to) = (self.window.handle(), (at + start as u64) as ffi::MPI_Aint);
                // SAFETY: the piece lies inside the caller's memory and inside the window, the rank is locked, and the
                // transfer is waited for below before the caller's borrow ends.
                let code = unsafe {
                    let (mut request, byte) = (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_UINT8_T);
                    let memory = memory.add(start).cast();
                    let code = match way {
                        Way::Put => ffi::MPI_Rput(memory, bytes, byte, rank as i32, to, bytes, byte, win, &mut request),
                        Way::Get => ffi::MPI_Rget(memory, bytes, byte, rank as i32, to, bytes, byte, win, &mut request),
                    };
                    requests.push(request);
                    code
                };
                if let Err(error) = check("MPI_Rput or MPI_Rget", code) {
                    requests.pop();
                    outcome = Err(error);
                    break 'all;
                }
            }
        }
        let (mpi, length) = (self.window.mpi, count(requests.len())?);
        // SAFETY: as many initialised requests as it says; their buffers are the caller's.
        let wait = || unsafe { ffi::MPI_Waitall(length, requests.as_mut_ptr(), ffi::RSMPI_STATUSES_IGNORE) };
        let code = mpi.watchdog.watch("the end of a one-sided transfer", wait);
        mpi.note(outcome.and(check("MPI_Waitall", code)))
    }
}

impl Epoch for MpiEpoch<'_> {
    fn stage(&mut self, slot: usize) -> Result<&mut [u8], CommError> {
        let slots = self.slots.len();
        if slot >= slots {
            return Err(CommError::NoSuchSlot { slot, slots });
        }
        self.settle(slot)?;
        self.slots[slot].stage.buffer()
    }

    fn put(&mut self, slot: usize, from: Region, rank: usize, to: Region) -> Result<(), CommError> {
        self.transfer(Way::Put, slot, from, rank, to)
    }

    fn get(&mut self, slot: usize, to: Region, rank: usize, from: Region) -> Result<(), CommError> {
        self.transfer(Way::Get, slot, to, rank, from)
    }

    fn put_pieces(&mut self, pieces: &[(&[u8], usize, u64)]) -> Result<(), CommError> {
        // A put only reads.
        let pieces = pieces.iter().map(|(from, rank, at)| (from.as_ptr().cast_mut(), from.len(), *rank, *at));
        self.pieces(Way::Put, pieces)
    }

    fn get_pieces(&mut self, pieces: &mut [(&mut [u8], usize, u64)]) -> Result<(), CommError> {
        let pieces = pieces.iter_mut().map(|(to, rank, at)| (to.as_mut_ptr(), to.len(), *rank, *at));
        self.pieces(Way::Get, pieces)
    }

    fn flush(&mut self) -> Result<(), CommError> {
        for slot in 0..self.slots.len() {
            self.settle(slot)?;
        }
        let mpi = self.window.mpi;
        for (rank, touched) in self.touched.iter_mut().enumerate().filter(|(_, touched)| **touched) {
            let rank = count(rank)?;
            // SAFETY: the rank is locked by this epoch.
            let code = mpi.watchdog.watch("a flush", || unsafe { ffi::MPI_Win_flush(rank, self.window.handle()) });
            mpi.note(check("MPI_Win_flush", code))?;
            *touched = false;
        }
        self.window.allocation.sync()?;
        // What is put is there; but a rank that left meanwhile has not got it.
        mpi.check_ranks()
    }

    fn memories(&mut self) -> Option<Vec<&mut [u8]>> {
        self.window.allocation.sync().ok()?;
        // SAFETY: this epoch holds the locks of all ranks, and lends the memory out no longer than it is borrowed itself.
        unsafe { self.window.allocation.memories() }
    }
}

impl Drop for MpiEpoch<'_> {
    fn drop(&mut self) {
        for slot in 0..self.slots.len() {
            // An error was noted for whoever leaves; there is no one to tell here.
            let _ = self.settle(slot);
        }
    }
}
