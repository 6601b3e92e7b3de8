//! AVX2 with F16C: 32-byte registers, f16 conversion.
//!
//! Its gather instruction loses against scalar loads by a factor of two, and it has no compress: both stay portable.
#![expect(unsafe_code, reason = "vector instructions that the compiler does not choose by itself")]

use core::arch::x86_64::{
    __m128, __m128i, _MM_FROUND_TO_NEAREST_INT, _mm_add_ss, _mm_cvtph_ps, _mm_cvtps_ph, _mm_cvtsi128_si32,
    _mm_cvtss_f32, _mm_loadu_si128, _mm_set_ss, _mm_storeu_si128, _mm256_add_ps, _mm256_cvtph_ps, _mm256_cvtps_ph,
    _mm256_storeu_ps,
};

use super::{Simd, Task};

/// Proof that the machine has AVX2, F16C, BMI1, BMI2 and POPCNT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("f16c")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("popcnt");
        found.then_some(Self(()))
    }
}

/// Runs a task with the features enabled.
#[target_feature(enable = "avx2,f16c,bmi1,bmi2,popcnt")]
pub(super) fn enter<T: Task>(proof: Avx2, task: T) -> T::Output {
    task.run(proof)
}

/// The sum of two f16.
///
/// # Safety
/// The machine has F16C and AVX2.
#[inline(always)]
pub(super) unsafe fn add_f16(a: u16, b: u16) -> u16 {
    // SAFETY: the caller vouches for both; the instructions touch registers only.
    unsafe { sum_f16(a, _mm_cvtph_ps(widened(b))) }
}

/// The sum of an f16 and the value of another.
///
/// # Safety
/// The machine has F16C and AVX2.
#[inline(always)]
pub(super) unsafe fn add_wide_f16(a: u16, b: f32) -> u16 {
    // SAFETY: as above.
    unsafe { sum_f16(a, _mm_set_ss(b)) }
}

/// The sum of an f16 and of the first lane of a register.
///
/// # Safety
/// The machine has F16C and AVX2.
#[inline(always)]
unsafe fn sum_f16(a: u16, b: __m128) -> u16 {
    // SAFETY: as above.
    unsafe {
        let sum = _mm_add_ss(_mm_cvtph_ps(widened(a)), b);
        // Not an extraction, which would compete with the conversions for the one port that shuffles.
        _mm_cvtsi128_si32(_mm_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(sum)) as u16
    }
}

/// The values of f16, 8 at a time.
///
/// # Safety
/// The machine has F16C and AVX2.
#[inline(always)]
pub(super) unsafe fn widen_f16(halves: &[[u8; 2]], wide: &mut [f32]) {
    let (wide_8, _) = wide.as_chunks_mut::<8>();
    let (halves_8, _) = halves.as_chunks::<8>();
    let body = wide_8.len().min(halves_8.len()) * 8;
    for (wide, halves) in wide_8.iter_mut().zip(halves_8) {
        // SAFETY: the caller vouches for the instructions; they read 16 bytes and write 32, at any alignment.
        unsafe { _mm256_storeu_ps(wide.as_mut_ptr(), _mm256_cvtph_ps(_mm_loadu_si128(halves.as_ptr().cast()))) };
    }
    for (wide, half) in wide[body..].iter_mut().zip(&halves[body..]) {
        // SAFETY: the instructions touch registers only.
        *wide = unsafe { _mm_cvtss_f32(_mm_cvtph_ps(widened(u16::from_le_bytes(*half)))) };
    }
}

/// A number in the first lane of a register, zero in the others.
///
/// The compiler's own choice is an insertion, which leaves the other lanes as they were and so waits for whatever was
/// last in that register: here, the last sum. That makes adding f16 five times as slow.
///
/// # Safety
/// The machine has AVX.
#[inline(always)]
unsafe fn widened(bits: u16) -> __m128i {
    let register;
    // SAFETY: the caller vouches for AVX; the instruction reads one register and writes another.
    unsafe {
        core::arch::asm!(
            "vmovd {register}, {bits:e}",
            register = out(xmm_reg) register,
            bits = in(reg) u32::from(bits),
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    register
}

// SAFETY: `keep`, `keep_values` and `are_below` are the portable ones.
unsafe impl Simd for Avx2 {
    #[inline(always)]
    fn add_f16(self, a: u16, b: u16) -> u16 {
        // SAFETY: `self` proves both.
        unsafe { add_f16(a, b) }
    }

    #[inline(always)]
    fn add_wide_f16(self, a: u16, b: f32) -> u16 {
        // SAFETY: `self` proves both.
        unsafe { add_wide_f16(a, b) }
    }

    #[inline(always)]
    fn widen_f16(self, halves: &[[u8; 2]], wide: &mut [f32]) {
        // SAFETY: `self` proves both.
        unsafe { widen_f16(halves, wide) }
    }

    #[inline(always)]
    fn add_f16_row(self, row: &mut [[u8; 2]], other: &[[u8; 2]]) {
        let (slots, slots_tail) = row.as_chunks_mut::<8>();
        let (values, values_tail) = other.as_chunks::<8>();
        for (slots, values) in slots.iter_mut().zip(values) {
            // SAFETY: `self` proves AVX2 and F16C; both pointers are to 16 bytes, and any alignment will do.
            unsafe {
                let old = _mm256_cvtph_ps(_mm_loadu_si128(slots.as_ptr().cast()));
                let new = _mm256_cvtph_ps(_mm_loadu_si128(values.as_ptr().cast()));
                let sum = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_add_ps(old, new));
                _mm_storeu_si128(slots.as_mut_ptr().cast(), sum);
            }
        }
        for (slot, value) in slots_tail.iter_mut().zip(values_tail) {
            *slot = self.add_f16(u16::from_le_bytes(*slot), u16::from_le_bytes(*value)).to_le_bytes();
        }
    }
}
