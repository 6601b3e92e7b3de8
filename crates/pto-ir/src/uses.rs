//! What an operation reads, defines and is called, without allocating: checks ask this of every operation.

use pto_isa::Direction;

use crate::{OpKind, Operand, ValueId};

impl OpKind {
    /// Calls `visit` with every value that the operation itself reads, in order; not with those that its regions read.
    ///
    /// ```
    /// use pto_ir::{OpKind, ValueId};
    /// let mut read = Vec::new();
    /// OpKind::Load { src: ValueId(3), dst: ValueId(5) }.for_each_operand(|value| read.push(value));
    /// assert_eq!(read, [ValueId(3), ValueId(5)]);
    /// ```
    pub fn for_each_operand(&self, mut visit: impl FnMut(ValueId)) {
        let all = |values: &[ValueId], visit: &mut dyn FnMut(ValueId)| values.iter().for_each(|value| visit(*value));
        let list = |operands: &[Operand], visit: &mut dyn FnMut(ValueId)| {
            operands.iter().filter_map(|operand| operand.value()).for_each(visit);
        };
        match self {
            Self::Arithmetic { lhs, rhs, .. } | Self::Compare { lhs, rhs, .. } => all(&[*lhs, *rhs], &mut visit),
            Self::Select { condition, then, otherwise, .. } => all(&[*condition, *then, *otherwise], &mut visit),
            Self::Cast { value, .. } => visit(*value),
            Self::For(op) => {
                all(&[op.lower, op.upper, op.step], &mut visit);
                op.carried.iter().for_each(|carried| visit(carried.initial));
            }
            Self::If(op) => visit(op.condition),
            Self::Yield(values) | Self::Return(values) => all(values, &mut visit),
            Self::MakeView { pointer, shape, strides, .. } => {
                visit(*pointer);
                list(shape, &mut visit);
                list(strides, &mut visit);
            }
            Self::PartitionView { view, offsets, sizes, .. } => {
                visit(*view);
                list(offsets, &mut visit);
                list(sizes, &mut visit);
            }
            Self::MakeGroup { members, .. } => all(members, &mut visit),
            Self::AllocTile { address, valid_rows, valid_cols, .. } => {
                [address, valid_rows, valid_cols]
                    .into_iter()
                    .flatten()
                    .for_each(|operand| list(&[*operand], &mut visit));
            }
            Self::Assign { tile, address } => list(&[(*tile).into(), *address], &mut visit),
            Self::Subview { source, offsets, sizes, .. } => {
                list(&[(*source).into(), offsets[0], offsets[1], sizes[0], sizes[1]], &mut visit);
            }
            Self::SetValidShape { tile, rows, cols } => list(&[(*tile).into(), *rows, *cols], &mut visit),
            Self::Load { src, dst } | Self::Store { src, dst } | Self::Move { src, dst } => {
                all(&[*src, *dst], &mut visit);
            }
            Self::LoadScalar { pointer: base, offset, .. } | Self::GetValue { tile: base, offset, .. } => {
                list(&[(*base).into(), *offset], &mut visit);
            }
            Self::StoreScalar { pointer: base, offset, value } | Self::SetValue { tile: base, offset, value } => {
                list(&[(*base).into(), *offset, (*value).into()], &mut visit);
            }
            Self::MGather { dst, table, idx, .. } => all(&[*dst, *table, *idx], &mut visit),
            Self::MScatter { table, src, idx, .. } => all(&[*table, *src, *idx], &mut visit),
            Self::TScatter { dst, src, idx } => all(&[*dst, *src, *idx], &mut visit),
            Self::TScatterMask { dst, src, .. } => all(&[*dst, *src], &mut visit),
            Self::Collective(op) => {
                visit(op.local);
                all(&op.group, &mut visit);
                all(&op.staging, &mut visit);
                list(&[op.root], &mut visit);
            }
            Self::Notify { signal, value, .. } | Self::Wait { signal, value, .. } => {
                all(&[*signal, *value], &mut visit);
            }
            Self::Unknown(op) => all(&op.operands, &mut visit),
            Self::Constant { .. }
            | Self::Rank { .. }
            | Self::Ranks { .. }
            | Self::RankBarrier
            | Self::SetFlag(_)
            | Self::WaitFlag(_)
            | Self::Barrier(_)
            | Self::FlushCache
            | Self::DataBarrier => {}
        }
    }

    /// Calls `visit` with every value that the operation defines in its own region.
    pub fn for_each_result(&self, mut visit: impl FnMut(ValueId)) {
        match self {
            Self::Constant { result, .. }
            | Self::Arithmetic { result, .. }
            | Self::Compare { result, .. }
            | Self::Select { result, .. }
            | Self::Cast { result, .. }
            | Self::MakeView { result, .. }
            | Self::PartitionView { result, .. }
            | Self::MakeGroup { result, .. }
            | Self::AllocTile { result, .. }
            | Self::Subview { result, .. }
            | Self::LoadScalar { result, .. }
            | Self::GetValue { result, .. }
            | Self::Rank { result }
            | Self::Ranks { result } => visit(*result),
            Self::For(op) => op.carried.iter().for_each(|carried| visit(carried.result)),
            Self::If(op) => op.results.iter().for_each(|result| visit(*result)),
            Self::Unknown(op) => op.results.iter().for_each(|result| visit(*result)),
            _ => {}
        }
    }

    /// The operation's name in level-2 text, for messages.
    pub fn name(&self) -> &str {
        match self {
            Self::Constant { .. } => "arith.constant",
            Self::Arithmetic { .. } => "integer arithmetic",
            Self::Compare { .. } => "arith.cmpi",
            Self::Select { .. } => "arith.select",
            Self::Cast { .. } => "arith.index_cast",
            Self::For(_) => "scf.for",
            Self::If(_) => "scf.if",
            Self::Yield(_) => "scf.yield",
            Self::Return(_) => "return",
            Self::MakeView { .. } => "pto.make_tensor_view",
            Self::PartitionView { .. } => "pto.partition_view",
            Self::MakeGroup { .. } => "pto.make_group",
            Self::AllocTile { .. } => "pto.alloc_tile",
            Self::Assign { .. } => "pto.tassign",
            Self::Subview { .. } => "pto.subview",
            Self::SetValidShape { .. } => "pto.set_validshape",
            Self::Load { .. } => "pto.tload",
            Self::Store { .. } => "pto.tstore",
            Self::Move { .. } => "pto.tmov",
            Self::LoadScalar { .. } => "pto.load_scalar",
            Self::StoreScalar { .. } => "pto.store_scalar",
            Self::GetValue { .. } => "pto.tgetval",
            Self::SetValue { .. } => "pto.tsetval",
            Self::MGather { .. } => "pto.mgather",
            Self::MScatter { .. } => "pto.mscatter",
            Self::TScatter { .. } | Self::TScatterMask { .. } => "pto.tscatter",
            Self::Collective(op) => match op.direction {
                Direction::Scatter => "pto.comm.tscatter",
                Direction::Gather => "pto.comm.tgather",
            },
            Self::Rank { .. } => "pto.comm.rank",
            Self::Ranks { .. } => "pto.comm.ranks",
            Self::RankBarrier => "pto.comm.barrier",
            Self::Notify { .. } => "pto.comm.tnotify",
            Self::Wait { .. } => "pto.comm.twait",
            Self::SetFlag(_) => "pto.set_flag",
            Self::WaitFlag(_) => "pto.wait_flag",
            Self::Barrier(_) => "pto.barrier",
            Self::FlushCache => "pto.dcci",
            Self::DataBarrier => "pto.dsb",
            Self::Unknown(op) => &op.name,
        }
    }
}
