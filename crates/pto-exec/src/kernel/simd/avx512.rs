//! AVX-512: 64-byte registers, compress, gather, f16 conversion.
#![expect(unsafe_code, reason = "vector instructions that the compiler does not choose by itself")]

mod gather;

use core::arch::x86_64::{
    __m512i, __mmask8, __mmask16, _MM_FROUND_TO_NEAREST_INT, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_si256,
    _mm256_storeu_si256, _mm512_add_epi32, _mm512_add_ps, _mm512_and_si512, _mm512_castsi512_si256,
    _mm512_cmplt_epu32_mask, _mm512_cmplt_epu64_mask, _mm512_cvtepi32_epi16, _mm512_cvtepu16_epi32, _mm512_cvtph_ps,
    _mm512_cvtps_ph, _mm512_loadu_si512, _mm512_mask_mov_epi32, _mm512_maskz_compress_epi32,
    _mm512_maskz_compress_epi64, _mm512_max_epu32, _mm512_max_epu64, _mm512_min_epu32, _mm512_mul_epu32,
    _mm512_mullo_epi32, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setr_epi32, _mm512_setzero_si512,
    _mm512_srai_epi32, _mm512_srli_epi64, _mm512_storeu_si512, _mm512_stream_si512, _mm512_sub_epi32, _mm512_sub_epi64,
    _mm512_xor_si512,
};

use super::avx2::{self, Avx2};
use super::{LINE, Landing, Lands, Line, Simd, Streams, Task, portable};
use crate::kernel::modulus::Modulus;
use crate::kernel::offsets::{KEEP, Word};

/// Proof that the machine has AVX-512 F, BW, CD, DQ and VL, and all that AVX2's proof covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx512 {
    avx2: Avx2,
    gathers: Gathers,
}

/// How elements are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gathers {
    /// By the gather instruction.
    ByInstruction,
    /// By single loads: the gather instruction of some machines was made slow by their microcode.
    ByLoads,
}

impl Avx512 {
    pub(super) fn detect(gathers: Gathers) -> Option<Self> {
        let avx2 = Avx2::detect()?;
        let found = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        found.then_some(Self { avx2, gathers })
    }

    pub(super) const fn name(self) -> &'static str {
        match self.gathers {
            Gathers::ByInstruction => "avx512",
            Gathers::ByLoads => "avx512-loads",
        }
    }
}

/// Runs a task with the features enabled.
#[target_feature(enable = "avx2,f16c,bmi1,bmi2,popcnt,avx512f,avx512bw,avx512cd,avx512dq,avx512vl")]
pub(super) fn enter<T: Task>(proof: Avx512, task: T) -> T::Output {
    task.run(proof)
}

/// Lanes between asking for indices and slots and using them.
const AHEAD: usize = 256;

/// Positions 0 to 15.
#[inline(always)]
fn iota() -> __m512i {
    // SAFETY: called by methods of `Avx512` only, which prove AVX-512F.
    unsafe { _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) }
}

impl Avx512 {
    /// [`Simd::are_below`] for words of 4 bytes, 16 or more.
    #[inline(always)]
    fn are_below4(self, words: &[[u8; 4]], limit: u32) -> bool {
        let (pairs, rest) = words.as_chunks::<32>();
        let (Some(first), Some(last)) = (words.first_chunk::<16>(), words.last_chunk::<16>()) else {
            return portable::are_below(words, limit.into());
        };
        // SAFETY: `self` proves AVX-512F. Each load reads the 64 bytes of 16 words. Any alignment will do.
        unsafe {
            let mut largest = _mm512_loadu_si512(first.as_ptr().cast());
            let mut others = largest;
            for pair in pairs {
                let (one, other) = pair.split_at(16);
                largest = _mm512_max_epu32(largest, _mm512_loadu_si512(one.as_ptr().cast()));
                others = _mm512_max_epu32(others, _mm512_loadu_si512(other.as_ptr().cast()));
            }
            if let Some(chunk) = rest.first_chunk::<16>() {
                others = _mm512_max_epu32(others, _mm512_loadu_si512(chunk.as_ptr().cast()));
            }
            // Some words are looked at twice: that costs less than looking at the last few one by one.
            others = _mm512_max_epu32(others, _mm512_loadu_si512(last.as_ptr().cast()));
            largest = _mm512_max_epu32(largest, others);
            _mm512_cmplt_epu32_mask(largest, _mm512_set1_epi32(limit as i32)) == __mmask16::MAX
        }
    }

    /// [`Simd::are_below`] for words of 8 bytes, 8 or more.
    #[inline(always)]
    fn are_below8(self, words: &[[u8; 8]], limit: u64) -> bool {
        let Some(last) = words.last_chunk::<8>() else { return portable::are_below(words, limit) };
        // SAFETY: as in `are_below4`, with eight words a register.
        unsafe {
            let mut largest = _mm512_loadu_si512(last.as_ptr().cast());
            for chunk in words.as_chunks::<8>().0 {
                largest = _mm512_max_epu64(largest, _mm512_loadu_si512(chunk.as_ptr().cast()));
            }
            _mm512_cmplt_epu64_mask(largest, _mm512_set1_epi64(limit as i64)) == __mmask8::MAX
        }
    }

    /// [`Simd::remainders`] for words of 4 bytes.
    #[inline(always)]
    fn remainders4(self, words: &[[[u8; 4]; 16]], modulus: Modulus, signed: bool, remainders: &mut [[[u8; 4]; 16]]) {
        for (words, slots) in words.iter().zip(remainders) {
            // SAFETY: `self` proves AVX-512F. The load reads and the store writes the 64 bytes of 16 words. Any alignment
            // will do.
            unsafe {
                let words = _mm512_loadu_si512(words.as_ptr().cast());
                let rests = self::remainders(words, modulus, signed);
                _mm512_storeu_si512(slots.as_mut_ptr().cast(), rests);
            }
        }
    }

    /// [`Simd::keep`] for words of 4 bytes, all that come in chunks of 16.
    #[inline(always)]
    fn keep4(self, chunks: &[[[u8; 4]; 16]], range: (u32, u32), kept: &mut [[u8; 4]], positions: &mut [u32]) -> usize {
        assert!(kept.len() >= chunks.len() * 16 && positions.len() >= chunks.len() * 16);
        let mut count = 0;
        for (i, chunk) in chunks.iter().enumerate() {
            // SAFETY: `self` proves AVX-512F. The load reads the 64 bytes of `chunk`. `count <= 16 * i`, because every
            // turn adds at most 16, so both stores end at or before element `16 * (i + 1) <= 16 * chunks.len()`, which
            // the assertion has found inside. Any alignment will do.
            unsafe {
                let words = _mm512_loadu_si512(chunk.as_ptr().cast());
                let offsets = _mm512_sub_epi32(words, _mm512_set1_epi32(range.0 as i32));
                let mask = _mm512_cmplt_epu32_mask(offsets, _mm512_set1_epi32(range.1 as i32));
                let places = _mm512_add_epi32(iota(), _mm512_set1_epi32((i * 16) as i32));
                let offsets = _mm512_maskz_compress_epi32(mask, offsets);
                let places = _mm512_maskz_compress_epi32(mask, places);
                _mm512_storeu_si512(kept.as_mut_ptr().add(count).cast(), offsets);
                _mm512_storeu_si512(positions.as_mut_ptr().add(count).cast(), places);
                count += mask.count_ones() as usize;
            }
        }
        count
    }

    /// [`Simd::keep`] for words of 8 bytes, all that come in chunks of 8.
    #[inline(always)]
    fn keep8(self, chunks: &[[[u8; 8]; 8]], range: (u64, u64), kept: &mut [[u8; 8]], positions: &mut [u32]) -> usize {
        assert!(kept.len() >= chunks.len() * 8 && positions.len() >= chunks.len() * 8);
        let mut count = 0;
        for (i, chunk) in chunks.iter().enumerate() {
            // SAFETY: as in `keep4`, with eight words a turn. The positions are stored as 8 x 4 bytes.
            unsafe {
                let words = _mm512_loadu_si512(chunk.as_ptr().cast());
                let offsets = _mm512_sub_epi64(words, _mm512_set1_epi64(range.0 as i64));
                let mask = _mm512_cmplt_epu64_mask(offsets, _mm512_set1_epi64(range.1 as i64));
                let offsets = _mm512_maskz_compress_epi64(mask, offsets);
                _mm512_storeu_si512(kept.as_mut_ptr().add(count).cast(), offsets);
                let places = _mm512_add_epi32(iota(), _mm512_set1_epi32((i * 8) as i32));
                let places = _mm512_maskz_compress_epi32(mask.into(), places);
                _mm256_storeu_si256(positions.as_mut_ptr().add(count).cast(), _mm512_castsi512_si256(places));
                count += mask.count_ones() as usize;
            }
        }
        count
    }

    /// [`Simd::keep_values`] for values of 4 or 2 bytes, all words that come in chunks of 16.
    #[inline(always)]
    fn keep_values16<const N: usize>(
        self,
        chunks: &[[[u8; 4]; 16]],
        values: &[[[u8; N]; 16]],
        range: (u32, u32),
        kept: &mut [[u8; 4]],
        kept_values: &mut [[u8; N]],
    ) -> usize {
        const { assert!(N == 4 || N == 2) };
        assert!(kept.len() >= chunks.len() * 16 && kept_values.len() >= chunks.len() * 16);
        let mut count = 0;
        for (chunk, values) in chunks.iter().zip(values) {
            // SAFETY: `self` proves AVX-512F. The loads read the 64 bytes of `chunk` and the 16 values, 64 or 32 bytes.
            // `count` is at most 16 for each turn before this one, so that the stores, of 16 elements each, end at or
            // before element `16 * chunks.len()`, which the assertion has found inside. Any alignment will do. A
            // prefetch faults at no address.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(chunk.as_ptr().wrapping_add(KEEP).cast());
                _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_add(KEEP).cast());
                let words = _mm512_loadu_si512(chunk.as_ptr().cast());
                let offsets = _mm512_sub_epi32(words, _mm512_set1_epi32(range.0 as i32));
                let mask = _mm512_cmplt_epu32_mask(offsets, _mm512_set1_epi32(range.1 as i32));
                let offsets = _mm512_maskz_compress_epi32(mask, offsets);
                _mm512_storeu_si512(kept.as_mut_ptr().add(count).cast(), offsets);
                let to = kept_values.as_mut_ptr().add(count);
                if N == 4 {
                    let values = _mm512_loadu_si512(values.as_ptr().cast());
                    _mm512_storeu_si512(to.cast(), _mm512_maskz_compress_epi32(mask, values));
                } else {
                    // Compressing 2 bytes would take AVX-512 VBMI2.
                    let values = _mm512_cvtepu16_epi32(_mm256_loadu_si256(values.as_ptr().cast()));
                    let values = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(mask, values));
                    _mm256_storeu_si256(to.cast(), values);
                }
                count += mask.count_ones() as usize;
            }
        }
        count
    }
}

/// The remainders of sixteen words, which may be signed; none is negative. The compiler would widen and narrow all of them for
/// the products.
///
/// # Safety
/// The machine has AVX-512F.
#[inline(always)]
unsafe fn remainders(words: __m512i, modulus: Modulus, signed: bool) -> __m512i {
    // SAFETY: the caller vouches for AVX-512F; the instructions touch registers only.
    unsafe {
        let divisor = _mm512_set1_epi32(modulus.divisor as i32);
        let reciprocal = _mm512_set1_epi32(modulus.reciprocal as i32);
        // The complement of a negative number is not negative, and counts from the other end.
        let signs = if signed { _mm512_srai_epi32::<31>(words) } else { _mm512_setzero_si512() };
        let words = _mm512_xor_si512(words, signs);
        let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(words, reciprocal));
        let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(words), reciprocal);
        let quotients = _mm512_mask_mov_epi32(even, 0xaaaa, odd);
        let rests = _mm512_sub_epi32(words, _mm512_mullo_epi32(quotients, divisor));
        // One divisor too much at the most, and then the difference is the smaller of the two.
        let rests = _mm512_min_epu32(rests, _mm512_sub_epi32(rests, divisor));
        _mm512_add_epi32(_mm512_xor_si512(rests, signs), _mm512_and_si512(divisor, signs))
    }
}

// SAFETY: `keep` and `keep_values` keep the lanes of a mask that says `offset < length`; their tails are the portable ones',
// behind what the body kept. `are_below` holds the largest words, 16 or 8 of them, against the limit: every word is in one of
// the chunks or among the last ones.
unsafe impl Simd for Avx512 {
    #[inline(always)]
    fn stream_line(self, line: &mut Line, from: &[u8; LINE], _: &Streams) {
        // SAFETY: `self` proves AVX-512F. The load reads the 64 bytes of `from`, at any address. A `Line` is at a multiple of 64,
        // as its store has to be.
        unsafe { _mm512_stream_si512(line.0.as_mut_ptr().cast(), _mm512_loadu_si512(from.as_ptr().cast())) }
    }

    #[inline(always)]
    fn are_below<W: Word>(self, words: &[W], limit: u64) -> bool {
        match u32::try_from(limit) {
            _ if W::BYTES == 8 => self.are_below8(bytemuck::cast_slice(words), limit),
            Ok(limit) => self.are_below4(bytemuck::cast_slice(words), limit),
            // No word of 4 bytes reaches it.
            Err(_) => true,
        }
    }

    #[inline(always)]
    fn keep<W: Word>(self, words: &[W], base: u64, length: u64, kept: &mut [W], positions: &mut [u32]) -> usize {
        let per_turn = 64 / W::BYTES;
        let body = words.len() / per_turn * per_turn;
        let fits = W::BYTES == 8 || (u32::try_from(base).is_ok() && u32::try_from(length).is_ok());
        let count = match () {
            () if !fits => return portable::keep(words, base, length, kept, positions),
            () if W::BYTES == 4 => {
                let (chunks, kept) = (bytemuck::cast_slice(&words[..body]), bytemuck::cast_slice_mut(kept));
                self.keep4(chunks, (base as u32, length as u32), kept, positions)
            }
            () => {
                let (chunks, kept) = (bytemuck::cast_slice(&words[..body]), bytemuck::cast_slice_mut(kept));
                self.keep8(chunks, (base, length), kept, positions)
            }
        };
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
        let (Ok(low), Ok(high)) = (u32::try_from(base), u32::try_from(length)) else {
            return portable::keep_values((words, values), (base, length), kept, kept_values);
        };
        assert!(words.len() == values.len(), "each word has a value");
        let ((chunks, words), (value_chunks, values)) = (words.as_chunks::<16>(), values.as_chunks::<16>());
        let count = match N {
            4 => {
                let (values, kept_values) = (bytemuck::cast_slice(value_chunks), bytemuck::cast_slice_mut(kept_values));
                self.keep_values16::<4>(chunks, values, (low, high), kept, kept_values)
            }
            2 => {
                let (values, kept_values) = (bytemuck::cast_slice(value_chunks), bytemuck::cast_slice_mut(kept_values));
                self.keep_values16::<2>(chunks, values, (low, high), kept, kept_values)
            }
            _ => {
                let (words, values) = (chunks.as_flattened(), value_chunks.as_flattened());
                portable::keep_values((words, values), (base, length), kept, kept_values)
            }
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
        let body = words.len() / 16 * 16;
        let ((words, rest), (slots, slots_rest)) = (words.split_at(body), remainders.split_at_mut(body));
        self.remainders4(bytemuck::cast_slice(words), modulus, signed, bytemuck::cast_slice_mut(slots));
        portable::remainders(rest, modulus, signed, slots_rest);
    }

    #[inline(always)]
    fn lands(self) -> Lands {
        match self.gathers {
            Gathers::ByInstruction => Lands::ByInstruction,
            Gathers::ByLoads => Lands::ByLoads,
        }
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
        // The instruction reads its offsets as signed.
        if self.gathers == Gathers::ByInstruction && table.len() <= 1 << 31 {
            return self.gather_landing(destination, table, words, landing, streams);
        }
        // SAFETY: `self.avx2` is a proof of all the features that are enabled there.
        unsafe { avx2::gather4_landing(self.avx2, destination, table, words, landing, streams) }
    }

    #[inline(always)]
    fn add_f16(self, a: u16, b: u16) -> u16 {
        // SAFETY: `self` proves F16C and AVX2.
        unsafe { avx2::add_f16(a, b) }
    }

    #[inline(always)]
    fn add_wide_f16(self, a: u16, b: f32) -> u16 {
        // SAFETY: as above.
        unsafe { avx2::add_wide_f16(a, b) }
    }

    #[inline(always)]
    fn widen_f16(self, halves: &[[u8; 2]], wide: &mut [f32]) {
        // SAFETY: as above.
        unsafe { avx2::widen_f16(halves, wide) }
    }

    #[inline(always)]
    fn add_f16_row(self, row: &mut [[u8; 2]], other: &[[u8; 2]]) {
        let (slots, slots_tail) = row.as_chunks_mut::<16>();
        let (values, values_tail) = other.as_chunks::<16>();
        for (slots, values) in slots.iter_mut().zip(values) {
            // SAFETY: `self` proves AVX-512F; both pointers are to 32 bytes, and any alignment will do.
            unsafe {
                let old = _mm512_cvtph_ps(_mm256_loadu_si256(slots.as_ptr().cast()));
                let new = _mm512_cvtph_ps(_mm256_loadu_si256(values.as_ptr().cast()));
                let sum = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_add_ps(old, new));
                _mm256_storeu_si256(slots.as_mut_ptr().cast(), sum);
            }
        }
        for (slot, value) in slots_tail.iter_mut().zip(values_tail) {
            *slot = self.add_f16(u16::from_le_bytes(*slot), u16::from_le_bytes(*value)).to_le_bytes();
        }
    }
}
