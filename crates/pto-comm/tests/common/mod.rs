//! Cases drawn from a seed, and what every byte of every rank must be afterwards: the same on every transport.
#![allow(dead_code, reason = "each test binary uses its part")]

pub mod collective;
pub mod sharded;

use pto_comm::Transport;

/// A small generator: the ranks of a job draw the same case from the same seed without telling each other.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x1234_5678_9abc_def1)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number in `low..=high`.
    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.bits() % (high - low + 1)
    }

    pub fn one_in(&mut self, n: u64) -> bool {
        self.bits().is_multiple_of(n)
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.range(0, from.len() as u64 - 1) as usize]
    }

    pub fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.bits() as u8).collect()
    }
}

/// FNV-1a over everything that a suite produced.
pub struct Digest(pub u64);

impl Digest {
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

/// Every case of the suite on one transport: checks this rank's bytes against the reference and digests them.
pub fn suite(transport: &dyn Transport) -> u64 {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    for seed in 0..150 {
        let case = collective::Case::draw(seed, transport.size());
        let (local, window) = case.run(transport).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        case.compare(transport.rank(), seed, &local, &window);
        digest.add(&local);
        digest.add(&window);
    }
    for case in collective::Case::large(transport.size()) {
        let (local, window) = case.run(transport).unwrap_or_else(|error| panic!("large: {error}"));
        case.compare(transport.rank(), u64::MAX, &local, &window);
        digest.add(&local);
        digest.add(&window);
    }
    collective::refusals(transport);
    for seed in 0..150 {
        sharded::Case::draw(seed, transport.size()).check(transport, seed, &mut digest);
    }
    digest.0
}
