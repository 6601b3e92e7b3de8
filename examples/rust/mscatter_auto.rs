//! MSCATTER in auto mode (001, "Auto"): nobody places the tiles, so the core does.
//!
//! The C++ example leaves the mode to its default; its 16x16 index tile has one index per element, and here the mode is
//! always explicit: `Elem`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

pub(crate) fn main() -> Result<(), pto::Error> {
    let mut memory = vec![0f32; 1024];
    let mut dst = GlobalTensor::<f32, Shape<1, 1, 1, 32, 32>>::new(&mut memory)?;

    let src = Tile::<f32, 16, 16>::new();
    let idx = Tile::<i32, 16, 16>::new();

    // Element k goes to slot 4 * k.
    let mut core = VectorCore::<A5>::new();
    core.write(&src, &(0..256).map(|k| k as f32).collect::<Vec<_>>())?;
    core.write(&idx, &(0..256).map(|k| 4 * k).collect::<Vec<_>>())?;
    core.mscatter(Elem, &mut dst, &src, &idx)?;

    println!("src at {:?}, idx at {:?}", src.address(), idx.address());
    println!("table: {:?} ...", &memory[..12]);
    assert_eq!(memory[..12], [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0]);
    assert!(memory.iter().enumerate().all(|(slot, &v)| v == if slot % 4 == 0 { (slot / 4) as f32 } else { 0.0 }));
    Ok(())
}
