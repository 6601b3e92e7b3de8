//! Gathers of 4-byte elements: by the instruction, or by single loads where that is slow.

use core::arch::x86_64::{
    __m128i, __m512i, __mmask16, _MM_HINT_ET0, _MM_HINT_T0, _mm_cvtsi128_si64, _mm_extract_epi64, _mm_prefetch,
    _mm_setr_epi32, _mm256_set_m128i, _mm512_castsi256_si512, _mm512_castsi512_si128, _mm512_cmpeq_epu32_mask,
    _mm512_cmplt_epu32_mask, _mm512_extracti32x4_epi32, _mm512_inserti64x4, _mm512_loadu_si512,
    _mm512_mask_cmplt_epu32_mask, _mm512_mask_i32gather_epi32, _mm512_mask_storeu_epi32, _mm512_maskz_loadu_epi32,
    _mm512_max_epi32, _mm512_min_epu32, _mm512_set1_epi32, _mm512_setzero_si512, _mm512_storeu_si512,
    _mm512_stream_si512,
};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::super::stream::LINE;
use super::super::{Landing, Simd, Streams, Task, prefetch, prefetch_far};
use super::{AHEAD, Avx512, Gathers, remainders};
use crate::kernel::offsets::Word;
use crate::kernel::transfer;

/// Words between asking for them and loading them.
const FAR_WORDS: usize = 512;

impl Gathers {
    /// The quicker way on this machine, found out once, in 10 to 50 microseconds: nothing that can be read says how fast the
    /// instruction is. With the microcode of some machines it waits until whatever was stored past the caches has arrived, and
    /// takes twenty times as long as single loads.
    pub(in super::super) fn quicker() -> Self {
        static QUICKER: OnceLock<Gathers> = OnceLock::new();
        *QUICKER.get_or_init(|| {
            let time = |gathers| Avx512::detect(gathers).map_or(Duration::ZERO, time_gathers);
            match time(Self::ByInstruction) > 2 * time(Self::ByLoads) {
                true => Self::ByLoads,
                false => Self::ByInstruction,
            }
        })
    }

    /// The other way.
    pub(in super::super) fn other(self) -> Self {
        match self {
            Self::ByInstruction => Self::ByLoads,
            Self::ByLoads => Self::ByInstruction,
        }
    }
}

/// The least time of some gathers of a thousand lanes, past the caches.
fn time_gathers(proof: Avx512) -> Duration {
    let words: [[u8; 4]; 1024] = core::array::from_fn(|k| (k as u32 * 97 % 1024).to_le_bytes());
    let (table, mut found) = (words, [[0; 4]; 1024]);
    let turns = (0..4).map(|_| {
        let start = Instant::now();
        // SAFETY: the proof is one of all the features that are enabled there.
        unsafe { super::enter(proof, Past { found: &mut found, table: &table, words: core::hint::black_box(&words) }) };
        core::hint::black_box(&found);
        start.elapsed()
    });
    turns.min().unwrap_or_default()
}

struct Past<'a> {
    found: &'a mut [[u8; 4]],
    table: &'a [[u8; 4]],
    words: &'a [[u8; 4]],
}

impl Task for Past<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        simd.gather4(self.found, self.table, self.words, Some(&Streams::new()))
    }
}

/// Where sixteen words go; those beyond the last element are still there under [`Landing::Nearest`].
///
/// # Safety
/// The machine has AVX-512F.
#[inline(always)]
unsafe fn land(words: __m512i, landing: Landing) -> __m512i {
    // SAFETY: the caller vouches for AVX-512F; the instructions touch registers only.
    unsafe {
        match landing {
            Landing::Nearest { signed: false } => words,
            Landing::Nearest { signed: true } => _mm512_max_epi32(words, _mm512_setzero_si512()),
            Landing::Wrapped { modulus, signed } => remainders(words, modulus, signed),
        }
    }
}

/// Four elements of a table.
///
/// # Safety
/// The machine has AVX2, and the table all of these elements.
#[inline(always)]
unsafe fn four(table: &[[u8; 4]], at: __m128i) -> __m128i {
    // SAFETY: the caller vouches for both; the instructions touch registers only.
    unsafe {
        let get = |offset: u64| i32::from_le_bytes(*table.get_unchecked(offset as usize));
        let (even, odd) = (|pair: u64| get(pair & u64::from(u32::MAX)), |pair: u64| get(pair >> 32));
        let (a, b) = (_mm_cvtsi128_si64(at) as u64, _mm_extract_epi64::<1>(at) as u64);
        _mm_setr_epi32(even(a), odd(a), even(b), odd(b))
    }
}

/// The elements that sixteen words land on, and which of the words are in range. The table has an element.
///
/// # Safety
/// The machine has AVX-512F and AVX2.
#[inline(always)]
unsafe fn load(table: &[[u8; 4]], words: __m512i, landing: Landing) -> (__m512i, __mmask16) {
    let last = (table.len() - 1).min(u32::MAX as usize);
    // SAFETY: the caller vouches for the features. No lane of `at` exceeds `last`, so that all are below the table's length. The
    // other instructions touch registers only.
    unsafe {
        let last = _mm512_set1_epi32(last as u32 as i32);
        let inside = _mm512_cmpeq_epu32_mask(_mm512_min_epu32(words, last), words);
        let at = _mm512_min_epu32(land(words, landing), last);
        let a = four(table, _mm512_castsi512_si128(at));
        let b = four(table, _mm512_extracti32x4_epi32::<1>(at));
        let c = four(table, _mm512_extracti32x4_epi32::<2>(at));
        let d = four(table, _mm512_extracti32x4_epi32::<3>(at));
        let low = _mm512_castsi256_si512(_mm256_set_m128i(b, a));
        (_mm512_inserti64x4::<1>(low, _mm256_set_m128i(d, c)), inside)
    }
}

impl Avx512 {
    /// [`Simd::gather4`], 16 elements a turn, from a table that signed offsets reach. What is written past the caches begins
    /// at a line.
    #[inline(always)]
    pub(super) fn gather16(
        self,
        destination: &mut [[u8; 4]],
        table: &[[u8; 4]],
        words: &[[u8; 4]],
        streams: Option<&Streams>,
    ) -> bool {
        assert!(table.len() <= 1 << 31 && words.len() == destination.len());
        let ((slots, slots_tail), (words, words_tail)) = (destination.as_chunks_mut::<16>(), words.as_chunks::<16>());
        let lines = slots.as_ptr().cast::<u8>();
        assert!(
            streams.is_none() || slots.is_empty() || lines.align_offset(LINE) == 0,
            "a line begins at a multiple of 64"
        );
        let mut inside = !0;
        for (slots, words) in slots.iter_mut().zip(words) {
            // SAFETY: `self` proves AVX-512F. The load reads the 64 bytes of `words`. Only words below `table.len()`, at
            // most 2^31, are in the mask: each lane of it reads one element of `table`. Either store writes the 64 bytes
            // of `slots`; the first line is aligned by the assertion, and so are all others, which follow it at
            // distances of 64 bytes. A `Streams` waits for the stores. A prefetch faults at no address.
            unsafe {
                // The machine's prefetchers lose both streams among the other accesses.
                _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_add(AHEAD).cast());
                let words = _mm512_loadu_si512(words.as_ptr().cast());
                let mask = _mm512_cmplt_epu32_mask(words, _mm512_set1_epi32(table.len() as i32));
                let zero = _mm512_setzero_si512();
                let values = _mm512_mask_i32gather_epi32::<4>(zero, mask, words, table.as_ptr().cast());
                if streams.is_some() {
                    _mm512_stream_si512(slots.as_mut_ptr().cast(), values);
                } else {
                    _mm_prefetch::<_MM_HINT_ET0>(slots.as_ptr().wrapping_add(AHEAD).cast());
                    _mm512_storeu_si512(slots.as_mut_ptr().cast(), values);
                }
                inside &= mask;
            }
        }
        if slots_tail.is_empty() {
            return inside == !0;
        }
        let lanes = (1 << slots_tail.len()) - 1;
        // SAFETY: as above. `lanes` has a bit for each element of both tails, and nothing else is read or written.
        unsafe {
            let words = _mm512_maskz_loadu_epi32(lanes, words_tail.as_ptr().cast());
            let mask = _mm512_mask_cmplt_epu32_mask(lanes, words, _mm512_set1_epi32(table.len() as i32));
            let zero = _mm512_setzero_si512();
            let values = _mm512_mask_i32gather_epi32::<4>(zero, mask, words, table.as_ptr().cast());
            _mm512_mask_storeu_epi32(slots_tail.as_mut_ptr().cast(), lanes, values);
            inside == !0 && mask == lanes
        }
    }

    /// [`Simd::gather4_landing`], as many slots as words, of a table that has an element. What is written past the caches begins
    /// at a line.
    #[inline(always)]
    pub(super) fn load16(
        self,
        destination: &mut [[u8; 4]],
        table: &[[u8; 4]],
        words: &[[u8; 4]],
        landing: Landing,
        streams: Option<&Streams>,
    ) -> usize {
        // Each named once more, so that each has a loop of its own: asking in it what to do takes a third longer.
        macro_rules! load {
            ($($landing:pat => $same:expr),*) => {
                match landing {
                    $($landing => self.load_turns(destination, table, words, $same, streams),)*
                }
            };
        }
        load!(
            Landing::Nearest { signed: false } => Landing::Nearest { signed: false },
            Landing::Nearest { signed: true } => Landing::Nearest { signed: true },
            Landing::Wrapped { modulus, signed: false } => Landing::Wrapped { modulus, signed: false },
            Landing::Wrapped { modulus, signed: true } => Landing::Wrapped { modulus, signed: true }
        )
    }

    #[inline(always)]
    fn load_turns(
        self,
        destination: &mut [[u8; 4]],
        table: &[[u8; 4]],
        words: &[[u8; 4]],
        landing: Landing,
        streams: Option<&Streams>,
    ) -> usize {
        assert!(!table.is_empty() && words.len() == destination.len());
        // What a word wraps to is not known yet.
        let goes_where_it_says = matches!(landing, Landing::Nearest { .. });
        let ahead = if goes_where_it_says { transfer::far_gathers(table, words) } else { &[] };
        let ahead = ahead.as_chunks::<16>().0;
        let ((slots, slots_tail), (words, words_tail)) = (destination.as_chunks_mut::<16>(), words.as_chunks::<16>());
        let aligned = slots.as_ptr().cast::<u8>().align_offset(LINE) == 0;
        assert!(streams.is_none() || slots.is_empty() || aligned, "a line begins at a multiple of 64");
        let mut outside = 0;
        for (k, (slots, words)) in slots.iter_mut().zip(words).enumerate() {
            // The machine's prefetchers lose the stream among the other accesses.
            prefetch(words, FAR_WORDS);
            if let Some(far) = ahead.get(k) {
                far.iter().for_each(|word| prefetch_far(table, word.get() as usize));
            }
            // SAFETY: `self` proves AVX-512F and AVX2. The load reads the 64 bytes of sixteen words, either store writes the 64 of
            // sixteen slots; the first line is aligned by the assertion, and so are all others, which follow it at distances of
            // 64 bytes. A `Streams` waits for its stores.
            unsafe {
                let (values, inside) = load(table, _mm512_loadu_si512(words.as_ptr().cast()), landing);
                if streams.is_some() {
                    _mm512_stream_si512(slots.as_mut_ptr().cast(), values);
                } else {
                    _mm512_storeu_si512(slots.as_mut_ptr().cast(), values);
                }
                outside += inside.count_zeros() as usize;
            }
        }
        if slots_tail.is_empty() {
            return outside;
        }
        let lanes = (1 << slots_tail.len()) - 1;
        // SAFETY: as above. `lanes` has a bit for each element of both tails, and nothing else is read or written.
        unsafe {
            let words = _mm512_maskz_loadu_epi32(lanes, words_tail.as_ptr().cast());
            let (values, inside) = load(table, words, landing);
            _mm512_mask_storeu_epi32(slots_tail.as_mut_ptr().cast(), lanes, values);
            // Lanes that are not there are zero, which is in range.
            outside + inside.count_zeros() as usize
        }
    }
}
