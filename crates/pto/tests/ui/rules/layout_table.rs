//! layout.table: A5 has no NZ tables.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut memory = vec![0f32; 1 << 16];
    let mut table = GlobalTensor::<f32, Shape<1, 4, 4, 16, 8>, Packed, Nz>::new(&mut memory)?;
    let src = <Tile<f32, 8, 32>>::new();
    let idx = <Tile<i32, 8, 32>>::new();
    let mut core = VectorCore::<A5>::new();
    core.mscatter(Elem, &mut table, &src, &idx)?;
    Ok(())
}
