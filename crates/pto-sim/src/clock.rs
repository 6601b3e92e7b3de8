//! Vector clocks: what each pipe has seen of the others.
//!
//! A pipe's own component counts its releases: the moments at which others may learn of its work (a set flag, a
//! barrier, a handshake inside an instruction). Accesses between two releases of a pipe cannot be told apart by any
//! other pipe, so they share an epoch.

use pto_ir::Pipe;

/// Pipes that have a clock.
pub(crate) const PIPES: usize = Pipe::EACH.len();

/// The position of a pipe in a clock.
pub(crate) fn slot(pipe: Pipe) -> usize {
    pipe.slot()
}

/// What has been seen of each pipe: all its epochs up to this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock(pub(crate) [u64; PIPES]);

impl Clock {
    pub(crate) fn join(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = (*mine).max(theirs);
        }
    }
}

/// The clocks of all pipes of one device.
#[derive(Clone, Debug)]
pub(crate) struct Clocks([Clock; PIPES]);

impl Clocks {
    pub(crate) fn new() -> Self {
        let mut clocks = [Clock([0; PIPES]); PIPES];
        for (i, clock) in clocks.iter_mut().enumerate() {
            clock.0[i] = 1;
        }
        Self(clocks)
    }

    pub(crate) fn of(&self, pipe: Pipe) -> &Clock {
        &self.0[slot(pipe)]
    }

    /// The epoch that accesses of a pipe fall into now.
    pub(crate) fn epoch(&self, pipe: Pipe) -> u64 {
        self.0[slot(pipe)].0[slot(pipe)]
    }

    /// Others may learn of everything the pipe has done: what they will have seen.
    pub(crate) fn release(&mut self, pipe: Pipe) -> Clock {
        let seen = self.0[slot(pipe)];
        self.0[slot(pipe)].0[slot(pipe)] += 1;
        seen
    }

    /// A pipe learns what was released.
    pub(crate) fn acquire(&mut self, pipe: Pipe, seen: &Clock) {
        self.0[slot(pipe)].join(seen);
    }

    /// One pipe's work is ordered before what another does from now on.
    pub(crate) fn order(&mut self, from: Pipe, to: Pipe) {
        if from != to {
            let seen = self.release(from);
            self.acquire(to, &seen);
        }
    }

    /// Everything done so far is ordered before everything to come.
    pub(crate) fn join_all(&mut self) {
        let mut all = Clock([0; PIPES]);
        for pipe in Pipe::EACH {
            let seen = self.release(pipe);
            all.join(&seen);
        }
        for pipe in Pipe::EACH {
            self.acquire(pipe, &all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_is_seen_only_after_its_release() {
        let mut clocks = Clocks::new();
        let before = clocks.epoch(Pipe::Mte2);
        assert!(clocks.of(Pipe::V).0[slot(Pipe::Mte2)] < before);
        clocks.order(Pipe::Mte2, Pipe::V);
        assert!(clocks.of(Pipe::V).0[slot(Pipe::Mte2)] >= before);
        assert!(clocks.of(Pipe::V).0[slot(Pipe::Mte2)] < clocks.epoch(Pipe::Mte2), "what follows is not seen yet");
    }

    #[test]
    fn seeing_is_transitive() {
        let mut clocks = Clocks::new();
        let epoch = clocks.epoch(Pipe::Mte2);
        clocks.order(Pipe::Mte2, Pipe::V);
        clocks.order(Pipe::V, Pipe::Mte3);
        assert!(clocks.of(Pipe::Mte3).0[slot(Pipe::Mte2)] >= epoch);
        assert!(clocks.of(Pipe::S).0[slot(Pipe::Mte2)] < epoch);
    }
}
