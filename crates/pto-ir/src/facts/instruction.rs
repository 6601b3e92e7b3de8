//! Operations as the instruction set describes them.

use pto_isa::{Collective, Instruction, Tensor, Tile};

use super::{Facts, Root};
use crate::{OpKind, ValueId};

/// Ranks of a group that a check looks at; more would only repeat the same tensor.
const MOST_RANKS: u64 = 4096;

impl Facts<'_> {
    /// The described tile of a value.
    fn described_tile(&self, value: ValueId) -> Option<Tile> {
        self.tile(value).map(|fact| fact.tile)
    }

    /// The described tensor of a value.
    fn tensor(&self, value: ValueId) -> Option<Tensor> {
        self.view(value).map(|view| view.tensor)
    }

    /// The instruction that an operation stands for, with everything that is known of its operands.
    ///
    /// `None` for other operations, and where an operand is not of the right kind.
    pub fn instruction(&self, op: &OpKind) -> Option<Instruction> {
        Some(match op {
            OpKind::MGather { dst, table, idx, policy } => Instruction::MGather {
                dst: self.described_tile(*dst)?,
                table: self.tensor(*table)?,
                idx: self.described_tile(*idx)?,
                policy: *policy,
            },
            OpKind::MScatter { table, src, idx, policy } => Instruction::MScatter {
                table: self.tensor(*table)?,
                src: self.described_tile(*src)?,
                idx: self.described_tile(*idx)?,
                policy: *policy,
            },
            OpKind::TScatter { dst, src, idx } => Instruction::TScatter {
                dst: self.described_tile(*dst)?,
                src: self.described_tile(*src)?,
                idx: self.described_tile(*idx)?,
            },
            OpKind::TScatterMask { dst, src, pattern } => Instruction::TScatterMask {
                dst: self.described_tile(*dst)?,
                src: self.described_tile(*src)?,
                pattern: *pattern,
            },
            _ => return None,
        })
    }

    /// The collective that a call stands for, as its root would make it.
    ///
    /// Who calls is known only when the program runs, so the caller counts as the root. A group whose members are not
    /// listed has at least as many ranks as its root needs. A negative root is none: callers check that before.
    pub fn collective(&self, op: &crate::Collective) -> Option<Collective> {
        let root = self.operand(op.root).and_then(|root| u64::try_from(root).ok()).unwrap_or(0);
        let group: Vec<Option<Tensor>> = match op.group.as_slice() {
            [group] if matches!(self.ty(*group), Some(crate::Type::Group(_))) => {
                let tensor = self.tensor(*group)?;
                let ranks = match self.members(*group) {
                    Some(members) => return self.listed(op, root, members),
                    None => match self.ty(*group) {
                        Some(crate::Type::Group(crate::GroupType { ranks: Some(ranks), .. })) => *ranks,
                        _ => root.saturating_add(1),
                    },
                };
                vec![Some(tensor); ranks.min(MOST_RANKS) as usize]
            }
            listed => return self.listed(op, root, listed),
        };
        // A root beyond what is looked at is as good as any, unless the group says that it has no such rank.
        let root = if group.len() as u64 == MOST_RANKS { root.min(MOST_RANKS - 1) } else { root };
        Some(self.assemble(op, root, group, self.tensor(op.local)?))
    }

    fn listed(&self, op: &crate::Collective, root: u64, members: &[ValueId]) -> Option<Collective> {
        let group = members.iter().map(|member| Some(Some(self.tensor(*member)?))).collect::<Option<Vec<_>>>()?;
        Some(self.assemble(op, root, group, self.tensor(op.local)?))
    }

    fn assemble(&self, op: &crate::Collective, root: u64, group: Vec<Option<Tensor>>, local: Tensor) -> Collective {
        let staging = op.staging.iter().filter_map(|tile| self.described_tile(*tile)).collect();
        Collective { direction: op.direction, root, caller: root, local, group, staging }
    }

    /// The members of a group that this function made.
    fn members(&self, group: ValueId) -> Option<&[ValueId]> {
        self.groups.get(&group).copied()
    }

    /// The buffers that a view or the members of a group are in.
    pub fn roots(&self, value: ValueId) -> Vec<Root> {
        match self.members(value) {
            Some(members) => members.iter().map(|member| self.root(*member)).collect(),
            None => vec![self.root(value)],
        }
    }
}
