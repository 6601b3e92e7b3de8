//! The flags that are to be inserted, and which event each of them gets.

use std::collections::BTreeMap;

use super::flow::{Flow, Kind};
use crate::{EVENTS, Flag, Function, NESTING, Op, OpKind, Pipe, Place, Region};

/// How a flag goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    /// Set after one node, waited for before a later one of the same block.
    Once,
    /// Set in one round of this loop and waited for in the next: set before the loop for the first round, and waited
    /// for after the loop for the last.
    Carried(u32),
}

/// A flag between two pipes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) from: Pipe,
    pub(super) to: Pipe,
    /// Set after this node.
    pub(super) set: u32,
    /// Waited for before this node.
    pub(super) wait: u32,
    pub(super) span: Span,
    pub(super) event: u8,
    /// Dropped as redundant, or replaced by a barrier.
    pub(super) dropped: bool,
}

/// What is to be inserted around each node.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) flags: Vec<Planned>,
    /// Flags that are waited for before each node, and set after it.
    pub(super) before: Vec<Vec<u32>>,
    pub(super) after: Vec<Vec<u32>>,
    /// Flags that each loop carries.
    pub(super) carried: BTreeMap<u32, Vec<u32>>,
    /// Nodes with a barrier before them.
    pub(super) barriers: Vec<bool>,
}

/// For each event of a pair: until when it is pending, and for which flag.
type Events = [(u32, Option<usize>); EVENTS as usize];

impl Plan {
    pub(super) fn new(flow: &Flow) -> Self {
        let nodes = flow.nodes.len();
        Self {
            flags: Vec::new(),
            before: vec![Vec::new(); nodes],
            after: vec![Vec::new(); nodes],
            carried: BTreeMap::new(),
            barriers: vec![false; nodes],
        }
    }

    pub(super) fn add(&mut self, flag: Planned) -> u32 {
        let number = self.flags.len() as u32;
        self.flags.push(flag);
        self.before[flag.wait as usize].push(number);
        self.after[flag.set as usize].push(number);
        if let Span::Carried(node) = flag.span {
            self.carried.entry(node).or_default().push(number);
        }
        number
    }

    /// Gives each flag an event that is free from its set to its wait, the one that was free for longest; where there is
    /// none left, a barrier takes the place of the flag that would be pending for longest.
    pub(super) fn assign_events(&mut self, flow: &Flow) {
        let reserved = flow.reserved();
        // Between two nodes: waits for the last round, then sets; waits, then sets for the first round.
        let pending = |flag: &Planned| match flag.span {
            Span::Once => (8 * flow.nodes[flag.set as usize].end + 2, 8 * flow.nodes[flag.wait as usize].begin - 2),
            Span::Carried(node) => (8 * flow.nodes[node as usize].begin - 1, 8 * flow.nodes[node as usize].end + 1),
        };
        let mut order: Vec<usize> = (0..self.flags.len()).filter(|at| !self.flags[*at].dropped).collect();
        order.sort_by_key(|at| pending(&self.flags[*at]));
        let mut events: BTreeMap<(Pipe, Pipe), Events> = BTreeMap::new();
        for at in order {
            let pair = (self.flags[at].from, self.flags[at].to);
            let first = reserved.get(&pair).copied().unwrap_or(0) as usize;
            let events = events.entry(pair).or_insert([(0, None); EVENTS as usize]);
            let (start, end) = pending(&self.flags[at]);
            let free =
                (first..events.len()).filter(|event| events[*event].0 < start).min_by_key(|event| events[*event].0);
            let longest = (first..events.len()).max_by_key(|event| events[*event].0);
            let event = match (free, longest) {
                (Some(event), _) => event,
                (None, Some(event)) if events[event].0 > end => {
                    if let Some(replaced) = events[event].1 {
                        self.replace(replaced);
                    }
                    event
                }
                _ => {
                    self.replace(at);
                    continue;
                }
            };
            self.flags[at].event = event as u8;
            events[event] = (end, Some(at));
        }
    }

    fn replace(&mut self, flag: usize) {
        self.flags[flag].dropped = true;
        self.barriers[self.flags[flag].wait as usize] = true;
    }

    /// The function with everything inserted.
    pub(super) fn apply(&self, function: &Function) -> Function {
        let mut function = function.clone();
        let mut next = 0;
        self.rewrite(&mut function.body, &mut next, 0);
        function
    }

    fn rewrite(&self, region: &mut Region, next: &mut usize, depth: usize) {
        if depth > NESTING {
            return;
        }
        let mut ops = Vec::with_capacity(region.ops.len());
        for mut op in core::mem::take(&mut region.ops) {
            let (node, place) = (*next, op.place);
            *next += 1;
            match &mut op.kind {
                OpKind::For(inner) => self.rewrite(&mut inner.body, next, depth + 1),
                OpKind::If(inner) => {
                    self.rewrite(&mut inner.then, next, depth + 1);
                    self.rewrite(&mut inner.otherwise, next, depth + 1);
                }
                _ => {}
            }
            let carried = self.carried.get(&(node as u32)).map_or(&[][..], Vec::as_slice);
            self.insert(&mut ops, &self.before[node], OpKind::WaitFlag, place);
            if self.barriers[node] {
                ops.push(Op { kind: OpKind::Barrier(Pipe::All), place });
            }
            self.insert(&mut ops, carried, OpKind::SetFlag, place);
            ops.push(op);
            self.insert(&mut ops, carried, OpKind::WaitFlag, place);
            self.insert(&mut ops, &self.after[node], OpKind::SetFlag, place);
        }
        region.ops = ops;
    }

    fn insert(&self, ops: &mut Vec<Op>, flags: &[u32], kind: fn(Flag) -> OpKind, place: Place) {
        let planned = flags.iter().map(|flag| &self.flags[*flag as usize]).filter(|flag| !flag.dropped);
        let mut flags: Vec<Flag> =
            planned.map(|flag| Flag { from: flag.from, to: flag.to, event: flag.event }).collect();
        flags.sort_unstable();
        ops.extend(flags.into_iter().map(|flag| Op { kind: kind(flag), place }));
    }
}

/// Nodes that wait for every rank need everything of this one to be done.
pub(super) fn meetings(flow: &Flow, plan: &mut Plan) {
    for (node, barrier) in flow.nodes.iter().zip(&mut plan.barriers) {
        *barrier |= matches!(node.kind, Kind::Meeting);
    }
}
