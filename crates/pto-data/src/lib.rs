//! Arrays in and out of files: what `pto run --arg NAME=VALUE` reads and `--out NAME=PATH` writes.
//!
//! - [`Argument`] and [`Value`]: the text of an argument, parsed without touching a file;
//! - [`Value::load_array`] and [`Value::load_scalar`]: the value for a parameter of a known element type;
//! - [`Array`]: little-endian bytes in row-major order, with a shape and a [`DataType`];
//! - [`npy`], [`safetensors`] and [`raw`]: the three file forms, each read and written;
//! - [`Output`] and [`save`]: results, in the form that the ending of the path names.
//!
//! | VALUE | what it stands for |
//! | --- | --- |
//! | `FILE.npy` | the array in a NumPy file |
//! | `FILE.safetensors:KEY` | one tensor of a safetensors file |
//! | `FILE.bin` | the bytes of the file, elements of the parameter's type |
//! | `zeros:SHAPE` | zeros |
//! | `iota:SHAPE` | 0, 1, 2, ... in row-major order |
//! | `rand:SHAPE[:SEED]` | floats uniform in [0, 1), integers uniform over all their values |
//! | `randidx:SHAPE:BOUND[:SEED]` | integers uniform in [0, BOUND) |
//! | a number | a scalar |
//!
//! An array must have the element type of its parameter. The one exception: parameters of bf16 and the 8-bit floats,
//! which most tools cannot name, take any array whose elements have the same width, bits unchanged. No value is ever
//! converted.
//!
//! What a file says of itself is not believed: every size is held against the file's length, and against
//! [`MAX_BYTES`], before anything is allocated; no file makes this crate panic.
//!
//! ```
//! use pto_data::{Argument, DataError};
//! use pto_isa::ElementType;
//!
//! let argument: Argument = "table=iota:4x2".parse()?;
//! let table = argument.value.load_array(ElementType::I16)?;
//! assert_eq!(argument.name, "table");
//! assert_eq!(table.shape(), [4, 2]);
//! assert_eq!(table.bytes()[..6], [0, 0, 1, 0, 2, 0]);
//! # Ok::<(), DataError>(())
//! ```

mod array;
mod encode;
mod error;
mod file;
mod generate;
mod load;
pub mod npy;
mod output;
mod random;
pub mod raw;
pub mod safetensors;
mod scalar;
mod value;

pub use array::{Array, DataType, MAX_BYTES, MAX_RANK};
pub use error::{DataError, FormatError, ValueError};
pub use generate::{Fill, Generator};
pub use output::{Destination, Output, save};
pub use random::SplitMix64;
pub use scalar::{Number, Scalar};
pub use value::{Argument, Value};
