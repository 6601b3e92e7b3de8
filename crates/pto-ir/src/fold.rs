//! Integer arithmetic of programs, on constants.
//!
//! One definition for the checker, which folds what it knows, and for whoever runs a program. A value is kept as an
//! `i64`: signed types and `index` sign-extended, unsigned types zero-extended, booleans as 0 and 1. Overflow wraps
//! at the type's width; a division by zero has no value.

use pto_isa::ElementClass;

use crate::{Arithmetic, Extend, Predicate, Type};

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
    let class = if let Type::Scalar(element) = ty { Some(element.class()) } else { None };
    match (ty, class) {
        (Type::Boolean, _) | (_, Some(ElementClass::Unsigned)) => unsigned(ty, value) as i64,
        (_, Some(ElementClass::Float | ElementClass::Float8)) => value,
        _ => signed(ty, value),
    }
}

/// The bits of a value of a type.
fn bits(ty: &Type) -> u32 {
    match ty {
        Type::Boolean => 1,
        Type::Scalar(element) => 8 * element.size() as u32,
        _ => 64,
    }
}

/// The bits of a value as an unsigned number.
fn unsigned(ty: &Type, value: i64) -> u64 {
    let unused = 64 - bits(ty);
    (value as u64) << unused >> unused
}

/// The bits of a value as a signed number.
fn signed(ty: &Type, value: i64) -> i64 {
    let unused = 64 - bits(ty);
    value << unused >> unused
}

/// A value of one integer type as one of another.
///
/// ```
/// use pto_ir::{Extend, Type, fold};
/// use pto_isa::ElementType;
/// let byte = Type::Scalar(ElementType::I8);
/// assert_eq!(fold::cast(&byte, &Type::Index, Extend::Sign, -1), -1);
/// assert_eq!(fold::cast(&byte, &Type::Index, Extend::Zero, -1), 255);
/// assert_eq!(fold::cast(&Type::Boolean, &Type::Index, Extend::Sign, 1), -1);
/// assert_eq!(fold::cast(&Type::Index, &byte, Extend::Sign, 300), 44);
/// ```
pub fn cast(from: &Type, to: &Type, extend: Extend, value: i64) -> i64 {
    let wide = match (extend, from) {
        (Extend::Zero, _) => unsigned(from, value) as i64,
        (Extend::Sign, Type::Boolean) => -value,
        (Extend::Sign, _) => value,
    };
    wrap(to, wide)
}

/// The result of an arithmetic operation on values of a type; `None` for a division by zero and for a shift by the
/// type's width or more.
///
/// ```
/// use pto_ir::{Arithmetic, Type, fold};
/// assert_eq!(fold::arithmetic(Arithmetic::CeilDiv, &Type::Index, 7, 2), Some(4));
/// assert_eq!(fold::arithmetic(Arithmetic::Div, &Type::Index, 7, 0), None);
/// assert_eq!(fold::arithmetic(Arithmetic::Div, &Type::Index, i64::MIN, -1), Some(i64::MIN));
/// ```
pub fn arithmetic(op: Arithmetic, ty: &Type, lhs: i64, rhs: i64) -> Option<i64> {
    let (wide_lhs, wide_rhs) = (unsigned(ty, lhs), unsigned(ty, rhs));
    let by = || u32::try_from(wide_rhs).ok().filter(|by| *by < bits(ty));
    let value = match op {
        Arithmetic::Add => lhs.wrapping_add(rhs),
        Arithmetic::Sub => lhs.wrapping_sub(rhs),
        Arithmetic::Mul => lhs.wrapping_mul(rhs),
        Arithmetic::ShiftLeft => lhs << by()?,
        Arithmetic::ShiftRight => signed(ty, lhs) >> by()?,
        Arithmetic::ShiftRightUnsigned => (wide_lhs >> by()?) as i64,
        Arithmetic::MaxUnsigned => wide_lhs.max(wide_rhs) as i64,
        Arithmetic::MinUnsigned => wide_lhs.min(wide_rhs) as i64,
        Arithmetic::DivUnsigned => wide_lhs.checked_div(wide_rhs)? as i64,
        Arithmetic::RemUnsigned => wide_lhs.checked_rem(wide_rhs)? as i64,
        Arithmetic::CeilDivUnsigned if wide_rhs == 0 => return None,
        Arithmetic::CeilDivUnsigned => wide_lhs.div_ceil(wide_rhs) as i64,
        Arithmetic::Div | Arithmetic::Rem | Arithmetic::CeilDiv | Arithmetic::FloorDiv if rhs == 0 => return None,
        Arithmetic::Div => lhs.wrapping_div(rhs),
        Arithmetic::Rem => lhs.wrapping_rem(rhs),
        Arithmetic::CeilDiv => {
            let (quotient, rest) = (lhs.wrapping_div(rhs), lhs.wrapping_rem(rhs));
            // The quotient is rounded towards zero, so only a positive exact one was rounded down.
            if rest != 0 && (rest < 0) == (rhs < 0) { quotient.wrapping_add(1) } else { quotient }
        }
        Arithmetic::FloorDiv => {
            let (quotient, rest) = (lhs.wrapping_div(rhs), lhs.wrapping_rem(rhs));
            if rest != 0 && (rest < 0) != (rhs < 0) { quotient.wrapping_sub(1) } else { quotient }
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
    use pto_isa::ElementType;

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
            Arithmetic::FloorDiv,
            Arithmetic::DivUnsigned,
            Arithmetic::RemUnsigned,
            Arithmetic::CeilDivUnsigned,
            Arithmetic::MaxUnsigned,
            Arithmetic::MinUnsigned,
            Arithmetic::ShiftLeft,
            Arithmetic::ShiftRight,
            Arithmetic::ShiftRightUnsigned,
        ];
        for ty in [Type::Index, Type::Boolean, Type::Scalar(ElementType::I8), Type::Scalar(ElementType::U64)] {
            for (lhs, rhs) in corners.iter().flat_map(|a| corners.iter().map(|b| (wrap(&ty, *a), wrap(&ty, *b)))) {
                for op in ops {
                    if let Some(value) = arithmetic(op, &ty, lhs, rhs) {
                        assert_eq!(wrap(&ty, value), value, "{op:?} {ty} {lhs} {rhs}");
                    } else {
                        assert!(rhs == 0 || unsigned(&ty, rhs) >= u64::from(bits(&ty)), "{op:?} {ty} {lhs} {rhs}");
                    }
                }
            }
        }
        assert_eq!(trips(i64::MIN, i64::MAX, 1), Some(u64::MAX));
    }

    #[test]
    fn divisions_round_as_they_say_for_every_sign() {
        for (lhs, rhs) in (-9i64..=9).flat_map(|a| (-4i64..=4).filter(|b| *b != 0).map(move |b| (a, b))) {
            let (up, down) = ((lhs as f64 / rhs as f64).ceil() as i64, (lhs as f64 / rhs as f64).floor() as i64);
            assert_eq!(arithmetic(Arithmetic::CeilDiv, &Type::Index, lhs, rhs), Some(up), "{lhs} / {rhs}");
            assert_eq!(arithmetic(Arithmetic::FloorDiv, &Type::Index, lhs, rhs), Some(down), "{lhs} / {rhs}");
        }
    }

    #[test]
    fn unsigned_operations_see_the_bits_of_their_type() {
        let of = |element, op, lhs, rhs| arithmetic(op, &Type::Scalar(element), lhs, rhs);
        let byte = |op, lhs, rhs| of(ElementType::I8, op, lhs, rhs);
        // 0xf0 is -16, or 240.
        assert_eq!(byte(Arithmetic::DivUnsigned, -16, 16), Some(15));
        assert_eq!(byte(Arithmetic::RemUnsigned, -16, 100), Some(40));
        assert_eq!(byte(Arithmetic::CeilDivUnsigned, -16, 100), Some(3));
        assert_eq!(byte(Arithmetic::MaxUnsigned, -16, 1), Some(-16));
        assert_eq!(byte(Arithmetic::MinUnsigned, -16, 1), Some(1));
        assert_eq!(byte(Arithmetic::ShiftRight, -16, 2), Some(-4));
        assert_eq!(byte(Arithmetic::ShiftRightUnsigned, -16, 2), Some(60));
        assert_eq!(byte(Arithmetic::ShiftLeft, 65, 1), Some(-126));
        assert_eq!(byte(Arithmetic::ShiftLeft, 1, 8), None);
        // The sign of an unsigned type's bits, as MLIR's operations see it.
        assert_eq!(of(ElementType::U8, Arithmetic::ShiftRight, 240, 2), Some(252));
    }
}
