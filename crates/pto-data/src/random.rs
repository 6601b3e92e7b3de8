//! The generator behind `rand:` and `randidx:`.

/// Sebastiano Vigna's SplitMix64: small, fast, and the same numbers for the same seed everywhere, so a run can be
/// repeated, in another language if need be.
///
/// State starts at the seed. Each number: add `0x9e3779b97f4a7c15` to the state, then mix a copy of it with two
/// xor-shift-multiplies and a final xor-shift.
///
/// ```
/// use pto_data::SplitMix64;
/// let mut random = SplitMix64::new(1234567);
/// assert_eq!(random.next_u64(), 6457827717110365317); // the published test vector
/// assert!(random.below(10) < 10);
/// ```
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The sequence of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, uniform over all values.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number uniform in `[0, bound)`, without bias: the high half of a product, the few products that would
    /// favour some results drawn again (Lemire). A bound of 0 gives 0.
    pub const fn below(&mut self, bound: u64) -> u64 {
        loop {
            let product = self.next_u64() as u128 * bound as u128;
            let low = product as u64;
            if low >= bound || bound == 0 || low >= bound.wrapping_neg() % bound {
                return (product >> 64) as u64;
            }
        }
    }
}
