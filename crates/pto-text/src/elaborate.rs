//! From syntax to a program: all four spellings become one representation.
//!
//! - `table`: every operation that is read, with the attributes and words it takes;
//! - `call`: an operation's parts, whichever spelling they are in;
//! - `operation`: which parts an operation takes; `value`: what its names stand for;
//! - `instruction`, `memory`, `scalar`, `sync`, `comm`, `control`, `function`: what the parts mean;
//! - `types`, `tile`, `name`: types and enumerations;
//! - `scope`: names;
//! - `damage`: what only follows from text that could not be parsed.
//!
//! Reported here is what only the text knows: names, types that disagree with the definition, attributes and words that
//! an operation does not take, operands too many or too few. Everything else about the program is judged on its
//! representation, by [`pto_ir::check()`].
//!
//! An operation outside the instruction set is kept by its name, operands and results, so that the check can name it.

mod call;
mod comm;
mod control;
mod damage;
mod forms;
mod function;
mod hash;
mod instruction;
mod memory;
mod name;
mod operation;
mod scalar;
mod scope;
mod segments;
mod sync;
mod table;
mod tile;
mod types;
mod value;

pub(crate) use scalar::PREDICATES;
pub use table::{operation_attributes, operation_names};
pub use types::type_at;

use std::collections::{HashMap, HashSet};

use pto_ir::check::rules as program;
use pto_ir::{Module, Op as IrOp, Place, ValueId};

use crate::diagnostic::{Diagnostic, cap};
use crate::parser::{MAX_DIAGNOSTICS, Parse};
use crate::rules;
use crate::span::Span;
use crate::syntax::Node;
use crate::view::Aliases;
use call::Call;
use damage::{defined_somewhere, error_spans, follows, touches};
use scope::Scope;
use types::{Refused, TypeReader};

impl From<Span> for Place {
    fn from(span: Span) -> Self {
        Self::new(span.start, span.end)
    }
}

impl From<Place> for Span {
    fn from(place: Place) -> Self {
        Self::new(place.start, place.end)
    }
}

/// A program and what was found while it was read.
#[derive(Clone, Debug)]
pub struct Program {
    /// The program, with everything that could be understood.
    pub module: Module,
    /// The findings, in the order of the text; those of the parser are not among them.
    pub diagnostics: Vec<Diagnostic>,
    /// For each function, whether something in it could not be read or understood: only its other operations can be
    /// judged, each by itself.
    pub broken: Vec<bool>,
    /// For each function, whether it could not even be parsed as a whole: how its regions end is not known then.
    pub torn: Vec<bool>,
    /// What the text says besides to other tools, and a text written anew leaves out: warnings for whoever converts it.
    pub dropped: Vec<Diagnostic>,
}

impl Program {
    /// Whether the text was understood without an error; warnings do not count.
    pub fn is_clean(&self) -> bool {
        !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Makes a program of a text that was parsed.
///
/// With errors in the text, what could be read is still understood, and only findings that do not follow from those
/// errors are reported.
///
/// ```
/// use pto_text::{Source, elaborate, parse};
/// let parsed = parse(&Source::new("k.pto", "
///     .arg %m : !pto.memref<64x32xf32>
///     .arg %i : !pto.tile<8x32xi32>
///     %d = mgather.elem.clamp %m, %i : (!pto.memref<64x32xf32>, !pto.tile<8x32xi32>) -> !pto.tile<8x32xf32>"));
/// let program = elaborate(&parsed);
/// assert!(program.is_clean());
/// // The tile that the gather defines is allocated before it, and the function returns.
/// assert_eq!(program.module.functions[0].body.ops.len(), 3);
/// ```
pub fn elaborate(parsed: &Parse) -> Program {
    let errors = error_spans(parsed);
    let mut program = Elaborator::run(parsed, &errors, &[]);
    if !program.free.is_empty() {
        // A fragment without arguments: what it uses and does not define are its arguments.
        let free = std::mem::take(&mut program.free);
        program = Elaborator::run(parsed, &errors, &free);
    }
    let Elaborator { module, mut found, mut broken, spans, overflow, dropped, locations, .. } = program;
    let torn: Vec<bool> = spans.iter().map(|span| touches(&errors, *span)).collect();
    if !errors.is_empty() {
        broken.iter_mut().zip(&torn).for_each(|(broken, torn)| *broken |= torn);
        let defined = match found.iter().any(|one| *one.rule == program::UNDEFINED) {
            true => defined_somewhere(parsed.tree.source().text()),
            false => HashSet::new(),
        };
        let source = parsed.tree.source();
        found.retain(|one| !follows(one, &errors, |span| defined.contains(source.slice(span))));
    }
    found.sort_by_key(|one| one.span.map_or(u32::MAX, |span| span.start));
    if cap(&mut found) || overflow {
        let message = format!("only the first {MAX_DIAGNOSTICS} findings are shown");
        found.push(Diagnostic::new(&rules::TOO_MANY, message));
    }
    Program { module, diagnostics: found, broken, torn, dropped: left_out(dropped, locations) }
}

/// What a converted text leaves out; locations are counted, not listed.
fn left_out(mut dropped: Vec<Diagnostic>, locations: (usize, Span)) -> Vec<Diagnostic> {
    if let (number @ 1.., first) = locations {
        let message = format!("a converted text leaves out {}", count(number, "location"));
        dropped.push(Diagnostic::new(&rules::DROPPED, message).at(first));
    }
    dropped.sort_by_key(|one| one.span.map_or(u32::MAX, |span| span.start));
    dropped
}

/// A value that a fragment uses and nothing defines, with the type that it has there.
struct Free<'t> {
    node: Node<'t>,
    ty: Option<Node<'t>>,
}

struct Elaborator<'t> {
    reader: TypeReader<'t>,
    module: Module,
    broken: Vec<bool>,
    /// The whole text of each function.
    spans: Vec<Span>,
    found: Vec<Diagnostic>,
    overflow: bool,
    /// How many warnings are kept, and how many errors.
    kept: [usize; 2],
    /// How many errors there were, those that are not shown included.
    errors: usize,
    /// Where the text could not be parsed, in its order.
    unread: &'t [Span],
    /// Above 0 in the regions of operations outside the instruction set, which define values in ways of their own.
    foreign: u32,
    dropped: Vec<Diagnostic>,
    /// How many modules were met.
    modules: usize,
    /// How many locations there are, and where the first stands.
    locations: (usize, Span),
    /// The function being read.
    function: pto_ir::Function,
    scope: Scope<'t>,
    /// The operations of the region being read.
    ops: Vec<IrOp>,
    /// An error was found in the function being read.
    wrong: bool,
    /// Values that were used and that nothing had defined, by where that was said among the findings.
    missing: HashMap<ValueId, usize>,
    /// The functions so far, and where they are defined.
    functions: HashMap<String, Span>,
    /// Defaults for functions that the module gives.
    dyn_ub: Option<u64>,
    /// Whether the text is a fragment without declared arguments, and what it leaves undefined.
    fragment: bool,
    free: Vec<Free<'t>>,
}

impl<'t> Elaborator<'t> {
    fn run(parsed: &'t Parse, unread: &'t [Span], arguments: &[Free<'t>]) -> Self {
        let mut elaborator = Self {
            reader: TypeReader::new(Aliases::of(&parsed.tree)),
            module: Module::default(),
            broken: Vec::new(),
            spans: Vec::new(),
            found: Vec::new(),
            overflow: false,
            kept: [0; 2],
            errors: 0,
            unread,
            foreign: 0,
            dropped: Vec::new(),
            modules: 0,
            locations: (0, Span::default()),
            function: pto_ir::Function::default(),
            scope: Scope::default(),
            ops: Vec::new(),
            wrong: false,
            missing: HashMap::new(),
            functions: HashMap::new(),
            dyn_ub: None,
            fragment: false,
            free: Vec::new(),
        };
        elaborator.file(parsed.tree.root(), arguments);
        elaborator
    }

    fn report(&mut self, found: Diagnostic) {
        self.wrong |= found.is_error();
        self.errors += usize::from(found.is_error());
        // Errors and warnings are counted apart, so that no number of warnings hides an error.
        let kept = &mut self.kept[usize::from(found.is_error())];
        if *kept < MAX_DIAGNOSTICS {
            *kept += 1;
            self.found.push(found);
        } else {
            self.overflow = true;
        }
    }

    /// Takes what was read, or reports why it could not be.
    fn take<T>(&mut self, read: Result<T, Refused>) -> Option<T> {
        read.map_err(|found| self.report(*found)).ok()
    }

    /// Reports that an operation does not have the parts it needs.
    fn malformed<T>(&mut self, call: &Call<'t>, message: impl Into<String>) -> Option<T> {
        let message = format!("`{}`: {}", call.op.name(), message.into());
        let mut found = Diagnostic::new(&rules::OPERANDS, message).at(call.op.name_span());
        if let Some(form) = forms::form(call.op.name()) {
            found = found.with_help(format!("write it as `{form}`"));
        }
        self.report(found);
        None
    }
}

/// `1 operand`, `2 operands`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A text that may be long, for a message.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into(),
    }
}
