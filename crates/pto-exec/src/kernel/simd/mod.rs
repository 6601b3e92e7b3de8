//! Vector instruction sets: which the machine has, and the few operations that a compiler does not find by itself.
//!
//! A kernel is a [`Task`]: plain Rust over a [`Simd`] value, inlined whole into one function per instruction set, so
//! that its loops are vectorised with that set's registers. A [`Backend`] holds the proof that the set is there; it
//! is chosen once, and its features are looked up nowhere else.
#![expect(unsafe_code, reason = "entering a function with more features than the program was built for is unsafe")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod portable;
mod stream;

use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use avx512::{Avx512, Gathers};
pub(crate) use portable::Portable;
pub(crate) use stream::{LINE, Line, StreamCopy, Streams};

use super::modulus::Modulus;
use super::offsets::Word;

/// Operations whose best form depends on the instruction set.
///
/// # Safety
/// What [`keep`](Self::keep), [`keep_values`](Self::keep_values) and [`are_below`](Self::are_below) return is true: that many
/// words of `kept` are below `length`, all words are below `limit`. They are used as offsets without another look.
pub(crate) unsafe trait Simd: Copy + Send + Sync {
    /// True if all words are below a limit.
    #[inline(always)]
    fn are_below<W: Word>(self, words: &[W], limit: u64) -> bool {
        portable::are_below(words, limit)
    }

    /// Moves the words `w` with `w - base < length` to the front of `kept`, less `base`, and where they stood to
    /// `positions`; returns how many there are. The rest of both outputs is scratch.
    ///
    /// # Panics
    /// If an output is shorter than `words`, rounded up to 16.
    #[inline(always)]
    fn keep<W: Word>(self, words: &[W], base: u64, length: u64, kept: &mut [W], positions: &mut [u32]) -> usize {
        portable::keep(words, base, length, kept, positions)
    }

    /// As [`keep`](Self::keep) for words of 4 bytes, with the values that go with the words instead of where they stood.
    ///
    /// # Panics
    /// If an output is shorter than `words`, rounded up to 16, or there are not as many values as words.
    #[inline(always)]
    fn keep_values<const N: usize>(
        self,
        (words, values): (&[[u8; 4]], &[[u8; N]]),
        range: (u64, u64),
        kept: &mut [[u8; 4]],
        kept_values: &mut [[u8; N]],
    ) -> usize {
        portable::keep_values((words, values), range, kept, kept_values)
    }

    /// The remainder of each word, which may be a signed number; none is negative.
    ///
    /// # Panics
    /// If there are not as many words as remainders.
    #[inline(always)]
    fn remainders<W: Word>(self, words: &[W], modulus: Modulus, signed: bool, remainders: &mut [W]) {
        portable::remainders(words, modulus, signed, remainders);
    }

    /// `destination[k] = table[words[k]]` for elements of 4 bytes and words of 4 bytes, past the caches if allowed. False if
    /// a word is not below the table's length; anything may have been written then.
    ///
    /// # Panics
    /// If there are not as many slots as words.
    #[inline(always)]
    fn gather4(
        self,
        destination: &mut [[u8; 4]],
        table: &[[u8; 4]],
        words: &[[u8; 4]],
        streams: Option<&Streams>,
    ) -> bool {
        self.gather4_landing(destination, table, words, Landing::Nearest { signed: false }, streams) == 0
    }

    /// From which tables [`gather4_landing`](Self::gather4_landing) is quicker than resolving words before they are gathered.
    #[inline(always)]
    fn lands(self) -> Lands {
        Lands::Never
    }

    /// As [`gather4`](Self::gather4), where words that are not below the table's length land on another of its elements;
    /// returns how many there are. From an empty table nothing is gathered.
    ///
    /// # Panics
    /// If there are not as many slots as words.
    #[inline(always)]
    fn gather4_landing(
        self,
        destination: &mut [[u8; 4]],
        table: &[[u8; 4]],
        words: &[[u8; 4]],
        landing: Landing,
        _: Option<&Streams>,
    ) -> usize {
        portable::gather4_landing(destination, table, words, landing)
    }

    /// Stores one line past the caches, in as few stores as there can be: until all of a line has come, it takes up one of the
    /// places where lines wait. The [`Streams`] waits for it.
    #[inline(always)]
    fn stream_line(self, line: &mut Line, from: &[u8; LINE], _: &Streams) {
        stream::stream_line(line, from);
    }

    /// The sum of two f16, given and returned as bits, rounded to nearest even.
    fn add_f16(self, a: u16, b: u16) -> u16;

    /// The sum of an f16, given as bits, and the [widened](Self::widen_f16) value of another.
    fn add_wide_f16(self, a: u16, b: f32) -> u16;

    /// The values of f16 as f32, as many as both have.
    fn widen_f16(self, halves: &[[u8; 2]], wide: &mut [f32]);

    /// Adds a row of f16 to another of the same length.
    #[inline(always)]
    fn add_f16_row(self, row: &mut [[u8; 2]], other: &[[u8; 2]]) {
        for (slot, value) in row.iter_mut().zip(other) {
            *slot = self.add_f16(u16::from_le_bytes(*slot), u16::from_le_bytes(*value)).to_le_bytes();
        }
    }
}

/// From which tables words are resolved in registers, on their way to the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lands {
    /// From none.
    Never,
    /// From those that a [gather instruction](super::transfer::are_gathered) reads.
    ByInstruction,
    /// From all: by single loads, which are quicker than any such instruction.
    ByLoads,
}

impl Lands {
    /// True for a table that a gather instruction would read, or not.
    #[inline(always)]
    pub(crate) fn covers(self, is_gathered: bool) -> bool {
        match self {
            Self::Never => false,
            Self::ByInstruction => is_gathered,
            Self::ByLoads => true,
        }
    }
}

/// Where words that are out of range go.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Landing {
    /// To the nearest element.
    Nearest {
        /// Words are signed: the nearest to a negative one is the first.
        signed: bool,
    },
    /// To their remainder.
    Wrapped {
        /// The table's length.
        modulus: Modulus,
        /// Words are signed.
        signed: bool,
    },
}

/// Work that is compiled once for every instruction set.
pub(crate) trait Task {
    /// What it returns.
    type Output;

    /// Does the work. Implementations are `#[inline(always)]`, as is everything they call in their loops.
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// A vector instruction set that this machine has.
///
/// The results are the same with every one, but for the bits of a NaN; [`best`](Self::best) is what an [`Engine`](crate::host::Engine) uses.
///
/// ```
/// use pto_exec::host::Backend;
/// assert!(Backend::available().any(|backend| backend == Backend::best()));
/// assert_eq!(Backend::PORTABLE.name(), "portable");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backend(Level);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
}

impl Backend {
    /// No vector instructions beyond those the program was compiled for.
    pub const PORTABLE: Self = Self(Level::Portable);

    /// AVX2 with F16C, if the machine has both.
    pub fn avx2() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return Avx2::detect().map(|proof| Self(Level::Avx2(proof)));
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// AVX-512 (F, BW, CD, DQ, VL), if the machine has it; with its gather instruction, or with single loads where these are
    /// quicker.
    pub fn avx512() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return Avx512::detect(Gathers::quicker()).map(|proof| Self(Level::Avx512(proof)));
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// As [`avx512`](Self::avx512) with the slower way of gathers.
    fn avx512_slower() -> Option<Self> {
        #[cfg(target_arch = "x86_64")]
        return Avx512::detect(Gathers::quicker().other()).map(|proof| Self(Level::Avx512(proof)));
        #[cfg(not(target_arch = "x86_64"))]
        None
    }

    /// Every backend of this machine, the portable one first and the best one last.
    pub fn available() -> impl Iterator<Item = Self> {
        [Some(Self::PORTABLE), Self::avx2(), Self::avx512_slower(), Self::avx512()].into_iter().flatten()
    }

    /// The fastest backend of this machine; found out once.
    pub fn best() -> Self {
        static BEST: OnceLock<Backend> = OnceLock::new();
        *BEST.get_or_init(|| Self::available().last().unwrap_or(Self::PORTABLE))
    }

    /// `portable`, `avx2`, `avx512`, or `avx512-loads` for AVX-512 without its gather instruction.
    pub const fn name(self) -> &'static str {
        match self.0 {
            Level::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(proof) => proof.name(),
        }
    }

    /// Runs a task with this instruction set.
    #[inline(always)]
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output {
        match self.0 {
            Level::Portable => portable::enter(task),
            // SAFETY: a value of `Avx2` exists only where its features were detected.
            #[cfg(target_arch = "x86_64")]
            Level::Avx2(proof) => unsafe { avx2::enter(proof, task) },
            // SAFETY: a value of `Avx512` exists only where its features were detected.
            #[cfg(target_arch = "x86_64")]
            Level::Avx512(proof) => unsafe { avx512::enter(proof, task) },
        }
    }
}

/// Runs a task without more features than the program was built for: loops that no vector unit speeds up need not be
/// compiled several times.
#[inline(always)]
pub(crate) fn run_plain<T: Task>(task: T) -> T::Output {
    task.run(Portable)
}

/// Asks for the cache line at `table[at]`; any `at` is fine.
#[inline(always)]
pub(crate) fn prefetch<T>(table: &[T], at: usize) {
    // SAFETY: SSE is part of x86-64, and a prefetch faults at no address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(table.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, at);
}

/// Four numbers by one load, each at the bottom of a vector register of its own. Left to itself, the compiler loads them one by one.
#[inline(always)]
pub(crate) fn load_apart(four: &[[u8; 4]; 4]) -> [f32; 4] {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_mm_cvtss_f32, _mm_loadu_ps, _mm_movehl_ps, _mm_shuffle_ps};
        // SAFETY: SSE is part of x86-64. The load reads the 16 bytes of `four`. The assembly has no instruction: all that it does is
        // to keep the compiler from knowing what is in the register.
        unsafe {
            let mut all = _mm_loadu_ps(four.as_ptr().cast());
            core::arch::asm!("/* {} */", inout(xmm_reg) all, options(pure, nomem, nostack, preserves_flags));
            let second = _mm_shuffle_ps::<0b01_01_01_01>(all, all);
            let fourth = _mm_shuffle_ps::<0b11_11_11_11>(all, all);
            [all, second, _mm_movehl_ps(all, all), fourth].map(|register| _mm_cvtss_f32(register))
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    four.map(f32::from_le_bytes)
}

/// As [`prefetch`] for the lines of `count` elements, at most as large as a line, that follow each other from `at` on, if that is
/// within the table: what is beyond is not wanted.
#[inline(always)]
pub(crate) fn prefetch_run<T>(table: &[T], at: usize, count: usize) {
    if at < table.len() {
        (0..count).step_by(LINE / size_of::<T>()).for_each(|k| prefetch(table, at + k));
    }
}

/// As [`prefetch`], into the second-level cache: the first has no room for lines that are needed later.
#[inline(always)]
pub(crate) fn prefetch_far<T>(table: &[T], at: usize) {
    // SAFETY: as above.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T1>(table.as_ptr().wrapping_add(at).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, at);
}

/// As [`prefetch`], into the first-level cache or into the second.
#[inline(always)]
pub(crate) fn prefetch_level<T>(table: &[T], at: usize, into_first: bool) {
    if into_first { prefetch(table, at) } else { prefetch_far(table, at) }
}

/// Asks for the cache line at `table[at]` to be the core's own, into the first-level cache; any `at` is fine.
#[inline(always)]
pub(crate) fn prefetch_write<T>(table: &[T], at: usize) {
    // The compiler has this instruction only where the program is built for it.
    // SAFETY: it faults at no address, changes nothing, and is a no-operation on x86-64 machines that do not have it.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        let line = table.as_ptr().wrapping_add(at);
        core::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (table, at);
}

#[cfg(test)]
mod tests;
