//! Every instruction set against plain Rust, at every lane and length, between guard words.

use half::f16;

use super::*;

struct Keep<'a, W>(&'a [W], u64, u64, &'a mut [W], &'a mut [u32]);

impl<W: Word> Task for Keep<'_, W> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> usize {
        simd.keep(self.0, self.1, self.2, self.3, self.4)
    }
}

fn keep_all<W: Word + PartialEq + core::fmt::Debug>(words: &[u64], base: u64, length: u64) {
    let mask = if W::BYTES == 4 { u64::from(u32::MAX) } else { u64::MAX };
    let lanes: Vec<W> = words.iter().map(|&w| W::put(w)).collect();
    let expected: Vec<(u64, u32)> = (0u32..)
        .zip(words)
        .map(|(i, &w)| ((w & mask).wrapping_sub(base) & mask, i))
        .filter(|(w, _)| *w < length)
        .collect();
    let room = words.len().next_multiple_of(16);
    for backend in Backend::available() {
        let (mut kept, mut positions) = (vec![W::put(0x55); room + 2], vec![0x55; room + 2]);
        let count = backend.run(Keep(&lanes, base, length, &mut kept[1..=room], &mut positions[1..=room]));
        let actual: Vec<_> = (1..=count).map(|i| (kept[i].get(), positions[i])).collect();
        assert_eq!(actual, expected, "{} {words:x?} {base} {length}", backend.name());
        for end in [0, room + 1] {
            assert_eq!((kept[end].get(), positions[end]), (0x55, 0x55), "{} left its buffer", backend.name());
        }
    }
}

struct KeepValues<'a, const N: usize>(&'a [[u8; 4]], (u64, u64), &'a mut [[u8; 4]], &'a mut [[u8; N]]);

impl<const N: usize> Task for KeepValues<'_, N> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> usize {
        let values: Vec<[u8; N]> = (0..self.0.len()).map(|i| [i as u8 + 1; N]).collect();
        simd.keep_values((self.0, &values), self.1, self.2, self.3)
    }
}

fn keep_all_values<const N: usize>(words: &[u32], (base, length): (u64, u64)) {
    let lanes: Vec<[u8; 4]> = words.iter().map(|w| w.to_le_bytes()).collect();
    let expected: Vec<_> = (1u8..)
        .zip(words)
        .map(|(i, w)| (w.wrapping_sub(base as u32), i))
        .filter(|(w, _)| u64::from(*w) < length)
        .map(|(w, i)| (w.to_le_bytes(), [i; N]))
        .collect();
    let room = words.len().next_multiple_of(16);
    for backend in Backend::available() {
        let (mut kept, mut values) = (vec![[0x55; 4]; room + 2], vec![[0x55; N]; room + 2]);
        let task = KeepValues(&lanes, (base, length), &mut kept[1..=room], &mut values[1..=room]);
        let count = backend.run(task);
        let actual: Vec<_> = (1..=count).map(|i| (kept[i], values[i])).collect();
        assert_eq!(actual, expected, "{} {words:x?} {base} {length}", backend.name());
        for end in [0, room + 1] {
            assert_eq!((kept[end], values[end]), ([0x55; 4], [0x55; N]), "{} left its buffer", backend.name());
        }
    }
}

#[test]
fn values_stay_with_their_words_at_every_position() {
    for size in [0usize, 1, 7, 15, 16, 17, 31, 32, 33, 48] {
        for at in 0..size {
            for odd in [4, 5, 9, 10, 11, 1 << 31, u32::MAX] {
                for (all, one) in [(7, odd), (odd, 7)] {
                    let mut words = vec![all; size];
                    words[at] = one;
                    keep_all_values::<1>(&words, (5, 5));
                    keep_all_values::<2>(&words, (5, 5));
                    keep_all_values::<4>(&words, (5, 5));
                    keep_all_values::<8>(&words, (5, 5));
                }
            }
        }
    }
    keep_all_values::<4>(&[0, 1, 1 << 31, u32::MAX], (0, 1 << 32));
}

#[test]
fn keep_finds_the_same_words_at_every_position() {
    for size in [0usize, 1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 48] {
        for at in 0..size {
            for odd in [4, 5, 9, 10, 11, 1 << 31, u64::from(u32::MAX), u64::MAX] {
                let mut words = vec![7; size];
                words[at] = odd;
                keep_all::<[u8; 4]>(&words, 5, 5);
                keep_all::<[u8; 8]>(&words, 5, 5);
                let mut words = vec![odd; size];
                words[at] = 7;
                keep_all::<[u8; 4]>(&words, 5, 5);
                keep_all::<[u8; 8]>(&words, 5, 5);
            }
        }
    }
    keep_all::<[u8; 8]>(&[0, 1 << 40, (1 << 40) + 3, u64::MAX], 1 << 40, 1 << 33);
    keep_all::<[u8; 4]>(&[0, 1, 1 << 31, u32::MAX.into()], 0, 1 << 32);
}

#[derive(Clone, Copy)]
enum Sums {
    OneByOne,
    Rows,
    Widened,
}

struct AddF16<'a>(&'a mut [[u8; 2]], &'a [[u8; 2]], Sums);

impl Task for AddF16<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.2 {
            Sums::Rows => simd.add_f16_row(self.0, self.1),
            Sums::OneByOne => {
                for (a, b) in self.0.iter_mut().zip(self.1) {
                    *a = simd.add_f16(u16::from_le_bytes(*a), u16::from_le_bytes(*b)).to_le_bytes();
                }
            }
            Sums::Widened => {
                let mut wide = vec![7.0; self.1.len() + 1];
                simd.widen_f16(self.1, &mut wide);
                for (a, b) in self.0.iter_mut().zip(&wide) {
                    *a = simd.add_wide_f16(u16::from_le_bytes(*a), *b).to_le_bytes();
                }
                assert_eq!(wide.last(), Some(&7.0), "nothing is widened that is not there");
            }
        }
    }
}

/// All 65,536 numbers against a few others, as rows and one by one.
#[test]
fn f16_sums_are_those_of_one_rounding() {
    for other in [0x0000u16, 0x8000, 0x3c00, 0x0001, 0x8001, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e01, 0x1400, 0x6bff] {
        let numbers: Vec<[u8; 2]> = (0..=u16::MAX).map(u16::to_le_bytes).collect();
        let others = vec![other.to_le_bytes(); numbers.len()];
        for backend in Backend::available() {
            for way in [Sums::OneByOne, Sums::Rows, Sums::Widened] {
                let mut sums = numbers.clone();
                backend.run(AddF16(&mut sums, &others, way));
                for (bits, sum) in (0..=u16::MAX).zip(sums) {
                    let (a, b) = (f16::from_bits(bits).to_f64(), f16::from_bits(other).to_f64());
                    let (expected, actual) = (f16::from_f64(a + b), f16::from_le_bytes(sum));
                    assert!(
                        expected.to_bits() == actual.to_bits() || (expected.is_nan() && actual.is_nan()),
                        "{}: {bits:04x} + {other:04x}",
                        backend.name()
                    );
                }
            }
        }
    }
}

#[test]
fn f16_rows_of_every_length_stay_within_their_ends() {
    for length in 0..70usize {
        for backend in Backend::available() {
            for way in [Sums::Rows, Sums::Widened] {
                let one = f16::ONE.to_le_bytes();
                let mut row = vec![one; length + 2];
                backend.run(AddF16(&mut row[1..=length], &vec![one; length], way));
                let two = f16::from_f32(2.0).to_le_bytes();
                for (i, value) in row.iter().enumerate() {
                    assert_eq!(*value, if i == 0 || i == length + 1 { one } else { two });
                }
            }
        }
    }
}

struct AreBelow<'a, W>(&'a [W], u64);

impl<W: Word> Task for AreBelow<'_, W> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        simd.are_below(self.0, self.1)
    }
}

/// The words are part of a longer list whose neighbours are out of range: nothing beyond either end is looked at.
fn below_all<W: Word>(words: &[u64], limit: u64) {
    let mask = if W::BYTES == 4 { u64::from(u32::MAX) } else { u64::MAX };
    let expected = words.iter().all(|word| word & mask < limit);
    let list: Vec<W> = [&[u64::MAX], words, &[u64::MAX]].concat().into_iter().map(W::put).collect();
    for backend in Backend::available() {
        let actual = backend.run(AreBelow(&list[1..=words.len()], limit));
        assert_eq!(actual, expected, "{} {words:x?} {limit}", backend.name());
    }
}

#[test]
fn one_word_at_the_limit_is_seen_at_every_position() {
    for size in (0..=70usize).chain([95, 96, 97, 129]) {
        below_all::<[u8; 4]>(&vec![6; size], 7);
        below_all::<[u8; 8]>(&vec![6; size], 7);
        below_all::<[u8; 4]>(&vec![0; size], 0);
        below_all::<[u8; 8]>(&vec![0; size], 0);
        for at in 0..size {
            for odd in [7, 8, 1 << 31, u64::from(u32::MAX), u64::MAX] {
                let mut words = vec![6; size];
                words[at] = odd;
                for limit in [7, 1 << 31, u64::from(u32::MAX), 1 << 32, u64::MAX] {
                    below_all::<[u8; 4]>(&words, limit);
                    below_all::<[u8; 8]>(&words, limit);
                }
            }
        }
    }
}

struct Gather<'a>(&'a mut [[u8; 4]], &'a [[u8; 4]], &'a [[u8; 4]], Option<&'a Streams>);

impl Task for Gather<'_> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        simd.gather4(self.0, self.1, self.2, self.3)
    }
}

/// One word that is the last or none of the table's, at every position, with the output at every distance from a line.
#[test]
fn a_gather_says_whether_all_its_words_are_in_the_table() {
    const GUARD: [u8; 4] = [0xee; 4];
    let table: Vec<[u8; 4]> = (100..120u32).map(u32::to_le_bytes).collect();
    for backend in Backend::available() {
        for length in [1usize, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 80] {
            for at in 0..length {
                for odd in [19u32, 20, 1 << 31, u32::MAX] {
                    let mut words: Vec<[u8; 4]> = (0..length as u32).map(|k| (k % 20).to_le_bytes()).collect();
                    words[at] = odd.to_le_bytes();
                    let (start, streams) = (1 + at % 17, Streams::new());
                    for streams in [None, Some(&streams)] {
                        let mut to = vec![GUARD; start + length + 1];
                        let done = backend.run(Gather(&mut to[start..][..length], &table, &words, streams));
                        assert_eq!(done, odd < 20, "{} {odd} at {at} of {length}", backend.name());
                        let ends = to[..start].iter().chain(&to[start + length..]);
                        assert!(ends.copied().all(|slot| slot == GUARD), "{} left its buffer", backend.name());
                        let all = words.iter().zip(&to[start..]);
                        let found = |word: &[u8; 4]| table.get(u32::from_le_bytes(*word) as usize).copied();
                        assert!(!done || all.into_iter().all(|(word, slot)| found(word) == Some(*slot)));
                    }
                }
            }
        }
    }
}

struct GatherLanding<'a>(&'a mut [[u8; 4]], &'a [[u8; 4]], &'a [[u8; 4]], Landing, Option<&'a Streams>);

impl Task for GatherLanding<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> usize {
        simd.gather4_landing(self.0, self.1, self.2, self.3, self.4)
    }
}

/// The element that a word lands on, by arithmetic that is wide enough.
fn landed(word: u32, length: i64, landing: Landing) -> i64 {
    let (Landing::Nearest { signed } | Landing::Wrapped { signed, .. }) = landing;
    let index = if signed { i64::from(word as i32) } else { i64::from(word) };
    match landing {
        Landing::Nearest { .. } => index.clamp(0, length - 1),
        Landing::Wrapped { .. } => index.rem_euclid(length),
    }
}

/// One odd word at every position, with the output at every distance from a line, for every way to land.
#[test]
fn words_out_of_range_land_where_their_policy_says_and_are_counted() {
    const GUARD: [u8; 4] = [0xee; 4];
    for length in [1i64, 2, 20, 37] {
        let table: Vec<[u8; 4]> = (100..100 + length as u32).map(u32::to_le_bytes).collect();
        let modulus = Modulus::new(length as u64, true);
        let ways = [false, true].map(|signed| [Landing::Nearest { signed }, Landing::Wrapped { modulus, signed }]);
        for (backend, landing) in Backend::available().flat_map(|b| ways.as_flattened().iter().map(move |w| (b, *w))) {
            for count in [0usize, 1, 7, 8, 9, 16, 23, 33, 64, 80] {
                for (at, odd) in (0..count.max(1)).flat_map(|at| ODD.map(|odd| (at, odd))) {
                    let mut words: Vec<u32> = (0..count as u32).map(|k| k.wrapping_mul(0x9e37_79b1) >> 26).collect();
                    words.get_mut(at).into_iter().for_each(|word| *word = odd);
                    let bytes: Vec<_> = words.iter().map(|word| word.to_le_bytes()).collect();
                    let (start, streams) = (1 + at % 17, Streams::new());
                    for streams in [None, Some(&streams)] {
                        let mut to = vec![GUARD; start + count + 1];
                        let task = GatherLanding(&mut to[start..][..count], &table, &bytes, landing, streams);
                        let outside = backend.run(task);
                        let beyond = words.iter().filter(|word| i64::from(**word) >= length).count();
                        assert_eq!(outside, beyond, "{} {landing:?} {odd} at {at} of {count}", backend.name());
                        let expected = words.iter().map(|word| table[landed(*word, length, landing) as usize]);
                        let expected = [vec![GUARD; start], expected.collect(), vec![GUARD]].concat();
                        assert_eq!(to, expected, "{} {landing:?} {odd} at {at} of {count}", backend.name());
                    }
                }
            }
            for (count, streams) in [(9, None), (40, None), (40, Some(&Streams::new()))] {
                let task = GatherLanding(&mut vec![GUARD; count], &[], &vec![[0; 4]; count], landing, streams);
                assert_eq!(backend.run(task), count, "an empty table has no word in range");
            }
        }
    }
}

/// Words at the ends of their types and of small tables.
const ODD: [u32; 9] = [0, 1, 19, 20, i32::MAX as u32, 1 << 31, (1 << 31) + 1, u32::MAX - 1, u32::MAX];

#[test]
fn four_numbers_keep_their_order_and_bits() {
    // A signalling NaN among them, and an address that is no multiple of anything.
    let bits = [0x7f80_0001u32, 0x8000_0000, 1, 0xffff_ffff];
    let bytes = [&[0; 1], bits.map(u32::to_le_bytes).as_flattened()].concat();
    let four: &[[u8; 4]; 4] = bytes[1..].as_chunks().0.first_chunk().expect("four of them");
    assert_eq!(load_apart(four).map(f32::to_bits), bits);
}
