//! Kinds and types of operands and results.

use pto_isa::{ElementType, Rule};

use super::{Checker, Ends, rules};
use crate::{Constant, Diagnostic, For, OpKind, Operand, Place, Type, ValueId};

/// The kinds of value that operations ask for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tile,
    View,
    Pointer,
    /// A pointer or a view.
    Memory,
    Integer,
    Group,
}

impl Kind {
    fn fits(self, ty: &Type) -> bool {
        match self {
            Self::Tile => matches!(ty, Type::Tile(_)),
            Self::View => matches!(ty, Type::View(_)),
            Self::Pointer => matches!(ty, Type::Pointer(_)),
            Self::Memory => matches!(ty, Type::Pointer(_) | Type::View(_)),
            Self::Integer => ty.is_integer(),
            Self::Group => matches!(ty, Type::Group(_)),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tile => "a tile",
            Self::View => "a view of global memory",
            Self::Pointer => "a pointer",
            Self::Memory => "a pointer or a view of global memory",
            Self::Integer => "an integer",
            Self::Group => "a group",
        }
    }
}

impl<'a> Checker<'a> {
    /// Checks what kind of value an operand or result is; true if it is the right one.
    pub(super) fn expect(&mut self, op: &OpKind, role: &str, value: ValueId, kind: Kind, place: Place) -> bool {
        let Some(ty) = self.facts.ty(value) else { return false };
        if kind.fits(ty) {
            return true;
        }
        if ty.is_unknown() {
            // Whatever is wrong with it has been said where it is defined.
            return false;
        }
        let message = format!("`{role}` of {}: expected {}, found {}: {ty}", op.name(), kind.name(), ty.kind());
        let mut diagnostic = self.about(Diagnostic::new(&rules::OPERAND, place, message), value);
        if matches!(ty, Type::OfIndex(_)) {
            diagnostic = diagnostic.help("`index` has no width in memory: use elements of i32");
        }
        self.report(diagnostic);
        false
    }

    fn expect_integers(&mut self, op: &OpKind, role: &str, operands: &[Operand], place: Place) -> bool {
        let mut fits = true;
        for operand in operands {
            if let Operand::Value(value) = operand {
                fits &= self.expect(op, role, *value, Kind::Integer, place);
            }
        }
        fits
    }

    /// A signal is an integer.
    fn signal(&mut self, op: &OpKind, signal: ValueId, place: Place) -> bool {
        let Some(Type::View(view)) = self.facts.ty(signal) else { return true };
        if view.element.is_integer() {
            return true;
        }
        let message = format!("`signal` of {}: expected a view of integers, found {view}", op.name());
        let diagnostic = self.about(Diagnostic::new(&rules::OPERAND, place, message), signal);
        self.report(diagnostic);
        false
    }

    /// Checks kinds and types of an operation without regions; true if all fit, so that its values can be judged.
    pub(super) fn operation(&mut self, op: &'a OpKind, place: Place) -> bool {
        use Kind::{Group, Integer, Memory, Pointer, Tile, View};
        macro_rules! expect {
            ($role:literal, $value:expr, $kind:ident) => {
                self.expect(op, $role, $value, $kind, place)
            };
        }
        match op {
            OpKind::Constant { .. }
            | OpKind::Arithmetic { .. }
            | OpKind::Compare { .. }
            | OpKind::Select { .. }
            | OpKind::Cast { .. } => self.arithmetic(op, place),
            OpKind::Rank { result } | OpKind::Ranks { result } => expect!("result", *result, Integer),
            OpKind::MakeView { result, pointer, shape, strides, .. } => {
                expect!("pointer", *pointer, Pointer)
                    & expect!("result", *result, View)
                    & self.expect_integers(op, "shape", shape, place)
                    & self.expect_integers(op, "strides", strides, place)
            }
            OpKind::PartitionView { result, view, offsets, sizes } => {
                expect!("view", *view, View)
                    & expect!("result", *result, View)
                    & self.expect_integers(op, "offsets", offsets, place)
                    & self.expect_integers(op, "sizes", sizes, place)
            }
            OpKind::MakeGroup { result, members } => {
                let fits = members.iter().fold(expect!("result", *result, Group), |fits, member| {
                    fits & self.expect(op, "member", *member, View, place)
                });
                fits && self.group_size(*result, members.len(), place)
            }
            OpKind::AllocTile { result, address, valid_rows, valid_cols } => {
                let mut fits = expect!("result", *result, Tile);
                for operand in [address, valid_rows, valid_cols].into_iter().flatten() {
                    fits &= self.expect_integers(op, "operand", &[*operand], place);
                }
                fits
            }
            OpKind::Assign { tile, address } => {
                expect!("tile", *tile, Tile) & self.expect_integers(op, "address", &[*address], place)
            }
            OpKind::Subview { result, source, offsets, sizes } => {
                expect!("source", *source, Tile)
                    & expect!("result", *result, Tile)
                    & self.expect_integers(op, "offsets", offsets, place)
                    & self.expect_integers(op, "sizes", sizes, place)
            }
            OpKind::SetValidShape { tile, rows, cols } => {
                expect!("tile", *tile, Tile) & self.expect_integers(op, "extent", &[*rows, *cols], place)
            }
            OpKind::Load { src, dst } => expect!("src", *src, View) & expect!("dst", *dst, Tile),
            OpKind::Store { src, dst } => expect!("src", *src, Tile) & expect!("dst", *dst, View),
            OpKind::Move { src, dst } => expect!("src", *src, Tile) & expect!("dst", *dst, Tile),
            OpKind::LoadScalar { result, pointer, offset } => {
                expect!("pointer", *pointer, Memory)
                    && self.expect_integers(op, "offset", &[*offset], place)
                    && self.scalar(op, *pointer, *result, place)
            }
            OpKind::StoreScalar { pointer, offset, value } => {
                expect!("pointer", *pointer, Memory)
                    && self.expect_integers(op, "offset", &[*offset], place)
                    && self.scalar(op, *pointer, *value, place)
            }
            OpKind::GetValue { result: scalar, tile, offset } | OpKind::SetValue { value: scalar, tile, offset } => {
                expect!("tile", *tile, Tile)
                    && self.expect_integers(op, "offset", &[*offset], place)
                    && self.scalar(op, *tile, *scalar, place)
            }
            OpKind::MGather { dst, table, idx, .. } => {
                expect!("dst", *dst, Tile) & expect!("table", *table, View) & expect!("idx", *idx, Tile)
            }
            OpKind::MScatter { table, src, idx, .. } => {
                expect!("table", *table, View) & expect!("src", *src, Tile) & expect!("idx", *idx, Tile)
            }
            OpKind::TScatter { dst, src, idx } => {
                expect!("dst", *dst, Tile) & expect!("src", *src, Tile) & expect!("idx", *idx, Tile)
            }
            OpKind::TScatterMask { dst, src, .. } => expect!("dst", *dst, Tile) & expect!("src", *src, Tile),
            OpKind::Collective(call) => {
                let mut fits = expect!("local", call.local, View);
                let one_group =
                    matches!(call.group[..], [group] if matches!(self.facts.ty(group), Some(Type::Group(_))));
                for member in call.group.iter().filter(|_| !one_group) {
                    fits &= self.expect(op, "group", *member, View, place);
                }
                for tile in &call.staging {
                    fits &= self.expect(op, "staging", *tile, Tile, place);
                }
                fits & self.expect_integers(op, "root", &[call.root], place)
            }
            OpKind::Notify { signal, value, .. } | OpKind::Wait { signal, value, .. } => {
                expect!("signal", *signal, View) && expect!("value", *value, Integer) && self.signal(op, *signal, place)
            }
            OpKind::Unknown(unknown) => {
                let message = format!("`{}` is not part of this instruction set", unknown.name);
                self.report(Diagnostic::new(&rules::OP, place, message));
                false
            }
            OpKind::SetFlag(_)
            | OpKind::WaitFlag(_)
            | OpKind::RankBarrier
            | OpKind::Barrier(_)
            | OpKind::FlushCache
            | OpKind::DataBarrier
            | OpKind::For(_)
            | OpKind::If(_)
            | OpKind::Yield(_)
            | OpKind::Return(_) => true,
        }
    }

    /// A group has as many members as its type says.
    fn group_size(&mut self, group: ValueId, members: usize, place: Place) -> bool {
        let Some(Type::Group(crate::GroupType { ranks: Some(ranks), .. })) = self.facts.ty(group) else { return true };
        if u64::try_from(members) == Ok(*ranks) {
            return true;
        }
        let message = format!("expected {ranks} members as in the type of {}, found {members}", self.name(group));
        self.report(Diagnostic::new(&rules::VIEW, place, message));
        false
    }

    /// A scalar that is moved to or from memory has the element type; texts write signless integers for both signs.
    fn scalar(&mut self, op: &OpKind, memory: ValueId, scalar: ValueId, place: Place) -> bool {
        let element = match self.facts.ty(memory) {
            Some(Type::Pointer(element)) => *element,
            Some(Type::View(view)) => view.element,
            Some(Type::Tile(tile)) => tile.element,
            _ => return false,
        };
        let fits = |found: ElementType| {
            found == element || (found.is_integer() && element.is_integer() && found.size() == element.size())
        };
        match self.facts.ty(scalar) {
            Some(Type::Scalar(found)) if fits(*found) => true,
            Some(ty) if ty.is_unknown() => false,
            Some(ty) => {
                let message = format!("{}: expected a scalar of type {element}, found {ty}", op.name());
                let diagnostic = self.about(Diagnostic::new(&rules::OPERAND, place, message), scalar);
                self.report(diagnostic);
                false
            }
            None => false,
        }
    }

    fn mismatch(&mut self, rule: &'static Rule, place: Place, expected: &str, values: &[ValueId]) -> bool {
        if values.iter().any(|value| self.facts.ty(*value).is_some_and(Type::is_unknown)) {
            return false;
        }
        let found: Vec<String> = values
            .iter()
            .filter_map(|value| Some(format!("{} of {}", self.name(*value), self.facts.ty(*value)?)))
            .collect();
        let message = format!("expected {expected}, found {}", found.join(", "));
        self.report(Diagnostic::new(rule, place, message));
        false
    }

    /// True if all values have one type.
    fn one_type(&self, values: &[ValueId]) -> bool {
        let mut types =
            values.iter().filter_map(|value| self.function.values.get(value.0 as usize)).map(|value| value.ty);
        let first = types.next();
        types.all(|ty| Some(ty) == first)
    }

    fn is_integer(&self, value: ValueId) -> bool {
        self.facts.ty(value).is_some_and(Type::is_integer)
    }

    fn arithmetic(&mut self, op: &OpKind, place: Place) -> bool {
        match op {
            OpKind::Constant { result, value } => match (value, self.facts.ty(*result)) {
                (Constant::Integer(_), Some(ty)) if ty.is_integer() => true,
                (Constant::Float(_), Some(Type::Scalar(element))) if !element.is_integer() => true,
                (_, Some(ty)) if ty.is_unknown() => false,
                (value, Some(ty)) => {
                    let written = match value {
                        Constant::Integer(_) => "an integer",
                        Constant::Float(_) => "a number with a fraction",
                    };
                    let message = format!("expected a constant of type {ty}, found {written}");
                    let help = "write the constant as its type wants it, or change the type";
                    self.report(Diagnostic::new(&rules::ARITHMETIC, place, message).help(help));
                    false
                }
                (_, None) => false,
            },
            OpKind::Arithmetic { result, lhs, rhs, .. } => {
                (self.one_type(&[*lhs, *rhs, *result]) && self.is_integer(*lhs))
                    || self.mismatch(&rules::ARITHMETIC, place, "one integer type throughout", &[*lhs, *rhs, *result])
            }
            OpKind::Compare { result, lhs, rhs, .. } => {
                let boolean = self.facts.ty(*result) == Some(&Type::Boolean);
                (boolean && self.one_type(&[*lhs, *rhs]) && self.is_integer(*lhs)) || {
                    let expected = "two integers of one type and a result of type i1";
                    self.mismatch(&rules::ARITHMETIC, place, expected, &[*lhs, *rhs, *result])
                }
            }
            OpKind::Select { result, condition, then, otherwise } => {
                let boolean = self.facts.ty(*condition) == Some(&Type::Boolean);
                (boolean && self.one_type(&[*then, *otherwise, *result])) || {
                    let expected = "a condition of type i1 and two values of the result's type";
                    self.mismatch(&rules::ARITHMETIC, place, expected, &[*condition, *then, *otherwise, *result])
                }
            }
            OpKind::Cast { result, value, .. } => {
                (self.is_integer(*result) && self.is_integer(*value))
                    || self.mismatch(&rules::ARITHMETIC, place, "a cast between integer types", &[*value, *result])
            }
            _ => true,
        }
    }

    pub(super) fn condition_type(&mut self, condition: ValueId, place: Place) {
        if self.facts.ty(condition).is_some_and(|ty| *ty != Type::Boolean) {
            self.mismatch(&rules::ARITHMETIC, place, "a condition of type i1", &[condition]);
        }
    }

    pub(super) fn loop_types(&mut self, op: &For, place: Place) {
        let bounds = [op.induction, op.lower, op.upper, op.step];
        if !(self.one_type(&bounds) && self.is_integer(op.induction)) {
            self.mismatch(&rules::LOOP, place, "bounds and step of the induction variable's integer type", &bounds);
        }
        for carried in &op.carried {
            let values = [carried.initial, carried.inner, carried.result];
            if !self.one_type(&values) {
                self.mismatch(&rules::LOOP, place, "one type for a carried value", &values);
            }
        }
        if let Some(step) = self.facts.integer(op.step)
            && step <= 0
        {
            let diagnostic = Diagnostic::new(&rules::STEP, place, format!("expected a positive step, found {step}"));
            let diagnostic = self.about(diagnostic, op.step);
            self.report(diagnostic);
        }
    }

    pub(super) fn yields(&mut self, values: &[ValueId], ends: &Ends<'_>, place: Place) {
        let Ends::Yield(expected, what, owner) = ends else {
            let message = "scf.yield ends the region of a loop or conditional, not a function";
            return self.report_end(Diagnostic::new(&rules::TERMINATOR, place, message));
        };
        if values.len() != expected.len() {
            let message = format!(
                "expected {} yielded values, one for each of the {what}, found {}",
                expected.len(),
                values.len()
            );
            return self.report(Diagnostic::new(&rules::YIELD, place, message).label(*owner, "of this operation"));
        }
        for (value, expected) in values.iter().zip(*expected) {
            if !self.one_type(&[*value, *expected]) {
                let (Some(found), Some(wanted)) = (self.facts.ty(*value), self.facts.ty(*expected)) else { continue };
                if found.is_unknown() || wanted.is_unknown() {
                    continue;
                }
                let message = format!("expected a yielded value of {wanted}, found {} of {found}", self.name(*value));
                self.report(Diagnostic::new(&rules::YIELD, place, message).label(*owner, "of this operation"));
            }
        }
    }

    /// What the function says it returns.
    pub(super) fn results(&mut self) {
        let results = &self.function.results;
        if results.is_empty() {
            return;
        }
        let types: Vec<String> = results.iter().map(|ty| self.types.get(*ty).to_string()).collect();
        let message =
            format!("expected a function without results, found @{} -> ({})", self.function.name, types.join(", "));
        self.report(Diagnostic::new(&rules::RETURN, self.function.place, message));
    }

    pub(super) fn returns(&mut self, values: &[ValueId], ends: &Ends<'_>, place: Place) {
        if !matches!(ends, Ends::Function) {
            let message = "return ends a function, not the region of a loop or conditional";
            self.report_end(Diagnostic::new(&rules::TERMINATOR, place, message));
        } else if values.len() > self.function.results.len() {
            let message = format!("expected a return without values, found {}", values.len());
            self.report(Diagnostic::new(&rules::RETURN, place, message));
        }
    }
}
