//! Element types: what a tile or tensor is made of, and the Rust types that stand for them.

use core::fmt;

use half::{bf16, f16};

use crate::float8::{F8E4M3, F8E5M2, HiF8};

/// The type of one element of a tile or tensor.
///
/// ```
/// use pto_isa::ElementType;
/// assert_eq!(ElementType::BF16.size(), 2);
/// assert_eq!(ElementType::from_name("f8e4m3"), Some(ElementType::F8E4M3));
/// assert_eq!(ElementType::from_name("f7"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum ElementType {
    /// 8-bit signed integer.
    I8,
    /// 8-bit unsigned integer.
    U8,
    /// 16-bit signed integer.
    I16,
    /// 16-bit unsigned integer.
    U16,
    /// 32-bit signed integer.
    I32,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit signed integer (`host` only).
    I64,
    /// 64-bit unsigned integer (`host` only).
    U64,
    /// IEEE binary16, `half` in the C++ intrinsics.
    F16,
    /// bfloat16.
    BF16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64 (`host` only).
    F64,
    /// 8-bit float, 4 exponent and 3 mantissa bits, no infinities.
    F8E4M3,
    /// 8-bit float, 5 exponent and 2 mantissa bits.
    F8E5M2,
    /// Ascend's HiFloat8 with tapered precision.
    HiF8,
}

/// What arithmetic an element type has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementClass {
    /// Two's complement integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// f16, bf16, f32, f64.
    Float,
    /// 8-bit floats: moved as bits, never computed on.
    Float8,
}

impl ElementType {
    /// All element types, in declaration order.
    pub const ALL: [Self; 15] = [
        Self::I8,
        Self::U8,
        Self::I16,
        Self::U16,
        Self::I32,
        Self::U32,
        Self::I64,
        Self::U64,
        Self::F16,
        Self::BF16,
        Self::F32,
        Self::F64,
        Self::F8E4M3,
        Self::F8E5M2,
        Self::HiF8,
    ];

    /// Size of one element in bytes.
    pub const fn size(self) -> u64 {
        match self {
            Self::I8 | Self::U8 | Self::F8E4M3 | Self::F8E5M2 | Self::HiF8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// The name used in corpora, reports and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::I8 => "i8",
            Self::U8 => "u8",
            Self::I16 => "i16",
            Self::U16 => "u16",
            Self::I32 => "i32",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U64 => "u64",
            Self::F16 => "f16",
            Self::BF16 => "bf16",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F8E4M3 => "f8e4m3",
            Self::F8E5M2 => "f8e5m2",
            Self::HiF8 => "hif8",
        }
    }

    /// The type with this [name](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Integer, float or 8-bit float.
    pub const fn class(self) -> ElementClass {
        match self {
            Self::I8 | Self::I16 | Self::I32 | Self::I64 => ElementClass::Signed,
            Self::U8 | Self::U16 | Self::U32 | Self::U64 => ElementClass::Unsigned,
            Self::F16 | Self::BF16 | Self::F32 | Self::F64 => ElementClass::Float,
            Self::F8E4M3 | Self::F8E5M2 | Self::HiF8 => ElementClass::Float8,
        }
    }

    /// `==` that can be used in constant expressions.
    pub const fn is(self, other: Self) -> bool {
        self as u8 == other as u8
    }

    /// True for the integer types.
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), ElementClass::Signed | ElementClass::Unsigned)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A set of element types, as the per-target tables list them.
///
/// ```
/// use pto_isa::{ElementSet, ElementType::*};
/// const SET: ElementSet = ElementSet::of(&[I32, F32]);
/// assert!(SET.contains(F32) && !SET.contains(F16));
/// assert_eq!(SET.to_string(), "i32, f32");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementSet(u32);

impl ElementSet {
    /// The set without members.
    pub const EMPTY: Self = Self(0);

    /// The set of the listed types.
    pub const fn of(types: &[ElementType]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < types.len() {
            bits |= 1 << types[i] as u8;
            i += 1;
        }
        Self(bits)
    }

    /// Every type of both sets.
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if the type is in the set.
    pub const fn contains(self, element: ElementType) -> bool {
        self.0 >> element as u8 & 1 == 1
    }

    /// True if the set has no member.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The members, in declaration order.
    pub fn iter(self) -> impl Iterator<Item = ElementType> {
        ElementType::ALL.into_iter().filter(move |t| self.contains(*t))
    }
}

impl fmt::Display for ElementSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, element) in self.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            f.write_str(element.name())?;
        }
        Ok(())
    }
}

/// A Rust type that stands for an [`ElementType`]: plain data of the same size, any bit pattern valid.
///
/// ```
/// use pto_isa::{Element, ElementType};
/// assert_eq!(<half::bf16 as Element>::TYPE, ElementType::BF16);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a PTO element type",
    label = "not an element type",
    note = "element types are i8 u8 i16 u16 i32 u32 i64 u64, half::f16, half::bf16, f32 f64, F8E4M3, F8E5M2 and HiF8"
)]
pub trait Element: bytemuck::Pod + fmt::Debug + PartialEq + Send + Sync {
    /// The element type that this Rust type stands for.
    const TYPE: ElementType;
}

macro_rules! elements {
    ($($rust:ty => $element:ident),* $(,)?) => {
        $(impl Element for $rust {
            const TYPE: ElementType = ElementType::$element;
        })*
    };
}

elements! {
    i8 => I8, u8 => U8, i16 => I16, u16 => U16, i32 => I32, u32 => U32, i64 => I64, u64 => U64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64,
    F8E4M3 => F8E4M3, F8E5M2 => F8E5M2, HiF8 => HiF8,
}

/// Runs a body with the name `$ty` bound to the Rust type that stands for an [`ElementType`].
///
/// ```
/// use pto_isa::{ElementType, with_element_type};
/// let size = with_element_type!(ElementType::F16, T => size_of::<T>());
/// assert_eq!(size, 2);
/// ```
#[macro_export]
macro_rules! with_element_type {
    ($element:expr, $ty:ident => $body:expr) => {
        match $element {
            $crate::ElementType::I8 => {
                type $ty = i8;
                $body
            }
            $crate::ElementType::U8 => {
                type $ty = u8;
                $body
            }
            $crate::ElementType::I16 => {
                type $ty = i16;
                $body
            }
            $crate::ElementType::U16 => {
                type $ty = u16;
                $body
            }
            $crate::ElementType::I32 => {
                type $ty = i32;
                $body
            }
            $crate::ElementType::U32 => {
                type $ty = u32;
                $body
            }
            $crate::ElementType::I64 => {
                type $ty = i64;
                $body
            }
            $crate::ElementType::U64 => {
                type $ty = u64;
                $body
            }
            $crate::ElementType::F16 => {
                type $ty = $crate::f16;
                $body
            }
            $crate::ElementType::BF16 => {
                type $ty = $crate::bf16;
                $body
            }
            $crate::ElementType::F32 => {
                type $ty = f32;
                $body
            }
            $crate::ElementType::F64 => {
                type $ty = f64;
                $body
            }
            $crate::ElementType::F8E4M3 => {
                type $ty = $crate::F8E4M3;
                $body
            }
            $crate::ElementType::F8E5M2 => {
                type $ty = $crate::F8E5M2;
                $body
            }
            $crate::ElementType::HiF8 => {
                type $ty = $crate::HiF8;
                $body
            }
        }
    };
}
