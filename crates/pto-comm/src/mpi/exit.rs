//! Leaving an MPI job, and hearing that others have left.
//!
//! A rank that leaves, for whatever reason, sends every other rank a notice with the reason. Who waits for it then
//! knows; who leaves as well ignores it. MPI itself is ended when all ranks have come to leave; if one that failed
//! waits in vain for that, it ends the job.

use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use mpi::ffi;

use super::call::{check, send};
use super::{Mpi, NOTICE};
use crate::CommError;

/// How long a rank that failed waits for the others to notice, before it ends the job.
const GRACE: Duration = Duration::from_secs(4);

impl Mpi {
    /// Takes in the notices that have arrived.
    pub(super) fn listen(&self) -> Result<(), CommError> {
        while let Some((rank, reason)) = self.next_notice(false)? {
            let error = CommError::RankLost { rank, reason };
            self.lost.borrow_mut().get_or_insert_with(|| (error, Instant::now()));
        }
        Ok(())
    }

    /// Hears whether a rank is gone.
    pub(super) fn check_ranks(&self) -> Result<(), CommError> {
        self.listen()?;
        if let Some((error, _)) = self.dead() {
            return self.note(Err(error));
        }
        match &*self.lost.borrow() {
            Some((error, _)) => Err(error.clone()),
            None => Ok(()),
        }
    }

    /// The rank that ended without a word, and since when that is known.
    pub(super) fn dead(&self) -> Option<(CommError, Instant)> {
        self.losses.first()
    }

    /// The next notice: which rank it is from, and what it says.
    fn next_notice(&self, wait: bool) -> Result<Option<(usize, String)>, CommError> {
        let mut status = MaybeUninit::uninit();
        let mut arrived = 1;
        // SAFETY: a probe writes the status if it reports a message, and only then is it read.
        let (from, length) = unsafe {
            let any = ffi::RSMPI_ANY_SOURCE;
            if wait {
                check("MPI_Probe", ffi::MPI_Probe(any, NOTICE, self.control, status.as_mut_ptr()))?;
            } else {
                let code = ffi::MPI_Iprobe(any, NOTICE, self.control, &mut arrived, status.as_mut_ptr());
                check("MPI_Iprobe", code)?;
            }
            if arrived == 0 {
                return Ok(None);
            }
            let mut length = 0;
            check("MPI_Get_count", ffi::MPI_Get_count(status.as_ptr(), ffi::RSMPI_UINT8_T, &mut length))?;
            (status.assume_init().MPI_SOURCE, length)
        };
        let mut words = vec![0u8; usize::try_from(length).unwrap_or(0)];
        // SAFETY: the buffer is as long as the message that was probed, which nobody else receives.
        let code = unsafe {
            let (buffer, ignore) = (words.as_mut_ptr().cast(), ffi::RSMPI_STATUS_IGNORE);
            ffi::MPI_Recv(buffer, length, ffi::RSMPI_UINT8_T, from, NOTICE, self.control, ignore)
        };
        check("MPI_Recv", code)?;
        self.notices.set(self.notices.get() + 1);
        Ok(Some((from as usize, String::from_utf8_lossy(&words).into_owned())))
    }

    /// Tells the others, waits for them to leave too, and puts everything away.
    fn leave(&mut self) -> Result<(), CommError> {
        let failed = self.failed.get() || std::thread::panicking();
        let lost = self.lost.borrow().clone().or_else(|| self.dead()).map(|(error, _)| error.to_string());
        let reason = match lost {
            _ if std::thread::panicking() => "it panicked".into(),
            Some(reason) if failed => reason,
            _ if failed => "it gave up waiting".into(),
            _ => String::from("it left the group"),
        };
        let mut requests = Vec::with_capacity(self.size);
        for rank in (0..self.size).filter(|rank| *rank != self.rank) {
            // SAFETY: `reason` outlives the requests: they have ended below, or the process ends.
            requests.push(unsafe { send(reason.as_bytes(), rank, NOTICE, self.control) }?);
        }
        // SAFETY: the request is written before it is used; a barrier has no buffers.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            check("MPI_Ibarrier", ffi::MPI_Ibarrier(self.control, &mut request))?;
            requests.push(request);
        }
        let deadline = failed.then(|| Instant::now() + GRACE);
        loop {
            let mut done = 0;
            let length = super::count(requests.len())?;
            // SAFETY: as in `Mpi::wait`.
            let code =
                unsafe { ffi::MPI_Testall(length, requests.as_mut_ptr(), &mut done, ffi::RSMPI_STATUSES_IGNORE) };
            check("MPI_Testall", code)?;
            if done != 0 {
                break;
            }
            if deadline.is_some_and(|deadline| Instant::now() > deadline) {
                return Err(CommError::Timeout { operation: "leaving", seconds: GRACE.as_secs() });
            }
            std::thread::yield_now();
        }
        // Everybody is here: connections that end from now on are no loss.
        if let Some(alive) = &mut self.alive {
            alive.leave();
        }
        // Whoever did not receive a message does not want it any more; its buffer is left to MPI.
        std::mem::forget(self.posted.take());
        let (mut work, mut control) = (self.work, self.control);
        self.watchdog.watch("leaving", || {
            // All have sent their notices before they came to the barrier: MPI wants every message received.
            while self.notices.get() + 1 < self.size {
                self.next_notice(true)?;
            }
            for window in self.windows.take() {
                window.free()?;
            }
            // SAFETY: every rank is here, and nothing uses the communicators any more.
            unsafe {
                check("MPI_Comm_free", ffi::MPI_Comm_free(&mut work))?;
                check("MPI_Comm_free", ffi::MPI_Comm_free(&mut control))
            }
        })
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if self.leave().is_err() {
            // SAFETY: ends the process; there is nothing left to be unsound. 1 is the exit code that mpirun reports.
            self.watchdog.watch("ending the job", || unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, 1) });
        }
        let universe = self.universe.take();
        self.watchdog.watch("MPI_Finalize", || drop(universe));
    }
}
