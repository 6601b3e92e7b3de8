//! A name for every value of a function: its own, as far as it can be written and nobody else has it.

use std::collections::HashSet;

use pto_ir::Function;

/// The names, without `%`, by the values' numbers.
pub(super) fn of(function: &Function) -> Vec<String> {
    let mut taken: HashSet<String> = HashSet::with_capacity(function.values.len());
    let mut names: Vec<Option<String>> = Vec::with_capacity(function.values.len());
    for value in &function.values {
        let name = writable(&value.name);
        names.push((!name.is_empty() && taken.insert(name.clone())).then_some(name));
    }
    let (mut number, mut suffix) = (0u64, 0u64);
    for (value, name) in function.values.iter().zip(&mut names) {
        // A name that another region uses too gets a number; a value without one is a number.
        let wanted = writable(&value.name);
        while name.is_none() {
            let next = if wanted.is_empty() {
                number += 1;
                (number - 1).to_string()
            } else {
                suffix += 1;
                format!("{wanted}_{suffix}")
            };
            *name = taken.insert(next.clone()).then_some(next);
        }
    }
    names.into_iter().flatten().collect()
}

/// The name with everything replaced that a text could not hold.
fn writable(name: &str) -> String {
    let kept: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-') { c } else { '_' })
        .collect();
    let digits = kept.bytes().all(|byte| byte.is_ascii_digit());
    // A name of digits only is a number; one that only begins with a digit is none.
    match kept.bytes().next() {
        Some(first) if !digits && (first.is_ascii_digit() || matches!(first, b'-' | b'.')) => format!("_{kept}"),
        _ => kept,
    }
}
