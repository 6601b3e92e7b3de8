//! Accesses to scattered elements: for each pipe and way, which elements were touched, by what.
//!
//! A lane costs a bit. The elements that one step touches form a [`Group`] with a bit for each element of the buffer,
//! and later rounds of that step join it as long as no pipe can tell them apart. So a group stands for accesses that
//! race with the same ones, and a loop keeps as many groups as it has steps that scatter, times the few moments that
//! pipes still tell apart. What does not fit goes to an array with the number of the last access to each element
//! ([`Settled`]), which is exact as well and larger.
//!
//! While an instruction is executed its elements are in a bit map of their own ([`Layer::hit`]): an element that is
//! there already is one where two lanes meet. Of runs that are the same or have nothing in common, as the rows of a
//! table, the first elements are enough for that.

use pto_ir::Pipe;

use super::{Access, Kind, Race};
use crate::clock::{Clock, slot};
use crate::slots::Slots;

/// Groups that a layer keeps; with one bit each that is two bytes for each element.
const GROUPS: usize = 16;

/// A set of elements.
#[derive(Clone, Debug, Default)]
struct Elements(Vec<u64>);

/// Accesses of one step that nothing can tell apart.
#[derive(Clone, Debug)]
struct Group {
    /// The latest epoch: whoever has seen it has seen all.
    epoch: u64,
    step: u32,
    elements: Elements,
}

/// The last of the accesses that left their groups, for each element.
#[derive(Clone, Debug, Default)]
struct Settled {
    /// The number of the last access to each element; 0 where there was none.
    marks: Vec<u32>,
    /// Epoch and step of each access, by its number.
    accesses: Vec<(u64, u32)>,
}

/// The accesses of one pipe, in one way, to elements of one size.
#[derive(Clone, Debug)]
struct Layer {
    pipe: Pipe,
    kind: Kind,
    /// Bytes of an element.
    size: u64,
    /// What the instruction that is being executed has touched; empty between instructions.
    hit: Elements,
    /// From the oldest to the newest; all newer than what has settled.
    groups: Vec<Group>,
    settled: Settled,
}

/// The scattered accesses to one buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scattered {
    /// At most one for each pipe, way and element size.
    layers: Vec<Layer>,
}

/// How far pipes have seen, or may come to see, the work of one pipe.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Every epoch that some pipe or pending flag has seen up to: only these tell accesses apart.
    pub(crate) up_to: Vec<u64>,
    /// The epoch that every other pipe which touches memory has seen.
    pub(crate) by_all: u64,
}

impl Seen {
    /// True if someone may see the earlier epoch without the later one.
    fn tells_apart(&self, earlier: u64, later: u64) -> bool {
        self.up_to.iter().any(|epoch| (earlier..later).contains(epoch))
    }
}

/// The bits of a word that elements `first..end` take, where `word` is the first or last that they touch.
fn mask(word: u64, first: u64, end: u64) -> u64 {
    let (low, high) = (first.max(word * 64) - word * 64, end.min(word * 64 + 64) - word * 64);
    (u64::MAX >> (64 - (high - low))) << low
}

impl Elements {
    fn new(count: u64) -> Self {
        Self(vec![0; count.div_ceil(64) as usize])
    }

    /// Adds the elements that runs begin with; those that were there have met.
    fn add_firsts(&mut self, starts: &[u64], met: &mut Vec<u64>) {
        let words = &mut self.0[..];
        for &start in starts {
            let Some(word) = words.get_mut((start / 64) as usize) else { continue };
            let before = *word;
            *word = before | 1 << (start % 64);
            if *word == before {
                rare(met, start);
            }
        }
    }

    /// Adds runs of elements; the starts of those whose first element was there have met.
    fn add_meeting(&mut self, elements: &Slots, met: &mut Vec<u64>) {
        for &start in elements.starts.iter().filter(|_| elements.length > 0) {
            if self.0.get((start / 64) as usize).is_some_and(|word| word & 1 << (start % 64) != 0) {
                rare(met, start);
            }
            self.add_run(start, start + elements.length);
        }
    }

    /// Adds runs of elements.
    fn add(&mut self, elements: &Slots) {
        // Rows are mostly of a few whole words, and setting these costs less than a loop that might be of any length.
        match elements.length {
            0 => {}
            1 => self.add_firsts(&elements.starts, &mut Vec::new()),
            64 => self.add_words::<1>(&elements.starts),
            128 => self.add_words::<2>(&elements.starts),
            256 => self.add_words::<4>(&elements.starts),
            512 => self.add_words::<8>(&elements.starts),
            1024 => self.add_words::<16>(&elements.starts),
            length => elements.starts.iter().for_each(|start| self.add_run(*start, start + length)),
        }
    }

    /// Adds runs of so many words.
    fn add_words<const WORDS: usize>(&mut self, starts: &[u64]) {
        for &start in starts {
            let words = self.0.get_mut((start / 64) as usize..).and_then(|words| words.first_chunk_mut::<WORDS>());
            match words {
                Some(words) if start.is_multiple_of(64) => *words = [u64::MAX; WORDS],
                _ => self.add_run(start, start + 64 * WORDS as u64),
            }
        }
    }

    fn add_run(&mut self, start: u64, end: u64) {
        let (first, last) = (start / 64, end.div_ceil(64).min(self.0.len() as u64));
        let Some(words) = self.0.get_mut(first as usize..last as usize) else { return };
        words.iter_mut().zip(first..).for_each(|(bits, word)| *bits |= mask(word, start, end));
    }

    /// Forgets elements and those near them.
    fn clear_near(&mut self, elements: &[u64]) {
        for element in elements {
            if let Some(word) = self.0.get_mut((element / 64) as usize) {
                *word = 0;
            }
        }
    }

    /// Moves the elements of a set, all of them in `runs`, here.
    fn take(&mut self, from: &mut Self, runs: &Slots) {
        let take = |to: &mut u64, from: &mut u64| *to |= std::mem::take(from);
        // Going through the whole set is faster where many of its words have been touched.
        let words = runs.length.div_ceil(64) + 1;
        if runs.starts.len() as u64 * words * 4 >= self.0.len() as u64 {
            self.0.iter_mut().zip(&mut from.0).for_each(|(to, from)| take(to, from));
            return;
        }
        for &start in &runs.starts {
            let words = (start / 64) as usize..(start + runs.length).div_ceil(64) as usize;
            let (Some(to), Some(from)) = (self.0.get_mut(words.clone()), from.0.get_mut(words)) else { continue };
            to.iter_mut().zip(from).for_each(|(to, from)| take(to, from));
        }
    }

    fn join(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// The first element within `first..end`.
    fn first_within(&self, first: u64, end: u64) -> Option<u64> {
        let end = end.min(self.0.len() as u64 * 64);
        (first / 64..end.div_ceil(64)).find_map(|word| {
            let bits = self.0.get(word as usize)? & mask(word, first, end);
            (bits != 0).then(|| word * 64 + u64::from(bits.trailing_zeros()))
        })
    }

    fn each(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = rest.trailing_zeros();
                rest &= rest.checked_sub(1)?;
                Some(at * 64 + bit as usize)
            })
        })
    }
}

/// A lane that met another one. Out of line, where it does not slow the others down.
#[cold]
#[inline(never)]
fn rare(met: &mut Vec<u64>, start: u64) {
    met.push(start);
}

impl Settled {
    /// Takes a group, newer than all before it.
    fn put(&mut self, group: &Group) {
        if self.marks.is_empty() {
            self.marks = vec![0; group.elements.0.len() * 64];
            self.accesses = vec![(0, 0)];
        }
        let number = self.accesses.len() as u32;
        self.accesses.push((group.epoch, group.step));
        group.elements.each().for_each(|element| self.marks[element] = number);
        // Each element holds one number, so half of these at least are held by none.
        if self.accesses.len() > 2 * self.marks.len() + 1024 {
            self.forget();
        }
    }

    /// Forgets accesses that no element holds any more.
    fn forget(&mut self) {
        let mut numbers = vec![0u32; self.accesses.len()];
        let mut kept = vec![(0, 0)];
        for mark in &mut self.marks {
            let number = &mut numbers[*mark as usize];
            if *mark != 0 && *number == 0 {
                *number = kept.len() as u32;
                kept.push(self.accesses[*mark as usize]);
            }
            *mark = *number;
        }
        self.accesses = kept;
    }

    /// The first element within `first..end` whose access has not been seen.
    fn unseen(&self, seen: u64, first: u64, end: u64) -> Option<(u64, (u64, u32))> {
        let end = (end as usize).min(self.marks.len());
        let marks = self.marks.get(first as usize..end)?;
        let unseen = |mark: &u32| *mark != 0 && self.accesses[*mark as usize].0 > seen;
        let at = marks.iter().position(unseen)?;
        Some((first + at as u64, self.accesses[marks[at] as usize]))
    }
}

impl Layer {
    /// True if the layer may hold an access that races with one of `kind` by a pipe with this clock.
    fn matters(&self, kind: Kind, pipe: Pipe, clock: &Clock) -> bool {
        let latest = self.groups.last().map_or(0, |group| group.epoch);
        (kind == Kind::Write || self.kind == Kind::Write) && self.pipe != pipe && clock.0[slot(self.pipe)] < latest
    }

    /// The first unseen element that overlaps bytes `start..end`, by the newest access to touch any.
    fn find(&self, clock: &Clock, start: u64, end: u64) -> Option<Race> {
        let seen = clock.0[slot(self.pipe)];
        let (first, last) = (start / self.size, end.div_ceil(self.size));
        let unseen = self.groups.iter().rev().take_while(|group| group.epoch > seen);
        let mut found =
            unseen.map(|group| Some((group.elements.first_within(first, last)?, (group.epoch, group.step))));
        let found = found.find_map(|found| found).or_else(|| self.settled.unseen(seen, first, last));
        let (element, (epoch, step)) = found?;
        let earlier = Access { pipe: self.pipe, epoch, step };
        Some(Race { earlier, earlier_kind: self.kind, byte: (element * self.size).max(start) })
    }

    /// Looks at the elements of an instruction for lanes that meet.
    fn look(&mut self, elements: &Slots, met: &mut Vec<u64>) {
        if elements.are_apart() && elements.length > 0 {
            self.hit.add_firsts(&elements.starts, met);
        } else {
            self.hit.add_meeting(elements, met);
        }
    }

    /// The elements of an access, those that were hit included, join the groups.
    fn record(&mut self, access: Access, elements: &Slots, hit: bool, seen: impl FnOnce() -> Seen) {
        let same = |group: &Group| (group.epoch, group.step) == (access.epoch, access.step);
        let position = self.groups.iter().rposition(same).unwrap_or_else(|| {
            if self.groups.len() == GROUPS {
                self.compact(&seen());
            }
            let elements = Elements(vec![0; self.hit.0.len()]);
            self.groups.push(Group { epoch: access.epoch, step: access.step, elements });
            self.groups.len() - 1
        });
        let group = &mut self.groups[position];
        if hit && (elements.length == 1 || !elements.are_apart()) {
            return group.elements.take(&mut self.hit, elements);
        }
        if hit {
            self.hit.clear_near(&elements.starts);
        }
        group.elements.add(elements);
    }

    /// Makes room for new groups.
    fn compact(&mut self, seen: &Seen) {
        let mut kept: Vec<Group> = Vec::with_capacity(GROUPS + 1);
        for group in self.groups.drain(..).filter(|group| group.epoch > seen.by_all) {
            let alike = kept.iter_mut().find(|k| k.step == group.step && !seen.tells_apart(k.epoch, group.epoch));
            match alike {
                Some(alike) => {
                    alike.elements.join(&group.elements);
                    alike.epoch = group.epoch;
                }
                None => kept.push(group),
            }
        }
        kept.sort_by_key(|group| group.epoch);
        let settle = kept.len().saturating_sub(GROUPS * 3 / 4);
        kept.drain(..settle).for_each(|group| self.settled.put(&group));
        self.groups = kept;
    }
}

impl Scattered {
    /// A contiguous access to `start..end`: does it race with a scattered one?
    pub(crate) fn find(&self, kind: Kind, access: Access, clock: &Clock, start: u64, end: u64) -> Option<Race> {
        self.layers
            .iter()
            .filter(|layer| layer.matters(kind, access.pipe, clock))
            .find_map(|layer| layer.find(clock, start, end))
    }

    fn layer(&mut self, kind: Kind, pipe: Pipe, (length, size): (u64, u64)) -> &mut Layer {
        let same = |layer: &Layer| (layer.kind, layer.pipe, layer.size) == (kind, pipe, size);
        let position = self.layers.iter().position(same).unwrap_or_else(|| {
            let (hit, groups, settled) = (Elements::new(length / size), Vec::new(), Settled::default());
            self.layers.push(Layer { pipe, kind, size, hit, groups, settled });
            self.layers.len() - 1
        });
        &mut self.layers[position]
    }

    /// Looks at the elements that an instruction is about to access; returns the starts of lanes that met.
    pub(crate) fn hit(&mut self, kind: Kind, pipe: Pipe, buffer: (u64, u64), elements: &Slots) -> Vec<u64> {
        let mut meeting = Vec::new();
        self.layer(kind, pipe, buffer).look(elements, &mut meeting);
        meeting
    }

    /// Records an access to elements of a buffer of this many bytes and bytes for each element, `hit` before or not, and
    /// reports the first race with another pipe's.
    pub(crate) fn settle(
        &mut self,
        kind: Kind,
        access: Access,
        (clock, seen): (&Clock, impl FnOnce() -> Seen),
        buffer: (u64, u64),
        (elements, hit): (&Slots, bool),
    ) -> Option<Race> {
        self.layer(kind, access.pipe, buffer).record(access, elements, hit, seen);
        let size = buffer.1;
        let others = self.layers.iter().filter(|layer| layer.matters(kind, access.pipe, clock));
        let meets = |layer: &Layer| {
            let race = |start: &u64| layer.find(clock, start * size, (start + elements.length) * size);
            elements.starts.iter().find_map(race)
        };
        others.map(meets).find_map(|race| race)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clocks;

    const ELEMENTS: u64 = 200;
    const BUFFER: (u64, u64) = (ELEMENTS * 4, 4);

    /// Runs that may overlap.
    fn slots(starts: &[u64], length: u64) -> Slots {
        Slots { starts: starts.to_vec(), length, stride: 1, runs_per_lane: 1 }
    }

    /// Runs that are the same or have nothing in common.
    fn rows(starts: &[u64], length: u64) -> Slots {
        Slots { stride: length, ..slots(starts, length) }
    }

    fn seen(clocks: &Clocks, pipe: Pipe) -> Seen {
        let others = Pipe::EACH.into_iter().filter(|other| *other != pipe);
        let up_to: Vec<u64> = others.map(|other| clocks.of(other).0[slot(pipe)]).collect();
        let by_all = up_to.iter().copied().min().unwrap_or(0);
        Seen { up_to, by_all }
    }

    fn access(
        scattered: &mut Scattered,
        clocks: &Clocks,
        kind: Kind,
        access: Access,
        elements: &Slots,
    ) -> Option<Race> {
        let hit = kind == Kind::Write;
        if hit {
            scattered.hit(kind, access.pipe, BUFFER, elements);
        }
        let seen = || seen(clocks, access.pipe);
        scattered.settle(kind, access, (clocks.of(access.pipe), seen), BUFFER, (elements, hit))
    }

    fn now(clocks: &Clocks, pipe: Pipe, step: u32) -> Access {
        Access { pipe, epoch: clocks.epoch(pipe), step }
    }

    #[test]
    fn only_the_elements_that_were_hit_race() {
        let mut clocks = Clocks::new();
        let mut scattered = Scattered::default();
        let write = now(&clocks, Pipe::V, 7);
        assert_eq!(access(&mut scattered, &clocks, Kind::Write, write, &slots(&[3, 9], 1)), None);
        let read = Access { pipe: Pipe::Mte2, epoch: 1, step: 8 };
        let find = |scattered: &Scattered, clocks: &Clocks, start, end| {
            scattered.find(Kind::Read, read, clocks.of(Pipe::Mte2), start, end).map(|race| (race.earlier, race.byte))
        };
        assert_eq!(find(&scattered, &clocks, 0, 12), None);
        assert_eq!(find(&scattered, &clocks, 0, 13), Some((write, 12)));
        assert_eq!(find(&scattered, &clocks, 38, 64), Some((write, 38)));
        let scalar = now(&clocks, Pipe::S, 9);
        assert!(access(&mut scattered, &clocks, Kind::Write, scalar, &slots(&[9], 1)).is_some());
        clocks.order(Pipe::V, Pipe::Mte2);
        clocks.order(Pipe::S, Pipe::Mte2);
        assert_eq!(find(&scattered, &clocks, 0, 64), None);
    }

    #[test]
    fn lanes_that_meet_are_found_anew_for_every_access() {
        let clocks = Clocks::new();
        let mut scattered = Scattered::default();
        for (starts, length) in [(&[1, 130, 1, 1][..], 1), (&[0, 96, 0, 0], 96)] {
            for _ in 0..3 {
                for elements in [slots(starts, length), rows(starts, length)] {
                    assert_eq!(scattered.hit(Kind::Write, Pipe::V, BUFFER, &elements), [starts[0]; 2]);
                    let (access, seen) = (now(&clocks, Pipe::V, 1), || seen(&clocks, Pipe::V));
                    scattered.settle(Kind::Write, access, (clocks.of(Pipe::V), seen), BUFFER, (&elements, true));
                    assert!(scattered.layers[0].hit.0.iter().all(|word| *word == 0));
                }
            }
        }
    }

    #[test]
    fn runs_of_every_length_and_start_are_added_whole() {
        let count = 5 * 1024;
        for length in [0, 1, 3, 63, 64, 65, 128, 192, 256, 512, 1024] {
            for start in [0, 1, 63, 64, 320, 1000, count - 64, count - length] {
                let mut elements = Elements::new(count);
                elements.add(&slots(&[start, 2048], length));
                let expected = (0..count).filter(|element| {
                    (start..start + length).contains(element) || (2048..2048 + length).contains(element)
                });
                assert!(elements.each().map(|element| element as u64).eq(expected), "{length} at {start}");
            }
        }
    }

    #[test]
    fn forgetting_keeps_what_elements_still_hold() {
        let mut settled = Settled::default();
        for step in 1..10 {
            let mut elements = Elements::new(ELEMENTS);
            elements.add(&slots(if step == 1 { &[5, 6] } else { &[6] }, 1));
            settled.put(&Group { epoch: u64::from(step), step, elements });
        }
        settled.forget();
        assert_eq!(settled.accesses.len(), 3);
        assert_eq!((settled.unseen(0, 5, 6), settled.unseen(0, 6, 7)), (Some((5, (1, 1))), Some((6, (9, 9)))));
        assert_eq!((settled.unseen(1, 0, 200), settled.unseen(9, 0, 200)), (Some((6, (9, 9))), None));
    }

    /// Everything that was ever accessed, and how.
    #[derive(Default)]
    struct Everything(Vec<(Kind, Access, Vec<u64>)>);

    impl Everything {
        /// The accesses that race with one of `kind` by a pipe to an element.
        fn racing(&self, kind: Kind, pipe: Pipe, clock: &Clock, element: u64) -> Vec<Access> {
            let conflicts = |earlier: Kind| kind == Kind::Write || earlier == Kind::Write;
            let races = |(earlier, access, elements): &&(Kind, Access, Vec<u64>)| {
                conflicts(*earlier) && access.unseen_by(pipe, clock) && elements.contains(&element)
            };
            self.0.iter().filter(races).map(|(_, access, _)| *access).collect()
        }
    }

    /// Against a list of every access, with pipes ordered at random and more steps than there are groups.
    #[test]
    fn the_same_races_as_by_keeping_everything() {
        let mut state = 1u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let pipes = [Pipe::S, Pipe::V, Pipe::Mte2, Pipe::Mte3];
        let (mut races, mut settled) = (0, 0);
        for round in 0..100 {
            let (mut clocks, mut scattered, mut everything) =
                (Clocks::new(), Scattered::default(), Everything::default());
            let steps = if round % 2 == 0 { 3 } else { 60 };
            for _ in 0..400 {
                let pipe = pipes[random(4) as usize];
                if random(5) == 0 {
                    let to = pipes[random(4) as usize];
                    if random(50) == 0 {
                        clocks.join_all()
                    } else {
                        clocks.order(pipe, to)
                    }
                    continue;
                }
                let kind = if random(2) == 0 { Kind::Read } else { Kind::Write };
                let access_now = now(&clocks, pipe, random(steps) as u32);
                let length = [1, 1, 3, 70][random(4) as usize];
                let starts: Vec<u64> = (0..random(4)).map(|_| random(ELEMENTS / length) * length).collect();
                let touched: Vec<u64> = starts.iter().flat_map(|start| *start..start + length).collect();
                let clock = *clocks.of(pipe);
                let expected: Vec<u64> = touched
                    .iter()
                    .copied()
                    .filter(|element| !everything.racing(kind, pipe, &clock, *element).is_empty())
                    .collect();
                // The starts are multiples of the length.
                let elements = if random(2) == 0 { slots(&starts, length) } else { rows(&starts, length) };
                let found = access(&mut scattered, &clocks, kind, access_now, &elements);
                assert_eq!(found.is_some(), !expected.is_empty(), "round {round}");
                if let Some(race) = found {
                    let racing = everything.racing(kind, pipe, &clock, race.byte / 4);
                    let named = |a: &Access| (a.pipe, a.step) == (race.earlier.pipe, race.earlier.step);
                    assert!(racing.iter().any(named), "round {round}: {race:?} is none of {racing:?}");
                    races += 1;
                }
                everything.0.push((kind, access_now, touched));
                settled += scattered.layers.iter().filter(|layer| !layer.settled.marks.is_empty()).count();
                assert!(scattered.layers.iter().all(|layer| layer.groups.len() <= GROUPS));
            }
        }
        assert!(races > 1000 && settled > 100, "{races} races, {settled} layers that settled");
    }

    #[test]
    fn a_loop_keeps_few_groups() {
        let (mut clocks, mut scattered) = (Clocks::new(), Scattered::default());
        for round in 0..10_000u64 {
            for step in 0..3 {
                let write = now(&clocks, Pipe::V, step);
                access(&mut scattered, &clocks, Kind::Write, write, &slots(&[round % ELEMENTS], 1));
            }
            clocks.order(Pipe::V, Pipe::Mte2);
            clocks.order(Pipe::Mte2, Pipe::V);
        }
        let layer = &scattered.layers[0];
        assert!(layer.groups.len() <= GROUPS && layer.settled.marks.is_empty(), "{}", layer.groups.len());
    }
}
