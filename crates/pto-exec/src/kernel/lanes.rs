//! Index lanes: reading a block of them, and what the out-of-bounds policy makes of it.

use pto_isa::{ElementType, OutOfBounds};

use super::BLOCK;

/// The index tile's bytes and how the target reads them.
#[derive(Clone, Copy)]
pub(crate) struct LaneReader<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) element: ElementType,
    /// Signed types are plain integers (`host`); otherwise every lane is its unsigned bit pattern.
    pub(crate) signed: bool,
}

/// A run of index lanes at a constant distance, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strided {
    pub(crate) start: usize,
    pub(crate) step: usize,
}

impl LaneReader<'_> {
    /// Reads lanes `run.start`, `run.start + run.step`, ... as 64-bit numbers, signed ones sign-extended.
    ///
    /// # Panics
    /// If the run leaves the tile, which a plan never asks for.
    pub(crate) fn read(&self, run: Strided, block: &mut [u64]) {
        macro_rules! read {
            ($type:ty) => {
                read_as::<{ size_of::<$type>() }>(self.bytes, run, block, |b| <$type>::from_le_bytes(b) as i64 as u64)
            };
        }
        match (self.element, self.signed) {
            (ElementType::I16, true) => read!(i16),
            (ElementType::I32, true) => read!(i32),
            (ElementType::I16 | ElementType::U16, _) => read!(u16),
            (ElementType::I32 | ElementType::U32, _) => read!(u32),
            _ => read!(u64),
        }
    }
}

#[inline(always)]
fn read_as<const N: usize>(bytes: &[u8], run: Strided, block: &mut [u64], widen: impl Fn([u8; N]) -> u64) {
    let lanes = bytes[run.start * N..].as_chunks::<N>().0;
    if run.step == 1 {
        for (index, lane) in block.iter_mut().zip(lanes) {
            *index = widen(*lane);
        }
    } else {
        for (index, lane) in block.iter_mut().zip(lanes.iter().step_by(run.step)) {
            *index = widen(*lane);
        }
    }
}

/// What the policy does with the indices of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// All are known to be in range.
    Checked,
    /// Out-of-range lanes are dropped from the block.
    Drop,
    /// Out-of-range lanes go to the nearest slot.
    Clamp,
    /// Lanes are taken modulo the capacity.
    Wrap,
}

impl Bounds {
    pub(crate) fn of(oob: OutOfBounds) -> Self {
        match oob {
            OutOfBounds::Undefined => Self::Checked,
            OutOfBounds::Skip | OutOfBounds::Zero => Self::Drop,
            OutOfBounds::Clamp => Self::Clamp,
            OutOfBounds::Wrap => Self::Wrap,
        }
    }
}

/// The number of lanes at or beyond the capacity; negative ones are beyond any.
pub(crate) fn count_outside(block: &[u64], capacity: u64) -> usize {
    block.iter().map(|&index| usize::from(index >= capacity)).sum()
}

/// The policy applied to a block, with the capacity and whether lanes are signed.
#[derive(Clone, Copy)]
pub(crate) struct Resolver {
    pub(crate) bounds: Bounds,
    pub(crate) capacity: u64,
    pub(crate) signed: bool,
    /// Lanes fit into 32 bits, so that the modulus can be a multiplication.
    pub(crate) narrow: bool,
}

impl Resolver {
    /// True if out-of-range lanes leave the block.
    pub(crate) fn drops(&self) -> bool {
        self.bounds == Bounds::Drop
    }

    /// Resolves `block` in place and returns how many lanes were out of range.
    ///
    /// Under [`Bounds::Drop`] the lanes that remain are moved to the front, and `positions` holds where each stood.
    #[inline]
    pub(crate) fn resolve(&self, block: &mut [u64], positions: &mut [u32; BLOCK]) -> usize {
        match self.bounds {
            Bounds::Checked => 0,
            Bounds::Drop => {
                let mut kept = 0;
                for i in 0..block.len() {
                    let index = block[i];
                    block[kept] = index;
                    positions[kept] = i as u32;
                    kept += usize::from(index < self.capacity);
                }
                block.len() - kept
            }
            Bounds::Clamp => {
                let outside = count_outside(block, self.capacity);
                if outside > 0 {
                    self.clamp(block);
                }
                outside
            }
            Bounds::Wrap => {
                let outside = count_outside(block, self.capacity);
                if outside > 0 {
                    self.wrap(block);
                }
                outside
            }
        }
    }

    fn clamp(&self, block: &mut [u64]) {
        let last = self.capacity - 1;
        if self.signed {
            for index in block {
                *index = (*index as i64).max(0).unsigned_abs().min(last);
            }
        } else {
            for index in block {
                *index = (*index).min(last);
            }
        }
    }

    fn wrap(&self, block: &mut [u64]) {
        let capacity = self.capacity;
        match (self.signed, u32::try_from(capacity)) {
            (false, Ok(divisor)) if self.narrow => {
                let modulus = Modulus::new(divisor);
                for index in block {
                    *index = modulus.of(*index as u32);
                }
            }
            (false, _) => {
                for index in block {
                    *index %= capacity;
                }
            }
            (true, _) => {
                // A capacity beyond the largest lane leaves non-negative lanes alone.
                for index in block {
                    *index = i128::from(*index as i64).rem_euclid(i128::from(capacity)) as u64;
                }
            }
        }
    }
}

/// `x % d` for 32-bit numbers without a division: the remainder is the high part of the fraction `x / d` times `d`.
///
/// With `c = ceil(2^64 / d)`, the fraction `c * x mod 2^64` is exact to within `x < 2^32` units of `2^-64`, which is
/// less than one step of `1 / d`.
#[derive(Clone, Copy)]
struct Modulus {
    divisor: u64,
    reciprocal: u64,
}

impl Modulus {
    fn new(divisor: u32) -> Self {
        // For d = 1 the reciprocal wraps to 0, which gives the right remainder 0.
        Self { divisor: divisor.into(), reciprocal: (u64::MAX / u64::from(divisor)).wrapping_add(1) }
    }

    #[inline(always)]
    fn of(self, x: u32) -> u64 {
        let fraction = self.reciprocal.wrapping_mul(x.into());
        ((u128::from(fraction) * u128::from(self.divisor)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modulus_is_exact_at_the_edges() {
        let edges = |d: u32| [0, 1, d.wrapping_sub(1), d, d.wrapping_add(1), u32::MAX / d * d, u32::MAX - 1, u32::MAX];
        for d in [1, 2, 3, 7, 10, 1_000_003, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, u32::MAX - 1, u32::MAX] {
            let modulus = Modulus::new(d);
            for x in edges(d).into_iter().chain((0..10_000).map(|i| i * 429_497 + 13)) {
                assert_eq!(modulus.of(x), u64::from(x % d), "{x} % {d}");
            }
        }
    }

    #[test]
    fn signed_lanes_clamp_to_both_ends_and_wrap_euclidean() {
        let lanes = [-1i64, -7, 0, 4, 5, i64::MIN, i64::MAX];
        let resolve = |bounds| {
            let mut block = lanes.map(|x| x as u64);
            let resolver = Resolver { bounds, capacity: 5, signed: true, narrow: false };
            let outside = resolver.resolve(&mut block, &mut [0; BLOCK]);
            (block, outside)
        };
        assert_eq!(resolve(Bounds::Clamp), ([0, 0, 0, 4, 4, 0, 4], 5));
        let wrapped = lanes.map(|x| x.rem_euclid(5) as u64);
        assert_eq!(resolve(Bounds::Wrap), (wrapped, 5));
    }

    #[test]
    fn dropped_lanes_leave_their_positions() {
        let mut block = [9, 1, u64::MAX, 0];
        let mut positions = [0; BLOCK];
        let resolver = Resolver { bounds: Bounds::Drop, capacity: 2, signed: false, narrow: true };
        assert_eq!(resolver.resolve(&mut block, &mut positions), 2);
        assert_eq!((&block[..2], &positions[..2]), ([1, 0].as_slice(), [1, 3].as_slice()));
    }
}
