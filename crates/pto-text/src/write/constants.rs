//! Numbers made values: real assemblers take SSA values where lowering, and texts for this tool, write numbers.

use std::collections::HashMap;

use pto_ir::{Constant, Function, Module, Op, OpKind, Operand, Region, Type, TypeId, ValueId};
use pto_isa::ElementType;

/// The same program with a constant for every number that stands in the place of a value.
///
/// Addresses become `i64`, everything else `index`; equal numbers share a constant at the start of the function.
///
/// ```
/// use pto_text::{Form, Source, elaborate, parse, to_text, with_constants};
/// let text = "%t = pto.alloc_tile addr = 64 : !pto.tile_buf<vec, 8x8xf32>";
/// let module = with_constants(&elaborate(&parse(&Source::new("k.pto", text))).module);
/// let written = to_text(&module, Form::Level3, None).unwrap();
/// assert!(written.contains("%c64_i64 = arith.constant 64 : i64"));
/// assert!(written.contains("pto.alloc_tile addr = %c64_i64"));
/// ```
pub fn with_constants(module: &Module) -> Module {
    let mut module = module.clone();
    let index = module.types.intern(Type::Index);
    let address = module.types.intern(Type::Scalar(ElementType::I64));
    for function in &mut module.functions {
        let mut body = std::mem::take(&mut function.body);
        let mut constants = Constants { function, made: HashMap::new(), ops: Vec::new(), index, address };
        constants.region(&mut body);
        let mut ops = constants.ops;
        ops.append(&mut body.ops);
        function.body = Region { ops };
    }
    module
}

struct Constants<'f> {
    function: &'f mut Function,
    made: HashMap<(i64, TypeId), ValueId>,
    ops: Vec<Op>,
    index: TypeId,
    address: TypeId,
}

impl Constants<'_> {
    fn region(&mut self, region: &mut Region) {
        for op in &mut region.ops {
            self.op(&mut op.kind);
        }
    }

    fn op(&mut self, op: &mut OpKind) {
        match op {
            OpKind::For(op) => self.region(&mut op.body),
            OpKind::If(op) => {
                self.region(&mut op.then);
                self.region(&mut op.otherwise);
            }
            OpKind::AllocTile { address, valid_rows, valid_cols, .. } => {
                address.iter_mut().for_each(|operand| self.value(operand, self.address));
                valid_rows.iter_mut().chain(valid_cols).for_each(|operand| self.value(operand, self.index));
            }
            OpKind::MakeView { shape: a, strides: b, .. } | OpKind::PartitionView { offsets: a, sizes: b, .. } => {
                a.iter_mut().chain(b).for_each(|operand| self.value(operand, self.index));
            }
            OpKind::SetValidShape { rows, cols, .. } => {
                [rows, cols].into_iter().for_each(|operand| self.value(operand, self.index));
            }
            // The offsets of a window stand in its brackets; its sizes are numbers there by its syntax.
            OpKind::Subview { offsets, .. } => {
                offsets.iter_mut().for_each(|operand| self.value(operand, self.index));
            }
            OpKind::LoadScalar { offset, .. }
            | OpKind::StoreScalar { offset, .. }
            | OpKind::GetValue { offset, .. }
            | OpKind::SetValue { offset, .. } => self.value(offset, self.index),
            _ => {}
        }
    }

    fn value(&mut self, operand: &mut Operand, ty: TypeId) {
        let Operand::Number(number) = *operand else { return };
        let place = self.function.place;
        let suffix = if ty == self.address { "_i64" } else { "" };
        let value = *self.made.entry((number, ty)).or_insert_with(|| {
            let sign = if number < 0 { "m" } else { "" };
            let result = self.function.define(format!("c{sign}{}{suffix}", number.unsigned_abs()), ty, place);
            self.ops.push(Op { kind: OpKind::Constant { result, value: Constant::Integer(number) }, place });
            result
        });
        *operand = Operand::Value(value);
    }
}
