//! "Did you mean": the candidate nearest to a misspelt name.

/// Longer names get no suggestion: the work is the product of the lengths, and nobody misspells such a name.
const LONGEST: usize = 64;

/// The candidate that is nearest to `name`, if one is near: at most a third of the letters inserted, dropped, changed
/// or swapped with their neighbour. Upper and lower case count as equal, so a wrong case always finds its name. `name`
/// itself is never suggested: whoever asks has refused it.
///
/// ```
/// use pto_text::suggest;
/// assert_eq!(suggest("mscater", ["mgather", "mscatter", "tscatter"]), Some("mscatter"));
/// assert_eq!(suggest("scatterOOB", ["scatterOob"]), Some("scatterOob"));
/// assert_eq!(suggest("entirely", ["different"]), None);
/// assert_eq!(suggest("i1", ["i1", "i8"]), Some("i8"));
/// ```
pub fn suggest<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let wanted = fold(name)?;
    let limit = (wanted.len() / 3).max(1);
    let near = |candidate: &'c str| {
        let folded = fold(candidate)?;
        if folded.len().abs_diff(wanted.len()) > limit {
            return None;
        }
        let distance = distance(&wanted, &folded);
        (distance <= limit).then_some((distance, candidate))
    };
    let others = candidates.into_iter().filter(|candidate| *candidate != name);
    others.filter_map(near).min_by_key(|&(distance, _)| distance).map(|(_, candidate)| candidate)
}

fn fold(name: &str) -> Option<Vec<u8>> {
    (!name.is_empty() && name.len() <= LONGEST).then(|| name.to_ascii_lowercase().into_bytes())
}

/// Optimal string alignment distance: edits, with a swap of neighbours as one.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut above: Vec<usize> = (0..=b.len()).collect();
    let mut row = above.clone();
    for i in 1..=a.len() {
        row[0] = i;
        for j in 1..=b.len() {
            let change = above[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = change.min(above[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        std::mem::swap(&mut before, &mut above);
        std::mem::swap(&mut above, &mut row);
    }
    above[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        for (a, b, expected) in
            [("", "abc", 3), ("abc", "abc", 0), ("abc", "acb", 1), ("kitten", "sitting", 3), ("ca", "abc", 3)]
        {
            assert_eq!(distance(a.as_bytes(), b.as_bytes()), expected, "{a} {b}");
        }
    }

    #[test]
    fn only_near_names_are_suggested() {
        assert_eq!(suggest("indx", ["index", "i32"]), Some("index"));
        assert_eq!(suggest("", ["a"]), None);
        assert_eq!(suggest(&"a".repeat(65), ["a"]), None);
        assert_eq!(suggest("rwo", ["row", "elem"]), Some("row"));
        assert_eq!(suggest("row", ["row", "elem"]), None);
    }
}
