//! Atomic gradient accumulation (000): 16 token gradients of width 64 added into a table of 65536 tokens.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

fn gradient_accumulation(grad_table: &mut [f32], grads: &[f32], tokens: &[i32]) -> Result<Event, pto::Error> {
    type IdxTile = Tile<i32, 16, 1>;
    type GradTile = Tile<f32, 16, 64>;
    type TableShape = Shape<1, 1, 1, 65536, 64>;
    type TableStride = Stride<1, 1, 1, 64, 1>;

    let mut table_gm = GlobalTensor::<f32, TableShape, TableStride>::new(grad_table)?;
    let mut core = VectorCore::<A5>::new();
    let (mut idx, mut grad_tile) = (IdxTile::new(), GradTile::new());
    core.tassign(&mut idx, 0x0)?;
    core.tassign(&mut grad_tile, 0x1000)?;
    core.tload(&mut idx, &GlobalRef::<i32, Shape<1, 1, 1, 16, 1>>::new(tokens)?)?;
    core.tload(&mut grad_tile, &GlobalRef::<f32, Shape<1, 1, 1, 16, 64>>::new(grads)?)?;

    // Atomic add for gradient accumulation.
    core.mscatter((Row, Add, Skip), &mut table_gm, &grad_tile, &idx)
}

pub(crate) fn main() -> Result<(), pto::Error> {
    // Token 7 comes three times, token 70000 does not exist.
    let tokens = [7, 100, 7, 65_535, 70_000, 3, 7, 0, 1, 2, 4, 5, 6, 8, 9, 10];
    let grads: Vec<f32> = (0..16 * 64).map(|k| if k % 64 == 0 { 0.25 } else { 1.0 }).collect();
    let mut table = vec![0f32; 65_536 * 64];

    let event = gradient_accumulation(&mut table, &grads, &tokens)?;

    println!("token 7: {:?} ..., token 100: {:?} ...", &table[7 * 64..7 * 64 + 3], &table[100 * 64..100 * 64 + 3]);
    println!("skipped {}", event.lanes().skipped);
    assert_eq!(table[7 * 64..7 * 64 + 3], [0.75, 3.0, 3.0]);
    assert_eq!(table[100 * 64..100 * 64 + 3], [0.25, 1.0, 1.0]);
    assert_eq!(table.iter().sum::<f32>(), 15.0 * 63.25);
    assert_eq!(event.lanes().skipped, 1);
    Ok(())
}
