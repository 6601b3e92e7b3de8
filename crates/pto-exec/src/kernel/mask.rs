//! Mask TSCATTER: rows widened by 1, 2 or 4, one lane of each group taken from the source.

use pto_isa::MaskPattern;

/// Writes a row of `source` into `destination`, which is `factor` times as long, and zero between.
#[inline]
pub(crate) fn widen<const N: usize>(destination: &mut [[u8; N]], source: &[[u8; N]], pattern: MaskPattern) {
    match pattern.factor() {
        2 => widen_by::<N, 2>(destination, source, pattern.position() as usize),
        4 => widen_by::<N, 4>(destination, source, pattern.position() as usize),
        _ => destination.copy_from_slice(source),
    }
}

#[inline(always)]
fn widen_by<const N: usize, const F: usize>(destination: &mut [[u8; N]], source: &[[u8; N]], position: usize) {
    let groups = destination.as_chunks_mut::<F>().0;
    for (group, value) in groups.iter_mut().zip(source) {
        let mut lanes = [[0; N]; F];
        lanes[position] = *value;
        *group = lanes;
    }
}
