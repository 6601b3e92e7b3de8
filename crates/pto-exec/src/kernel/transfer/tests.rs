//! Every lane and boundary, between guard words.

use super::*;
use crate::kernel::combine::{Add, Max, Min, Replace};
use crate::kernel::simd::{Backend, Streams, Task};

const GUARD: [u8; 4] = [0xee; 4];

enum Move<'a> {
    Set(&'a mut [[u8; 4]], Offsets<'a, [u8; 4]>, &'a [[u8; 4]], Strided),
    Add(&'a mut [[u8; 4]], Offsets<'a, [u8; 4]>, &'a [[u8; 4]], Strided),
    AddFew(&'a mut [[u8; 4]], Offsets<'a, [u8; 4]>, &'a [[u8; 4]]),
    Get(&'a mut [[u8; 4]], Strided, &'a [[u8; 4]], Offsets<'a, [u8; 4]>),
}

impl Task for Move<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self {
            Self::Set(table, offsets, tile, run) => {
                scatter::<4, Replace, _, _>(simd, table, (offsets, offsets.words(), offsets.len()), (tile, run), true)
            }
            Self::Add(table, offsets, tile, run) => {
                scatter::<4, Add<u32>, _, _>(simd, table, (offsets, offsets.words(), offsets.len()), (tile, run), true)
            }
            Self::AddFew(table, offsets, tile) => scatter_near::<4, Add<u32>, _, _>(simd, table, offsets, tile),
            Self::Get(tile, run, table, offsets) if run.step == 1 => {
                let tile = &mut tile[run.start..][..offsets.len()];
                for streams in [None, Some(&Streams::new())] {
                    tile.fill(GUARD);
                    assert!(simd.gather4(tile, table, offsets.words(), streams));
                }
            }
            Self::Get(tile, run, table, offsets) => gather(tile, run, table, offsets),
        }
    }
}

fn elements(values: impl IntoIterator<Item = u32>) -> Vec<[u8; 4]> {
    values.into_iter().map(u32::to_le_bytes).collect()
}

#[test]
fn every_lane_position_reaches_its_slot_and_no_other() {
    for backend in Backend::available() {
        for length in 1..=70usize {
            for step in [1, 3] {
                let run = Strided { start: 0, step };
                let tile = elements(100..100 + (length * step) as u32);
                let mut table = vec![GUARD; length + 2];
                let words = elements((0..length as u32).rev());
                let offsets = Offsets::check(&words, length as u64).expect("all inside");
                backend.run(Move::Set(&mut table[1..=length], offsets, &tile, run));
                assert_eq!((table[0], table[length + 1]), (GUARD, GUARD));
                for k in 0..length {
                    assert_eq!(table[length - k], tile[k * step]);
                }
                let mut back = vec![GUARD; length * step + 2];
                backend.run(Move::Get(&mut back[1..=length * step], run, &table[1..=length], offsets));
                for (k, slot) in back.iter().enumerate() {
                    let inside = k > 0 && k <= length * step && (k - 1) % step == 0;
                    assert_eq!(*slot, if inside { tile[k - 1] } else { GUARD }, "{length} {step} {k}");
                }
            }
        }
    }
}

#[test]
fn lanes_on_one_slot_add_up_in_a_register() {
    for backend in Backend::available() {
        for length in [2usize, 16, 255, 256, 257, 700] {
            let tile = elements((0..length as u32).map(|k| k * k));
            let words = vec![1u32.to_le_bytes(); length];
            let mut table = elements([7, 8, 9]);
            let offsets = Offsets::check(&words, 3).expect("all inside");
            backend.run(Move::Add(&mut table, offsets, &tile, Strided { start: 0, step: 1 }));
            let expected = elements([7, 8 + (0..length as u32).map(|k| k * k).sum::<u32>(), 9]);
            assert_eq!(table, expected);
            let mut table = elements([7, 8, 9]);
            backend.run(Move::AddFew(&mut table, offsets, &tile));
            assert_eq!(table, expected);
        }
    }
}

#[test]
fn a_limit_beyond_the_table_or_a_run_beyond_the_tile_panics_before_any_write() {
    let panics = |work: &mut dyn FnMut()| {
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).is_err());
    };
    let words = elements(0..4);
    for backend in Backend::available() {
        let (mut table, tile) = (elements(50..53), elements(0..4));
        let offsets = Offsets::check(&words, 4).expect("all inside");
        let dense = Strided { start: 0, step: 1 };
        panics(&mut || backend.run(Move::Add(&mut table, offsets, &tile, dense)));
        panics(&mut || backend.run(Move::Get(&mut elements(0..4), dense, &tile[..3], offsets)));
        assert_eq!(table, elements(50..53));
        for run in [Strided { start: 1, step: 1 }, Strided { start: 1, step: usize::MAX }] {
            let mut table = elements(50..54);
            panics(&mut || backend.run(Move::Set(&mut table, offsets, &tile, run)));
            panics(&mut || backend.run(Move::Get(&mut table, run, &tile, offsets)));
            assert_eq!(table, elements(50..54));
        }
    }
}

#[test]
fn listed_positions_scatter_and_gather_with_zeros_between() {
    struct Listed<'a>(&'a mut [[u8; 4]], &'a [[u8; 4]], &'a [[u8; 4]]);
    impl Task for Listed<'_> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let offsets = Offsets::check(self.2, 4).expect("all inside");
            scatter_some::<4, Replace, _, _>(simd, self.0, offsets, self.1, Strided { start: 0, step: 1 }, &[1, 2]);
        }
    }
    let (tile, words) = (elements(10..14), elements([3, 0]));
    for backend in Backend::available() {
        let mut table = elements([0; 4]);
        backend.run(Listed(&mut table, &tile, &words));
        assert_eq!(table, elements([12, 0, 0, 11]));
        let mut dst = elements([7; 5]);
        let offsets = Offsets::check(&words, 4).expect("all inside");
        gather_some::<4, _>(&mut dst, Strided { start: 0, step: 1 }, 4, &table, offsets, &[1, 2]);
        assert_eq!(dst, elements([0, 11, 12, 0, 7]));
    }
}

#[test]
fn few_lanes_combine_in_order_at_every_distance_of_the_table() {
    struct Near<'a, C>(&'a mut [[u8; 4]], Offsets<'a, [u8; 4]>, &'a [[u8; 4]], core::marker::PhantomData<C>);
    impl<C: Combine<4>> Task for Near<'_, C> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            scatter_near::<4, C, _, S>(simd, self.0, self.1, self.2);
        }
    }
    #[derive(Clone, Copy, Debug)]
    enum Way {
        Waiting,
        Far,
        /// In blocks, or all at once.
        Beyond {
            block: usize,
        },
    }
    /// As if the table were far away, whatever the machine: blocks of values, with all the words that are left and others, of
    /// which none is an offset.
    struct Distant<'a, C>(Near<'a, C>, Way);
    impl<C: Combine<4>> Task for Distant<'_, C> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) {
            let Self(Near(table, offsets, values, _), way) = self;
            assert_inside(offsets, table.len());
            let all = [offsets.words(), &[[0xff; 4]; 100]].concat();
            let block = if let Way::Beyond { block } = way { block } else { BLOCK };
            for (i, (words, values)) in offsets.words().chunks(block).zip(values.chunks(block)).enumerate() {
                let lanes = (words, &all[i * block..]);
                // SAFETY: every word is below `offsets.limit() <= table.len()` by the assertion.
                unsafe {
                    match way {
                        Way::Waiting => {
                            combine_waiting::<4, C, _, S>(simd, table, words, values, C::are_tame(values));
                        }
                        Way::Far => combine_far::<4, C, _, S>(simd, table, lanes, values),
                        Way::Beyond { .. } => combine_beyond::<4, C, _, S>(simd, table, lanes, values),
                    }
                }
            }
        }
    }
    // Value of a lane, with the number of lanes until the next on the same slot.
    type Value = fn(usize, usize) -> f32;
    fn check<C: Combine<4>>(backend: Backend, (size, lanes): (usize, usize), value: Value) {
        // Three lanes a slot, far apart: chunks and blocks out of order would be seen.
        let period = lanes / 3 + 1;
        let words = elements((0..lanes).map(|k| (k % period * 7919 % size) as u32));
        let values = elements((0..lanes).map(|k| value(k, period).to_bits()));
        let mut table = elements((0..size + 2).map(|k| (-1.0 - k as f32).to_bits()));
        let mut expected = table.clone();
        for (word, new) in words.iter().zip(&values) {
            let slot = &mut expected[1 + u32::from_le_bytes(*word) as usize];
            *slot = backend.run(One::<C>(*slot, *new, core::marker::PhantomData));
        }
        let offsets = Offsets::check(&words, size as u64).expect("all inside");
        let before = table.clone();
        backend.run(Near::<C>(&mut table[1..=size], offsets, &values, core::marker::PhantomData));
        assert!(table == expected, "{lanes} lanes into {size}");
        for way in [Way::Waiting, Way::Far, Way::Beyond { block: BLOCK }, Way::Beyond { block: usize::MAX }] {
            let mut far = before.clone();
            let near = Near::<C>(&mut far[1..=size], offsets, &values, core::marker::PhantomData);
            backend.run(Distant(near, way));
            assert!(far == expected, "{lanes} lanes into {size}, as if it were far away, {way:?}");
        }
    }
    struct One<C>([u8; 4], [u8; 4], core::marker::PhantomData<C>);
    impl<C: Combine<4>> Task for One<C> {
        type Output = [u8; 4];

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> [u8; 4] {
            C::combine(simd, self.0, self.1)
        }
    }
    let number: Value = |k, _| (k * k % 977) as f32 * 0.37 - 99.9;
    // A NaN after a number and a zero after the one that wins; what follows on these slots is less.
    let special: Value = |k, period| match k.checked_sub(period) {
        Some(20) => f32::NAN,
        Some(10) => -0.0,
        None if k == 20 => 5.0,
        None if k == 10 => 0.0,
        _ => -1.0 - (k % 500) as f32,
    };
    for backend in Backend::available() {
        for size in [5000, (1 << 13) - 1, 1 << 13, 1 << 14, (1 << 14) + 1, 1 << 16] {
            // Slots are asked for from 683 lanes on, or 2049 where the table takes 32 KiB.
            for lanes in [17, 31, 33, 100, 512, 682, 683, 684, 1000, 2048, 2049, 3000, 4096, 8192] {
                check::<Replace>(backend, (size, lanes), number);
                check::<Add<f32>>(backend, (size, lanes), number);
                check::<Max<f32>>(backend, (size, lanes), number);
                check::<Max<f32>>(backend, (size, lanes), special);
                check::<Min<f32>>(backend, (size, lanes), number);
                check::<Min<f32>>(backend, (size, lanes), special);
            }
        }
    }
}

#[test]
fn elements_are_gathered_whatever_is_asked_for_with_them() {
    let table = elements(100..150);
    let words = elements((0..40).map(|k| k * 7 % 50));
    let offsets = Offsets::check(&words, 50).expect("all inside");
    let expected: Vec<_> = words.iter().map(|word| table[word.get() as usize]).collect();
    // None is an offset: they are only asked for.
    let ahead = [[0xff; 4]; 50];
    for length in 0..=words.len() {
        for asked in 0..=ahead.len() {
            let mut found = vec![GUARD; length + 1];
            gather_ahead(&mut found[..length], &table, offsets, &ahead[..asked]);
            assert_eq!((&found[..length], found[length]), (&expected[..length], GUARD));
        }
    }
}
