//! A function as a tree of numbered nodes, each with its work: what the walks over it need, and nothing else.

use pto_isa::Target;

use super::work::{Work, work};
use crate::facts::Facts;
use crate::{Function, NESTING, OpKind, Pipe, Region, Types};

/// What a node is.
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Plain(Work),
    /// Everything is done before what follows.
    Barrier,
    /// As a barrier, and with every other rank: needs one before it.
    Meeting,
    Loop {
        body: u32,
        /// It runs at least so many.
        rounds: u64,
    },
    Branch {
        then: u32,
        otherwise: u32,
    },
}

/// An operation, by its number in pre-order.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) region: u32,
    /// When it begins and ends, in steps of text order.
    pub(super) begin: u32,
    pub(super) end: u32,
}

/// A region, by its number: who owns it and what is in it.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) parent: u32,
    pub(super) owner: u32,
    pub(super) nodes: Vec<u32>,
}

/// The tree of a function; block 0 is its body.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) nodes: Vec<Node>,
    pub(super) blocks: Vec<Block>,
    clock: u32,
}

impl Flow {
    pub(super) fn new(function: &Function, types: &Types, target: Target) -> Self {
        let mut flow = Self { nodes: Vec::new(), blocks: Vec::new(), clock: 0 };
        flow.block(&function.body, (0, 0), &mut Facts::new(function, types), target, 0);
        flow
    }

    fn block<'a>(
        &mut self,
        region: &'a Region,
        (parent, owner): (u32, u32),
        facts: &mut Facts<'a>,
        target: Target,
        depth: usize,
    ) -> u32 {
        let number = self.blocks.len() as u32;
        self.blocks.push(Block { parent, owner, nodes: Vec::new() });
        if depth > NESTING {
            return number;
        }
        for op in &region.ops {
            let node = self.nodes.len() as u32;
            self.clock += 1;
            self.nodes.push(Node { kind: Kind::Barrier, region: number, begin: self.clock, end: 0 });
            self.blocks[number as usize].nodes.push(node);
            let kind = match &op.kind {
                OpKind::For(op) => {
                    let rounds = facts.trips(op).unwrap_or(0);
                    facts.enter_loop(op);
                    let body = self.block(&op.body, (number, node), facts, target, depth + 1);
                    facts.leave_loop(op);
                    Kind::Loop { body, rounds }
                }
                OpKind::If(op) => {
                    let then = self.block(&op.then, (number, node), facts, target, depth + 1);
                    let otherwise = self.block(&op.otherwise, (number, node), facts, target, depth + 1);
                    facts.join(op);
                    Kind::Branch { then, otherwise }
                }
                OpKind::Barrier(Pipe::All) => Kind::Barrier,
                OpKind::RankBarrier | OpKind::Notify { .. } => Kind::Meeting,
                kind => {
                    facts.apply(kind);
                    Kind::Plain(work(kind, facts, target))
                }
            };
            self.clock += 1;
            let slot = &mut self.nodes[node as usize];
            (slot.kind, slot.end) = (kind, self.clock);
        }
        number
    }

    /// The node of `block` that a node is, or is inside of; `None` if it is outside.
    pub(super) fn lift(&self, mut node: u32, block: u32) -> Option<u32> {
        loop {
            let region = self.nodes[node as usize].region;
            if region == block {
                return Some(node);
            }
            if region == 0 {
                return None;
            }
            node = self.blocks[region as usize].owner;
        }
    }

    /// The pairs of pipes on which instructions use events inside, and how many.
    pub(super) fn reserved(&self) -> std::collections::BTreeMap<(Pipe, Pipe), u8> {
        let mut reserved = std::collections::BTreeMap::new();
        for node in &self.nodes {
            if let Kind::Plain(work) = &node.kind {
                for (pair, events) in &work.events {
                    let most: &mut u8 = reserved.entry(*pair).or_default();
                    *most = (*most).max(*events);
                }
            }
        }
        reserved
    }
}
