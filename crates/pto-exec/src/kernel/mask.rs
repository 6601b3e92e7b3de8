//! Mask TSCATTER: rows widened by 1, 2 or 4, one lane of each group taken from the source.

use pto_isa::MaskPattern;

use super::simd::{Simd, Task};

/// Widens `rows` rows of `cols` elements each, the lanes between zero.
pub(crate) struct Widen<'a> {
    pub(crate) to: &'a mut [u8],
    pub(crate) from: &'a [u8],
    /// Distance between rows of the destination and of the source, in elements.
    pub(crate) strides: (usize, usize),
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// Bytes of an element.
    pub(crate) size: usize,
    pub(crate) pattern: MaskPattern,
}

impl Task for Widen<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        if self.rows == 0 || self.cols == 0 {
            return;
        }
        // A group is one number, the element shifted to its place: that is how vector units widen. Groups beyond 16
        // bytes are moved as they are.
        match (self.size, self.pattern.factor()) {
            (_, 1) => self.copy(),
            (1, 2) => self.each(|v: [u8; 1], shift| (u16::from(v[0]) << shift).to_le_bytes()),
            (1, _) => self.each(|v: [u8; 1], shift| (u32::from(v[0]) << shift).to_le_bytes()),
            (2, 2) => self.each(|v, shift| (u32::from(u16::from_le_bytes(v)) << shift).to_le_bytes()),
            (2, _) => self.each(|v, shift| (u64::from(u16::from_le_bytes(v)) << shift).to_le_bytes()),
            (4, 2) => self.each(|v, shift| (u64::from(u32::from_le_bytes(v)) << shift).to_le_bytes()),
            (4, _) => self.each(|v, shift| (u128::from(u32::from_le_bytes(v)) << shift).to_le_bytes()),
            (_, 2) => self.each(|v, shift| (u128::from(u64::from_le_bytes(v)) << shift).to_le_bytes()),
            _ => self.each(|v: [u8; 8], shift| {
                let mut group = [0; 32];
                group[shift as usize / 8..][..8].copy_from_slice(&v);
                group
            }),
        }
    }
}

impl Widen<'_> {
    #[inline(always)]
    fn each<const N: usize, const G: usize>(self, widen: impl Fn([u8; N], u32) -> [u8; G]) {
        let Self { to, from, strides, rows, cols, pattern, .. } = self;
        let shift = 8 * N as u32 * pattern.position() as u32;
        for (to, from) in to.chunks_mut(strides.0 * N).zip(from.chunks(strides.1 * N)).take(rows) {
            let groups = &mut to.as_chunks_mut::<G>().0[..cols];
            for (group, value) in groups.iter_mut().zip(&from.as_chunks::<N>().0[..cols]) {
                *group = widen(*value, shift);
            }
        }
    }

    #[inline(always)]
    fn copy(self) {
        let bytes = self.cols * self.size;
        let (to, from) = (self.to.chunks_mut(self.strides.0 * self.size), self.from.chunks(self.strides.1 * self.size));
        for (to, from) in to.zip(from).take(self.rows) {
            to[..bytes].copy_from_slice(&from[..bytes]);
        }
    }
}
