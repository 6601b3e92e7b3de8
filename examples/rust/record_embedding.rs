//! One kernel source, run at once and recorded as a program: the embedding scatter of 001, simulated on the pipes of
//! A2/A3 and A5, with the same result.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;
use pto::record::{Arguments, Options, Status, record};

const ROWS: usize = 4;
const WIDTH: usize = 8;
const TABLE_ROWS: usize = 6;

fn embedding<A: Arch>(core: &mut VectorCore<A>, table: &mut [f32], src: &[f32], idx: &[i32]) -> Result<(), pto::Error>
where
    f32: Payload<A>,
    i32: MemoryIndex<A>,
{
    let mut table_gm = GlobalTensor::<f32, Shape<1, 1, 1, TABLE_ROWS, WIDTH>>::new(table)?.named("table");
    let src_gm = GlobalRef::<f32, Shape<1, 1, 1, ROWS, WIDTH>>::new(src)?.named("src");
    let idx_gm = GlobalRef::<i32, Shape<1, 1, 1, 1, ROWS>>::new(idx)?.named("idx");

    let (mut src, mut idx) = (Tile::<f32, ROWS, WIDTH>::new(), Tile::<i32, 1, ROWS>::new());
    core.tassign(&mut src, 0x0000)?;
    core.tassign(&mut idx, 0x1000)?;

    let rows_loaded = core.tload(&mut src, &src_gm)?;
    let indices_loaded = core.tload(&mut idx, &idx_gm)?;
    let scattered =
        core.after([&rows_loaded, &indices_loaded]).mscatter((Row, AtomicNone, Skip), &mut table_gm, &src, &idx)?;
    core.after([&scattered]).flush();
    Ok(())
}

fn twice<A: Arch>() -> Result<Vec<f32>, pto::Error>
where
    f32: Payload<A>,
    i32: MemoryIndex<A>,
{
    // Row r holds the value r + 1; index 100 is beyond the table and skipped.
    let src: Vec<f32> = (0..ROWS * WIDTH).map(|k| (k / WIDTH + 1) as f32).collect();
    let idx = [2, 100, 0, 5];
    let (mut executed, mut simulated) = (vec![0f32; TABLE_ROWS * WIDTH], vec![0f32; TABLE_ROWS * WIDTH]);

    embedding(&mut VectorCore::<A>::new(), &mut executed, &src, &idx)?;

    let recording = record::<A, _>("embedding", |core| embedding(core, &mut simulated, &src, &idx))?;
    let arguments = Arguments::new().with_mut("table", &mut simulated).with("src", &src).with("idx", &idx);
    let report = recording.simulate(arguments, &Options::default());
    print!("{}", recording.render(&report.diagnostics));
    println!("{}: {:?} in {} cycles, lanes {:?}", A::TARGET, report.status, report.cycles, report.lanes);
    assert_eq!((report.status, report.lanes.skipped), (Status::Ok, 1));
    assert_eq!(simulated, executed);
    Ok(simulated)
}

pub(crate) fn main() -> Result<(), pto::Error> {
    let table = twice::<A5>()?;
    assert_eq!(table, twice::<A2A3>()?);
    let first_column: Vec<f32> = table.iter().step_by(WIDTH).copied().collect();
    println!("rows of the table: {first_column:?}");
    assert_eq!(first_column, [3.0, 0.0, 1.0, 0.0, 0.0, 4.0]);
    Ok(())
}
