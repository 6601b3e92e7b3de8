//! The verifier: everything that is wrong with a program and can be known before it runs.
//!
//! What is checked, by file:
//! - here: every value is defined once and before its uses, in a region around them; regions end in what they must
//!   end in; operations outside the instruction set; nesting;
//! - `types`: kinds and types of operands and results, loop-carried and yielded values, constants of loop bounds;
//! - `ranges`: offsets in loops with constant bounds;
//! - `memory`: views, windows, tiles, plain transfers and scalar accesses, with constants folded;
//! - `instruction`: every rule of the instruction set ([`pto_isa::check()`]) for each MGATHER, MSCATTER, TSCATTER and
//!   collective, direct dispatch of SIMT instructions, flags;
//! - `placement`: tiles that share bytes while both are live, the unified buffer's budget over the whole function.
//!
//! What is not: index values, extents that only the run knows, order of accesses (races, flags that nobody waits
//! for), reads of memory that nobody wrote, whether the caller of a collective is its root. Those are left to the run,
//! not guessed.
//!
//! Promise: a program without errors can be lowered and run without a panic.

mod instruction;
mod memory;
mod placement;
mod ranges;
pub mod rules;
mod transfer;
mod types;

pub(crate) use instruction::lanes;
pub(crate) use placement::over_budget;
pub use rules::RULES;

use pto_isa::{Launch, Severity, Target};

use crate::facts::Facts;
use crate::{Diagnostic, Function, Module, NESTING, OpKind, Place, Region, Types, ValueId};

/// More errors than this in one function, and more of other findings, are not kept: nobody reads them, and a hostile
/// program would fill the memory with them.
pub const MOST_FINDINGS: usize = 10_000;

/// Checks a program for a target; errors, warnings and notes in program order, function by function.
///
/// ```
/// use pto_ir::{FunctionBuilder, OpKind, check};
/// use pto_isa::{ElementType::{F16, F32}, Target, Tile};
/// let mut build = FunctionBuilder::new("k");
/// let from = build.pointer("from", F16);
/// let from = build.view(from, &[8, 32]);
/// let tile = build.tile(Tile::new(F32, 8, 32));
/// build.push(OpKind::Load { src: from, dst: tile });
/// let found = check(&build.finish(), Target::A5);
/// assert_eq!(found[0].rule.name, "type.transfer");
/// ```
pub fn check(module: &Module, target: Target) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    if let Some(named) = module.target
        && named != target
    {
        let place = module.functions.first().map_or(Place::default(), |function| function.place);
        let message = format!("expected a program for {target}, found pto.target_arch = \"{named}\"");
        diagnostics.push(Diagnostic::new(&rules::TARGET_MISMATCH, place, message).on(target));
    }
    for function in &module.functions {
        diagnostics.append(&mut check_function(function, &module.types, target));
    }
    diagnostics
}

/// Checks one function for a target.
pub fn check_function(function: &Function, types: &Types, target: Target) -> Vec<Diagnostic> {
    check_read(function, types, target, Reading::Whole)
}

/// How much of a function is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// All of it.
    Whole,
    /// Operations are missing, because they could not be understood. What that may account for is not reported: values
    /// that nothing defines, tiles that share bytes.
    Part,
    /// Its text could not be parsed: nor is reported how its regions end.
    Torn,
}

/// Checks what is there of a function: operation by operation, as far as the values they work on are known.
pub fn check_read(function: &Function, types: &Types, target: Target, reading: Reading) -> Vec<Diagnostic> {
    let mut checker = Checker {
        function,
        types,
        target,
        launch: Launch { dyn_ub: function.launch.dyn_ub },
        facts: Facts::new(function, types),
        ranges: ranges::Ranges::default(),
        defined: vec![Definition::None; function.values.len()],
        scope: Vec::new(),
        diagnostics: Vec::new(),
        kept: [0; 2],
        assigned: placement::assigned(function),
        reading,
        well_formed: reading == Reading::Whole,
    };
    for parameter in function.parameter_ids() {
        checker.define(parameter, function.place);
        checker.parameter(parameter);
    }
    checker.results();
    checker.region(&function.body, &Ends::Function, 0);
    checker.launch();
    // Liveness presumes that values are defined where they are used.
    if checker.well_formed {
        checker.placement();
    }
    checker.diagnostics
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Definition {
    None,
    Visible,
    /// Defined in a region that has ended.
    Gone,
}

/// What the region that is walked has to end in.
enum Ends<'a> {
    Function,
    /// Values that a yield has to match, and what they are.
    Yield(&'a [ValueId], &'static str, Place),
}

struct Checker<'a> {
    function: &'a Function,
    types: &'a Types,
    target: Target,
    launch: Launch,
    facts: Facts<'a>,
    ranges: ranges::Ranges,
    defined: Vec<Definition>,
    /// The values that are visible now, in the order of their definition.
    scope: Vec<ValueId>,
    diagnostics: Vec<Diagnostic>,
    /// How many findings that are no errors, and how many that are.
    kept: [usize; 2],
    /// Tiles that a `tassign` gives an address, sorted; once for each time.
    assigned: Vec<ValueId>,
    reading: Reading,
    /// Everything was looked at, and no value is used that is not defined.
    well_formed: bool,
}

impl<'a> Checker<'a> {
    fn report(&mut self, diagnostic: Diagnostic) {
        // Errors and the rest are counted apart, so that no number of warnings hides an error.
        let kept = &mut self.kept[usize::from(diagnostic.rule.severity == Severity::Error)];
        if *kept <= MOST_FINDINGS {
            *kept += 1;
            self.diagnostics.push(diagnostic);
        }
    }

    /// Reports what only a whole function can be blamed for.
    fn report_whole(&mut self, diagnostic: Diagnostic) {
        if self.reading == Reading::Whole {
            self.report(diagnostic);
        }
    }

    /// Reports how a region ends, if that is known.
    fn report_end(&mut self, diagnostic: Diagnostic) {
        if self.reading != Reading::Torn {
            self.report(diagnostic);
        }
    }

    /// `%name`, or its number for a value without one.
    fn name(&self, value: ValueId) -> String {
        match self.function.values.get(value.0 as usize) {
            Some(found) if !found.name.is_empty() => format!("`%{}`", found.name),
            _ => format!("`%{}`", value.0),
        }
    }

    fn place_of(&self, value: ValueId) -> Option<Place> {
        self.function.values.get(value.0 as usize).map(|value| value.place)
    }

    /// A diagnostic with the definition of the value that it is about.
    fn about(&self, diagnostic: Diagnostic, value: ValueId) -> Diagnostic {
        match (self.place_of(value), self.facts.ty(value)) {
            (Some(place), Some(ty)) => {
                let message = format!("{} is defined here: {ty}", self.name(value));
                diagnostic.label(place, message)
            }
            _ => diagnostic,
        }
    }

    fn define(&mut self, value: ValueId, place: Place) {
        match self.defined.get(value.0 as usize) {
            Some(Definition::None) => {
                self.defined[value.0 as usize] = Definition::Visible;
                self.scope.push(value);
            }
            Some(_) => {
                let message = format!("{} is defined a second time", self.name(value));
                let diagnostic = self.about(Diagnostic::new(&rules::REDEFINED, place, message), value);
                self.well_formed = false;
                self.report_whole(diagnostic);
            }
            None => self.undefined(value, place),
        }
    }

    fn undefined(&mut self, value: ValueId, place: Place) {
        let gone = self.defined.get(value.0 as usize) == Some(&Definition::Gone);
        let why = if gone { "is not visible here: its region has ended" } else { "is used before it is defined" };
        let mut diagnostic = Diagnostic::new(&rules::UNDEFINED, place, format!("{} {why}", self.name(value)));
        if gone {
            diagnostic = self.about(diagnostic, value);
        }
        self.well_formed = false;
        self.report_whole(diagnostic);
    }

    /// Walks a region and forgets what it defined.
    fn region(&mut self, region: &'a Region, ends: &Ends<'_>, depth: usize) {
        let visible = self.scope.len();
        let mut ended = false;
        for op in &region.ops {
            if ended {
                let message = format!("{} follows the end of its region", op.kind.name());
                self.report_end(Diagnostic::new(&rules::TERMINATOR, op.place, message));
                // What follows was not looked at.
                self.well_formed = false;
                break;
            }
            let sound = self.uses(&op.kind, op.place);
            match &op.kind {
                OpKind::For(inner) => self.for_loop(inner, op.place, depth),
                OpKind::If(inner) => self.conditional(inner, op.place, depth),
                OpKind::Yield(values) => {
                    ended = true;
                    self.yields(values, ends, op.place);
                }
                OpKind::Return(values) => {
                    ended = true;
                    self.returns(values, ends, op.place);
                }
                kind => {
                    // An operation on values that are not there has nothing more to be said about.
                    let named = matches!(kind, OpKind::Unknown(_));
                    let typed = (sound || named) && self.operation(kind, op.place);
                    self.facts.apply(kind);
                    self.ranges.apply(kind, &self.facts);
                    if typed {
                        self.values(kind, op.place);
                    }
                }
            }
            op.kind.for_each_result(|result| self.define(result, op.place));
        }
        if let (false, Ends::Yield(expected, what, place)) = (ended, ends)
            && !expected.is_empty()
        {
            let message = format!("expected a yield of {} {what} at the end of the region, found none", expected.len());
            self.report_end(Diagnostic::new(&rules::YIELD, *place, message));
        }
        for value in self.scope.drain(visible..) {
            self.defined[value.0 as usize] = Definition::Gone;
        }
    }

    /// Whether everything that an operation uses is there.
    fn uses(&mut self, op: &OpKind, place: Place) -> bool {
        let mut missing = None;
        op.for_each_operand(|value| {
            if self.defined.get(value.0 as usize) != Some(&Definition::Visible) {
                missing = missing.or(Some(value));
            }
        });
        if let Some(value) = missing {
            self.undefined(value, place);
        }
        missing.is_none()
    }

    fn for_loop(&mut self, op: &'a crate::For, place: Place, depth: usize) {
        self.loop_types(op, place);
        if depth >= NESTING {
            return self.too_deep(place);
        }
        let outer = self.ranges.enter_loop(op, &self.facts);
        self.facts.enter_loop(op);
        let visible = self.scope.len();
        self.define(op.induction, place);
        let mut inner = Vec::with_capacity(op.carried.len());
        for carried in &op.carried {
            self.define(carried.inner, place);
            inner.push(carried.inner);
        }
        self.region(&op.body, &Ends::Yield(&inner, "carried values", place), depth + 1);
        for value in self.scope.drain(visible..) {
            self.defined[value.0 as usize] = Definition::Gone;
        }
        self.ranges.leave(&outer);
        self.facts.leave_loop(op);
    }

    fn conditional(&mut self, op: &'a crate::If, place: Place, depth: usize) {
        self.condition_type(op.condition, place);
        if depth >= NESTING {
            return self.too_deep(place);
        }
        let ends = Ends::Yield(&op.results, "results", place);
        let outer = self.ranges.enter_guarded();
        self.region(&op.then, &ends, depth + 1);
        self.region(&op.otherwise, &ends, depth + 1);
        self.ranges.leave(&outer);
        self.facts.join(op);
    }

    fn too_deep(&mut self, place: Place) {
        let message = format!("expected at most {NESTING} nested loops and conditionals");
        self.well_formed = false;
        self.report(Diagnostic::new(&rules::NESTING, place, message));
    }
}
