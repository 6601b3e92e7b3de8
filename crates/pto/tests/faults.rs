//! What only the run can find: dynamic extents, addresses, index values. The memory stays as it was, all of it.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use pto::prelude::*;
use pto::{Cause, Fault};

type Dynamic<T, const R: usize, const C: usize> = Tile<T, R, C, RowMajor, DYN, DYN>;

/// Runs a scatter that must fail and returns the rule; table and unified buffer must be unchanged.
fn refused<A, P>(policy: P, src: [usize; 2], idx: [usize; 2], table: [usize; 2], stride: usize) -> &'static str
where
    A: Arch + HasAtomic<P::Atomic>,
    P: ScatterPolicy<Conflict: ConflictOn<A>>,
    f32: Payload<A> + AtomicElement<P::Atomic, A>,
    i32: MemoryIndex<A>,
{
    let mut core = VectorCore::<A>::new();
    let (src, idx) = (Dynamic::<f32, 8, 32>::dynamic(src), Dynamic::<i32, 8, 32>::dynamic(idx));
    let whole = Tile::<f32, 8, 32>::new();
    core.write(&whole, &[1.5; 256]).unwrap();
    core.read(&Tile::<f32, 8, 32>::new()).unwrap();
    let mut memory: Vec<f32> = (0..8192).map(|k| k as f32).collect();
    let before = memory.clone();
    let mut table = GlobalTensor::<f32, _, _>::dynamic(
        &mut memory,
        Shape::<1, 1, 1, DYN, DYN>::dynamic(table),
        Stride::<1, 1, 1, DYN, 1>::dynamic([stride]),
    )
    .unwrap();
    let ub = core.ub().to_vec();
    let error = core.mscatter(policy, &mut table, &src, &idx).unwrap_err();
    assert!(core.ub().starts_with(&ub), "{error}");
    assert_eq!(core.lanes(), Lanes::default());
    assert_eq!(memory, before, "{error}");
    error.rule().map_or("none", |rule| rule.name)
}

#[test]
fn extents_that_break_a_rule() {
    assert_eq!(refused::<A5, _>(Row, [9, 32], [1, 9], [64, 32], 32), "shape.valid-extent");
    assert_eq!(refused::<A5, _>(Row, [8, 32], [1, 7], [64, 32], 32), "shape.index-coalesce");
    assert_eq!(refused::<A2A3, _>(Row, [8, 32], [8, 1], [64, 32], 32), "shape.index-coalesce");
    assert_eq!(refused::<A5, _>(Row, [8, 31], [8, 1], [64, 32], 32), "shape.row-width");
    assert_eq!(refused::<A2A3, _>(Row, [8, 32], [1, 8], [64, 31], 32), "shape.row-columns");
    assert_eq!(refused::<A5, _>(Row, [8, 32], [1, 8], [64, 32], 40), "layout.packed");
    assert_eq!(refused::<A5, _>(Elem, [0, 32], [0, 32], [64, 32], 32), "shape.empty");
    assert_eq!(refused::<Host, _>((Elem, Add, Wrap), [8, 32], [8, 32], [0, 32], 32), "shape.empty-table");
    assert_eq!(refused::<Cpu, _>(Elem, [8, 32], [8, 31], [64, 32], 32), "shape.index-payload");
    assert_eq!(refused::<A2A3, _>(Elem, [8, 32], [8, 32], [64, 32], 16), "bounds.table");
}

/// Scatters with the last of 256 lanes out of range.
fn lane<A>(index: i32) -> Fault
where
    A: Arch,
    f32: Payload<A>,
    i32: MemoryIndex<A>,
{
    let mut core = VectorCore::<A>::new();
    let (src, idx) = (Tile::<f32, 8, 32>::new(), Tile::<i32, 8, 32>::new());
    let mut indices: Vec<i32> = (0..256).collect();
    indices[255] = index;
    core.write(&src, &[1.0; 256]).unwrap();
    core.write(&idx, &indices).unwrap();
    let mut memory = vec![0f32; 300];
    let mut table = GlobalTensor::<f32, Shape<1, 1, 1, 1, 300>>::new(&mut memory).unwrap();
    let line = line!() + 1;
    let error = core.mscatter(Elem, &mut table, &src, &idx).unwrap_err();
    assert_eq!((error.place().file(), error.place().line()), (file!(), line));
    assert_eq!(error.rule().unwrap().name, "bounds.lane");
    assert_eq!(memory, vec![0f32; 300], "not even the lanes before it are written");
    match error.cause() {
        Cause::Fault(fault) => fault.clone(),
        other => panic!("{other}"),
    }
}

#[test]
fn lanes_out_of_range() {
    let Fault::Lane { lane: at, row, column, index, capacity, .. } = lane::<A5>(300) else { panic!() };
    assert_eq!((at, row, column, index, capacity), (255, 7, 31, 300, 300));
    let Fault::Lane { index, .. } = lane::<A2A3>(-1) else { panic!() };
    assert_eq!(index, 4_294_967_295);
    let Fault::Lane { index, .. } = lane::<Host>(-1) else { panic!() };
    assert_eq!(index, -1);
    assert!(matches!(lane::<Cpu>(i32::MAX), Fault::Lane { .. }));
}

#[test]
fn gathers_and_tile_scatters_fault_too() {
    let mut core = VectorCore::<A5>::new();
    let memory = [1f32; 16];
    let table = GlobalRef::<f32, Shape<1, 1, 1, 2, 8>>::new(&memory).unwrap();
    let (mut dst, idx) = (Tile::<f32, 2, 8>::new(), Tile::<i32, 1, 2>::new());
    core.write(&dst, &[5.0; 16]).unwrap();
    core.write(&idx, &[0, 2]).unwrap();
    assert_eq!(core.mgather(Row, &mut dst, &table, &idx).unwrap_err().rule().unwrap().name, "bounds.lane");
    assert_eq!(core.read(&dst).unwrap(), [5.0; 16]);

    let (src, offsets) = (Tile::<f32, 2, 8>::new(), Tile::<u32, 2, 8>::new());
    core.write(&offsets, &[16; 16]).unwrap();
    assert_eq!(core.tscatter(&mut dst, &src, &offsets).unwrap_err().rule().unwrap().name, "bounds.lane");
    assert_eq!(core.read(&dst).unwrap(), [5.0; 16], "not cleared either");

    let mut wide = Tile::<f32, 2, 32, RowMajor, 2, DYN>::dynamic([15]);
    let error = core.tscatter_mask(P0101, &mut wide, &dst).unwrap_err();
    assert_eq!(error.rule().unwrap().name, "shape.mask-columns");
}

#[test]
fn moves_that_do_not_fit() {
    let mut core = VectorCore::<A5>::new();
    let mut memory = [1f32; 64];
    let mut tile = Dynamic::<f32, 8, 8>::dynamic([8, 8]);
    let small = GlobalRef::<f32, Shape<1, 1, 1, 4, 8>>::new(&memory).unwrap();
    let error = core.tload(&mut tile, &small).unwrap_err();
    assert_eq!(error.cause(), &Cause::Region { tile: (8, 8), tensor: (4, 8) });
    assert_eq!(core.read(&tile).unwrap(), [0.0; 64]);

    let mut narrow = GlobalTensor::<f32, Shape<1, 1, 1, 8, 7>>::new(&mut memory).unwrap();
    assert!(core.tstore(&mut narrow, &tile).is_err());
    assert_eq!(memory, [1.0; 64]);

    tile.set_valid([9, 8]);
    let error = core.read(&tile).unwrap_err();
    assert_eq!(error.cause(), &Cause::Valid { valid: (9, 8), padded: (8, 8) });
    tile.set_valid([8, 7]);
    let mut other = Tile::<f32, 8, 8>::new();
    let error = core.tmov(&mut other, &tile).unwrap_err();
    assert_eq!(error.cause(), &Cause::Regions { dst: (8, 8), src: (8, 7) });
}

#[test]
fn slices_shorter_than_the_tensor() {
    let memory = [0u8; 100];
    let short = |shape, stride| {
        GlobalRef::<u8, Shape<1, 1, 1, DYN, DYN>, Stride<1, 1, 1, DYN, 1>>::dynamic(&memory, shape, stride).is_err()
    };
    let shape = |rows, cols| Shape::<1, 1, 1, DYN, DYN>::dynamic([rows, cols]);
    let stride = |step| Stride::<1, 1, 1, DYN, 1>::dynamic([step]);
    assert!(!short(shape(10, 10), stride(10)));
    assert!(short(shape(10, 11), stride(10)));
    assert!(!short(shape(4, 10), stride(30)));
    assert!(short(shape(4, 11), stride(30)));
    assert!(!short(shape(0, 1000), stride(30)), "nothing addressed, nothing needed");
    assert!(short(shape(usize::MAX - 1, usize::MAX - 1), stride(usize::MAX - 1)), "no overflow, no panic");
    let packed =
        GlobalRef::<u8, Shape<DYN, DYN, 1, 1, 1>>::dynamic(&memory, Shape::dynamic([1 << 40, 1 << 40]), Packed);
    assert!(packed.is_err());
}

#[test]
fn values_that_do_not_fit_the_tile() {
    let mut core = VectorCore::<A5>::new();
    let tile = Tile::<f32, 2, 8, RowMajor, 2, 3>::new();
    core.write(&tile, &[1.0; 6]).unwrap();
    for wrong in [0, 5, 7, 16] {
        let error = core.write(&tile, &vec![2.0; wrong]).unwrap_err();
        assert_eq!(error.cause(), &Cause::Length { expected: 6, found: wrong as u64 });
    }
    assert_eq!(core.read(&tile).unwrap(), [1.0; 6]);
}
