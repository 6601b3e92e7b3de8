//! Messages that are sent when there is something to say, and received when there is time to listen.

use std::mem::MaybeUninit;
use std::time::Instant;

use mpi::ffi::{self, MPI_Request};

use super::call::{check, send};
use super::{Mpi, Patience};
use crate::CommError;

const POST: i32 = 3;

/// A message that MPI may still be sending from its buffer.
pub(super) type Posted = (MPI_Request, Vec<u8>);

impl Mpi {
    pub(super) fn post_message(&self, rank: usize, message: Vec<u8>) -> Result<(), CommError> {
        if rank >= self.size {
            return Err(CommError::NoSuchRank { rank, size: self.size });
        }
        self.check_ranks()?;
        self.forget_sent()?;
        // SAFETY: the buffer stays in `posted`, where it is not touched, until the request has ended.
        let request = self.note(unsafe { send(&message, rank, POST, self.work) })?;
        self.posted.borrow_mut().push((request, message));
        Ok(())
    }

    /// Frees the buffers of messages that have left.
    fn forget_sent(&self) -> Result<(), CommError> {
        let mut outcome = Ok(());
        self.posted.borrow_mut().retain_mut(|(request, _)| {
            let mut done = 0;
            // SAFETY: the request was made by a send and has not ended before.
            let code = unsafe { ffi::MPI_Test(request, &mut done, ffi::RSMPI_STATUS_IGNORE) };
            if let Err(error) = check("MPI_Test", code) {
                outcome = Err(error);
            }
            done == 0
        });
        self.note(outcome)
    }

    pub(super) fn receive_message(&self) -> Result<(usize, Vec<u8>), CommError> {
        let deadline = Instant::now() + self.timeout;
        let mut patience = Patience { polls: 0, sleeps: true };
        loop {
            let mut status = MaybeUninit::uninit();
            let mut arrived = 0;
            // SAFETY: a probe writes the status if it reports a message, and only then is it read.
            unsafe {
                let code = ffi::MPI_Iprobe(ffi::RSMPI_ANY_SOURCE, POST, self.work, &mut arrived, status.as_mut_ptr());
                self.note(check("MPI_Iprobe", code))?;
                if arrived != 0 {
                    let mut length = 0;
                    let code = ffi::MPI_Get_count(status.as_ptr(), ffi::RSMPI_UINT8_T, &mut length);
                    self.note(check("MPI_Get_count", code))?;
                    let from = status.assume_init().MPI_SOURCE;
                    let mut message = vec![0u8; usize::try_from(length).unwrap_or(0)];
                    let (buffer, ignore) = (message.as_mut_ptr().cast(), ffi::RSMPI_STATUS_IGNORE);
                    let code = ffi::MPI_Recv(buffer, length, ffi::RSMPI_UINT8_T, from, POST, self.work, ignore);
                    self.note(check("MPI_Recv", code))?;
                    return Ok((from as usize, message));
                }
            }
            self.give_up(deadline, "receive")?;
            patience.pause();
        }
    }
}
