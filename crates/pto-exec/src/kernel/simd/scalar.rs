//! `if a > b { a } else { b }` and `if a < b { a } else { b }`, one instruction each where the compiler may be told so: left to
//! itself it makes a branch of it, which nothing foretells.
#![expect(unsafe_code, reason = "instructions that the compiler does not choose by itself")]

#[cfg(target_arch = "x86_64")]
use core::arch::x86_64 as x86;

macro_rules! scalar {
    ($($name:ident, $type:ty, $sign:tt, $set:ident, $operation:ident, $get:ident);* $(;)?) => {$(
        #[inline(always)]
        pub(crate) fn $name(a: $type, b: $type) -> $type {
            // SAFETY: SSE2 is part of x86-64; the instructions touch registers only.
            #[cfg(target_arch = "x86_64")]
            return unsafe { x86::$get(x86::$operation(x86::$set(a), x86::$set(b))) };
            #[cfg(not(target_arch = "x86_64"))]
            return if a $sign b { a } else { b };
        }
    )*};
}

scalar! {
    larger_f32, f32, >, _mm_set_ss, _mm_max_ss, _mm_cvtss_f32;
    smaller_f32, f32, <, _mm_set_ss, _mm_min_ss, _mm_cvtss_f32;
    larger_f64, f64, >, _mm_set_sd, _mm_max_sd, _mm_cvtsd_f64;
    smaller_f64, f64, <, _mm_set_sd, _mm_min_sd, _mm_cvtsd_f64;
}
