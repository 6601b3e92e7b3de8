//! Inserts the flags that order the pipes of a device.
//!
//! Every two accesses to overlapping bytes, one of them a write, are ordered: by the order of one pipe, by what an
//! instruction waits for and releases itself ([`crate::footprint()`]), by flags that are here already implied, or by a
//! new flag ([`walk`]). Tiles are compared by their bytes, views by the buffer behind them and, where constants tell,
//! by the elements they cover. Each flag then gets one of the eight events of its pair, never one that an instruction
//! uses inside ([`plan`]); where those run out, a barrier takes its place.

mod clock;
mod flow;
mod history;
mod plan;
mod walk;
mod work;

use pto_isa::Target;

use flow::Flow;
use plan::Plan;
use walk::Walk;

use crate::{Function, Types};

/// Nodes that may be visited to find redundant flags: each flag costs a walk over the function.
const VISITS: usize = 1 << 20;

/// The function with flags between its pipes, so that no two of its accesses race.
///
/// `cpu` and `host` have no pipes, and a function with flags of its own is left as it is.
pub fn synchronise(function: &Function, types: &Types, target: Target) -> Function {
    if target.profile().ub.is_none() || super::has_flags(function) {
        return function.clone();
    }
    let flow = Flow::new(function, types, target);
    let mut plan = Plan::new(&flow);
    plan::meetings(&flow, &mut plan);
    Walk::plan(&flow, &mut plan);
    drop_redundant(&flow, &mut plan);
    plan.assign_events(&flow);
    plan.apply(function)
}

/// Drops flags without which everything is still ordered.
///
/// Planning looks back, so it can plan one that a later one implies: the set before a loop for its first round orders
/// what a flag before the loop was planned for.
fn drop_redundant(flow: &Flow, plan: &mut Plan) {
    let mut visited = 0;
    for flag in 0..plan.flags.len() {
        if visited > VISITS {
            return;
        }
        plan.flags[flag].dropped = true;
        let (suffices, nodes) = Walk::suffices(flow, plan);
        plan.flags[flag].dropped = suffices;
        visited += nodes + flow.nodes.len() / 16;
    }
}
