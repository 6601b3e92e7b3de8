//! Gathers of 4-byte elements: eight words are resolved in a register and taken from there to eight loads.
//!
//! Resolving a block first and gathering it then would leave the machine without a load under way in between, and looking at
//! words before they are used would take as long again where the table is near. Here a word that is out of range has an offset
//! like any other, and is counted on the way.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi128_si64, _mm_extract_epi64, _mm256_add_epi32, _mm256_and_si256, _mm256_blend_epi32,
    _mm256_castsi256_si128, _mm256_cmpeq_epi32, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_max_epi32,
    _mm256_min_epu32, _mm256_mul_epu32, _mm256_mullo_epi32, _mm256_set1_epi32, _mm256_setr_epi32, _mm256_setzero_si256,
    _mm256_srai_epi32, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_stream_si256, _mm256_sub_epi32, _mm256_xor_si256,
};
use core::mem::transmute;

use super::super::stream::LINE;
use super::super::{Landing, Streams, portable, prefetch, prefetch_far};
use super::Avx2;
use crate::kernel::modulus::Modulus;
use crate::kernel::offsets::Word;
use crate::kernel::transfer;

/// Turns after which what was counted is added up: it would overflow its lanes otherwise.
const COUNTED: usize = 1 << 20;

/// Words between asking for them and asking for their elements.
const FAR_WORDS: usize = 384;

/// Slots and their words, eight at a time.
struct Eights<'a> {
    slots: &'a mut [[[u8; 4]; 8]],
    words: &'a [[[u8; 4]; 8]],
}

/// What becomes of eight words.
trait Land: Copy {
    /// # Safety
    /// The machine has AVX2.
    unsafe fn land(self, words: __m256i) -> __m256i;
}

#[derive(Clone, Copy)]
struct AsIs;

impl Land for AsIs {
    #[inline(always)]
    unsafe fn land(self, words: __m256i) -> __m256i {
        words
    }
}

/// A negative word goes to the first slot.
#[derive(Clone, Copy)]
struct NotNegative;

impl Land for NotNegative {
    #[inline(always)]
    unsafe fn land(self, words: __m256i) -> __m256i {
        // SAFETY: the caller vouches for AVX2; the instructions touch registers only.
        unsafe { _mm256_max_epi32(words, _mm256_setzero_si256()) }
    }
}

#[derive(Clone, Copy)]
struct Remainder(Modulus);

impl Land for Remainder {
    #[inline(always)]
    unsafe fn land(self, words: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { remainders(words, self.0) }
    }
}

#[derive(Clone, Copy)]
struct SignedRemainder(Modulus);

impl Land for SignedRemainder {
    #[inline(always)]
    unsafe fn land(self, words: __m256i) -> __m256i {
        // SAFETY: as above.
        unsafe { signed_remainders(words, self.0) }
    }
}

/// The remainders of eight words. The compiler would widen and narrow all of them for the products.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn remainders(words: __m256i, modulus: Modulus) -> __m256i {
    // SAFETY: the caller vouches for AVX2; the instructions touch registers only.
    unsafe {
        let divisor = _mm256_set1_epi32(modulus.divisor as i32);
        let reciprocal = _mm256_set1_epi32(modulus.reciprocal as i32);
        let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(words, reciprocal));
        let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(words), reciprocal);
        let quotients = _mm256_blend_epi32::<0xaa>(even, odd);
        let rests = _mm256_sub_epi32(words, _mm256_mullo_epi32(quotients, divisor));
        // One divisor too much at the most, and then the difference is the smaller of the two.
        _mm256_min_epu32(rests, _mm256_sub_epi32(rests, divisor))
    }
}

/// As [`remainders`] for signed words; none is negative.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
pub(super) unsafe fn signed_remainders(words: __m256i, modulus: Modulus) -> __m256i {
    // SAFETY: as above.
    unsafe {
        // The complement of a negative number is not negative, and counts from the other end.
        let signs = _mm256_srai_epi32::<31>(words);
        let rests = remainders(_mm256_xor_si256(words, signs), modulus);
        let divisor = _mm256_set1_epi32(modulus.divisor as i32);
        _mm256_add_epi32(_mm256_xor_si256(rests, signs), _mm256_and_si256(divisor, signs))
    }
}

impl Avx2 {
    /// [`Simd::gather4_landing`](super::super::Simd::gather4_landing)
    #[inline(always)]
    pub(super) fn gather_landing(
        self,
        destination: &mut [[u8; 4]],
        table: &[[u8; 4]],
        words: &[[u8; 4]],
        landing: Landing,
        streams: Option<&Streams>,
    ) -> usize {
        assert!(words.len() == destination.len());
        let head = destination.as_ptr().align_offset(LINE).min(destination.len());
        let head = if streams.is_some() { head } else { 0 };
        let ((first, rest), (first_words, words)) = (destination.split_at_mut(head), words.split_at(head));
        let ((slots, slots_tail), (eights, words_tail)) = (rest.as_chunks_mut::<8>(), words.as_chunks::<8>());
        // What a word wraps to is not known yet.
        let goes_where_it_says = matches!(landing, Landing::Nearest { .. });
        let ahead = if goes_where_it_says { transfer::far_gathers(table, words) } else { &[] };
        let body = (Eights { slots, words: eights }, ahead);
        let outside = match landing {
            Landing::Nearest { signed: false } => self.gather_eights(table, body, AsIs, streams),
            Landing::Nearest { signed: true } => self.gather_eights(table, body, NotNegative, streams),
            Landing::Wrapped { modulus, signed: false } => self.gather_eights(table, body, Remainder(modulus), streams),
            Landing::Wrapped { modulus, signed: true } => {
                self.gather_eights(table, body, SignedRemainder(modulus), streams)
            }
        };
        outside
            + portable::gather4_landing(first, table, first_words, landing)
            + portable::gather4_landing(slots_tail, table, words_tail, landing)
    }

    #[inline(always)]
    fn gather_eights<L: Land>(
        self,
        table: &[[u8; 4]],
        (Eights { slots, words }, ahead): (Eights<'_>, &[[u8; 4]]),
        land: L,
        streams: Option<&Streams>,
    ) -> usize {
        let far = ahead.as_chunks::<8>().0;
        let asked = far.len().min(words.len());
        let ((near_slots, slots), (near_words, words)) = (slots.split_at_mut(asked), words.split_at(asked));
        let ask = |at: usize| {
            // The machine's prefetchers lose the stream among the other accesses.
            prefetch(far, at + FAR_WORDS / 8);
            far[at].iter().for_each(|word| prefetch_far(table, word.get() as usize));
        };
        let near = Eights { slots: near_slots, words: near_words };
        self.gather_asking(table, near, land, (streams, ask))
            + self.gather_asking(table, Eights { slots, words }, land, (streams, |_| ()))
    }

    #[inline(always)]
    fn gather_asking<L: Land>(
        self,
        table: &[[u8; 4]],
        Eights { slots, words }: Eights<'_>,
        land: L,
        (streams, ask): (Option<&Streams>, impl Fn(usize)),
    ) -> usize {
        let Some(last) = table.len().checked_sub(1) else { return words.len() * 8 };
        let aligned = slots.as_ptr().cast::<u8>().align_offset(size_of::<__m256i>()) == 0;
        assert!(streams.is_none() || slots.is_empty() || aligned, "a register is stored to a multiple of 32");
        // SAFETY: `get` is called with lanes of `at` only, none of which exceeds `last`, so that they are below the table's length.
        let get = |offset: u64| unsafe { i32::from_le_bytes(*table.get_unchecked(offset as usize)) };
        let mut inside = 0;
        for (block, (slots, words)) in slots.chunks_mut(COUNTED).zip(words.chunks(COUNTED)).enumerate() {
            // SAFETY: `self` proves AVX2. Each load reads the 32 bytes of eight words, each store writes the 32 of eight slots,
            // aligned by the assertion for the first of all, and so for the others, which follow at distances of 32 bytes, where
            // that is asked for. A `Streams` waits for its stores.
            unsafe {
                let last = _mm256_set1_epi32(last.min(u32::MAX as usize) as u32 as i32);
                let mut counts = _mm256_setzero_si256();
                for (k, (slots, words)) in slots.iter_mut().zip(words).enumerate() {
                    ask(block * COUNTED + k);
                    let words = _mm256_loadu_si256(words.as_ptr().cast());
                    counts = _mm256_sub_epi32(counts, _mm256_cmpeq_epi32(_mm256_min_epu32(words, last), words));
                    let at = _mm256_min_epu32(land.land(words), last);
                    let (low, high) = (_mm256_castsi256_si128(at), _mm256_extracti128_si256::<1>(at));
                    let [a, b] = [_mm_cvtsi128_si64(low) as u64, _mm_extract_epi64::<1>(low) as u64];
                    let [c, d] = [_mm_cvtsi128_si64(high) as u64, _mm_extract_epi64::<1>(high) as u64];
                    let (even, odd) = (|pair: u64| get(pair & u64::from(u32::MAX)), |pair: u64| get(pair >> 32));
                    let values = _mm256_setr_epi32(even(a), odd(a), even(b), odd(b), even(c), odd(c), even(d), odd(d));
                    if streams.is_some() {
                        _mm256_stream_si256(slots.as_mut_ptr().cast(), values);
                    } else {
                        _mm256_storeu_si256(slots.as_mut_ptr().cast(), values);
                    }
                }
                inside += transmute::<__m256i, [u32; 8]>(counts).map(|count| count as usize).iter().sum::<usize>();
            }
        }
        words.len() * 8 - inside
    }
}
