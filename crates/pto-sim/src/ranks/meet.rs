//! Where ranks meet: before they run, at barriers, and when they end.

use std::collections::BTreeMap;

use pto_comm::{CommError, Transport};
use pto_ir::{Diagnostic, GroupType, Home, OnRanks, OpKind, Pipe, Type, ValueId};
use pto_isa::rules as isa;

use super::Peers;
use super::log::Log;
use super::race::races;
use super::signal::{Signals, say_blocked};
use super::window::{ALIGNMENT, Placed, Windows};
use super::word::{At, Word};
use crate::device::Span;
use crate::machine::{Argument, Machine, packed_view};
use crate::rules;
use crate::state::{Value, View};
use crate::work::Refusal;

impl<'a> Machine<'a> {
    /// Opens the windows, binds the parameters and meets the other ranks; false, with findings, if there is no running.
    pub(super) fn join(
        &mut self,
        says: OnRanks,
        transport: &'a dyn Transport,
        arguments: &BTreeMap<String, Argument>,
    ) -> Result<bool, CommError> {
        let (rank, ranks) = (transport.rank(), transport.size());
        let slots = self.window_slots(&says, ranks);
        let mine = self.own_windows(&slots, rank, arguments);
        let mut word = Word::new(At::Windows(mine.iter().map(|bytes| bytes.len() as u64).collect()));
        word.error = self.first_error();
        let said = word.tell(transport)?;
        if self.somebody_failed(&said, "could not start") {
            return Ok(false);
        }
        let (placed, ends) = placed_windows(slots, said);
        let window = transport.expose(ends[rank])?;
        let own = placed.iter().filter(|(_, placed)| placed.owner == rank).zip(&mine);
        window.local(&mut |memory| {
            for ((_, placed), bytes) in own.clone() {
                memory[placed.offset as usize..][..bytes.len()].copy_from_slice(bytes);
            }
        })?;
        let mut clock = vec![0; ranks];
        clock[rank] = 1;
        let windows = Windows { window, placed: BTreeMap::new() };
        let (log, signals) = (Log::default(), Signals::new(ranks));
        let peers = Peers { transport, says, windows, clock, log, signals, apart: false };
        let runs = peers.runs();
        self.peers = Some(peers);
        self.bind_all(placed, runs.then_some(arguments));
        let mut word = Word::new(At::Ready(Vec::new()));
        if runs && self.first_error().is_none() && self.views_fit() {
            word.at = At::Ready(self.window_views());
        }
        word.error = self.first_error();
        let said = word.tell(transport)?;
        if self.somebody_failed(&said, "could not start") {
            return Ok(false);
        }
        Ok(self.same_views(&said))
    }

    /// The arrays that this rank's windows hold, with findings where there are none.
    fn own_windows<'b>(
        &mut self,
        slots: &[(ValueId, usize)],
        rank: usize,
        arguments: &'b BTreeMap<String, Argument>,
    ) -> Vec<&'b Vec<u8>> {
        let mut mine = Vec::new();
        for (id, _) in slots.iter().filter(|(_, owner)| *owner == rank) {
            let value = self.function.value(*id);
            match arguments.get(value.name.as_ref()) {
                Some(Argument::Array(bytes)) => mine.push(bytes),
                found => {
                    let found = if found.is_none() { "none" } else { "a number" };
                    let message =
                        format!("expected an array for `{}`, a window of rank {rank}, found {found}", value.name);
                    self.say(Diagnostic::new(rules::LAUNCH_ARGUMENT, value.place, message));
                }
            }
        }
        mine
    }

    /// Binds the parameters that are windows; the others too, where this rank runs and has arguments for them.
    fn bind_all(&mut self, placed: Vec<(ValueId, Placed)>, arguments: Option<&BTreeMap<String, Argument>>) {
        let mut placed = placed.into_iter().peekable();
        for id in self.function.parameter_ids() {
            let mut buffers = Vec::new();
            while let Some((_, window)) = placed.next_if(|(of, _)| *of == id) {
                let name = self.function.value(id).name.to_string();
                let element = match self.module.types.get(self.function.value(id).ty) {
                    Type::Pointer(element) => *element,
                    Type::View(view) | Type::Group(GroupType { view, .. }) => view.element,
                    _ => continue,
                };
                buffers.push(self.add_window(&name, element, Vec::new(), window));
            }
            if !buffers.is_empty() {
                if let Err((rule, message)) = self.bind_window(id, &buffers) {
                    let place = self.function.value(id).place;
                    self.say(Diagnostic::new(rule, place, message));
                }
            } else if let Some(arguments) = arguments {
                let argument = arguments.get(self.function.value(id).name.as_ref()).cloned();
                self.bind_parameter(id, argument);
            }
        }
    }

    /// Every window: the parameter, and the rank whose memory it is.
    fn window_slots(&self, says: &OnRanks, ranks: usize) -> Vec<(ValueId, usize)> {
        let mut slots = Vec::new();
        for (id, home) in self.function.parameter_ids().zip(&says.homes) {
            match home {
                Home::Each => {}
                Home::Rank(rank) => slots.push((id, *rank as usize)),
                Home::Every => slots.extend((0..ranks).map(|rank| (id, rank))),
            }
        }
        slots
    }

    /// Binds a parameter to its window, or to those of all ranks.
    fn bind_window(&mut self, id: ValueId, buffers: &[usize]) -> Result<(), Refusal> {
        let bound = match (self.module.types.get(self.function.value(id).ty), buffers) {
            (Type::Pointer(_), [buffer]) => Value::Pointer { buffer: *buffer, offset: 0 },
            (Type::View(ty), [buffer]) => Value::View(Box::new(self.whole_view(ty, *buffer)?)),
            (Type::Group(ty), buffers) => {
                let views: Result<Vec<View>, Refusal> =
                    buffers.iter().map(|buffer| self.whole_view(&ty.view, *buffer)).collect();
                Value::Group(views?)
            }
            (ty, _) => {
                return Err((
                    rules::COMM_WINDOW,
                    format!("expected a pointer, a view or a group as a window, found {ty}"),
                ));
            }
        };
        self.set_value(id, bound);
        Ok(())
    }

    /// A view parameter's whole buffer.
    fn whole_view(&self, ty: &pto_ir::ViewType, buffer: usize) -> Result<View, Refusal> {
        let shape: Option<Vec<u64>> = ty.shape.iter().copied().collect();
        let unfit = |message: String| (rules::LAUNCH_ARGUMENT, message);
        let shape =
            shape.ok_or_else(|| unfit("a view parameter with unknown extents cannot be bound to an array".into()))?;
        let tensor = packed_view(ty, &shape).map_err(unfit)?;
        let view = View { buffer, offset: 0, tensor, rank: shape.len() };
        self.fits(&view).map_err(|message| (rules::BOUNDS_BUFFER, message))?;
        Ok(view)
    }

    /// The views of windows that arguments and constants decide, in words that all ranks can compare.
    fn window_views(&self) -> Vec<(u32, String)> {
        let mut views = Vec::new();
        for (at, op) in self.function.body.ops.iter().enumerate() {
            if let OpKind::MakeView { result, pointer, shape, strides, layout } = &op.kind
                && shape.iter().chain(strides).all(|operand| self.is_known_operand(*operand))
                && let Ok(view) = self.make_view(*pointer, shape, strides, *layout, *result)
                && self.owner(view.buffer).is_some()
            {
                views.push((at as u32, view.tensor.to_string()));
            }
        }
        views
    }

    /// False, with findings, if ranks see a window in different shapes.
    fn same_views(&mut self, said: &[Word]) -> bool {
        let runners: Vec<(usize, BTreeMap<u32, &String>)> = said
            .iter()
            .enumerate()
            .filter_map(|(rank, word)| match &word.at {
                At::Ready(views) if !views.is_empty() => {
                    Some((rank, views.iter().map(|(at, view)| (*at, view)).collect()))
                }
                _ => None,
            })
            .collect();
        let Some(((first, theirs), others)) = runners.split_first() else { return true };
        for (rank, views) in others {
            let differs =
                theirs.iter().find_map(|(at, view)| Some((*at, *view, *views.get(at)?)).filter(|(_, a, b)| a != b));
            if let Some((at, a, b)) = differs {
                let place = self.function.body.ops.get(at as usize).map_or(self.function.place, |op| op.place);
                let message = format!(
                    "expected the same view of a window at all ranks, found {a} at rank {first} and {b} at rank {rank}"
                );
                self.say(Diagnostic::new(isa::COMM_RANK_SHAPES, place, message));
                return false;
            }
        }
        true
    }

    /// True, with a finding, if another rank has said why it cannot go on; or if this one has.
    fn somebody_failed(&mut self, said: &[Word], what: &str) -> bool {
        let failed = said.iter().enumerate().find_map(|(rank, word)| Some((rank, word.error.as_ref()?)));
        let Some((rank, error)) = failed else { return false };
        if self.first_error().is_none() {
            let message = format!("rank {rank} {what}: {error}");
            let place = self.function.place;
            self.say(Diagnostic::new(rules::COMM_RANK_LOST, place, message));
        }
        true
    }

    /// `pto.comm.barrier`: goes on when every rank is there.
    pub(crate) fn rank_barrier(&mut self, step: u32) {
        self.pump();
        if self.stopped || self.device.scalar_is_stuck() {
            self.stopped = true;
            return;
        }
        if self.peers.is_none() {
            return;
        }
        let start = self.device.now();
        let said = match self.exchange(At::Barrier(step), false) {
            Ok(said) => said,
            Err(error) => return self.comm_failure(&error, Some(step)),
        };
        let gone = said.iter().enumerate().find(|(_, word)| !matches!(word.at, At::Barrier(_)));
        if let Some((rank, word)) = gone {
            let why = word.error.clone().unwrap_or_else(|| "it returned".into());
            let message = format!("rank {rank} has ended and does not come to this barrier: {why}");
            let place = self.place(step);
            self.say(Diagnostic::new(rules::COMM_RANK_LOST, place, message));
            return self.fall_apart();
        }
        let travel = self.timing.map_or(0, |timing| timing.handshake);
        let end = said.iter().map(|word| word.cycle).max().unwrap_or(0) + travel;
        if self.is_device() {
            self.device.hold(Pipe::S, end);
            let place = self.place(step);
            self.span(Span { pipe: Pipe::S, start, end, name: "barrier", place });
        }
    }

    fn fall_apart(&mut self) {
        self.stopped = true;
        if let Some(peers) = &mut self.peers {
            peers.apart = true;
        }
    }

    /// Tells the others where this rank is and what it did, hears the same of them, and looks for races.
    fn exchange(&mut self, at: At, done: bool) -> Result<Vec<Word>, CommError> {
        self.deliver()?;
        let seen = (self.is_device() && !done).then(|| *self.device.clocks.of(Pipe::S));
        // A finding that did not stop the rank keeps nobody from going on.
        let error = self.stopped.then(|| self.first_error()).flatten();
        let (error, cycle) = (error, if done { self.device.total() } else { self.device.now() });
        let Some(peers) = &mut self.peers else { return Ok(Vec::new()) };
        let rank = peers.rank();
        say_blocked(peers, true)?;
        peers.log.close(rank, &peers.clock, seen.as_ref());
        let clock = peers.clock.clone();
        peers.clock[rank] += 1;
        let segments = peers.log.told(rank, &peers.clock);
        let word = Word { at, error, cycle, posted: peers.signals.posted.clone(), clock, segments };
        let said = word.tell(peers.transport)?;
        for word in &said {
            for (mine, theirs) in peers.clock.iter_mut().zip(&word.clock) {
                *mine = (*mine).max(*theirs);
            }
        }
        peers.log.forget();
        peers.windows.expire();
        let sent: Vec<u64> = said.iter().map(|word| word.posted.get(rank).copied().unwrap_or(0)).collect();
        self.rank_races(&said);
        self.settle_signals(&sent)?;
        Ok(said)
    }

    /// Reports the races of this rank with others.
    fn rank_races(&mut self, said: &[Word]) {
        let Some(rank) = self.peers.as_ref().map(Peers::rank) else { return };
        let all: Vec<_> = said.iter().map(|word| word.segments.clone()).collect();
        for race in races(&all) {
            let owner = self.owner(race.buffer).unwrap_or(0);
            // The owner of the window tells, if it is one of the two: it is the one that could have waited.
            let (here, other) =
                if race.first.rank == owner { (race.first, race.second) } else { (race.second, race.first) };
            if here.rank != rank {
                continue;
            }
            let verb = |write: bool, reads: &'static str, writes: &'static str| if write { writes } else { reads };
            let window =
                if owner == here.rank { "its own window".into() } else { format!("the window of rank {owner}") };
            let message = format!(
                "rank {} {} `{}`, {window}, here (byte 0x{:x}), and nothing orders that before or after rank {} {} it",
                here.rank,
                verb(here.write, "reads", "writes"),
                self.buffers[race.buffer].name,
                race.byte,
                other.rank,
                verb(other.write, "reading", "writing"),
            );
            let label = format!("rank {} {} it here", other.rank, verb(other.write, "reads", "writes"));
            let (place, label_place) = (self.place(here.step), self.place(other.step));
            self.say(Diagnostic::new(rules::RACE_RANKS, place, message).label(label_place, label));
        }
    }

    /// The end: the last meeting, after which every window is as it stays.
    pub(super) fn part(&mut self) {
        if !self.peers.as_ref().is_some_and(|peers| peers.apart) {
            match self.exchange(At::End, true) {
                Ok(said) => self.parted(&said),
                Err(error) => self.comm_failure(&error, None),
            }
        }
        self.fetch_own_windows();
    }

    fn parted(&mut self, said: &[Word]) {
        let waits = said.iter().enumerate().find_map(|(rank, word)| match word.at {
            At::Barrier(step) => Some((rank, step)),
            _ => None,
        });
        match waits {
            Some((rank, step)) if self.first_error().is_none() => {
                let message = format!("this rank has ended, and rank {rank} waits for it at a barrier");
                let (place, label) = (self.function.place, self.place(step));
                self.say(Diagnostic::new(rules::COMM_RANK_LOST, place, message).label(label, "waits here"));
            }
            Some(_) => {}
            None => {
                self.somebody_failed(said, "failed");
            }
        }
    }
}

/// Where in its rank's memory each window lies, by the sizes that the ranks said, and where the windows of each rank end.
fn placed_windows(slots: Vec<(ValueId, usize)>, said: Vec<Word>) -> (Vec<(ValueId, Placed)>, Vec<u64>) {
    let mut ends = vec![0u64; said.len()];
    let mut sizes: Vec<_> = said
        .into_iter()
        .map(|word| match word.at {
            At::Windows(sizes) => sizes.into_iter(),
            _ => Vec::new().into_iter(),
        })
        .collect();
    let mut placed = Vec::with_capacity(slots.len());
    for (id, owner) in slots {
        let length = sizes[owner].next().unwrap_or(0);
        placed.push((id, Placed::new(owner, ends[owner], length)));
        ends[owner] = ends[owner].saturating_add(length).next_multiple_of(ALIGNMENT);
    }
    (placed, ends)
}
