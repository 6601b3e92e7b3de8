//! What a scatter does to one element: replace, or combine with what is there.

use core::cmp::Ordering;
use core::marker::PhantomData;

use half::{bf16, f16};

/// An operation on elements of `N` bytes.
pub(crate) trait Combine<const N: usize> {
    /// The new content of a slot that held `old`.
    fn combine(old: [u8; N], new: [u8; N]) -> [u8; N];
}

/// The slot takes the new value.
pub(crate) struct Replace;

/// The slot takes the sum; integers wrap, floats round to nearest even.
pub(crate) struct Add<T>(PhantomData<T>);

/// The slot takes the larger value.
pub(crate) struct Max<T>(PhantomData<T>);

/// The slot takes the smaller value.
pub(crate) struct Min<T>(PhantomData<T>);

impl<const N: usize> Combine<N> for Replace {
    #[inline(always)]
    fn combine(_: [u8; N], new: [u8; N]) -> [u8; N] {
        new
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Combine<{ size_of::<$type>() }> for Add<$type> {
            #[inline(always)]
            fn combine(old: [u8; size_of::<$type>()], new: [u8; size_of::<$type>()]) -> [u8; size_of::<$type>()] {
                <$type>::from_le_bytes(old).wrapping_add(<$type>::from_le_bytes(new)).to_le_bytes()
            }
        }
        impl Combine<{ size_of::<$type>() }> for Max<$type> {
            #[inline(always)]
            fn combine(old: [u8; size_of::<$type>()], new: [u8; size_of::<$type>()]) -> [u8; size_of::<$type>()] {
                <$type>::from_le_bytes(old).max(<$type>::from_le_bytes(new)).to_le_bytes()
            }
        }
        impl Combine<{ size_of::<$type>() }> for Min<$type> {
            #[inline(always)]
            fn combine(old: [u8; size_of::<$type>()], new: [u8; size_of::<$type>()]) -> [u8; size_of::<$type>()] {
                <$type>::from_le_bytes(old).min(<$type>::from_le_bytes(new)).to_le_bytes()
            }
        }
    )*};
}

integers!(i8, u8, i16, u16, i32, u32, i64, u64);

/// `b` if it belongs after `a` in the wanted order; a NaN loses against a number, and -0.0 < +0.0.
macro_rules! pick {
    ($type:ty, $old:expr, $new:expr, $wanted:expr) => {{
        let (a, b) = (<$type>::from_le_bytes($old), <$type>::from_le_bytes($new));
        let old_wins = b.is_nan() || (!a.is_nan() && a.total_cmp(&b) == $wanted);
        if old_wins { $old } else { $new }
    }};
}

macro_rules! floats {
    ($($type:ty, $add:expr);* $(;)?) => {$(
        impl Combine<{ size_of::<$type>() }> for Add<$type> {
            #[inline(always)]
            fn combine(old: [u8; size_of::<$type>()], new: [u8; size_of::<$type>()]) -> [u8; size_of::<$type>()] {
                let sum: fn($type, $type) -> $type = $add;
                sum(<$type>::from_le_bytes(old), <$type>::from_le_bytes(new)).to_le_bytes()
            }
        }
        impl Combine<{ size_of::<$type>() }> for Max<$type> {
            #[inline(always)]
            fn combine(old: [u8; size_of::<$type>()], new: [u8; size_of::<$type>()]) -> [u8; size_of::<$type>()] {
                pick!($type, old, new, Ordering::Greater)
            }
        }
        impl Combine<{ size_of::<$type>() }> for Min<$type> {
            #[inline(always)]
            fn combine(old: [u8; size_of::<$type>()], new: [u8; size_of::<$type>()]) -> [u8; size_of::<$type>()] {
                pick!($type, old, new, Ordering::Less)
            }
        }
    )*};
}

floats! {
    f16, |a, b| f16::from_f32(a.to_f32() + b.to_f32());
    bf16, |a, b| bf16::from_f32(a.to_f32() + b.to_f32());
    f32, |a, b| a + b;
    f64, |a, b| a + b;
}

/// Calls `$function::<N, C>($arguments)` for the element type and atomic operation.
///
/// Replacing depends on the width alone, and so does wrapping addition; 8-bit floats only ever move.
macro_rules! dispatch {
    ($element:expr, $atomic:expr, $function:ident($($argument:expr),* $(,)?)) => {{
        use pto_isa::{Atomic, ElementType as E};
        use $crate::kernel::combine::{Add, Max, Min, Replace};
        macro_rules! call {
            ($n:literal, $c:ty) => { $function::<$n, $c>($($argument),*) };
        }
        match ($atomic, $element) {
            (Atomic::None, E::I8 | E::U8) | (_, E::F8E4M3 | E::F8E5M2 | E::HiF8) => call!(1, Replace),
            (Atomic::None, E::I16 | E::U16 | E::F16 | E::BF16) => call!(2, Replace),
            (Atomic::None, E::I32 | E::U32 | E::F32) => call!(4, Replace),
            (Atomic::None, E::I64 | E::U64 | E::F64) => call!(8, Replace),
            (Atomic::Add, E::I8 | E::U8) => call!(1, Add<u8>),
            (Atomic::Add, E::I16 | E::U16) => call!(2, Add<u16>),
            (Atomic::Add, E::I32 | E::U32) => call!(4, Add<u32>),
            (Atomic::Add, E::I64 | E::U64) => call!(8, Add<u64>),
            (Atomic::Add, E::F16) => call!(2, Add<half::f16>),
            (Atomic::Add, E::BF16) => call!(2, Add<half::bf16>),
            (Atomic::Add, E::F32) => call!(4, Add<f32>),
            (Atomic::Add, E::F64) => call!(8, Add<f64>),
            (Atomic::Max, E::I8) => call!(1, Max<i8>),
            (Atomic::Max, E::U8) => call!(1, Max<u8>),
            (Atomic::Max, E::I16) => call!(2, Max<i16>),
            (Atomic::Max, E::U16) => call!(2, Max<u16>),
            (Atomic::Max, E::I32) => call!(4, Max<i32>),
            (Atomic::Max, E::U32) => call!(4, Max<u32>),
            (Atomic::Max, E::I64) => call!(8, Max<i64>),
            (Atomic::Max, E::U64) => call!(8, Max<u64>),
            (Atomic::Max, E::F16) => call!(2, Max<half::f16>),
            (Atomic::Max, E::BF16) => call!(2, Max<half::bf16>),
            (Atomic::Max, E::F32) => call!(4, Max<f32>),
            (Atomic::Max, E::F64) => call!(8, Max<f64>),
            (Atomic::Min, E::I8) => call!(1, Min<i8>),
            (Atomic::Min, E::U8) => call!(1, Min<u8>),
            (Atomic::Min, E::I16) => call!(2, Min<i16>),
            (Atomic::Min, E::U16) => call!(2, Min<u16>),
            (Atomic::Min, E::I32) => call!(4, Min<i32>),
            (Atomic::Min, E::U32) => call!(4, Min<u32>),
            (Atomic::Min, E::I64) => call!(8, Min<i64>),
            (Atomic::Min, E::U64) => call!(8, Min<u64>),
            (Atomic::Min, E::F16) => call!(2, Min<half::f16>),
            (Atomic::Min, E::BF16) => call!(2, Min<half::bf16>),
            (Atomic::Min, E::F32) => call!(4, Min<f32>),
            (Atomic::Min, E::F64) => call!(8, Min<f64>),
        }
    }};
}
pub(crate) use dispatch;
