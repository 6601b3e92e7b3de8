//! What each pipe knows of the others at a point of the program.
//!
//! Runs of instructions are numbered in the order in which the walk meets them. Pipes run in order, so one number says
//! all: a pipe that knows another up to `t` is ordered after all its runs up to `t`.

use crate::Pipe;

pub(super) const PIPES: usize = Pipe::EACH.len();

/// What one pipe knows of each.
pub(super) type Clock = [u32; PIPES];

/// The position of a pipe in a clock.
pub(super) fn slot(pipe: Pipe) -> usize {
    pipe.slot()
}

pub(super) fn join(into: &mut Clock, from: &Clock) {
    for (into, from) in into.iter_mut().zip(from) {
        *into = (*into).max(*from);
    }
}

/// What every pipe knows, and when each ran last.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub(super) know: [Clock; PIPES],
    pub(super) last: Clock,
}

impl State {
    /// What a pipe would hand over now: what it knows, and all that it has run itself.
    pub(super) fn clock(&self, pipe: Pipe, now: u32) -> Clock {
        let mut clock = self.know[slot(pipe)];
        clock[slot(pipe)] = now;
        clock
    }

    pub(super) fn learn(&mut self, pipe: Pipe, clock: &Clock) {
        join(&mut self.know[slot(pipe)], clock);
    }

    /// Everything so far is known to all.
    pub(super) fn barrier(&mut self, now: u32) {
        self.know = [[now; PIPES]; PIPES];
    }

    /// What holds whichever of two paths was taken.
    ///
    /// A pipe that knows all that another ran on a path knows it up to now on that path: what it ran on the other path
    /// has not happened here. Without this a join would forget everything that only one branch did.
    pub(super) fn meet(mut self, mut other: Self, now: u32) -> Self {
        for state in [&mut self, &mut other] {
            for know in &mut state.know {
                for (known, last) in know.iter_mut().zip(state.last) {
                    if *known >= last {
                        *known = now;
                    }
                }
            }
        }
        for (mine, theirs) in self.know.iter_mut().zip(&other.know) {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine = (*mine).min(*theirs);
            }
        }
        join(&mut self.last, &other.last);
        self
    }
}
