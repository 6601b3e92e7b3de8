//! shape.nz-block-rows: a fractal block has 16 rows.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut memory = vec![0f32; 1 << 16];
    let mut table = GlobalTensor::<f32, Shape<1, 4, 4, 8, 8>, Packed, Nz>::new(&mut memory)?;
    let src = <Tile<f32, 16, 32, Nz>>::new();
    let idx = <Tile<i32, 16, 32>>::new();
    let mut core = VectorCore::<A2A3>::new();
    core.mscatter(Elem, &mut table, &src, &idx)?;
    Ok(())
}
