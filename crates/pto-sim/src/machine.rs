//! The machine: a function with its arguments, the memories, the pipes, and everything a run keeps track of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use pto_exec::Schedule;
use pto_ir::{Diagnostic, Flag, Function, Module, Place, ViewType};
use pto_isa::{ElementType, Extent, Launch, Rule, Severity, Target, Tensor, TensorLayout, Tile};

use crate::code::Code;
use crate::collisions::Collisions;
use crate::device::{Device, Held, Passed, Span};
use crate::hazard::Shadow;
use crate::plans::Plans;
use crate::ranks::Peers;
use crate::report::{Lanes, Nondeterministic, Operation, Report, Residence, Status};
use crate::state::{Buffer, Value};
use crate::timing::Timing;
use crate::ub::Contents;
use crate::warps::{Simt, SimtLaunch};
use crate::work::Issued;

/// What a parameter of the function is bound to.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// The bytes of an array: for pointers and views the whole buffer, for tiles the valid region in row-major order.
    Array(Vec<u8>),
    /// A whole number.
    Integer(i64),
    /// A number.
    Float(f64),
}

/// How a program is run.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The order of A5's warps.
    pub schedule: Schedule,
    /// Look for races, reads of unwritten bytes, overwritten tiles and collisions.
    pub sanitize: bool,
    /// List every slot whose value depends on the schedule.
    pub explore: bool,
    /// `dynUBufSize` of the launch; the function's own attribute if `None`.
    pub dyn_ub: Option<u64>,
    /// This rank, where there are several; a collective is then checked for its caller.
    pub rank: Option<u64>,
    /// Number of ranks.
    pub ranks: u64,
    /// Steps after which a run is ended, those of all ranks together: one for each operation of the scalar unit; flags, accesses,
    /// instructions and what they move count as more, as they take longer to simulate.
    pub max_steps: u64,
    /// Gathers and scatters kept for pictures.
    pub max_operations: usize,
    /// Runs kept for the trace.
    pub max_spans: usize,
    /// Set from outside to end the run with a partial report.
    pub stop: Option<&'a AtomicBool>,
    /// Called now and then.
    pub progress: Option<fn(Progress)>,
}

/// How far a run has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Instructions executed.
    pub instructions: u64,
    /// Share of the outermost loop that is running, from 0 to 1; outside loops, of the program's text.
    pub share: f64,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            schedule: Schedule::InOrder,
            sanitize: true,
            explore: false,
            dyn_ub: None,
            rank: None,
            ranks: 1,
            max_steps: 500_000_000,
            max_operations: 0,
            max_spans: 100_000,
            stop: None,
            progress: None,
        }
    }
}

/// Runs a function of a program on a target.
///
/// On `a2a3` and `a5` tiles need addresses and instructions flags: lower the function first if it has none. The arrays
/// are worked on in place and come back in the report, which also holds whatever went wrong; there is no other failure.
pub fn simulate(
    module: &Module,
    function: &Function,
    target: Target,
    arguments: BTreeMap<String, Argument>,
    options: &Options<'_>,
) -> Report {
    let code = Code::new(function);
    let mut machine = Machine::new(module, function, &code, target, *options);
    if machine.bind(arguments) && machine.views_fit() {
        machine.run();
    }
    machine.finish()
}

pub(crate) struct Machine<'a> {
    pub(crate) module: &'a Module,
    pub(crate) function: &'a Function,
    pub(crate) code: &'a Code<'a>,
    pub(crate) target: Target,
    pub(crate) timing: Option<&'static Timing>,
    pub(crate) options: Options<'a>,
    pub(crate) values: Vec<Value>,
    pub(crate) buffers: Vec<Buffer>,
    pub(crate) ub: Vec<u8>,
    pub(crate) contents: Contents,
    pub(crate) ub_shadow: Shadow,
    pub(crate) device: Device,
    pub(crate) issued: BTreeMap<u64, Box<Issued>>,
    pub(crate) next: u64,
    pub(crate) plans: Plans,
    pub(crate) collisions: Collisions,
    /// Room for the slots of the next instruction.
    pub(crate) room: Vec<u64>,
    pub(crate) lanes: Lanes,
    pub(crate) instructions: u64,
    /// What counts against the limit.
    pub(crate) steps: u64,
    /// By buffer and element: what the last scatter there may have left, and whether that is all.
    pub(crate) nondeterministic: BTreeMap<(usize, u64), (Vec<f64>, bool)>,
    pub(crate) operations: Vec<Operation>,
    pub(crate) residences: BTreeMap<u32, Residence>,
    pub(crate) unflushed: Option<u32>,
    pub(crate) flushing: bool,
    pub(crate) stopped: bool,
    pub(crate) interrupted: bool,
    /// The other ranks, where there are any.
    pub(crate) peers: Option<Peers<'a>>,
    /// Where tiles without addresses go on targets without a UB.
    pub(crate) bump: u64,
    pub(crate) homes: BTreeMap<u32, u64>,
    /// Tile parameters that have no address yet, and what they hold.
    pub(crate) arriving: BTreeMap<u32, Vec<u8>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    said: BTreeSet<(&'static str, Place, Vec<Place>)>,
    /// One past the last byte of any tile that was placed.
    pub(crate) ub_peak: u64,
    /// Flags that were set again before anyone had waited, and where that was first.
    pub(crate) set_twice: BTreeMap<Flag, Place>,
    spans: Vec<Span>,
    launches: Vec<SimtLaunch>,
    /// The launch of the instruction that is being executed.
    pub(crate) simt: Option<Simt>,
    spans_dropped: u64,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(
        module: &'a Module,
        function: &'a Function,
        code: &'a Code<'a>,
        target: Target,
        options: Options<'a>,
    ) -> Self {
        let ub = target.profile().ub.map_or(0, |ub| ub.size as usize);
        Self {
            module,
            function,
            code,
            target,
            timing: Timing::of(target),
            options,
            values: vec![Value::Nothing; function.values.len()],
            buffers: Vec::new(),
            ub: vec![0; ub],
            contents: Contents::default(),
            ub_shadow: Shadow::default(),
            device: Device::new(options.max_spans),
            launches: Vec::new(),
            simt: None,
            issued: BTreeMap::new(),
            next: 0,
            plans: Plans::default(),
            collisions: Collisions::default(),
            room: Vec::new(),
            lanes: Lanes::default(),
            instructions: 0,
            steps: 0,
            nondeterministic: BTreeMap::new(),
            operations: Vec::new(),
            residences: BTreeMap::new(),
            unflushed: None,
            flushing: false,
            stopped: false,
            interrupted: false,
            peers: None,
            bump: 0,
            homes: BTreeMap::new(),
            arriving: BTreeMap::new(),
            diagnostics: Vec::new(),
            said: BTreeSet::new(),
            ub_peak: 0,
            set_twice: BTreeMap::new(),
            spans: Vec::new(),
            spans_dropped: 0,
        }
    }

    /// True on targets with pipes and a UB.
    pub(crate) fn is_device(&self) -> bool {
        self.timing.is_some()
    }

    pub(crate) fn place(&self, step: u32) -> Place {
        self.code.places.get(step as usize).copied().unwrap_or_default()
    }

    /// Reports a finding, once per place.
    pub(crate) fn say(&mut self, diagnostic: Diagnostic) {
        let labels = diagnostic.labels.iter().map(|(place, _)| *place).collect();
        if self.said.insert((diagnostic.rule.name, diagnostic.place, labels)) {
            self.tell(diagnostic);
        }
    }

    /// True if a finding without labels was reported for this place.
    pub(crate) fn has_said(&self, rule: &'static Rule, place: Place) -> bool {
        self.said.contains(&(rule.name, place, Vec::new()))
    }

    /// True if nothing was said of this pair of places yet.
    pub(crate) fn first_time(&mut self, rule: &'static Rule, place: Place, other: Place) -> bool {
        self.said.insert((rule.name, place, vec![other]))
    }

    /// Reports what is known to be new.
    pub(crate) fn tell(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic.on(self.target));
    }

    /// Reports an error that ends the run.
    pub(crate) fn trap(&mut self, rule: &'static Rule, step: u32, message: impl Into<String>) {
        let place = self.place(step);
        self.say(Diagnostic::new(rule, place, message));
        self.stopped = true;
    }

    pub(crate) fn span(&mut self, span: Span) {
        if self.spans.len() < self.options.max_spans {
            self.spans.push(span);
        } else {
            self.spans_dropped += 1;
        }
    }

    /// Keeps the launch that ran from `start` to `end`, while there is room in the trace.
    pub(crate) fn launched(&mut self, start: u64, end: u64, place: Place) {
        let (Some(simt), Some(timing)) = (self.simt.take(), self.timing) else { return };
        if self.launches.len() < self.options.max_spans / pto_exec::simt::MAX_WARPS as usize {
            self.launches.push(SimtLaunch { simt, timing, start, end, place });
        }
    }

    pub(crate) fn asked_to_stop(&self) -> bool {
        self.options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// The launch as the options or the function have it.
    pub(crate) fn launch(&self) -> Launch {
        Launch { dyn_ub: self.options.dyn_ub.or(self.function.launch.dyn_ub) }
    }

    /// Bytes of UB that tiles may take.
    pub(crate) fn ub_limit(&self) -> Option<u64> {
        self.launch().ub_limit(self.target)
    }

    /// What the first error says.
    pub(crate) fn first_error(&self) -> Option<String> {
        self.diagnostics.iter().find(|d| d.severity == Severity::Error).map(|d| d.message.clone())
    }

    pub(crate) fn finish(mut self) -> Report {
        let here = self.peers.as_ref().map(Peers::rank);
        let ours: Vec<bool> =
            (0..self.buffers.len()).map(|at| self.owner(at).is_none_or(|owner| Some(owner) == here)).collect();
        let errors = self.diagnostics.iter().any(|d| d.severity == Severity::Error);
        let busy = self.device.busy().filter(|(_, cycles)| *cycles > 0).collect();
        let passed = std::mem::take(&mut self.device.passed);
        let held = |passed: Passed| {
            let Passed { flag, set, waited, steps: (set_at, waited_at) } = passed;
            Held { flag, set, waited, set_at: self.place(set_at), waited_at: self.place(waited_at) }
        };
        let flags = passed.into_iter().map(held).collect();
        let slots = std::mem::take(&mut self.nondeterministic).into_iter();
        let nondeterministic = slots.map(|((buffer, index), (candidates, complete))| Nondeterministic {
            buffer: self.buffers[buffer].name.clone(),
            index,
            candidates,
            complete,
        });
        let nondeterministic = nondeterministic.collect();
        Report {
            status: match (errors, self.interrupted) {
                (true, _) => Status::Fault,
                (false, true) => Status::Interrupted,
                (false, false) => Status::Ok,
            },
            target: self.target,
            entry: self.function.name.clone(),
            cycles: if self.is_device() { self.device.total() } else { 0 },
            busy,
            instructions: self.instructions,
            ub_peak: self.ub_peak,
            ub_limit: self.ub_limit(),
            lanes: self.lanes,
            nondeterministic,
            operations: std::mem::take(&mut self.operations),
            residences: std::mem::take(&mut self.residences).into_values().collect(),
            spans: std::mem::take(&mut self.spans),
            launches: std::mem::take(&mut self.launches),
            flags,
            spans_dropped: self.spans_dropped,
            diagnostics: std::mem::take(&mut self.diagnostics),
            buffers: self
                .buffers
                .into_iter()
                .zip(ours)
                .filter(|(_, ours)| *ours)
                .map(|(buffer, _)| (buffer.name, buffer.bytes))
                .collect(),
        }
    }
}

/// The tile with run-time valid extents; the padded ones where nothing else is said.
pub(crate) fn with_known_valid(tile: Tile, rows: Option<u64>, cols: Option<u64>) -> Tile {
    tile.with_dynamic_valid(rows.unwrap_or(tile.rows), cols.unwrap_or(tile.cols))
}

/// The five-dimensional tensor of a view type with these extents, packed unless the type names strides.
pub(crate) fn packed_view(view: &ViewType, shape: &[u64]) -> Result<Tensor, String> {
    let mut strides = vec![1u64; shape.len()];
    for i in (0..shape.len().saturating_sub(1)).rev() {
        strides[i] = strides[i + 1].checked_mul(shape[i + 1]).ok_or("the strides of a view overflow")?;
    }
    if let Some(named) = &view.strides {
        for (stride, named) in strides.iter_mut().zip(named) {
            *stride = named.unwrap_or(*stride);
        }
    }
    five_dimensions(view.element, shape, &strides, view.layout.unwrap_or(TensorLayout::Nd))
}

/// A view's extents and strides as a five-dimensional tensor, leading dimensions 1.
pub(crate) fn five_dimensions(
    element: ElementType,
    shape: &[u64],
    strides: &[u64],
    layout: TensorLayout,
) -> Result<Tensor, String> {
    if shape.is_empty() || shape.len() > 5 || shape.len() != strides.len() {
        return Err(format!(
            "expected 1 to 5 extents and as many strides, found {} and {}",
            shape.len(),
            strides.len()
        ));
    }
    let lead = 5 - shape.len();
    let outer = shape[0].saturating_mul(strides[0]).max(1);
    let extent = |values: &[u64], i: usize, default: u64| {
        Extent::Dynamic(Some(if i < lead { default } else { values[i - lead] }))
    };
    let tensor = Tensor {
        element,
        shape: std::array::from_fn(|i| extent(shape, i, 1)),
        strides: std::array::from_fn(|i| extent(strides, i, outer)),
        layout,
    };
    let fits = tensor.span().and_then(|span| span.checked_mul(element.size())).is_some_and(|b| b < 1 << 62);
    if fits { Ok(tensor) } else { Err("the size of a view overflows".into()) }
}

/// A number of an element type, as bytes.
pub(crate) fn encode(element: ElementType, value: &Value) -> [u8; 8] {
    fn padded<const N: usize>(raw: [u8; N]) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..N].copy_from_slice(&raw);
        bytes
    }
    let (integer, float) = match value {
        Value::Integer(value) => (*value, *value as f64),
        Value::Float(value) => (*value as i64, *value),
        _ => (0, 0.0),
    };
    match element {
        ElementType::F16 => padded(half::f16::from_f64(float).to_le_bytes()),
        ElementType::BF16 => padded(half::bf16::from_f64(float).to_le_bytes()),
        ElementType::F32 => padded((float as f32).to_le_bytes()),
        ElementType::F64 => padded(float.to_le_bytes()),
        _ => integer.to_le_bytes(),
    }
}

/// A number of an element type, from bytes.
pub(crate) fn decode(element: ElementType, bytes: &[u8]) -> Value {
    let mut padded = [0; 8];
    padded[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(padded);
    match element {
        ElementType::I8 => Value::Integer(i64::from(bits as i8)),
        ElementType::I16 => Value::Integer(i64::from(bits as i16)),
        ElementType::I32 => Value::Integer(i64::from(bits as i32)),
        ElementType::F16 => Value::Float(half::f16::from_bits(bits as u16).to_f64()),
        ElementType::BF16 => Value::Float(half::bf16::from_bits(bits as u16).to_f64()),
        ElementType::F32 => Value::Float(f64::from(f32::from_bits(bits as u32))),
        ElementType::F64 => Value::Float(f64::from_bits(bits)),
        _ => Value::Integer(bits as i64),
    }
}
