//! Collectives and groups.

use pto_ir::{Collective, NotifyOp, OpKind, Operand, Type, ValueId, WaitCompare};
use pto_isa::Direction;

use super::Elaborator;
use super::call::{Arg, Call, values, zip};
use super::name::Enumerator;
use crate::syntax::{Kind, Node};
use crate::view::Arguments;

impl<'t> Elaborator<'t> {
    /// `pto.comm.tscatter(%src, recv(%ping, %pong), group(%p0, %p1) : T, ...) {root = 1 : i32}`.
    pub(super) fn collective(&mut self, call: &Call<'t>, direction: Direction) -> Option<OpKind> {
        let Some(arguments) = call.direct else {
            return if call.op.is_generic() {
                self.generic_call(call, direction)
            } else {
                self.group_call(call, direction)
            };
        };
        let terms = arguments.values();
        let of = |keyword: &str| -> Vec<Node<'t>> {
            let group = terms.iter().find_map(|term| Arguments::of_call(*term, keyword));
            group.map_or_else(Vec::new, |group| group.node().children().collect())
        };
        let local: Vec<Node<'t>> = terms.iter().copied().filter(|term| term.kind() == Kind::Value).collect();
        let (staging, group) = (of("recv"), of("group"));
        if local.len() != 1 {
            return self.malformed(call, "expected one tensor before `recv(...)` and `group(...)`");
        }
        if group.is_empty() {
            return self.malformed(call, "expected the tensors of the ranks in `group(...)`, found none");
        }
        let strangers = terms.iter().filter(|term| term.kind() == Kind::Call);
        for stranger in strangers.filter(|term| !["recv", "group"].contains(&term.child(0).map_or("", Node::text))) {
            let name = stranger.child(0).unwrap_or(*stranger);
            self.not_taken(call, name, name.text(), "keyword", &["recv", "group"]);
        }
        let all: Vec<Node<'t>> = local.iter().chain(&staging).chain(&group).copied().collect();
        let types = arguments.types();
        if !types.is_empty() && types.len() != all.len() {
            let message = format!("expected {} types, one for each value, found {}", all.len(), types.len());
            return self.malformed(call, message);
        }
        let values: Vec<ValueId> = zip(&all, &types).into_iter().map(|arg| self.value(arg)).collect();
        let root = self.root(call)?;
        let (staging, group) = values[1..].split_at(staging.len());
        let (staging, group) = (staging.to_vec(), group.to_vec());
        Some(OpKind::Collective(Box::new(Collective { direction, local: values[0], group, staging, root })))
    }

    /// `"pto.comm.tscatter"(%src, %ping, %pong, %p0, %p1)`: the tensor, the staging tiles, the ranks' tensors or their
    /// group. What each operand is decides, however its segments are counted.
    fn generic_call(&mut self, call: &Call<'t>, direction: Direction) -> Option<OpKind> {
        let values: Vec<ValueId> = call.typed_operands().into_iter().map(|arg| self.value(arg)).collect();
        let (staging, mut views): (Vec<ValueId>, Vec<ValueId>) =
            values.into_iter().partition(|value| matches!(self.type_of(*value), Type::Tile(_)));
        if views.len() < 2 {
            return self.malformed(call, "expected a tensor, staging tiles and the tensors of the ranks");
        }
        // PTO-AS names the group before the tensor.
        let local = views.remove(usize::from(matches!(self.type_of(views[0]), Type::Group(_))));
        let root = self.root(call)?;
        Some(OpKind::Collective(Box::new(Collective { direction, local, group: views, staging, root })))
    }

    /// `tscatter %group, %src : (!pto.group<...>, !pto.memref<...>)`: lowering introduces the staging tiles.
    pub(super) fn group_call(&mut self, call: &Call<'t>, direction: Direction) -> Option<OpKind> {
        let args = call.typed_operands();
        let [group, local] = args[..] else {
            return self.malformed(call, "expected a group and a tensor");
        };
        let (group, local) = (self.value(group), self.value(local));
        let root = self.root(call)?;
        let staging = Vec::new();
        Some(OpKind::Collective(Box::new(Collective { direction, local, group: vec![group], staging, root })))
    }

    /// The root: rank 0 where the text does not say.
    fn root(&mut self, call: &Call<'t>) -> Option<Operand> {
        match call.attribute("root").or(call.entry("root")).and_then(|entry| entry.value) {
            Some(value) => self.operand(value),
            None => Some(Operand::Number(0)),
        }
    }

    /// Both instructions called `tscatter`: across ranks if the first operand is a group, else within tiles.
    pub(super) fn tile_scatter(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let group = match (call.operands.first(), call.types.first()) {
            (Some(first), ty) if call.ins.is_none() => match self.visible_type(*first) {
                Some(known) => matches!(known, Type::Group(_)),
                None => ty.is_some_and(|ty| ty.text().starts_with("!pto.group")),
            },
            _ => false,
        };
        if group { self.group_call(call, Direction::Scatter) } else { self.instruction(call) }
    }

    pub(super) fn make_group(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let members = call.typed_operands().into_iter().map(|arg| self.value(arg)).collect();
        let Some(ty) = call.result_types.first() else {
            return self.malformed(call, "expected the type of the group behind `->`");
        };
        let ty = self.read_type(*ty);
        let result = self.result(call, ty)?;
        Some(OpKind::MakeGroup { result, members })
    }

    /// This rank's number, or the number of ranks.
    pub(super) fn rank(&mut self, call: &Call<'t>, make: fn(ValueId) -> OpKind) -> Option<OpKind> {
        let ty = match call.result_types.first().or(call.types.first()) {
            Some(ty) => self.read_type(*ty),
            None => self.module.types.intern(Type::Index),
        };
        self.result(call, ty).map(make)
    }

    /// The signal and the value of `pto.comm.tnotify(%signal, %value : T, i32)`, or without parentheses.
    fn signal(&mut self, call: &Call<'t>) -> Option<(ValueId, ValueId)> {
        let args = call.direct.map_or_else(|| call.typed_operands(), values);
        let [signal, value] = args[..] else {
            return self.malformed(call, "expected a signal and a value");
        };
        Some((self.value(signal), self.value(value)))
    }

    /// `pto.comm.tnotify(%signal, %value : T, i32) {notifyOp = #pto<notify_op atomic_add>}`; it sets where nothing is said.
    pub(super) fn notify(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let (signal, value) = self.signal(call)?;
        let op = match call.attribute("notifyOp").and_then(|entry| entry.value) {
            Some(word) => self.take(NotifyOp::read(word))?,
            None => NotifyOp::Set,
        };
        Some(OpKind::Notify { signal, value, op })
    }

    /// `pto.comm.twait(%signal, %value : T, i32) {cmp = #pto<wait_cmp ge>}`; for equality where nothing is said.
    pub(super) fn wait(&mut self, call: &Call<'t>) -> Option<OpKind> {
        let (signal, value) = self.signal(call)?;
        let compare = match call.attribute("cmp").and_then(|entry| entry.value) {
            Some(word) => self.take(WaitCompare::read(word))?,
            None => WaitCompare::Eq,
        };
        Some(OpKind::Wait { signal, value, compare })
    }

    /// The type of a name, without a word about it if it has none.
    pub(super) fn visible_type(&self, node: Node<'t>) -> Option<&Type> {
        match self.scope.find(node.text()) {
            super::scope::Found::Visible(value) => Some(self.type_of(value)),
            _ => None,
        }
    }
}

/// An argument without a type.
pub(super) fn untyped(node: Node<'_>) -> Arg<'_> {
    Arg { node, ty: None }
}
