//! Types and values: what names stand for, and what operations define.

use pto_ir::check::rules as program;
use pto_ir::{Operand, Type, TypeId, ValueId};

use super::call::{Arg, Call};
use super::scope::Found;
use super::types::Read;
use super::{Elaborator, Free, count, shorten};
use crate::diagnostic::{Diagnostic, Label, suggest};
use crate::parser::MAX_DIAGNOSTICS;
use crate::rules;
use crate::syntax::{Kind, Node};
use crate::view::integer;

impl<'t> Elaborator<'t> {
    pub(super) fn read_type(&mut self, node: Node<'t>) -> TypeId {
        let mut found = Vec::new();
        let Read { id, broken } = self.reader.read(&mut self.module.types, node, &mut found);
        self.wrong |= broken;
        self.errors += usize::from(broken);
        found.into_iter().for_each(|one| self.report(one));
        id
    }

    pub(super) fn ty(&self, id: TypeId) -> &Type {
        self.module.types.get(id)
    }

    pub(super) fn type_of(&self, value: ValueId) -> &Type {
        self.ty(self.function.value(value).ty)
    }

    /// The value that a name stands for; a `%` name that nothing defines is reported once.
    pub(super) fn value(&mut self, arg: Arg<'t>) -> ValueId {
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

    pub(super) fn undefined(&mut self, arg: Arg<'t>, gone: Option<ValueId>) -> ValueId {
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
    pub(super) fn agree(&mut self, node: Node<'t>, value: ValueId, ty: Node<'t>) {
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
    pub(super) fn define(&mut self, node: Node<'t>, ty: TypeId) -> ValueId {
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
    pub(super) fn results(&mut self, call: &Call<'t>, types: &[TypeId]) -> Option<Vec<ValueId>> {
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
    pub(super) fn result(&mut self, call: &Call<'t>, ty: TypeId) -> Option<ValueId> {
        Some(self.results(call, &[ty])?[0])
    }

    /// The type behind `->`, else the one behind `:`, for an operation with one result.
    pub(super) fn result_type(&mut self, call: &Call<'t>) -> Option<TypeId> {
        match call.result_types.first().or(call.types.last()) {
            Some(ty) => Some(self.read_type(*ty)),
            None => self.malformed(call, "expected the type of its result, found none"),
        }
    }

    /// A size, offset or address: a value or a number.
    pub(super) fn operand(&mut self, node: Node<'t>) -> Option<Operand> {
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
    pub(super) fn operand_list(&mut self, node: Node<'t>) -> Option<Vec<Operand>> {
        node.children().map(|term| self.operand(term)).collect()
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
        // Known by its spelling alone, of which a type may have several.
        (Type::OfIndex(_), Type::OfIndex(_)) => true,
        _ => said == is,
    }
}
