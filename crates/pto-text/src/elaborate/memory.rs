//! Views of global memory, tiles, and scalar accesses to both.

use pto_ir::{OpKind, Operand, Type};
use pto_isa::TensorLayout;

use super::call::{Arg, Call, values, zip};
use super::name::Enumerator;
use super::{Elaborator, count};
use crate::syntax::{Kind, Node};
use crate::view::Arguments;

impl<'t> Elaborator<'t> {
    /// The only operand, with the type that the text gives it.
    fn single(&mut self, call: &Call<'t>, what: &str, typed: bool) -> Option<pto_ir::ValueId> {
        let [node] = call.operands[..] else {
            let message = format!("expected {what} as its operand, found {}", count(call.operands.len(), "operand"));
            return self.malformed(call, message);
        };
        let ty = if typed { call.types.first().copied() } else { None };
        Some(self.value(Arg { node, ty }))
    }

    /// The list behind a key: `shape = [...]`.
    fn list(&mut self, call: &Call<'t>, key: &str) -> Option<Vec<Operand>> {
        if let Some(nodes) = call.segment(key) {
            return nodes.iter().map(|node| self.operand(*node)).collect();
        }
        match call.entry(key).and_then(|entry| entry.value).filter(|value| value.kind() == Kind::Bracket) {
            Some(value) => self.operand_list(value),
            None => self.malformed(call, format!("expected `{key} = [...]`, found none")),
        }
    }

    /// The value behind an optional key: `addr = %a`. The outer `None` if it could not be read.
    pub(super) fn optional(&mut self, call: &Call<'t>, key: &str) -> Option<Option<Operand>> {
        let named = call.segment(key).and_then(|nodes| nodes.first().copied());
        match named.or_else(|| call.entry(key).and_then(|entry| entry.value)) {
            Some(value) => self.operand(value).map(Some),
            None => Some(None),
        }
    }

    pub(super) fn make_view(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let pointer = self.single(call, "a pointer", false)?;
        let shape = self.list(call, "shape")?;
        let named = call.entry("strides").is_some() || call.segment("strides").is_some();
        let strides = if named { self.list(call, "strides")? } else { Vec::new() };
        let layout = match call.attribute("layout").and_then(|entry| entry.value) {
            Some(value) => {
                let value = self.reader.aliases.resolve(value);
                Some(self.take(TensorLayout::read(value))?)
            }
            None => None,
        };
        let ty = self.result_type(call)?;
        let result = self.result(call, ty)?;
        Some(OpKind::MakeView { result, pointer, shape, strides, layout })
    }

    pub(super) fn partition_view(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let view = self.single(call, "a view", !call.result_types.is_empty())?;
        let (offsets, sizes) = (self.list(call, "offsets")?, self.list(call, "sizes")?);
        let ty = self.result_type(call)?;
        let result = self.result(call, ty)?;
        Some(OpKind::PartitionView { result, view, offsets, sizes })
    }

    pub(super) fn alloc_tile(&mut self, call: &Call<'t>) -> Option<OpKind> {
        if !call.operands.is_empty() {
            return self.malformed(call, "expected `addr = `, `valid_row = ` or `valid_col = ` before a value");
        }
        let address = self.optional(call, "addr")?;
        let valid_rows = self.optional(call, "valid_row")?;
        let valid_cols = self.optional(call, "valid_col")?;
        let ty = self.result_type(call)?;
        let result = self.result(call, ty)?;
        Some(OpKind::AllocTile { result, address, valid_rows, valid_cols })
    }

    /// `pto.tassign %t, @tile(0x1000)`, `pto.tassign %t, %a`, `pto.tassign ins(%a : i64) outs(%t : T)`.
    pub(super) fn assign(&mut self, call: &Call<'t>) -> Option<OpKind> {
        if let (Some(ins), Some(outs)) = (call.ins, call.outs) {
            let ([address], [tile]) = (&values(ins)[..], &values(outs)[..]) else {
                return self.malformed(call, "expected one address in `ins(...)` and one tile in `outs(...)`");
            };
            let (address, tile) = (self.value(*address), self.value(*tile));
            return Some(OpKind::Assign { tile, address: Operand::Value(address) });
        }
        let number = call.rest.iter().find_map(|term| match term.kind() {
            Kind::Int => Some(*term),
            Kind::Call => term.child(1).and_then(|group| group.child(0)),
            _ => None,
        });
        let address = match (call.operands.get(1), number) {
            (Some(node), None) => *node,
            (None, Some(node)) => node,
            _ => match call.entry("addr").and_then(|entry| entry.value) {
                Some(node) => node,
                None => return self.malformed(call, "expected a tile and an address as in `%t, @tile(0x1000)`"),
            },
        };
        let Some(node) = call.operands.first().copied() else {
            return self.malformed(call, "expected a tile, found none");
        };
        let tile = self.value(Arg { node, ty: call.types.first().copied() });
        Some(OpKind::Assign { tile, address: self.operand(address)? })
    }

    /// `pto.subview %t[%r, %c] sizes [4, 32]`, or with `offsets = [...], sizes = [...]`.
    pub(super) fn subview(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let source = self.single(call, "a tile", !call.result_types.is_empty())?;
        let mut brackets = call.brackets.iter().copied();
        let mut pair = |this: &mut Self, key: &str| -> Option<[Operand; 2]> {
            let listed = call.entry(key).or(call.attribute(key)).and_then(|entry| entry.value);
            let list = match (call.segment(key).filter(|nodes| !nodes.is_empty()), listed.or_else(|| brackets.next())) {
                (Some(nodes), _) => nodes.iter().map(|node| this.operand(*node)).collect::<Option<Vec<_>>>()?,
                (None, Some(node)) => this.operand_list(node)?,
                (None, None) => return this.malformed(call, format!("expected two {key}, found none")),
            };
            match list[..] {
                [row, col] => Some([row, col]),
                _ => this.malformed(call, format!("expected two {key}, rows and columns, found {}", list.len())),
            }
        };
        let (offsets, sizes) = (pair(self, "offsets")?, pair(self, "sizes")?);
        let ty = self.result_type(call)?;
        let result = self.result(call, ty)?;
        Some(OpKind::Subview { result, source, offsets, sizes })
    }

    pub(super) fn set_valid_shape(&mut self, call: &Call<'t>) -> Option<OpKind> {
        // Values and numbers in the order in which they stand.
        let terms: Vec<Node<'t>> = match call.op.is_generic() {
            true => call.operands.clone(),
            false => call.op.body().filter(|term| matches!(term.kind(), Kind::Value | Kind::Int)).collect(),
        };
        let [tile, rows, cols] = terms[..] else {
            return self.malformed(call, "expected a tile, valid rows and valid columns");
        };
        let tile = self.value(Arg { node: tile, ty: call.types.first().copied() });
        Some(OpKind::SetValidShape { tile, rows: self.operand(rows)?, cols: self.operand(cols)? })
    }

    /// The offset of `%p[%c0]`.
    fn offset(&mut self, call: &Call<'t>) -> Option<Operand> {
        if let Some([node]) = call.segment("offset") {
            return self.operand(*node);
        }
        match call.brackets.first().map(|list| self.operand_list(*list)) {
            Some(list) => match list?[..] {
                [offset] => Some(offset),
                _ => self.malformed(call, "expected one offset in brackets"),
            },
            None => self.malformed(call, "expected an offset in brackets, found none"),
        }
    }

    pub(super) fn load_scalar(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let pointer = self.single(call, "a pointer or view", !call.result_types.is_empty())?;
        let offset = self.offset(call)?;
        let ty = self.result_type(call)?;
        let result = self.result(call, ty)?;
        Some(OpKind::LoadScalar { result, pointer, offset })
    }

    /// `pto.store_scalar %v, %p[%c0] : !pto.ptr<f32>, f32`: the types stand the other way round.
    pub(super) fn store_scalar(&mut self, call: &Call<'t>) -> Option<OpKind> {
        if let ([pointer, offset, value], true) = (&call.typed_operands()[..], call.op.is_generic()) {
            let pointer = self.value(*pointer);
            return Some(OpKind::StoreScalar {
                pointer,
                offset: self.typed_operand(*offset)?,
                value: self.value(*value),
            });
        }
        let [value, pointer] = call.operands[..] else {
            return self.malformed(call, "expected a value and a pointer or view");
        };
        let types = [call.types.first().copied(), call.types.get(1).copied()];
        let pointer = self.value(Arg { node: pointer, ty: types[0] });
        let value = self.value(Arg { node: value, ty: types[1] });
        Some(OpKind::StoreScalar { pointer, offset: self.offset(call)?, value })
    }

    /// The operands of `ins(...)` and `outs(...)`, or those directly behind the name; an offset may be a number.
    fn all_operands(&mut self, call: &Call<'t>) -> Vec<Arg<'t>> {
        let operand = |term: &Node<'t>| matches!(term.kind(), Kind::Value | Kind::Int);
        let of = |group: Arguments<'t>| {
            let nodes: Vec<Node<'t>> = group.node().children().filter(operand).collect();
            zip(&nodes, &group.types())
        };
        match call.ins {
            Some(ins) => of(ins).into_iter().chain(call.outs.map_or_else(Vec::new, of)).collect(),
            None => call.typed_operands(),
        }
    }

    fn typed_operand(&mut self, arg: Arg<'t>) -> Option<Operand> {
        match arg.node.kind() {
            Kind::Value => Some(Operand::Value(self.value(arg))),
            _ => self.operand(arg.node),
        }
    }

    /// `%v = pto.tgetval ins(%t, %c0 : T, index) outs : f32`.
    pub(super) fn get_value(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let args = self.all_operands(call);
        let [tile, offset] = args[..] else { return self.malformed(call, "expected a tile and an offset") };
        let tile = self.value(tile);
        let offset = self.typed_operand(offset)?;
        let ty = self.result_type(call)?;
        let result = self.result(call, ty)?;
        Some(OpKind::GetValue { result, tile, offset })
    }

    /// `pto.tsetval ins(%c0, %v : index, f32) outs(%t : T)`.
    pub(super) fn set_value(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let args = self.all_operands(call);
        let [mut offset, mut value, mut tile] = args[..] else {
            return self.malformed(call, "expected an offset, a value and a tile");
        };
        // The generic form has the tile first.
        if matches!(self.visible_type(offset.node), Some(Type::Tile(_))) {
            (tile, offset, value) = (offset, value, tile);
        }
        let offset = self.typed_operand(offset)?;
        let value = self.value(value);
        Some(OpKind::SetValue { tile: self.value(tile), offset, value })
    }
}
