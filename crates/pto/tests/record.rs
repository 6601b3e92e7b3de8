//! Kernels recorded as programs: what they compute, how they are ordered, and where their findings point.

use pto::ir::{Flag, OpKind};
use pto::isa::Severity;
use pto::prelude::*;
use pto::record::{Arguments, Options, Recording, Report, Status, record};

const ROWS: usize = 4;
const WIDTH: usize = 8;
const TABLE: usize = 6;

type Source = Tile<f32, ROWS, WIDTH>;
type Index = Tile<i32, ROWS, WIDTH>;
type Flat = Shape<1, 1, 1, ROWS, WIDTH>;
type Table8 = Shape<1, 1, 1, TABLE, WIDTH>;

/// How the kernels below order their loads before the scatter.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Auto,
    Events,
    OneEvent,
    Flags,
}

/// Scatters elements of an embedding; the lines of the loads and of the scatter.
fn scatter<A: Arch>(
    core: &mut VectorCore<A>,
    (table, src, idx): (&mut [f32], &[f32], &[i32]),
    order: Order,
) -> Result<[u32; 3], pto::Error>
where
    f32: Payload<A>,
    i32: MemoryIndex<A>,
{
    let mut table = GlobalTensor::<f32, Table8>::new(table)?.named("table");
    let (src, idx) = (GlobalRef::<f32, Flat>::new(src)?.named("src"), GlobalRef::<i32, Flat>::new(idx)?.named("idx"));
    let (mut rows, mut which) = (Source::new(), Index::new());
    if order != Order::Auto {
        core.tassign(&mut rows, 0)?;
        core.tassign(&mut which, 0x400)?;
    }
    let first = core.tload(&mut rows, &src)?;
    let second = core.tload(&mut which, &idx)?;
    match order {
        Order::Auto => {}
        Order::Events => drop(core.after([&first, &second])),
        Order::OneEvent => drop(core.after([&first])),
        Order::Flags => {
            core.set_flag(Pipe::Mte2, Pipe::V, 3);
            core.wait_flag(Pipe::Mte2, Pipe::V, 3);
        }
    }
    let done = core.mscatter((Elem, AtomicNone, Clamp), &mut table, &rows, &which)?;
    if order != Order::Auto {
        core.after([&done]).flush();
    }
    Ok([first.place().line(), second.place().line(), done.place().line()])
}

fn data() -> (Vec<f32>, Vec<f32>, Vec<i32>) {
    let src = (0..ROWS * WIDTH).map(|k| k as f32 + 1.0).collect();
    // Injective, except for one lane beyond the end, which goes to a slot of its own.
    let idx = (0..(ROWS * WIDTH) as i32).map(|k| if k == 5 { 900 } else { 40 - k }).collect();
    (vec![0.0; TABLE * WIDTH], src, idx)
}

fn run(recording: &Recording) -> (Vec<f32>, Report) {
    let (mut table, src, idx) = data();
    let arguments = Arguments::new().with_mut("table", &mut table).with("src", &src).with("idx", &idx);
    let report = recording.simulate(arguments, &Options::default());
    (table, report)
}

fn recorded<A: Arch>(order: Order) -> (Recording, [u32; 3])
where
    f32: Payload<A>,
    i32: MemoryIndex<A>,
{
    let (mut table, src, idx) = data();
    let mut lines = [0; 3];
    let kernel = |core: &mut VectorCore<A>| {
        lines = scatter(core, (&mut table, &src, &idx), order)?;
        Ok(())
    };
    let recording = record::<A, _>("scatter", kernel).expect("the kernel records");
    assert_eq!(table, [0.0; TABLE * WIDTH], "recording runs nothing");
    (recording, lines)
}

fn flags(recording: &Recording) -> Vec<Flag> {
    let waits = recording.module().functions[0].body.ops.iter().filter_map(|op| match op.kind {
        OpKind::WaitFlag(flag) => Some(flag),
        _ => None,
    });
    waits.collect()
}

fn same_as_executed<A: Arch>()
where
    f32: Payload<A>,
    i32: MemoryIndex<A>,
{
    let (mut expected, src, idx) = data();
    // On `Cpu`, which knows no policies, the lane beyond the end is undefined.
    let idx: Vec<i32> = idx.iter().map(|k| if *k == 900 { 47 } else { *k }).collect();
    scatter(&mut VectorCore::<A>::new(), (&mut expected, &src, &idx), Order::Auto).expect("the kernel runs");
    for order in [Order::Auto, Order::Events, Order::Flags] {
        let (recording, _) = recorded::<A>(order);
        let mut table = vec![0.0; TABLE * WIDTH];
        let arguments = Arguments::new().with_mut("table", &mut table).with("src", &src).with("idx", &idx);
        let report = recording.simulate(arguments, &Options::default());
        let worse: Vec<_> = report.diagnostics.iter().filter(|d| d.severity > Severity::Note).cloned().collect();
        assert_eq!(recording.render(&worse), "", "{}", A::TARGET);
        assert_eq!(report.status, Status::Ok);
        assert_eq!(table, expected, "{}", A::TARGET);
        assert_eq!(recording.is_manual(), order != Order::Auto);
    }
}

#[test]
fn gives_what_immediate_execution_gives_on_every_target() {
    same_as_executed::<Cpu>();
    same_as_executed::<A2A3>();
    same_as_executed::<A5>();
    same_as_executed::<Host>();
}

#[test]
fn a_missing_wait_is_a_race_with_both_places() {
    let (recording, [_, second, done]) = recorded::<A5>(Order::OneEvent);
    let (_, report) = run(&recording);
    let race = report.diagnostics.iter().find(|d| d.rule.name == "race.ub").expect("the indices are not awaited");
    assert_eq!(report.status, Status::Fault);
    let mut lines = vec![recording.location(race.place).line()];
    lines.extend(race.labels.iter().map(|(place, _)| recording.location(*place).line()));
    assert!(lines.contains(&second) && lines.contains(&done), "{lines:?}");
    let text = recording.render(&report.diagnostics);
    assert!(text.contains(&format!("tests/record.rs:{}:", lines[0])), "{text}");
    assert!(text.contains("error[race.ub]"), "{text}");
}

#[test]
fn waits_become_flags_where_pipes_differ() {
    // Both loads are on one pipe: the later one's flag is enough. The scatter ends on V, the flush is the scalar unit's.
    let (recording, _) = recorded::<A5>(Order::Events);
    let pairs: Vec<_> = flags(&recording).iter().map(|flag| (flag.from, flag.to)).collect();
    assert_eq!(pairs, [(Pipe::Mte2, Pipe::V), (Pipe::V, Pipe::S)]);
    // On A2/A3 the scatter ends on S itself.
    let (recording, _) = recorded::<A2A3>(Order::Events);
    let pairs: Vec<_> = flags(&recording).iter().map(|flag| (flag.from, flag.to)).collect();
    assert_eq!(pairs, [(Pipe::Mte2, Pipe::V)]);
    let (recording, _) = recorded::<Host>(Order::Events);
    assert!(flags(&recording).is_empty());
}

/// Loads into a tile and stores from it, over and over: each waits for the other.
fn ping<A: Arch>(core: &mut VectorCore<A>, to: &mut [i32], from: &[i32], rounds: usize) -> Result<(), pto::Error> {
    let mut to = GlobalTensor::<i32, Shape<1, 1, 1, 1, 8>>::new(to)?;
    let from = GlobalRef::<i32, Shape<1, 1, 1, 1, 8>>::new(from)?;
    let mut tile = Tile::<i32, 1, 8>::new();
    core.tassign(&mut tile, 0)?;
    let mut stored: Option<Event> = None;
    for _ in 0..rounds {
        let loaded = core.after(&stored).tload(&mut tile, &from)?;
        stored = Some(core.after([&loaded]).tstore(&mut to, &tile)?);
    }
    Ok(())
}

#[test]
fn loops_use_events_again() {
    let (from, mut to) = ([5; 8], [0; 8]);
    let recording = record::<A2A3, _>("ping", |core| ping(core, &mut to, &from, 50)).unwrap();
    assert_eq!(flags(&recording).len(), 50 + 49);
    // Parameters without names are numbered as they are met.
    let report =
        recording.simulate(Arguments::new().with("arg0", &from).with_mut("arg1", &mut to), &Options::default());
    assert_eq!(recording.render(&report.diagnostics), "");
    assert_eq!(to, from);
}

#[test]
fn events_leave_alone_what_is_used_by_hand_and_inside() {
    let (mut table, src) = ([0f32; 8], [1f32; 8]);
    let recording = record::<A2A3, _>("k", |core| {
        let mut memory = GlobalTensor::<f32, Shape<1, 1, 1, 1, 8>>::new(&mut table)?;
        let from = GlobalRef::<f32, Shape<1, 1, 1, 1, 8>>::new(&src)?;
        let (rows, mut next, which) = (Tile::<f32, 1, 8>::new(), Tile::<f32, 1, 8>::new(), Tile::<i32, 1, 8>::new());
        let first = core.write(&rows, &[1.0; 8])?;
        let second = core.write(&which, &[0, 1, 2, 3, 4, 5, 6, 7])?;
        // Elem scatters use S -> MTE2 and others inside; MTE2 -> V only by hand.
        core.set_flag(Pipe::Mte2, Pipe::V, 0);
        core.wait_flag(Pipe::Mte2, Pipe::V, 0);
        let done = core.after([&first, &second]).mscatter(Elem, &mut memory, &rows, &which)?;
        // The scatter's own S -> MTE2 orders this.
        core.after([&done]).tload(&mut next, &from)
    });
    let recording = recording.unwrap();
    let events: Vec<_> = flags(&recording).iter().map(|flag| (flag.from, flag.to, flag.event)).collect();
    assert_eq!(events, [(Pipe::Mte2, Pipe::V, 0), (Pipe::Mte2, Pipe::V, 1)]);
    let arguments = Arguments::new().with_mut("arg0", &mut table).with("arg1", &src);
    let report = recording.simulate(arguments, &Options::default());
    assert_eq!(recording.render(&report.diagnostics), "");
    assert_eq!(table, [1.0; 8]);
}

#[test]
fn more_than_eight_pending_events_are_an_error() {
    let source = [0i32; 8];
    let mut lines = Vec::new();
    let error = record::<A5, _>("k", |core| {
        let from = GlobalRef::<i32, Shape<1, 1, 1, 1, 8>>::new(&source)?;
        let mut tiles: Vec<Tile<i32, 1, 8>> = (0..9).map(|_| Tile::new()).collect();
        let mut loads = Vec::new();
        for tile in &mut tiles {
            loads.push(core.tload(tile, &from)?);
        }
        let mut dst = Tile::<i32, 1, 8>::new();
        for (tile, loaded) in tiles.iter().zip(&loads) {
            lines.push(line!() + 1);
            core.after([loaded]).tmov(&mut dst, tile)?;
        }
        Ok(())
    });
    let error = error.unwrap_err();
    assert!(error.to_string().contains("no flag is free from PIPE_MTE2 to PIPE_V"), "{error}");
    assert_eq!(error.place().line(), lines[0]);
}

#[test]
fn dynamic_extents_beyond_the_padded_ones_fault_at_their_line() {
    type Rows = Tile<f32, 8, 8, RowMajor, DYN, 8>;
    let (source, mut line) = ([0f32; 72], 0);
    let recording = record::<A5, _>("k", |core| {
        let from = GlobalRef::<f32, Shape<1, 1, 1, 9, 8>>::new(&source)?;
        let mut tile = Rows::dynamic([8]);
        core.tload(&mut tile, &from)?;
        tile.set_valid([9]);
        line = line!() + 1;
        core.tload(&mut tile, &from)
    });
    let recording = recording.unwrap();
    let report = recording.simulate(Arguments::new().with("arg0", &source), &Options::default());
    assert_eq!(report.status, Status::Fault);
    let found = &report.diagnostics[0];
    assert_eq!(found.rule.name, "shape.valid-extent");
    assert_eq!(recording.location(found.place).line(), line);
}

#[test]
fn arguments_must_fit_the_parameters() {
    let (recording, _) = recorded::<A5>(Order::Auto);
    let (table, src, idx) = data();
    let wrong = Arguments::new().with("table", &idx).with("src", &src).with("idx", &idx);
    let report = recording.simulate(wrong, &Options::default());
    assert!(report.diagnostics[0].message.contains("expected a slice of f32 for parameter `table`, found one of i32"));
    let missing = Arguments::new().with("table", &table).with("src", &src);
    let report = recording.simulate(missing, &Options::default());
    assert_eq!(report.diagnostics[0].rule.name, "launch.argument");
}

#[test]
fn windows_of_one_slice_are_refused() {
    let memory = [0i32; 16];
    let error = record::<A5, _>("k", |core| {
        let mut tile = Tile::<i32, 1, 8>::new();
        core.tload(&mut tile, &GlobalRef::<i32, Shape<1, 1, 1, 1, 8>>::new(&memory)?.named("memory"))?;
        core.tload(&mut tile, &GlobalRef::<i32, Shape<1, 1, 1, 1, 8>>::new(&memory[8..])?)
    });
    assert!(error.unwrap_err().to_string().contains("inside `memory`"));
}

#[test]
fn tiles_and_events_of_other_cores_are_refused() {
    let (src, mut dst) = (Tile::<i32, 1, 8>::new(), Tile::<i32, 1, 8>::new());
    let elsewhere = VectorCore::<A5>::new().write(&src, &[0; 8]).unwrap();
    assert!(record::<A5, _>("k", |core| core.tmov(&mut dst, &src)).is_err());
    let own = Tile::<i32, 1, 8>::new();
    assert!(record::<A5, _>("k", |core| core.after([&elsewhere]).write(&own, &[0; 8])).is_err());
    assert!(record::<A5, _>("k", |core| core.read(&Tile::<i32, 1, 8>::new())).is_err());
}

#[test]
fn gathers_and_tile_scatters_are_recorded_too() {
    fn kernel<A: Arch + HasMask>(core: &mut VectorCore<A>, to: &mut [i32], from: &[i32]) -> Result<(), pto::Error>
    where
        i32: Payload<A> + MemoryIndex<A> + TilePayload<A> + TileIndex<i32, A>,
    {
        let from = GlobalRef::<i32, Shape<1, 1, 1, 1, 16>>::new(from)?.named("from");
        let mut to = GlobalTensor::<i32, Shape<1, 1, 1, 1, 16>>::new(to)?.named("to");
        let (mut picked, which) = (Tile::<i32, 1, 8>::new(), Tile::<i32, 1, 8>::new());
        let (mut mixed, mut spread) = (Tile::<i32, 1, 8>::new(), Tile::<i32, 1, 16>::new());
        core.write(&which, &[7, 6, 5, 4, 3, 2, 1, 0])?;
        core.mgather(Elem, &mut picked, &from, &which)?;
        core.tscatter(&mut mixed, &picked, &which)?;
        core.tscatter_mask(P1010, &mut spread, &mixed)?;
        core.tstore(&mut to, &spread)?;
        Ok(())
    }
    fn same<A: Arch + HasMask>()
    where
        i32: Payload<A> + MemoryIndex<A> + TilePayload<A> + TileIndex<i32, A>,
    {
        let from: Vec<i32> = (100..116).collect();
        let (mut executed, mut simulated) = ([0; 16], [0; 16]);
        kernel(&mut VectorCore::<A>::new(), &mut executed, &from).unwrap();
        let recording = record::<A, _>("kernel", |core| kernel(core, &mut simulated, &from)).unwrap();
        let arguments = Arguments::new().with("from", &from).with_mut("to", &mut simulated);
        let report = recording.simulate(arguments, &Options::default());
        assert_eq!(recording.render(&report.diagnostics), "");
        assert_eq!(simulated, executed);
    }
    same::<A5>();
    same::<Host>();
}
