//! shape.table: the reference form takes two-dimensional tables.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let memory = vec![0f32; 1 << 16];
    let table = GlobalRef::<f32, Shape<1, 2, 1, 32, 32>>::new(&memory)?;
    let mut dst = <Tile<f32, 8, 32>>::new();
    let idx = <Tile<i32, 8, 32>>::new();
    let mut core = VectorCore::<Cpu>::new();
    core.mgather(Elem, &mut dst, &table, &idx)?;
    Ok(())
}
