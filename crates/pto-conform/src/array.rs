//! Raw arrays out of a corpus's files.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

/// The most bytes that one array of a case may take: several cases run at once, each with several arrays and copies.
const MAX_BYTES: u64 = 1 << 28;

/// Why an array could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArrayError {
    #[error("{0}: {1}")]
    Read(PathBuf, std::io::Error),
    #[error("{0}: a path inside the corpus is wanted")]
    Outside(PathBuf),
    #[error("{path}: {needed} bytes at offset {offset} are wanted, the file has {found}")]
    Short { path: PathBuf, offset: u64, needed: u64, found: u64 },
    #[error("an array of {0} bytes is larger than a case may be ({MAX_BYTES} bytes)")]
    TooLarge(u64),
}

/// Reads `length` bytes at `offset` of a file of the corpus; nothing is allocated before the file is known to hold them.
pub(crate) fn read(folder: &Path, name: &str, offset: u64, length: u64) -> Result<Vec<u8>, ArrayError> {
    if length == 0 {
        return Ok(Vec::new());
    }
    let inside = Path::new(name).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    let path = folder.join(name);
    if !inside {
        return Err(ArrayError::Outside(path));
    }
    let failed = |e| ArrayError::Read(path.clone(), e);
    let mut file = File::open(&path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?.len();
    if offset.checked_add(length).is_none_or(|end| end > found) {
        return Err(ArrayError::Short { path, offset, needed: length, found });
    }
    let mut bytes = zeros(length)?;
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    file.read_exact(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// An array of zero bytes, if a case may be that large.
pub(crate) fn zeros(length: u64) -> Result<Vec<u8>, ArrayError> {
    if length > MAX_BYTES { Err(ArrayError::TooLarge(length)) } else { Ok(vec![0; length as usize]) }
}
