//! Operations: those of the table by their row, others by their names, and parts that neither takes.

use pto_ir::check::rules as program;
use pto_ir::{Op as IrOp, OpKind, Place, Region, Type, Unknown};

use super::call::{Arg, Call};
use super::damage::touches;
use super::scope::Found;
use super::{Elaborator, control, shorten, table};
use crate::diagnostic::{Diagnostic, suggest};
use crate::parser::MAX_DIAGNOSTICS;
use crate::rules;
use crate::syntax::{Kind, Node};
use crate::view::Op;

impl<'t> Elaborator<'t> {
    pub(super) fn push(&mut self, kind: OpKind, place: impl Into<Place>) {
        self.ops.push(IrOp { kind, place: place.into() });
    }

    /// The operations of a region, in a scope of their own. `begin` defines what the region gets from outside.
    pub(super) fn region(&mut self, region: Option<Node<'t>>, begin: impl FnOnce(&mut Self)) -> Region {
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
    pub(super) fn misplaced(&mut self, op: Op<'t>) {
        // Where a bracket is missing, functions end up in each other, and that has been said.
        if self.unread.is_empty() {
            let message = format!("expected `{}` in a module, found it in a function", op.name());
            let help = "close the function before it with `}`, or move it out";
            self.report(Diagnostic::new(&rules::OPERATION, message).at(op.name_span()).with_help(help));
        }
    }

    pub(super) fn operation(&mut self, op: Op<'t>) {
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
    pub(super) fn define_rest(&mut self, call: &Call<'t>) {
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
    pub(super) fn foreign_regions(&mut self, call: &Call<'t>) {
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
    pub(super) fn unknown(&mut self, op: Op<'t>) {
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
    pub(super) fn check_parts(&mut self, call: &Call<'t>, row: &'static table::Row) {
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
    pub(super) fn leave_out(&mut self, node: Node<'t>, what: &str, name: &str) {
        if self.dropped.len() < MAX_DIAGNOSTICS {
            let message = format!("a converted text leaves out the {what} `{}`", shorten(name));
            self.dropped.push(Diagnostic::new(&rules::DROPPED, message).at(node.span()));
        }
    }

    /// Counts locations.
    pub(super) fn locate(&mut self, locations: &[Node<'t>]) {
        if let (0, Some(first)) = (self.locations.0, locations.first()) {
            self.locations.1 = first.span();
        }
        self.locations.0 += locations.len();
    }

    pub(super) fn not_taken(
        &mut self,
        call: &Call<'t>,
        node: Node<'t>,
        name: &str,
        what: &str,
        known: &[&'static str],
    ) {
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

/// Whether it ends a region, which has an end even if something is wrong with it.
fn ends_region(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Yield(_) | OpKind::Return(_))
}
