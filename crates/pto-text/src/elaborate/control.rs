//! Loops, conditionals and the ends of regions.

use pto_ir::{Carried, For, If, OpKind, TypeId, ValueId};

use super::Elaborator;
use super::call::{Arg, Call};
use super::comm::untyped;
use crate::syntax::{Kind, Node};
use crate::view::Arguments;

/// The parts of a loop: the values that it is given, and the names that its body gives them.
struct Header<'t> {
    bounds: [Node<'t>; 3],
    /// Name and type in the head of a block of the generic form, name alone elsewhere.
    induction: Arg<'t>,
    carried: Vec<(Arg<'t>, Node<'t>)>,
}

impl<'t> Elaborator<'t> {
    /// `%r = scf.for %i = %a to %b step %c iter_args(%x = %y) -> (T) { ... }`, and the generic form.
    pub(super) fn for_loop(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let Header { bounds, induction, carried } =
            if call.op.is_generic() { self.generic_loop(call)? } else { self.custom_loop(call)? };
        let ty = call.types.first().filter(|_| !call.op.is_generic()).copied();
        let [lower, upper, step] = bounds.map(|node| self.value(Arg { node, ty }));
        let initial: Vec<ValueId> = carried.iter().map(|(_, node)| self.value(untyped(*node))).collect();
        if !call.result_types.is_empty() && call.result_types.len() != carried.len() {
            let message = format!(
                "expected {} result types, one for each carried value, found {}",
                carried.len(),
                call.result_types.len()
            );
            return self.malformed(call, message);
        }
        let types: Vec<TypeId> = initial
            .iter()
            .enumerate()
            .map(|(at, value)| match call.result_types.get(at) {
                Some(ty) => self.read_type(*ty),
                None => self.function.value(*value).ty,
            })
            .collect();
        let induction_type = match induction.ty {
            Some(ty) => self.read_type(ty),
            None => self.function.value(lower).ty,
        };
        let mut entry = None;
        let body = self.region(call.regions.first().copied(), |this| {
            let first = this.define(induction.node, induction_type);
            let inner: Vec<ValueId> =
                carried.iter().zip(&types).map(|((arg, _), ty)| this.define(arg.node, *ty)).collect();
            entry = Some((first, inner));
        });
        let (induction, inner) = entry?;
        // A result that nobody names is still one.
        let results = if call.op.results().next().is_none() {
            types.iter().map(|ty| self.function.define("", *ty, call.op.name_span().into())).collect()
        } else {
            self.results(call, &types)?
        };
        let carried = initial.iter().zip(&inner).zip(&results);
        let carried =
            carried.map(|((initial, inner), result)| Carried { initial: *initial, inner: *inner, result: *result });
        let carried = carried.collect();
        Some(OpKind::For(Box::new(For { induction, lower, upper, step, carried, body })))
    }

    fn custom_loop(&mut self, call: &Call<'t>) -> Option<Header<'t>> {
        let (Some(entry), [upper, step]) = (call.entries.first(), &call.operands[..]) else {
            return self.malformed(call, "expected `%i = %first to %end step %step`");
        };
        let (Some(lower), Kind::Value) = (entry.value, entry.key.kind()) else {
            return self.malformed(call, "expected a value for the induction variable");
        };
        let mut carried = Vec::new();
        let arguments = call.rest.iter().find_map(|term| Arguments::of_call(*term, "iter_args"));
        for term in arguments.into_iter().flat_map(|arguments| arguments.node().children()) {
            match (term.kind(), term.child(0), term.child(1)) {
                (Kind::Entry, Some(name), Some(value)) => carried.push((untyped(name), value)),
                _ => return self.malformed(call, "expected `%inner = %initial` in `iter_args(...)`"),
            }
        }
        Some(Header { bounds: [lower, *upper, *step], induction: untyped(entry.key), carried })
    }

    fn generic_loop(&mut self, call: &Call<'t>) -> Option<Header<'t>> {
        let arguments = block_arguments(call.regions.first().copied());
        let ([lower, upper, step, initial @ ..], [induction, inner @ ..]) = (&call.operands[..], &arguments[..]) else {
            return self.malformed(call, "expected three bounds, and a block with the induction variable");
        };
        if initial.len() != inner.len() {
            let message = format!(
                "expected a block argument for each of {} carried values, found {}",
                initial.len(),
                inner.len()
            );
            return self.malformed(call, message);
        }
        let carried = inner.iter().copied().zip(initial.iter().copied()).collect();
        Some(Header { bounds: [*lower, *upper, *step], induction: *induction, carried })
    }

    /// `%r = scf.if %c -> (T) { ... } else { ... }`.
    pub(super) fn conditional(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let [condition] = call.operands[..] else {
            return self.malformed(call, format!("expected one condition, found {}", call.operands.len()));
        };
        let condition = self.value(untyped(condition));
        let types: Vec<TypeId> = call.result_types.iter().map(|ty| self.read_type(*ty)).collect();
        let then = self.region(call.regions.first().copied(), |_| {});
        let otherwise = self.region(call.regions.get(1).copied(), |_| {});
        let results = if call.op.results().next().is_none() {
            types.iter().map(|ty| self.function.define("", *ty, call.op.name_span().into())).collect()
        } else {
            self.results(call, &types)?
        };
        Some(OpKind::If(Box::new(If { condition, then, otherwise, results })))
    }

    pub(super) fn yield_(&mut self, call: &Call<'t>) -> Option<OpKind> {
        Some(OpKind::Yield(self.handed_out(call)?))
    }

    pub(super) fn return_(&mut self, call: &Call<'t>) -> Option<OpKind> {
        Some(OpKind::Return(self.handed_out(call)?))
    }

    fn handed_out(&mut self, call: &Call<'t>) -> Option<Vec<ValueId>> {
        if !call.types.is_empty() && call.types.len() != call.operands.len() {
            let message =
                format!("expected a type for each of {} values, found {}", call.operands.len(), call.types.len());
            // It ends its region all the same.
            self.malformed::<()>(call, message);
        }
        Some(call.typed_operands().into_iter().map(|arg| self.value(arg)).collect())
    }
}

/// The arguments in the head of a region's first block.
pub(super) fn block_arguments(region: Option<Node<'_>>) -> Vec<Arg<'_>> {
    let head = region.and_then(|region| region.child(0)).filter(|child| child.kind() == Kind::Block);
    let group =
        head.and_then(|head| head.child(0)).filter(|call| call.kind() == Kind::Call).and_then(|call| call.child(1));
    group.map_or_else(Vec::new, |group| {
        Arguments::of_group(group).parameters().map(|(node, ty)| Arg { node, ty }).collect()
    })
}
