//! Where tiles live: budgets, alignment, automatic placement, shared bytes.

use pto::Cause;
use pto::prelude::*;

fn rule<T>(result: Result<T, pto::Error>) -> &'static str {
    result.err().and_then(|error| error.rule()).map_or("none", |rule| rule.name)
}

#[test]
fn buffers_have_the_size_of_the_device() {
    assert_eq!(VectorCore::<A2A3>::new().ub().len(), 192 * 1024);
    assert_eq!(VectorCore::<A5>::new().ub().len(), 256 * 1024);
    assert_eq!(VectorCore::<Cpu>::new().ub().len(), 0);
}

#[test]
fn the_last_place_that_fits() {
    let mut tile = Tile::<u8, 1, 64>::new();
    let mut a2a3 = VectorCore::<A2A3>::new();
    a2a3.tassign(&mut tile, 192 * 1024 - 64).unwrap();
    assert_ne!(rule(a2a3.tassign(&mut tile, 192 * 1024 - 32)), "none");

    let mut tile = Tile::<u8, 1, 64>::new();
    let mut a5 = VectorCore::<A5>::new();
    a5.tassign(&mut tile, 128 * 1024 - 64).unwrap();
    assert_eq!(rule(a5.tassign(&mut tile, 128 * 1024 - 32)), "budget.ub");

    let mut tile = Tile::<u8, 1, 64>::new();
    let mut dynamic = VectorCore::<A5<{ 216 * 1024 }>>::new();
    dynamic.tassign(&mut tile, 216 * 1024 - 64).unwrap();
    assert_ne!(rule(dynamic.tassign(&mut tile, 216 * 1024 - 32)), "none");
    assert_ne!(rule(dynamic.tassign(&mut tile, u64::MAX - 31)), "none");
}

#[test]
fn a_refused_place_leaves_the_old_one() {
    let mut core = VectorCore::<A5>::new();
    let mut tile = Tile::<i32, 1, 8>::new();
    core.tassign(&mut tile, 0x100).unwrap();
    assert_eq!(rule(core.tassign(&mut tile, 0x101)), "align.address");
    assert_eq!(tile.address(), Some(0x100));
}

#[test]
fn the_host_has_no_alignment_and_no_budget() {
    let mut core = VectorCore::<Host>::new();
    let mut tile = Tile::<u8, 1, 100>::new();
    core.tassign(&mut tile, 1 << 20).unwrap();
    core.write(&tile, &[3; 100]).unwrap();
    assert_eq!(core.ub().len(), (1 << 20) + 128);
}

#[test]
fn the_host_takes_odd_addresses() {
    let mut core = VectorCore::<Host>::new();
    let (mut src, mut idx) = (Tile::<f64, 1, 4>::new(), Tile::<i64, 1, 4>::new());
    core.tassign(&mut src, 3).unwrap();
    core.tassign(&mut idx, 101).unwrap();
    core.write(&src, &[1.0, 2.0, 3.0, 4.0]).unwrap();
    core.write(&idx, &[3, 2, 1, -1]).unwrap();
    assert_eq!(core.read(&src).unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let mut memory = [0.5; 4];
    let mut table = GlobalTensor::<f64, Shape<1, 1, 1, 1, 4>>::new(&mut memory).unwrap();
    core.mscatter((Elem, Add, Clamp), &mut table, &src, &idx).unwrap();
    assert_eq!(memory, [4.5, 3.5, 2.5, 1.5]);
    let mut back = Tile::<f64, 1, 4>::new();
    core.tassign(&mut back, 57).unwrap();
    core.mgather((Elem, Zero), &mut back, &GlobalRef::<f64, Shape<1, 1, 1, 1, 4>>::new(&memory).unwrap(), &idx)
        .unwrap();
    assert_eq!(core.read(&back).unwrap(), [1.5, 2.5, 3.5, 0.0]);
    let mut moved = Tile::<f64, 1, 4>::new();
    core.tassign(&mut moved, 59).unwrap();
    core.tmov(&mut moved, &back).unwrap();
    assert_eq!(core.read(&moved).unwrap(), [1.5, 2.5, 3.5, 0.0]);
}

#[test]
fn an_absurd_address_is_an_error() {
    let mut core = VectorCore::<Host>::new();
    let mut tile = Tile::<u8, 1, 32>::new();
    let error = core.tassign(&mut tile, 1 << 62).unwrap_err();
    assert!(matches!(error.cause(), Cause::OutOfMemory { .. }), "{error}");
    assert!(core.tassign(&mut tile, u64::MAX - 3).is_err());
    assert_eq!(tile.address(), None);
}

#[test]
fn unassigned_tiles_do_not_overlap() {
    let mut core = VectorCore::<A5>::new();
    let mut fixed = Tile::<u8, 1, 64>::new();
    core.tassign(&mut fixed, 0x40).unwrap();
    // 0x00..0x40 is free, so the second small tile fits before the fixed one, the large one only behind it.
    let (large, small, odd) = (Tile::<f32, 8, 8>::new(), Tile::<u8, 1, 32>::new(), Tile::<u8, 1, 33>::new());
    core.write(&large, &[1.0; 64]).unwrap();
    core.write(&small, &[2; 32]).unwrap();
    core.write(&odd, &[3; 33]).unwrap();
    assert_eq!((large.address(), small.address(), odd.address()), (Some(0x80), Some(0), Some(0x180)));
    assert_eq!(core.read(&large).unwrap(), [1.0; 64]);
    assert_eq!(core.read(&small).unwrap(), [2; 32]);
    assert_eq!(core.read(&fixed).unwrap(), [0; 64]);
}

#[test]
fn places_are_used_again() {
    let mut core = VectorCore::<A2A3>::new();
    for _ in 0..100 {
        // 128 KiB: two of them would not fit.
        let tile = Tile::<f32, 128, 256>::new();
        core.write(&tile, &vec![1.0; 128 * 256]).unwrap();
        assert_eq!(tile.address(), Some(0));
    }
    let (first, second) = (Tile::<f32, 128, 256>::new(), Tile::<f32, 128, 256>::new());
    core.read(&first).unwrap();
    assert_eq!(rule(core.read(&second)), "budget.ub");
    assert_eq!(second.address(), None);
}

#[test]
fn tiles_at_one_address_share_bytes() {
    let mut core = VectorCore::<A2A3>::new();
    let (mut words, mut bytes) = (Tile::<u32, 1, 8>::new(), Tile::<u8, 1, 32>::new());
    core.tassign(&mut words, 0x200).unwrap();
    core.tassign(&mut bytes, 0x200).unwrap();
    core.write(&words, &[0x0403_0201; 8]).unwrap();
    assert_eq!(core.read(&bytes).unwrap()[..8], [1, 2, 3, 4, 1, 2, 3, 4]);
    assert_eq!(core.ub()[0x200..0x204], [1, 2, 3, 4]);
}

#[test]
fn a_scatter_may_read_indices_from_its_own_payload() {
    // Both are read only, so sharing them is no hazard on any target.
    let mut core = VectorCore::<A5>::new();
    let (mut src, mut idx) = (Tile::<i32, 1, 8>::new(), Tile::<u32, 1, 8>::new());
    core.tassign(&mut src, 0).unwrap();
    core.tassign(&mut idx, 0).unwrap();
    core.write(&idx, &[7, 6, 5, 4, 3, 2, 1, 0]).unwrap();
    let mut memory = [0; 8];
    let mut table = GlobalTensor::<i32, Shape<1, 1, 1, 1, 8>>::new(&mut memory).unwrap();
    core.mscatter(Elem, &mut table, &src, &idx).unwrap();
    assert_eq!(memory, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn overlap_with_what_is_cleared() {
    let scattered = |dst_at: u64| {
        let mut core = VectorCore::<A5>::new();
        let (mut dst, mut src, mut idx) =
            (Tile::<i32, 1, 8>::new(), Tile::<i32, 1, 8>::new(), Tile::<u32, 1, 8>::new());
        core.tassign(&mut src, 0x00).unwrap();
        core.tassign(&mut idx, 0x20).unwrap();
        core.tassign(&mut dst, dst_at).unwrap();
        core.write(&src, &[1; 8]).unwrap();
        core.write(&idx, &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        let before = core.ub().to_vec();
        let result = core.tscatter(&mut dst, &src, &idx);
        assert!(result.is_ok() || core.ub() == before);
        rule(result)
    };
    assert_eq!(scattered(0x00), "alias.clear");
    assert_eq!(scattered(0x20), "alias.clear");
    assert_eq!(scattered(0x40), "none");
}

#[test]
fn the_host_reads_operands_before_it_writes() {
    let mut core = VectorCore::<Host>::new();
    let (mut dst, mut src, idx) = (Tile::<i32, 1, 4>::new(), Tile::<i32, 1, 4>::new(), Tile::<u16, 1, 4>::new());
    core.tassign(&mut src, 0).unwrap();
    core.tassign(&mut dst, 0).unwrap();
    core.write(&src, &[10, 20, 30, 40]).unwrap();
    core.write(&idx, &[3, 2, 1, 0]).unwrap();
    core.tscatter(&mut dst, &src, &idx).unwrap();
    assert_eq!(core.read(&dst).unwrap(), [40, 30, 20, 10]);
}

#[test]
fn a_tile_belongs_to_one_core() {
    let (mut here, mut there) = (VectorCore::<A5>::new(), VectorCore::<A5>::new());
    let mut tile = Tile::<i32, 1, 8>::new();
    here.write(&tile, &[1; 8]).unwrap();
    assert_eq!(there.read(&tile).unwrap_err().cause(), &Cause::ForeignTile);
    // Until it is assigned there.
    there.tassign(&mut tile, 0x40).unwrap();
    assert_eq!(there.read(&tile).unwrap(), [0; 8]);
}
