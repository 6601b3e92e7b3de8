//! Gathers of 4-byte elements: eight words are resolved in a register and taken from there to eight loads, and sixteen elements are
//! stored at once: half a line would wait for the other half among the lines that are under way.
//!
//! Resolving a block first and gathering it then would leave the machine without a load under way in between, and looking at
//! words before they are used would take as long again where the table is near. Here a word that is out of range has an offset
//! like any other, and is counted on the way.

use core::arch::x86_64::{
    __m256i, _mm_cvtsi128_si64, _mm_extract_epi64, _mm256_castsi256_si128, _mm256_cmpeq_epi32,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_max_epi32, _mm256_min_epu32, _mm256_set1_epi32,
    _mm256_setr_epi32, _mm256_setzero_si256, _mm256_storeu_si256, _mm256_stream_si256, _mm256_sub_epi32,
};
use core::mem::transmute;

use super::super::stream::LINE;
use super::super::{Landing, Streams, portable, prefetch, prefetch_level};
use super::{Avx2, remainders};
use crate::kernel::cache::Caches;
use crate::kernel::offsets::Word;
use crate::kernel::transfer;

/// Words between asking for them and taking them.
const FAR_WORDS: usize = 256;

/// Turns after which what was counted is added up: it would overflow its lanes otherwise.
const COUNTED: usize = 1 << 20;

/// Eight words or elements.
type Eight = [[u8; 4]; 8];

/// Sixteen words or elements: a line.
type Sixteen = [[u8; 4]; 16];

/// Where eight words go; those beyond the last element are still there under [`Landing::Nearest`].
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
unsafe fn land(words: __m256i, landing: Landing) -> __m256i {
    // SAFETY: the caller vouches for AVX2; the instructions touch registers only.
    unsafe {
        match landing {
            Landing::Nearest { signed: false } => words,
            Landing::Nearest { signed: true } => _mm256_max_epi32(words, _mm256_setzero_si256()),
            Landing::Wrapped { modulus, signed } => remainders(words, modulus, signed),
        }
    }
}

/// The two halves of sixteen words.
#[inline(always)]
fn halves(words: &Sixteen) -> (&Eight, &Eight) {
    let [low, high]: &[Eight; 2] = bytemuck::cast_ref(words);
    (low, high)
}

/// The elements that eight words land on, and all ones for each of the words that is in range.
///
/// # Safety
/// The machine has AVX2, and the table an element.
#[inline(always)]
unsafe fn load(table: &[[u8; 4]], words: &Eight, landing: Landing) -> (__m256i, __m256i) {
    let last = (table.len() - 1).min(u32::MAX as usize);
    // SAFETY: `get` is called with lanes of `at` only, none of which exceeds `last`, the last element or one before it.
    let get = |offset: u64| unsafe { i32::from_le_bytes(*table.get_unchecked(offset as usize)) };
    let (even, odd) = (|pair: u64| get(pair & u64::from(u32::MAX)), |pair: u64| get(pair >> 32));
    // SAFETY: the caller vouches for AVX2. The load reads the 32 bytes of eight words; the other instructions touch registers only.
    unsafe {
        let last = _mm256_set1_epi32(last as u32 as i32);
        let words = _mm256_loadu_si256(words.as_ptr().cast());
        let inside = _mm256_cmpeq_epi32(_mm256_min_epu32(words, last), words);
        let at = _mm256_min_epu32(land(words, landing), last);
        let (low, high) = (_mm256_castsi256_si128(at), _mm256_extracti128_si256::<1>(at));
        let [a, b] = [_mm_cvtsi128_si64(low) as u64, _mm_extract_epi64::<1>(low) as u64];
        let [c, d] = [_mm_cvtsi128_si64(high) as u64, _mm_extract_epi64::<1>(high) as u64];
        (_mm256_setr_epi32(even(a), odd(a), even(b), odd(b), even(c), odd(c), even(d), odd(d)), inside)
    }
}

/// Asks for the elements that sixteen words land on, into the first-level cache or the second.
///
/// # Safety
/// The machine has AVX2.
#[inline(always)]
unsafe fn ask(table: &[[u8; 4]], words: &Sixteen, landing: Landing, into_first: bool) {
    if let Landing::Nearest { .. } = landing {
        return words.iter().for_each(|word| prefetch_level(table, word.get() as usize, into_first));
    }
    let (low, high) = halves(words);
    for words in [low, high] {
        // SAFETY: the caller vouches for AVX2. The load reads the 32 bytes of eight words, and any bits are eight numbers.
        let at: [u32; 8] = unsafe { transmute(land(_mm256_loadu_si256(words.as_ptr().cast()), landing)) };
        at.iter().for_each(|offset| prefetch_level(table, *offset as usize, into_first));
    }
}

/// [`Simd::gather4_landing`](super::super::Simd::gather4_landing), for AVX-512 as well, and apart from its callers: within one that has wider registers the compiler
/// would use these, which leaves a single port for insertions where there are two.
#[target_feature(enable = "avx2,f16c,bmi1,bmi2,popcnt")]
#[inline(never)]
pub(in super::super) fn gather4_landing(
    proof: Avx2,
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
    let ((slots, slots_tail), (sixteens, words_tail)) = (rest.as_chunks_mut::<16>(), words.as_chunks::<16>());
    // What words wrap to is found twice then, which was measured where slots come in time.
    let pays_asking = matches!(landing, Landing::Nearest { .. }) || Caches::get().brings_in_time();
    let ahead = if pays_asking { transfer::far_gathers(table, words) } else { &[] };
    proof.gather16(slots, table, (sixteens, ahead.as_chunks().0), landing, streams)
        + portable::gather4_landing(first, table, first_words, landing)
        + portable::gather4_landing(slots_tail, table, words_tail, landing)
}

impl Avx2 {
    /// [`Simd::gather4_landing`](super::super::Simd::gather4_landing), all that comes in sixteens. If streams are allowed, the first
    /// slot begins a line. The elements of `ahead` are asked for.
    #[inline(always)]
    fn gather16(
        self,
        slots: &mut [Sixteen],
        table: &[[u8; 4]],
        (words, ahead): (&[Sixteen], &[Sixteen]),
        landing: Landing,
        streams: Option<&Streams>,
    ) -> usize {
        let asked = ahead.len().min(words.len());
        let ((soon, slots), (soon_words, words)) = (slots.split_at_mut(asked), words.split_at(asked));
        // Each named once more, with streams and without, so that each has a loop of its own: asking in it what to do takes a third
        // longer, and a tenth where to store.
        macro_rules! gather {
            ($($landing:pat => $same:expr),*) => {
                match (landing, streams) {
                    $(
                        ($landing, Some(_)) => gather!(@turns $same, streams),
                        ($landing, None) => gather!(@turns $same, None),
                    )*
                }
            };
            (@turns $landing:expr, $streams:expr) => {
                self.gather_turns(soon, table, (soon_words, ahead), $landing, $streams)
                    + self.gather_turns(slots, table, (words, &[]), $landing, $streams)
            };
        }
        gather!(
            Landing::Nearest { signed: false } => Landing::Nearest { signed: false },
            Landing::Nearest { signed: true } => Landing::Nearest { signed: true },
            Landing::Wrapped { modulus, signed: false } => Landing::Wrapped { modulus, signed: false },
            Landing::Wrapped { modulus, signed: true } => Landing::Wrapped { modulus, signed: true }
        )
    }

    #[inline(always)]
    fn gather_turns(
        self,
        slots: &mut [Sixteen],
        table: &[[u8; 4]],
        (all, ahead): (&[Sixteen], &[Sixteen]),
        landing: Landing,
        streams: Option<&Streams>,
    ) -> usize {
        if table.is_empty() {
            return all.len() * 16;
        }
        let aligned = slots.as_ptr().cast::<u8>().align_offset(LINE) == 0;
        assert!(streams.is_none() || slots.is_empty() || aligned, "a line begins at a multiple of 64");
        let (mut inside, into_first) = (0, Caches::get().reaches_l3());
        for (block, (slots, words)) in slots.chunks_mut(COUNTED).zip(all.chunks(COUNTED)).enumerate() {
            // SAFETY: `self` proves AVX2, and the table is not empty. Each store writes the 32 bytes of eight slots, aligned by the assertion for the first of
            // all, and so for the others, which follow at distances of 32 bytes, where that is asked for. A `Streams` waits for
            // its stores.
            unsafe {
                let mut counts = _mm256_setzero_si256();
                for (k, (slots, words)) in slots.iter_mut().zip(words).enumerate() {
                    // The machine's prefetchers lose the stream among the other accesses.
                    prefetch(all, block * COUNTED + k + FAR_WORDS / 16);
                    if let Some(far) = ahead.get(block * COUNTED + k) {
                        ask(table, far, landing, into_first);
                    }
                    let (low_words, high_words) = halves(words);
                    let (low, low_inside) = load(table, low_words, landing);
                    let (high, high_inside) = load(table, high_words, landing);
                    counts = _mm256_sub_epi32(_mm256_sub_epi32(counts, low_inside), high_inside);
                    let to = slots.as_mut_ptr().cast::<__m256i>();
                    if streams.is_some() {
                        _mm256_stream_si256(to, low);
                        _mm256_stream_si256(to.add(1), high);
                    } else {
                        _mm256_storeu_si256(to, low);
                        _mm256_storeu_si256(to.add(1), high);
                    }
                }
                inside += transmute::<__m256i, [u32; 8]>(counts).map(|count| count as usize).iter().sum::<usize>();
            }
        }
        all.len() * 16 - inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::modulus::Modulus;

    #[test]
    fn sixteens_land_whatever_is_asked_for_with_them() {
        let Some(proof) = Avx2::detect() else { return };
        let table: Vec<[u8; 4]> = (100..150u32).map(u32::to_le_bytes).collect();
        let words: Vec<[u8; 4]> = (0..160u32).map(|k| k.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
        let (sixteens, modulus) = (words.as_chunks::<16>().0, Modulus::new(50, true));
        let landings = [true, false].map(|signed| [Landing::Nearest { signed }, Landing::Wrapped { modulus, signed }]);
        for landing in landings.into_iter().flatten() {
            let mut expected = vec![[0; 4]; words.len()];
            let outside = portable::gather4_landing(&mut expected, &table, &words, landing);
            for asked in 0..=sixteens.len() {
                let mut found = vec![[0; 4]; words.len()];
                let slots = found.as_chunks_mut().0;
                let counted = proof.gather16(slots, &table, (sixteens, &sixteens[..asked]), landing, None);
                assert_eq!((found, counted), (expected.clone(), outside), "{landing:?}, {asked} asked for");
            }
        }
    }
}
