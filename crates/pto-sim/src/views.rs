//! Before anything runs: the views that arguments and constants decide are held against their buffers.

use pto_ir::{Diagnostic, OpKind, Operand};

use crate::machine::Machine;
use crate::state::Value;

impl Machine<'_> {
    /// False, with findings, if a view that every run makes addresses more than its buffer holds.
    ///
    /// Only what stands outside loops and branches is looked at: the rest may never be reached, and is judged when it
    /// is. Values are computed again when the program runs.
    pub(crate) fn views_fit(&mut self) -> bool {
        let function = self.function;
        let mut fit = true;
        for op in &function.body.ops {
            match &op.kind {
                OpKind::Constant { .. } => self.step(&op.kind, 0),
                OpKind::Arithmetic { lhs, rhs, .. } | OpKind::Compare { lhs, rhs, .. }
                    if self.is_known(*lhs) && self.is_known(*rhs) =>
                {
                    self.step(&op.kind, 0);
                }
                OpKind::Cast { value, .. } if self.is_known(*value) => self.step(&op.kind, 0),
                OpKind::MakeView { result, pointer, shape, strides, layout }
                    if shape.iter().chain(strides).all(|operand| self.is_known_operand(*operand)) =>
                {
                    if let Err((rule, message)) = self.make_view(*pointer, shape, strides, *layout, *result) {
                        self.say(Diagnostic::new(rule, op.place, message));
                        fit = false;
                    }
                }
                OpKind::Return(_) => break,
                _ => {}
            }
        }
        fit
    }

    fn is_known(&self, id: pto_ir::ValueId) -> bool {
        !matches!(self.value(id), Value::Nothing)
    }

    pub(crate) fn is_known_operand(&self, operand: Operand) -> bool {
        match operand {
            Operand::Value(id) => self.is_known(id),
            Operand::Number(_) => true,
        }
    }
}
