//! A `GlobalRef` cannot be written.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let memory = vec![0f32; 64 * 32];
    let mut table = GlobalRef::<f32, Shape<1, 1, 1, 64, 32>>::new(&memory)?;
    let src = Tile::<f32, 8, 32>::new();
    let idx = Tile::<i32, 1, 8>::new();
    let mut core = VectorCore::<A5>::new();
    core.mscatter(Row, &mut table, &src, &idx)?;
    Ok(())
}
