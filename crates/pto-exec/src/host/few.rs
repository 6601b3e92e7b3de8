//! Calls with few lanes, carried out on the spot.
//!
//! Bringing a transfer to the engine's kernels takes as long as a hundred lanes of it. So calls on plain slices with few
//! lanes are compiled for their types right here. A [handful](HANDFUL) without a policy or special values is a loop where the call is
//! written: even calling a function takes as long as a few lanes. [More](few_scattered) are looked at and moved by the same
//! vector code as long runs, in one function. What happens to an element is still said once, by [`Combine`]; what a policy
//! makes of an index is said here a second time, one lane at a time, and property tests hold both against the reference.

use core::marker::PhantomData;

use pto_isa::{Atomic, Element, ElementType, OutOfBounds};

use super::Index;
use crate::kernel::combine::Combine;
use crate::kernel::elements::Outside;
use crate::kernel::kind::with_combine;
use crate::kernel::simd::{Backend, Lands, Simd, Task};
use crate::kernel::transfer;
use crate::kernel::{Offsets, Word};

/// Lanes up to which a gather without a policy is a loop where it is written. Up to here vector code gains less from tables at
/// hand than it loses where lanes and slots have to come from afar.
pub(super) const HANDFUL: usize = 512;

/// Lanes of a gather from which on those behind them are asked for.
const ASKING: usize = 16;

/// As [`HANDFUL`] for scatters, which look at all lanes first, and at values that may be special cases: the more there is to do,
/// the sooner it is worth a call of vector code.
#[inline(always)]
pub(super) fn handful<T: Element>(atomic: Atomic) -> usize {
    match (atomic, T::TYPE) {
        (Atomic::None, _) => 384,
        (_, ElementType::F16 | ElementType::BF16) => 16,
        (Atomic::Add, _) => 192,
        (Atomic::Max | Atomic::Min, ElementType::F32 | ElementType::F64) => 64,
        (Atomic::Max | Atomic::Min, _) => 128,
    }
}

/// Lanes up to which a gather without a policy is one function. What it touches of a table fits the caches and what they
/// know of its pages.
const FEW_GATHERED: usize = 1 << 10;

/// As [`FEW_GATHERED`] from a table that is not far away, or where all that so few lanes touch is at hand.
const FEW_NEAR: usize = 1 << 13;

/// True if a gather of so many lanes without a policy is one function.
#[inline(always)]
pub(super) fn is_gather_of_few<T: Element>(lanes: usize, table: &[T]) -> bool {
    lanes <= FEW_GATHERED || (lanes <= FEW_NEAR && transfer::is_at_hand(size_of_val(table)))
}

/// Lanes up to which a scatter without a policy is one function. Sums of 16-bit floats go to where their values are widened many at
/// a time.
#[inline(always)]
pub(super) fn few_scattered<T: Element>(atomic: Atomic) -> usize {
    match (atomic, T::TYPE) {
        (Atomic::Add, ElementType::F16 | ElementType::BF16) => 1 << 9,
        _ => 1 << 13,
    }
}

/// Lanes up to which a call with a policy is one function: it does not use the vector unit.
pub(super) const FEW_RESOLVED: usize = 1 << 9;

/// Runs a body with the lanes as words of 4 or 8 bytes.
macro_rules! with_words {
    ($indices:expr, $index:ty, $words:ident => $body:expr) => {
        if size_of::<$index>() == 4 {
            let $words: &[[u8; 4]] = bytemuck::cast_slice($indices);
            $body
        } else {
            let $words: &[[u8; 8]] = bytemuck::cast_slice($indices);
            $body
        }
    };
}

/// Runs a body that is compiled for 1, 2 and 3 lanes each, without loops, and once for more, where it may have loops for many. More come
/// first: asking for each of the others before them would take as long as a lane.
macro_rules! with_length {
    ($indices:ident, $payload:ident, $may_be_many:ident => $body:expr) => {
        match ($indices, $payload) {
            ($indices @ [_, _, _, _, ..], $payload @ [_, _, _, _, ..]) => {
                const $may_be_many: bool = true;
                $body
            }
            ($indices @ [_], $payload @ [_]) => with_length!(@few $may_be_many, $body),
            ($indices @ [_, _], $payload @ [_, _]) => with_length!(@few $may_be_many, $body),
            ($indices @ [_, _, _], $payload @ [_, _, _]) => with_length!(@few $may_be_many, $body),
            ($indices, $payload) => with_length!(@few $may_be_many, $body),
        }
    };
    (@few $may_be_many:ident, $body:expr) => {{
        const $may_be_many: bool = false;
        $body
    }};
}

/// The last slot that an i32 reaches.
const I32_MAX: u32 = i32::MAX as u32;

/// What a word of an index in range is below of: negative numbers are large words.
#[inline(always)]
fn limit<I: Index>(capacity: usize) -> u64 {
    let most = if I::SIGNED { 1 << (8 * size_of::<I>() - 1) } else { u64::MAX };
    most.min(capacity as u64)
}

/// `destination[i] = table[indices[i]]` for a handful of lanes, each looked at just before it is moved; false as soon as one
/// is out of range.
#[inline(always)]
pub(super) fn gather_handful<T: Element, I: Index>(destination: &mut [T], table: &[T], indices: &[I]) -> bool {
    let get = |(slot, index): (&mut T, &I)| {
        let value = usize::try_from(index.bits()).ok().and_then(|at| table.get(at));
        value.map(|value| *slot = *value).is_some()
    };
    // Four a turn: counting turns would take as long as moving an element.
    let get_fours = |slots: &mut [T], indices: &[I]| {
        let (slots, slots_tail) = slots.as_chunks_mut::<4>();
        let (fours, tail) = indices.as_chunks::<4>();
        slots.iter_mut().zip(fours).all(|(slots, four)| slots.iter_mut().zip(four).all(get))
            && slots_tail.iter_mut().zip(tail).all(get)
    };
    with_length!(indices, destination, MANY => {
        if !MANY || indices.len() < ASKING {
            if MANY {
                transfer::ask_next(indices, 0, transfer::PAGE);
            }
            return get_fours(destination, indices);
        }
        let reach = transfer::reach();
        let (chunks, slots) = destination.as_chunks_mut::<16>();
        let (sixteens, tail) = indices.as_chunks::<16>();
        chunks.iter_mut().zip(sixteens).enumerate().all(|(i, (slots, sixteen))| {
            transfer::ask_next(indices, 16 * i, reach);
            get_fours(slots, sixteen)
        }) && get_fours(slots, tail)
    })
}

/// `table[indices[i]] = source[i]` or combined, for a handful of lanes; false, with nothing written, if one is out of range or
/// its value a special case, or the table has more slots than an i32 reaches.
#[inline(always)]
pub(super) fn scatter_handful<T: Element, I: Index>(
    table: &mut [T],
    source: &[T],
    indices: &[I],
    atomic: Atomic,
) -> bool {
    let Ok(last @ 0..=I32_MAX) = u32::try_from(table.len().wrapping_sub(1)) else { return false };
    with_combine!(T::TYPE, atomic, N, C => with_words!(indices, I, words => {
        let (slots, values) = (bytemuck::cast_slice_mut(table), bytemuck::cast_slice(source));
        // No closures: the compiler would call them.
        with_length!(words, values, MANY => {
            let offsets = Offsets::check_few(words, values, last, <C as Combine<N>>::is_special);
            let Some(offsets) = offsets else { return false };
            transfer::scatter_handful::<N, C, _, MANY>(slots, offsets, values);
            true
        })
    }))
}

/// `destination[i] = table[indices[i]]`; false if a lane is out of range, and anything may have been written.
#[inline(always)]
pub(super) fn gather_checked<T: Element, I: Index>(
    backend: Backend,
    destination: &mut [T],
    table: &[T],
    indices: &[I],
) -> bool {
    let limit = limit::<I>(table.len());
    with_combine!(T::TYPE, Atomic::None, N, C => with_words!(indices, I, words => {
        let (destination, table) = (bytemuck::cast_slice_mut(destination), bytemuck::cast_slice(table));
        backend.run(GatherChecked::<N, _> { destination, table, words, limit })
    }))
}

/// For the width of elements and indices alone: what the types are else makes no difference, and would be compiled anew.
struct GatherChecked<'a, const N: usize, W> {
    destination: &'a mut [[u8; N]],
    table: &'a [[u8; N]],
    words: &'a [W],
    limit: u64,
}

impl<const N: usize, W: Word> Task for GatherChecked<'_, N, W> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        let Self { destination, table, words, limit } = self;
        if N == 4 && W::BYTES == 4 && simd.lands().covers(transfer::are_gathered(table, words.len())) {
            let table = bytemuck::cast_slice(&table[..limit as usize]);
            return simd.gather4(bytemuck::cast_slice_mut(destination), table, bytemuck::cast_slice(words), None);
        }
        let Some(offsets) = Offsets::look(simd, words, limit) else { return false };
        if simd.lands() == Lands::ByLoads {
            // With AVX-512 the compiler would put its gather instruction in the place of single loads.
            transfer::gather_ahead(destination, table, offsets, transfer::far_gathers(table, words));
        } else {
            transfer::gather_each(destination, table, offsets);
        }
        true
    }
}

/// `table[indices[i]] = source[i]` or combined, in source order; false if a lane is out of range, and nothing was written.
#[inline(always)]
pub(super) fn scatter_checked<T: Element, I: Index>(
    backend: Backend,
    table: &mut [T],
    source: &[T],
    indices: &[I],
    atomic: Atomic,
) -> bool {
    let limit = limit::<I>(table.len());
    with_combine!(T::TYPE, atomic, N, C => with_words!(indices, I, words => {
        let (table, source) = (bytemuck::cast_slice_mut(table), bytemuck::cast_slice(source));
        backend.run(ScatterChecked::<N, C, _> { table, source, words, limit, combine: PhantomData })
    }))
}

struct ScatterChecked<'a, const N: usize, C, W> {
    table: &'a mut [[u8; N]],
    source: &'a [[u8; N]],
    words: &'a [W],
    limit: u64,
    combine: PhantomData<C>,
}

impl<const N: usize, C: Combine<N>, W: Word> Task for ScatterChecked<'_, N, C, W> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        let Self { table, source, words, limit, .. } = self;
        let Some(offsets) = Offsets::look(simd, words, limit) else { return false };
        transfer::scatter_near::<N, C, _, S>(simd, table, offsets, source);
        true
    }
}

/// The slot of an index under `Clamp`; there is at least one.
#[inline(always)]
fn clamped<I: Index>(index: I, capacity: usize) -> usize {
    let bits = index.bits();
    match bits < capacity as u64 {
        true => bits as usize,
        false if I::SIGNED && (bits as i64) < 0 => 0,
        false => capacity - 1,
    }
}

/// The slot of an index under `Wrap`; there is at least one.
#[inline(always)]
fn wrapped<I: Index>(index: I, capacity: usize) -> usize {
    let bits = index.bits();
    if bits < capacity as u64 {
        return bits as usize;
    }
    // A slice has at most `isize::MAX` elements.
    if I::SIGNED { (bits as i64).rem_euclid(capacity as i64) as usize } else { (bits % capacity as u64) as usize }
}

/// How many indices are out of range.
#[inline(always)]
fn outside<I: Index>(indices: &[I], capacity: usize) -> usize {
    indices.iter().filter(|index| index.bits() >= capacity as u64).count()
}

/// `destination[i] = table[indices[i]]` with a policy; returns how many lanes were out of range.
pub(super) fn gather<T: Element, I: Index>(
    destination: &mut [T],
    table: &[T],
    indices: &[I],
    oob: OutOfBounds,
) -> Result<usize, Outside> {
    let slots = destination.iter_mut().zip(indices);
    match oob {
        // Lanes are looked at before the first is moved.
        OutOfBounds::Undefined if outside(indices, table.len()) > 0 => return Err(Outside),
        OutOfBounds::Undefined => slots.for_each(|(slot, index)| *slot = table[index.bits() as usize]),
        OutOfBounds::Clamp => slots.for_each(|(slot, &index)| *slot = table[clamped(index, table.len())]),
        OutOfBounds::Wrap => slots.for_each(|(slot, &index)| *slot = table[wrapped(index, table.len())]),
        OutOfBounds::Skip | OutOfBounds::Zero => slots.for_each(|(slot, index)| {
            let inside = index.bits() < table.len() as u64;
            *slot = if inside { table[index.bits() as usize] } else { T::zeroed() };
        }),
    }
    Ok(outside(indices, table.len()))
}

/// `table[indices[i]] = source[i]` or combined, in source order, with a policy; returns how many lanes were out of range.
pub(super) fn scatter<T: Element, I: Index>(
    backend: Backend,
    table: &mut [T],
    source: &[T],
    indices: &[I],
    (atomic, oob): (Atomic, OutOfBounds),
) -> Result<usize, Outside> {
    with_combine!(T::TYPE, atomic, N, C => {
        let (table, source) = (bytemuck::cast_slice_mut(table), bytemuck::cast_slice(source));
        let task = Scatter::<N, C, I> { table, source, indices, oob, combine: PhantomData };
        <C as Combine<N>>::enter(backend, task)
    })
}

struct Scatter<'a, const N: usize, C, I> {
    table: &'a mut [[u8; N]],
    source: &'a [[u8; N]],
    indices: &'a [I],
    oob: OutOfBounds,
    combine: PhantomData<C>,
}

impl<const N: usize, C: Combine<N>, I: Index> Task for Scatter<'_, N, C, I> {
    type Output = Result<usize, Outside>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        let Self { table, source, indices, oob, .. } = self;
        let capacity = table.len();
        let lanes = indices.iter().zip(source);
        let mut put = |slot: usize, value: &[u8; N]| table[slot] = C::combine(simd, table[slot], *value);
        match oob {
            OutOfBounds::Undefined if outside(indices, capacity) > 0 => return Err(Outside),
            OutOfBounds::Undefined => lanes.for_each(|(index, value)| put(index.bits() as usize, value)),
            OutOfBounds::Clamp => lanes.for_each(|(&index, value)| put(clamped(index, capacity), value)),
            OutOfBounds::Wrap => lanes.for_each(|(&index, value)| put(wrapped(index, capacity), value)),
            OutOfBounds::Skip | OutOfBounds::Zero => lanes
                .filter(|(index, _)| index.bits() < capacity as u64)
                .for_each(|(index, value)| put(index.bits() as usize, value)),
        }
        Ok(outside(indices, capacity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUARD: usize = 4;

    /// A list between guards, which are checked in the end.
    fn guarded<T: Element>(values: &[T], guard: T) -> Vec<T> {
        [&[guard; GUARD], values, &[guard; GUARD]].concat()
    }

    fn bits<T: Element>(values: &[T]) -> Vec<u8> {
        bytemuck::cast_slice(values).to_vec()
    }

    /// Each way of few lanes against loops over numbers, with one odd index at a time.
    fn agree<T: Element + From<u8>, I: Index>(number: fn(i128) -> I, odd: &[i128], add: fn(T, T) -> T) {
        let capacity = 20usize;
        let table: Vec<T> = (0..capacity as u8).map(|x| T::from(x + 100)).collect();
        let lengths = (0..=66).chain([95, 96, 97, 127, 128, 129, 255, 256, 257, 384, 385, HANDFUL, HANDFUL + 1]);
        for length in lengths {
            for at in (0..length.max(1)).step_by(1 + length / 40) {
                for odd in odd.iter().copied().chain([3]) {
                    let mut lanes: Vec<i128> = (0..length as i128).map(|k| k * 7 % 20).collect();
                    if let Some(lane) = lanes.get_mut(at) {
                        *lane = odd;
                    }
                    let inside = lanes.iter().all(|lane| (0..20).contains(lane));
                    let indices: Vec<I> = lanes.iter().map(|lane| number(*lane)).collect();
                    let source: Vec<T> = (0..length).map(|k| T::from(k as u8 % 27)).collect();
                    let old: Vec<T> = vec![T::from(9); length];
                    let slots = lanes.iter().map(|lane| *lane as usize);
                    let gathered = if inside { slots.clone().map(|slot| table[slot]).collect() } else { old.clone() };
                    let (mut replaced, mut summed) = (table.clone(), table.clone());
                    if inside {
                        slots.clone().zip(&source).for_each(|(slot, value)| replaced[slot] = *value);
                        slots.zip(&source).for_each(|(slot, value)| summed[slot] = add(summed[slot], *value));
                    }
                    let guard = T::from(77);
                    let check = |written: &[T], expected: &[T], done: bool| {
                        assert_eq!((bits(written), done), (bits(&guarded(expected, guard)), inside), "{lanes:?}");
                    };
                    for backend in Backend::available().map(Some).chain([None]) {
                        let mut to = guarded(&old, guard);
                        let destination = &mut to[GUARD..][..length];
                        let done = match backend {
                            Some(backend) => gather_checked(backend, destination, &table, &indices),
                            None => gather_handful(destination, &table, &indices),
                        };
                        if !inside {
                            // Anything may have been written, where something was to be.
                            to[GUARD..][..length].copy_from_slice(&old);
                        }
                        check(&to, &gathered, done);
                        for (atomic, expected) in [(Atomic::None, &replaced), (Atomic::Add, &summed)] {
                            let mut to = guarded(&table, guard);
                            let slots = &mut to[GUARD..][..capacity];
                            let done = match backend {
                                Some(backend) => scatter_checked(backend, slots, &source, &indices, atomic),
                                None => scatter_handful(slots, &source, &indices, atomic),
                            };
                            check(&to, expected, done);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn few_lanes_go_where_they_say_or_nowhere() {
        let narrow = [19, 20, 1 << 31];
        agree::<u8, u32>(|x| x as u32, &[19, 20, 1 << 31, (1 << 32) - 1], u8::wrapping_add);
        agree::<half::f16, i32>(|x| x as i32, &[19, 20, -1, i128::from(i32::MIN)], |a, b| a + b);
        agree::<f32, i32>(|x| x as i32, &[19, 20, -1, -20, i128::from(i32::MIN)], |a, b| a + b);
        agree::<f32, u64>(|x| x as u64, &narrow, |a, b| a + b);
        agree::<f64, i64>(|x| x as i64, &[19, 20, -1, 1 << 32, i128::from(i64::MIN)], |a, b| a + b);
        agree::<u64, u32>(|x| x as u32, &narrow, u64::wrapping_add);
    }

    /// Tables that no test has the memory for: a negative index is no slot of them either.
    #[test]
    fn a_negative_index_is_beyond_every_table() {
        assert_eq!((limit::<i32>(20), limit::<u32>(20), limit::<i64>(20), limit::<u64>(20)), (20, 20, 20, 20));
        assert_eq!((limit::<i32>(1 << 40), limit::<u32>(1 << 40)), (1 << 31, 1 << 40));
        assert_eq!((limit::<i64>(usize::MAX), limit::<u64>(usize::MAX)), (1 << 63, u64::MAX));
    }

    /// Max and Min where comparing numbers is not enough, at every position among lanes on one slot and on several; the other
    /// lanes have special values, too, or none.
    #[test]
    fn larger_and_smaller_hold_for_special_values() {
        let values = [f32::NAN, 0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY];
        // By the order of all numbers, a NaN last.
        let best = |atomic, old: f32, new: f32| {
            let wins = match atomic {
                Atomic::Max => new.total_cmp(&old).is_gt(),
                _ => new.total_cmp(&old).is_lt(),
            };
            if old.is_nan() || (wins && !new.is_nan()) { new } else { old }
        };
        for length in (1..=20usize).chain([31, 32, 33, 127, 128, 129]) {
            for (old, new) in values.iter().flat_map(|old| values.map(|new| (*old, new))) {
                for (at, other) in (0..length).flat_map(|at| [f32::NAN, -7.0, 7.0].map(|other| (at, other))) {
                    let mut source = vec![other; length];
                    source[at] = new;
                    let indices: Vec<i32> = (0..length as i32).map(|k| k % 3).collect();
                    for atomic in [Atomic::Max, Atomic::Min] {
                        let lanes = source.iter().skip(at % 3).step_by(3);
                        let expected = lanes.fold(old, |old, new| best(atomic, old, *new));
                        for backend in Backend::available().map(Some).chain([None]) {
                            let mut table = [old; 3];
                            let done = match backend {
                                Some(backend) => scatter_checked(backend, &mut table, &source, &indices, atomic),
                                None => {
                                    scatter_handful(&mut table, &source, &indices, atomic)
                                        || scatter_checked(Backend::best(), &mut table, &source, &indices, atomic)
                                }
                            };
                            assert!(done);
                            let slot = table[at % 3];
                            let same = slot.to_bits() == expected.to_bits() || (slot.is_nan() && expected.is_nan());
                            assert!(same, "{atomic} of {old} and {new} is {slot}, at {at} of {length}, others {other}");
                        }
                    }
                }
            }
        }
    }
}
