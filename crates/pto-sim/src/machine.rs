//! The machine: a function with its arguments, the memories, the pipes, and everything a run keeps track of.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use pto_exec::{Plan, Schedule};
use pto_ir::{Diagnostic, Flag, Function, Module, Place, Type, ValueId, ViewType};
use pto_isa::{ElementType, Extent, Launch, Rule, Severity, Target, Tensor, TensorLayout, Tile};

use crate::code::Code;
use crate::collisions::Collisions;
use crate::device::{Device, Held, Passed, Span};
use crate::hazard::Shadow;
use crate::ranks::Peers;
use crate::report::{Lanes, Nondeterministic, Operation, Report, Residence, Status};
use crate::rules;
use crate::state::{Buffer, TileState, Value, View, known};
use crate::timing::Timing;
use crate::ub::Contents;
use crate::warps::{MAX_WARPS, Simt, SimtLaunch};
use crate::work::{Issued, Refusal};

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
    /// Steps after which a run is ended.
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
    pub(crate) issued: BTreeMap<u64, Issued>,
    pub(crate) next: u64,
    /// The last plans of each step.
    pub(crate) plans: Vec<Vec<Plan>>,
    pub(crate) collisions: Collisions,
    /// Room for the slots of the next instruction.
    pub(crate) room: Vec<u64>,
    pub(crate) lanes: Lanes,
    pub(crate) instructions: u64,
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
    bump: u64,
    homes: BTreeMap<u32, u64>,
    /// Tile parameters that have no address yet, and what they hold.
    pub(crate) arriving: BTreeMap<u32, Vec<u8>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    said: BTreeSet<(&'static str, Place, Vec<Place>)>,
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
            plans: vec![Vec::new(); code.steps.len()],
            collisions: Collisions::default(),
            room: Vec::new(),
            lanes: Lanes::default(),
            instructions: 0,
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
        if self.launches.len() < self.options.max_spans / MAX_WARPS {
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

    /// Binds the parameters; false, with findings, if the arguments do not fit.
    fn bind(&mut self, mut arguments: BTreeMap<String, Argument>) -> bool {
        for id in self.function.parameter_ids() {
            let argument = arguments.remove(self.function.value(id).name.as_ref());
            self.bind_parameter(id, argument);
        }
        let names: Vec<&str> = self.function.parameter_ids().map(|id| self.function.value(id).name.as_ref()).collect();
        for name in arguments.keys() {
            let message = format!("expected one of the parameters {}, found an argument `{name}`", names.join(", "));
            self.say(Diagnostic::new(rules::LAUNCH_ARGUMENT, self.function.place, message));
        }
        self.first_error().is_none()
    }

    /// What the first error says.
    pub(crate) fn first_error(&self) -> Option<String> {
        self.diagnostics.iter().find(|d| d.severity == Severity::Error).map(|d| d.message.clone())
    }

    pub(crate) fn bind_parameter(&mut self, id: ValueId, argument: Option<Argument>) {
        let value = self.function.value(id);
        let name = value.name.to_string();
        let Some(argument) = argument else {
            let message = format!("expected an argument for parameter `{name}`, found none");
            return self.say(Diagnostic::new(rules::LAUNCH_ARGUMENT, value.place, message));
        };
        if let Err((rule, message)) = self.bind_one(id, &name, argument) {
            self.say(Diagnostic::new(rule, value.place, message));
        }
    }

    fn bind_one(&mut self, id: ValueId, name: &str, argument: Argument) -> Result<(), Refusal> {
        let unfit = |message: String| (rules::LAUNCH_ARGUMENT, message);
        let ty = self.module.types.get(self.function.value(id).ty).clone();
        let bound = match (&ty, argument) {
            (Type::Pointer(element), Argument::Array(bytes)) => {
                Value::Pointer { buffer: self.add_buffer(name, *element, bytes), offset: 0 }
            }
            (Type::View(view), Argument::Array(bytes)) => {
                let shape: Option<Vec<u64>> = view.shape.iter().copied().collect();
                let shape = shape
                    .ok_or_else(|| unfit("a view parameter with unknown extents cannot be bound to an array".into()))?;
                let tensor = packed_view(view, &shape).map_err(unfit)?;
                let needed = tensor.span().unwrap_or(u64::MAX).saturating_mul(view.element.size());
                let found = bytes.len();
                let buffer = self.add_buffer(name, view.element, bytes);
                if needed > found as u64 {
                    let message = format!("expected at least {needed} bytes for `{name}`, found {found}");
                    return Err((rules::BOUNDS_BUFFER, message));
                }
                Value::View(Box::new(View { buffer, offset: 0, tensor, rank: shape.len() }))
            }
            (Type::Tile(tile), Argument::Array(bytes)) => self.bind_tile(id, name, *tile, &bytes).map_err(unfit)?,
            (Type::Index | Type::Boolean, Argument::Integer(value)) => Value::Integer(value),
            (Type::Scalar(element), Argument::Integer(value)) if element.is_integer() => Value::Integer(value),
            (Type::Scalar(_), Argument::Integer(value)) => Value::Float(value as f64),
            (Type::Scalar(element), Argument::Float(value)) if !element.is_integer() => Value::Float(value),
            (Type::Group(_), _) => {
                return Err(unfit(format!("`{name}` is a group, which spans ranks: run the program on several")));
            }
            (ty, argument) => {
                let found = match argument {
                    Argument::Array(_) => "an array",
                    Argument::Integer(_) => "a whole number",
                    Argument::Float(_) => "a number",
                };
                return Err(unfit(format!("expected a value for `{name}: {ty}`, found {found}")));
            }
        };
        self.values[id.0 as usize] = bound;
        Ok(())
    }

    fn add_buffer(&mut self, name: &str, element: ElementType, bytes: Vec<u8>) -> usize {
        let length = bytes.len() as u64;
        let buffer = Buffer { name: name.into(), element, bytes, length, shadow: Shadow::default() };
        self.buffers.push(buffer);
        self.buffers.len() - 1
    }

    /// A tile parameter arrives loaded, its valid region from the array: at a place of its own, or where the program
    /// assigns it.
    fn bind_tile(&mut self, id: ValueId, name: &str, tile: Tile, bytes: &[u8]) -> Result<Value, String> {
        let tile = with_known_valid(tile, tile.valid_rows.known(), tile.valid_cols.known());
        let size = tile.element.size();
        let needed = known(tile.valid_rows).saturating_mul(known(tile.valid_cols)).saturating_mul(size);
        if needed != bytes.len() as u64 {
            return Err(format!("expected {needed} bytes for the valid region of `{name}`, found {}", bytes.len()));
        }
        if self.code.assigns(id) {
            self.arriving.insert(id.0, bytes.to_vec());
            return Ok(Value::Tile(Box::new(TileState { tile, owner: id.0 })));
        }
        let state = self.place_tile(id, tile, None);
        self.reserve(state.allocation().1);
        self.fill_tile(&state, bytes, 0)?;
        Ok(Value::Tile(Box::new(state)))
    }

    /// The valid region of a tile takes the elements of an array, in row-major order.
    pub(crate) fn fill_tile(&mut self, state: &TileState, bytes: &[u8], step: u32) -> Result<(), String> {
        let (tile, size) = (&state.tile, state.tile.element.size());
        let (base, cols) = (tile.address.unwrap_or(0), known(tile.valid_cols));
        for (lane, value) in bytes.chunks_exact(size as usize).enumerate() {
            let (row, col) = (lane as u64 / cols, lane as u64 % cols);
            let at = (base + tile.offset(row, col) * size) as usize;
            let room = self.ub.get_mut(at..at + size as usize).ok_or("a tile parameter does not fit into UB")?;
            room.copy_from_slice(value);
        }
        for (from, to) in state.valid_ranges() {
            self.contents.write(state.owner, from, to, step);
        }
        Ok(())
    }

    /// Gives a tile its place: the address named, or, where there is no UB to share, a place of its own.
    pub(crate) fn place_tile(&mut self, id: ValueId, mut tile: Tile, address: Option<u64>) -> TileState {
        tile.address = address.or_else(|| {
            let is_parameter = (id.0 as usize) < self.function.parameters;
            (!self.is_device() || is_parameter).then(|| {
                let bytes = tile.allocation().unwrap_or(0);
                let home = *self.homes.entry(id.0).or_insert(self.bump);
                self.bump = self.bump.max(home + bytes);
                home
            })
        });
        TileState { tile, owner: id.0 }
    }

    /// Makes room in UB where it has no fixed size.
    pub(crate) fn reserve(&mut self, end: u64) {
        if !self.is_device() && (self.ub.len() as u64) < end {
            self.ub.resize(end as usize, 0);
        }
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
            ub_peak: self.contents.peak,
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
