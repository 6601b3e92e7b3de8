//! Kernels in Rust with one planted bug each: the recording finds it at its line of this file, and its twin is clean.

use pto::prelude::*;
use pto::record::{Arguments, Options, record};

/// What the kernels work on.
struct Data {
    from: [f32; 64],
    to: [f32; 64],
    table: [f32; 256],
    lanes: [i32; 8],
}

/// Lines of this file.
#[derive(Default)]
struct Marks {
    /// Where the finding belongs.
    here: u32,
    /// Where its label points, if it has one.
    earlier: Option<u32>,
}

/// Which of the two a kernel is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kernel {
    Buggy,
    Clean,
}
use Kernel::{Buggy, Clean};

type Rows = Shape<1, 1, 1, 8, 8>;
type Lanes = Shape<1, 1, 1, 1, 8>;
type Table = Shape<1, 1, 1, 32, 8>;
type RowTile = Tile<f32, 8, 8>;
type LaneTile = Tile<i32, 1, 8>;

/// Records and simulates both kernels, and compares what is found with `rule` and the marks.
fn judge<A: Arch>(
    names: &[&str],
    lanes: impl Fn(Kernel) -> [i32; 8],
    rule: &str,
    kernel: impl Fn(&mut VectorCore<A>, &mut Data, Kernel, &mut Marks) -> Result<(), pto::Error>,
) {
    for which in [Buggy, Clean] {
        let (from, mut marks) = (core::array::from_fn(|i| i as f32 * 0.3), Marks::default());
        let mut data = Data { from, to: [0.0; 64], table: [0.0; 256], lanes: lanes(which) };
        let recording = record::<A, _>("kernel", |core| kernel(core, &mut data, which, &mut marks));
        let recording = recording.expect("a recording");
        let (has, mut arguments) = (|name| names.contains(&name), Arguments::new());
        if has("from") {
            arguments = arguments.with("from", &data.from);
        }
        if has("lanes") {
            arguments = arguments.with("lanes", &data.lanes);
        }
        if has("to") {
            arguments = arguments.with_mut("to", &mut data.to);
        }
        if has("table") {
            arguments = arguments.with_mut("table", &mut data.table);
        }
        let report = recording.simulate(arguments, &Options::default());
        let said = recording.render(&report.diagnostics);
        if which == Clean {
            assert_eq!(said, "", "{rule}: the twin");
            continue;
        }
        let found: Vec<_> = report.diagnostics.iter().map(|found| found.rule.name).collect();
        assert_eq!(found, [rule], "{said}");
        let found = &report.diagnostics[0];
        let place = recording.location(found.place);
        assert_eq!((place.file(), place.line()), (file!(), marks.here), "{said}");
        let labels: Vec<u32> = found.labels.iter().map(|(place, _)| recording.location(*place).line()).collect();
        assert!(marks.earlier.is_none_or(|line| labels.contains(&line)), "{labels:?}: {said}");
    }
}

fn counting(_: Kernel) -> [i32; 8] {
    core::array::from_fn(|i| i as i32)
}

#[test]
fn the_event_of_another_load() {
    judge::<A2A3>(&["from", "to"], counting, "race.ub", |core, data, which, marks| {
        let from = GlobalRef::<f32, Rows>::new(&data.from)?.named("from");
        let mut to = GlobalTensor::<f32, Rows>::new(&mut data.to)?.named("to");
        let (mut ping, mut pong) = (RowTile::new(), RowTile::new());
        let first = core.tload(&mut ping, &from)?;
        marks.earlier = Some(line!() + 1);
        let second = core.tload(&mut pong, &from)?;
        core.after([if which == Buggy { &first } else { &second }]);
        marks.here = line!() + 1;
        core.tstore(&mut to, &pong)?;
        Ok(())
    });
}

/// Waits for what it is handed: events are values, and find their way through functions and collections.
fn wait_for<A: Arch>(core: &mut VectorCore<A>, events: &[Event]) {
    core.after(events);
}

#[test]
fn one_event_of_a_collection_is_left_out() {
    judge::<A5>(&["from", "lanes", "table"], counting, "race.ub", |core, data, which, marks| {
        let from = GlobalRef::<f32, Rows>::new(&data.from)?.named("from");
        let lanes = GlobalRef::<i32, Lanes>::new(&data.lanes)?.named("lanes");
        let mut table = GlobalTensor::<f32, Table>::new(&mut data.table)?.named("table");
        let (mut rows, mut idx) = (RowTile::new(), LaneTile::new());
        let mut loads = vec![core.tload(&mut idx, &lanes)?];
        marks.earlier = Some(line!() + 1);
        loads.push(core.tload(&mut rows, &from)?);
        wait_for(core, if which == Buggy { &loads[..1] } else { &loads });
        marks.here = line!() + 1;
        let scattered = core.mscatter(Row, &mut table, &rows, &idx)?;
        core.after([&scattered]).flush();
        Ok(())
    });
}

#[test]
fn the_table_is_read_while_it_is_scattered() {
    judge::<A5>(&["from", "lanes", "table"], counting, "race.gm", |core, data, which, marks| {
        let from = GlobalRef::<f32, Rows>::new(&data.from)?.named("from");
        let lanes = GlobalRef::<i32, Lanes>::new(&data.lanes)?.named("lanes");
        let mut table = GlobalTensor::<f32, Table>::new(&mut data.table)?.named("table");
        let (mut rows, mut idx, mut back) = (RowTile::new(), LaneTile::new(), RowTile::new());
        let loads = [core.tload(&mut rows, &from)?, core.tload(&mut idx, &lanes)?];
        marks.earlier = Some(line!() + 1);
        let scattered = core.after(&loads).mscatter((Row, AtomicNone, Skip), &mut table, &rows, &idx)?;
        if which == Clean {
            core.after([&scattered]);
        }
        marks.here = line!() + 1;
        core.tload(&mut back, &table)?;
        core.after([&scattered]).flush();
        Ok(())
    });
}

/// A kernel that loads, scatters rows and flushes; what is wrong with it is in its lanes or its policy.
fn scatter<A: Arch + HasAtomic<P::Atomic>, P: ScatterPolicy>(
    core: &mut VectorCore<A>,
    data: &mut Data,
    marks: &mut Marks,
    policy: P,
) -> Result<Event, pto::Error>
where
    f32: Payload<A> + AtomicElement<P::Atomic, A>,
    i32: MemoryIndex<A>,
    P::Conflict: ConflictOn<A>,
{
    let from = GlobalRef::<f32, Rows>::new(&data.from)?.named("from");
    let lanes = GlobalRef::<i32, Lanes>::new(&data.lanes)?.named("lanes");
    let mut table = GlobalTensor::<f32, Table>::new(&mut data.table)?.named("table");
    let (mut rows, mut idx) = (RowTile::new(), LaneTile::new());
    let loads = [core.tload(&mut rows, &from)?, core.tload(&mut idx, &lanes)?];
    marks.here = line!() + 1;
    core.after(&loads).mscatter(policy, &mut table, &rows, &idx)
}

const SCATTER: [&str; 3] = ["from", "lanes", "table"];

#[test]
fn a_lane_beyond_the_table() {
    let lanes = |which| [0, 1, 2, if which == Buggy { 32 } else { 31 }, 4, 5, 6, 7];
    judge::<A5>(&SCATTER, lanes, "bounds.lane", |core, data, _, marks| {
        let scattered = scatter(core, data, marks, (Row, AtomicNone, Undefined))?;
        core.after([&scattered]).flush();
        Ok(())
    });
}

#[test]
fn a_negative_lane_that_wraps() {
    let lanes = |which| [0, 1, 2, if which == Buggy { -1 } else { 31 }, 4, 5, 6, 7];
    judge::<A2A3>(&SCATTER, lanes, "bounds.negative-lane", |core, data, _, marks| {
        let scattered = scatter(core, data, marks, (Row, AtomicNone, Wrap))?;
        core.after([&scattered]).flush();
        Ok(())
    });
}

#[test]
fn lanes_meet_in_a_float_sum() {
    let lanes = |which| if which == Buggy { [0, 1, 2, 3, 3, 3, 6, 7] } else { counting(which) };
    judge::<A5>(&SCATTER, lanes, "conflict.nondeterministic", |core, data, _, marks| {
        let scattered = scatter(core, data, marks, (Row, Add))?;
        core.after([&scattered]).flush();
        Ok(())
    });
}

#[test]
fn the_host_reads_before_the_flush() {
    judge::<A5>(&SCATTER, counting, "flush.missing", |core, data, which, marks| {
        let scattered = scatter(core, data, marks, Row)?;
        if which == Clean {
            core.after([&scattered]).flush();
        }
        Ok(())
    });
}

#[test]
fn a_flag_of_the_scatter_is_pending() {
    judge::<A2A3>(&SCATTER, counting, "sync.event-collision", |core, data, which, marks| {
        let event = if which == Buggy { 0 } else { 1 };
        marks.earlier = Some(line!() + 1);
        core.set_flag(Pipe::Mte2, Pipe::S, event);
        let scattered = scatter(core, data, marks, Row)?;
        core.wait_flag(Pipe::Mte2, Pipe::S, event);
        core.after([&scattered]).flush();
        Ok(())
    });
}

#[test]
fn stored_but_never_loaded() {
    judge::<A5>(&["from", "to"], counting, "uninit.read", |core, data, which, marks| {
        let from = GlobalRef::<f32, Rows>::new(&data.from)?.named("from");
        let mut to = GlobalTensor::<f32, Rows>::new(&mut data.to)?.named("to");
        let (mut one, mut other) = (RowTile::new(), RowTile::new());
        let loaded = if which == Buggy { core.tload(&mut one, &from)? } else { core.tload(&mut other, &from)? };
        marks.here = line!() + 1;
        core.after([&loaded]).tstore(&mut to, &other)?;
        Ok(())
    });
}

#[test]
fn a_wait_without_a_set() {
    judge::<A5>(&["from"], counting, "sync.deadlock", |core, data, which, marks| {
        let from = GlobalRef::<f32, Rows>::new(&data.from)?.named("from");
        let mut tile = RowTile::new();
        core.tload(&mut tile, &from)?;
        if which == Clean {
            core.set_flag(Pipe::Mte2, Pipe::V, 3);
        }
        marks.here = line!() + 1;
        core.wait_flag(Pipe::Mte2, Pipe::V, 3);
        Ok(())
    });
}

#[test]
fn set_twice_in_the_second_round() {
    judge::<A5>(&["from"], counting, "sync.double-set", |core, data, which, marks| {
        let from = GlobalRef::<f32, Rows>::new(&data.from)?.named("from");
        let mut tile = RowTile::new();
        for round in 0..3 {
            core.tload(&mut tile, &from)?;
            marks.earlier = Some(line!() + 1);
            core.set_flag(Pipe::Mte2, Pipe::V, 2);
            if which == Buggy && round == 1 {
                marks.here = line!() + 1;
                core.set_flag(Pipe::Mte2, Pipe::V, 2);
            }
            core.wait_flag(Pipe::Mte2, Pipe::V, 2);
        }
        Ok(())
    });
}

#[test]
fn a_flag_is_left_set() {
    judge::<A2A3>(&["from"], counting, "sync.never-waited", |core, data, which, marks| {
        let from = GlobalRef::<f32, Rows>::new(&data.from)?.named("from");
        let mut tile = RowTile::new();
        core.tload(&mut tile, &from)?;
        marks.here = line!() + 1;
        core.set_flag(Pipe::Mte2, Pipe::Mte3, 7);
        if which == Clean {
            core.wait_flag(Pipe::Mte2, Pipe::Mte3, 7);
        }
        Ok(())
    });
}

#[test]
fn two_tiles_share_bytes() {
    judge::<A5>(&["from", "to"], counting, "alias.live", |core, data, which, marks| {
        let from = GlobalRef::<f32, Rows>::new(&data.from)?.named("from");
        let mut to = GlobalTensor::<f32, Rows>::new(&mut data.to)?.named("to");
        let (mut one, mut other) = (RowTile::new(), RowTile::new());
        core.tassign(&mut one, 0)?;
        marks.here = line!() + 1;
        core.tassign(&mut other, if which == Buggy { 0x80 } else { 0x100 })?;
        core.tload(&mut one, &from)?;
        marks.earlier = Some(line!() + 1);
        let loaded = core.tload(&mut other, &from)?;
        core.after([&loaded]).tstore(&mut to, &one)?;
        core.tstore(&mut to, &other)?;
        Ok(())
    });
}
