//! What a scatter does to one element: replace, or combine with what is there.

use core::marker::PhantomData;

use half::{bf16, f16};

use super::simd::{Backend, Simd, Task, run_plain};

/// How slots that threads combined in tables of their own, each its lanes, become those of one table.
pub(crate) enum Merging<const N: usize> {
    /// Not at all: what comes out depends on the order of all lanes, as sums of floats do.
    Never,
    /// They are combined as lanes are, and began with this, which changes nothing.
    Neutral([u8; N]),
    /// One that was written takes the place of another. It began with this, so that no lane may have that value.
    Unused([u8; N]),
}

/// An operation on elements of `N` bytes.
pub(crate) trait Combine<const N: usize>: Send + Sync + 'static {
    /// The old content matters: the machine's own loads ask for a slot's cache line early.
    const READS: bool = true;

    /// [`are_tame`](Self::are_tame) can be true: there is a quicker way for values that are no special case.
    const TAMES: bool = false;

    /// Values are combined in vector registers, and best brought there four at a time: such registers are loaded twice a cycle, where
    /// others are four times.
    const IN_VECTORS: bool = false;

    /// How tables that threads combined on their own become one.
    const MERGING: Merging<N> = Merging::Never;

    /// New values are made ready many at a time, by [`widen`](Self::widen), before they are combined one by one.
    const WIDENS: bool = false;

    /// Runs a task that combines element by element, with an instruction set where that matters.
    #[inline(always)]
    fn enter<T: Task>(_: Backend, task: T) -> T::Output {
        run_plain(task)
    }

    /// The new content of a slot that held `old`.
    fn combine<S: Simd>(simd: S, old: [u8; N], new: [u8; N]) -> [u8; N];

    /// Combines a slot, in the quickest way for one at a time. It is written even where the old content stays: the machine
    /// cannot guess where it does, and would wait for every slot that it is wrong about.
    #[inline(always)]
    fn put<S: Simd>(simd: S, slot: &mut [u8; N], new: [u8; N]) {
        *slot = Self::combine(simd, *slot, new);
    }

    /// True if [`combine_tame`](Self::combine_tame) is quicker, and right for all of these new values.
    #[inline(always)]
    fn are_tame(new: &[[u8; N]]) -> bool {
        // Without a branch for each: the vector unit's work.
        Self::TAMES && !new.iter().fold(false, |any, value| any | Self::is_special(value))
    }

    /// True if [`combine_tame`](Self::combine_tame) is wrong for this new value: never where there are no special cases.
    #[inline(always)]
    fn is_special(_: &[u8; N]) -> bool {
        false
    }

    /// [`combine`](Self::combine) for new values without special cases, one at a time; quicker where there are
    /// [any](Self::TAMES).
    #[inline(always)]
    fn combine_tame<S: Simd>(simd: S, old: [u8; N], new: [u8; N]) -> [u8; N] {
        Self::combine(simd, old, new)
    }

    /// Makes new values ready for [`combine_wide`](Self::combine_wide).
    #[inline(always)]
    fn widen<S: Simd>(_: S, _: &[[u8; N]], _: &mut [f32]) {}

    /// [`combine`](Self::combine) with a value that [`widen`](Self::widen) has made ready.
    #[inline(always)]
    fn combine_wide<S: Simd>(_: S, old: [u8; N], _: f32) -> [u8; N] {
        old
    }

    /// Combines a row with another of the same length, element by element.
    #[inline(always)]
    fn combine_row<S: Simd>(simd: S, row: &mut [[u8; N]], new: &[[u8; N]]) {
        for (slot, value) in row.iter_mut().zip(new) {
            *slot = Self::combine(simd, *slot, *value);
        }
    }
}

/// The slot takes the new value.
pub(crate) struct Replace;

/// The slot takes the sum; integers wrap, floats round to nearest even.
pub(crate) struct Add<T>(PhantomData<T>);

/// The slot takes the larger value.
pub(crate) struct Max<T>(PhantomData<T>);

/// The slot takes the smaller value.
pub(crate) struct Min<T>(PhantomData<T>);

impl<const N: usize> Combine<N> for Replace {
    const READS: bool = false;

    // Hardly ever a value of 4 bytes or more; of shorter ones there are too few.
    const MERGING: Merging<N> = if N < 4 { Merging::Never } else { Merging::Unused([0xa7; N]) };

    #[inline(always)]
    fn combine<S: Simd>(_: S, _: [u8; N], new: [u8; N]) -> [u8; N] {
        new
    }

    #[inline(always)]
    fn combine_row<S: Simd>(_: S, row: &mut [[u8; N]], new: &[[u8; N]]) {
        super::rows::copy(row, new);
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Combine<{ size_of::<$type>() }> for Add<$type> {
            const MERGING: Merging<{ size_of::<$type>() }> = Merging::Neutral(<$type>::to_le_bytes(0));

            #[inline(always)]
            fn combine<S: Simd>(_: S, old: [u8; size_of::<$type>()], new: [u8; size_of::<$type>()]) -> [u8; size_of::<$type>()] {
                <$type>::from_le_bytes(old).wrapping_add(<$type>::from_le_bytes(new)).to_le_bytes()
            }
        }
        impl Combine<{ size_of::<$type>() }> for Max<$type> {
            const MERGING: Merging<{ size_of::<$type>() }> = Merging::Neutral(<$type>::to_le_bytes(<$type>::MIN));

            #[inline(always)]
            fn combine<S: Simd>(_: S, old: [u8; size_of::<$type>()], new: [u8; size_of::<$type>()]) -> [u8; size_of::<$type>()] {
                <$type>::from_le_bytes(old).max(<$type>::from_le_bytes(new)).to_le_bytes()
            }
        }
        impl Combine<{ size_of::<$type>() }> for Min<$type> {
            const MERGING: Merging<{ size_of::<$type>() }> = Merging::Neutral(<$type>::to_le_bytes(<$type>::MAX));

            #[inline(always)]
            fn combine<S: Simd>(_: S, old: [u8; size_of::<$type>()], new: [u8; size_of::<$type>()]) -> [u8; size_of::<$type>()] {
                <$type>::from_le_bytes(old).min(<$type>::from_le_bytes(new)).to_le_bytes()
            }
        }
    )*};
}

integers!(i8, u8, i16, u16, i32, u32, i64, u64);

/// A number that orders floats as Max and Min do, without a branch: -0.0 < +0.0, and a NaN is below (`Max`) or above
/// (`Min`) every number.
macro_rules! rank {
    ($signed:ty, $bits:expr, $infinity:expr, $nan:expr) => {{
        let bits = <$signed>::from_le_bytes($bits);
        // Negative numbers are ordered the other way round: all bits but the sign are flipped.
        let ordered = bits ^ ((bits >> (<$signed>::BITS - 1)) & <$signed>::MAX);
        if bits & <$signed>::MAX > $infinity { $nan } else { ordered }
    }};
}

/// Max and Min of a float type by rank: what vector units do well, and right for all numbers.
macro_rules! ranked {
    ($($name:ident, $signed:ty, $bytes:literal, $infinity:expr);* $(;)?) => {$(
        mod $name {
            #[inline(always)]
            pub(super) fn larger(old: [u8; $bytes], new: [u8; $bytes]) -> [u8; $bytes] {
                let nan = <$signed>::MIN;
                let (a, b) = (rank!($signed, old, $infinity, nan), rank!($signed, new, $infinity, nan));
                core::hint::select_unpredictable(a >= b, old, new)
            }

            #[inline(always)]
            pub(super) fn smaller(old: [u8; $bytes], new: [u8; $bytes]) -> [u8; $bytes] {
                let nan = <$signed>::MAX;
                let (a, b) = (rank!($signed, old, $infinity, nan), rank!($signed, new, $infinity, nan));
                core::hint::select_unpredictable(a <= b, old, new)
            }
        }
    )*};
}

ranked! {
    ranked_f16, i16, 2, 0x7c00;
    ranked_bf16, i16, 2, 0x7f80;
    ranked_f32, i32, 4, 0x7f80_0000;
    ranked_f64, i64, 8, 0x7ff0_0000_0000_0000;
}

macro_rules! short_floats {
    ($($type:ty, $ranked:ident);*) => {$(
        impl Combine<2> for Max<$type> {
            const MERGING: Merging<2> = Merging::Neutral(<$type>::NAN.to_le_bytes());

            #[inline(always)]
            fn combine<S: Simd>(_: S, old: [u8; 2], new: [u8; 2]) -> [u8; 2] {
                $ranked::larger(old, new)
            }
        }

        impl Combine<2> for Min<$type> {
            const MERGING: Merging<2> = Merging::Neutral(<$type>::NAN.to_le_bytes());

            #[inline(always)]
            fn combine<S: Simd>(_: S, old: [u8; 2], new: [u8; 2]) -> [u8; 2] {
                $ranked::smaller(old, new)
            }
        }
    )*};
}

short_floats!(f16, ranked_f16; bf16, ranked_bf16);

/// Keeps what rarely happens out of the way of what mostly does.
#[cold]
#[inline(never)]
fn rare<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// True if a value is a NaN or this zero.
macro_rules! is_special {
    ($type:ty, $value:expr, $zero:expr) => {{
        let value = <$type>::from_le_bytes($value);
        value.is_nan() | (value.to_bits() == <$type>::to_bits($zero))
    }};
}

/// One element at a time, the machine's own instructions are quicker, which are right but for special cases.
macro_rules! long_floats {
    ($($type:ty, $ranked:ident, $bytes:literal);*) => {$(
        impl Combine<$bytes> for Max<$type> {
            const TAMES: bool = true;
            const IN_VECTORS: bool = true;
            const MERGING: Merging<$bytes> = Merging::Neutral(<$type>::NAN.to_le_bytes());

            #[inline(always)]
            fn combine<S: Simd>(_: S, old: [u8; $bytes], new: [u8; $bytes]) -> [u8; $bytes] {
                $ranked::larger(old, new)
            }

            // The machine's instruction takes the new value where both are equal or one is a NaN: wrong for a new NaN
            // and for the new zero of the losing sign only.
            #[inline(always)]
            fn is_special(new: &[u8; $bytes]) -> bool {
                is_special!($type, *new, -0.0)
            }

            #[inline(always)]
            fn combine_tame<S: Simd>(_: S, old: [u8; $bytes], new: [u8; $bytes]) -> [u8; $bytes] {
                let (a, b) = (<$type>::from_le_bytes(old), <$type>::from_le_bytes(new));
                core::hint::select_unpredictable(a > b, a, b).to_le_bytes()
            }

            #[inline(always)]
            fn put<S: Simd>(simd: S, slot: &mut [u8; $bytes], new: [u8; $bytes]) {
                // Two tests that are easily foretold, kept apart: as one they would be computed, not branched on.
                let is_special = if <$type>::from_le_bytes(new).is_nan() { true } else { new == <$type>::to_le_bytes(-0.0) };
                if is_special {
                    rare(|| *slot = $ranked::larger(*slot, new));
                } else {
                    *slot = Self::combine_tame(simd, *slot, new);
                }
            }
        }

        impl Combine<$bytes> for Min<$type> {
            const TAMES: bool = true;
            const IN_VECTORS: bool = true;
            const MERGING: Merging<$bytes> = Merging::Neutral(<$type>::NAN.to_le_bytes());

            #[inline(always)]
            fn combine<S: Simd>(_: S, old: [u8; $bytes], new: [u8; $bytes]) -> [u8; $bytes] {
                $ranked::smaller(old, new)
            }

            // The machine's instruction takes the new value where both are equal or one is a NaN: wrong for a new NaN
            // and for the new zero of the losing sign only.
            #[inline(always)]
            fn is_special(new: &[u8; $bytes]) -> bool {
                is_special!($type, *new, 0.0)
            }

            #[inline(always)]
            fn combine_tame<S: Simd>(_: S, old: [u8; $bytes], new: [u8; $bytes]) -> [u8; $bytes] {
                let (a, b) = (<$type>::from_le_bytes(old), <$type>::from_le_bytes(new));
                core::hint::select_unpredictable(a < b, a, b).to_le_bytes()
            }

            // The old value is taken where both are equal, so that the zero that is a special case is the rare one: that of the winning
            // sign.
            #[inline(always)]
            fn put<S: Simd>(_: S, slot: &mut [u8; $bytes], new: [u8; $bytes]) {
                let (a, b) = (<$type>::from_le_bytes(*slot), <$type>::from_le_bytes(new));
                let is_special = if b.is_nan() { true } else { new == <$type>::to_le_bytes(-0.0) };
                if is_special {
                    rare(|| *slot = $ranked::smaller(*slot, new));
                } else {
                    *slot = core::hint::select_unpredictable(a <= b, a, b).to_le_bytes();
                }
            }
        }
    )*};
}

long_floats!(f32, ranked_f32, 4; f64, ranked_f64, 8);

impl Combine<4> for Add<f32> {
    const IN_VECTORS: bool = true;

    #[inline(always)]
    fn combine<S: Simd>(_: S, old: [u8; 4], new: [u8; 4]) -> [u8; 4] {
        (f32::from_le_bytes(old) + f32::from_le_bytes(new)).to_le_bytes()
    }
}

impl Combine<8> for Add<f64> {
    #[inline(always)]
    fn combine<S: Simd>(_: S, old: [u8; 8], new: [u8; 8]) -> [u8; 8] {
        (f64::from_le_bytes(old) + f64::from_le_bytes(new)).to_le_bytes()
    }
}

impl Combine<2> for Add<f16> {
    const WIDENS: bool = true;

    #[inline(always)]
    fn enter<T: Task>(backend: Backend, task: T) -> T::Output {
        backend.run(task)
    }

    #[inline(always)]
    fn combine<S: Simd>(simd: S, old: [u8; 2], new: [u8; 2]) -> [u8; 2] {
        simd.add_f16(u16::from_le_bytes(old), u16::from_le_bytes(new)).to_le_bytes()
    }

    #[inline(always)]
    fn widen<S: Simd>(simd: S, new: &[[u8; 2]], wide: &mut [f32]) {
        simd.widen_f16(new, wide);
    }

    #[inline(always)]
    fn combine_wide<S: Simd>(simd: S, old: [u8; 2], new: f32) -> [u8; 2] {
        simd.add_wide_f16(u16::from_le_bytes(old), new).to_le_bytes()
    }

    #[inline(always)]
    fn combine_row<S: Simd>(simd: S, row: &mut [[u8; 2]], new: &[[u8; 2]]) {
        simd.add_f16_row(row, new);
    }
}

impl Combine<2> for Add<bf16> {
    const WIDENS: bool = true;

    #[inline(always)]
    fn combine<S: Simd>(simd: S, old: [u8; 2], new: [u8; 2]) -> [u8; 2] {
        Self::combine_wide(simd, old, widened_bf16(new))
    }

    #[inline(always)]
    fn widen<S: Simd>(_: S, new: &[[u8; 2]], wide: &mut [f32]) {
        wide.iter_mut().zip(new).for_each(|(wide, new)| *wide = widened_bf16(*new));
    }

    #[inline(always)]
    fn combine_wide<S: Simd>(_: S, old: [u8; 2], new: f32) -> [u8; 2] {
        let bits = (widened_bf16(old) + new).to_bits();
        // To nearest, ties to even. A NaN stays what it is: its lower half is that of a widened bf16, or of the machine's
        // own NaN, zero both, and nothing is carried over.
        ((bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16) as u16).to_le_bytes()
    }
}

/// A bf16 is the upper half of an f32.
#[inline(always)]
fn widened_bf16(half: [u8; 2]) -> f32 {
    f32::from_bits(u32::from(u16::from_le_bytes(half)) << 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct SumBf16([u8; 2], [u8; 2]);

    impl Task for SumBf16 {
        type Output = [u8; 2];

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> [u8; 2] {
            Add::<bf16>::combine(simd, self.0, self.1)
        }
    }

    /// All 65,536 numbers against a few others: NaN, which have no rounding of their own, and what rounds up to infinity.
    #[test]
    fn bf16_sums_are_those_of_one_rounding() {
        for other in [0x0000u16, 0x8000, 0x3f80, 0x0001, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7f81, 0xffff, 0x7fff, 0x3b80]
        {
            for bits in 0..=u16::MAX {
                let (a, b) = (bf16::from_bits(bits), bf16::from_bits(other));
                let expected = bf16::from_f32(a.to_f32() + b.to_f32());
                let sum = bf16::from_le_bytes(run_plain(SumBf16(a.to_le_bytes(), b.to_le_bytes())));
                let same = sum.to_bits() == expected.to_bits() || (sum.is_nan() && expected.is_nan());
                assert!(same, "{bits:04x} + {other:04x}: {sum:?}, not {expected:?}");
            }
        }
    }

    struct OneByOne<const N: usize, C>([u8; N], [u8; N], PhantomData<C>);

    impl<const N: usize, C: Combine<N>> Task for OneByOne<N, C> {
        type Output = [[u8; N]; 3];

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Self::Output {
            let Self(old, new, _) = self;
            let mut slot = old;
            C::put(simd, &mut slot, new);
            [C::combine(simd, old, new), slot, C::combine_tame(simd, old, new)]
        }
    }

    /// The same bits, those of NaNs included.
    #[test]
    fn each_way_to_combine_gives_the_same() {
        fn check<const N: usize, C: Combine<N>>(values: &[[u8; N]]) {
            for (old, new) in values.iter().flat_map(|old| values.iter().map(move |new| (*old, *new))) {
                for backend in Backend::available() {
                    let [combined, put, tame] = backend.run(OneByOne::<N, C>(old, new, PhantomData));
                    assert_eq!(put, combined, "{old:x?} {new:x?}");
                    assert!(
                        tame == combined || !C::are_tame(&[new]),
                        "{old:x?} {new:x?}: {tame:x?}, not {combined:x?}"
                    );
                }
            }
        }
        macro_rules! floats {
            ($($type:ty),*) => {$({
                let nan = <$type>::INFINITY.to_bits();
                let nans = [nan + 1, nan + 2, nan + nan / 2, !0, !0 - 1].map(<$type>::from_bits);
                let numbers = [0.0, 1.0, <$type>::MIN_POSITIVE, <$type>::MAX, <$type>::INFINITY, <$type>::from_bits(1)];
                let all = nans.into_iter().chain(numbers.into_iter().flat_map(|number| [number, -number]));
                let all: Vec<_> = all.map(<$type>::to_le_bytes).collect();
                check::<{ size_of::<$type>() }, Max<$type>>(&all);
                check::<{ size_of::<$type>() }, Min<$type>>(&all);
            })*};
        }
        floats!(f32, f64);
    }

    /// A value without special cases says so at every position and length, and one with says no.
    #[test]
    fn values_are_tame_unless_one_is_not() {
        fn check<const N: usize, C: Combine<N>>(tame: &[[u8; N]], special: &[[u8; N]]) {
            for length in 0..70 {
                let mut values: Vec<[u8; N]> = tame.iter().copied().cycle().take(length).collect();
                assert!(C::are_tame(&values) && !values.iter().any(C::is_special), "{length}");
                for at in 0..length {
                    for odd in special {
                        let tame = core::mem::replace(&mut values[at], *odd);
                        assert!(
                            !C::are_tame(&values) && values.iter().any(C::is_special),
                            "{odd:x?} at {at} of {length}"
                        );
                        values[at] = tame;
                    }
                }
            }
        }
        macro_rules! floats {
            ($($type:ty),*) => {$({
                let bytes = <$type>::to_le_bytes;
                let nans = [<$type>::NAN, -<$type>::NAN, <$type>::from_bits(<$type>::INFINITY.to_bits() + 1)].map(bytes);
                let numbers = [1.0, -1.0, <$type>::INFINITY, -<$type>::INFINITY, <$type>::MAX, <$type>::MIN, <$type>::from_bits(1)].map(bytes);
                let with = |some: &[[u8; size_of::<$type>()]], one: $type| [some, &[bytes(one)]].concat();
                check::<{ size_of::<$type>() }, Max<$type>>(&with(&numbers, 0.0), &with(&nans, -0.0));
                check::<{ size_of::<$type>() }, Min<$type>>(&with(&numbers, -0.0), &with(&nans, 0.0));
            })*};
        }
        floats!(f32, f64);
    }
}
