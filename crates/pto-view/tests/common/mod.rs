//! Reports made by hand: clean, faulty, large, without time, and hostile.

use pto_ir::{Diagnostic, Pipe, Place};
use pto_isa::{Coalesce, Target};
use pto_sim::{Lanes, Nondeterministic, Operation, Report, Residence, Span, Status, rules};

/// Every sample with its name.
pub fn samples() -> Vec<(&'static str, Report)> {
    vec![
        ("rows", rows()),
        ("elements", elements()),
        ("gather", gather()),
        ("large", large()),
        ("long", long()),
        ("cpu", cpu()),
        ("hostile", hostile()),
    ]
}

/// Numbers that look random and are the same everywhere.
pub fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |bound| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    }
}

fn place(line: u32) -> Place {
    Place::new(line, line + 1)
}

fn span(pipe: Pipe, start: u64, end: u64, name: &'static str, line: u32) -> Span {
    Span { pipe, start, end, name, place: place(line) }
}

fn stay(tile: &str, bytes: (u64, u64), cycles: (u64, u64)) -> Residence {
    Residence { tile: tile.into(), start: bytes.0, end: bytes.1, from: cycles.0, to: cycles.1 }
}

fn operation(name: &'static str, mode: Coalesce, table: (&str, u64, u64), payload: (u64, u64), at: u32) -> Operation {
    let table = (table.0.to_owned(), table.1, table.2);
    Operation { name, place: place(at), mode: Some(mode), table, payload, indices: vec![], slots: vec![] }
}

/// A report with nothing in it.
pub fn empty(target: Target) -> Report {
    Report {
        status: Status::Ok,
        target,
        entry: "kernel".into(),
        diagnostics: vec![],
        cycles: 0,
        busy: vec![],
        instructions: 0,
        ub_peak: 0,
        ub_limit: None,
        lanes: Lanes::default(),
        nondeterministic: vec![],
        spans: vec![],
        spans_dropped: 0,
        launches: vec![],
        flags: vec![],
        operations: vec![],
        residences: vec![],
        buffers: vec![],
    }
}

/// Rows scattered by a ping-pong kernel: clean.
pub fn rows() -> Report {
    let mut report = empty(Target::A2A3);
    report.entry = "scatter_rows".into();
    let mut at = 0;
    for turn in 0..6u32 {
        let base = at;
        report.spans.push(span(Pipe::S, base, base + 20, "set_flag", 9));
        report.spans.push(span(Pipe::Mte2, base, base + 300, "tload", 11 + turn % 2));
        report.spans.push(span(Pipe::V, base + 300, base + 520, "tadd", 14));
        report.spans.push(span(Pipe::Mte3, base + 520, base + 890, "mscatter", 17));
        at += 370;
    }
    report.cycles = at + 520;
    report.busy = vec![(Pipe::S, 120), (Pipe::V, 1320), (Pipe::Mte2, 1800), (Pipe::Mte3, 2220)];
    report.instructions = 31;
    report.ub_limit = Some(192 * 1024);
    report.ub_peak = 41 * 1024;
    report.lanes = Lanes { written: 48, ..Lanes::default() };
    let kib = |from: u64, to: u64| (from * 1024, to * 1024);
    report.residences = vec![
        stay("ping", kib(0, 16), (0, 2370)),
        stay("pong", kib(16, 32), (370, 2740)),
        stay("idx", kib(32, 33), (0, 2740)),
        stay("tmp", kib(33, 41), (300, 2400)),
    ];
    let mut op = operation("mscatter", Coalesce::Row, ("table", 16, 32), (8, 32), 17);
    op.indices = vec![3, 0, 15, 7, 8, 1, 12, 5];
    op.slots = op.indices.iter().map(|index| Some(*index as u64)).collect();
    report.operations = vec![op];
    report
}

/// Elements with collisions, skipped lanes and shared bytes: a fault.
pub fn elements() -> Report {
    let mut report = empty(Target::A5);
    report.status = Status::Fault;
    report.entry = "histogram".into();
    report.cycles = 1540;
    report.busy = vec![(Pipe::Mte2, 420), (Pipe::V, 900), (Pipe::Mte3, 120)];
    report.instructions = 7;
    report.ub_limit = Some(8 * 1024);
    report.ub_peak = 7 * 1024;
    report.lanes = Lanes { written: 29, skipped: 3, collisions: 4, ..Lanes::default() };
    report.spans = vec![
        span(Pipe::Mte2, 0, 220, "tload", 8),
        span(Pipe::Mte2, 220, 420, "tload", 9),
        span(Pipe::V, 420, 1320, "mscatter", 12),
        span(Pipe::Mte3, 1420, 1540, "tstore", 15),
    ];
    report.residences = vec![
        stay("values", (0, 4096), (0, 1320)),
        stay("idx", (4096, 6144), (220, 1320)),
        stay("scratch", (5632, 7168), (900, 1540)),
    ];
    let mut op = operation("mscatter", Coalesce::Elem, ("bins", 6, 8), (4, 8), 12);
    op.indices = vec![
        3, 9, 17, 22, 40, 41, 5, 5, 0, 47, 48, 12, 13, 14, 15, 16, 31, 30, 29, 28, 5, 26, 25, 24, 7, -1, 33, 33, 60,
        36, 37, 38,
    ];
    op.slots = op.indices.iter().map(|index| u64::try_from(*index).ok().filter(|slot| *slot < 48)).collect();
    report.operations = vec![op];
    report.diagnostics = vec![
        Diagnostic::new(rules::RACE_UB, place(15), "tstore reads bytes 0x1600..0x1c00 that mscatter still writes")
            .label(place(12), "written here, on PIPE_V"),
        Diagnostic::new(rules::SYNC_NEVER_WAITED, place(13), "EVENT_ID1 from PIPE_V to PIPE_MTE3 is never waited for"),
    ];
    let slot = |index, candidates: &[f64]| Nondeterministic {
        buffer: "bins".into(),
        index,
        candidates: candidates.to_vec(),
        complete: true,
    };
    report.nondeterministic = vec![slot(5, &[1.5, 2.0, 8.25]), slot(33, &[-1.0, 4.0])];
    report
}

/// A gather whose lanes are clamped, and one whose lanes are zeroed.
pub fn gather() -> Report {
    let mut report = rows();
    report.entry = "lookup".into();
    report.lanes = Lanes { written: 80, clamped: 2, zeroed: 5, ..Lanes::default() };
    let mut rows = operation("mgather", Coalesce::Row, ("embedding", 12, 16), (10, 16), 5);
    rows.indices = vec![0, 2, 4, 6, 8, 10, 12, 14, 1, 3];
    rows.slots = rows.indices.iter().map(|index| Some((*index as u64).min(11))).collect();
    let mut elements = operation("mgather", Coalesce::Elem, ("weights", 512, 512), (4, 16), 9);
    let mut next = random(7);
    elements.indices = (0..64).map(|_| next(280_000) as i64).collect();
    elements.slots = elements.indices.iter().map(|i| Some(*i as u64).filter(|slot| *slot < 512 * 512)).collect();
    report.operations = vec![rows, elements];
    report
}

/// The sizes of the speed goal: 128x64 into a million elements, at random and with a stride, and 64x256 by row.
pub fn large() -> Report {
    let mut report = rows();
    report.target = Target::A5;
    report.entry = "large_scatter".into();
    report.ub_limit = Some(256 * 1024);
    report.lanes = Lanes { written: 16_400, skipped: 48, collisions: 31, ..Lanes::default() };
    let table = 1 << 20;
    let mut next = random(1);
    let mut at_random = operation("mscatter", Coalesce::Elem, ("out", 1, table), (128, 64), 21);
    at_random.indices = (0..128 * 64).map(|_| next(table + 6000) as i64).collect();
    at_random.slots = at_random.indices.iter().map(|i| Some(*i as u64).filter(|slot| *slot < table)).collect();
    let mut strided = operation("mscatter", Coalesce::Elem, ("out", 1024, 1024), (128, 64), 24);
    strided.indices = (0..128 * 64).map(|lane| lane * 100 + (lane % 7) * 4000).collect();
    strided.slots = strided.indices.iter().map(|i| Some(*i as u64 % table)).collect();
    let mut by_row = operation("mscatter", Coalesce::Row, ("kv_cache", 4096, 256), (64, 256), 29);
    by_row.indices = (0..64).map(|lane| (lane * 61 + 5) % 4096).collect();
    by_row.slots = by_row.indices.iter().map(|i| Some(*i as u64)).collect();
    report.operations = vec![at_random, strided, by_row];
    report
}

/// More of everything than a picture can hold.
pub fn long() -> Report {
    let mut report = empty(Target::A5);
    report.entry = "endless".into();
    report.instructions = 1_000_000;
    report.ub_limit = Some(256 * 1024);
    report.ub_peak = 250_000;
    report.spans_dropped = 900_000;
    let mut next = random(3);
    for turn in 0..100_000 {
        let (pipe, start) = (Pipe::EACH[turn % 7], turn as u64 * 13);
        report.spans.push(span(pipe, start, start + 5 + next(60), "tadd", 4));
    }
    report.cycles = 1_300_100;
    report.busy = Pipe::EACH.map(|pipe| (pipe, 500_000)).to_vec();
    for tile in 0..5000 {
        let (start, from) = (next(200_000), next(1_000_000));
        let bytes = (start, start + 32 + next(40_000));
        report.residences.push(stay(&format!("tile{tile}"), bytes, (from, from + next(300_000))));
    }
    let ops = large().operations;
    report.operations = (0..40).map(|at| ops[at % 3].clone()).collect();
    for line in 0..500 {
        let message = "a long story ".repeat(200);
        report.diagnostics.push(Diagnostic::new(rules::RACE_GM, place(line), message));
    }
    report.status = Status::Fault;
    report.nondeterministic =
        vec![Nondeterministic { buffer: "out".into(), index: 3, candidates: vec![0.5; 1000], complete: false }; 1000];
    report.lanes = Lanes { written: 1 << 33, skipped: 5, clamped: 6, wrapped: 7, zeroed: 8, collisions: 9 };
    report
}

/// A target without pipes.
pub fn cpu() -> Report {
    let mut report = empty(Target::Cpu);
    report.instructions = 3;
    report.lanes.written = 6;
    report.ub_peak = 512;
    report.residences = vec![stay("a", (0, 256), (0, 0)), stay("b", (256, 512), (0, 0))];
    let mut op = operation("tscatter", Coalesce::Elem, ("dst", 4, 8), (2, 3), 6);
    op.mode = None;
    op.indices = vec![0, 9, 18, 27, 31, 4];
    op.slots = op.indices.iter().map(|index| Some(*index as u64)).collect();
    report.operations = vec![op];
    report
}

/// Names that try to become markup, scripts or terminal commands, and numbers that try to overflow.
pub fn hostile() -> Report {
    let mut report = elements();
    let name = "</title></svg><script>window.broken=1</script>\"'><img src=x onerror=window.broken=1>&amp;]]>\u{0}\u{1b}[31m\u{202e}";
    report.entry = name.into();
    report.operations[0].table.0 = name.into();
    report.residences[0].tile = name.into();
    report.residences[1].tile = "x".repeat(100_000);
    report.diagnostics[0].message = name.into();
    report.diagnostics[0].help = Some(name.into());
    report.diagnostics[0].labels[0].1 = name.into();
    report.nondeterministic[0].buffer = name.into();
    report.nondeterministic[1].candidates = vec![f64::NAN, f64::INFINITY];
    let mut op = operation("mscatter", Coalesce::Elem, ("t", u64::MAX, u64::MAX), (u64::MAX, 3), 1);
    op.indices = vec![i64::MIN, i64::MAX, 0, 5];
    op.slots = vec![Some(u64::MAX), None, Some(u64::MAX - 1)];
    report.operations.push(op);
    report.operations.push(operation("mgather", Coalesce::Row, ("t", 0, 0), (0, 0), 1));
    report.residences.push(stay("odd", (u64::MAX, 0), (u64::MAX, 0)));
    report.residences.push(stay("all", (0, u64::MAX), (0, u64::MAX)));
    report.spans.push(span(Pipe::S, u64::MAX, 0, "odd", 1));
    report.spans.push(span(Pipe::S, 0, u64::MAX, "all", 1));
    report
}
