//! Judges a trace: happens-before as reachability in a graph of everything that ran, flags as they are used, bytes of
//! tiles as they are overwritten. Nothing here is a clock, and nothing is shared with lowering but the table of
//! footprints.

use std::collections::{HashMap, HashSet};

use pto_ir::{Flag, Pipe};

use super::trace::{Access, CACHE, Event, UB};

/// What ran, on which pipe, after what.
#[derive(Default)]
struct Graph {
    /// For each node, everything before it, as a set of bits.
    before: Vec<Vec<u64>>,
    tail: HashMap<Pipe, usize>,
}

impl Graph {
    fn node(&mut self, pipe: Option<Pipe>, after: &[usize]) -> usize {
        let number = self.before.len();
        let mut before = vec![0u64; number / 64 + 1];
        let order = pipe.and_then(|pipe| self.tail.get(&pipe).copied());
        for earlier in after.iter().copied().chain(order) {
            for (word, bits) in before.iter_mut().zip(&self.before[earlier]) {
                *word |= bits;
            }
            before[earlier / 64] |= 1 << (earlier % 64);
        }
        self.before.push(before);
        if let Some(pipe) = pipe {
            self.tail.insert(pipe, number);
        }
        number
    }

    fn ordered(&self, earlier: usize, later: usize) -> bool {
        self.before[later].get(earlier / 64).is_some_and(|word| word >> (earlier % 64) & 1 == 1)
    }
}

/// Everything that is wrong with the order of a trace; `ignored` are flag statements to leave out.
pub fn faults(events: &[Event], ignored: &[usize]) -> Vec<String> {
    let mut graph = Graph::default();
    let mut accesses: Vec<(usize, Pipe, &Access, &str)> = Vec::new();
    let mut pending: HashMap<Flag, usize> = HashMap::new();
    let mut faults = Vec::new();
    for event in events {
        match event {
            Event::Set(_, statement) | Event::Wait(_, statement) if ignored.contains(statement) => {}
            Event::Set(flag, _) => {
                let node = graph.node(Some(flag.from), &[]);
                if pending.insert(*flag, node).is_some() {
                    faults.push(format!("{flag:?} is set twice"));
                }
            }
            Event::Wait(flag, _) => match pending.remove(flag) {
                Some(set) => drop(graph.node(Some(flag.to), &[set])),
                None => faults.push(format!("{flag:?} is waited for and not set")),
            },
            Event::Barrier => {
                let tails: Vec<usize> = graph.tail.values().copied().collect();
                let node = graph.node(None, &tails);
                for pipe in Pipe::EACH {
                    graph.node(Some(pipe), &[node]);
                }
            }
            Event::Work { name, footprint, accesses: touched } => {
                for (from, to) in footprint.handshakes {
                    if pending.contains_key(&Flag { from: *from, to: *to, event: 0 }) {
                        faults.push(format!("{name} uses EVENT_ID0 of {from:?} -> {to:?}, which is pending"));
                    }
                }
                let mut last = None;
                for (number, (phase, touched)) in footprint.phases.iter().zip(touched).enumerate() {
                    // The instruction's own waits order its second phase.
                    let waits = if number == 1 { footprint.waits_for } else { &[] };
                    let mut after: Vec<usize> = waits.iter().filter_map(|pipe| graph.tail.get(pipe).copied()).collect();
                    after.extend(last);
                    let node = graph.node(Some(phase.pipe), &after);
                    last = Some(node);
                    accesses.extend(touched.iter().map(|access| (node, phase.pipe, access, name.as_str())));
                }
                if let Some(last) = last {
                    for pipe in footprint.releases {
                        graph.node(Some(*pipe), &[last]);
                    }
                }
            }
        }
    }
    faults.extend(pending.keys().map(|flag| format!("{flag:?} is never waited for")));
    for (at, later) in accesses.iter().enumerate() {
        for earlier in &accesses[..at] {
            if conflict(earlier, later) && earlier.0 != later.0 && !graph.ordered(earlier.0, later.0) {
                faults.push(format!("{} {:?} races with {} {:?}", earlier.3, earlier.2, later.3, later.2));
            }
        }
    }
    faults
}

fn conflict(earlier: &(usize, Pipe, &Access, &str), later: &(usize, Pipe, &Access, &str)) -> bool {
    if later.2.space == CACHE {
        return earlier.2.space != UB && earlier.2.write && earlier.1 == Pipe::V;
    }
    let (a, b) = (earlier.2, later.2);
    a.space == b.space && (a.write || b.write) && a.range.0 < b.range.1 && b.range.0 < a.range.1
}

/// The flag statements that belong together: those whose sets and waits met in a trace.
pub fn flags(events: &[Event]) -> Vec<Vec<usize>> {
    let mut pending: HashMap<Flag, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for event in events {
        match event {
            Event::Set(flag, statement) => drop(pending.insert(*flag, *statement)),
            Event::Wait(flag, statement) => {
                let set = pending.remove(flag).expect("a set before the wait");
                let (mine, others): (Vec<_>, Vec<_>) = groups
                    .into_iter()
                    .partition(|group: &Vec<usize>| group.contains(&set) || group.contains(statement));
                let mut group: Vec<usize> = mine.into_iter().flatten().chain([set, *statement]).collect();
                group.sort_unstable();
                group.dedup();
                groups = others;
                groups.push(group);
            }
            _ => {}
        }
    }
    groups
}

/// Reads of tiles whose bytes another tile has overwritten since they were written.
pub fn overwritten(events: &[Event]) -> Vec<String> {
    let mut owner: HashMap<u64, u64> = HashMap::new();
    let mut written: HashSet<(u64, u64)> = HashSet::new();
    let mut faults = Vec::new();
    let blocks = |access: &Access| access.range.0 / 32..access.range.1.div_ceil(32);
    for event in events {
        let Event::Work { name, accesses, .. } = event else { continue };
        let tiles = || accesses.iter().flatten().filter(|access| access.space == UB);
        for (write, read) in
            tiles().filter(|write| write.write).flat_map(|write| tiles().map(move |read| (write, read)))
        {
            if write.tile != read.tile && write.range.0 < read.range.1 && read.range.0 < write.range.1 {
                faults.push(format!("{name} writes {write:?} over its own operand {read:?}"));
            }
        }
        for phase in accesses {
            let tiles = phase.iter().filter(|access| access.space == UB);
            let (writes, reads): (Vec<&Access>, Vec<&Access>) = tiles.partition(|access| access.write);
            for read in &reads {
                let tile = read.tile.expect("UB is accessed through tiles");
                if blocks(read).any(|block| written.contains(&(tile, block)) && owner.get(&block) != Some(&tile)) {
                    faults.push(format!("{name} reads {read:?}, which has been overwritten"));
                }
            }
            for write in writes {
                let tile = write.tile.expect("UB is accessed through tiles");
                owner.extend(blocks(write).map(|block| (block, tile)));
                written.extend(blocks(write).map(|block| (tile, block)));
            }
        }
    }
    faults
}
