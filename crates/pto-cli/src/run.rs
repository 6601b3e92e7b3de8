//! `pto run`: verify, lower if needed, simulate, report.

use std::collections::BTreeMap;
use std::io::{BufWriter, IsTerminal, Write, stdout};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::Args;
use indicatif::ProgressBar;
use pto_data::{Argument as DataArgument, Array, Output};
use pto_exec::Schedule;
use pto_ir::{Function, Module, Type};
use pto_isa::{ElementType, Target};
use pto_sim::{Argument, Options, Report, Status, simulate};
use pto_text::{Diagnostic, Source};
use serde_json::{Value, json};

use crate::check::LevelArguments;
use crate::input::{self, Text};
use crate::{CallError, Verdict, output};

/// Execute a program as a target would, and report what goes wrong and where the time goes
///
/// The program is verified, tiles are placed and flags inserted where it has none, and the entry function is simulated.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The program; `-` is standard input
    file: PathBuf,
    #[command(flatten)]
    pub(crate) how: How,
    /// Write an array after the run: NAME=PATH, as .npy, .safetensors, .safetensors:KEY or .bin
    #[arg(long, value_name = "NAME=PATH")]
    out: Vec<Output>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    /// Write a Chrome/Perfetto trace of the pipes
    #[arg(long, value_name = "PATH")]
    trace: Option<PathBuf>,
}

/// How a program is run; shared with `pto view`.
#[derive(Args)]
pub(crate) struct How {
    /// The function to run, if the program has several public ones
    #[arg(long, value_name = "NAME")]
    entry: Option<String>,
    /// cpu, a2a3, a5 or host (default: the program's pto.target_arch, else a5)
    #[arg(long, value_name = "TARGET", value_parser = input::target)]
    target: Option<Target>,
    /// Bind a parameter: NAME=FILE.npy, NAME=FILE.safetensors:KEY, NAME=FILE.bin, NAME=zeros:8x32, NAME=iota:8x32,
    /// NAME=rand:8x32 or rand:8x32:SEED, NAME=randidx:8:64 or randidx:8:64:SEED, or NAME=7
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    arguments: Vec<DataArgument>,
    /// dynUBufSize of the launch, in bytes (default: the function's pto.dyn_ubuf_size)
    #[arg(long, value_name = "BYTES")]
    dyn_ub: Option<u64>,
    /// Draw A5's warp schedule from this seed instead of running warps in order
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// List every slot whose value depends on the schedule
    #[arg(long)]
    explore: bool,
    /// Skip the sanitizers: races, unwritten bytes, overwritten tiles, collisions
    #[arg(long)]
    no_sanitize: bool,
    /// Steps after which the run is ended
    #[arg(long, value_name = "N", default_value_t = 500_000_000)]
    max_steps: u64,
    #[command(flatten)]
    levels: LevelArguments,
}

/// A run that was carried out, or the reasons why it was not.
pub(crate) struct Ran {
    pub(crate) source: Source,
    pub(crate) target: Target,
    pub(crate) entry: String,
    /// Findings of text, check, lowering and run, as the user wants them judged.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// `None` if the program was rejected.
    pub(crate) report: Option<Report>,
    /// The arrays as they were bound, for their shapes.
    arrays: BTreeMap<String, Array>,
    wall_ns: u128,
}

impl Ran {
    fn status(&self) -> &'static str {
        let errors = self.diagnostics.iter().any(Diagnostic::is_error);
        match &self.report {
            None => "rejected",
            Some(report) if report.status == Status::Fault || errors => "fault",
            Some(_) => "ok",
        }
    }
}

/// Set by Ctrl-C: the run ends at the next step and reports what it has.
static STOP: AtomicBool = AtomicBool::new(false);
static PROGRESS: OnceLock<ProgressBar> = OnceLock::new();

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, CallError> {
    let ran = carry_out(&arguments.file, &arguments.how, 0)?;
    if let (Some(path), Some(report)) = (&arguments.trace, &ran.report) {
        let trace = pto_sim::chrome_trace(std::slice::from_ref(report), |place| input::words(&ran.source, place));
        std::fs::write(path, trace.to_string())
            .map_err(|error| CallError::Unwritable { path: path.display().to_string(), error })?;
    }
    save_outputs(&arguments.out, &ran)?;
    if arguments.json {
        let mut out = BufWriter::new(stdout().lock());
        writeln!(out, "{}", to_json(&ran, arguments.how.explore))?;
        out.flush()?;
    } else {
        output::diagnostics(&ran.source, &ran.diagnostics);
        let mut out = BufWriter::new(stdout().lock());
        match &ran.report {
            Some(report) => write!(out, "{}", pto_view::summary(report, 100, output::colour()))?,
            None => writeln!(out, "{} on {}: rejected", ran.entry, ran.target)?,
        }
        if arguments.how.explore
            && let Some(report) = &ran.report
        {
            explored(&mut out, report)?;
        }
        out.flush()?;
    }
    Ok(if ran.status() == "ok" { Verdict::Clean } else { Verdict::Wrong })
}

/// Reads, checks, lowers and simulates; an error is a call that cannot be carried out.
pub(crate) fn carry_out(file: &std::path::Path, how: &How, max_operations: usize) -> Result<Ran, CallError> {
    let started = Instant::now();
    let levels = how.levels.levels()?;
    let text = Text::new(input::read(file)?);
    let mut diagnostics = text.found();
    let (source, mut module) = (text.source, text.program.module);
    // The launch decides over the attribute, for checks and placement as well as for the run.
    if how.dyn_ub.is_some() {
        module.functions.iter_mut().for_each(|function| function.launch.dyn_ub = how.dyn_ub);
    }
    let target = how.target.or(module.target).unwrap_or(Target::A5);
    let rejected = |source, diagnostics, entry: String| Ran {
        source,
        target,
        entry,
        diagnostics,
        report: None,
        arrays: BTreeMap::new(),
        wall_ns: started.elapsed().as_nanos(),
    };
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(rejected(source, levels.apply(diagnostics), how.entry.clone().unwrap_or_default()));
    }
    let name = entry(&module, how.entry.as_deref())?.name.clone();
    diagnostics.extend(pto_ir::check(&module, target).into_iter().map(Diagnostic::from));
    diagnostics = levels.apply(diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(rejected(source, diagnostics, name));
    }
    let lowered = match pto_ir::lower::lower(&module, target) {
        Ok(lowered) => lowered,
        Err(found) => {
            diagnostics.extend(found.into_iter().map(Diagnostic::from));
            return Ok(rejected(source, diagnostics, name));
        }
    };
    let function = entry(&lowered, Some(&name))?;
    let (arrays, bound) = bind(&lowered, function, &how.arguments)?;
    let options = options(how, max_operations);
    let report = simulate(&lowered, function, target, &bound, &options);
    if let Some(bar) = PROGRESS.get() {
        bar.finish_and_clear();
    }
    diagnostics.extend(levels.apply(report.diagnostics.iter().cloned().map(Diagnostic::from).collect()));
    let wall_ns = started.elapsed().as_nanos();
    Ok(Ran { source, target, entry: name, diagnostics, report: Some(report), arrays, wall_ns })
}

fn options(how: &How, max_operations: usize) -> Options<'static> {
    // A second Ctrl-C, or a handler that cannot be set, ends the program as usual.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    let progress: Option<fn(u64)> = if std::io::stderr().is_terminal() {
        PROGRESS.get_or_init(|| output::spinner("instructions"));
        Some(|instructions| {
            if let Some(bar) = PROGRESS.get() {
                bar.set_position(instructions);
            }
        })
    } else {
        None
    };
    Options {
        schedule: how.seed.map_or(Schedule::InOrder, Schedule::Seeded),
        sanitize: !how.no_sanitize,
        explore: how.explore,
        dyn_ub: how.dyn_ub,
        max_steps: how.max_steps,
        max_operations,
        stop: Some(&STOP),
        progress,
        ..Options::default()
    }
}

fn entry<'m>(module: &'m Module, name: Option<&str>) -> Result<&'m Function, CallError> {
    let names = || module.entries().map(|f| f.name.clone()).collect::<Vec<_>>().join(", ");
    match name {
        Some(name) => module
            .functions
            .iter()
            .find(|f| f.name == name)
            .ok_or_else(|| CallError::Entry(format!("no function is called {name:?}; there are: {}", names()))),
        None => {
            let mut entries = module.entries();
            match (entries.next(), entries.next()) {
                (Some(only), None) => Ok(only),
                (None, _) => Err(CallError::Entry("the program has no public function to run".into())),
                _ => Err(CallError::Entry(format!("name the function to run with --entry: {}", names()))),
            }
        }
    }
}

type Bound = (BTreeMap<String, Array>, BTreeMap<String, Argument>);

/// Loads what the parameters are bound to.
fn bind(module: &Module, function: &Function, given: &[DataArgument]) -> Result<Bound, CallError> {
    let (mut arrays, mut bound) = (BTreeMap::new(), BTreeMap::new());
    let parameters: Vec<_> = function.parameter_ids().map(|id| function.value(id)).collect();
    for parameter in &parameters {
        let (name, ty) = (parameter.name.to_string(), module.types.get(parameter.ty));
        let Some(argument) = given.iter().rev().find(|argument| argument.name == name) else {
            return Err(CallError::Entry(format!("parameter `{name}: {ty}` is not bound: add --arg {name}=VALUE")));
        };
        let value = match ty {
            Type::Pointer(element) => array(argument, *element, &mut arrays)?,
            Type::View(view) | Type::Group { member: view, .. } => array(argument, view.element, &mut arrays)?,
            Type::Tile(tile) => array(argument, tile.element, &mut arrays)?,
            Type::Scalar(element) => scalar(argument, *element)?,
            Type::Index | Type::Boolean => scalar(argument, ElementType::I64)?,
            Type::Event | Type::Opaque(_) => {
                return Err(CallError::Entry(format!("parameter `{name}: {ty}` cannot be bound to a value")));
            }
        };
        bound.insert(name, value);
    }
    if let Some(extra) = given.iter().find(|argument| !bound.contains_key(&argument.name)) {
        let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_ref()).collect();
        let message = format!("no parameter is called {:?}; there are: {}", extra.name, names.join(", "));
        return Err(CallError::Entry(message));
    }
    Ok((arrays, bound))
}

fn array(
    argument: &DataArgument,
    element: ElementType,
    arrays: &mut BTreeMap<String, Array>,
) -> Result<Argument, CallError> {
    let loaded = argument.value.load_array(element)?;
    let bytes = loaded.bytes().to_vec();
    arrays.insert(argument.name.clone(), loaded);
    Ok(Argument::Array(bytes))
}

fn scalar(argument: &DataArgument, element: ElementType) -> Result<Argument, CallError> {
    let scalar = argument.value.load_scalar(element)?;
    let integer = scalar.integer().and_then(|value| i64::try_from(value).ok()).map(Argument::Integer);
    let float = || scalar.float().map(Argument::Float);
    integer.or_else(float).ok_or_else(|| CallError::Entry(format!("`{}` does not fit its parameter", argument.name)))
}

fn save_outputs(outputs: &[Output], ran: &Ran) -> Result<(), CallError> {
    let Some(report) = &ran.report else { return Ok(()) };
    let mut arrays = Vec::new();
    for output in outputs {
        let bytes = report.buffers.iter().find(|(name, _)| *name == output.name).map(|(_, bytes)| bytes);
        let (Some(bytes), Some(before)) = (bytes, ran.arrays.get(&output.name)) else {
            let names: Vec<&str> = report.buffers.iter().map(|(name, _)| name.as_str()).collect();
            let message = format!("no array is called {:?}; there are: {}", output.name, names.join(", "));
            return Err(CallError::Entry(message));
        };
        let after = Array::new(before.data_type().clone(), before.shape().to_vec(), bytes.clone())
            .map_err(|error| CallError::Entry(error.to_string()))?;
        arrays.push((&output.destination, after));
    }
    let arrays: Vec<_> = arrays.iter().map(|(destination, array)| (*destination, array)).collect();
    Ok(pto_data::save(&arrays)?)
}

fn explored(out: &mut impl Write, report: &Report) -> std::io::Result<()> {
    for slot in &report.nondeterministic {
        let (low, high) = (slot.candidates.first(), slot.candidates.last());
        let apart = low.zip(high).map_or(0.0, |(low, high)| high - low);
        let values: Vec<String> = slot.candidates.iter().map(f64::to_string).collect();
        writeln!(out, "  {}[{}]: {} ({apart} apart)", slot.buffer, slot.index, values.join(" or "))?;
    }
    Ok(())
}

fn to_json(ran: &Ran, explore: bool) -> Value {
    let records: Vec<_> =
        ran.diagnostics.iter().map(|found| pto_text::diagnostic::json::record(&ran.source, found)).collect();
    let mut object = json!({
        "status": ran.status(),
        "target": ran.target.name(),
        "entry": ran.entry,
        "diagnostics": records,
        "wall_ns": ran.wall_ns as u64,
    });
    let Some(report) = &ran.report else { return object };
    let pipes: BTreeMap<&str, u64> = report.busy.iter().map(|(pipe, cycles)| (pipe.name(), *cycles)).collect();
    let lanes = report.lanes;
    let fields = [
        ("cycles", json!({ "total": report.cycles, "pipes": pipes })),
        ("instructions", json!(report.instructions)),
        ("ub", json!({ "peak_bytes": report.ub_peak, "limit_bytes": report.ub_limit })),
        (
            "lanes",
            json!({
                "written": lanes.written, "skipped": lanes.skipped, "clamped": lanes.clamped, "wrapped": lanes.wrapped,
                "zeroed": lanes.zeroed, "collisions": lanes.collisions,
            }),
        ),
    ];
    for (name, value) in fields {
        object[name] = value;
    }
    if explore {
        let slot = |slot: &pto_sim::Nondeterministic| json!({ "buffer": slot.buffer, "index": slot.index, "candidates": slot.candidates });
        object["nondeterministic"] = report.nondeterministic.iter().map(slot).collect();
    }
    object
}
