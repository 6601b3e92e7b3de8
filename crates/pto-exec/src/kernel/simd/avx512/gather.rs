//! Gathers of 4-byte elements by the instruction, and whether it is quicker than single loads.

use core::arch::x86_64::{
    _MM_HINT_ET0, _mm_prefetch, _mm512_cmplt_epu32_mask, _mm512_loadu_si512, _mm512_mask_cmplt_epu32_mask,
    _mm512_mask_i32gather_epi32, _mm512_mask_storeu_epi32, _mm512_maskz_loadu_epi32, _mm512_set1_epi32,
    _mm512_setzero_si512, _mm512_storeu_si512, _mm512_stream_si512,
};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::super::stream::LINE;
use super::super::{Simd, Streams, Task, prefetch_run};
use super::{AHEAD, Avx512, Gathers};

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
        for (k, (slots, line)) in slots.iter_mut().zip(words).enumerate() {
            // The machine's prefetchers lose the stream among the other accesses.
            prefetch_run(words, k + AHEAD / 16, 1);
            // SAFETY: `self` proves AVX-512F. The load reads the 64 bytes of `line`. Only words below `table.len()`, at
            // most 2^31, are in the mask: each lane of it reads one element of `table`. Either store writes the 64 bytes
            // of `slots`; the first line is aligned by the assertion, and so are all others, which follow it at
            // distances of 64 bytes. A `Streams` waits for the stores. A prefetch faults at no address.
            unsafe {
                let offsets = _mm512_loadu_si512(line.as_ptr().cast());
                let mask = _mm512_cmplt_epu32_mask(offsets, _mm512_set1_epi32(table.len() as i32));
                let zero = _mm512_setzero_si512();
                let values = _mm512_mask_i32gather_epi32::<4>(zero, mask, offsets, table.as_ptr().cast());
                if streams.is_some() {
                    _mm512_stream_si512(slots.as_mut_ptr().cast(), values);
                } else {
                    if k + AHEAD / 16 < words.len() {
                        _mm_prefetch::<_MM_HINT_ET0>(slots.as_ptr().wrapping_add(AHEAD).cast());
                    }
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
}
