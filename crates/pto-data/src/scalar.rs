//! Numbers on the command line, and scalars of an element type.

use std::fmt;

use pto_isa::{ElementType, F8E4M3, F8E5M2, HiF8, bf16, f16};

use crate::{
    encode::{FloatEncoder, integer_range},
    error::ValueError,
};

/// A number as written: whole, or not.
///
/// ```
/// use pto_data::Number;
/// assert_eq!(Number::parse("-12"), Some(Number::Integer(-12)));
/// assert_eq!(Number::parse("0x1F"), Some(Number::Integer(31)));
/// assert_eq!(Number::parse("1e-3"), Some(Number::Float(0.001)));
/// assert_eq!(Number::parse("twelve"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Digits only, decimal or with `0x`.
    Integer(i128),
    /// With a point or an exponent, or `inf` or `nan`.
    Float(f64),
}

impl Number {
    /// Reads a number.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        // One sign is enough; the parsers below would take a second one.
        if digits.starts_with(['-', '+']) {
            return None;
        }
        let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
        let integer = match hex {
            Some(hex) if !hex.starts_with(['-', '+']) => i128::from_str_radix(hex, 16).ok(),
            Some(_) => None,
            None => digits.parse().ok(),
        };
        let sign = |value: i128| if negative { -value } else { value };
        integer.map(|value| Self::Integer(sign(value))).or_else(|| text.parse().ok().map(Self::Float))
    }

    /// The number as a scalar of an element type: integers must be whole and in range, floats are rounded to nearest.
    ///
    /// ```
    /// use pto_data::Number;
    /// use pto_isa::ElementType;
    /// assert_eq!(Number::Integer(-1).to_scalar(ElementType::I8)?.bytes(), [0xff]);
    /// assert!(Number::Integer(256).to_scalar(ElementType::U8).is_err());
    /// assert!(Number::Float(0.5).to_scalar(ElementType::I32).is_err());
    /// # Ok::<(), pto_data::ValueError>(())
    /// ```
    pub fn to_scalar(self, element: ElementType) -> Result<Scalar, ValueError> {
        let bits = match (integer_range(element), self) {
            (Some((min, max)), Self::Integer(value)) if (min..=max).contains(&value) => value as u64,
            (Some((min, max)), _) => {
                return Err(ValueError::NumberOutOfRange { element, found: self.to_string(), min, max });
            }
            (None, Self::Integer(value)) => FloatEncoder::new(element).bits(value as f64),
            (None, Self::Float(value)) => FloatEncoder::new(element).bits(value),
        };
        let kept = u64::MAX >> (64 - 8 * element.size());
        Ok(Scalar { element, bits: bits & kept })
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:?}"),
        }
    }
}

/// One value of an element type.
///
/// ```
/// use pto_data::Number;
/// use pto_isa::ElementType;
/// let scalar = Number::Float(1.5).to_scalar(ElementType::F16)?;
/// assert_eq!((scalar.bits(), scalar.float(), scalar.integer()), (0x3e00, Some(1.5), None));
/// # Ok::<(), pto_data::ValueError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    element: ElementType,
    bits: u64,
}

impl Scalar {
    /// The scalar's type.
    pub const fn element(self) -> ElementType {
        self.element
    }

    /// Its bits, zero above the type's width.
    pub const fn bits(self) -> u64 {
        self.bits
    }

    /// Its bytes, little-endian, as many as the type has.
    pub fn bytes(self) -> Vec<u8> {
        self.bits.to_le_bytes()[..self.element.size() as usize].to_vec()
    }

    /// The value, if the type is an integer.
    pub fn integer(self) -> Option<i128> {
        let (min, max) = integer_range(self.element)?;
        let value = i128::from(self.bits);
        // Signed types: the upper half of the bit patterns is negative.
        Some(if value > max { value + 2 * min } else { value })
    }

    /// The value, if the type is a float.
    pub fn float(self) -> Option<f64> {
        let bits = self.bits;
        Some(match self.element {
            ElementType::F64 => f64::from_bits(bits),
            ElementType::F32 => f64::from(f32::from_bits(bits as u32)),
            ElementType::F16 => f16::from_bits(bits as u16).to_f64(),
            ElementType::BF16 => bf16::from_bits(bits as u16).to_f64(),
            ElementType::F8E4M3 => f64::from(F8E4M3::from_bits(bits as u8).to_f32()),
            ElementType::F8E5M2 => f64::from(F8E5M2::from_bits(bits as u8).to_f32()),
            ElementType::HiF8 => f64::from(HiF8::from_bits(bits as u8).to_f32()),
            _ => return None,
        })
    }
}
