//! Plain moves: what TLOAD, TSTORE and TMOV carry, in every pair of storage orders, and what they leave alone.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use pto::prelude::*;

fn counted(n: usize) -> Vec<i32> {
    (1..=n as i32).collect()
}

#[test]
fn nd_round_trip_through_strides() {
    // 2 x 3 rows of 5 columns in rows of 8, groups of 40: gaps everywhere.
    type Gapped = Stride<80, 80, 40, 8, 1>;
    let memory = counted(80);
    let tensor = GlobalRef::<i32, Shape<1, 1, 2, 3, 5>, Gapped>::new(&memory).unwrap();
    let mut tile = Tile::<i32, 6, 8, RowMajor, 6, 5>::new();
    let mut core = VectorCore::<A5>::new();
    core.tload(&mut tile, &tensor).unwrap();
    let expected: Vec<i32> =
        (0..6).flat_map(|row| (0..5).map(move |col| row / 3 * 40 + row % 3 * 8 + col + 1)).collect();
    assert_eq!(core.read(&tile).unwrap(), expected);

    let mut back = vec![0; 80];
    core.tstore(&mut GlobalTensor::<i32, Shape<1, 1, 2, 3, 5>, Gapped>::new(&mut back).unwrap(), &tile).unwrap();
    for (i, value) in back.into_iter().enumerate() {
        assert!(value == 0 || value == memory[i], "element {i}");
        assert_eq!(value != 0, i / 8 % 5 < 3 && i % 8 < 5, "element {i}: gaps stay as they are");
    }
}

#[test]
fn nz_round_trip_with_batches_and_padded_strides() {
    // Two batches of two block columns and two block rows, f32: C0 = 8, so a matrix of 32 x 32.
    type Nz5 = Shape<2, 2, 2, 16, 8>;
    type Padded = Stride<600, 300, 136, 8, 1>;
    let memory: Vec<f32> = (0..1200).map(|k| k as f32).collect();
    let tensor = GlobalRef::<f32, Nz5, Padded, Nz>::new(&memory).unwrap();
    let at = |row: usize, col: usize| {
        let block = col / 8;
        (block / 2 * 600 + block % 2 * 300 + row / 16 * 136 + row % 16 * 8 + col % 8) as f32
    };
    let expected: Vec<f32> = (0..30).flat_map(|row| (0..27).map(move |col| at(row, col))).collect();

    let mut core = VectorCore::<A2A3>::new();
    let mut boxed = Tile::<f32, 32, 32, Nz, 30, 27>::new();
    let mut rows = Tile::<f32, 32, 32, RowMajor, 30, 27>::new();
    let mut columns = Tile::<f32, 32, 32, ColMajor, 30, 27>::new();
    core.tload(&mut boxed, &tensor).unwrap();
    core.tload(&mut rows, &tensor).unwrap();
    core.tmov(&mut columns, &boxed).unwrap();
    assert_eq!(core.read(&boxed).unwrap(), expected);
    assert_eq!(core.read(&rows).unwrap(), expected);
    assert_eq!(core.read(&columns).unwrap(), expected);

    let mut back = vec![-1f32; 1200];
    core.tstore(&mut GlobalTensor::<f32, Nz5, Padded, Nz>::new(&mut back).unwrap(), &columns).unwrap();
    assert_eq!(back.iter().filter(|&&v| v >= 0.0).count(), 30 * 27);
    assert!(back.iter().enumerate().all(|(i, &v)| v == -1.0 || v == i as f32));
}

#[test]
fn column_major_tensor() {
    let memory = counted(12);
    let tensor = GlobalRef::<i32, Shape<1, 1, 1, 4, 3>, Stride<12, 12, 12, 1, 4>, Dn>::new(&memory).unwrap();
    let mut tile = Tile::<i32, 8, 3, ColMajor, 4, 3>::new();
    let mut core = VectorCore::<Host>::new();
    core.tload(&mut tile, &tensor).unwrap();
    assert_eq!(core.read(&tile).unwrap(), [1, 5, 9, 2, 6, 10, 3, 7, 11, 4, 8, 12]);
}

/// Loads 2x3 of a padded 3x8 tile and returns all 24 elements.
fn padded<T: Element, P: Pad>(old: T, memory: &[T]) -> Vec<T> {
    let mut core = VectorCore::<A5>::new();
    let (mut whole, mut tile) = (Tile::<T, 3, 8>::new(), Tile::<T, 3, 8, RowMajor, 2, 3, P>::new());
    core.tassign(&mut whole, 0x20).unwrap();
    core.tassign(&mut tile, 0x20).unwrap();
    core.write(&whole, &[old; 24]).unwrap();
    core.tload(&mut tile, &GlobalRef::<T, Shape<1, 1, 1, 2, 3>>::new(memory).unwrap()).unwrap();
    core.read(&whole).unwrap()
}

#[test]
fn padding_is_filled() {
    let around = |pad: i32| {
        let mut all = vec![pad; 24];
        all[..3].copy_from_slice(&[1, 2, 3]);
        all[8..11].copy_from_slice(&[4, 5, 6]);
        all
    };
    let memory = counted(6);
    assert_eq!(padded::<i32, PadNull>(7, &memory), around(7));
    assert_eq!(padded::<i32, PadZero>(7, &memory), around(0));
    assert_eq!(padded::<i32, PadMax>(7, &memory), around(i32::MAX));
    assert_eq!(padded::<i32, PadMin>(7, &memory), around(i32::MIN));
}

#[test]
fn padding_of_every_type() {
    fn last<T: Element, P: Pad>(zero: T) -> T {
        padded::<T, P>(zero, &[zero; 6])[23]
    }
    assert_eq!((last::<i8, PadMax>(0), last::<i8, PadMin>(0)), (i8::MAX, i8::MIN));
    assert_eq!((last::<u8, PadMax>(0), last::<u8, PadMin>(9)), (u8::MAX, 0));
    assert_eq!((last::<i16, PadMax>(0), last::<i16, PadMin>(0)), (i16::MAX, i16::MIN));
    assert_eq!((last::<u16, PadMax>(0), last::<u16, PadMin>(9)), (u16::MAX, 0));
    assert_eq!((last::<u32, PadMax>(0), last::<u32, PadMin>(9)), (u32::MAX, 0));
    assert_eq!((last::<i64, PadMax>(0), last::<i64, PadMin>(0)), (i64::MAX, i64::MIN));
    assert_eq!((last::<u64, PadMax>(0), last::<u64, PadMin>(9)), (u64::MAX, 0));
    assert_eq!((last::<f16, PadMax>(f16::ZERO), last::<f16, PadMin>(f16::ZERO)), (f16::INFINITY, f16::NEG_INFINITY));
    assert_eq!(
        (last::<bf16, PadMax>(bf16::ONE), last::<bf16, PadMin>(bf16::ONE)),
        (bf16::INFINITY, bf16::NEG_INFINITY)
    );
    assert_eq!((last::<f32, PadMax>(0.0), last::<f32, PadMin>(0.0)), (f32::INFINITY, f32::NEG_INFINITY));
    assert_eq!((last::<f64, PadMax>(0.0), last::<f64, PadMin>(0.0)), (f64::INFINITY, f64::NEG_INFINITY));
    let zero = F8E4M3::from_bits(0);
    assert_eq!((last::<F8E4M3, PadMax>(zero).to_f32(), last::<F8E4M3, PadMin>(zero).to_f32()), (448.0, -448.0));
    let zero = F8E5M2::from_bits(0);
    assert_eq!(last::<F8E5M2, PadMax>(zero).to_f32(), f32::INFINITY);
    let zero = HiF8::from_bits(0);
    assert_eq!(last::<HiF8, PadMin>(zero).to_f32(), f32::NEG_INFINITY);
}

#[test]
fn boxed_padding_is_filled() {
    let memory = [1f32; 6];
    let mut core = VectorCore::<A2A3>::new();
    let (mut whole, mut tile) = (Tile::<f32, 16, 16, Nz>::new(), Tile::<f32, 16, 16, Nz, 2, 3, PadZero>::new());
    core.tassign(&mut whole, 0).unwrap();
    core.tassign(&mut tile, 0).unwrap();
    core.write(&whole, &[5.0; 256]).unwrap();
    core.tload(&mut tile, &GlobalRef::<f32, Shape<1, 1, 1, 2, 3>>::new(&memory).unwrap()).unwrap();
    let all = core.read(&whole).unwrap();
    assert_eq!(all.iter().sum::<f32>(), 6.0);
    assert_eq!((all[0], all[2], all[3], all[16], all[18]), (1.0, 1.0, 0.0, 1.0, 1.0));
}

#[test]
fn a_move_keeps_padding() {
    let mut core = VectorCore::<A5>::new();
    let (mut whole, mut dst) = (Tile::<i32, 2, 8>::new(), Tile::<i32, 2, 8, RowMajor, 2, 3, PadZero>::new());
    let src = Tile::<i32, 2, 3>::new();
    core.tassign(&mut whole, 0x40).unwrap();
    core.tassign(&mut dst, 0x40).unwrap();
    core.write(&whole, &[9; 16]).unwrap();
    core.write(&src, &counted(6)).unwrap();
    core.tmov(&mut dst, &src).unwrap();
    assert_eq!(core.read(&whole).unwrap(), [1, 2, 3, 9, 9, 9, 9, 9, 4, 5, 6, 9, 9, 9, 9, 9]);
}

#[test]
fn a_move_onto_itself_reads_what_was_there() {
    // The destination starts one block after the source: a naive forward copy would smear the first block.
    let mut core = VectorCore::<A5>::new();
    let (mut src, mut dst) = (Tile::<i32, 1, 64>::new(), Tile::<i32, 1, 64>::new());
    core.tassign(&mut src, 0x00).unwrap();
    core.tassign(&mut dst, 0x20).unwrap();
    core.write(&src, &counted(64)).unwrap();
    core.tmov(&mut dst, &src).unwrap();
    assert_eq!(core.read(&dst).unwrap(), counted(64));
}
