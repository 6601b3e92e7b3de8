//! Flags for the events that instructions wait for.
//!
//! A flag goes from the pipe on which the instruction that is waited for ends to the pipe on which the one that waits
//! begins. There is none where order holds without it: within one pipe, where the first instruction releases the second's
//! pipe by a handshake of its own, and where the pipe has waited for the same instruction, or a later one of the same
//! pipe, before. An event number is used again once the wait for it was issued, the one that was free for longest first.

use std::collections::BTreeMap;

use pto_ir::{EVENTS, Flag, Op, OpKind, Pipe};
use pto_isa::Target;

use super::recorder::Step;
use crate::error::Cause;

type Pair = (Pipe, Pipe);

/// A flag that is set after one step and waited for before another.
struct Needed {
    pair: Pair,
    set: usize,
    wait: usize,
}

/// The operations with every flag in its place; else the step that cannot wait, and why.
pub(super) fn with_flags(steps: &[Step], target: Target) -> Result<Vec<Op>, (usize, Cause)> {
    // Targets without a unified buffer have no pipes either.
    let mut needed = if target.profile().ub.is_some() { needed(steps) } else { Vec::new() };
    needed.sort_by_key(|flag| flag.set);
    let taken = taken(steps);
    let mut busy: BTreeMap<Pair, [usize; EVENTS as usize]> = BTreeMap::new();
    let (mut before, mut after) = (vec![Vec::new(); steps.len()], vec![Vec::new(); steps.len()]);
    for Needed { pair, set, wait } in needed {
        let until = busy.entry(pair).or_default();
        let reserved = taken.get(&pair).copied().unwrap_or_default();
        let free = (0..until.len()).filter(|event| !reserved[*event] && until[*event] <= set);
        let Some(event) = free.min_by_key(|event| until[*event]) else {
            return Err((wait, Cause::Flags { from: pair.0.name(), to: pair.1.name() }));
        };
        until[event] = wait;
        let flag = Flag { from: pair.0, to: pair.1, event: event as u8 };
        after[set].push(flag);
        before[wait].push(flag);
    }
    let mut ops = Vec::with_capacity(steps.len());
    for ((step, before), after) in steps.iter().zip(before).zip(after) {
        let place = step.op.place;
        ops.extend(before.into_iter().map(|flag| Op { kind: OpKind::WaitFlag(flag), place }));
        ops.push(step.op.clone());
        ops.extend(after.into_iter().map(|flag| Op { kind: OpKind::SetFlag(flag), place }));
    }
    Ok(ops)
}

fn needed(steps: &[Step]) -> Vec<Needed> {
    let issued: BTreeMap<u64, usize> =
        steps.iter().enumerate().filter_map(|(at, step)| Some((step.issued?.0, at))).collect();
    let mut waited: BTreeMap<Pair, usize> = BTreeMap::new();
    let mut needed = Vec::new();
    for (wait, step) in steps.iter().enumerate() {
        // What has no pipe of its own is done by the scalar unit.
        let first = step.issued.and_then(|(_, footprint)| footprint.phases.first());
        let to = first.map_or(Pipe::S, |phase| phase.pipe);
        let mut last: BTreeMap<Pipe, usize> = BTreeMap::new();
        for set in step.waits.iter().filter_map(|number| issued.get(number)).copied() {
            let Some((_, footprint)) = steps[set].issued else { continue };
            let Some(from) = footprint.phases.last().map(|phase| phase.pipe) else { continue };
            if from != to && !footprint.releases.contains(&to) {
                let latest = last.entry(from).or_insert(set);
                *latest = set.max(*latest);
            }
        }
        for (from, set) in last {
            let pair = (from, to);
            if waited.get(&pair).is_none_or(|before| *before < set) {
                waited.insert(pair, set);
                needed.push(Needed { pair, set, wait });
            }
        }
    }
    needed
}

/// The events of each pair that are not to be given: those set or awaited by hand, and those of instructions themselves.
fn taken(steps: &[Step]) -> BTreeMap<Pair, [bool; EVENTS as usize]> {
    let mut taken: BTreeMap<Pair, [bool; EVENTS as usize]> = BTreeMap::new();
    for step in steps {
        if let OpKind::SetFlag(flag) | OpKind::WaitFlag(flag) = step.op.kind
            && flag.event < EVENTS
        {
            taken.entry((flag.from, flag.to)).or_default()[flag.event as usize] = true;
        }
        for pair in step.issued.map_or(&[][..], |(_, footprint)| footprint.handshakes) {
            taken.entry(*pair).or_default()[0] = true;
        }
    }
    taken
}
