//! AVX-512: 64-byte registers, compress, gather, f16 conversion.
#![expect(unsafe_code, reason = "vector instructions that the compiler does not choose by itself")]

use core::arch::x86_64::{
    __m512i, _MM_FROUND_TO_NEAREST_INT, _MM_HINT_ET0, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_si256,
    _mm256_storeu_si256, _mm512_add_epi32, _mm512_add_ps, _mm512_castsi512_si256, _mm512_cmplt_epu32_mask,
    _mm512_cmplt_epu64_mask, _mm512_cvtph_ps, _mm512_cvtps_ph, _mm512_i32gather_epi32, _mm512_loadu_si512,
    _mm512_maskz_compress_epi32, _mm512_maskz_compress_epi64, _mm512_set1_epi32, _mm512_set1_epi64, _mm512_setr_epi32,
    _mm512_storeu_si512, _mm512_sub_epi32, _mm512_sub_epi64,
};

use super::{Simd, Task, avx2, portable};
use crate::kernel::offsets::{Offsets, Word};
use crate::kernel::transfer;

/// Proof that the machine has AVX-512 F, BW, CD, DQ and VL, and all that AVX2's proof covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Self> {
        let found = avx2::Avx2::detect().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        found.then_some(Self(()))
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
}

// SAFETY: `keep` keeps the lanes of a mask that says `offset < length`, and their numbers, which are below those of the
// words; its tail is the portable one's, moved by the length of the body.
unsafe impl Simd for Avx512 {
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
    fn gather4(self, destination: &mut [[u8; 4]], table: &[[u8; 4]], offsets: Offsets<'_, [u8; 4]>) {
        // The instruction reads its offsets as signed.
        if offsets.limit() > 1 << 31 {
            return transfer::gather_each(destination, table, offsets);
        }
        assert!(offsets.limit() <= table.len() as u64 && offsets.len() == destination.len());
        let body = destination.len() / 16 * 16;
        let slots = destination[..body].as_chunks_mut::<16>().0;
        for (slots, words) in slots.iter_mut().zip(offsets.words().as_chunks::<16>().0) {
            // SAFETY: `self` proves AVX-512F. Each word is below `offsets.limit()`, which is at most `table.len()`
            // and 2^31: every lane reads one element of `table`. The store writes the 64 bytes of `slots`.
            unsafe {
                // The machine's prefetchers lose both streams among the other accesses. A prefetch faults at no address.
                _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_add(AHEAD).cast());
                _mm_prefetch::<_MM_HINT_ET0>(slots.as_ptr().wrapping_add(AHEAD).cast());
                let words = _mm512_loadu_si512(words.as_ptr().cast());
                let values = _mm512_i32gather_epi32::<4>(words, table.as_ptr().cast());
                _mm512_storeu_si512(slots.as_mut_ptr().cast(), values);
            }
        }
        transfer::gather_each(&mut destination[body..], table, offsets.part(body..offsets.len()));
    }

    #[inline(always)]
    fn add_f16(self, a: u16, b: u16) -> u16 {
        // SAFETY: `self` proves F16C and AVX2.
        unsafe { avx2::add_f16(a, b) }
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
