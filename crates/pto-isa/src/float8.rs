//! The three 8-bit float formats. PTO moves them as bits and never computes on them, so all that is needed is a type
//! for each and its value for printing and tests; `tests/float8.rs` holds every code against published decoders.

use core::fmt;

use bytemuck::{Pod, Zeroable};

macro_rules! float8 {
    ($(#[$doc:meta])* $name:ident, $decode:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// The value with these bits.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// The bits of the value.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// The value as `f32`, which holds every value of this format exactly.
            pub fn to_f32(self) -> f32 {
                $decode(self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}(0x{:02x} = {})", stringify!($name), self.0, self.to_f32())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    };
}

float8! {
    /// 8-bit float with 4 exponent bits (bias 7) and 3 mantissa bits; no infinities, NaN is `S.1111.111`.
    ///
    /// ```
    /// use pto_isa::F8E4M3;
    /// assert_eq!(F8E4M3::from_bits(0x7e).to_f32(), 448.0);
    /// assert!(F8E4M3::from_bits(0x7f).to_f32().is_nan());
    /// ```
    F8E4M3, decode_e4m3
}

float8! {
    /// 8-bit float with 5 exponent bits (bias 15) and 2 mantissa bits, IEEE infinities and NaNs.
    ///
    /// ```
    /// use pto_isa::F8E5M2;
    /// assert_eq!(F8E5M2::from_bits(0x7b).to_f32(), 57344.0);
    /// assert_eq!(F8E5M2::from_bits(0xfc).to_f32(), f32::NEG_INFINITY);
    /// ```
    F8E5M2, decode_e5m2
}

float8! {
    /// HiFloat8: a prefix code ("dot") says how many exponent bits follow, so precision tapers away from 1.
    ///
    /// ```
    /// use pto_isa::HiF8;
    /// assert_eq!(HiF8::from_bits(0x08).to_f32(), 1.0);
    /// assert_eq!(HiF8::from_bits(0x6f).to_f32(), f32::INFINITY);
    /// assert!(HiF8::from_bits(0x80).to_f32().is_nan());
    /// ```
    HiF8, decode_hif8
}

fn signed(bits: u8, magnitude: f32) -> f32 {
    if bits & 0x80 == 0 { magnitude } else { -magnitude }
}

fn decode_e4m3(bits: u8) -> f32 {
    let (exponent, mantissa) = (i32::from(bits >> 3 & 15), f32::from(bits & 7));
    signed(
        bits,
        match (exponent, bits & 7) {
            (15, 7) => f32::NAN,
            (0, _) => mantissa * 2f32.powi(-9),
            _ => (1.0 + mantissa / 8.0) * 2f32.powi(exponent - 7),
        },
    )
}

fn decode_e5m2(bits: u8) -> f32 {
    // e5m2 is the upper half of a binary16.
    half::f16::from_bits(u16::from(bits) << 8).to_f32()
}

fn decode_hif8(bits: u8) -> f32 {
    match bits & 0x7f {
        0 => return if bits == 0 { 0.0 } else { f32::NAN },
        0x6f => return signed(bits, f32::INFINITY),
        _ => {}
    }
    let code = bits & 0x7f;
    // (exponent bits, mantissa bits) behind each dot; the exponent is sign and magnitude with a hidden leading one.
    let (exponent_bits, mantissa_bits) = match code {
        0x60.. => (4, 1),
        0x40.. => (3, 2),
        0x20.. => (2, 3),
        0x10.. => (1, 3),
        0x08.. => (0, 3),
        // Denormals: no exponent field, the three low bits are an exponent of their own.
        _ => return signed(bits, 2f32.powi(i32::from(code) - 23)),
    };
    let mantissa = f32::from(code & ((1 << mantissa_bits) - 1)) / f32::from(1u8 << mantissa_bits);
    let field = code >> mantissa_bits & ((1u8 << exponent_bits) - 1);
    let exponent = if exponent_bits == 0 {
        0
    } else {
        let hidden = 1i32 << (exponent_bits - 1);
        let magnitude = hidden | (i32::from(field) & (hidden - 1));
        if i32::from(field) & hidden == 0 { magnitude } else { -magnitude }
    };
    signed(bits, (1.0 + mantissa) * 2f32.powi(exponent))
}
