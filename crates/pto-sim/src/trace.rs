//! Chrome trace events (Perfetto, `chrome://tracing`): one row per pipe, simulated cycles as microseconds.

use pto_ir::Pipe;
use serde_json::{Value, json};

use crate::Report;

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
        if report.spans_dropped > 0 {
            let text = format!("{} later runs are not shown", report.spans_dropped);
            events.push(json!({ "ph": "i", "pid": rank, "tid": 0, "ts": report.cycles, "s": "p", "name": text }));
        }
    }
    events
}
