//! `pto run`: verify, lower if needed, simulate, report.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use indicatif::{HumanCount, ProgressBar};
use pto_data::{Argument as DataArgument, Array, DataType, Output};
use pto_exec::Schedule;
use pto_ir::{Function, GroupType, Module, Type, ValueId};
use pto_isa::{ElementType, Target};
use pto_sim::{Argument, Options, Progress, Report, Status, simulate};
use pto_text::{Diagnostic, Levels, Source};
use serde_json::{Value, json};

use crate::check::LevelArguments;
use crate::input::{self, Text};
use crate::ranks::{self, Ranks};
use crate::{CallError, Verdict, output};

/// Execute a program as a target would, and report what goes wrong and where the time goes
///
/// The program is verified, tiles are placed and flags inserted where it has none, and the entry function is simulated.
///
/// With --ranks N, on N ranks: each a thread with a device and global memory of its own; with --ranks mpi, on the ranks
/// of the MPI job that `mpirun -n N pto run ...` starts. All ranks run the same text. `pto.comm.rank` is a rank's own
/// number, `pto.comm.ranks` how many there are, `pto.comm.barrier` waits for all of them, and `pto.comm.tnotify` and
/// `pto.comm.twait` order two of them. A text that uses none of these is run by the root of its collectives alone.
/// Member r of a group, `group(%p0, %p1, ...)`, is memory of rank r, its window: --arg p1=VALUE is bound at rank 1. A
/// parameter of a group type is one window at every rank. Any other parameter each rank has for itself: --arg NAME=VALUE is for all
/// ranks, --arg NAME@RANK=VALUE for one, --out NAME@RANK=PATH writes one rank's array.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The program; `-` is standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) how: How,
    /// Write an array after the run: NAME=PATH, or NAME@RANK=PATH, as .npy, .safetensors, .safetensors:KEY or .bin
    #[arg(long, value_name = "NAME=PATH")]
    pub(crate) out: Vec<Output>,
    /// Run on this many ranks, as threads; `mpi`: as the processes of an MPI job
    #[arg(long, value_name = "N|mpi")]
    ranks: Option<Ranks>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Write a Chrome/Perfetto trace of the pipes; of several ranks, each is a process
    #[arg(long, value_name = "PATH")]
    pub(crate) trace: Option<PathBuf>,
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
    /// NAME=rand:8x32 or rand:8x32:SEED, NAME=randidx:8:64 or randidx:8:64:SEED, or NAME=7; NAME@RANK=... for one rank
    #[arg(long = "arg", value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<DataArgument>,
    /// dynUBufSize of the launch, in bytes (default: the function's pto.dyn_ubuf_size)
    #[arg(long, value_name = "BYTES")]
    dyn_ub: Option<u64>,
    /// Draw A5's warp schedule from this seed instead of running warps in order
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// List every slot whose value depends on the schedule
    #[arg(long)]
    pub(crate) explore: bool,
    /// Skip the sanitizers: races, unwritten bytes, overwritten tiles, collisions
    #[arg(long)]
    no_sanitize: bool,
    /// Steps after which the run is ended, of all ranks together: one for each scalar operation, ten for a flag or an access, a
    /// hundred for an instruction and one more for every 16 elements that it moves; with --explore, 64 for each element
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
    /// What the arrays that were bound look like.
    arrays: Shapes,
    wall_ns: u128,
}

impl Ran {
    fn status(&self) -> &'static str {
        let errors = self.diagnostics.iter().any(Diagnostic::is_error);
        match &self.report {
            None => "rejected",
            Some(report) if report.status != Status::Ok || errors => "fault",
            Some(_) => "ok",
        }
    }
}

/// Set by Ctrl-C: the run ends at the next step and reports what it has.
static STOP: AtomicBool = AtomicBool::new(false);
static PROGRESS: OnceLock<ProgressBar> = OnceLock::new();
static BEGUN: OnceLock<Instant> = OnceLock::new();
/// A run of this length needs no bar.
const SHORT: Duration = Duration::from_millis(300);

pub(crate) fn run(arguments: &Arguments) -> Result<Verdict, CallError> {
    if let Some(ranks) = arguments.ranks {
        return ranks::run(arguments, ranks);
    }
    if let Some(one) = arguments.out.iter().find(|output| output.rank.is_some()) {
        return Err(one_rank("--out", &one.name));
    }
    let ran = carry_out(&arguments.file, &arguments.how, 0)?;
    if let (Some(path), Some(report)) = (&arguments.trace, &ran.report) {
        let trace = pto_sim::chrome_trace(std::slice::from_ref(report), |place| input::words(&ran.source, place));
        std::fs::write(path, trace.to_string())
            .map_err(|error| CallError::Unwritable { path: path.display().to_string(), error })?;
    }
    save_outputs(&arguments.out, &ran)?;
    print(arguments, &ran)
}

/// Prints a program that is not run.
pub(crate) fn print_rejected(arguments: &Arguments, prepared: Prepared) -> Result<Verdict, CallError> {
    print(arguments, &prepared.into_rejected())
}

fn print(arguments: &Arguments, ran: &Ran) -> Result<Verdict, CallError> {
    if arguments.json {
        let mut out = output::results();
        writeln!(out, "{}", to_json(ran, arguments.how.explore))?;
        out.flush()?;
    } else {
        output::diagnostics(&ran.source, &ran.diagnostics);
        let mut out = output::results();
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

impl How {
    pub(crate) fn levels(&self) -> Result<Levels, CallError> {
        self.levels.levels()
    }
}

/// A program that was read, checked and lowered.
pub(crate) struct Prepared {
    pub(crate) source: Source,
    pub(crate) target: Target,
    pub(crate) entry: String,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// `None` if the program was rejected.
    lowered: Option<Module>,
    pub(crate) started: Instant,
}

impl Prepared {
    /// The program and the function to run, unless it was rejected.
    pub(crate) fn lowered(&self) -> Result<Option<(&Module, &Function)>, CallError> {
        let Some(module) = &self.lowered else { return Ok(None) };
        Ok(Some((module, entry(module, Some(&self.entry))?)))
    }

    fn into_rejected(self) -> Ran {
        let Self { source, target, entry, diagnostics, started, .. } = self;
        let wall_ns = started.elapsed().as_nanos();
        Ran { source, target, entry, diagnostics, report: None, arrays: BTreeMap::new(), wall_ns }
    }
}

/// A rank is named where there is one only.
fn one_rank(option: &str, name: &str) -> CallError {
    CallError::Entry(format!("{option} {name}@...: this run has one rank; see --ranks"))
}

/// Reads, checks, lowers and simulates; an error is a call that cannot be carried out.
pub(crate) fn carry_out(file: &std::path::Path, how: &How, max_operations: usize) -> Result<Ran, CallError> {
    let prepared = prepare(file, how)?;
    let (bound, report) = match prepared.lowered()? {
        None => return Ok(prepared.into_rejected()),
        Some((module, function)) => {
            if let Some(one) = how.arguments.iter().find(|argument| argument.rank.is_some()) {
                return Err(one_rank("--arg", &one.name));
            }
            let (arrays, bound) = bind(module, function, &how.arguments)?;
            if how.explore {
                room(array_bytes(bound.values()).1, "a copy of the largest array, which --explore needs")?;
            }
            (arrays, simulate(module, function, prepared.target, bound, &options(how, max_operations)))
        }
    };
    end_progress();
    let Prepared { source, target, entry, mut diagnostics, started, .. } = prepared;
    let found = how.levels()?.apply(report.diagnostics.iter().cloned().map(Diagnostic::from).collect());
    let found = not_again(&diagnostics, found);
    diagnostics.extend(found);
    let wall_ns = started.elapsed().as_nanos();
    Ok(Ran { source, target, entry, diagnostics, report: Some(report), arrays: bound, wall_ns })
}

/// Without what the types showed before the run: the run need not say that again.
pub(crate) fn not_again(before: &[Diagnostic], mut found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    found.retain(|one| !before.iter().any(|known| (known.rule.name, known.span) == (one.rule.name, one.span)));
    found
}

/// Moves the bar, once a run has turned out to be a long one.
fn show_progress(progress: Progress) {
    if BEGUN.get().is_none_or(|begun| begun.elapsed() < SHORT) {
        return;
    }
    let bar = PROGRESS.get_or_init(output::share);
    bar.set_message(format!("{} instructions", HumanCount(progress.instructions)));
    bar.set_position((progress.share * 1000.0) as u64);
}

pub(crate) fn end_progress() {
    if let Some(bar) = PROGRESS.get() {
        bar.finish_and_clear();
    }
}

/// Reads, checks and lowers; an error is a call that cannot be carried out.
pub(crate) fn prepare(file: &std::path::Path, how: &How) -> Result<Prepared, CallError> {
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
    let prepared =
        |source, diagnostics, entry: String, lowered| Prepared { source, target, entry, diagnostics, lowered, started };
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(prepared(source, levels.apply(diagnostics), how.entry.clone().unwrap_or_default(), None));
    }
    let name = entry(&module, how.entry.as_deref())?.name.clone();
    diagnostics.extend(pto_ir::check(&module, target).into_iter().map(Diagnostic::from));
    diagnostics = levels.apply(diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(prepared(source, diagnostics, name, None));
    }
    match pto_ir::lower::lower(&module, target) {
        Ok(lowered) => Ok(prepared(source, diagnostics, name, Some(lowered))),
        Err(found) => {
            diagnostics.extend(found.into_iter().map(Diagnostic::from));
            Ok(prepared(source, diagnostics, name, None))
        }
    }
}

pub(crate) fn options(how: &How, max_operations: usize) -> Options<'static> {
    // A second Ctrl-C, or a handler that cannot be set, ends the program as usual.
    let _ = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    let progress: Option<fn(Progress)> = if std::io::stderr().is_terminal() {
        BEGUN.get_or_init(Instant::now);
        Some(show_progress)
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

/// Element type and shape of the arrays that parameters are bound to; their bytes are the run's.
pub(crate) type Shapes = BTreeMap<String, (DataType, Vec<u64>)>;

/// What parameters are bound to.
pub(crate) type Bound = (Shapes, BTreeMap<String, Argument>);

/// Loads what the parameters are bound to.
fn bind(module: &Module, function: &Function, given: &[DataArgument]) -> Result<Bound, CallError> {
    let (mut arrays, mut bound) = (BTreeMap::new(), BTreeMap::new());
    let parameters: Vec<_> = function.parameter_ids().map(|id| function.value(id)).collect();
    for id in function.parameter_ids() {
        let argument = given.iter().rev().find(|argument| *argument.name == *function.value(id).name);
        let (name, value) = bind_one(module, function, id, argument, &mut arrays)?;
        bound.insert(name, value);
    }
    if let Some(extra) = given.iter().find(|argument| !bound.contains_key(&argument.name)) {
        let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_ref()).collect();
        let message = format!("no parameter is called {:?}; there are: {}", extra.name, names.join(", "));
        return Err(CallError::Entry(message));
    }
    Ok((arrays, bound))
}

/// Loads what one parameter is bound to.
pub(crate) fn bind_one(
    module: &Module,
    function: &Function,
    id: ValueId,
    argument: Option<&DataArgument>,
    arrays: &mut Shapes,
) -> Result<(String, Argument), CallError> {
    let parameter = function.value(id);
    let (name, ty) = (parameter.name.to_string(), module.types.get(parameter.ty));
    let Some(argument) = argument else {
        return Err(CallError::Entry(format!("parameter `{name}: {ty}` is not bound: add --arg {name}=VALUE")));
    };
    let value = match ty {
        Type::Pointer(element) => array(argument, *element, arrays)?,
        Type::View(view) | Type::Group(GroupType { view, .. }) => array(argument, view.element, arrays)?,
        Type::Tile(tile) => array(argument, tile.element, arrays)?,
        Type::Scalar(element) => scalar(argument, *element)?,
        Type::Index | Type::Boolean => scalar(argument, ElementType::I64)?,
        Type::Event | Type::OfIndex(_) | Type::Opaque(_) => {
            return Err(CallError::Entry(format!("parameter `{name}: {ty}` cannot be bound to a value")));
        }
    };
    Ok((name, value))
}

fn array(argument: &DataArgument, element: ElementType, arrays: &mut Shapes) -> Result<Argument, CallError> {
    let loaded = argument.value.load_array(element).map_err(|error| of_argument(argument, &error))?;
    arrays.insert(argument.name.clone(), (loaded.data_type().clone(), loaded.shape().to_vec()));
    Ok(Argument::Array(loaded.into_bytes()))
}

/// Room for a copy of so many bytes, to be asked for where it can be refused.
pub(crate) fn room(bytes: usize, what: &str) -> Result<Vec<u8>, CallError> {
    let mut room = Vec::new();
    let refused = |_| CallError::Entry(format!("there is no memory for {bytes} bytes more, {what}"));
    room.try_reserve_exact(bytes).map_err(refused)?;
    Ok(room)
}

/// The bytes of the arrays among arguments, and of the largest.
pub(crate) fn array_bytes<'a>(arguments: impl Iterator<Item = &'a Argument>) -> (usize, usize) {
    let lengths = arguments.map(|argument| if let Argument::Array(bytes) = argument { bytes.len() } else { 0 });
    lengths.fold((0, 0), |(all, most), length| (length.saturating_add(all), length.max(most)))
}

/// An error that says which of the arguments it is about.
fn of_argument(argument: &DataArgument, error: &pto_data::DataError) -> CallError {
    CallError::Entry(format!("--arg {}: {error}", argument.name))
}

fn scalar(argument: &DataArgument, element: ElementType) -> Result<Argument, CallError> {
    let scalar = argument.value.load_scalar(element).map_err(|error| of_argument(argument, &error))?;
    let integer = scalar.integer().and_then(|value| i64::try_from(value).ok()).map(Argument::Integer);
    let float = || scalar.float().map(Argument::Float);
    integer.or_else(float).ok_or_else(|| CallError::Entry(format!("`{}` does not fit its parameter", argument.name)))
}

fn save_outputs(outputs: &[Output], ran: &Ran) -> Result<(), CallError> {
    let Some(report) = &ran.report else { return Ok(()) };
    let mut arrays = Vec::new();
    for output in outputs {
        arrays.push((&output.destination, after(&output.name, report, &ran.arrays)?));
    }
    let arrays: Vec<_> = arrays.iter().map(|(destination, array)| (*destination, array)).collect();
    Ok(pto_data::save(&arrays)?)
}

/// An array as the run left it.
pub(crate) fn after(name: &str, report: &Report, arrays: &Shapes) -> Result<Array, CallError> {
    let bytes = report.buffers.iter().find(|(known, _)| known == name).map(|(_, bytes)| bytes);
    let (Some(bytes), Some((data_type, shape))) = (bytes, arrays.get(name)) else {
        let names: Vec<&str> = report.buffers.iter().map(|(name, _)| name.as_str()).collect();
        let message = format!("no array is called {name:?}; there are: {}", names.join(", "));
        return Err(CallError::Entry(message));
    };
    let mut copy = room(bytes.len(), "a copy of what is written out")?;
    copy.extend_from_slice(bytes);
    Array::new(data_type.clone(), shape.clone(), copy).map_err(|error| CallError::Entry(error.to_string()))
}

fn explored(out: &mut impl Write, report: &Report) -> std::io::Result<()> {
    for slot in &report.nondeterministic {
        let (low, high) = (slot.candidates.first(), slot.candidates.last());
        let apart = low.zip(high).map_or(0.0, |(low, high)| high - low);
        let values: Vec<String> = slot.candidates.iter().map(f64::to_string).collect();
        let more = if slot.complete { "" } else { " or others" };
        writeln!(out, "  {}[{}]: {}{more} ({apart} apart)", slot.buffer, slot.index, values.join(" or "))?;
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
    match &ran.report {
        Some(report) => add_figures(&mut object, report, explore),
        None => add_nothing(&mut object, explore),
    }
    object
}

/// The figures of a report.
/// The figures of a program that was not run.
fn add_nothing(object: &mut Value, explore: bool) {
    object["cycles"] = json!({ "total": 0, "pipes": {} });
    object["instructions"] = json!(0);
    object["ub"] = json!({ "peak_bytes": 0, "limit_bytes": null });
    let lanes = ["written", "skipped", "clamped", "wrapped", "zeroed", "collisions"].map(|name| (name, 0));
    object["lanes"] = json!(BTreeMap::from(lanes));
    if explore {
        object["nondeterministic"] = json!([]);
    }
}

pub(crate) fn add_figures(object: &mut Value, report: &Report, explore: bool) {
    if report.status == Status::Interrupted {
        object["interrupted"] = true.into();
    }
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
        let slot = |slot: &pto_sim::Nondeterministic| json!({ "buffer": slot.buffer, "index": slot.index, "candidates": slot.candidates, "complete": slot.complete });
        object["nondeterministic"] = report.nondeterministic.iter().map(slot).collect();
    }
}
