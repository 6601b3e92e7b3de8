//! Windows between threads: each rank's memory behind its own lock, taken in rank order.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use super::meeting::Meeting;
use crate::region::copy;
use crate::transport::{Stage, check_transfer};
use crate::{CommError, Epoch, Region, Window};

/// The memory that one rank opened.
pub(super) struct Memory {
    bytes: Mutex<Vec<u8>>,
    size: u64,
}

impl Memory {
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { size: bytes.len() as u64, bytes: Mutex::new(bytes) }
    }

    /// Takes the lock, unless somebody keeps it beyond the deadline or panicked with it.
    fn lock(&self, rank: usize, meeting: &Meeting) -> Result<MutexGuard<'_, Vec<u8>>, CommError> {
        /// A lock is held for the length of a transfer; looking again this much later costs little of it.
        const PAUSE: Duration = Duration::from_micros(20);
        let deadline = meeting.deadline();
        loop {
            match self.bytes.try_lock() {
                Ok(guard) => return Ok(guard),
                Err(TryLockError::Poisoned(_)) => {
                    return Err(CommError::RankLost { rank, reason: "a rank panicked in its window".into() });
                }
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return Err(meeting.late("lock")),
                Err(TryLockError::WouldBlock) => {
                    meeting.check()?;
                    std::thread::park_timeout(PAUSE);
                }
            }
        }
    }
}

pub(super) struct ProcessWindow<'a> {
    meeting: &'a Meeting,
    rank: usize,
    memories: Vec<Arc<Memory>>,
    sizes: Vec<u64>,
    /// This rank has locked the window: waiting for itself would end in a timeout.
    open: Cell<bool>,
}

/// Marks the window as locked by this rank until dropped.
struct Open<'a>(&'a Cell<bool>);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

impl<'a> ProcessWindow<'a> {
    pub(super) fn new(meeting: &'a Meeting, rank: usize, memories: Vec<Arc<Memory>>) -> Self {
        let sizes = memories.iter().map(|m| m.size).collect();
        Self { meeting, rank, memories, sizes, open: Cell::new(false) }
    }

    fn enter(&self) -> Result<Open<'_>, CommError> {
        if self.open.replace(true) { Err(CommError::Busy) } else { Ok(Open(&self.open)) }
    }
}

impl Window for ProcessWindow<'_> {
    fn rank(&self) -> usize {
        self.rank
    }

    fn sizes(&self) -> &[u64] {
        &self.sizes
    }

    fn lock(&self, staging: &[u64]) -> Result<Box<dyn Epoch + '_>, CommError> {
        self.meeting.check()?;
        let open = self.enter()?;
        let staging = staging.iter().map(|bytes| Stage::new(*bytes)).collect();
        let mut guards = Vec::with_capacity(self.memories.len());
        // Always in rank order, so that two roots never wait for each other.
        for (rank, memory) in self.memories.iter().enumerate() {
            guards.push(memory.lock(rank, self.meeting)?);
        }
        Ok(Box::new(ProcessEpoch { guards, staging, meeting: self.meeting, _open: open }))
    }

    fn local(&self, access: &mut dyn FnMut(&mut [u8])) -> Result<(), CommError> {
        let _open = self.enter()?;
        let memory = &self.memories[self.rank];
        access(&mut memory.lock(self.rank, self.meeting)?);
        Ok(())
    }
}

struct ProcessEpoch<'a> {
    guards: Vec<MutexGuard<'a, Vec<u8>>>,
    staging: Vec<Stage>,
    meeting: &'a Meeting,
    _open: Open<'a>,
}

impl ProcessEpoch<'_> {
    /// Some bytes of a rank's window.
    fn piece(&mut self, rank: usize, at: u64, length: usize) -> Result<&mut [u8], CommError> {
        let size = self.guards.len();
        let memory = self.guards.get_mut(rank).ok_or(CommError::NoSuchRank { rank, size })?;
        let (needed, found) = (at.saturating_add(length as u64), memory.len() as u64);
        let outside = CommError::OutsideWindow { rank, needed, found };
        memory.get_mut(at as usize..).and_then(|rest| rest.get_mut(..length)).ok_or(outside)
    }

    fn access(&mut self, slot: usize, rank: usize) -> Result<(&mut [u8], &mut [u8]), CommError> {
        let (ranks, slots) = (self.guards.len(), self.staging.len());
        let memory = self.guards.get_mut(rank).ok_or(CommError::NoSuchRank { rank, size: ranks })?;
        let stage = self.staging.get_mut(slot).ok_or(CommError::NoSuchSlot { slot, slots })?;
        Ok((stage.buffer()?, memory))
    }
}

impl Epoch for ProcessEpoch<'_> {
    fn stage(&mut self, slot: usize) -> Result<&mut [u8], CommError> {
        let slots = self.staging.len();
        self.staging.get_mut(slot).ok_or(CommError::NoSuchSlot { slot, slots })?.buffer()
    }

    fn put(&mut self, slot: usize, from: Region, rank: usize, to: Region) -> Result<(), CommError> {
        let (stage, memory) = self.access(slot, rank)?;
        check_transfer(rank, (from, stage.len() as u64), (to, memory.len() as u64))?;
        copy(stage, from, memory, to);
        Ok(())
    }

    fn get(&mut self, slot: usize, to: Region, rank: usize, from: Region) -> Result<(), CommError> {
        let (stage, memory) = self.access(slot, rank)?;
        check_transfer(rank, (from, memory.len() as u64), (to, stage.len() as u64))?;
        copy(memory, from, stage, to);
        Ok(())
    }

    fn put_pieces(&mut self, pieces: &[(&[u8], usize, u64)]) -> Result<(), CommError> {
        for &(from, rank, at) in pieces {
            self.piece(rank, at, from.len())?.copy_from_slice(from);
        }
        Ok(())
    }

    fn get_pieces(&mut self, pieces: &mut [(&mut [u8], usize, u64)]) -> Result<(), CommError> {
        for (to, rank, at) in pieces {
            to.copy_from_slice(self.piece(*rank, *at, to.len())?);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), CommError> {
        // What is put is there; but a rank that died meanwhile has not got it.
        self.meeting.check()
    }

    fn memories(&mut self) -> Option<Vec<&mut [u8]>> {
        Some(self.guards.iter_mut().map(|guard| guard.as_mut_slice()).collect())
    }
}
