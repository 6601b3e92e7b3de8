//! Tiles in the unified buffer: who shares bytes with whom while both are live, and whether all fit.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use core::cmp::Reverse;

use pto_isa::rules::BUDGET_UB;
use pto_isa::{Location, Target};

use super::{Checker, rules};
use crate::facts::Placement;
use crate::liveness::{Allocation, Liveness, Span, peak};
use crate::{Diagnostic, Function, OpKind, Place, Region, ValueId};

/// The tiles that a `tassign` places, sorted, once for each time.
pub(super) fn assigned(function: &Function) -> Vec<ValueId> {
    fn walk(region: &Region, depth: usize, found: &mut Vec<ValueId>) {
        for op in &region.ops {
            match &op.kind {
                OpKind::Assign { tile, .. } => found.push(*tile),
                OpKind::For(op) if depth < crate::NESTING => walk(&op.body, depth + 1, found),
                OpKind::If(op) if depth < crate::NESTING => {
                    walk(&op.then, depth + 1, found);
                    walk(&op.otherwise, depth + 1, found);
                }
                _ => {}
            }
        }
    }
    let mut found = Vec::new();
    walk(&function.body, 0, &mut found);
    found.sort_unstable();
    found
}

/// What to say of tiles that do not fit: each of them, with its size, at the worst point.
pub(crate) fn over_budget(
    place: Place,
    target: Target,
    dyn_ub: Option<u64>,
    limit: u64,
    total: u64,
    live: &[(String, Place, u64)],
) -> Diagnostic {
    let why = match (target, dyn_ub) {
        (Target::A5, Some(_)) => "the dynUBufSize of the launch",
        (Target::A5, None) => "the limit without dynUBufSize",
        _ => "the unified buffer",
    };
    let mut largest: Vec<&(String, Place, u64)> = live.iter().collect();
    largest.sort_by_key(|(_, place, bytes)| (Reverse(*bytes), *place));
    let listed: Vec<String> = largest.iter().take(8).map(|(name, _, bytes)| format!("{name} {bytes}")).collect();
    let rest = largest.len().saturating_sub(8);
    let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    let message = format!(
        "expected live tiles within {limit} bytes, {why}, found {total} bytes at the worst point: {}{rest}",
        listed.join(", ")
    );
    let mut diagnostic = Diagnostic::new(BUDGET_UB, place, message).on(target);
    for (name, place, bytes) in largest.into_iter().take(8) {
        diagnostic = diagnostic.label(*place, format!("{name} takes {bytes} bytes"));
    }
    diagnostic
}

/// A placed tile: who, when and where.
struct Placed {
    at: usize,
    span: Span,
    bytes: (u64, u64),
}

impl Checker<'_> {
    /// Judges where tiles lie, over the whole function.
    pub(super) fn placement(&mut self) {
        let Some(ub) = self.target.profile().ub else { return };
        let liveness = Liveness::new(self.function, self.types);
        let in_ub = |allocation: &&Allocation| allocation.tile.location == Location::Vec;
        let mut unplaced = Vec::new();
        let mut placed = Vec::new();
        for allocation in liveness.allocations.iter().filter(in_ub) {
            let Some(fact) = self.facts.tile(allocation.value) else { continue };
            match (fact.placement, fact.tile.range()) {
                (Placement::Unplaced, _) => unplaced.push(allocation),
                // A tile that moves has no one address.
                (Placement::At(_), Some(range)) if self.moves(allocation.value) <= 1 => {
                    placed.push((allocation, range))
                }
                _ => {}
            }
        }
        self.mixed(&unplaced, &placed);
        let limit = ub.limit(self.launch.dyn_ub);
        self.budget(&liveness, limit, ub.end(), &unplaced, &placed);
        self.overlaps(&liveness, &placed);
    }

    fn moves(&self, tile: ValueId) -> usize {
        let first = self.assigned.partition_point(|assigned| *assigned < tile);
        self.assigned[first..].iter().take_while(|assigned| **assigned == tile).count()
    }

    fn mixed(&mut self, unplaced: &[&Allocation], placed: &[(&Allocation, (u64, u64))]) {
        let Some((with, _)) = placed.first() else { return };
        let Some(without) = unplaced.iter().find(|without| without.value.0 as usize >= self.function.parameters) else {
            return;
        };
        let message =
            format!("expected an address for {}, as {} has one", self.name(without.value), self.name(with.value));
        let diagnostic = Diagnostic::new(&rules::ALIAS_MIXED, without.place, message)
            .on(self.target)
            .label(with.place, "has an address");
        self.report(diagnostic);
    }

    fn budget(
        &mut self,
        liveness: &Liveness,
        limit: u64,
        end: u64,
        unplaced: &[&Allocation],
        placed: &[(&Allocation, (u64, u64))],
    ) {
        let dyn_ub = self.launch.dyn_ub;
        // A tile beyond the end of UB is reported where it is made.
        let beyond =
            placed.iter().filter(|(_, range)| range.1 > limit && range.1 <= end).max_by_key(|(_, range)| range.1);
        if let Some((allocation, (start, tile_end))) = beyond {
            let live = [(self.name(allocation.value), allocation.place, tile_end - start)];
            let diagnostic = over_budget(allocation.place, self.target, dyn_ub, limit, *tile_end, &live);
            self.report(diagnostic);
        }
        let sizes: Vec<(Span, u64)> = unplaced
            .iter()
            .map(|allocation| (liveness.interval(allocation), allocation.tile.allocation().unwrap_or(u64::MAX)))
            .collect();
        let (most, live) = peak(&sizes);
        if most > limit {
            let live: Vec<(String, Place, u64)> =
                live.into_iter().map(|at| (self.name(unplaced[at].value), unplaced[at].place, sizes[at].1)).collect();
            let place = live.last().map_or(self.function.place, |(_, place, _)| *place);
            let diagnostic = over_budget(place, self.target, dyn_ub, limit, most, &live);
            self.report(diagnostic);
        }
    }

    /// A sweep over positions with the live byte ranges in a map: each tile meets only its neighbours.
    fn overlaps(&mut self, liveness: &Liveness, placed: &[(&Allocation, (u64, u64))]) {
        let mut spans: Vec<Placed> = Vec::new();
        for (at, (allocation, bytes)) in placed.iter().enumerate() {
            if bytes.0 < bytes.1 {
                let segments = liveness.segments(allocation);
                spans.extend(segments.into_iter().map(|span| Placed { at, span, bytes: *bytes }));
            }
        }
        spans.sort_by_key(|placed| placed.span);
        let mut active: BTreeMap<u64, &Placed> = BTreeMap::new();
        let mut ends: BinaryHeap<Reverse<(u32, u64)>> = BinaryHeap::new();
        let mut said = BTreeSet::new();
        for span in &spans {
            // What ends where this begins is read by the very instruction that writes this: its own rules judge that.
            while let Some(Reverse((end, start))) = ends.peek().copied()
                && end <= span.span.0
            {
                ends.pop();
                active.remove(&start);
            }
            let below = active.range(..span.bytes.1).next_back().map(|(_, other)| *other);
            match below.filter(|other| other.bytes.1 > span.bytes.0) {
                Some(other) if placed[other.at].0.value == placed[span.at].0.value => {}
                Some(other) => {
                    if said.insert((other.at, span.at)) && said.len() <= 100 {
                        let written = liveness.place(span.span.0).map(|place| (place, placed[span.at].0.value));
                        let read = liveness.place(other.span.1).map(|place| (place, placed[other.at].0.value));
                        self.overlap(placed[other.at], placed[span.at], [written, read]);
                    }
                }
                None => {
                    active.insert(span.bytes.0, span);
                    ends.push(Reverse((span.span.1, span.bytes.0)));
                }
            }
        }
    }

    /// Two tiles share bytes; where known, which of them is written and where the other one is read after that.
    fn overlap(
        &mut self,
        first: (&Allocation, (u64, u64)),
        second: (&Allocation, (u64, u64)),
        [written, read]: [Option<(Place, ValueId)>; 2],
    ) {
        // The one that comes later in the text is the one to move.
        let (first, second) = if first.0.place <= second.0.place { (first, second) } else { (second, first) };
        let range = |(start, end): (u64, u64)| format!("[0x{start:x}, 0x{end:x})");
        let message = format!(
            "{} at {} overlaps {} at {} while both are live",
            self.name(second.0.value),
            range(second.1),
            self.name(first.0.value),
            range(first.1)
        );
        let diagnostic = Diagnostic::new(&rules::ALIAS_LIVE, second.0.place, message).on(self.target);
        let mut diagnostic = self.about(diagnostic, first.0.value);
        if let Some((place, value)) = written {
            diagnostic = diagnostic.label(place, format!("{} is written here", self.name(value)));
        }
        if let Some((place, value)) = read {
            diagnostic = diagnostic.label(place, format!("and {} is read here", self.name(value)));
        }
        self.report(diagnostic);
    }
}
