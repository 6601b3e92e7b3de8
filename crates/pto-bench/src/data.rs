//! Pseudo-random data that other languages can make too (`bench/peers.py` does).

/// SplitMix64: the `n`-th number is a function of the seed and `n` alone.
///
/// ```
/// let first: Vec<u64> = pto_bench::Random::new(1).take(2).collect();
/// assert_eq!(first, [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67]);
/// ```
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }
}

impl Iterator for Random {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Some(z ^ (z >> 31))
    }
}

/// Numbers below `bound`, all equally likely.
pub fn uniform(seed: u64, bound: u64) -> impl Iterator<Item = u64> {
    Random::new(seed).map(move |x| x % bound)
}

/// Slots of a table of `size` (a power of two) in a bounded Zipf distribution: rank `r` has a share of about
/// `r^-exponent`, and ranks are spread over the table by an odd multiplier.
pub fn zipf(seed: u64, size: u64, exponent: f64) -> impl Iterator<Item = u64> {
    let power = 1.0 - exponent;
    let reach = (size as f64 + 1.0).powf(power) - 1.0;
    Random::new(seed).map(move |x| {
        let u = (x >> 11) as f64 / (1u64 << 53) as f64;
        let rank = (1.0 + u * reach).powf(1.0 / power) as u64;
        rank.clamp(1, size).wrapping_mul(0x9e37_79b1) % size
    })
}

/// Values that are exact in every float type: small integers.
pub(crate) fn small(seed: u64) -> impl Iterator<Item = f32> {
    Random::new(seed).map(|x| (x % 17) as f32 - 8.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zipf_has_its_head_and_its_tail() {
        let size = 1u64 << 24;
        let slots: Vec<u64> = zipf(3, size, 1.1).take(100_000).collect();
        let head = 0x9e37_79b1 % size;
        let hits = slots.iter().filter(|slot| **slot == head).count();
        // The first rank's share is near 1 - 2^-0.1, that of a Zipf distribution cut at 2^24.
        assert!((6_000..12_000).contains(&hits), "{hits}");
        let mut distinct = slots;
        distinct.sort_unstable();
        distinct.dedup();
        assert!(distinct.len() > 20_000, "{}", distinct.len());
    }
}
