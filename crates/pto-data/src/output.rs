//! The text of `--out NAME=PATH`, and writing what it asks for.

use std::{collections::BTreeMap, fmt, path::PathBuf, str::FromStr};

use crate::{
    array::Array,
    error::{DataError, ValueError},
    npy, raw, safetensors,
    value::{assignment, split_safetensors},
};

/// `NAME=PATH`, or `NAME@RANK=PATH` for one of several ranks: where a buffer goes after the run. The path's ending names the form.
///
/// A safetensors path may carry the tensor's name (`out.safetensors:KEY`); without it the buffer's own name is used.
///
/// ```
/// use pto_data::{Destination, Output};
/// let output: Output = "table=out.safetensors".parse()?;
/// assert_eq!(output.destination.to_string(), "out.safetensors:table");
/// assert!("table=out.txt".parse::<Output>().is_err());
/// # Ok::<(), pto_data::ValueError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The buffer's name, without `%`.
    pub name: String,
    /// The rank whose buffer it is, where there are several.
    pub rank: Option<usize>,
    /// Where it goes.
    pub destination: Destination,
}

/// Where an array is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Destination {
    /// A NumPy file.
    Npy(PathBuf),
    /// One tensor of a safetensors file.
    SafeTensors {
        /// The file.
        path: PathBuf,
        /// The tensor's name.
        key: String,
    },
    /// A file of bare elements.
    Raw(PathBuf),
}

impl FromStr for Output {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (name, rank, path) = assignment(text, "NAME=PATH or NAME@RANK=PATH")?;
        let destination = if let Some((path, key)) = split_safetensors(path) {
            Destination::SafeTensors { path: path.into(), key: key.unwrap_or(&name).to_owned() }
        } else if path.ends_with(".npy") {
            Destination::Npy(path.into())
        } else if path.ends_with(".bin") {
            Destination::Raw(path.into())
        } else {
            return Err(ValueError::UnknownEnding(path.to_owned()));
        };
        Ok(Self { name, rank, destination })
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Npy(path) | Self::Raw(path) => path.display().fmt(f),
            Self::SafeTensors { path, key } => write!(f, "{}:{key}", path.display()),
        }
    }
}

/// Writes every array to its destination. Tensors for one safetensors file end up in it together; what the file held
/// before is replaced. Two arrays for one place are refused before anything is written.
///
/// ```
/// use pto_data::{Array, Destination, save};
/// use pto_isa::ElementType;
/// # let directory = tempfile::tempdir().unwrap();
/// let array = Array::new(ElementType::U8, vec![3], vec![1, 2, 3])?;
/// let path = directory.path().join("out.bin");
/// save(&[(&Destination::Raw(path.clone()), &array)])?;
/// assert_eq!(std::fs::read(path)?, [1, 2, 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save(arrays: &[(&Destination, &Array)]) -> Result<(), DataError> {
    let mut sorted = arrays.to_vec();
    sorted.sort_by_key(|(destination, _)| *destination);
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(ValueError::SameDestination(pair[0].0.to_string()).into());
    }
    let mut bundles: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (destination, array) in sorted {
        match destination {
            Destination::Npy(path) => npy::write(path, array)?,
            Destination::Raw(path) => raw::write(path, array)?,
            Destination::SafeTensors { path, key } => bundles.entry(path).or_default().push((key.as_str(), array)),
        }
    }
    bundles.into_iter().try_for_each(|(path, tensors)| safetensors::write(path, &tensors))
}
