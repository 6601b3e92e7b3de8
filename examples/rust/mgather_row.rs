//! MGATHER of rows (004) in manual mode: embedding lookup. Tokens that do not exist give zero rows.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

pub(crate) fn main() -> Result<(), pto::Error> {
    const TABLE_ROWS: usize = 100;
    let memory: Vec<f32> = (0..TABLE_ROWS * 8).map(|k| (k / 8) as f32).collect();
    let table = GlobalRef::<f32, Shape<1, 1, 1, TABLE_ROWS, 8>>::new(&memory)?;

    let mut dst = Tile::<f32, 4, 8>::new();
    let mut idx = Tile::<i32, 1, 4>::new();
    let mut core = VectorCore::<A2A3>::new();
    core.tassign(&mut dst, 0x1000)?;
    core.tassign(&mut idx, 0x2000)?;
    core.write(&idx, &[42, 7, 100, 42])?;

    let event = core.mgather((Row, Zero), &mut dst, &table, &idx)?;

    let rows: Vec<f32> = core.read(&dst)?.into_iter().step_by(8).collect();
    println!("rows: {rows:?}, zeroed {}", event.lanes().zeroed);
    assert_eq!(rows, [42.0, 7.0, 0.0, 42.0]);
    assert_eq!(event.lanes().zeroed, 1);
    Ok(())
}
