//! Tile TSCATTER in manual mode (002): every tile placed by hand, on `Cpu` as in the C++ example (`float` elements with
//! `uint16_t` indices are legal on `Cpu` and `Host` only), and on A5 with the 4-byte indices that it wants.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

fn reverse<A: Arch, I: TileIndex<f32, A>>(core: &mut VectorCore<A>, offsets: &[I]) -> Result<Vec<f32>, pto::Error>
where
    f32: TilePayload<A>,
{
    let (mut src, mut dst) = (Tile::<f32, 16, 16>::new(), Tile::<f32, 16, 16>::new());
    let mut idx = Tile::<I, 16, 16>::new();
    core.tassign(&mut src, 0x1000)?;
    core.tassign(&mut dst, 0x2000)?;
    core.tassign(&mut idx, 0x3000)?;
    core.write(&src, &(0..256).map(|k| k as f32).collect::<Vec<_>>())?;
    core.write(&idx, offsets)?;
    core.tscatter(&mut dst, &src, &idx)?;
    core.read(&dst)
}

pub(crate) fn main() -> Result<(), pto::Error> {
    let on_cpu = reverse(&mut VectorCore::<Cpu>::new(), &(0u16..256).rev().collect::<Vec<_>>())?;
    let on_a5 = reverse(&mut VectorCore::<A5>::new(), &(0u32..256).rev().collect::<Vec<_>>())?;
    println!("reversed: {:?} ... {:?}", &on_cpu[..3], &on_cpu[253..]);
    assert!((0..256).all(|k| on_cpu[k] == (255 - k) as f32));
    assert_eq!(on_cpu, on_a5);

    // A5 clears the destination's whole allocation first: placed over the source it would destroy it.
    let mut core = VectorCore::<A5>::new();
    let (mut src, mut dst, idx) = (Tile::<f32, 16, 16>::new(), Tile::<f32, 16, 16>::new(), Tile::<u32, 16, 16>::new());
    core.tassign(&mut src, 0x1000)?;
    core.tassign(&mut dst, 0x13e0)?;
    let error = core.tscatter(&mut dst, &src, &idx).expect_err("the tiles overlap");
    println!("{error}");
    assert_eq!(error.rule().map(|rule| rule.name), Some("alias.clear"));
    Ok(())
}
