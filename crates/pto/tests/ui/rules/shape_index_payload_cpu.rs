//! shape.index-payload: the reference form reads one index per element.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let mut memory = vec![0f32; 1 << 16];
    let mut table = GlobalTensor::<f32, Shape<1, 1, 1, 64, 32>>::new(&mut memory)?;
    let src = <Tile<f32, 8, 32>>::new();
    let idx = <Tile<i32, 8, 1>>::new();
    let mut core = VectorCore::<Cpu>::new();
    core.mscatter(Row, &mut table, &src, &idx)?;
    Ok(())
}
