//! Opening, reading and writing with the path in every error.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::Path,
};

use crate::error::{DataError, FormatError};

/// Opens a regular file and hands it over with its length; what `read` finds wrong is said with the path.
pub(crate) fn read<T>(path: &Path, read: impl FnOnce(File, u64) -> Result<T, FormatError>) -> Result<T, DataError> {
    let io = |source| DataError::Io { action: "read", path: path.to_owned(), source };
    let format = |source| DataError::File { path: path.to_owned(), source };
    // Asked before opening: a pipe without a writer would block for ever.
    if !fs::metadata(path).map_err(io)?.is_file() {
        return Err(format(FormatError::NotAFile));
    }
    let file = File::open(path).map_err(io)?;
    let len = file.metadata().map_err(io)?.len();
    read(file, len).map_err(format)
}

/// Writes the parts one after the other into a new file.
pub(crate) fn write<'a>(path: &Path, parts: impl IntoIterator<Item = &'a [u8]>) -> Result<(), DataError> {
    let write = || -> io::Result<()> {
        let mut file = File::create(path)?;
        parts.into_iter().try_for_each(|part| file.write_all(part))?;
        file.flush()
    };
    write().map_err(|source| DataError::Io { action: "write", path: path.to_owned(), source })
}

/// The next `len` bytes. The caller has held `len` against the file's length.
pub(crate) fn take(reader: &mut impl Read, len: u64) -> Result<Vec<u8>, FormatError> {
    let mut bytes = reserve(len)?;
    reader.take(len).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != len {
        return Err(FormatError::Length { expected: len, found: bytes.len() as u64 });
    }
    Ok(bytes)
}

/// Room for `len` bytes, or an error instead of an abort.
pub(crate) fn reserve(len: u64) -> Result<Vec<u8>, FormatError> {
    let out_of_memory = || io::Error::from(io::ErrorKind::OutOfMemory);
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(len).map_err(|_| out_of_memory())?).map_err(|_| out_of_memory())?;
    Ok(bytes)
}
