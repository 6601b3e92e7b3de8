//! MSCATTER in manual mode (001, "Manual"): every tile is placed by hand with TASSIGN.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

pub(crate) fn main() -> Result<(), pto::Error> {
    let mut memory = vec![0f32; 256];
    let mut dst = GlobalTensor::<f32, Shape<1, 1, 1, 16, 16>>::new(&mut memory)?;

    let mut src = Tile::<f32, 16, 16>::new();
    let mut idx = Tile::<i32, 16, 16>::new();

    let mut core = VectorCore::<A2A3>::new();
    core.tassign(&mut src, 0x1000)?;
    core.tassign(&mut idx, 0x2000)?;

    // Element k goes to the mirrored slot.
    core.write(&src, &(0..256).map(|k| k as f32).collect::<Vec<_>>())?;
    core.write(&idx, &(0..256).rev().collect::<Vec<_>>())?;
    core.mscatter(Elem, &mut dst, &src, &idx)?;

    println!("table: {:?} ... {:?}", &memory[..3], &memory[253..]);
    assert!(memory.iter().enumerate().all(|(slot, &v)| v == (255 - slot) as f32));

    // An address that is not a multiple of 32 bytes is refused, with the rule's name.
    let error = core.tassign(&mut src, 0x1001).expect_err("0x1001 is not aligned");
    println!("{error}");
    assert_eq!(error.rule().map(|rule| rule.name), Some("align.address"));
    Ok(())
}
