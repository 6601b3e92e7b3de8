//! How the cost of a lane grows with the table's size, the number of lanes and the skew of the indices, as a plot.
//!
//! `cargo run --release -p pto-bench --example growth -- docs/performance-growth.svg`

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::time::Instant;

use pto_bench::{Array, plain, uniform, zipf};
use pto_exec::host::Engine;
use pto_isa::{Atomic, OutOfBounds};

type Failure = Box<dyn std::error::Error>;

/// One panel: a title, the labels along its axis, and for each line the nanoseconds at each label.
struct Panel {
    title: &'static str,
    labels: Vec<String>,
    lines: [Vec<f64>; 3],
}

const LINES: [(&str, &str); 3] = [("plain loop", "#999999"), ("1 thread", "#1f77b4"), ("all threads", "#d62728")];

/// The least time a lane takes: the plain loop, one thread, all threads; by turns.
fn add(size: usize, lanes: usize, exponent: f64) -> Result<[f64; 3], Failure> {
    let indices: Box<dyn Iterator<Item = u64>> =
        if exponent > 0.0 { Box::new(zipf(1, size as u64, exponent)) } else { Box::new(uniform(1, size as u64)) };
    let indices = Array::from_values(lanes, indices.map(|x| x as i32))?;
    let source = Array::from_values(lanes, std::iter::repeat(1f32))?;
    let mut table = Array::<f32>::zeroed(size)?;
    let engines = [Engine::new().with_threads(NonZeroUsize::MIN), Engine::new()];
    let mut best = [f64::MAX; 3];
    // Small calls are repeated until the clock can see them.
    let repeats = (1 << 20) / lanes + 1;
    for _ in 0..9 {
        let mut time = |line: usize, work: &mut dyn FnMut() -> Result<(), Failure>| {
            let start = Instant::now();
            (0..repeats).try_for_each(|_| work())?;
            best[line] = best[line].min(start.elapsed().as_secs_f64() / repeats as f64);
            Ok::<(), Failure>(())
        };
        time(0, &mut || {
            plain::scatter(&mut table, &source, &indices, Atomic::Add, OutOfBounds::Undefined);
            Ok(())
        })?;
        for (line, engine) in engines.iter().enumerate() {
            time(line + 1, &mut || {
                engine.scatter(&mut *table, &*source, &*indices, Atomic::Add, OutOfBounds::Undefined)?;
                Ok(())
            })?;
        }
    }
    Ok(best.map(|seconds| seconds * 1e9 / lanes as f64))
}

fn panel(
    title: &'static str,
    points: impl IntoIterator<Item = (String, Result<[f64; 3], Failure>)>,
) -> Result<Panel, Failure> {
    let mut panel = Panel { title, labels: Vec::new(), lines: Default::default() };
    for (label, times) in points {
        panel.labels.push(label);
        panel.lines.iter_mut().zip(times?).for_each(|(line, time)| line.push(time));
    }
    Ok(panel)
}

/// The panels side by side, nanoseconds on a logarithmic axis.
fn draw(panels: &[Panel]) -> Result<String, Failure> {
    let (width, height, margin) = (380.0, 300.0, 50.0);
    let all = panels.iter().flat_map(|p| p.lines.iter().flatten());
    let (low, high) = all.fold((f64::MAX, f64::MIN), |(low, high), y| (low.min(*y), high.max(*y)));
    let (low, high) = (low.log2().floor(), high.log2().ceil());
    let y = |ns: f64| margin + (high - ns.log2()) / (high - low) * (height - 2.0 * margin);
    let mut svg = String::new();
    let total = width * panels.len() as f64;
    writeln!(
        svg,
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {total} {height}" font-family="sans-serif" font-size="10">"#
    )?;
    writeln!(svg, r#"<rect width="{total}" height="{height}" fill="white"/>"#)?;
    for (i, panel) in panels.iter().enumerate() {
        let left = i as f64 * width + margin;
        let step = (width - 1.5 * margin) / (panel.labels.len() - 1).max(1) as f64;
        let x = |k: usize| left + k as f64 * step;
        writeln!(svg, r#"<text x="{left}" y="{}" font-size="12">{}</text>"#, margin - 18.0, panel.title)?;
        for power in low as i32..=high as i32 {
            let (ns, right) = (f64::from(power).exp2(), x(panel.labels.len() - 1));
            writeln!(svg, r##"<path d="M{left} {0:.1}H{right:.1}" stroke="#eeeeee"/>"##, y(ns))?;
            writeln!(svg, r#"<text x="{:.1}" y="{:.1}" text-anchor="end">{ns} ns</text>"#, left - 5.0, y(ns) + 3.0)?;
        }
        for (k, label) in panel.labels.iter().enumerate() {
            writeln!(
                svg,
                r#"<text x="{:.1}" y="{:.1}" text-anchor="middle">{label}</text>"#,
                x(k),
                height - margin + 16.0
            )?;
        }
        for (line, (name, colour)) in panel.lines.iter().zip(LINES) {
            let points: Vec<String> =
                line.iter().enumerate().map(|(k, ns)| format!("{:.1},{:.1}", x(k), y(*ns))).collect();
            writeln!(
                svg,
                r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"><title>{name}</title></polyline>"#,
                points.join(" ")
            )?;
        }
    }
    for (k, (name, colour)) in LINES.iter().enumerate() {
        let at = margin + 110.0 * k as f64;
        writeln!(
            svg,
            r#"<path d="M{at} {0}h20" stroke="{colour}" stroke-width="2"/><text x="{1}" y="{2}">{name}</text>"#,
            height - 14.0,
            at + 26.0,
            height - 10.0
        )?;
    }
    writeln!(svg, "</svg>")?;
    Ok(svg)
}

fn main() -> Result<(), Failure> {
    let path = std::env::args().nth(1).ok_or("where to write the plot?")?;
    let size =
        |log2: u32| if log2 < 18 { format!("{}k", 4 << (log2 - 10)) } else { format!("{}M", 4 << (log2 - 18) >> 2) };
    let panels = [
        panel(
            "f32 add, 4M lanes: bytes of the table",
            [11, 14, 16, 18, 20, 22, 24, 26].map(|log2| (size(log2), add(1 << log2, 1 << 22, 0.0))),
        )?,
        panel(
            "f32 add into 64 MB: lanes",
            [4, 8, 12, 15, 17, 20, 22, 24].map(|log2| (format!("2^{log2}"), add(1 << 24, 1 << log2, 0.0))),
        )?,
        panel(
            "f32 add into 64 MB, 4M lanes: Zipf exponent",
            [0.0, 0.25, 0.5, 0.75, 0.9, 1.1, 1.3, 1.5].map(|s| (s.to_string(), add(1 << 24, 1 << 22, s))),
        )?,
    ];
    std::fs::write(path, draw(&panels)?)?;
    Ok(())
}
