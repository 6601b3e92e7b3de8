//! Moving whole rows: each as a few contiguous pieces of tile and table.

use super::combine::Combine;

/// A piece of a row that is contiguous in both the tile and the table, in elements from the row's start in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) tile: usize,
    pub(crate) table: usize,
    pub(crate) length: usize,
}

/// Combines a row of the tile into a row of the table.
#[inline]
pub(crate) fn scatter<const N: usize, C: Combine<N>>(table: &mut [[u8; N]], tile: &[[u8; N]], segments: &[Segment]) {
    for segment in segments {
        let slots = &mut table[segment.table..][..segment.length];
        let values = &tile[segment.tile..][..segment.length];
        for (slot, value) in slots.iter_mut().zip(values) {
            *slot = C::combine(*slot, *value);
        }
    }
}

/// Copies a row of the table into a row of the tile.
#[inline]
pub(crate) fn gather<const N: usize>(tile: &mut [[u8; N]], table: &[[u8; N]], segments: &[Segment]) {
    for segment in segments {
        tile[segment.tile..][..segment.length].copy_from_slice(&table[segment.table..][..segment.length]);
    }
}

/// Zeroes a row of the tile.
#[inline]
pub(crate) fn clear<const N: usize>(tile: &mut [[u8; N]], segments: &[Segment]) {
    for segment in segments {
        tile[segment.tile..][..segment.length].fill([0; N]);
    }
}
