//! Remainders without a division.

/// A divisor with its reciprocal `floor(2^bits / divisor)`, for words of 32 or 64 bits.
///
/// The upper half of `x * reciprocal` is the quotient or one less: what the reciprocal was rounded down by is below 1,
/// so the product misses `x / divisor` by less than `x / 2^bits < 1`. For the divisor 1 the reciprocal is one less
/// than `2^bits`, which does not fit, and the quotient is one less than `x`: right again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Modulus {
    pub(crate) divisor: u64,
    pub(crate) reciprocal: u64,
}

impl Modulus {
    /// The divisor of those who do not divide.
    pub(crate) const ONE: Self = Self { divisor: 1, reciprocal: u64::MAX };

    /// The divisor for words of 4 bytes (`narrow`) or 8. It is not 0; where it does not fit, it is not used.
    pub(crate) fn new(divisor: u64, narrow: bool) -> Self {
        // 2^64 does not fit, but one less gives the same quotient, except where the divisor is a power of two.
        let reciprocal = match (narrow, divisor.is_power_of_two()) {
            (true, _) => ((1 << 32) / divisor).min(u32::MAX.into()),
            (false, true) if divisor > 1 => 1 << (64 - divisor.ilog2()),
            (false, _) => u64::MAX / divisor,
        };
        Self { divisor, reciprocal }
    }
}

#[cfg(test)]
mod tests {
    use super::super::offsets::Word;
    use super::*;

    const DIVISORS: [u64; 11] =
        [1, 2, 3, 7, 10, 1_000_003, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_fffe, 0xffff_ffff];

    #[test]
    fn remainders_of_32_bits_are_exact_at_the_edges() {
        for d in DIVISORS.map(|d| d as u32) {
            let modulus = Modulus::new(d.into(), true);
            let edges = [0, 1, d - 1, d, d.wrapping_add(1), u32::MAX / d * d, u32::MAX - 1, u32::MAX];
            for x in edges.into_iter().chain((0..10_000).map(|i| i * 429_497 + 13)) {
                assert_eq!(x.to_le_bytes().remainder(modulus).get(), u64::from(x % d), "{x} % {d}");
                if d <= 1 << 31 {
                    let euclidean = i64::from(x as i32).rem_euclid(d.into()) as u64;
                    assert_eq!(x.to_le_bytes().remainder_signed(modulus).get(), euclidean, "{} % {d}", x as i32);
                }
            }
        }
    }

    #[test]
    fn remainders_of_64_bits_are_exact_at_the_edges() {
        for d in DIVISORS.into_iter().chain([1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX]) {
            let modulus = Modulus::new(d, false);
            let edges = [0, 1, d - 1, d, d.wrapping_add(1), u64::MAX / d * d, u64::MAX - 1, u64::MAX, 1 << 63];
            for x in edges.into_iter().chain((0..10_000).map(|i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15))) {
                assert_eq!(x.to_le_bytes().remainder(modulus).get(), x % d, "{x} % {d}");
                let euclidean = i128::from(x as i64).rem_euclid(d.into()) as u64;
                assert_eq!(x.to_le_bytes().remainder_signed(modulus).get(), euclidean, "{} % {d}", x as i64);
            }
        }
    }
}
