//! Deterministic last-write-wins (001, A5 only): with `Conflict::Last` the largest source row survives a collision, on
//! every run. The index tile is a column, `[R, 1]`.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

fn last_deterministic(core: &mut VectorCore<A5>, table: &mut [f16], idx: &[i32; 8]) -> Result<Event, pto::Error> {
    const R: usize = 8;
    const C: usize = 64;
    const TABLE_ROWS: usize = 65536;
    type SrcTile = Tile<f16, R, C>;
    type IdxTile = Tile<i32, R, 1, ColMajor>;
    type TableShape = Shape<1, 1, 1, TABLE_ROWS, C>;
    type TableStride = Stride<1, 1, 1, C, 1>;

    let mut table_gm = GlobalTensor::<f16, TableShape, TableStride>::new(table)?;
    let (mut src, mut idx_tile) = (SrcTile::new(), IdxTile::new());
    core.tassign(&mut src, 0x0000)?;
    core.tassign(&mut idx_tile, 0x1000)?;
    core.write(&src, &(0..R * C).map(|k| f16::from_f32((k / C) as f32)).collect::<Vec<_>>())?;
    core.write(&idx_tile, idx)?;

    core.mscatter((Row, AtomicNone, Clamp, Last), &mut table_gm, &src, &idx_tile)
}

pub(crate) fn main() -> Result<(), pto::Error> {
    // Rows 0, 3 and 6 meet in table row 5, rows 1 and 7 in the last one: 70000 is clamped to 65535.
    let idx = [5, 70_000, 1, 5, 2, 3, 5, 65_535];

    for seed in 0..3 {
        // Whatever the warp scheduler does.
        let mut core = VectorCore::<A5>::new().with_schedule(Schedule::Seeded(seed));
        let mut table = vec![f16::NEG_ONE; 65_536 * 64];
        last_deterministic(&mut core, &mut table, &idx)?;
        let row = |r: usize| table[r * 64].to_f32();
        println!("schedule {seed}: row 5 holds source row {}, row 65535 source row {}", row(5), row(65_535));
        assert_eq!((row(5), row(65_535), row(0)), (6.0, 7.0, -1.0));
    }
    Ok(())
}
