//! Walks a function in program order, with what each pipe knows, and plans a flag wherever an access is not ordered
//! after one that it conflicts with.
//!
//! - A flag is set right after the earlier access and waited for right before the later one. If those stand in
//!   different regions, both are lifted to the region around them, so that set and wait run equally often on every path.
//! - Conflicts are settled latest first: a flag brings along all that its pipe knows, and what it implies needs none.
//! - The body of a loop is walked a second time, as the next round after the first. What conflicts across rounds gets a
//!   flag that the loop carries. More rounds show nothing new: addresses do not depend on the round, so an access of
//!   an earlier round is ordered before the same access of the last. Loops inside are walked once then.
//! - After a loop that may not run at all, and after branches, only what holds on every path is known.
//!
//! The same walk without planning decides whether a plan suffices; that is how redundant flags are found.

use super::clock::{Clock, State, slot};
use super::flow::{Flow, Kind};
use super::history::{Entry, History};
use super::plan::{Plan, Planned, Span};
use super::work::Work;
use crate::Pipe;

/// A region that is being walked, and what was known when it was entered.
struct Frame {
    block: u32,
    entry: State,
}

/// The loop whose second round is being walked.
#[derive(Clone, Copy)]
struct Replay {
    node: u32,
    body: u32,
    /// Times at which the rounds began.
    first: u32,
    second: u32,
}

pub(super) struct Walk<'a> {
    flow: &'a Flow,
    plan: &'a mut Plan,
    /// Plan flags that are missing; else only look.
    planning: bool,
    /// Something is not ordered.
    unordered: bool,
    time: u32,
    state: State,
    history: History,
    frames: Vec<Frame>,
    replay: Option<Replay>,
    /// What each flag hands over, as last set; and as set before its loop.
    handed: Vec<Clock>,
    primed: Vec<Clock>,
    /// What each pipe could hand over after a loop or conditional.
    exits: Vec<Option<Box<State>>>,
    exit_times: Vec<u32>,
    conflicts: Vec<Entry>,
    visited: usize,
}

impl<'a> Walk<'a> {
    fn new(flow: &'a Flow, plan: &'a mut Plan, planning: bool) -> Self {
        let flags = plan.flags.len();
        Self {
            flow,
            plan,
            planning,
            unordered: false,
            time: 0,
            state: State::default(),
            history: History::default(),
            frames: vec![Frame { block: 0, entry: State::default() }],
            replay: None,
            handed: vec![Clock::default(); flags],
            primed: vec![Clock::default(); flags],
            exits: vec![None; flow.nodes.len()],
            exit_times: vec![0; flow.nodes.len()],
            conflicts: Vec::new(),
            visited: 0,
        }
    }

    /// Plans every flag that a function needs.
    pub(super) fn plan(flow: &'a Flow, plan: &'a mut Plan) {
        Self::new(flow, plan, true).block(0);
    }

    /// Whether everything is ordered with the flags of the plan, and how many nodes it took to find out.
    pub(super) fn suffices(flow: &'a Flow, plan: &'a mut Plan) -> (bool, usize) {
        let mut walk = Self::new(flow, plan, false);
        walk.block(0);
        (!walk.unordered, walk.visited)
    }

    fn block(&mut self, block: u32) {
        let flow = self.flow;
        for node in &flow.blocks[block as usize].nodes {
            if self.unordered {
                return;
            }
            self.node(*node);
        }
    }

    fn node(&mut self, node: u32) {
        let flow = self.flow;
        self.visited += 1;
        for at in 0..self.plan.before[node as usize].len() {
            let number = self.plan.before[node as usize][at];
            let flag = self.plan.flags[number as usize];
            if !flag.dropped {
                let handed = self.handed[number as usize];
                self.state.learn(flag.to, &handed);
            }
        }
        if self.plan.barriers[node as usize] {
            self.state.barrier(self.time);
        }
        match &flow.nodes[node as usize].kind {
            Kind::Plain(work) => self.work(node, work),
            Kind::Barrier | Kind::Meeting => self.state.barrier(self.time),
            Kind::Loop { body, rounds } => self.repeat(node, *body, *rounds),
            Kind::Branch { then, otherwise } => self.branch(node, *then, *otherwise),
        }
        for at in 0..self.plan.after[node as usize].len() {
            let number = self.plan.after[node as usize][at];
            let clock = self.state.clock(self.plan.flags[number as usize].from, self.time);
            self.handed[number as usize] = clock;
        }
    }

    fn work(&mut self, node: u32, work: &Work) {
        let mut before: Option<Pipe> = None;
        for phase in &work.phases {
            for earlier in phase.after.iter().copied().chain(before) {
                let clock = self.state.clock(earlier, self.time);
                self.state.learn(phase.pipe, &clock);
            }
            before = Some(phase.pipe);
            let mut conflicts = core::mem::take(&mut self.conflicts);
            self.history.conflicting(&phase.accesses, phase.pipe, &mut conflicts);
            conflicts.sort_unstable_by_key(|entry| core::cmp::Reverse(entry.time));
            for entry in conflicts.drain(..) {
                if self.state.know[slot(phase.pipe)][slot(entry.pipe)] < entry.time {
                    self.order(&entry, node, phase.pipe);
                }
            }
            self.conflicts = conflicts;
            self.time += 1;
            self.state.last[slot(phase.pipe)] = self.time;
            let clock = self.state.clock(phase.pipe, self.time);
            for access in &phase.accesses {
                self.history.add(Entry { access: *access, pipe: phase.pipe, time: self.time, node, clock });
            }
        }
        if let Some(last) = before {
            let clock = self.state.clock(last, self.time);
            for pipe in &work.releases {
                self.state.learn(*pipe, &clock);
            }
        }
    }

    /// Orders what a pipe does at a node after an earlier access.
    fn order(&mut self, entry: &Entry, node: u32, pipe: Pipe) {
        if !self.planning {
            self.unordered = true;
            return;
        }
        let carrying = self.replay.filter(|replay| entry.time > replay.first && entry.time <= replay.second);
        let block = match carrying {
            Some(replay) => replay.body,
            None => self.common(entry.node),
        };
        let (Some(set), Some(wait)) = (self.flow.lift(entry.node, block), self.flow.lift(node, block)) else { return };
        let mut span = Span::Once;
        if let Some(replay) = carrying
            && set >= wait
        {
            span = Span::Carried(replay.node);
        }
        let flag = Planned { from: entry.pipe, to: pipe, set, wait, span, event: 0, dropped: false };
        let clock = match &self.exits[set as usize] {
            Some(state) if set != entry.node => state.clock(entry.pipe, self.exit_times[set as usize]),
            _ => entry.clock,
        };
        self.plan.add(flag);
        self.handed.push(clock);
        let mut primed = clock;
        if let (Span::Carried(_), Some(frame)) = (span, self.frames.iter().find(|frame| frame.block == block)) {
            primed = frame.entry.clock(entry.pipe, carrying.map_or(0, |replay| replay.first));
        }
        self.primed.push(primed);
        self.state.learn(pipe, &clock);
        // A wait before the loop or conditional that the node is in holds for every path through that.
        let depth = self.frames.iter().position(|frame| frame.block == block).unwrap_or(0);
        for frame in &mut self.frames[depth + 1..] {
            if span == Span::Once {
                frame.entry.learn(pipe, &clock);
            }
        }
    }

    /// The innermost region that is being walked and that a node is in.
    fn common(&self, node: u32) -> u32 {
        let mut block = self.flow.nodes[node as usize].region;
        while block != 0 && !self.frames.iter().any(|frame| frame.block == block) {
            block = self.flow.blocks[block as usize].parent;
        }
        block
    }

    fn repeat(&mut self, node: u32, body: u32, rounds: u64) {
        for number in self.carried(node) {
            let clock = self.state.clock(self.plan.flags[number].from, self.time);
            (self.handed[number], self.primed[number]) = (clock, clock);
        }
        let before = (rounds == 0).then(|| self.history.clone());
        let first = self.time;
        self.frames.push(Frame { block: body, entry: self.state.clone() });
        self.block(body);
        // What each flag hands over if the loop runs once.
        let mut once: Vec<Clock> = self.carried(node).into_iter().map(|number| self.handed[number]).collect();
        let mut second = first;
        if self.replay.is_none() && !self.unordered {
            second = self.time;
            let state = self.state.clone();
            self.replay = Some(Replay { node, body, first, second });
            self.block(body);
            self.replay = None;
            if rounds < 2 {
                for (know, once) in self.state.know.iter_mut().zip(&state.know) {
                    in_one_round(know, once, second);
                }
            }
        }
        // Judged again in a later round of the loop around it, an inner loop has its rounds as well; each level doubles
        // the work.
        if self.replay.is_some_and(|replay| replay.node != node)
            && !self.planning
            && rounds > 1
            && self.frames.len() < 6
        {
            self.block(body);
        }
        let Some(frame) = self.frames.pop() else { return };
        if let Some(before) = before {
            let inside = core::mem::take(&mut self.history);
            self.history = before.with(inside, first);
            let ran = core::mem::take(&mut self.state);
            self.state = ran.meet(frame.entry, self.time);
        }
        let carried = self.carried(node);
        once.extend(carried[once.len()..].iter().map(|number| self.primed[*number]));
        for (number, once) in carried.into_iter().zip(once) {
            let (flag, primed, mut clock) = (self.plan.flags[number], self.primed[number], self.handed[number]);
            if flag.dropped {
                continue;
            }
            if rounds < 2 {
                in_one_round(&mut clock, &once, second);
            }
            if rounds == 0 {
                // Without a round the wait is for the set before the loop, and then there is nothing of the body to know.
                let own = clock[slot(flag.from)];
                clock = primed;
                clock[slot(flag.from)] = own.max(primed[slot(flag.from)]);
            }
            self.state.learn(flag.to, &clock);
        }
        self.leave(node);
    }

    /// The flags that a loop carries.
    fn carried(&self, node: u32) -> Vec<usize> {
        self.plan.carried.get(&node).map_or(Vec::new(), |flags| flags.iter().map(|flag| *flag as usize).collect())
    }

    fn branch(&mut self, node: u32, then: u32, otherwise: u32) {
        let before = self.history.clone();
        let start = self.time;
        self.frames.push(Frame { block: then, entry: self.state.clone() });
        self.block(then);
        let Some(frame) = self.frames.pop() else { return };
        let after_then = core::mem::replace(&mut self.state, frame.entry);
        let then_history = core::mem::replace(&mut self.history, before.clone());
        let middle = self.time;
        let waits = self.plan.flags.len();
        self.frames.push(Frame { block: otherwise, entry: State::default() });
        self.block(otherwise);
        self.frames.pop();
        let mut after_then = after_then;
        // What the second branch made wait before the conditional holds for the first as well.
        for flag in waits..self.plan.flags.len() {
            let planned = self.plan.flags[flag];
            if planned.wait == node {
                let clock = self.handed[flag];
                after_then.learn(planned.to, &clock);
            }
        }
        let after_else = core::mem::take(&mut self.state);
        self.state = after_then.meet(after_else, self.time);
        let else_history = core::mem::take(&mut self.history);
        self.history = before.with(then_history, start).with(else_history, middle);
        self.leave(node);
    }

    fn leave(&mut self, node: u32) {
        if self.planning {
            self.exits[node as usize] = Some(Box::new(self.state.clone()));
            self.exit_times[node as usize] = self.time;
        }
    }
}

/// Takes back what was learnt by way of an earlier round: a loop may run only once.
fn in_one_round(clock: &mut Clock, once: &Clock, second: u32) {
    for (known, once) in clock.iter_mut().zip(once) {
        if *known <= second {
            *known = (*known).min(*once);
        }
    }
}
