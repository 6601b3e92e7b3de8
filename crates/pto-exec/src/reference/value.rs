//! Element values: reading an index lane, and combining a value with what the table holds.

use half::{bf16, f16};
use pto_isa::{Atomic, ElementType};

/// An index lane as the target reads it: signed types as plain integers, or every type as its unsigned bits.
pub(super) fn read_lane(bytes: &[u8], element: ElementType, signed: bool) -> i128 {
    let mut padded = [0; 8];
    padded[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(padded);
    match element {
        ElementType::I16 if signed => i128::from(bits as i16),
        ElementType::I32 if signed => i128::from(bits as i32),
        ElementType::I64 if signed => i128::from(bits as i64),
        _ => i128::from(bits),
    }
}

/// `old` combined with `new`; the first bytes of the result are the element.
pub(super) fn combine(element: ElementType, atomic: Atomic, old: &[u8], new: &[u8]) -> [u8; 8] {
    let mut result = [0; 8];
    if atomic == Atomic::None {
        result[..new.len()].copy_from_slice(new);
        return result;
    }
    macro_rules! integer {
        ($type:ty) => {{
            let (a, b) = (<$type>::from_le_bytes(array(old)), <$type>::from_le_bytes(array(new)));
            let value = match atomic {
                Atomic::Max => a.max(b),
                Atomic::Min => a.min(b),
                _ => a.wrapping_add(b),
            };
            result[..old.len()].copy_from_slice(&value.to_le_bytes());
        }};
    }
    macro_rules! float {
        ($type:ty, $add:expr) => {{
            let (a, b) = (<$type>::from_le_bytes(array(old)), <$type>::from_le_bytes(array(new)));
            let value = match atomic {
                // A NaN loses against a number, and -0.0 < +0.0.
                Atomic::Max | Atomic::Min if a.is_nan() => b,
                Atomic::Max | Atomic::Min if b.is_nan() => a,
                Atomic::Max => {
                    if a.total_cmp(&b).is_gt() {
                        a
                    } else {
                        b
                    }
                }
                Atomic::Min => {
                    if a.total_cmp(&b).is_lt() {
                        a
                    } else {
                        b
                    }
                }
                _ => $add(a, b),
            };
            result[..old.len()].copy_from_slice(&value.to_le_bytes());
        }};
    }
    match element {
        ElementType::I8 => integer!(i8),
        ElementType::U8 => integer!(u8),
        ElementType::I16 => integer!(i16),
        ElementType::U16 => integer!(u16),
        ElementType::I32 => integer!(i32),
        ElementType::U32 => integer!(u32),
        ElementType::I64 => integer!(i64),
        ElementType::U64 => integer!(u64),
        // One rounding to f32 and one to 16 bits equal a single rounding: f32 has more than twice the digits.
        ElementType::F16 => float!(f16, |a: f16, b: f16| f16::from_f32(a.to_f32() + b.to_f32())),
        ElementType::BF16 => float!(bf16, |a: bf16, b: bf16| bf16::from_f32(a.to_f32() + b.to_f32())),
        ElementType::F32 => float!(f32, |a, b| a + b),
        ElementType::F64 => float!(f64, |a, b| a + b),
        // No target has atomics on 8-bit floats; the legality check has refused them.
        ElementType::F8E4M3 | ElementType::F8E5M2 | ElementType::HiF8 => result[..new.len()].copy_from_slice(new),
    }
    result
}

fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(bytes);
    array
}
