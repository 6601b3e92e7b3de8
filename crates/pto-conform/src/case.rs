//! One case of a corpus, as it stands in `cases.jsonl`.

use serde::Deserialize;

/// What a case expects of the tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expectation {
    /// Runs and gives the golden result.
    Ok,
    /// Is refused before it runs, with at least one error.
    Reject,
    /// Is legal, but the run reports an error and leaves every buffer as it was.
    Fault,
}

/// One case: an instruction, its operands and what must come of it.
///
/// Extents are signed here so that a negative one can be refused with a rule instead of being a malformed line.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Unique in its corpus.
    pub name: String,
    /// What must happen.
    pub expect: Expectation,
    /// For people: which sentence of the specification is at stake.
    #[serde(default)]
    pub rule: Option<String>,
    /// A legal neighbour in the same corpus.
    #[serde(default)]
    pub twin: Option<String>,
    pub(crate) op: Op,
    pub(crate) target: String,
    #[serde(default)]
    pub(crate) policy: Option<Policy>,
    #[serde(default)]
    pub(crate) mask: Option<String>,
    #[serde(default)]
    pub(crate) src: Option<Operand>,
    #[serde(default)]
    pub(crate) idx: Option<Tile>,
    #[serde(default)]
    pub(crate) dst: Option<Operand>,
    #[serde(default)]
    pub(crate) table: Option<Tensor>,
    #[serde(default)]
    pub(crate) ranks: Option<i64>,
    #[serde(default)]
    pub(crate) root: Option<i64>,
    #[serde(default)]
    pub(crate) caller: Option<i64>,
    #[serde(default)]
    pub(crate) staging: Option<Vec<Tile>>,
    #[serde(default)]
    pub(crate) dyn_ub: Option<i64>,
    #[serde(default)]
    pub(crate) unordered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Op {
    Mscatter,
    Mgather,
    Tscatter,
    CommTscatter,
    CommTgather,
}

#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Policy {
    #[serde(default)]
    pub(crate) coalesce: Option<String>,
    #[serde(default)]
    pub(crate) oob: Option<String>,
    #[serde(default)]
    pub(crate) atomic: Option<String>,
    #[serde(default)]
    pub(crate) conflict: Option<String>,
}

/// `src` and `dst` are tiles, tensors, or one tensor per rank, by instruction.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Operand {
    Ranks(Vec<Option<Tensor>>),
    Tensor(Tensor),
    Tile(Tile),
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Tile {
    pub(crate) dtype: String,
    pub(crate) rows: i64,
    pub(crate) cols: i64,
    pub(crate) valid_rows: i64,
    pub(crate) valid_cols: i64,
    #[serde(default)]
    pub(crate) loc: Option<String>,
    #[serde(default)]
    pub(crate) blayout: Option<String>,
    #[serde(default)]
    pub(crate) slayout: Option<String>,
    #[serde(default)]
    pub(crate) fractal: Option<i64>,
    #[serde(default)]
    pub(crate) addr: Option<i64>,
    #[serde(default)]
    pub(crate) dynamic: bool,
    #[serde(flatten)]
    pub(crate) data: Data,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Tensor {
    pub(crate) dtype: String,
    pub(crate) shape: [i64; 5],
    pub(crate) strides: [i64; 5],
    pub(crate) layout: String,
    #[serde(default)]
    pub(crate) dynamic: bool,
    #[serde(flatten)]
    pub(crate) data: Data,
}

/// The arrays behind an operand, and the results it must hold.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Data {
    #[serde(default)]
    pub(crate) file: Option<OneOrMany<String>>,
    #[serde(default)]
    pub(crate) file_offset: Option<OneOrMany<u64>>,
    #[serde(default)]
    pub(crate) golden: Option<OneOrMany<String>>,
    #[serde(default)]
    pub(crate) golden_offset: Option<OneOrMany<u64>>,
    #[serde(default)]
    pub(crate) golden_any: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) golden_any_offset: Option<OneOrMany<u64>>,
    #[serde(default)]
    pub(crate) tolerance: Option<f64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum OneOrMany<T> {
    Many(Vec<T>),
    One(T),
}

impl<T> OneOrMany<T> {
    /// The entry for position `i`: the only one, or the `i`-th of a list.
    pub(crate) fn at(&self, i: usize) -> Option<&T> {
        match self {
            Self::One(value) => Some(value),
            Self::Many(values) => values.get(i),
        }
    }
}
