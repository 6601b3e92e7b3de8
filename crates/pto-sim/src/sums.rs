//! The sums that different orders of addition give.
//!
//! Up to [`EXACT`] values all of them are found, subset by subset: what a set of values can add up to follows from what
//! the set without any one of them can. Beyond that there are too many subsets, and a number of orders is tried: the
//! given one, ascending, descending, and shuffles that are the same on every run.

use pto_isa::ElementType;

/// Values whose sums are all found.
const EXACT: usize = 8;
/// Orders that are tried of more values, and additions at most.
const ORDERS: (usize, usize) = (1024, 1 << 22);

/// The sums of `old` and all `values`, each addition rounded to the element type, and whether these are all.
pub(crate) fn sums(element: ElementType, old: f64, values: &[f64]) -> (Vec<f64>, bool) {
    let add = |sum: f64, value: &f64| rounded(element, sum + value);
    if values.len() <= EXACT { (all(old, values, add), true) } else { (some(old, values, add), false) }
}

fn rounded(element: ElementType, x: f64) -> f64 {
    match element {
        ElementType::F16 => half::f16::from_f32(x as f32).to_f64(),
        ElementType::BF16 => half::bf16::from_f32(x as f32).to_f64(),
        ElementType::F32 => f64::from(x as f32),
        _ => x,
    }
}

fn all(old: f64, values: &[f64], add: impl Fn(f64, &f64) -> f64) -> Vec<f64> {
    let mut of_set: Vec<Vec<f64>> = vec![vec![old]];
    for set in 1usize..1 << values.len() {
        let mut found = Vec::new();
        for (at, value) in values.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0) {
            found.extend(of_set[set & !(1 << at)].iter().map(|sum| add(*sum, value)));
        }
        sort(&mut found);
        of_set.push(found);
    }
    of_set.pop().unwrap_or_default()
}

fn some(old: f64, values: &[f64], add: impl Fn(f64, &f64) -> f64) -> Vec<f64> {
    let mut order = values.to_vec();
    let mut found = vec![order.iter().fold(old, &add)];
    order.sort_by(f64::total_cmp);
    found.push(order.iter().fold(old, &add));
    found.push(order.iter().rev().fold(old, &add));
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..ORDERS.0.min(ORDERS.1 / values.len()) {
        for last in (1..order.len()).rev() {
            // xorshift64: good enough to shuffle, and the same everywhere.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            order.swap(last, (state % (last as u64 + 1)) as usize);
        }
        found.push(order.iter().fold(old, &add));
    }
    sort(&mut found);
    found
}

/// Smallest first, each once; which NaN one is counts for nothing.
pub(crate) fn sort(values: &mut Vec<f64>) {
    values.iter_mut().filter(|value| value.is_nan()).for_each(|value| *value = f64::NAN);
    values.sort_by(f64::total_cmp);
    values.dedup_by(|a, b| a.to_bits() == b.to_bits());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_give_all_sums() {
        // 2^24 and ones: a one alone is lost, two together are not.
        let big = f64::from(1 << 24);
        assert_eq!(sums(ElementType::F32, 0.0, &[big, 1.0, 1.0]), (vec![big, big + 2.0], true));
        assert_eq!(sums(ElementType::F32, 0.0, &[1.0, 2.0, 3.0]), (vec![6.0], true));
        assert_eq!(sums(ElementType::F16, 2048.0, &[1.0, 1.0]), (vec![2048.0], true));
        // Of four values there are 24 orders, and the rarest counts.
        let values = [1e8, 1.0, -1e8, 0.5];
        let (found, _) = sums(ElementType::F32, 0.0, &values);
        assert_eq!(found, [0.0, 0.5, 1.0, 1.5]);
    }

    #[test]
    fn many_values_give_some_sums_the_same_every_time() {
        let values: Vec<f64> = (0..40).map(|k| f64::from(1.0f32 / (k as f32 + 3.0))).collect();
        let (found, complete) = sums(ElementType::F32, 0.0, &values);
        assert!(found.len() > 2 && !complete, "{found:?}");
        assert_eq!(sums(ElementType::F32, 0.0, &values).0, found);
    }
}
