//! The production kernels: one implementation for tiles on any target and for arrays on the host.
//!
//! - [`simd`] chooses the instruction set, and with [`transfer`] and [`dealt`] has all unsafe code of the kernels;
//! - [`cache`] knows the machine's caches, and what is done differently because of them;
//! - [`lanes`] reads index lanes of any type and distance;
//! - [`offsets`] is the proof that lanes are in range;
//! - [`bounds`] applies the out-of-bounds policy to a block of lanes, wrapping by [`modulus`];
//! - [`address`] turns in-range indices into element offsets;
//! - [`combine`] is what happens to one element;
//! - [`transfer`] moves elements;
//! - [`dealt`] hands rows out to threads by where they come from;
//! - [`elements`] with [`gather`] and [`rows`] put these together for one run of lanes, [`partition`] with [`apply`] and [`sorted`] for a
//!   part of a long one, by way of [`buckets`];
//! - [`kind`] hides element type and operation behind one interface;
//! - [`mask`] widens rows.
//!
//! Each step is monomorphised over what its loop needs to know and nothing else, and chosen once a block: all of
//! them together for all types would be thousands of loops.

pub(crate) mod address;
pub(crate) mod apply;
pub(crate) mod bounds;
pub(crate) mod buckets;
pub(crate) mod cache;
pub(crate) mod combine;
pub(crate) mod dealt;
pub(crate) mod elements;
pub(crate) mod gather;
pub(crate) mod kind;
pub(crate) mod lanes;
pub(crate) mod mask;
mod modulus;
mod offsets;
pub(crate) mod partition;
pub(crate) mod rows;
pub(crate) mod simd;
pub(crate) mod sorted;
pub(crate) mod transfer;

pub(crate) use offsets::{AnyOffsets, Offsets, Word};

/// Lanes that are resolved at a time: the offsets and positions of a block stay in the first-level cache.
pub(crate) const BLOCK: usize = 256;
