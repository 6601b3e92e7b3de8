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
mod forms;
mod function;
mod hash;
mod instruction;
mod memory;
mod name;
mod scalar;
mod scope;
mod segments;
mod sync;
mod table;
mod tile;
mod types;

pub(crate) use scalar::PREDICATES;
pub use table::{operation_attributes, operation_names};
pub use types::type_at;

use std::collections::{HashMap, HashSet};

use pto_ir::check::rules as program;
use pto_ir::{Module, Op as IrOp, OpKind, Operand, Place, Region, Type, TypeId, Unknown, ValueId};

use crate::diagnostic::{Diagnostic, Label, cap, suggest};
use crate::lexer::Lexer;
use crate::parser::{MAX_DIAGNOSTICS, Parse};
use crate::rules;
use crate::span::Span;
use crate::syntax::{Kind, Node};
use crate::token::TokenKind;
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

/// Where the text could not be parsed, in its order, no two places overlapping.
fn error_spans(parsed: &Parse) -> Vec<Span> {
    let mut merged: Vec<Span> = Vec::new();
    for span in parsed.diagnostics.iter().filter(|found| found.is_error()).filter_map(|found| found.span) {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

/// Whether one of the errors, which stand in the order of the text, lies in or at a place.
fn touches(errors: &[Span], span: Span) -> bool {
    let first = errors.partition_point(|error| error.end < span.start);
    errors.get(first).is_some_and(|error| error.start <= span.end)
}

/// Whether a finding may only follow from what could not be parsed: a definition may be among that.
fn follows(found: &Diagnostic, errors: &[Span], defined: impl Fn(Span) -> bool) -> bool {
    let Some(span) = found.span else { return false };
    let near = touches(errors, Span::new(span.start.saturating_sub(1), span.end.saturating_add(1)));
    near || *found.rule == program::UNDEFINED && defined(span)
}

/// The values that a text seems to define, read or not: those before `=` or directly before `:`, alone or in a list.
fn defined_somewhere(text: &str) -> HashSet<&str> {
    let mut lexer = Lexer::new(text);
    let (mut defined, mut list, mut end) = (HashSet::new(), Vec::new(), 0);
    loop {
        let token = lexer.next_token();
        match token.kind {
            TokenKind::Value => list.push(&text[token.span.range()]),
            TokenKind::Comma | TokenKind::Int => {}
            TokenKind::Equal => defined.extend(list.drain(..)),
            // A use has a blank before its type.
            TokenKind::Colon if token.span.start == end => defined.extend(list.drain(..)),
            TokenKind::Eof => return defined,
            _ => list.clear(),
        }
        end = token.span.end;
    }
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

    // Findings.

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

    // Types and values.

    fn read_type(&mut self, node: Node<'t>) -> TypeId {
        let mut found = Vec::new();
        let Read { id, broken } = self.reader.read(&mut self.module.types, node, &mut found);
        self.wrong |= broken;
        self.errors += usize::from(broken);
        found.into_iter().for_each(|one| self.report(one));
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
            None => self.module.types.intern(Type::unknown()),
        };
        if self.foreign > 0 {
            // Nothing is known of what defines it.
        } else if self.fragment && gone.is_none() {
            self.free.push(Free { node: arg.node, ty: arg.ty });
        } else {
            let why = if gone.is_some() { "is not visible here: its region has ended" } else { "is not defined" };
            let mut found = Diagnostic::new(&program::UNDEFINED, format!("`{text}` {why}")).at(arg.node.span());
            if let Some(value) = gone {
                found = found.with_label(self.function.value(value).place.into(), "defined here, in an inner region");
            } else if text.len() > 3
                && self.kept[1] < MAX_DIAGNOSTICS
                && let Some(near) = suggest(text, self.scope.visible())
            {
                // Names of one letter are all near each other, and what is not shown needs no help.
                found = found.with_help(format!("did you mean `{near}`?"));
            }
            self.report(found);
        }
        // From here on the name stands for something, so that one mistake is reported once.
        let value = self.function.define(text.trim_start_matches('%'), ty, arg.node.span().into());
        if gone.is_none() {
            self.missing.insert(value, self.found.len().saturating_sub(1));
        }
        self.scope.assume(text, value);
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
        let Some(before) = self.scope.bind(text, value) else { return value };
        if let Some(said) = self.missing.get(&before) {
            // It was used above.
            if let Some(found) = self.found.get_mut(*said).filter(|found| *found.rule == program::UNDEFINED) {
                found.message = format!("`{text}` is used before it is defined");
                found.labels.push(Label { span: node.span(), message: "defined here".into() });
                found.help = None;
            }
        } else {
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
                Some(op) if matches!(op.name(), "func.func" | "module" | "builtin.module") => self.misplaced(op),
                Some(op) => self.operation(op),
                // The head of the first block repeats what the operation says.
                None if child.kind() == Kind::Block && at > 0 => {
                    let message = "expected one block in a region: jumps between blocks are not read";
                    let help = "write loops as `scf.for` and conditions as `scf.if`";
                    self.report(Diagnostic::new(&program::OP, message).at(child.span()).with_help(help));
                }
                None => {}
            }
        }
        self.scope.leave(mark);
        Region { ops: std::mem::replace(&mut self.ops, outer) }
    }

    /// A function or module where neither stands.
    fn misplaced(&mut self, op: Op<'t>) {
        // Where a bracket is missing, functions end up in each other, and that has been said.
        if self.unread.is_empty() {
            let message = format!("expected `{}` in a module, found it in a function", op.name());
            let help = "close the function before it with `}`, or move it out";
            self.report(Diagnostic::new(&rules::OPERATION, message).at(op.name_span()).with_help(help));
        }
    }

    fn operation(&mut self, op: Op<'t>) {
        let Some((row, suffixes)) = table::find(op.name()) else { return self.unknown(op) };
        let mut call = Call::read(op, suffixes);
        if call.regions.is_empty() && touches(self.unread, op.span()) {
            // Parts of it are missing, and that has been said.
            return self.define_rest(&call);
        }
        let before = self.errors;
        self.check_parts(&call, row);
        let sorted = if op.is_generic() { self.segments(&mut call, row.name) } else { Some(()) };
        let read = sorted.and_then(|()| (row.read)(self, &call));
        if read.is_some()
            && call.op.results().any(|(node, _)| !matches!(self.scope.find(node.text()), Found::Visible(_)))
        {
            self.malformed::<()>(&call, "expected no result, as it defines nothing");
        }
        match read {
            // What is wrong with it has been said: it is not judged further, unlike what stands in its regions.
            Some(kind) if self.errors > before && call.regions.is_empty() && !ends_region(&kind) => {
                self.define_rest(&call);
            }
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
                None => self.module.types.intern(Type::unknown()),
            };
            self.define(node, ty);
        }
        // What stands in its regions is read all the same.
        self.foreign_regions(call);
    }

    /// Reads the regions of an operation that is not understood: what is wrong in them by itself is said, and the
    /// operations outside the instruction set among theirs are kept by their names.
    fn foreign_regions(&mut self, call: &Call<'t>) {
        self.foreign += 1;
        for region in &call.regions {
            let arguments = control::block_arguments(Some(*region));
            let inner = self.region(Some(*region), |this| {
                for argument in arguments.iter().filter(|argument| argument.node.kind() == Kind::Value) {
                    let ty = match argument.ty {
                        Some(ty) => this.read_type(ty),
                        None => this.module.types.intern(Type::unknown()),
                    };
                    this.define(argument.node, ty);
                }
            });
            for op in inner.ops {
                if let OpKind::Unknown(unknown) = op.kind {
                    let unknown = Unknown { name: unknown.name, operands: Vec::new(), results: Vec::new() };
                    self.push(OpKind::Unknown(Box::new(unknown)), op.place);
                }
            }
        }
        self.foreign -= 1;
    }

    /// An operation outside the instruction set.
    fn unknown(&mut self, op: Op<'t>) {
        let call = Call::read(op, "");
        let groups = [call.ins, call.outs, call.direct].into_iter().flatten();
        let mut nodes = call.operands.clone();
        nodes.extend(groups.flat_map(|group| group.values()).filter(|node| node.kind() == Kind::Value));
        let operands = nodes.iter().map(|node| self.value(Arg { node: *node, ty: None })).collect();
        self.foreign_regions(&call);
        let mut results = Vec::new();
        let types = if call.result_types.is_empty() { &call.types } else { &call.result_types };
        for (at, (node, several)) in op.results().enumerate() {
            let ty = match types.get(at).or(types.last()) {
                Some(ty) => self.read_type(*ty),
                None => self.module.types.intern(Type::unknown()),
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
            let known = row.attributes.contains(&name) || table::STRUCTURAL.contains(&name);
            if !known && name.contains('.') || name == "overflowFlags" {
                self.leave_out(entry.node, "attribute", name);
            } else if !known {
                self.not_taken(call, entry.key, name, "attribute", row.attributes);
            }
        }
        self.locate(&call.locations);
        let takes = |what: &str| row.words.contains(&what) || row.words.contains(&"*");
        let parts = [("[", call.brackets.first().copied()), ("(", call.direct.map(|group| group.node()))];
        for (what, node) in parts.into_iter().chain([("{", call.regions.first().copied())]) {
            if let Some(node) = node.filter(|_| !takes(what)) {
                self.not_taken(call, node, &shorten(node.text()), "part", row.words);
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
                Kind::Generic if row.attributes.contains(&"overflowFlags") && term.text().starts_with("overflow<") => {
                    self.leave_out(*term, "hint", term.text());
                    continue;
                }
                Kind::Int if takes("0") => continue,
                _ if takes("*") => continue,
                _ => {
                    self.not_taken(call, *term, &shorten(term.text()), "part", row.words);
                    continue;
                }
            };
            if !row.words.contains(&word.text()) && !row.words.contains(&"*") {
                self.not_taken(call, word, word.text(), "keyword", row.words);
            }
        }
    }

    /// Takes note of something that a converted text leaves out.
    fn leave_out(&mut self, node: Node<'t>, what: &str, name: &str) {
        if self.dropped.len() < MAX_DIAGNOSTICS {
            let message = format!("a converted text leaves out the {what} `{}`", shorten(name));
            self.dropped.push(Diagnostic::new(&rules::DROPPED, message).at(node.span()));
        }
    }

    /// Counts locations.
    fn locate(&mut self, locations: &[Node<'t>]) {
        if let (0, Some(first)) = (self.locations.0, locations.first()) {
            self.locations.1 = first.span();
        }
        self.locations.0 += locations.len();
    }

    fn not_taken(&mut self, call: &Call<'t>, node: Node<'t>, name: &str, what: &str, known: &[&'static str]) {
        let message = format!("`{}` takes no {what} `{}`", call.op.name(), shorten(name));
        let mut found = Diagnostic::new(&rules::ATTRIBUTE, message).at(node.span());
        let named = || known.iter().copied().filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '@'));
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

/// Whether it ends a region, which has an end even if something is wrong with it.
fn ends_region(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Yield(_) | OpKind::Return(_))
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
