//! Byte ranges, as pairs of the first byte and the one behind the last.

/// Sorts ranges and joins those that meet.
pub(crate) fn order(ranges: &mut Vec<(u64, u64)>) {
    ranges.sort_unstable();
    ranges.dedup_by(|next, first| {
        let joined = next.0 <= first.1;
        if joined {
            first.1 = first.1.max(next.1);
        }
        joined
    });
}
