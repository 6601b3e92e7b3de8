//! The text of `--arg NAME=VALUE`.

use std::{fmt, path::PathBuf, str::FromStr};

use crate::{
    array::MAX_RANK,
    error::ValueError,
    generate::{Fill, Generator},
    scalar::Number,
};

/// `NAME=VALUE`, or `NAME@RANK=VALUE` for one of several ranks. A leading `%`, as parameters have it in a program, is dropped from the name.
///
/// ```
/// use pto_data::{Argument, Value};
/// let argument: Argument = "%src=weights.npy".parse()?;
/// assert_eq!((argument.name.as_str(), argument.value), ("src", Value::Npy("weights.npy".into())));
/// # Ok::<(), pto_data::ValueError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The parameter's name.
    pub name: String,
    /// The rank that it is for; every rank if there is none.
    pub rank: Option<usize>,
    /// What it gets.
    pub value: Value,
}

impl FromStr for Argument {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (name, rank, value) = assignment(text, "NAME=VALUE or NAME@RANK=VALUE")?;
        Ok(Self { name, rank, value: value.parse()? })
    }
}

/// Name, rank and value: splits at the first `=`, as a name has none and a path may, and the name at its `@`.
pub(crate) fn assignment<'t>(
    text: &'t str,
    expected: &'static str,
) -> Result<(String, Option<usize>, &'t str), ValueError> {
    let wrong = || ValueError::NotAnAssignment { expected, found: text.to_owned() };
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    let (name, rank) = match name.rsplit_once('@') {
        Some((name, rank)) => (name, Some(digits(rank).and_then(|rank| usize::try_from(rank).ok()).ok_or_else(wrong)?)),
        None => (name, None),
    };
    let name = name.strip_prefix('%').unwrap_or(name);
    if name.is_empty() || value.is_empty() {
        return Err(wrong());
    }
    Ok((name.to_owned(), rank, value))
}

/// What a parameter gets: see the [crate] for the forms. Parsing touches no file.
///
/// A file whose name begins like a generator is reached through its directory: `./rand:1.npy`.
///
/// ```
/// use pto_data::{Fill, Generator, Number, Value};
/// assert_eq!("t.safetensors:a.b".parse(), Ok(Value::SafeTensors { path: "t.safetensors".into(), key: "a.b".into() }));
/// let random = Generator { fill: Fill::Random { seed: 7 }, shape: vec![64, 32] };
/// assert_eq!("rand:64x32:7".parse(), Ok(Value::Generated(random)));
/// assert_eq!("-3".parse(), Ok(Value::Number(Number::Integer(-3))));
/// assert!("weights.pt".parse::<Value>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
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
    /// An array made on the spot.
    Generated(Generator),
    /// A number, for a scalar.
    Number(Number),
}

impl FromStr for Value {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        if let Some(generator) = generator(text)? {
            Ok(Self::Generated(generator))
        } else if let Some((path, key)) = split_safetensors(text) {
            match key {
                Some(key) => Ok(Self::SafeTensors { path: path.into(), key: key.to_owned() }),
                None => Err(ValueError::MissingKey(path.to_owned())),
            }
        } else if text.ends_with(".npy") {
            Ok(Self::Npy(text.into()))
        } else if text.ends_with(".bin") {
            Ok(Self::Raw(text.into()))
        } else {
            Number::parse(text).map(Self::Number).ok_or_else(|| ValueError::UnknownForm(text.to_owned()))
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Npy(path) | Self::Raw(path) => path.display().fmt(f),
            Self::SafeTensors { path, key } => write!(f, "{}:{key}", path.display()),
            Self::Generated(generator) => generator.fmt(f),
            Self::Number(number) => number.fmt(f),
        }
    }
}

/// The path and the key, if any, of `FILE.safetensors:KEY`. Keys may have colons of their own.
pub(crate) fn split_safetensors(text: &str) -> Option<(&str, Option<&str>)> {
    const ENDING: &str = ".safetensors";
    match text.split_once(".safetensors:") {
        Some((stem, key)) => Some((&text[..stem.len() + ENDING.len()], Some(key).filter(|key| !key.is_empty()))),
        None => text.ends_with(ENDING).then_some((text, None)),
    }
}

fn generator(text: &str) -> Result<Option<Generator>, ValueError> {
    let Some((kind, rest)) = text.split_once(':') else { return Ok(None) };
    let expected = match kind {
        "zeros" => "zeros:SHAPE",
        "iota" => "iota:SHAPE",
        "rand" => "rand:SHAPE[:SEED]",
        "randidx" => "randidx:SHAPE:BOUND[:SEED]",
        _ => return Ok(None),
    };
    let parts: Vec<&str> = rest.split(':').collect();
    let seed = |part: Option<&&str>| part.map_or(Ok(0), |text| unsigned("seed", 0, text));
    let fill = match (kind, &parts[1..]) {
        ("zeros", []) => Fill::Zeros,
        ("iota", []) => Fill::Iota,
        ("rand", tail @ ([] | [_])) => Fill::Random { seed: seed(tail.first())? },
        ("randidx", [bound, tail @ ..]) if tail.len() < 2 => {
            Fill::Indices { bound: unsigned("bound", 1, bound)?, seed: seed(tail.first())? }
        }
        _ => return Err(ValueError::Parts { expected, found: text.to_owned() }),
    };
    Ok(Some(Generator { fill, shape: shape(parts[0])? }))
}

fn shape(text: &str) -> Result<Vec<u64>, ValueError> {
    let extents = text.split('x').map(digits).take(MAX_RANK + 1).collect::<Option<Vec<u64>>>();
    extents.filter(|extents| extents.len() <= MAX_RANK).ok_or_else(|| ValueError::Shape(text.to_owned()))
}

fn unsigned(what: &'static str, least: u64, text: &str) -> Result<u64, ValueError> {
    digits(text).filter(|n| *n >= least).ok_or_else(|| ValueError::Unsigned { what, least, found: text.to_owned() })
}

/// A `u64` without the sign that `parse` would take.
fn digits(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}
