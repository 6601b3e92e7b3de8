//! Numbers to the bits of an element type: for `iota:` and for scalars, nothing else is ever converted.

use half::{bf16, f16};
use pto_isa::{ElementClass, ElementType, F8E4M3, F8E5M2, HiF8};

/// Rounds `f64` values to a float type.
pub(crate) struct FloatEncoder {
    element: ElementType,
    /// For an 8-bit float: its values from zero up with their codes, the last one standing for everything beyond.
    table: Vec<(f64, u8)>,
}

impl FloatEncoder {
    pub(crate) fn new(element: ElementType) -> Self {
        let finite = |decode: fn(u8) -> f32| {
            let mut table: Vec<_> = (0..0x80u8).map(|code| (f64::from(decode(code)), code)).collect();
            table.retain(|(value, _)| value.is_finite());
            // HiFloat8's codes are not in the order of their values.
            table.sort_by(|a, b| a.0.total_cmp(&b.0));
            table
        };
        // Overflow begins half way to the value that the next code would have if it were a number.
        let table = match element {
            ElementType::F8E4M3 => [finite(|c| F8E4M3::from_bits(c).to_f32()), vec![(480.0, 0x7f)]].concat(),
            ElementType::F8E5M2 => [finite(|c| F8E5M2::from_bits(c).to_f32()), vec![(65536.0, 0x7c)]].concat(),
            ElementType::HiF8 => [finite(|c| HiF8::from_bits(c).to_f32()), vec![(49152.0, 0x6f)]].concat(),
            _ => Vec::new(),
        };
        Self { element, table }
    }

    /// The bits of the nearest value; ties to even, for HiFloat8 away from zero as its reference does.
    ///
    /// For an integer type the value is converted as `as` does.
    pub(crate) fn bits(&self, value: f64) -> u64 {
        match self.element {
            ElementType::F64 => value.to_bits(),
            ElementType::F32 => u64::from((value as f32).to_bits()),
            ElementType::F16 => u64::from(f16::from_f32(to_odd_f32(value)).to_bits()),
            ElementType::BF16 => u64::from(bf16::from_f32(to_odd_f32(value)).to_bits()),
            element if element.class() == ElementClass::Float8 => u64::from(self.float8(value)),
            _ => value as i128 as u64,
        }
    }

    fn float8(&self, value: f64) -> u8 {
        let hif8 = self.element == ElementType::HiF8;
        if value.is_nan() {
            return match self.element {
                ElementType::F8E4M3 => 0x7f,
                ElementType::F8E5M2 => 0x7e,
                _ => 0x80,
            };
        }
        let magnitude = value.abs();
        let above = self.table.partition_point(|(v, _)| *v < magnitude);
        let code = match (above.checked_sub(1).and_then(|i| self.table.get(i)), self.table.get(above)) {
            (Some(&(low, down)), Some(&(high, up))) => {
                let (below, beyond) = (magnitude - low, high - magnitude);
                let tie_up = hif8 || up & 1 == 0;
                if beyond < below || beyond == below && tie_up { up } else { down }
            }
            (Some(&(_, code)), None) | (None, Some(&(_, code))) => code,
            (None, None) => 0,
        };
        // HiFloat8 has no negative zero: its code is NaN.
        if value.is_sign_negative() && !(hif8 && code == 0) { code | 0x80 } else { code }
    }
}

/// Rounds to odd: towards zero, the last bit set if anything was lost. Rounding the result once more, to fewer bits, is
/// then the same as rounding the value itself. (`half` drops the low bits of an `f64` and so gets near-ties wrong.)
fn to_odd_f32(value: f64) -> f32 {
    let near = value as f32;
    if near.is_nan() || f64::from(near) == value {
        return near;
    }
    let towards_zero = near.to_bits() - u32::from(f64::from(near).abs() > value.abs());
    f32::from_bits(towards_zero | 1)
}

/// The smallest and largest value of an integer type.
pub(crate) const fn integer_range(element: ElementType) -> Option<(i128, i128)> {
    let bits = element.size() as u32 * 8;
    match element.class() {
        ElementClass::Signed => Some((-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)),
        ElementClass::Unsigned => Some((0, (1i128 << bits) - 1)),
        ElementClass::Float | ElementClass::Float8 => None,
    }
}

/// Significant bits of a float type: all multiples of `2^-precision` below one are values of it.
pub(crate) const fn precision(element: ElementType) -> u32 {
    match element {
        ElementType::F64 => 53,
        ElementType::F32 => 24,
        ElementType::F16 => 11,
        ElementType::BF16 => 8,
        ElementType::F8E5M2 => 3,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f64_is_rounded_once() {
        let f16 = |value| FloatEncoder::new(ElementType::F16).bits(value);
        let bf16 = |value| FloatEncoder::new(ElementType::BF16).bits(value);
        // Half way between two f16, and beyond it by less than f32 can tell.
        let tie = 1.0 + 2f64.powi(-11);
        assert_eq!((f16(tie), f16(tie + 2f64.powi(-50)), f16(tie - 2f64.powi(-50))), (0x3c00, 0x3c01, 0x3c00));
        let tie = 1.0 + 2f64.powi(-8);
        assert_eq!((bf16(tie), bf16(tie + 2f64.powi(-50)), bf16(-tie)), (0x3f80, 0x3f81, 0xbf80));
        assert_eq!((f16(1e300), bf16(-1e300), f16(1e-300), bf16(-1e-300)), (0x7c00, 0xff80, 0, 0x8000));
    }

    #[test]
    fn float8_corners() {
        let bits = |element, value| FloatEncoder::new(element).bits(value);
        let [e4m3, e5m2, hif8] = [ElementType::F8E4M3, ElementType::F8E5M2, ElementType::HiF8];
        assert_eq!([e4m3, e5m2, hif8].map(|e| bits(e, f64::NAN)), [0x7f, 0x7e, 0x80]);
        assert_eq!([e4m3, e5m2, hif8].map(|e| bits(e, f64::NEG_INFINITY)), [0xff, 0xfc, 0xef]);
        assert_eq!([e4m3, e5m2, hif8].map(|e| bits(e, -0.0)), [0x80, 0x80, 0]);
        assert_eq!((bits(e4m3, 464.0), bits(e4m3, 464.1)), (0x7e, 0x7f));
    }
}
