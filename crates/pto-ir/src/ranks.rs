//! What a function says about the ranks that it runs on: whose memory its parameters are, and who runs it.
//!
//! All ranks run the same text. A parameter is memory of each rank's own, unless it is a member of a group: the
//! *r*-th member of a group is memory of rank *r*, a window that the others see as remote (003: `tensors[r]` refers to
//! rank *r*'s buffer). A parameter that is a whole group is one window at every rank.

use std::collections::HashMap;

use crate::{Function, NESTING, OpKind, Operand, Place, Region, Type, Types, ValueId};

/// Whose memory a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// Each rank has its own, which no other rank sees.
    Each,
    /// The window of one rank.
    Rank(u64),
    /// One window at every rank: a group.
    Every,
}

/// Which ranks run a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runners {
    /// All of them.
    All,
    /// The root of its collectives alone: the function does not ask which rank it is and waits for nobody, as 003's
    /// examples. The others keep their windows open.
    Root(u64),
}

/// What a function says about ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnRanks {
    /// Whose memory each parameter is.
    pub homes: Vec<Home>,
    /// Who runs it.
    pub runners: Runners,
    /// The root of its collectives, if they all have the same one.
    pub root: Option<u64>,
    /// Whether it waits for signals.
    pub waits: bool,
}

/// Why a parameter is not the memory of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misplaced {
    /// It is a member of groups in two positions.
    TwoHomes {
        /// The parameter.
        parameter: ValueId,
        /// The positions, and the operations that say so.
        members: [(u64, Place); 2],
    },
    /// A member of a group is computed, so that nobody can tell whose memory it is.
    Unknown {
        /// The member.
        member: ValueId,
        /// The operation with the group.
        place: Place,
    },
}

/// Looks at a function as one that several ranks run.
///
/// ```
/// use pto_ir::{FunctionBuilder, OpKind, Runners, on_ranks};
/// let mut build = FunctionBuilder::new("k");
/// build.push(OpKind::RankBarrier);
/// let module = build.finish();
/// assert_eq!(on_ranks(&module.functions[0], &module.types).unwrap().runners, Runners::All);
/// ```
///
/// # Errors
/// If a member of a group cannot be told to be the memory of one rank.
pub fn on_ranks(function: &Function, types: &Types) -> Result<OnRanks, Misplaced> {
    let mut scan =
        Scan { function, types, sources: HashMap::new(), constants: HashMap::new(), groups: Vec::new(), waits: false };
    let mut aware = false;
    let mut roots = Vec::new();
    scan.region(&function.body, &mut aware, &mut roots, 0);
    let root = match roots.as_slice() {
        [Some(first), rest @ ..] if rest.iter().all(|root| root == &Some(*first)) => Some(*first),
        _ => None,
    };
    let runners = root.filter(|_| !aware).map_or(Runners::All, Runners::Root);
    Ok(OnRanks { homes: scan.homes()?, runners, root, waits: scan.waits })
}

struct Scan<'a> {
    function: &'a Function,
    types: &'a Types,
    /// The pointer or view that a view is made of.
    sources: HashMap<ValueId, ValueId>,
    constants: HashMap<ValueId, i64>,
    /// The members of every group, and where it is named.
    groups: Vec<(&'a [ValueId], Place)>,
    waits: bool,
}

impl<'a> Scan<'a> {
    fn region(&mut self, region: &'a Region, aware: &mut bool, roots: &mut Vec<Option<u64>>, depth: usize) {
        if depth > NESTING {
            return;
        }
        for op in &region.ops {
            match &op.kind {
                OpKind::For(inner) => self.region(&inner.body, aware, roots, depth + 1),
                OpKind::If(inner) => {
                    self.region(&inner.then, aware, roots, depth + 1);
                    self.region(&inner.otherwise, aware, roots, depth + 1);
                }
                OpKind::Constant { result, value: crate::Constant::Integer(value) } => {
                    self.constants.insert(*result, *value);
                }
                OpKind::Cast { result, value, .. } => {
                    if let Some(value) = self.constants.get(value) {
                        self.constants.insert(*result, *value);
                    }
                }
                OpKind::MakeView { result, pointer: source, .. }
                | OpKind::PartitionView { result, view: source, .. } => {
                    self.sources.insert(*result, *source);
                }
                OpKind::MakeGroup { members, .. } => self.groups.push((members, op.place)),
                OpKind::Collective(call) => {
                    let root = match call.root {
                        Operand::Number(root) => Some(root),
                        Operand::Value(value) => self.constants.get(&value).copied(),
                    };
                    roots.push(root.and_then(|root| u64::try_from(root).ok()));
                    self.groups.push((&call.group, op.place));
                }
                OpKind::Rank { .. } | OpKind::Ranks { .. } | OpKind::RankBarrier | OpKind::Notify { .. } => {
                    *aware = true
                }
                OpKind::Wait { .. } => (*aware, self.waits) = (true, true),
                _ => {}
            }
        }
    }

    fn is_group(&self, value: ValueId) -> bool {
        matches!(self.types.get(self.function.value(value).ty), Type::Group(_))
    }

    fn homes(&self) -> Result<Vec<Home>, Misplaced> {
        let parameters = self.function.parameters;
        let mut homes = vec![Home::Each; parameters];
        for id in self.function.parameter_ids().filter(|id| self.is_group(*id)) {
            homes[id.0 as usize] = Home::Every;
        }
        let mut said: Vec<Option<(u64, Place)>> = vec![None; parameters];
        for (members, place) in &self.groups {
            // A group that was made elsewhere is looked at there.
            if matches!(members, [only] if self.is_group(*only)) {
                continue;
            }
            for (position, member) in members.iter().enumerate() {
                let mut at = *member;
                while let Some(source) = self.sources.get(&at) {
                    at = *source;
                }
                let Some(home) = homes.get_mut(at.0 as usize) else {
                    return Err(Misplaced::Unknown { member: *member, place: *place });
                };
                let here = (position as u64, *place);
                let first = *said[at.0 as usize].get_or_insert(here);
                if first.0 != here.0 {
                    return Err(Misplaced::TwoHomes { parameter: at, members: [first, here] });
                }
                *home = Home::Rank(position as u64);
            }
        }
        Ok(homes)
    }
}
