//! Folders of cases.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use crate::Case;

/// The name of the file that makes a folder a corpus.
const CASES: &str = "cases.jsonl";
/// The longest line that is read as a case.
const MAX_LINE: usize = 4 << 20;

/// A folder with a `cases.jsonl`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corpus {
    folder: PathBuf,
}

/// Why corpora or their cases could not be read.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// A file or folder could not be read.
    #[error("{path}: {source}")]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// No `cases.jsonl` in the folder nor below it.
    #[error("{0}: no cases.jsonl here or in any folder below")]
    Empty(PathBuf),
    /// A line is not a case.
    #[error("{path}:{line}: {reason}")]
    Malformed {
        /// The `cases.jsonl`.
        path: PathBuf,
        /// 1-based.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

impl Corpus {
    /// The corpus in `folder`, or every corpus below it, by path.
    ///
    /// # Errors
    /// [`CorpusError::Read`] if a folder cannot be read, [`CorpusError::Empty`] if there is no corpus.
    pub fn discover(folder: &Path) -> Result<Vec<Self>, CorpusError> {
        let mut found = Vec::new();
        let mut pending = vec![folder.to_owned()];
        while let Some(folder) = pending.pop() {
            if folder.join(CASES).is_file() {
                found.push(Self { folder });
                continue;
            }
            let read = |source| CorpusError::Read { path: folder.clone(), source };
            for entry in fs::read_dir(&folder).map_err(read)? {
                let entry = entry.map_err(read)?;
                // Links are not followed, so a folder that links to itself ends.
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    pending.push(entry.path());
                }
            }
        }
        found.sort_by(|a, b| a.folder.cmp(&b.folder));
        if found.is_empty() { Err(CorpusError::Empty(folder.to_owned())) } else { Ok(found) }
    }

    /// The folder that file names in cases are relative to.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Reads the cases; a line that is not a case is an `Err` in its place, so that the others still run.
    ///
    /// # Errors
    /// [`CorpusError::Read`] if `cases.jsonl` cannot be opened or read.
    pub fn cases(&self) -> Result<Vec<Result<Case, CorpusError>>, CorpusError> {
        let path = self.folder.join(CASES);
        let read = |source| CorpusError::Read { path: path.clone(), source };
        let mut reader = BufReader::new(fs::File::open(&path).map_err(read)?);
        let mut cases: Vec<Result<Case, CorpusError>> = Vec::new();
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let length =
                std::io::Read::take(&mut reader, MAX_LINE as u64 + 1).read_until(b'\n', &mut line).map_err(read)?;
            if length == 0 {
                break;
            }
            let malformed = |reason: String| CorpusError::Malformed { path: path.clone(), line: number, reason };
            if length > MAX_LINE {
                cases.push(Err(malformed(format!("a case is at most {MAX_LINE} bytes long"))));
                break;
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            cases.push(serde_json::from_slice(&line).map_err(|e| malformed(format!("not a case: {e}"))));
        }
        name_twice(&path, &mut cases);
        Ok(cases)
    }
}

/// A name that stands twice is a malformed second case; so is a twin that is not there.
fn name_twice(path: &Path, cases: &mut [Result<Case, CorpusError>]) {
    let mut names = std::collections::BTreeSet::new();
    let malformed =
        |line: usize, reason: String| Err(CorpusError::Malformed { path: path.to_owned(), line: line + 1, reason });
    for (i, slot) in cases.iter_mut().enumerate() {
        if let Ok(case) = slot
            && !names.insert(case.name.clone())
        {
            *slot = malformed(i, format!("the name {:?} stands twice", case.name));
        }
    }
    for (i, slot) in cases.iter_mut().enumerate() {
        if let Ok(Case { name, twin: Some(twin), .. }) = slot
            && !names.contains(twin)
        {
            *slot = malformed(i, format!("{name:?} names a twin {twin:?} that is not in this corpus"));
        }
    }
}
