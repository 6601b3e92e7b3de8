//! Compile-time legality: the instruction that the types describe, held against every rule of `pto-isa`.
//!
//! Nothing is decided here. What the types leave open (dynamic extents, addresses) is unknown to the rules and judged
//! when the instruction runs.

use pto_isa::{
    Coalesce, ElementType, Extent, Instruction, Policy, Rule, Target, Tensor, TensorLayout, Tile, first_broken,
    first_broken_collective,
};

use crate::arch::Arch;

/// Stops the build with the first rule that the instruction breaks.
pub(crate) const fn assert_legal<A: Arch>(instruction: Instruction) {
    if let Some(rule) = first_broken(&instruction, A::TARGET, A::LAUNCH) {
        stop(rule);
    }
}

/// Stops the build with the first rule that a collective breaks.
pub(crate) const fn assert_collective<A: Arch>(local: Tensor, rank: Tensor, staging: Tile, count: u64) {
    if let Some(rule) = first_broken_collective(&local, &rank, &staging, count, A::TARGET, A::LAUNCH) {
        stop(rule);
    }
}

/// Stops the build if no tile can look like this: valid beyond padded extents, a size that overflows, half a box.
///
/// There is no instruction that only names a tile, so it is judged as the payload of the most lenient one.
pub(crate) const fn assert_tile(tile: Tile) {
    let mut idx = Tile::new(ElementType::I64, tile.rows, tile.cols);
    (idx.valid_rows, idx.valid_cols) = (tile.valid_rows, tile.valid_cols);
    let scatter = Instruction::MScatter {
        table: Tensor::packed(tile.element, [1; 5]),
        src: tile,
        idx,
        policy: Policy::coalesce(Coalesce::Elem),
    };
    if let Some(rule) = first_broken(&scatter, Target::Host, pto_isa::Launch { dyn_ub: None }) {
        stop(rule);
    }
}

const fn stop(rule: &Rule) {
    let mut text = Text { bytes: [0; 1024], len: 0 };
    text.push(rule.name);
    text.push(": ");
    text.push(rule.summary);
    text.push(" (help: ");
    text.push(rule.help);
    text.push(")");
    match core::str::from_utf8(text.bytes.split_at(text.len).0) {
        Ok(message) => panic!("{}", message),
        Err(_) => panic!("{}", rule.name),
    }
}

/// A panic in constant evaluation takes one string, so it is put together here.
struct Text {
    bytes: [u8; 1024],
    len: usize,
}

impl Text {
    const fn push(&mut self, part: &str) {
        let part = part.as_bytes();
        let mut i = 0;
        while i < part.len() && self.len < self.bytes.len() {
            self.bytes[self.len] = part[i];
            self.len += 1;
            i += 1;
        }
    }
}

/// Stops the build if the valid region of a tile is known to be larger than a tensor it is loaded from or stored to.
pub(crate) const fn assert_fits(tile: Tile, tensor: Tensor) {
    let (rows, cols) = match tensor.layout {
        TensorLayout::Nz => match (tensor.product(2, 4), tensor.product(0, 2), tensor.shape[4].known()) {
            (rows, Some(blocks), Some(c0)) => (rows, blocks.checked_mul(c0)),
            (rows, ..) => (rows, None),
        },
        _ => (tensor.product(0, 4), tensor.shape[4].known()),
    };
    if tile.valid_rows.exceeds(Extent::Dynamic(rows)) || tile.valid_cols.exceeds(Extent::Dynamic(cols)) {
        panic!("the tile's valid region is larger than the tensor (help: shrink the tile's valid extents)");
    }
}
