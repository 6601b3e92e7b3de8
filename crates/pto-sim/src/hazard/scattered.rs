//! Accesses to scattered elements: for each pipe and way, which elements were touched, by what.
//!
//! A lane costs a bit. The elements that one step touches form a [`Group`] with a bit for each element of the buffer, or
//! for each row, and later rounds of that step join it as long as no pipe can tell them apart. So a group stands for accesses that
//! race with the same ones, and a loop keeps as many groups as it has steps that scatter, times the few moments that
//! pipes still tell apart. What does not fit goes to an array with the number of the last access to each element
//! ([`Settled`]), which is exact as well and larger.
//!
//! While an instruction is executed its elements are in a bit map of their own ([`Layer::hit`]): an element that is
//! there already is one where two lanes meet. Rows that are the same or have nothing in common need one bit each.

use pto_ir::Pipe;

use super::elements::{Elements, Touched};
use super::{Access, Kind, Race};
use crate::clock::{Clock, slot};
use crate::slots::Slots;

/// Groups that a layer keeps; with one bit each that is two bytes for each element.
const GROUPS: usize = 16;

/// Accesses of one step that nothing can tell apart.
#[derive(Clone, Debug)]
struct Group {
    /// The latest epoch: whoever has seen it has seen all.
    epoch: u64,
    step: u32,
    elements: Touched,
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
    /// Elements of the buffer.
    count: u64,
    /// What the instruction that is being executed has touched; empty between instructions.
    hit: Elements,
    /// The rows that it has touched; empty as well.
    hit_rows: Elements,
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

impl Settled {
    /// Takes a group, newer than all before it.
    fn put(&mut self, mut group: Group, count: u64) {
        if self.marks.is_empty() {
            self.marks = vec![0; count.next_multiple_of(64) as usize];
            self.accesses = vec![(0, 0)];
        }
        let number = self.accesses.len() as u32;
        self.accesses.push((group.epoch, group.step));
        group.elements.each(count).for_each(|element| self.marks[element] = number);
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
        match elements.row_shift() {
            Some(shift) => {
                self.hit_rows.reserve((self.count >> shift) + 1);
                self.hit_rows.add_firsts(&elements.starts, shift, met);
            }
            None => {
                self.hit.reserve(self.count);
                if elements.length == 1 {
                    self.hit.add_firsts(&elements.starts, 0, met);
                } else {
                    self.hit.add_meeting(elements, met);
                }
            }
        }
    }

    /// The elements of an access, those that were hit included, join the groups.
    fn record(&mut self, access: Access, elements: &Slots, hit: bool, seen: impl FnOnce() -> Seen) {
        let same = |group: &Group| (group.epoch, group.step) == (access.epoch, access.step);
        let position = self.groups.iter().rposition(same).unwrap_or_else(|| {
            if self.groups.len() == GROUPS {
                self.compact(&seen());
            }
            self.groups.push(Group { epoch: access.epoch, step: access.step, elements: Touched::default() });
            self.groups.len() - 1
        });
        let group = &mut self.groups[position];
        match elements.row_shift() {
            None if hit => group.elements.take(&mut self.hit, elements, self.count),
            Some(shift) if hit => {
                self.hit_rows.clear(&elements.starts, shift);
                group.elements.add(elements, self.count);
            }
            _ => group.elements.add(elements, self.count),
        }
    }

    /// Makes room for new groups.
    fn compact(&mut self, seen: &Seen) {
        let mut kept: Vec<Group> = Vec::with_capacity(GROUPS + 1);
        for group in self.groups.drain(..).filter(|group| group.epoch > seen.by_all) {
            let alike = kept.iter_mut().find(|k| k.step == group.step && !seen.tells_apart(k.epoch, group.epoch));
            match alike {
                Some(alike) => {
                    alike.epoch = group.epoch;
                    alike.elements.join(group.elements, self.count);
                }
                None => kept.push(group),
            }
        }
        kept.sort_by_key(|group| group.epoch);
        let settle = kept.len().saturating_sub(GROUPS * 3 / 4);
        kept.drain(..settle).for_each(|group| self.settled.put(group, self.count));
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
            let (groups, settled) = (Vec::new(), Settled::default());
            let (hit, hit_rows) = (Elements::default(), Elements::default());
            self.layers.push(Layer { pipe, kind, size, count: length / size, hit, hit_rows, groups, settled });
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
                    let layer = &scattered.layers[0];
                    assert!(layer.hit.is_empty() && layer.hit_rows.is_empty());
                }
            }
        }
    }

    #[test]
    fn forgetting_keeps_what_elements_still_hold() {
        let mut settled = Settled::default();
        for step in 1..10 {
            let mut elements = Touched::default();
            elements.add(&slots(if step == 1 { &[5, 6] } else { &[6] }, 1), ELEMENTS);
            settled.put(Group { epoch: u64::from(step), step, elements }, ELEMENTS);
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
                // Elements, rows side by side and apart, and runs that may overlap.
                let (stride, length) = [(1, 1), (3, 3), (70, 70), (8, 8), (64, 48), (5, 9)][random(6) as usize];
                let first = [0, 2][random(2) as usize];
                let places = (ELEMENTS - first - length) / stride + 1;
                let starts: Vec<u64> = (0..random(4)).map(|_| first + random(places) * stride).collect();
                let touched: Vec<u64> = starts.iter().flat_map(|start| *start..start + length).collect();
                let clock = *clocks.of(pipe);
                let expected: Vec<u64> = touched
                    .iter()
                    .copied()
                    .filter(|element| !everything.racing(kind, pipe, &clock, *element).is_empty())
                    .collect();
                let elements = Slots { stride, ..slots(&starts, length) };
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
