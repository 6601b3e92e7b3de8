//! A small report for the examples of the documentation.

use pto_ir::{Pipe, Place};
use pto_isa::{Coalesce, Target};
use pto_sim::{Lanes, Operation, Report, Residence, Span, Status};

/// A scatter of three lanes on A5.
pub fn report() -> Report {
    let place = Place::new(3, 9);
    Report {
        status: Status::Ok,
        target: Target::A5,
        entry: "kernel".into(),
        diagnostics: Vec::new(),
        cycles: 100,
        busy: vec![(Pipe::V, 60)],
        instructions: 1,
        ub_peak: 256,
        ub_limit: Some(1024),
        lanes: Lanes { written: 3, ..Lanes::default() },
        nondeterministic: Vec::new(),
        spans: vec![Span { pipe: Pipe::V, start: 40, end: 100, name: "mscatter", place }],
        spans_dropped: 0,
        launches: Vec::new(),
        flags: Vec::new(),
        operations: vec![Operation {
            name: "mscatter",
            place,
            mode: Some(Coalesce::Elem),
            table: ("table".into(), 2, 4),
            payload: (1, 3),
            indices: vec![5, 0, 7],
            slots: vec![Some(5), Some(0), Some(7)],
        }],
        residences: vec![Residence { tile: "src".into(), start: 0, end: 256, from: 40, to: 100 }],
        buffers: Vec::new(),
    }
}
