//! Chrome trace events (Perfetto, `chrome://tracing`): one row per pipe, per warp and per flag, simulated cycles as
//! microseconds.

use std::collections::BTreeSet;

use pto_ir::{Flag, Pipe};
use serde_json::{Value, json};

use crate::{Held, Report, SimtLaunch, Warp};

/// The report's runs as a Chrome trace, one process per rank.
///
/// `place` turns a place of the program into words, such as `kernel.pto:12`.
pub fn chrome_trace(reports: &[Report], place: impl Fn(pto_ir::Place) -> String) -> Value {
    let ranks = reports.iter().enumerate();
    trace_document(ranks.flat_map(|(rank, report)| trace_events(rank, report, &place)).collect())
}

/// Events as a Chrome trace.
pub fn trace_document(events: Vec<Value>) -> Value {
    json!({ "displayTimeUnit": "ns", "otherData": { "unit": "cycles" }, "traceEvents": events })
}

/// The events of one rank, as a process of its own.
pub fn trace_events(rank: usize, report: &Report, place: impl Fn(pto_ir::Place) -> String) -> Vec<Value> {
    let mut events = Vec::new();
    {
        let name = format!("rank {rank} ({} {})", report.target, report.entry);
        events.push(json!({ "ph": "M", "pid": rank, "name": "process_name", "args": { "name": name } }));
        for (row, pipe) in Pipe::EACH.into_iter().enumerate() {
            if report.spans.iter().any(|span| span.pipe == pipe) {
                let args = json!({ "name": pipe.name() });
                events.push(json!({ "ph": "M", "pid": rank, "tid": row, "name": "thread_name", "args": args }));
            }
        }
        for span in &report.spans {
            let row = Pipe::EACH.iter().position(|pipe| *pipe == span.pipe);
            events.push(json!({
                "ph": "X", "pid": rank, "tid": row, "name": span.name, "cat": "pipe",
                "ts": span.start, "dur": span.end - span.start, "args": { "place": place(span.place) },
            }));
        }
        events.extend(warps(rank, report, &place));
        events.extend(flags(rank, report, &place));
        if report.spans_dropped > 0 {
            let text = format!("{} later runs are not shown", report.spans_dropped);
            events.push(json!({ "ph": "i", "pid": rank, "tid": 0, "ts": report.cycles, "s": "p", "name": text }));
        }
    }
    events
}

/// Rows of a process after those of its pipes: the warps of a launch, then the flags.
const FIRST_WARP: u64 = 100;
const FIRST_FLAG: usize = 200;

fn row_name(rank: usize, row: Value, name: &str) -> Value {
    json!({ "ph": "M", "pid": rank, "tid": row, "name": "thread_name", "args": { "name": name } })
}

/// A row per warp: how long it was at work, on how many lanes.
fn warps(rank: usize, report: &Report, place: impl Fn(pto_ir::Place) -> String) -> Vec<Value> {
    let warps: Vec<Warp> = report.launches.iter().flat_map(SimtLaunch::warps).collect();
    let most = warps.iter().map(|warp| warp.number + 1).max().unwrap_or(0);
    let names = (0..most).map(|warp| row_name(rank, json!(FIRST_WARP + warp), &format!("warp {warp}")));
    let run = |warp: &Warp| {
        json!({
            "ph": "X", "pid": rank, "tid": FIRST_WARP + warp.number, "name": "warp", "cat": "warp",
            "ts": warp.start, "dur": warp.end - warp.start,
            "args": { "place": place(warp.place), "lanes": warp.lanes, "steps": warp.steps },
        })
    };
    names.chain(warps.iter().map(run)).collect()
}

/// A row per flag: from its set until the waiting pipe went on.
fn flags(rank: usize, report: &Report, place: impl Fn(pto_ir::Place) -> String) -> Vec<Value> {
    let rows: BTreeSet<Flag> = report.flags.iter().map(|held| held.flag).collect();
    let name = |flag: &Flag| format!("{} -> {} EVENT_ID{}", flag.from.name(), flag.to.name(), flag.event);
    let row = |flag: &Flag| FIRST_FLAG + rows.iter().position(|other| other == flag).unwrap_or(0);
    let names = rows.iter().map(|flag| row_name(rank, json!(row(flag)), &name(flag)));
    let held = |held: &Held| {
        json!({
            "ph": "X", "pid": rank, "tid": row(&held.flag), "name": name(&held.flag), "cat": "flag",
            "ts": held.set, "dur": held.waited - held.set,
            "args": { "set": place(held.set_at), "waited": place(held.waited_at) },
        })
    };
    names.chain(report.flags.iter().map(held)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::Timing;
    use crate::warps::Simt;
    use pto_isa::{Coalesce, Target};

    #[test]
    fn warps_and_flags_have_rows_of_their_own() {
        let function = pto_ir::FunctionBuilder::new("empty").finish();
        let options = crate::Options::default();
        let arguments = std::collections::BTreeMap::new();
        let mut report = crate::simulate(&function, &function.functions[0], Target::A5, arguments, &options);
        let place = pto_ir::Place::default();
        let flag = |event| Flag { from: Pipe::Mte2, to: Pipe::V, event };
        let held = |event, set| Held { flag: flag(event), set, waited: set + 5, set_at: place, waited_at: place };
        report.flags = vec![held(3, 0), held(1, 7), held(3, 9)];
        let simt = Simt::by_source(Coalesce::Elem, 1, 40);
        let timing = Timing::of(Target::A5).expect("a device");
        report.launches = vec![SimtLaunch { simt, timing, start: 4, end: 900, place }];
        let events = trace_events(0, &report, |_| "there".into());
        let of = |cat: &str| -> Vec<&Value> { events.iter().filter(|event| event["cat"] == cat).collect() };
        let rows = |cat| -> Vec<u64> { of(cat).iter().filter_map(|event| event["tid"].as_u64()).collect() };
        assert_eq!((rows("warp"), rows("flag")), (vec![100, 101], vec![201, 200, 201]));
        assert_eq!((&of("warp")[1]["args"]["lanes"], &of("flag")[2]["dur"]), (&json!(8), &json!(5)));
        let named =
            |tid: u64| events.iter().find(|e| e["ph"] == "M" && e["tid"] == tid).map(|e| e["args"]["name"].clone());
        assert_eq!((named(101), named(200)), (Some(json!("warp 1")), Some(json!("PIPE_MTE2 -> PIPE_V EVENT_ID1"))));
    }
}
