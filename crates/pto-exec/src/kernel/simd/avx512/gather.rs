//! Gathers of 4-byte elements by the instruction, and whether it is quicker than single loads.

use core::arch::x86_64::{
    __m512i, _MM_HINT_ET0, _MM_HINT_T0, _mm_prefetch, _mm512_cmpgt_epu32_mask, _mm512_i32gather_epi32,
    _mm512_loadu_si512, _mm512_mask_cmpgt_epu32_mask, _mm512_mask_i32gather_epi32, _mm512_mask_storeu_epi32,
    _mm512_maskz_loadu_epi32, _mm512_max_epi32, _mm512_min_epu32, _mm512_set1_epi32, _mm512_setzero_si512,
    _mm512_storeu_si512, _mm512_stream_si512,
};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::super::stream::LINE;
use super::super::{Landing, Simd, Streams, Task};
use super::{AHEAD, Avx512, Gathers, remainders};
use crate::kernel::cache::Caches;

impl Gathers {
    /// The quicker way on this machine, found out once, in 10 to 60 microseconds: nothing that can be read says how fast the
    /// instruction is. With the microcode of some machines it waits until whatever was stored past the caches has arrived, and
    /// takes twenty times as long as single loads. AMD's is made of single loads and more, so that there is nothing to try: from a
    /// near table it takes half as long again, and as long from others.
    pub(in super::super) fn quicker() -> Self {
        static QUICKER: OnceLock<Gathers> = OnceLock::new();
        *QUICKER.get_or_init(|| {
            if Caches::get().is_chiplet {
                return Self::ByLoads;
            }
            let [by_instruction, by_loads] = [Self::ByInstruction, Self::ByLoads].map(Avx512::detect);
            let (Some(by_instruction), Some(by_loads)) = (by_instruction, by_loads) else { return Self::ByLoads };
            let mut trial = Trial::new();
            // By turns, and the least of each: whatever else the machine does disturbs both. The first turns warm it up.
            let mut least = [Duration::MAX; 2];
            for turn in 0..9 {
                let times = [trial.time(by_instruction), trial.time(by_loads)];
                if turn > 0 {
                    least.iter_mut().zip(times).for_each(|(least, time)| *least = time.min(*least));
                }
            }
            if least[0] > 2 * least[1] { Self::ByLoads } else { Self::ByInstruction }
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

/// Lanes of a [`Trial`].
const TRIED: usize = 512;

/// A gather past the caches of a few hundred lanes. What it writes begins at a line, or nothing would go past the caches.
#[repr(C, align(64))]
struct Trial {
    found: [[u8; 4]; TRIED],
    words: [[u8; 4]; TRIED],
    table: [[u8; 4]; TRIED],
}

impl Trial {
    fn new() -> Self {
        let words = core::array::from_fn(|k| ((k * 97 % TRIED) as u32).to_le_bytes());
        Self { found: [[0; 4]; TRIED], words, table: words }
    }

    /// How long it takes.
    fn time(&mut self, proof: Avx512) -> Duration {
        let start = Instant::now();
        let past = Past { found: &mut self.found, table: &self.table, words: core::hint::black_box(&self.words) };
        // SAFETY: the proof is one of all the features that are enabled there.
        unsafe { super::enter(proof, past) };
        core::hint::black_box(&self.found);
        start.elapsed()
    }
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

impl Avx512 {
    /// [`Simd::gather4_landing`] by the instruction, from a table that signed offsets reach.
    #[inline(always)]
    pub(super) fn gather_landing(
        self,
        destination: &mut [[u8; 4]],
        table: &[[u8; 4]],
        words: &[[u8; 4]],
        landing: Landing,
        streams: Option<&Streams>,
    ) -> usize {
        assert!(words.len() == destination.len(), "each word has a slot");
        if table.is_empty() {
            return words.len();
        }
        let head = destination.as_ptr().align_offset(LINE).min(destination.len());
        let head = if streams.is_some() { head } else { 0 };
        let ((first, rest), (first_words, words)) = (destination.split_at_mut(head), words.split_at(head));
        // Each named once more, so that each has a loop of its own.
        macro_rules! gather {
            ($($landing:pat => $same:expr),*) => {
                match landing {
                    $(
                        $landing => self.gather16(first, table, first_words, $same, None)
                            + self.gather16(rest, table, words, $same, streams),
                    )*
                }
            };
        }
        gather!(
            Landing::Nearest { signed: false } => Landing::Nearest { signed: false },
            Landing::Nearest { signed: true } => Landing::Nearest { signed: true },
            Landing::Wrapped { modulus, signed: false } => Landing::Wrapped { modulus, signed: false },
            Landing::Wrapped { modulus, signed: true } => Landing::Wrapped { modulus, signed: true }
        )
    }

    /// 16 elements a turn, from a table that is not empty. What is written past the caches begins at a line.
    #[inline(always)]
    fn gather16(
        self,
        destination: &mut [[u8; 4]],
        table: &[[u8; 4]],
        words: &[[u8; 4]],
        landing: Landing,
        streams: Option<&Streams>,
    ) -> usize {
        assert!((1..=1 << 31).contains(&table.len()) && words.len() == destination.len());
        let last = (table.len() - 1) as i32;
        let ((slots, slots_tail), (words, words_tail)) = (destination.as_chunks_mut::<16>(), words.as_chunks::<16>());
        let lines = slots.as_ptr().cast::<u8>();
        assert!(
            streams.is_none() || slots.is_empty() || lines.align_offset(LINE) == 0,
            "a line begins at a multiple of 64"
        );
        let mut outside = 0;
        for (slots, words) in slots.iter_mut().zip(words) {
            // SAFETY: `self` proves AVX-512F. The load reads the 64 bytes of `words`. No offset exceeds `last`, which is not
            // negative: each lane reads one element of `table`. Either store writes the 64 bytes of `slots`; the first line is
            // aligned by the assertion, and so are all others, which follow it at distances of 64 bytes. A `Streams` waits for the
            // stores. A prefetch faults at no address.
            unsafe {
                // The machine's prefetchers lose both streams among the other accesses. Beyond these words there may be others of
                // the same run.
                _mm_prefetch::<_MM_HINT_T0>(words.as_ptr().wrapping_add(AHEAD).cast());
                let (words, last) = (_mm512_loadu_si512(words.as_ptr().cast()), _mm512_set1_epi32(last));
                outside += _mm512_cmpgt_epu32_mask(words, last).count_ones() as usize;
                let offsets = _mm512_min_epu32(land(words, landing), last);
                let values = _mm512_i32gather_epi32::<4>(offsets, table.as_ptr().cast());
                if streams.is_some() {
                    _mm512_stream_si512(slots.as_mut_ptr().cast(), values);
                } else {
                    _mm_prefetch::<_MM_HINT_ET0>(slots.as_ptr().wrapping_add(AHEAD).cast());
                    _mm512_storeu_si512(slots.as_mut_ptr().cast(), values);
                }
            }
        }
        if slots_tail.is_empty() {
            return outside;
        }
        let lanes = (1 << slots_tail.len()) - 1;
        // SAFETY: as above. `lanes` has a bit for each element of both tails, and nothing else is read or written.
        unsafe {
            let (words, last) = (_mm512_maskz_loadu_epi32(lanes, words_tail.as_ptr().cast()), _mm512_set1_epi32(last));
            outside += _mm512_mask_cmpgt_epu32_mask(lanes, words, last).count_ones() as usize;
            let offsets = _mm512_min_epu32(land(words, landing), last);
            let zero = _mm512_setzero_si512();
            let values = _mm512_mask_i32gather_epi32::<4>(zero, lanes, offsets, table.as_ptr().cast());
            _mm512_mask_storeu_epi32(slots_tail.as_mut_ptr().cast(), lanes, values);
        }
        outside
    }
}
