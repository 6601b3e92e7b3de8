//! Random legal instructions with operands, over the whole legal space of every target.

use proptest::prelude::*;
use proptest::sample::select;
use pto_isa::tile::c0;
use pto_isa::{
    Atomic, BLayout, Coalesce, Conflict, ElementType, Instruction, MaskPattern, OutOfBounds, Policy, SLayout, Target,
    Tensor, TensorLayout, Tile,
};

/// An instruction and the bytes of its operands, in the order of the fields of `Memory`.
#[derive(Clone, Debug)]
pub struct Program {
    pub instruction: Instruction,
    pub target: Target,
    pub written: Vec<u8>,
    pub inputs: Vec<Vec<u8>>,
}

/// How index lanes are drawn.
#[derive(Clone, Copy, Debug)]
pub enum Lanes {
    InRange,
    /// All lanes on one or two slots.
    Colliding,
    /// Around the capacity.
    Edge,
    /// Any bits.
    Hostile,
    /// Mostly in range, one lane far off.
    OneOutside,
}

const LANES: [Lanes; 5] = [Lanes::InRange, Lanes::Colliding, Lanes::Edge, Lanes::Hostile, Lanes::OneOutside];

/// Small numbers that a description is decoded from; shrinking them shrinks the program.
#[derive(Clone, Debug)]
pub struct Draw {
    pub rows: u64,
    pub cols: u64,
    pub pad: [u64; 6],
    pub dims: [u64; 5],
    pub gaps: [u64; 5],
    pub flags: [bool; 8],
    pub seed: u64,
    pub lanes: Lanes,
}

pub fn draw() -> impl Strategy<Value = Draw> {
    (
        1..20u64,
        1..70u64,
        prop::array::uniform6(0..3u64),
        (1..4u64, 1..3u64, 1..4u64, 1..12u64, 1..40u64),
        prop::array::uniform5(0..5u64),
        prop::array::uniform8(any::<bool>()),
        any::<u64>(),
        select(&LANES[..]),
    )
        .prop_map(|(rows, cols, pad, dims, gaps, flags, seed, lanes)| Draw {
            rows,
            cols,
            pad,
            dims: [dims.0, dims.1, dims.2, dims.3, dims.4],
            gaps,
            flags,
            seed,
            lanes,
        })
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn bytes(&mut self, length: u64) -> Vec<u8> {
        (0..length).map(|_| self.next() as u8).collect()
    }
}

fn padded(valid: u64, extra: u64, multiple: u64) -> u64 {
    valid.next_multiple_of(multiple) + extra * multiple
}

fn tile(element: ElementType, valid: (u64, u64), padded: (u64, u64), dynamic: bool) -> Tile {
    let tile = Tile::new(element, padded.0, padded.1);
    if dynamic { tile.with_dynamic_valid(valid.0, valid.1) } else { tile.with_valid(valid.0, valid.1) }
}

/// Row-major strides with a gap after each dimension; inner stride `inner`.
fn gapped(shape: [u64; 5], gaps: [u64; 5], inner: u64) -> [u64; 5] {
    let mut strides = [inner; 5];
    for i in (0..4).rev() {
        strides[i] = strides[i + 1] * shape[i + 1] + gaps[i + 1];
    }
    strides
}

/// MGATHER or MSCATTER on a target.
pub fn memory(
    draw: &Draw,
    target: Target,
    scatter: bool,
    element: ElementType,
    index: ElementType,
    mode: Coalesce,
    (oob, atomic, conflict): (OutOfBounds, Atomic, Conflict),
) -> Program {
    let [dynamic_tile, dynamic_table, column_tile, column_index, nz, index_as_column, implicit, conflict_named] =
        draw.flags;
    let profile = target.profile();
    let nz = nz && matches!(target, Target::A2A3 | Target::Host);
    let block = c0(element);
    let row = mode == Coalesce::Row && target != Target::Cpu;
    let mut cols = draw.cols;
    let table = if nz {
        let shape = [draw.dims[0], draw.dims[1], draw.dims[2], 16, block];
        let columns = shape[0] * shape[1] * block;
        cols = match (row, target) {
            (true, Target::A2A3) => columns,
            (true, _) => cols.min(columns),
            _ => cols,
        };
        let mut strides = gapped(shape, [draw.gaps[0], draw.gaps[1], draw.gaps[2], 0, 0], 1);
        if draw.gaps[3] > 2 && !row {
            strides = gapped(shape, draw.gaps, 1);
        }
        Tensor::strided(element, shape, strides, TensorLayout::Nz)
    } else {
        let mut shape = draw.dims;
        let mut gaps = draw.gaps;
        let mut inner = 1;
        match (target, row) {
            (Target::Cpu, _) => shape[..3].fill(1),
            (Target::A5, true) => {
                shape[4] = cols;
                gaps[4] = 0;
            }
            (Target::A2A3, true) => {
                cols = cols.min(shape[4]);
                // Rows are counted through the stride of dimension 3 alone: the outer ones must follow on.
                gaps[1..4].fill(0);
            }
            (Target::Host, true) => {
                cols = cols.min(shape[4]);
                inner = 1 + draw.pad[5];
            }
            (Target::Host, false) => inner = 1 + draw.pad[5],
            _ => {}
        }
        Tensor::strided(element, shape, gapped(shape, gaps, inner), TensorLayout::Nd)
    };
    let table = if dynamic_table { table.into_dynamic() } else { table };
    let valid = (draw.rows, cols);
    let boxed = nz && (target == Target::A2A3 || column_tile);
    let payload = if boxed {
        let extents = (padded(draw.rows, draw.pad[0], 16), padded(cols, draw.pad[1], block));
        tile(element, valid, extents, dynamic_tile).nz()
    } else if column_tile && matches!(target, Target::A5 | Target::Host) {
        let extents = (padded(draw.rows, draw.pad[0], block), cols + draw.pad[1]);
        tile(element, valid, extents, dynamic_tile).with_layout(BLayout::ColMajor, SLayout::NoneBox)
    } else {
        let extents = (draw.rows + draw.pad[0], padded(cols, draw.pad[1], block));
        tile(element, valid, extents, dynamic_tile)
    };
    let flat = !index_as_column || target == Target::A2A3;
    let idx_valid = match (row, flat) {
        (true, true) => (1, draw.rows),
        (true, false) => (draw.rows, 1),
        _ => valid,
    };
    let idx_rows = if target == Target::Cpu { payload.rows } else { idx_valid.0 + draw.pad[2] };
    let mut idx = tile(index, idx_valid, (idx_rows, idx_valid.1 + draw.pad[3]), dynamic_tile);
    if column_index && matches!(target, Target::A5 | Target::Host) {
        idx = idx.with_layout(BLayout::ColMajor, SLayout::NoneBox);
    }
    let mut policy = Policy { coalesce: Some(mode), oob: Some(oob), ..Policy::default() };
    if scatter {
        policy.atomic = Some(atomic);
        policy.conflict = (target != Target::A2A3 && conflict_named).then_some(conflict);
    }
    // Leaving the mode out is legal wherever the shape implies the same one.
    if implicit && (mode == Coalesce::Elem || cols != 1) && idx_valid != valid {
        policy.coalesce = None;
    }
    let instruction = if scatter {
        Instruction::MScatter { table, src: payload, idx, policy }
    } else {
        Instruction::MGather { dst: payload, table, idx, policy }
    };
    let capacity = instruction.capacity(target).expect("the program is fully known");
    let mut random = Random(draw.seed);
    let table_bytes = random.bytes(table.span().expect("small") * element.size());
    let payload_bytes = random.bytes(payload.bytes().expect("small"));
    let idx_bytes = indices(&mut random, draw, &idx, capacity, profile.signed_lanes);
    let (written, read) = if scatter { (table_bytes, payload_bytes) } else { (payload_bytes, table_bytes) };
    Program { instruction, target, written, inputs: vec![read, idx_bytes] }
}

fn indices(random: &mut Random, draw: &Draw, idx: &Tile, capacity: u64, signed: bool) -> Vec<u8> {
    let size = idx.element.size();
    let mut bytes = random.bytes(idx.bytes().expect("small"));
    let (rows, cols) = (idx.valid_rows.known().expect("known"), idx.valid_cols.known().expect("known"));
    let odd = random.next() % (rows * cols);
    for lane in 0..rows * cols {
        let any = random.next();
        let inside = if capacity == 0 { 0 } else { any % capacity };
        let edges = [0, capacity.wrapping_sub(1), capacity, capacity + 1, 1 << 31, u64::from(u32::MAX), u64::MAX];
        let index = match draw.lanes {
            Lanes::InRange => inside,
            Lanes::Colliding => inside % 2,
            Lanes::Edge => edges[(any >> 32) as usize % edges.len()],
            Lanes::Hostile => any,
            Lanes::OneOutside if lane == odd => {
                if signed {
                    u64::MAX
                } else {
                    capacity
                }
            }
            Lanes::OneOutside => inside,
        };
        let at = (idx.offset(lane / cols, lane % cols) * size) as usize;
        bytes[at..at + size as usize].copy_from_slice(&index.to_le_bytes()[..size as usize]);
    }
    bytes
}

/// Index TSCATTER on a target.
pub fn tscatter(draw: &Draw, target: Target, element: ElementType, index: ElementType) -> Program {
    let [column_dst, column_src, column_idx, smaller, dynamic, ..] = draw.flags;
    let layout = |tile: Tile, column: bool| {
        if column { tile.with_layout(BLayout::ColMajor, SLayout::NoneBox) } else { tile }
    };
    let (rows, cols) = (draw.rows, draw.cols);
    let extents = |i: usize| (rows + draw.pad[i], cols + draw.pad[i + 1]);
    let src = layout(tile(element, (rows, cols), extents(0), dynamic), column_src);
    let walked = if smaller { (rows.div_ceil(2), cols.div_ceil(2)) } else { (rows, cols) };
    let idx = layout(tile(index, walked, extents(2), dynamic), column_idx);
    let dst_extents = (draw.dims[3] + 2, draw.dims[4] + 3);
    let dst = layout(tile(element, (1, 2), dst_extents, dynamic), column_dst);
    let instruction = Instruction::TScatter { dst, src, idx };
    let mut random = Random(draw.seed);
    let written = random.bytes(dst.bytes().expect("small"));
    let src_bytes = random.bytes(src.bytes().expect("small"));
    let capacity = dst.elements().expect("small");
    let idx_bytes = indices(&mut random, draw, &idx, capacity, target.profile().signed_lanes);
    Program { instruction, target, written, inputs: vec![src_bytes, idx_bytes] }
}

/// Mask TSCATTER on a target.
pub fn mask(draw: &Draw, target: Target, element: ElementType, pattern: MaskPattern) -> Program {
    let wide = draw.cols * pattern.factor();
    let src = tile(element, (draw.rows, draw.cols), (draw.rows + draw.pad[0], draw.cols + draw.pad[1]), draw.flags[0]);
    let dst = tile(element, (draw.rows, wide), (draw.rows + draw.pad[2], wide + draw.pad[3]), draw.flags[1]);
    let mut random = Random(draw.seed);
    let written = random.bytes(dst.bytes().expect("small"));
    let src_bytes = random.bytes(src.bytes().expect("small"));
    let instruction = Instruction::TScatterMask { dst, src, pattern };
    Program { instruction, target, written, inputs: vec![src_bytes] }
}
