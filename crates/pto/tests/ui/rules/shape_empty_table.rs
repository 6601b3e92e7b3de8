//! shape.empty-table: nothing to clamp into.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut memory = vec![0f32; 1 << 16];
    let mut table = GlobalTensor::<f32, Shape<1, 1, 1, 0, 32>>::new(&mut memory)?;
    let src = <Tile<f32, 8, 32>>::new();
    let idx = <Tile<i32, 8, 32>>::new();
    let mut core = VectorCore::<A5>::new();
    core.mscatter((Elem, AtomicNone, Clamp), &mut table, &src, &idx)?;
    Ok(())
}
