//! What the instructions compute through the typed API: the differences between targets, warnings, counters, events.
#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use pto::prelude::*;

#[test]
fn what_no_lane_writes() {
    fn scattered<A: Arch>() -> Vec<i32>
    where
        i32: TilePayload<A>,
        u32: TileIndex<i32, A>,
    {
        let mut core = VectorCore::<A>::new();
        let (mut whole, mut dst) = (Tile::<i32, 2, 8>::new(), Tile::<i32, 2, 8, RowMajor, 1, 8>::new());
        let (src, idx) = (Tile::<i32, 1, 8, RowMajor, 1, 2>::new(), Tile::<u32, 1, 8, RowMajor, 1, 2>::new());
        core.tassign(&mut whole, 0x400).unwrap();
        core.tassign(&mut dst, 0x400).unwrap();
        core.write(&whole, &[9; 16]).unwrap();
        core.write(&src, &[1, 2]).unwrap();
        core.write(&idx, &[12, 12]).unwrap();
        core.tscatter(&mut dst, &src, &idx).unwrap();
        core.read(&whole).unwrap()
    }
    // Offsets count storage, beyond the valid region too; of two lanes at one slot the last wins.
    let kept = [9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 2, 9, 9, 9];
    assert_eq!(scattered::<Cpu>(), kept);
    assert_eq!(scattered::<Host>(), kept);
    let cleared = kept.map(|v| if v == 9 { 0 } else { v });
    assert_eq!(scattered::<A2A3>(), cleared);
    assert_eq!(scattered::<A5>(), cleared);
}

#[test]
fn a_policy_that_cpu_ignores_is_reported() {
    let mut core = VectorCore::<Cpu>::new();
    let mut memory = [10i32; 8];
    let mut table = GlobalTensor::<i32, Shape<1, 1, 1, 1, 8>>::new(&mut memory).unwrap();
    let (src, idx) = (Tile::<i32, 1, 8>::new(), Tile::<i32, 1, 8>::new());
    core.write(&src, &[1; 8]).unwrap();
    let event = core.mscatter((Elem, Add), &mut table, &src, &idx).unwrap();
    assert_eq!(event.findings().len(), 1);
    assert_eq!(event.findings()[0].rule.name, "policy.ignored");
    assert!(core.mscatter(Elem, &mut table, &src, &idx).unwrap().findings().is_empty());
    assert_eq!(memory[0], 1, "replaced, not added");
}

#[test]
fn a_smaller_index_region_is_noted() {
    let mut core = VectorCore::<A5>::new();
    let (mut dst, src) = (Tile::<f16, 2, 16>::new(), Tile::<f16, 2, 16>::new());
    let idx = Tile::<i16, 2, 16, RowMajor, 1, 16>::new();
    let event = core.tscatter(&mut dst, &src, &idx).unwrap();
    assert_eq!(event.findings()[0].rule.name, "shape.index-smaller");
}

#[test]
fn atomics_on_nz_tables() {
    // A2/A3: an NZ tile into an NZ table of one batch, two block columns, two block rows: 32 rows of 16.
    let mut core = VectorCore::<A2A3>::new();
    let (src, idx) = (Tile::<f32, 16, 16, Nz, 3, 16>::new(), Tile::<i32, 1, 8, RowMajor, 1, 3>::new());
    core.write(&src, &[1.0; 48]).unwrap();
    core.write(&idx, &[17, 17, 2]).unwrap();
    let mut memory = vec![0f32; 512];
    let mut table = GlobalTensor::<f32, Shape<1, 2, 2, 16, 8>, Packed, Nz>::new(&mut memory).unwrap();
    core.mscatter((Row, Add), &mut table, &src, &idx).unwrap();
    let mut rows = Tile::<f32, 32, 16>::new();
    core.tload(&mut rows, &table).unwrap();
    let sums: Vec<f32> = core.read(&rows).unwrap().chunks(16).map(|row| row.iter().sum()).collect();
    let expected: Vec<f32> = (0..32)
        .map(|row| {
            if row == 17 {
                32.0
            } else if row == 2 {
                16.0
            } else {
                0.0
            }
        })
        .collect();
    assert_eq!(sums, expected);
}

#[test]
fn chunks_give_what_one_shot_gives() {
    // 001, tiled iteration: 2048x8 in 16 chunks of 128x8, against a single shot on the host.
    let mut state = 7u64;
    let mut random = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let indices: Vec<i32> = (0..2048 * 8).map(|_| random(500) as i32).collect();
    let values: Vec<f32> = (0..2048 * 8).map(|k| k as f32).collect();

    let mut at_once = vec![-1f32; 480];
    let (src, idx) = (Tile::<f32, 2048, 8>::new(), Tile::<i32, 2048, 8>::new());
    let mut host = VectorCore::<Host>::new();
    host.write(&src, &values).unwrap();
    host.write(&idx, &indices).unwrap();
    let mut table = GlobalTensor::<f32, Shape<1, 1, 1, 1, 480>>::new(&mut at_once).unwrap();
    host.mscatter((Elem, AtomicNone, Skip), &mut table, &src, &idx).unwrap();

    let mut chunked = vec![-1f32; 480];
    let mut table = GlobalTensor::<f32, Shape<1, 1, 1, 1, 480>>::new(&mut chunked).unwrap();
    let (mut src, mut idx) = (Tile::<f32, 128, 8>::new(), Tile::<i32, 128, 8>::new());
    let mut core = VectorCore::<A5>::new().with_schedule(Schedule::Seeded(3));
    for (values, indices) in values.chunks(1024).zip(indices.chunks(1024)) {
        type Chunk = Shape<1, 1, 1, 128, 8>;
        core.tload(&mut src, &GlobalRef::<f32, Chunk>::new(values).unwrap()).unwrap();
        core.tload(&mut idx, &GlobalRef::<i32, Chunk>::new(indices).unwrap()).unwrap();
        core.mscatter((Elem, AtomicNone, Skip, Last), &mut table, &src, &idx).unwrap();
    }
    assert_eq!(chunked, at_once);
    assert_eq!(core.lanes(), host.lanes());
    assert_eq!(core.lanes().written + core.lanes().skipped, 2048 * 8);
}

#[test]
fn the_schedule_decides_default_conflicts() {
    let winner = |seed| {
        let mut core = VectorCore::<A5>::new().with_schedule(Schedule::Seeded(seed));
        let (src, idx) = (Tile::<f32, 32, 32>::new(), Tile::<u32, 32, 32>::new());
        core.write(&src, &(0..1024).map(|k| k as f32).collect::<Vec<_>>()).unwrap();
        let mut memory = [0f32; 1];
        let mut table = GlobalTensor::<f32, Shape<1, 1, 1, 1, 1>>::new(&mut memory).unwrap();
        core.mscatter((Elem, AtomicNone, Undefined, DefaultConflict), &mut table, &src, &idx).unwrap();
        memory[0]
    };
    assert_eq!(winner(1), winner(1), "one seed, one result");
    assert!((2..50).any(|seed| winner(seed) != winner(1)), "but not the same for all");
}

#[test]
fn dynamic_tiles_can_change_their_extents() {
    let mut core = VectorCore::<A5>::new();
    let mut src = Tile::<i32, 4, 8, RowMajor, DYN, 8>::dynamic([4]);
    let mut idx = Tile::<i32, 1, 8, RowMajor, 1, DYN>::dynamic([4]);
    core.write(&src, &[1; 32]).unwrap();
    core.write(&idx, &[0, 1, 2, 3]).unwrap();
    let mut memory = [0i32; 32];
    let mut table = GlobalTensor::<i32, Shape<1, 1, 1, 4, 8>>::new(&mut memory).unwrap();
    src.set_valid([2]);
    idx.set_valid([2]);
    let event = core.mscatter(Row, &mut table, &src, &idx).unwrap();
    assert_eq!(event.lanes().written, 2);
    assert_eq!(memory.iter().sum::<i32>(), 16);
}

#[test]
fn events_number_and_place_what_was_issued() {
    let mut core = VectorCore::<Host>::new();
    let (mut dst, src) = (Tile::<u8, 1, 4>::new(), Tile::<u8, 1, 4>::new());
    let first = core.write(&src, &[1, 2, 3, 4]).unwrap();
    let line = line!() + 1;
    let second = core.after([&first]).tmov(&mut dst, &src).unwrap();
    assert_eq!((first.number(), second.number()), (0, 1));
    assert_eq!((second.place().file(), second.place().line()), (file!(), line));

    let mut other = VectorCore::<Host>::new();
    let tile = Tile::<u8, 1, 4>::new();
    let error = other.after([&second]).write(&tile, &[0; 4]).unwrap_err();
    assert_eq!(error.cause(), &pto::Cause::ForeignEvent);
    other.write(&tile, &[0; 4]).unwrap();
}

#[test]
fn only_what_the_shape_addresses_is_touched() {
    // Guard elements before and behind each row.
    let mut memory = vec![7i32; 4 * 10 + 2];
    {
        let mut table =
            GlobalTensor::<i32, Shape<1, 1, 1, 4, 8>, Stride<40, 40, 40, 10, 1>>::new(&mut memory[1..41]).unwrap();
        let (src, idx) = (Tile::<i32, 4, 8>::new(), Tile::<u32, 1, 8, RowMajor, 1, 4>::new());
        let mut core = VectorCore::<A2A3>::new();
        core.write(&idx, &[0, 1, 2, u32::MAX]).unwrap();
        core.mscatter((Row, AtomicNone, Wrap), &mut table, &src, &idx).unwrap();
    }
    for (i, value) in memory.into_iter().enumerate() {
        let inside = (1..41).contains(&i) && (i - 1) % 10 < 8;
        assert_eq!(value, if inside { 0 } else { 7 }, "element {i}");
    }
}

#[test]
fn remembered_plans_do_not_outlive_their_extents() {
    let mut core = VectorCore::<A5>::new();
    let mut src = Tile::<i32, 32, 8, RowMajor, DYN, 8>::dynamic([1]);
    let mut idx = Tile::<i32, 1, 32, RowMajor, 1, DYN>::dynamic([1]);
    let mut memory = [0i32; 8];
    let mut table = GlobalTensor::<i32, Shape<1, 1, 1, 1, 8>>::new(&mut memory).unwrap();
    // More shapes than are remembered, each twice, then the first ones again.
    for rows in (1..=32).chain(1..=32) {
        src.set_valid([rows]);
        idx.set_valid([rows]);
        for _ in 0..2 {
            let event = core.mscatter((Row, Add), &mut table, &src, &idx).unwrap();
            assert_eq!(event.lanes().written, rows as u64);
        }
        idx.set_valid([33]);
        assert!(core.mscatter((Row, Add), &mut table, &src, &idx).is_err());
    }
}

#[test]
fn a_kernel_can_move_to_another_thread() {
    fn moves<T: Send>() {}
    moves::<VectorCore<A5>>();
    moves::<Tile<f32, 8, 8>>();
    moves::<GlobalTensor<'_, f32, Shape<1, 1, 1, 8, 8>>>();
    moves::<Event>();
    moves::<pto::Error>();
}

#[test]
fn nothing_is_a_legal_amount_on_the_host() {
    let mut core = VectorCore::<Host>::new();
    let (src, idx) = (Tile::<f32, 0, 8>::new(), Tile::<i32, 0, 8>::new());
    assert!(core.read(&src).unwrap().is_empty());
    core.write(&src, &[]).unwrap();
    let mut table = GlobalTensor::<f32, Shape<1, 1, 1, 0, 8>>::new(&mut []).unwrap();
    let event = core.mscatter(Elem, &mut table, &src, &idx).unwrap();
    assert_eq!(event.lanes(), Lanes::default());
    let mut empty = Tile::<f32, 4, 8, RowMajor, 0, 0, PadMax>::new();
    core.tload(&mut empty, &table).unwrap();
    core.tstore(&mut table, &empty).unwrap();
}
