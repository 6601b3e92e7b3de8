//! Integer arithmetic of programs, on constants.
//!
//! One definition for the checker, which folds what it knows, and for whoever runs a program. A value is kept as an
//! `i64`: signed types and `index` sign-extended, unsigned types zero-extended, booleans as 0 and 1. Overflow wraps
//! at the type's width; a division by zero has no value.

use pto_isa::{ElementClass, ElementType};

use crate::{Arithmetic, Predicate, Type};

/// A number as a value of a type holds it: cut to the type's width.
///
/// ```
/// use pto_ir::{Type, fold};
/// use pto_isa::ElementType;
/// assert_eq!(fold::wrap(&Type::Scalar(ElementType::I8), 255), -1);
/// assert_eq!(fold::wrap(&Type::Scalar(ElementType::U8), -1), 255);
/// assert_eq!(fold::wrap(&Type::Index, -1), -1);
/// ```
pub fn wrap(ty: &Type, value: i64) -> i64 {
    match ty {
        Type::Boolean => value & 1,
        Type::Scalar(element) => wrap_element(*element, value),
        _ => value,
    }
}

fn wrap_element(element: ElementType, value: i64) -> i64 {
    let unused = 64 - 8 * element.size() as u32;
    match element.class() {
        ElementClass::Unsigned => ((value as u64) << unused >> unused) as i64,
        ElementClass::Signed => value << unused >> unused,
        ElementClass::Float | ElementClass::Float8 => value,
    }
}

/// The result of an arithmetic operation on values of a type; `None` for a division by zero.
///
/// ```
/// use pto_ir::{Arithmetic, Type, fold};
/// assert_eq!(fold::arithmetic(Arithmetic::CeilDiv, &Type::Index, 7, 2), Some(4));
/// assert_eq!(fold::arithmetic(Arithmetic::Div, &Type::Index, 7, 0), None);
/// assert_eq!(fold::arithmetic(Arithmetic::Div, &Type::Index, i64::MIN, -1), Some(i64::MIN));
/// ```
pub fn arithmetic(op: Arithmetic, ty: &Type, lhs: i64, rhs: i64) -> Option<i64> {
    let value = match op {
        Arithmetic::Add => lhs.wrapping_add(rhs),
        Arithmetic::Sub => lhs.wrapping_sub(rhs),
        Arithmetic::Mul => lhs.wrapping_mul(rhs),
        Arithmetic::Div | Arithmetic::Rem | Arithmetic::CeilDiv if rhs == 0 => return None,
        Arithmetic::Div => lhs.wrapping_div(rhs),
        Arithmetic::Rem => lhs.wrapping_rem(rhs),
        Arithmetic::CeilDiv => {
            let (quotient, rest) = (lhs.wrapping_div(rhs), lhs.wrapping_rem(rhs));
            // The quotient is rounded towards zero, so only a positive exact one was rounded down.
            if rest != 0 && (rest < 0) == (rhs < 0) { quotient.wrapping_add(1) } else { quotient }
        }
        Arithmetic::Max => lhs.max(rhs),
        Arithmetic::Min => lhs.min(rhs),
        Arithmetic::And => lhs & rhs,
        Arithmetic::Or => lhs | rhs,
        Arithmetic::Xor => lhs ^ rhs,
    };
    Some(wrap(ty, value))
}

/// The result of a comparison of two values of one type.
///
/// ```
/// use pto_ir::{Predicate, fold};
/// assert!(fold::compare(Predicate::Slt, -1, 0));
/// assert!(fold::compare(Predicate::Ugt, -1, 0));
/// ```
pub fn compare(predicate: Predicate, lhs: i64, rhs: i64) -> bool {
    // Extension keeps the unsigned order of the narrower type, whichever way it was extended.
    let (unsigned_lhs, unsigned_rhs) = (lhs as u64, rhs as u64);
    match predicate {
        Predicate::Eq => lhs == rhs,
        Predicate::Ne => lhs != rhs,
        Predicate::Slt => lhs < rhs,
        Predicate::Sle => lhs <= rhs,
        Predicate::Sgt => lhs > rhs,
        Predicate::Sge => lhs >= rhs,
        Predicate::Ult => unsigned_lhs < unsigned_rhs,
        Predicate::Ule => unsigned_lhs <= unsigned_rhs,
        Predicate::Ugt => unsigned_lhs > unsigned_rhs,
        Predicate::Uge => unsigned_lhs >= unsigned_rhs,
    }
}

/// How often a loop runs; `None` if its step is not positive.
///
/// ```
/// use pto_ir::fold::trips;
/// assert_eq!(trips(0, 10, 4), Some(3));
/// assert_eq!(trips(5, 5, 1), Some(0));
/// assert_eq!(trips(0, 10, 0), None);
/// ```
pub fn trips(lower: i64, upper: i64, step: i64) -> Option<u64> {
    if step <= 0 {
        return None;
    }
    let distance = i128::from(upper) - i128::from(lower);
    let trips = (distance.max(0) + i128::from(step) - 1) / i128::from(step);
    u64::try_from(trips).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_panics_and_everything_stays_in_its_width() {
        let corners = [i64::MIN, i64::MIN + 1, -128, -1, 0, 1, 2, 127, 128, 255, 256, i64::MAX];
        let ops = [
            Arithmetic::Add,
            Arithmetic::Sub,
            Arithmetic::Mul,
            Arithmetic::Div,
            Arithmetic::Rem,
            Arithmetic::Max,
            Arithmetic::Min,
            Arithmetic::And,
            Arithmetic::Or,
            Arithmetic::Xor,
            Arithmetic::CeilDiv,
        ];
        for ty in [Type::Index, Type::Boolean, Type::Scalar(ElementType::I8), Type::Scalar(ElementType::U64)] {
            for (lhs, rhs) in corners.iter().flat_map(|a| corners.iter().map(|b| (wrap(&ty, *a), wrap(&ty, *b)))) {
                for op in ops {
                    if let Some(value) = arithmetic(op, &ty, lhs, rhs) {
                        assert_eq!(wrap(&ty, value), value, "{op:?} {ty} {lhs} {rhs}");
                    } else {
                        assert_eq!(rhs, 0);
                    }
                }
            }
        }
        assert_eq!(trips(i64::MIN, i64::MAX, 1), Some(u64::MAX));
    }

    #[test]
    fn ceiling_division_rounds_up_for_every_sign() {
        for (lhs, rhs) in (-9i64..=9).flat_map(|a| (-4i64..=4).filter(|b| *b != 0).map(move |b| (a, b))) {
            let expected = (lhs as f64 / rhs as f64).ceil() as i64;
            assert_eq!(arithmetic(Arithmetic::CeilDiv, &Type::Index, lhs, rhs), Some(expected), "{lhs} / {rhs}");
        }
    }
}
