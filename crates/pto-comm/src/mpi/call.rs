//! Calling MPI: codes as errors, counts as `int`, messages without blocking.

use std::os::raw::c_int;

use mpi::ffi::{self, MPI_Comm, MPI_Request};

use crate::CommError;

/// The error behind a return code.
pub(super) fn check(call: &'static str, code: c_int) -> Result<(), CommError> {
    if code == ffi::MPI_SUCCESS as c_int {
        return Ok(());
    }
    let mut text = [0u8; ffi::MPI_MAX_ERROR_STRING as usize];
    let mut length = 0;
    // SAFETY: `text` is as long as MPI says that a text can be.
    unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
    let text = text.get(..length as usize).unwrap_or_default();
    Err(CommError::Mpi { call, message: String::from_utf8_lossy(text).into_owned() })
}

/// A count or rank as MPI takes it.
pub(super) fn count(value: usize) -> Result<c_int, CommError> {
    c_int::try_from(value).map_err(|_| CommError::OutOfMemory { bytes: value as u64 })
}

/// Starts to send bytes.
///
/// # Safety
/// The bytes must stay where they are, unchanged, until the request has ended.
pub(super) unsafe fn send(bytes: &[u8], to: usize, tag: i32, comm: MPI_Comm) -> Result<MPI_Request, CommError> {
    let (length, to) = (count(bytes.len())?, count(to)?);
    // SAFETY: the caller keeps the buffer; the request is written before it is used.
    unsafe {
        let mut request = ffi::RSMPI_REQUEST_NULL;
        let code = ffi::MPI_Isend(bytes.as_ptr().cast(), length, ffi::RSMPI_UINT8_T, to, tag, comm, &mut request);
        check("MPI_Isend", code).map(|()| request)
    }
}

/// Starts to receive exactly as many bytes as the buffer has.
///
/// # Safety
/// The buffer must stay where it is, and nobody may look at it, until the request has ended.
pub(super) unsafe fn receive(into: &mut [u8], from: usize, tag: i32, comm: MPI_Comm) -> Result<MPI_Request, CommError> {
    let (length, from) = (count(into.len())?, count(from)?);
    // SAFETY: as in `send`.
    unsafe {
        let mut request = ffi::RSMPI_REQUEST_NULL;
        let code = ffi::MPI_Irecv(into.as_mut_ptr().cast(), length, ffi::RSMPI_UINT8_T, from, tag, comm, &mut request);
        check("MPI_Irecv", code).map(|()| request)
    }
}
