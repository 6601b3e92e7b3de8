//! Types that index lanes can have.

use pto_isa::{Element, ElementClass};

/// An index type: `i32`, `u32`, `i64` or `u64`. Signed ones are plain integers, below zero out of range.
///
/// ```
/// fn takes_index<I: pto_exec::host::Index>(_: I) {}
/// takes_index(7u64);
/// ```
/// ```compile_fail
/// fn takes_index<I: pto_exec::host::Index>(_: I) {}
/// takes_index(7u8);
/// ```
#[diagnostic::on_unimplemented(message = "`{Self}` is not an index type", note = "index types are i32, u32, i64, u64")]
pub trait Index: Element + sealed::Sealed {
    /// True for `i32` and `i64`.
    const SIGNED: bool = matches!(Self::TYPE.class(), ElementClass::Signed);

    /// The index as 64 bits, sign-extended if it is signed: at or beyond every capacity unless it is in range.
    #[doc(hidden)]
    fn bits(self) -> u64;
}

mod sealed {
    /// Lanes are read by their type's name, so no other type can be one.
    pub trait Sealed {}
}

macro_rules! indices {
    ($($type:ty),*) => {$(
        impl sealed::Sealed for $type {}
        impl Index for $type {
            #[inline(always)]
            fn bits(self) -> u64 {
                self as i64 as u64
            }
        }
    )*};
}

indices!(i32, u32, i64, u64);
