//! From syntax to a program: all four spellings become one representation.
//!
//! - `table`: every operation that is read, with the attributes and words it takes;
//! - `call`: an operation's parts, whichever spelling they are in;
//! - `instruction`, `memory`, `scalar`, `sync`, `comm`, `control`, `function`: what the parts mean;
//! - `types`, `tile`, `name`: types and enumerations;
//! - `scope`: names.
//!
//! Reported here is what only the text knows: names, types that disagree with the definition, attributes and words that
//! an operation does not take, operands too many or too few. Everything else about the program is judged on its
//! representation, by [`pto_ir::check()`].
//!
//! An operation outside the instruction set is kept by its name, operands and results, so that the check can name it.

mod call;
mod comm;
mod control;
mod function;
mod hash;
mod instruction;
mod memory;
mod name;
mod scalar;
mod scope;
mod sync;
mod table;
mod tile;
mod types;

pub(crate) use scalar::PREDICATES;
pub use table::{operation_attributes, operation_names};
pub use types::type_at;

use std::collections::HashMap;

use pto_ir::check::rules as program;
use pto_ir::{Module, Op as IrOp, OpKind, Operand, Place, Region, Type, TypeId, Unknown, ValueId};

use crate::diagnostic::{Diagnostic, suggest};
use crate::parser::{MAX_DIAGNOSTICS, Parse};
use crate::rules;
use crate::span::Span;
use crate::syntax::{Kind, Node};
use crate::view::{Aliases, Op, integer};
use call::{Arg, Call};
use scope::{Found, Scope};
use types::{Read, Refused, TypeReader};

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
    /// For each function, whether something in it could not be read or understood: checking it further would only
    /// repeat that.
    pub broken: Vec<bool>,
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
    let mut program = Elaborator::run(parsed, &[]);
    if !program.free.is_empty() {
        // A fragment without arguments: what it uses and does not define are its arguments.
        let free = std::mem::take(&mut program.free);
        program = Elaborator::run(parsed, &free);
    }
    let Elaborator { module, mut found, mut broken, spans, overflow, .. } = program;
    let errors: Vec<Span> =
        parsed.diagnostics.iter().filter(|found| found.is_error()).filter_map(|found| found.span).collect();
    if !errors.is_empty() {
        found.retain(|one| !follows(one, &errors));
        for (broken, span) in broken.iter_mut().zip(spans) {
            *broken |= errors.iter().any(|error| error.start <= span.end && span.start <= error.end);
        }
    }
    found.sort_by_key(|one| one.span.map_or(u32::MAX, |span| span.start));
    if overflow {
        let message = format!("only the first {MAX_DIAGNOSTICS} findings are shown");
        found.push(Diagnostic::new(&rules::TOO_MANY, message));
    }
    Program { module, diagnostics: found, broken }
}

/// Whether a finding may only follow from what could not be parsed: a definition may be among that.
fn follows(found: &Diagnostic, errors: &[Span]) -> bool {
    let near = |span: Span| errors.iter().any(|error| error.start <= span.end + 1 && span.start <= error.end + 1);
    *found.rule == program::UNDEFINED || found.span.is_some_and(near)
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
    /// The function being read.
    function: pto_ir::Function,
    scope: Scope<'t>,
    /// The operations of the region being read.
    ops: Vec<IrOp>,
    /// An error was found in the function being read.
    wrong: bool,
    /// The functions so far, and where they are defined.
    functions: HashMap<String, Span>,
    /// Defaults for functions that the module gives.
    dyn_ub: Option<u64>,
    /// Whether the text is a fragment without declared arguments, and what it leaves undefined.
    fragment: bool,
    free: Vec<Free<'t>>,
}

impl<'t> Elaborator<'t> {
    fn run(parsed: &'t Parse, arguments: &[Free<'t>]) -> Self {
        let mut elaborator = Self {
            reader: TypeReader::new(Aliases::of(&parsed.tree)),
            module: Module::default(),
            broken: Vec::new(),
            spans: Vec::new(),
            found: Vec::new(),
            overflow: false,
            function: function::empty(),
            scope: Scope::default(),
            ops: Vec::new(),
            wrong: false,
            functions: HashMap::new(),
            dyn_ub: None,
            fragment: false,
            free: Vec::new(),
        };
        elaborator.file(parsed.tree.root(), arguments);
        elaborator
    }

    // Findings.

    fn report(&mut self, found: Diagnostic) {
        self.wrong |= found.is_error();
        if self.found.len() < MAX_DIAGNOSTICS {
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
        self.report(Diagnostic::new(&rules::OPERANDS, message).at(call.op.name_span()));
        None
    }

    // Types and values.

    fn read_type(&mut self, node: Node<'t>) -> TypeId {
        let before = self.found.len();
        let Read { id, broken } = self.reader.read(&mut self.module.types, node, &mut self.found);
        self.wrong |= broken;
        if self.found.len() > MAX_DIAGNOSTICS {
            self.found.truncate(before);
            self.overflow = true;
        }
        id
    }

    fn ty(&self, id: TypeId) -> &Type {
        self.module.types.get(id)
    }

    fn type_of(&self, value: ValueId) -> &Type {
        self.ty(self.function.value(value).ty)
    }

    /// The value that a name stands for; a `%` name that nothing defines is reported once.
    fn value(&mut self, arg: Arg<'t>) -> ValueId {
        let text = arg.node.text();
        let (name, position) = match text.split_once('#') {
            Some((name, position)) => (name, position.parse::<u32>().unwrap_or(u32::MAX)),
            None => (text, 0),
        };
        let value = match self.scope.find(name) {
            Found::Visible(value) if position == 0 => value,
            Found::Visible(value) => match self.scope.position(value, position) {
                Some(value) => value,
                None => return self.undefined(arg, None),
            },
            Found::Gone(value) => return self.undefined(arg, Some(value)),
            Found::Nothing => return self.undefined(arg, None),
        };
        if let Some(ty) = arg.ty {
            self.agree(arg.node, value, ty);
        }
        value
    }

    fn undefined(&mut self, arg: Arg<'t>, gone: Option<ValueId>) -> ValueId {
        let text = arg.node.text();
        let ty = match arg.ty {
            Some(ty) => self.read_type(ty),
            None => self.module.types.intern(Type::Opaque("?".into())),
        };
        if self.fragment && gone.is_none() {
            self.free.push(Free { node: arg.node, ty: arg.ty });
        } else {
            let why = if gone.is_some() { "is not visible here: its region has ended" } else { "is not defined" };
            let mut found = Diagnostic::new(&program::UNDEFINED, format!("`{text}` {why}")).at(arg.node.span());
            if let Some(value) = gone {
                found = found.with_label(self.function.value(value).place.into(), "defined here, in an inner region");
            } else if let Some(near) = suggest(text, self.scope.visible()).filter(|_| text.len() > 3) {
                // Names of one letter are all near each other.
                found = found.with_help(format!("did you mean `{near}`?"));
            }
            self.report(found);
        }
        // From here on the name stands for something, so that one mistake is reported once.
        let value = self.function.define(text.trim_start_matches('%'), ty, arg.node.span().into());
        self.scope.bind(text, value);
        value
    }

    /// Reports a type that is not the one that the value was defined with.
    fn agree(&mut self, node: Node<'t>, value: ValueId, ty: Node<'t>) {
        let id = self.read_type(ty);
        let defined = self.function.value(value);
        if id == defined.ty || same_type(self.ty(id), self.ty(defined.ty)) {
            return;
        }
        // One type may stand for several operands; what is wrong with it is said once.
        if self.found.last().is_some_and(|last| *last.rule == rules::MISMATCH && last.span == Some(ty.span())) {
            return;
        }
        let (said, is) = (self.ty(id), self.ty(defined.ty));
        let message = format!("`{}` is used as {said}, but defined as {is}", node.text());
        let place = defined.place.into();
        self.report(Diagnostic::new(&rules::MISMATCH, message).at(ty.span()).with_label(place, "defined here"));
    }

    /// Defines the values of a result; `%r:2` stands for several.
    fn define(&mut self, node: Node<'t>, ty: TypeId) -> ValueId {
        let text = node.text();
        let value = self.function.define(text.trim_start_matches('%'), ty, node.span().into());
        if let Some(before) = self.scope.bind(text, value) {
            let place = self.function.value(before).place.into();
            let found = Diagnostic::new(&program::REDEFINED, format!("`{text}` is defined a second time"));
            self.report(found.at(node.span()).with_label(place, "first defined here"));
        }
        value
    }

    /// Defines the results of an operation, which has to have one for each type.
    fn results(&mut self, call: &Call<'t>, types: &[TypeId]) -> Option<Vec<ValueId>> {
        let named: usize = call.op.results().map(|(_, several)| several.max(1) as usize).sum();
        if named != types.len() {
            let message = format!("expected {}, found {named}", count(types.len(), "result"));
            return self.malformed(call, message);
        }
        let mut values = Vec::with_capacity(named);
        for (node, several) in call.op.results() {
            let first = self.define(node, types[values.len()]);
            values.push(first);
            for at in 1..several {
                let name = format!("{}_{at}", node.text().trim_start_matches('%'));
                values.push(self.function.define(name, types[values.len()], node.span().into()));
            }
            self.scope.pack(first, several);
        }
        Some(values)
    }

    /// Defines the only result of an operation.
    fn result(&mut self, call: &Call<'t>, ty: TypeId) -> Option<ValueId> {
        Some(self.results(call, &[ty])?[0])
    }

    /// The type behind `->`, else the one behind `:`, for an operation with one result.
    fn result_type(&mut self, call: &Call<'t>) -> Option<TypeId> {
        match call.result_types.first().or(call.types.last()) {
            Some(ty) => Some(self.read_type(*ty)),
            None => self.malformed(call, "expected the type of its result, found none"),
        }
    }

    /// A size, offset or address: a value or a number.
    fn operand(&mut self, node: Node<'t>) -> Option<Operand> {
        match node.kind() {
            Kind::Value => Some(Operand::Value(self.value(Arg { node, ty: None }))),
            _ => match integer(node).map(i64::try_from) {
                Some(Ok(number)) => Some(Operand::Number(number)),
                Some(Err(_)) => {
                    let message = format!("expected a number that fits 64 bits, found `{}`", node.text());
                    self.report(Diagnostic::new(&rules::NUMBER, message).at(node.span()));
                    None
                }
                None => {
                    let message = format!("expected a value or a number, found `{}`", shorten(node.text()));
                    self.report(Diagnostic::new(&rules::OPERANDS, message).at(node.span()));
                    None
                }
            },
        }
    }

    /// `[%a, 8]`.
    fn operand_list(&mut self, node: Node<'t>) -> Option<Vec<Operand>> {
        node.children().map(|term| self.operand(term)).collect()
    }

    // Operations.

    fn push(&mut self, kind: OpKind, place: impl Into<Place>) {
        self.ops.push(IrOp { kind, place: place.into() });
    }

    /// The operations of a region, in a scope of their own. `begin` defines what the region gets from outside.
    fn region(&mut self, region: Option<Node<'t>>, begin: impl FnOnce(&mut Self)) -> Region {
        let mark = self.scope.enter();
        begin(self);
        let outer = std::mem::take(&mut self.ops);
        for (at, child) in region.into_iter().flat_map(Node::children).enumerate() {
            match Op::cast(child) {
                Some(op) => self.operation(op),
                // The head of the first block repeats what the operation says.
                None if child.kind() == Kind::Block && at > 0 => {
                    let message = "expected one block in a region: jumps between blocks are not read";
                    self.report(Diagnostic::new(&program::OP, message).at(child.span()));
                }
                None => {}
            }
        }
        self.scope.leave(mark);
        Region { ops: std::mem::replace(&mut self.ops, outer) }
    }

    fn operation(&mut self, op: Op<'t>) {
        let Some((row, suffixes)) = table::find(op.name()) else { return self.unknown(op) };
        let call = Call::read(op, suffixes);
        self.check_parts(&call, row);
        match (row.read)(self, &call) {
            Some(kind) => self.push(kind, op.name_span()),
            None => self.define_rest(&call),
        }
    }

    /// Defines the results of an operation that was not understood, so that their uses are not reported too.
    fn define_rest(&mut self, call: &Call<'t>) {
        self.wrong = true;
        for (at, (node, _)) in call.op.results().enumerate() {
            if matches!(self.scope.find(node.text()), Found::Visible(_)) {
                continue;
            }
            let ty = match call.result_types.get(at) {
                Some(ty) => self.read_type(*ty),
                None => self.module.types.intern(Type::Opaque("?".into())),
            };
            self.define(node, ty);
        }
    }

    /// An operation outside the instruction set.
    fn unknown(&mut self, op: Op<'t>) {
        let call = Call::read(op, "");
        let groups = [call.ins, call.outs, call.direct].into_iter().flatten();
        let mut nodes = call.operands.clone();
        nodes.extend(groups.flat_map(|group| group.values()).filter(|node| node.kind() == Kind::Value));
        let operands = nodes.iter().map(|node| self.value(Arg { node: *node, ty: None })).collect();
        let mut results = Vec::new();
        let types = if call.result_types.is_empty() { &call.types } else { &call.result_types };
        for (at, (node, several)) in op.results().enumerate() {
            let ty = match types.get(at).or(types.last()) {
                Some(ty) => self.read_type(*ty),
                None => self.module.types.intern(Type::Opaque("?".into())),
            };
            let first = self.define(node, ty);
            results.push(first);
            // As many as there are types for; what else the count says nothing can be made of.
            for _ in 1..several.min(types.len() as u32) {
                results.push(self.function.define("", ty, node.span().into()));
            }
            self.scope.pack(first, several.clamp(1, types.len().max(1) as u32));
        }
        let unknown = Unknown { name: op.name().into(), operands, results };
        self.push(OpKind::Unknown(Box::new(unknown)), op.name_span());
    }

    /// Reports attributes, words and parts that an operation does not take: none of them is passed over in silence.
    fn check_parts(&mut self, call: &Call<'t>, row: &'static table::Row) {
        for entry in &call.attributes {
            let name = entry.name();
            let known = row.attributes.contains(&name) || name.contains('.') || table::STRUCTURAL.contains(&name);
            if !known {
                self.not_taken(call, entry.key, name, "attribute", row.attributes);
            }
        }
        for entry in &call.entries {
            if entry.key.kind() != Kind::Value && !row.words.contains(&entry.name()) {
                self.not_taken(call, entry.key, entry.name(), "operand", row.words);
            }
        }
        for term in &call.rest {
            let word = match term.kind() {
                Kind::Word => *term,
                Kind::Call => term.child(0).unwrap_or(*term),
                _ => continue,
            };
            if !row.words.contains(&word.text()) && !row.words.contains(&"*") {
                self.not_taken(call, word, word.text(), "keyword", row.words);
            }
        }
    }

    fn not_taken(&mut self, call: &Call<'t>, node: Node<'t>, name: &str, what: &str, known: &[&'static str]) {
        let message = format!("`{}` takes no {what} `{}`", call.op.name(), shorten(name));
        let mut found = Diagnostic::new(&rules::ATTRIBUTE, message).at(node.span());
        let named = || known.iter().copied().filter(|name| *name != "*");
        if let Some(near) = suggest(name, named()) {
            found = found.with_help(format!("did you mean `{near}`?"));
        } else if named().next().is_some() {
            found = found.with_help(format!("it takes {}", named().collect::<Vec<_>>().join(", ")));
        } else {
            found = found.with_help("remove it");
        }
        self.report(found);
    }
}

/// Whether two types of one value may stand side by side: tiles by what they are, views whatever they are called.
fn same_type(said: &Type, is: &Type) -> bool {
    match (said, is) {
        (Type::Group(said), Type::Group(is)) => {
            let ranks = said.ranks.is_none() || is.ranks.is_none() || said.ranks == is.ranks;
            ranks && same_type(&Type::View(said.view.clone()), &Type::View(is.view.clone()))
        }
        (Type::View(said), Type::View(is)) => {
            let layouts = said.layout.is_none() || is.layout.is_none() || said.layout == is.layout;
            let strides = said.strides.is_none() || is.strides.is_none() || said.strides == is.strides;
            let kinds = said.kind == is.kind || [said.kind, is.kind].contains(&pto_ir::ViewKind::MemRef);
            said.element == is.element && said.shape == is.shape && strides && layouts && kinds
        }
        // What an operation outside the instruction set defines has no type of ours.
        (_, Type::Opaque(_)) | (Type::Opaque(_), _) => true,
        _ => said == is,
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
