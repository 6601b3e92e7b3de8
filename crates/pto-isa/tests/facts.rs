//! What instructions say of themselves: capacities, implied modes, allocations. Executors and their reference share these,
//! so no comparison of the two would notice a mistake here.

use pto_isa::ElementType::*;
use pto_isa::{
    BLayout, Coalesce, Extent, Instruction, Launch, Policy, SLayout, Severity, Target, Tensor, TensorLayout, Tile,
    check, judge,
};

fn scatter(table: Tensor, src: Tile, idx: Tile, policy: Policy) -> Instruction {
    Instruction::MScatter { table, src, idx, policy }
}

fn legal(instruction: &Instruction, target: Target, launch: Launch) -> bool {
    check(instruction, target, launch).iter().all(|finding| finding.rule.severity != Severity::Error)
}

/// SPEC: Row = product of dims 0..3 on A2/A3; dim 3 on A5; `gShape2 * 16` logical rows for NZ. Elem = all five dims.
#[test]
fn capacity_counts_what_the_target_counts() {
    let table = Tensor::packed(F32, [2, 3, 5, 7, 8]);
    let program = |mode| scatter(table, Tile::new(F32, 4, 8), Tile::new(I32, 1, 4), Policy::coalesce(mode));
    let capacity = |mode, target| program(mode).capacity(target);
    assert_eq!(capacity(Coalesce::Row, Target::A2A3), Some(210));
    assert_eq!(capacity(Coalesce::Row, Target::Host), Some(210));
    assert_eq!(capacity(Coalesce::Row, Target::A5), Some(7));
    // The reference form takes every index as an element, whatever the mode says.
    assert_eq!(capacity(Coalesce::Row, Target::Cpu), Some(1680));
    for target in Target::ALL {
        assert_eq!(capacity(Coalesce::Elem, *target), Some(1680));
    }
    let blocks = Tensor::strided(F32, [2, 3, 5, 16, 8], [1920, 640, 128, 8, 1], TensorLayout::Nz);
    let nz = |mode| scatter(blocks, Tile::new(F32, 16, 48).nz(), Tile::new(I32, 1, 16), Policy::coalesce(mode));
    for target in [Target::A2A3, Target::Host] {
        assert_eq!(nz(Coalesce::Row).capacity(target), Some(80));
        assert_eq!(nz(Coalesce::Elem).capacity(target), Some(3840));
    }
}

/// SPEC: a lane at or beyond Rows*Cols of the destination is an error: the allocation counts, not the valid region.
#[test]
fn tscatter_reaches_the_padding_of_its_destination() {
    let dst = Tile::new(F32, 4, 8).with_valid(3, 5);
    let program = Instruction::TScatter { dst, src: Tile::new(F32, 4, 8), idx: Tile::new(I32, 4, 8) };
    for target in Target::ALL {
        assert_eq!(program.capacity(*target), Some(32));
    }
}

/// SPEC: `[R,1]` or `[1,R]` for R payload rows is Row, the payload's own shape is Elem; one that fits both is Elem.
#[test]
fn the_index_shape_implies_the_mode() {
    let mode = |payload: (u64, u64), index: (u64, u64)| {
        let (src, idx) = (Tile::new(F32, 16, 16), Tile::new(I32, 16, 16));
        let (src, idx) = (src.with_valid(payload.0, payload.1), idx.with_valid(index.0, index.1));
        scatter(Tensor::packed(F32, [1, 1, 1, 8, 8]), src, idx, Policy::default())
    };
    for target in [Target::A2A3, Target::A5, Target::Host] {
        assert_eq!(mode((4, 8), (4, 8)).coalesce(target), Some(Coalesce::Elem));
        assert_eq!(mode((4, 8), (1, 4)).coalesce(target), Some(Coalesce::Row));
        assert_eq!(mode((4, 8), (4, 1)).coalesce(target), Some(Coalesce::Row));
        assert_eq!(mode((4, 1), (4, 1)).coalesce(target), Some(Coalesce::Elem));
        assert_eq!(mode((1, 1), (1, 1)).coalesce(target), Some(Coalesce::Elem));
        assert_eq!(mode((4, 1), (1, 4)).coalesce(target), Some(Coalesce::Row));
        assert_eq!(mode((4, 8), (2, 4)).coalesce(target), None);
    }
}

/// A tile takes whole 32-byte blocks of UB, whatever it holds.
#[test]
fn tiles_take_whole_blocks() {
    let (src, idx) = (Tile::new(F32, 1, 8).with_valid(1, 1), Tile::new(I32, 1, 1));
    let program = scatter(Tensor::packed(F32, [1, 1, 1, 1, 8]), src, idx, Policy::coalesce(Coalesce::Elem));
    let launch = |bytes| Launch { dyn_ub: Some(bytes) };
    assert!(legal(&program, Target::A5, launch(64)));
    assert!(!legal(&program, Target::A5, launch(63)));
}

/// A dynamic operand is unknown before the run in all that it says, strides included.
#[test]
fn nothing_of_a_dynamic_tensor_is_known_before_the_run() {
    let table = Tensor::packed(F32, [1, 1, 1, 8, 8]).into_dynamic().erased();
    let unknown = |extents: [Extent; 5]| extents.iter().all(|extent| extent.known().is_none());
    assert!(unknown(table.shape) && unknown(table.strides));
    let gap = Tensor::strided(F32, [1, 1, 1, 6, 8], [96, 96, 96, 16, 1], TensorLayout::Nd);
    let program = |table| scatter(table, Tile::new(F32, 4, 8), Tile::new(I32, 1, 4), Policy::coalesce(Coalesce::Row));
    use pto_isa::check::Verdict;
    assert!(matches!(judge(&program(gap), Target::A5, Launch::default()), Verdict::Refused(_)));
    assert!(matches!(judge(&program(gap.into_dynamic()), Target::A5, Launch::default()), Verdict::Faults(_)));
}

/// Where an element is stored: 001's formula for fractal tiles, the obvious one for the others, and in every layout each
/// slot belongs to one element.
#[test]
fn every_layout_stores_each_element_once() {
    let tile = Tile::new(F16, 32, 64);
    let at = |tile: &Tile, formula: &dyn Fn(u64, u64) -> u64| {
        (0..32).all(|r| (0..64).all(|c| tile.offset(r, c) == formula(r, c)))
    };
    assert!(at(&tile, &|r, c| r * 64 + c));
    assert!(at(&tile.with_layout(BLayout::ColMajor, SLayout::NoneBox), &|r, c| c * 32 + r));
    assert!(at(&tile.nz(), &|r, c| (c / 16) * (32 * 16) + r * 16 + c % 16));
    for blayout in BLayout::ALL {
        for slayout in SLayout::ALL {
            let tile = tile.with_layout(*blayout, *slayout);
            let mut slots: Vec<u64> = (0..32).flat_map(|r| (0..64).map(move |c| tile.offset(r, c))).collect();
            slots.sort_unstable();
            assert!(slots.into_iter().eq(0..32 * 64), "{tile}");
        }
    }
}
