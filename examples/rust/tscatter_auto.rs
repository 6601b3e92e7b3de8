//! Tile TSCATTER in auto mode (002): elements of one tile to flat offsets of another.
//!
//! The C++ example pairs `float` with `uint16_t` indices. A2/A3 and A5 want 4-byte indices for 4-byte elements, so this
//! pair is legal on `Cpu` and `Host` only; on `A5` it does not compile.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

pub(crate) fn main() -> Result<(), pto::Error> {
    type TileT = Tile<f32, 16, 16>;
    type IdxT = Tile<u16, 16, 16>;
    let (src, mut dst) = (TileT::new(), TileT::new());
    let idx = IdxT::new();

    // A transposition, written as offsets.
    let mut core = VectorCore::<Cpu>::new();
    core.write(&src, &(0..256).map(|k| k as f32).collect::<Vec<_>>())?;
    core.write(&idx, &(0..256).map(|k| k % 16 * 16 + k / 16).collect::<Vec<_>>())?;
    core.tscatter(&mut dst, &src, &idx)?;

    let result = core.read(&dst)?;
    println!("first row: {:?}", &result[..16]);
    assert!((0..256).all(|k| result[k] == (k % 16 * 16 + k / 16) as f32));
    Ok(())
}
