//! The production kernels: blocks of index lanes are read, resolved to element offsets, and applied to data.
//!
//! - [`lanes`] reads index lanes of any type and applies the out-of-bounds policy, a block at a time;
//! - [`address`] turns in-range indices into element offsets;
//! - [`combine`] is what happens to one element;
//! - [`transfer`] moves a block of elements, and is the only file with unsafe code;
//! - [`rows`] moves whole rows, as slices.
//!
//! Each step is monomorphised over what it needs to know and nothing else, and chosen outside its loop.

pub(crate) mod address;
pub(crate) mod combine;
pub(crate) mod lanes;
pub(crate) mod mask;
pub(crate) mod rows;
pub(crate) mod transfer;

/// Lanes that are resolved at a time: the offsets and positions of a block stay in the first-level cache.
pub(crate) const BLOCK: usize = 256;
