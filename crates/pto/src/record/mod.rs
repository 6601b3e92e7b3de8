//! Kernels as programs: a function against a [`VectorCore`] is recorded, checked, and simulated on a device's pipes.
//!
//! A core that runs a kernel does one instruction after the other. A device does not: each pipe goes ahead as far as
//! flags let it. [`record()`] calls the same function with a core that notes down what it is given, and the
//! [`Recording`] is a program of [`pto_ir`]: [checked](Recording::check), [lowered](Recording::lower) and
//! [simulated](Recording::simulate) like one from text, except that places point into the kernel's Rust source.
//!
//! - **Order.** A kernel in which nothing waits is in auto mode: every flag that it needs is inserted. Once it names what
//!   it waits for, with [`after`](VectorCore::after) or by flags, or assigns an address to each of its tiles, it is in
//!   manual mode: nothing is added to what its author wrote, and a wait that is missing is found as a race, with both
//!   places.
//! - **Memory.** A tensor is a parameter, named by `named` or by order: `arg0`, `arg1`. Tensors over one slice
//!   are one parameter. Nothing is read or written while recording; what a run works on is bound to the parameters
//!   by [`Arguments`].
//! - **Control flow** is Rust's: a loop is recorded round by round, a branch as it was taken.
//!
//! ```
//! use pto::prelude::*;
//! use pto::record::{Arguments, Options, record};
//!
//! type Row8 = Shape<1, 1, 1, 1, 8>;
//!
//! fn copy<A: Arch>(core: &mut VectorCore<A>, to: &mut [i32], from: &[i32], wait: bool) -> Result<Event, pto::Error> {
//!     let mut to = GlobalTensor::<i32, Row8>::new(to)?.named("to");
//!     let from = GlobalRef::<i32, Row8>::new(from)?.named("from");
//!     let mut tile = Tile::<i32, 1, 8>::new();
//!     core.tassign(&mut tile, 0x100)?;
//!     let loaded = core.tload(&mut tile, &from)?;
//!     if wait {
//!         core.after([&loaded]);
//!     }
//!     core.tstore(&mut to, &tile)
//! }
//!
//! let (from, mut to) = ([7; 8], [0; 8]);
//! copy(&mut VectorCore::<A5>::new(), &mut to, &from, false)?; // runs; order is no matter
//!
//! let right = record::<A5, _>("copy", |core| copy(core, &mut to, &from, true))?;
//! let report = right.simulate(Arguments::new().with("from", &from).with_mut("to", &mut to), &Options::default());
//! assert!(report.diagnostics.is_empty());
//! assert_eq!(to, from);
//!
//! let wrong = record::<A5, _>("copy", |core| copy(core, &mut to, &from, false))?;
//! let report = wrong.simulate(Arguments::new().with("from", &from).with_mut("to", &mut to), &Options::default());
//! assert_eq!(report.diagnostics[0].rule.name, "race.ub");
//! # Ok::<(), pto::Error>(())
//! ```

mod arguments;
mod flags;
mod instructions;
mod recorder;
mod render;

use core::panic::Location;
use std::collections::BTreeMap;

use pto_ir::{Diagnostic, Function, LaunchAttributes, Module, Op, OpKind, Place, Region, Type, Value, ValueId};
use pto_isa::{Severity, Target};

pub use arguments::Arguments;
pub use pto_sim::{Argument, Options, Report, Status};
pub(crate) use recorder::Recorder;

use crate::arch::Arch;
use crate::error::Error;
use crate::vector_core::VectorCore;

/// Records a kernel: calls it once with a core that notes down what it is given.
///
/// # Errors
/// Those of the kernel, which fails where it would fail at once: a tile of another core, an address that is not
/// aligned. Two more are of recordings alone: tensors that overlap without beginning together, and more events pending
/// between two pipes than there are flags. What a rule of the instruction set says of an instruction is left to
/// [`Recording::check`].
///
/// ```
/// use pto::prelude::*;
/// let recording = pto::record::record::<A5, _>("clear", |core| {
///     let (mut dst, src) = (Tile::<i32, 1, 8>::new(), Tile::<i32, 1, 8>::new());
///     core.write(&src, &[0; 8])?;
///     core.tmov(&mut dst, &src)
/// })?;
/// assert_eq!(recording.module().functions[0].name, "clear");
/// # Ok::<(), pto::Error>(())
/// ```
#[track_caller]
pub fn record<A: Arch, R>(
    name: &str,
    kernel: impl FnOnce(&mut VectorCore<A>) -> Result<R, Error>,
) -> Result<Recording, Error> {
    let place = Location::caller();
    let mut core = VectorCore::<A>::recording(place);
    kernel(&mut core)?;
    match core.recorder {
        Some(recorder) => Recording::new(name, *recorder),
        // The core was made with a recorder, and nothing takes it out.
        None => Recording::new(name, Recorder::new(core.id, A::TARGET, A::LAUNCH, place)),
    }
}

/// A kernel as a program for one target.
///
/// ```
/// use pto::prelude::*;
/// let recording = pto::record::record::<A2A3, _>("nothing", |_| Ok(()))?;
/// assert!(recording.check().is_empty());
/// # Ok::<(), pto::Error>(())
/// ```
#[derive(Debug)]
pub struct Recording {
    module: Module,
    target: Target,
    locations: Vec<&'static Location<'static>>,
    /// What the host wrote into tiles, by the name of its parameter.
    values: BTreeMap<String, Vec<u8>>,
    manual: bool,
}

impl Recording {
    fn new(name: &str, recorder: Recorder) -> Result<Self, Error> {
        let ops = flags::with_flags(&recorder.steps, recorder.target).map_err(|(step, cause)| {
            let number = recorder.steps[step].op.place.start as usize;
            cause.at(recorder.locations[number])
        })?;
        let Recorder { target, launch, locations, mut types, parameters, mut values, manual, .. } = recorder;
        let host = parameters.iter().filter_map(|known| Some((known.name.clone(), known.values.clone()?))).collect();
        let first = parameters.len();
        let defined = parameters.into_iter().map(|known| Value {
            name: known.name.into(),
            ty: types.intern(Type::Pointer(known.element)),
            place: known.place,
        });
        let defined: Vec<Value> = defined.collect();
        values.splice(0..0, defined);
        let mut body = Region { ops };
        for op in &mut body.ops {
            behind(&mut op.kind, first as u32);
        }
        body.ops.push(Op { kind: OpKind::Return(Vec::new()), place: Place::new(0, 0) });
        let launch = LaunchAttributes { dyn_ub: launch.dyn_ub, ..LaunchAttributes::default() };
        let place = Place::new(0, 0);
        let function =
            Function { name: name.into(), launch, values, parameters: first, body, place, ..Function::default() };
        // Waits may all come to nothing; then the program has no flag to tell that nobody is to add any.
        let manual = manual || pto_ir::lower::is_manual(&function);
        let module = Module { target: Some(target), functions: vec![function], types, ..Module::default() };
        Ok(Self { module, target, locations, values: host, manual })
    }

    /// The program: one function.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let recording = pto::record::record::<Host, _>("k", |core| core.write(&Tile::<i32, 1, 8>::new(), &[1; 8]))?;
    /// assert_eq!(recording.module().functions[0].parameters, 1);
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// The calls that the places of the program point to: `start` of a place is a position in this list. The first is
    /// the call of [`record()`].
    ///
    /// ```
    /// let recording = pto::record::record::<pto::Host, _>("k", |_| Ok(()))?;
    /// assert_eq!(recording.locations()[0].line() + 1, line!());
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn locations(&self) -> &[&'static Location<'static>] {
        &self.locations
    }

    /// The call that a place of this program points to.
    ///
    /// ```
    /// let recording = pto::record::record::<pto::Host, _>("k", |_| Ok(()))?;
    /// let place = recording.module().functions[0].place;
    /// assert_eq!(recording.location(place).line() + 2, line!());
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn location(&self, place: Place) -> &'static Location<'static> {
        // There is always the first; a place of another program is nowhere better.
        self.locations.get(place.start as usize).unwrap_or(&self.locations[0])
    }

    /// True if the kernel orders its instructions by itself: it waits for events, has flags, or places all its tiles.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let recording = pto::record::record::<A5, _>("k", |core| {
    ///     core.set_flag(Pipe::V, Pipe::Mte3, 0);
    ///     Ok(core.wait_flag(Pipe::V, Pipe::Mte3, 0))
    /// })?;
    /// assert!(recording.is_manual());
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn is_manual(&self) -> bool {
        self.manual
    }

    /// What is wrong with the program and can be known before it runs.
    ///
    /// ```
    /// use pto::prelude::*;
    /// type Rows = Tile<f32, 8, 8, RowMajor, DYN, 8>;
    /// let recording = pto::record::record::<A5, _>("k", |core| {
    ///     let (mut dst, src) = (Rows::dynamic([9]), Rows::dynamic([9]));
    ///     core.tmov(&mut dst, &src)
    /// })?;
    /// assert_eq!(recording.check()[0].rule.name, "shape.valid-extent");
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn check(&self) -> Vec<Diagnostic> {
        pto_ir::check(&self.module, self.target)
    }

    /// The program with an address for each tile and, in auto mode, every flag and the flush that it needs.
    ///
    /// # Errors
    /// Those of [`check`](Self::check), or tiles that do not fit.
    ///
    /// ```
    /// use pto::prelude::*;
    /// use pto::ir::OpKind;
    /// let mut memory = [0i32; 8];
    /// let recording = pto::record::record::<A5, _>("k", |core| {
    ///     let tile = Tile::<i32, 1, 8>::new();
    ///     core.write(&tile, &[1; 8])?;
    ///     core.tstore(&mut GlobalTensor::<i32, Shape<1, 1, 1, 1, 8>>::new(&mut memory)?, &tile)
    /// })?;
    /// let lowered = recording.lower().unwrap();
    /// assert!(lowered.functions[0].body.ops.iter().any(|op| matches!(op.kind, OpKind::WaitFlag(_))));
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn lower(&self) -> Result<Module, Vec<Diagnostic>> {
        if !self.manual {
            return pto_ir::lower::lower(&self.module, self.target);
        }
        let mut errors = self.check();
        errors.retain(|found| found.severity == Severity::Error);
        if !errors.is_empty() {
            return Err(errors);
        }
        let mut lowered = self.module.clone();
        for function in &mut lowered.functions {
            *function = pto_ir::lower::place(function, &lowered.types, self.target)?;
        }
        Ok(lowered)
    }

    /// Runs the program on its target, on what is bound to its parameters; written slices hold the result afterwards.
    ///
    /// Whatever is wrong is in the report, errors of the check included; nothing runs then.
    ///
    /// ```
    /// use pto::prelude::*;
    /// use pto::record::{Arguments, Options, Status};
    /// let mut memory = [0i32; 8];
    /// let recording = pto::record::record::<A5, _>("k", |core| {
    ///     let tile = Tile::<i32, 1, 8>::new();
    ///     core.write(&tile, &[1; 8])?;
    ///     core.tstore(&mut GlobalTensor::<i32, Shape<1, 1, 1, 1, 8>>::new(&mut memory)?, &tile)
    /// })?;
    /// let report = recording.simulate(Arguments::new().with_mut("arg0", &mut memory), &Options::default());
    /// assert_eq!(report.status, Status::Ok);
    /// assert_eq!(memory, [1; 8]);
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn simulate(&self, arguments: Arguments<'_>, options: &Options<'_>) -> Report {
        let lowered = self.lower().and_then(|module| match arguments.misfits(&module) {
            misfits if misfits.is_empty() => Ok(module),
            misfits => Err(misfits),
        });
        let module = match lowered {
            Ok(module) => module,
            Err(errors) => return self.refused(errors, options),
        };
        let mut bound = arguments.bound();
        bound.extend(self.values.iter().map(|(name, bytes)| (name.clone(), Argument::Array(bytes.clone()))));
        let report = pto_sim::simulate(&module, &module.functions[0], self.target, bound, options);
        arguments.take_results(&report);
        report
    }

    /// The report of a program that did not run: that of an empty one, with the errors.
    fn refused(&self, diagnostics: Vec<Diagnostic>, options: &Options<'_>) -> Report {
        let name = self.module.functions[0].name.as_str();
        let module = pto_ir::FunctionBuilder::new(name).finish();
        let report = pto_sim::simulate(&module, &module.functions[0], self.target, BTreeMap::new(), options);
        Report { status: Status::Fault, diagnostics, ..report }
    }

    /// Findings as text, with the file, line and column of each call, and the line itself where the file is at hand.
    ///
    /// ```
    /// use pto::prelude::*;
    /// type Rows = Tile<f32, 8, 8, RowMajor, DYN, 8>;
    /// let recording = pto::record::record::<A5, _>("k", |core| {
    ///     let (mut dst, src) = (Rows::dynamic([9]), Rows::dynamic([9]));
    ///     core.tmov(&mut dst, &src)
    /// })?;
    /// let text = recording.render(&recording.check());
    /// assert!(text.contains(": error[shape.valid-extent]: "));
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn render(&self, diagnostics: &[Diagnostic]) -> String {
        render::render(diagnostics, |place| self.location(place))
    }
}

/// Moves the numbers of tiles and views behind those of the parameters; a pointer is a parameter already.
fn behind(kind: &mut OpKind, parameters: u32) {
    let values: [Option<&mut ValueId>; 3] = match kind {
        OpKind::MakeView { result, .. } | OpKind::AllocTile { result, .. } => [Some(result), None, None],
        OpKind::Assign { tile, .. } | OpKind::SetValidShape { tile, .. } => [Some(tile), None, None],
        OpKind::Load { src, dst } | OpKind::Store { src, dst } | OpKind::Move { src, dst } => {
            [Some(src), Some(dst), None]
        }
        OpKind::TScatterMask { dst, src, .. } => [Some(dst), Some(src), None],
        OpKind::MGather { dst, table, idx, .. } => [Some(dst), Some(table), Some(idx)],
        OpKind::MScatter { table, src, idx, .. } => [Some(table), Some(src), Some(idx)],
        OpKind::TScatter { dst, src, idx } => [Some(dst), Some(src), Some(idx)],
        // Flags, barriers and the return name no value; nothing else is recorded.
        _ => [None, None, None],
    };
    values.into_iter().flatten().for_each(|value| value.0 += parameters);
}
