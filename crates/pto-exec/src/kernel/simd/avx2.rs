//! AVX2 with F16C: 32-byte registers, f16 conversion.
//!
//! Its gather instruction does not win against single loads, and it has no compress instruction: a permutation that is looked
//! up by the mask stands in for it.
#![expect(unsafe_code, reason = "vector instructions that the compiler does not choose by itself")]

mod gather;

use core::arch::x86_64::{
    __m128, __m128i, __m256i, _MM_FROUND_TO_NEAREST_INT, _mm_add_ss, _mm_cvtph_ps, _mm_cvtps_ph, _mm_cvtsi128_si32,
    _mm_cvtss_f32, _mm_loadl_epi64, _mm_loadu_si128, _mm_packus_epi32, _mm_set_ss, _mm_storeu_si128, _mm256_add_epi32,
    _mm256_add_ps, _mm256_and_si256, _mm256_blend_epi32, _mm256_castsi256_ps, _mm256_castsi256_si128,
    _mm256_cmpeq_epi32, _mm256_cvtepu8_epi32, _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_cvtps_ph,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_min_epu32, _mm256_movemask_ps, _mm256_mul_epu32,
    _mm256_mullo_epi32, _mm256_permutevar8x32_epi32, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_srai_epi32,
    _mm256_srli_epi64, _mm256_storeu_ps, _mm256_storeu_si256, _mm256_stream_si256, _mm256_sub_epi32, _mm256_xor_si256,
};

pub(super) use gather::gather4_landing;

use super::{LINE, Landing, Lands, Line, Simd, Streams, Task, portable};
use crate::kernel::modulus::Modulus;
use crate::kernel::offsets::{KEEP, Word};

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

/// For each mask of eight lanes the positions of those that are in it, in order; the rest does not matter.
static KEPT: [[u8; 8]; 256] = {
    let mut kept = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut lane, mut count) = (0, 0);
        while lane < 8 {
            if mask >> lane & 1 == 1 {
                kept[mask][count] = lane as u8;
                count += 1;
            }
            lane += 1;
        }
        mask += 1;
    }
    kept
};

/// Eight words less a base: which of them are below a length, as a mask, and the permutation that moves those to the front.
struct Kept {
    offsets: __m256i,
    mask: usize,
    order: __m256i,
}

impl Kept {
    /// The offsets that are kept, in front.
    ///
    /// # Safety
    /// The machine has AVX2.
    #[inline(always)]
    unsafe fn offsets(&self) -> __m256i {
        // SAFETY: the caller vouches for AVX2; the instruction touches registers only.
        unsafe { _mm256_permutevar8x32_epi32(self.offsets, self.order) }
    }
}

impl Avx2 {
    /// `last` is one less than the length.
    #[inline(always)]
    fn keep8(self, words: &[[u8; 4]; 8], (base, last): (u32, u32)) -> Kept {
        // SAFETY: `self` proves AVX2. The first load reads the 32 bytes of `words`; the second the 8 bytes of a row of the
        // table, which has one for every mask of eight bits. Any alignment will do.
        unsafe {
            let words = _mm256_loadu_si256(words.as_ptr().cast());
            let offsets = _mm256_sub_epi32(words, _mm256_set1_epi32(base as i32));
            let least = _mm256_min_epu32(offsets, _mm256_set1_epi32(last as i32));
            let mask = _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(least, offsets))) as usize % 256;
            let order = _mm256_cvtepu8_epi32(_mm_loadl_epi64(KEPT[mask].as_ptr().cast()));
            Kept { offsets, mask, order }
        }
    }

    /// [`Simd::keep`] for words of 4 bytes, all that come in chunks of 8.
    #[inline(always)]
    fn keep_positions(
        self,
        chunks: &[[[u8; 4]; 8]],
        range: (u32, u32),
        kept: &mut [[u8; 4]],
        positions: &mut [u32],
    ) -> usize {
        assert!(kept.len() >= chunks.len() * 8 && positions.len() >= chunks.len() * 8);
        let mut count = 0;
        for (i, chunk) in chunks.iter().enumerate() {
            let found = self.keep8(chunk, range);
            // SAFETY: `self` proves AVX2. `count <= 8 * i`, because every turn adds at most 8, so both stores, of 8 elements
            // each, end at or before element `8 * (i + 1) <= 8 * chunks.len()`, which the assertion has found inside. Any
            // alignment will do.
            unsafe {
                _mm256_storeu_si256(kept.as_mut_ptr().add(count).cast(), found.offsets());
                // The order is a list of positions from 0 on.
                let places = _mm256_sub_epi32(found.order, _mm256_set1_epi32(-8 * i as i32));
                _mm256_storeu_si256(positions.as_mut_ptr().add(count).cast(), places);
            }
            count += found.mask.count_ones() as usize;
        }
        count
    }

    /// [`Simd::keep_values`] for values of 4 or 2 bytes, all words that come in chunks of 8.
    #[inline(always)]
    fn keep_values8<const N: usize>(
        self,
        chunks: &[[[u8; 4]; 8]],
        values: &[[[u8; N]; 8]],
        range: (u32, u32),
        kept: &mut [[u8; 4]],
        kept_values: &mut [[u8; N]],
    ) -> usize {
        const { assert!(N == 4 || N == 2) };
        assert!(kept.len() >= chunks.len() * 8 && kept_values.len() >= chunks.len() * 8);
        let mut count = 0;
        for (chunk, values) in chunks.iter().zip(values) {
            // In time for the next call: those that are kept are carried out in between.
            super::prefetch(chunk, AHEAD);
            super::prefetch(values, AHEAD);
            let found = self.keep8(chunk, range);
            // SAFETY: `self` proves AVX2. The loads read the 8 values, 32 or 16 bytes. `count` is at most 8 for each turn
            // before this one, so that the stores, of 8 elements each, end at or before element `8 * chunks.len()`, which the
            // assertion has found inside. Any alignment will do.
            unsafe {
                _mm256_storeu_si256(kept.as_mut_ptr().add(count).cast(), found.offsets());
                let to = kept_values.as_mut_ptr().add(count);
                if N == 4 {
                    let values = _mm256_loadu_si256(values.as_ptr().cast());
                    _mm256_storeu_si256(to.cast(), _mm256_permutevar8x32_epi32(values, found.order));
                } else {
                    let values = _mm256_cvtepu16_epi32(_mm_loadu_si128(values.as_ptr().cast()));
                    let values = _mm256_permutevar8x32_epi32(values, found.order);
                    let (low, high) = (_mm256_castsi256_si128(values), _mm256_extracti128_si256::<1>(values));
                    _mm_storeu_si128(to.cast(), _mm_packus_epi32(low, high));
                }
            }
            count += found.mask.count_ones() as usize;
        }
        count
    }

    /// [`Simd::remainders`] for words of 4 bytes.
    #[inline(always)]
    fn remainders4(self, words: &[[[u8; 4]; 8]], modulus: Modulus, signed: bool, remainders: &mut [[[u8; 4]; 8]]) {
        for (words, slots) in words.iter().zip(remainders) {
            // SAFETY: `self` proves AVX2. The load reads and the store writes the 32 bytes of 8 words. Any alignment will do.
            unsafe {
                let words = _mm256_loadu_si256(words.as_ptr().cast());
                let rests = self::remainders(words, modulus, signed);
                _mm256_storeu_si256(slots.as_mut_ptr().cast(), rests);
            }
        }
    }
}

/// The remainders of eight words, which may be signed; none is negative. The compiler would widen and narrow all of them for the
/// products.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
unsafe fn remainders(words: __m256i, modulus: Modulus, signed: bool) -> __m256i {
    // SAFETY: the caller vouches for AVX2; the instructions touch registers only.
    unsafe {
        let divisor = _mm256_set1_epi32(modulus.divisor as i32);
        let reciprocal = _mm256_set1_epi32(modulus.reciprocal as i32);
        // The complement of a negative number is not negative, and counts from the other end.
        let signs = if signed { _mm256_srai_epi32::<31>(words) } else { _mm256_setzero_si256() };
        let words = _mm256_xor_si256(words, signs);
        let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(words, reciprocal));
        let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(words), reciprocal);
        let quotients = _mm256_blend_epi32::<0xaa>(even, odd);
        let rests = _mm256_sub_epi32(words, _mm256_mullo_epi32(quotients, divisor));
        // One divisor too much at the most, and then the difference is the smaller of the two.
        let rests = _mm256_min_epu32(rests, _mm256_sub_epi32(rests, divisor));
        _mm256_add_epi32(_mm256_xor_si256(rests, signs), _mm256_and_si256(divisor, signs))
    }
}

/// Lanes between asking for words and values and looking at them.
const AHEAD: usize = KEEP;

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

// SAFETY: `are_below` is the portable one. `keep` and `keep_values` keep the lanes of a mask that says `offset <= length - 1`;
// their tails are the portable ones', behind what the body kept.
unsafe impl Simd for Avx2 {
    #[inline(always)]
    fn stream_line(self, line: &mut Line, from: &[u8; LINE], _: &Streams) {
        let (to, from) = (line.0.as_mut_ptr(), from.as_ptr());
        // SAFETY: `self` proves AVX. Two loads read the 64 bytes of `from`, at any address. A `Line` is at a multiple of 64, so that
        // both stores are aligned.
        unsafe {
            let parts = [0, 32].map(|at| _mm256_loadu_si256(from.add(at).cast()));
            for (i, part) in parts.into_iter().enumerate() {
                _mm256_stream_si256(to.add(32 * i).cast(), part);
            }
        }
    }

    #[inline(always)]
    fn keep<W: Word>(self, words: &[W], base: u64, length: u64, kept: &mut [W], positions: &mut [u32]) -> usize {
        let Some(range) = narrow_range(base, length).filter(|_| W::BYTES == 4) else {
            return portable::keep(words, base, length, kept, positions);
        };
        let body = words.len() / 8 * 8;
        let chunks = bytemuck::cast_slice(&words[..body]);
        let count = self.keep_positions(chunks, range, bytemuck::cast_slice_mut(kept), positions);
        let tail = portable::keep(&words[body..], base, length, &mut kept[count..], &mut positions[count..]);
        for position in &mut positions[count..count + tail] {
            *position += body as u32;
        }
        count + tail
    }

    #[inline(always)]
    fn keep_values<const N: usize>(
        self,
        (words, values): (&[[u8; 4]], &[[u8; N]]),
        (base, length): (u64, u64),
        kept: &mut [[u8; 4]],
        kept_values: &mut [[u8; N]],
    ) -> usize {
        assert!(words.len() == values.len(), "each word has a value");
        let Some(range) = narrow_range(base, length).filter(|_| N == 4 || N == 2) else {
            return portable::keep_values((words, values), (base, length), kept, kept_values);
        };
        let ((chunks, words), (value_chunks, values)) = (words.as_chunks::<8>(), values.as_chunks::<8>());
        let count = if N == 4 {
            let (values, kept_values) = (bytemuck::cast_slice(value_chunks), bytemuck::cast_slice_mut(kept_values));
            self.keep_values8::<4>(chunks, values, range, kept, kept_values)
        } else {
            let (values, kept_values) = (bytemuck::cast_slice(value_chunks), bytemuck::cast_slice_mut(kept_values));
            self.keep_values8::<2>(chunks, values, range, kept, kept_values)
        };
        let (kept, kept_values) = (&mut kept[count..], &mut kept_values[count..]);
        count + portable::keep_values((words, values), (base, length), kept, kept_values)
    }

    #[inline(always)]
    fn remainders<W: Word>(self, words: &[W], modulus: Modulus, signed: bool, remainders: &mut [W]) {
        if W::BYTES != 4 {
            return portable::remainders(words, modulus, signed, remainders);
        }
        assert!(words.len() == remainders.len(), "each word has a remainder");
        let body = words.len() / 8 * 8;
        let ((words, rest), (slots, slots_rest)) = (words.split_at(body), remainders.split_at_mut(body));
        self.remainders4(bytemuck::cast_slice(words), modulus, signed, bytemuck::cast_slice_mut(slots));
        portable::remainders(rest, modulus, signed, slots_rest);
    }

    #[inline(always)]
    fn lands(self) -> Lands {
        Lands::ByLoads
    }

    #[inline(always)]
    fn gather4_landing(
        self,
        destination: &mut [[u8; 4]],
        table: &[[u8; 4]],
        words: &[[u8; 4]],
        landing: Landing,
        streams: Option<&Streams>,
    ) -> usize {
        // SAFETY: `self` is a proof of all the features that are enabled there.
        unsafe { gather4_landing(self, destination, table, words, landing, streams) }
    }

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

/// The base and the last offset below the length, if there is one and words of 4 bytes reach it.
fn narrow_range(base: u64, length: u64) -> Option<(u32, u32)> {
    Some((u32::try_from(base).ok()?, u32::try_from(length.checked_sub(1)?).ok()?))
}
