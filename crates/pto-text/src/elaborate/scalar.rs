//! Integer arithmetic and constants.

use pto_ir::{Arithmetic, Constant, Extend, OpKind, Predicate, Type, TypeId, ValueId};
use pto_isa::{ElementType, bf16, f16};

use super::call::{Arg, Call};
use super::{Elaborator, count, shorten};
use crate::diagnostic::{Diagnostic, suggest};
use crate::rules;
use crate::syntax::{Kind, Node};
use crate::view::integer;

/// The predicates of `arith.cmpi`, in the order of their numbers in the generic form.
pub(crate) const PREDICATES: [(&str, Predicate); 10] = [
    ("eq", Predicate::Eq),
    ("ne", Predicate::Ne),
    ("slt", Predicate::Slt),
    ("sle", Predicate::Sle),
    ("sgt", Predicate::Sgt),
    ("sge", Predicate::Sge),
    ("ult", Predicate::Ult),
    ("ule", Predicate::Ule),
    ("ugt", Predicate::Ugt),
    ("uge", Predicate::Uge),
];

impl<'t> Elaborator<'t> {
    /// Operands of one type: the one behind `:`, which may stand there once for all of them.
    fn operands<const N: usize>(&mut self, call: &Call<'t>) -> Option<[ValueId; N]> {
        if call.operands.len() != N {
            let message = format!("expected {}, found {}", count(N, "operand"), call.operands.len());
            return self.malformed(call, message);
        }
        let types = &call.types;
        let ty = |at: usize| if types.len() == N { Some(types[at]) } else { types.first().copied() };
        Some(std::array::from_fn(|at| self.value(Arg { node: call.operands[at], ty: ty(at) })))
    }

    pub(super) fn arithmetic(&mut self, call: &Call<'t>, op: Arithmetic) -> Option<OpKind> {
        let [lhs, rhs] = self.operands(call)?;
        let ty = self.result_or(call, lhs);
        let result = self.result(call, ty)?;
        Some(OpKind::Arithmetic { result, op, lhs, rhs })
    }

    /// The type of a result that is its operand's unless the text says so.
    fn result_or(&mut self, call: &Call<'t>, operand: ValueId) -> TypeId {
        match call.result_types.first() {
            Some(ty) => self.read_type(*ty),
            None => self.function.value(operand).ty,
        }
    }

    pub(super) fn compare(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let named = call.rest.iter().find(|term| term.kind() == Kind::Word);
        let numbered = call.attribute("predicate").and_then(|entry| entry.value);
        let by_name = named.map(|node| (*node, PREDICATES.iter().find(|(name, _)| *name == node.text())));
        let by_number = numbered.map(|node| {
            let number = integer(node).and_then(|number| usize::try_from(number).ok());
            (node, number.and_then(|number| PREDICATES.get(number)))
        });
        let predicate = match by_name.or(by_number) {
            Some((_, Some((_, predicate)))) => *predicate,
            Some((node, None)) => return self.unknown_predicate(node),
            None => return self.malformed(call, "expected a predicate such as `slt`, found none"),
        };
        let [lhs, rhs] = self.operands(call)?;
        let ty = self.module.types.intern(Type::Boolean);
        let result = self.result(call, ty)?;
        Some(OpKind::Compare { result, predicate, lhs, rhs })
    }

    fn unknown_predicate<T>(&mut self, node: Node<'t>) -> Option<T> {
        let names = PREDICATES.map(|(name, _)| name);
        let message = format!("expected a predicate, one of {}; found `{}`", names.join(", "), shorten(node.text()));
        let mut found = Diagnostic::new(&rules::ENUMERATOR, message).at(node.span());
        if let Some(near) = suggest(node.text(), names) {
            found = found.with_help(format!("did you mean `{near}`?"));
        }
        self.report(found);
        None
    }

    pub(super) fn select(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let [condition, then, otherwise] = call.operands[..] else {
            let message =
                format!("expected a condition and two values, found {}", count(call.operands.len(), "operand"));
            return self.malformed(call, message);
        };
        let ty = call.types.last().copied();
        let condition = self.value(Arg { node: condition, ty: None });
        let [then, otherwise] = [then, otherwise].map(|node| self.value(Arg { node, ty }));
        let ty = self.result_or(call, then);
        let result = self.result(call, ty)?;
        Some(OpKind::Select { result, condition, then, otherwise })
    }

    /// `arith.index_cast %n : i32 to index`.
    pub(super) fn cast(&mut self, call: &Call<'t>, extend: Extend) -> Option<OpKind> {
        let [value] = self.operands(call)?;
        let to = call.rest.iter().skip_while(|term| term.text() != "to").nth(1).or(call.result_types.first());
        let Some(to) = to else {
            return self.malformed(call, "expected the type to cast to, as in `: i32 to index`");
        };
        let ty = self.read_type(*to);
        let result = self.result(call, ty)?;
        Some(OpKind::Cast { result, value, extend })
    }

    /// `arith.constant 0 : index`, `.const %c = 0 : index`, and the generic form with `value = 0 : index`.
    pub(super) fn constant(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let entry = call.entries.first().filter(|entry| entry.key.kind() == Kind::Value);
        let property = call.attribute("value");
        let (literal, ty) = match (entry, property) {
            (Some(entry), _) => (entry.value, entry.ty.or(call.types.first().copied())),
            (None, Some(property)) => (property.value, property.ty.or(call.result_types.first().copied())),
            (None, None) => (call.rest.first().copied(), call.types.first().copied()),
        };
        let Some(literal) = literal else { return self.malformed(call, "expected a number, found none") };
        let value = self.literal(literal)?;
        let ty = match ty {
            Some(ty) => self.read_type(ty),
            None if matches!(literal.text(), "true" | "false") => self.module.types.intern(Type::Boolean),
            None => return self.malformed(call, "expected the type of the constant behind `:`, found none"),
        };
        // A whole number may stand for a float, a hexadecimal one for its bits.
        let value = match (value, self.ty(ty)) {
            (Constant::Integer(bits), Type::Scalar(element)) if literal.text().starts_with("0x") => {
                from_bits(bits as u64, *element).unwrap_or(value)
            }
            (Constant::Integer(value), Type::Scalar(element)) if !element.is_integer() => Constant::Float(value as f64),
            _ => value,
        };
        if let Constant::Integer(number) = value
            && let Some((low, high)) = self.bounds(ty)
            && integer(literal).is_some_and(|written| !(low..=high).contains(&written))
        {
            let message = format!("expected a number from {low} to {high} for {}, found {number}", self.ty(ty));
            let help = "write a number that the type holds, or give the constant a wider type";
            self.report(Diagnostic::new(&rules::NUMBER, message).at(literal.span()).with_help(help));
        }
        let result = match entry {
            Some(entry) => self.define(entry.key, ty),
            None => self.result(call, ty)?,
        };
        Some(OpKind::Constant { result, value })
    }

    /// The numbers that a type of at most 32 bits may be written as: a type without a sign takes both readings of its bits.
    fn bounds(&self, ty: TypeId) -> Option<(i128, i128)> {
        let element = match self.ty(ty) {
            Type::Boolean => return Some((-1, 1)),
            Type::Scalar(element) if element.is_integer() => *element,
            _ => return None,
        };
        let bits = 8 * element.size() as u32;
        let unsigned = matches!(element.class(), pto_isa::ElementClass::Unsigned);
        Some((if unsigned { 0 } else { -(1 << (bits - 1)) }, (1 << bits) - 1))
    }

    fn literal(&mut self, node: Node<'t>) -> Option<Constant> {
        match (node.kind(), node.text()) {
            (Kind::Word, "true") => Some(Constant::Integer(1)),
            (Kind::Word, "false") => Some(Constant::Integer(0)),
            (Kind::Float, text) => text.parse().ok().map(Constant::Float),
            (Kind::Int, text) => {
                let value = integer(node);
                // An unsigned 64-bit constant is kept as its bits.
                match value.and_then(|value| i64::try_from(value).ok().or(u64::try_from(value).ok().map(|v| v as i64)))
                {
                    Some(value) => Some(Constant::Integer(value)),
                    None => {
                        let message = format!("expected a number that fits 64 bits, found `{}`", shorten(text));
                        self.report(Diagnostic::new(&rules::NUMBER, message).at(node.span()));
                        None
                    }
                }
            }
            (_, text) => {
                let message = format!("expected a number, `true` or `false`, found `{}`", shorten(text));
                self.report(Diagnostic::new(&rules::OPERANDS, message).at(node.span()));
                None
            }
        }
    }
}

/// The float with these bits; `None` for types that are not computed with.
fn from_bits(bits: u64, element: ElementType) -> Option<Constant> {
    let value = match element {
        ElementType::F64 => f64::from_bits(bits),
        ElementType::F32 => f32::from_bits(bits as u32).into(),
        ElementType::F16 => f16::from_bits(bits as u16).into(),
        ElementType::BF16 => bf16::from_bits(bits as u16).into(),
        _ => return None,
    };
    Some(Constant::Float(value))
}
