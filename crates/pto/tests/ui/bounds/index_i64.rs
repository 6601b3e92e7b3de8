//! 64-bit indices exist on the host only.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let memory = vec![0f32; 1 << 16];
    let table = GlobalRef::<f32, Shape<1, 1, 1, 64, 32>>::new(&memory)?;
    let mut dst = <Tile<f32, 8, 32>>::new();
    let idx = <Tile<i64, 1, 8>>::new();
    let mut core = VectorCore::<A2A3>::new();
    core.mgather(Row, &mut dst, &table, &idx)?;
    Ok(())
}
