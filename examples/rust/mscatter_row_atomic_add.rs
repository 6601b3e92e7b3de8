//! Row coalesce, atomic-add aggregation (001): rows that meet in one table row add up, indices wrap around.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

fn row_atomic_add<A, T, const R: usize, const C: usize, const TABLE_ROWS: usize>(
    table: &mut [T],
    src: &[T],
    idx: &[i32],
) -> Result<Event, pto::Error>
where
    A: Arch + HasAtomic<Add>,
    T: Payload<A> + AtomicElement<Add, A>,
    i32: MemoryIndex<A>,
{
    let mut table_gm = GlobalTensor::<T, Shape<1, 1, 1, TABLE_ROWS, C>, Stride<1, 1, 1, C, 1>>::new(table)?;

    let mut core = VectorCore::<A>::new();
    let (mut src_tile, mut idx_tile) = (Tile::<T, R, C>::new(), Tile::<i32, 1, R>::new());
    core.tassign(&mut src_tile, 0x0000)?;
    core.tassign(&mut idx_tile, 0x1000)?;
    core.tload(&mut src_tile, &GlobalRef::<T, Shape<1, 1, 1, R, C>>::new(src)?)?;
    core.tload(&mut idx_tile, &GlobalRef::<i32, Shape<1, 1, 1, 1, R>>::new(idx)?)?;

    core.mscatter((Row, Add, Wrap), &mut table_gm, &src_tile, &idx_tile)
}

pub(crate) fn main() -> Result<(), pto::Error> {
    const C: usize = 16;
    let src = vec![bf16::ONE; 5 * C];
    let mut table = vec![bf16::from_f32(0.5); 4 * C];

    // Index 7 is 7 % 4 = 3.
    let event = row_atomic_add::<A2A3, bf16, 5, C, 4>(&mut table, &src, &[3, 0, 3, 7, 1])?;

    let rows: Vec<f32> = table.iter().step_by(C).map(|v| v.to_f32()).collect();
    println!("rows of the table: {rows:?}, wrapped: {}", event.lanes().wrapped);
    assert_eq!(rows, [1.5, 1.5, 0.5, 3.5]);
    assert_eq!(event.lanes().wrapped, 1);
    Ok(())
}
