//! Arrays made on the spot: `zeros:`, `iota:`, `rand:`, `randidx:`.

use std::fmt;

use pto_isa::ElementType;

use crate::{
    array::{Array, byte_count},
    encode::{FloatEncoder, integer_range, precision},
    error::ValueError,
    random::SplitMix64,
};

/// What a generated array is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// All bits zero.
    Zeros,
    /// 0, 1, 2, ...: integers wrap, floats are rounded to their type.
    Iota,
    /// Floats uniform in [0, 1), integers uniform over all their values.
    ///
    /// One number of [`SplitMix64`] per element, its high bits used: an integer of `w` bits takes `w` of them, a float
    /// with `p` significant bits takes `p` of them as multiples of `2^-p`.
    Random {
        /// Seed of the sequence.
        seed: u64,
    },
    /// Integers uniform in [0, bound), by [`SplitMix64::below`].
    Indices {
        /// The smallest number that does not occur.
        bound: u64,
        /// Seed of the sequence.
        seed: u64,
    },
}

/// An array described by its shape and what fills it.
///
/// ```
/// use pto_data::{Fill, Generator, ValueError};
/// use pto_isa::ElementType;
///
/// let generator = Generator { fill: Fill::Indices { bound: 10, seed: 7 }, shape: vec![3, 4] };
/// assert_eq!(generator.to_string(), "randidx:3x4:10:7");
/// let array = generator.generate(ElementType::U8)?;
/// assert!(array.bytes().iter().all(|&index| index < 10));
/// # Ok::<(), ValueError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator {
    /// What fills it.
    pub fill: Fill,
    /// The extents, outermost first.
    pub shape: Vec<u64>,
}

impl Generator {
    /// Makes the array with elements of this type.
    pub fn generate(&self, element: ElementType) -> Result<Array, ValueError> {
        let found = || self.to_string();
        let too_large = || ValueError::TooLarge { found: found(), element };
        let bytes = byte_count(&self.shape, element.size()).map_err(|_| too_large())?;
        let size = usize::try_from(bytes).map_err(|_| too_large())?;
        let mut out = Vec::new();
        out.try_reserve_exact(size).map_err(|_| ValueError::OutOfMemory { found: found(), element, bytes })?;

        let float = FloatEncoder::new(element);
        match self.fill {
            Fill::Zeros => {
                // There is room, as was just seen; pages that the system hands out zeroed cost nothing until touched.
                drop(out);
                out = vec![0; size];
            }
            Fill::Iota if element.is_integer() => fill(&mut out, element, bytes, |i| i),
            Fill::Iota => fill(&mut out, element, bytes, |i| float.bits(i as f64)),
            Fill::Random { seed } => {
                let mut random = SplitMix64::new(seed);
                if element.is_integer() {
                    let unused = 64 - 8 * element.size();
                    fill(&mut out, element, bytes, |_| random.next_u64() >> unused);
                } else {
                    let bits = precision(element);
                    let unit = 1.0 / (1u64 << bits) as f64;
                    fill(&mut out, element, bytes, |_| float.bits((random.next_u64() >> (64 - bits)) as f64 * unit));
                }
            }
            Fill::Indices { bound, seed } => {
                let (_, max) = integer_range(element)
                    .ok_or_else(|| ValueError::IndicesNeedIntegers { found: found(), element })?;
                if bound == 0 {
                    return Err(ValueError::Unsigned { what: "bound", least: 1, found: "0".to_owned() });
                }
                if i128::from(bound) > max + 1 {
                    return Err(ValueError::Bound { found: found(), element, bound, max: max as u64 });
                }
                let mut random = SplitMix64::new(seed);
                fill(&mut out, element, bytes, |_| random.below(bound));
            }
        }
        Array::new(element, self.shape.clone(), out).map_err(|_| too_large())
    }
}

/// Appends the low bits of one number per element.
fn fill(out: &mut Vec<u8>, element: ElementType, bytes: u64, mut bits: impl FnMut(u64) -> u64) {
    let width = element.size() as usize;
    for i in 0..bytes / element.size() {
        out.extend_from_slice(&bits(i).to_le_bytes()[..width]);
    }
}

impl fmt::Display for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shape = self.shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x");
        match self.fill {
            Fill::Zeros => write!(f, "zeros:{shape}"),
            Fill::Iota => write!(f, "iota:{shape}"),
            Fill::Random { seed } => write!(f, "rand:{shape}:{seed}"),
            Fill::Indices { bound, seed } => write!(f, "randidx:{shape}:{bound}:{seed}"),
        }
    }
}
