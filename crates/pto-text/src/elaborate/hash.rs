//! A quick hash for short texts of the program itself.
//!
//! Names and types are looked up for every operand; the standard hasher would be a good part of the time. The seed is
//! random, so that no file can be written in which all names collide.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Makes hashers with one random seed.
#[derive(Clone, Copy)]
pub(crate) struct TextState(u64);

impl Default for TextState {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0))
    }
}

impl BuildHasher for TextState {
    type Hasher = TextHasher;

    fn build_hasher(&self) -> TextHasher {
        TextHasher(self.0)
    }
}

/// Multiplies and rotates eight bytes at a time.
#[derive(Clone, Copy)]
pub(crate) struct TextHasher(u64);

const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

impl TextHasher {
    fn add(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word) * u128::from(MIX);
        self.0 = (product as u64) ^ ((product >> 64) as u64).rotate_left(23);
    }
}

impl Hasher for TextHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    fn write_u8(&mut self, byte: u8) {
        self.add(u64::from(byte));
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
