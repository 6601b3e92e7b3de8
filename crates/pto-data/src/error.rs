//! What can be wrong with an argument, a value or a file.
//!
//! [`FormatError`] knows nothing of paths: [`DataError::File`] says which file it was.

use std::{io, path::PathBuf};

use pto_isa::ElementType;
use thiserror::Error;

use crate::array::{DataType, MAX_BYTES, MAX_RANK};

/// Why an argument could not be turned into data, or a result could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DataError {
    /// The text of an argument has none of the documented forms.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// The file could not be opened, read or written.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// `read` or `write`.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file was read and its contents are not what its ending says, or not what the parameter needs.
    #[error("`{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        source: FormatError,
    },
}

/// What is wrong with the text of an argument, or with using its value for a parameter.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// No `=`, or nothing on one of its sides.
    #[error("expected {expected}, found `{found}`")]
    NotAnAssignment {
        /// `NAME=VALUE` or `NAME=PATH`.
        expected: &'static str,
        /// The text.
        found: String,
    },
    /// None of the forms of a value.
    #[error(
        "`{0}` is not a value: expected FILE.npy, FILE.safetensors:KEY, FILE.bin, zeros:SHAPE, iota:SHAPE, \
         rand:SHAPE[:SEED], randidx:SHAPE:BOUND[:SEED] or a number"
    )]
    UnknownForm(String),
    /// A safetensors file without the tensor's name.
    #[error("`{0}` names no tensor: write {0}:KEY")]
    MissingKey(String),
    /// An output path whose ending names no form.
    #[error("cannot tell the form of `{0}`: end it in .npy, .bin or .safetensors (or .safetensors:KEY)")]
    UnknownEnding(String),
    /// A generator with too few or too many parts.
    #[error("`{found}` does not have the form {expected}")]
    Parts {
        /// The form.
        expected: &'static str,
        /// The text.
        found: String,
    },
    /// Not a shape.
    #[error("`{0}` is not a shape: expected at most {MAX_RANK} extents joined by `x`, as in 64x32")]
    Shape(String),
    /// Not a seed or bound.
    #[error("`{found}` is not a {what}: expected a whole number from {least} to {}", u64::MAX)]
    Unsigned {
        /// `seed` or `bound`.
        what: &'static str,
        /// The smallest legal number.
        least: u64,
        /// The text.
        found: String,
    },
    /// A generated array beyond the limit.
    #[error("`{found}` of {element} would take more than {} GiB, the limit for one array", MAX_BYTES >> 30)]
    TooLarge {
        /// The generator.
        found: String,
        /// The element type.
        element: ElementType,
    },
    /// The system has no memory for it.
    #[error("`{found}` of {element} needs {bytes} bytes, which this machine cannot give: use a smaller shape")]
    OutOfMemory {
        /// The generator.
        found: String,
        /// The element type.
        element: ElementType,
        /// Its size.
        bytes: u64,
    },
    /// Indices for a parameter that does not hold integers.
    #[error("`{found}` makes integers, but the parameter holds {element}: use rand:SHAPE[:SEED]")]
    IndicesNeedIntegers {
        /// The generator.
        found: String,
        /// The element type.
        element: ElementType,
    },
    /// Indices that the element type cannot hold.
    #[error(
        "`{found}` makes indices up to {}, but {element} holds at most {max}: use a bound of at most {}",
        bound.saturating_sub(1),
        max.saturating_add(1)
    )]
    Bound {
        /// The generator.
        found: String,
        /// The element type.
        element: ElementType,
        /// The bound.
        bound: u64,
        /// The largest value of the element type.
        max: u64,
    },
    /// A number for a parameter that is a buffer.
    #[error(
        "the parameter is a buffer of {element}, found the number {found}: give a file or a generator, e.g. zeros:64x32"
    )]
    NumberForBuffer {
        /// The element type.
        element: ElementType,
        /// The number.
        found: String,
    },
    /// An array for a parameter that is a scalar.
    #[error("the parameter is a scalar of type {element}, found `{found}`: give a number")]
    ArrayForScalar {
        /// The scalar's type.
        element: ElementType,
        /// The value.
        found: String,
    },
    /// A number that the scalar's type cannot hold.
    #[error("{found} is not a value of {element}: expected a whole number from {min} to {max}")]
    NumberOutOfRange {
        /// The scalar's type.
        element: ElementType,
        /// The number.
        found: String,
        /// The smallest value of the type.
        min: i128,
        /// The largest value of the type.
        max: i128,
    },
    /// Two results for one place.
    #[error("two outputs go to `{0}`: give each its own path, or its own key in a safetensors file")]
    SameDestination(String),
}

/// What is wrong with the contents of a file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The array's type is not the parameter's.
    #[error("expected elements of type {expected}, found {found}: {}", advice(*expected, found))]
    ElementType {
        /// The parameter's element type.
        expected: ElementType,
        /// What the file holds.
        found: DataType,
    },
    /// Not the bytes a file of this form starts with.
    #[error("not a {form} file: {reason}")]
    NotThisForm {
        /// `.npy` or `.safetensors`.
        form: &'static str,
        /// What was expected and found.
        reason: String,
    },
    /// A header that cannot be understood.
    #[error("the {form} header is malformed: {reason}")]
    Header {
        /// `.npy` or `.safetensors`.
        form: &'static str,
        /// What was expected and found.
        reason: String,
    },
    /// The file's length does not agree with its header.
    #[error(
        "the header promises {expected} bytes of data, the file has {found}: it was truncated or has data appended; \
         write it again"
    )]
    Length {
        /// Bytes the shape and type need.
        expected: u64,
        /// Bytes behind the header.
        found: u64,
    },
    /// Shape and type need more bytes than can be counted or held.
    #[error("an array of shape {shape:?} with {width}-byte elements is beyond the limit of {} GiB", MAX_BYTES >> 30)]
    TooLarge {
        /// The shape.
        shape: Vec<u64>,
        /// Bytes per element.
        width: u64,
    },
    /// More dimensions than any form has.
    #[error("an array of {0} dimensions: expected at most {MAX_RANK}")]
    Rank(usize),
    /// A type that PTO has no use for.
    #[error("elements of type {found} cannot be used: {advice}")]
    Unsupported {
        /// The type, as the file spells it.
        found: String,
        /// What to do instead.
        advice: &'static str,
    },
    /// No tensor of that name.
    #[error("no tensor `{key}`: {}", present(keys))]
    NoTensor {
        /// The name asked for.
        key: String,
        /// The names there are, sorted.
        keys: Vec<String>,
    },
    /// Raw bytes that are no whole number of elements.
    #[error(
        "{found} bytes are no whole number of {element} elements of {} bytes: is it of another type?",
        element.size()
    )]
    Partial {
        /// The parameter's element type.
        element: ElementType,
        /// The file's length.
        found: u64,
    },
    /// Bytes that do not fill the shape.
    #[error("an array of shape {shape:?} with {width}-byte elements has {expected} bytes, found {found}")]
    Bytes {
        /// The shape.
        shape: Vec<u64>,
        /// Bytes per element.
        width: u64,
        /// Bytes the shape needs.
        expected: u64,
        /// Bytes given.
        found: u64,
    },
    /// A directory, pipe or device.
    #[error("expected a regular file, found a directory, pipe or device")]
    NotAFile,
    /// The system failed while the contents were read.
    #[error("reading failed: {0}")]
    Io(#[from] io::Error),
}

fn advice(expected: ElementType, found: &DataType) -> String {
    if expected.size() == found.width() {
        format!("store it as {expected} (in NumPy: array.view to keep the bits, array.astype to keep the values)")
    } else {
        format!("store it as {expected} (in NumPy: array.astype)")
    }
}

fn present(keys: &[String]) -> String {
    const SHOWN: usize = 10;
    match keys.len() {
        0 => "the file holds none".to_owned(),
        n if n > SHOWN => format!("the file holds {} and {} more", keys[..SHOWN].join(", "), n - SHOWN),
        _ => format!("the file holds {}", keys.join(", ")),
    }
}
