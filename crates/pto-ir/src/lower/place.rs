//! Places tiles in the unified buffer by liveness.
//!
//! Two tiles share bytes only if their [intervals](crate::liveness) are disjoint, so none is written while another's data
//! is still read, whatever the path; an instruction's destination never shares with its operands, since all are live
//! at the instruction. If all tiles fit side by side nothing is shared at all: every shared byte is an ordering between
//! pipes that need not be there. Otherwise tiles are packed first by the order in which they come to life, and if that
//! leaves gaps that are too small, by size, largest first.

use std::collections::BTreeMap;

use pto_isa::tile::BLOCK_BYTES;
use pto_isa::{Location, Target};

use crate::check::over_budget;
use crate::facts::{Facts, Placement};
use crate::liveness::{Liveness, Span, peak};
use crate::{Diagnostic, Function, NESTING, Op, OpKind, Operand, Place, Region, Types, ValueId};

/// Packing by size compares every tile with every other; beyond this many it is not tried.
const MOST_BY_SIZE: usize = 4096;

/// A tile to place: when its bytes must be its own, and how many they are.
#[derive(Clone, Copy, Debug)]
struct Request {
    span: Span,
    bytes: u64,
}

/// A tile that has an address.
#[derive(Clone, Copy, Debug)]
struct Fixed {
    span: Span,
    range: (u64, u64),
}

/// Gives every tile of a checked function an address; those that have one keep it. Tiles in other memories than UB are
/// left alone.
///
/// Parameters get theirs by a `tassign` at the start. Where UB does not suffice, the error is a `budget.ub` with the
/// live tiles and their sizes at the worst point.
pub fn place(function: &Function, types: &Types, target: Target) -> Result<Function, Vec<Diagnostic>> {
    let known = placements(function, types);
    let liveness = Liveness::new(function, types);
    let (mut requests, mut values, mut fixed) = (Vec::new(), Vec::new(), Vec::new());
    for allocation in liveness.allocations.iter().filter(|allocation| allocation.tile.location == Location::Vec) {
        let bytes = allocation.tile.allocation().unwrap_or(u64::MAX);
        let span = liveness.interval(allocation);
        match known.get(&allocation.value) {
            None | Some(Placement::Unplaced) => {
                requests.push(Request { span, bytes });
                values.push((allocation.value, allocation.place));
            }
            Some(Placement::At(address)) => {
                fixed.push(Fixed { span, range: (*address, address.saturating_add(bytes)) });
            }
            // Only the run knows where it is; nothing can be kept apart from it.
            Some(Placement::Unknown) => {}
        }
    }
    let dyn_ub = function.launch.dyn_ub;
    // Targets without a unified buffer place tiles in ordinary memory, as far as a text can write addresses.
    let limit = target.profile().ub.map_or(i64::MAX as u64, |ub| ub.limit(dyn_ub));
    let addresses = side_by_side(&requests, &fixed, limit)
        .or_else(|| by_time(&requests, &fixed, limit))
        .or_else(|| by_size(&requests, &fixed, limit));
    let Some(addresses) = addresses else {
        return Err(vec![does_not_fit(function, target, limit, &requests, &values)]);
    };
    let addresses: BTreeMap<ValueId, u64> = values.iter().map(|(value, _)| *value).zip(addresses).collect();
    let mut placed = function.clone();
    write(&mut placed.body, &addresses, 0);
    let parameters = addresses.range(..ValueId(function.parameters as u32));
    let assigns = parameters.map(|(tile, address)| Op {
        kind: OpKind::Assign { tile: *tile, address: Operand::Number(*address as i64) },
        place: function.value(*tile).place,
    });
    let assigns: Vec<Op> = assigns.collect();
    placed.body.ops.splice(0..0, assigns);
    Ok(placed)
}

/// Where the tiles of a function lie after it ran through once; one that moves counts as placed.
fn placements(function: &Function, types: &Types) -> BTreeMap<ValueId, Placement> {
    let mut known = BTreeMap::new();
    Facts::new(function, types).walk(&function.body, &mut |facts, kind| match kind {
        OpKind::AllocTile { result: tile, address: Some(_), .. } => {
            known.extend(facts.tile(*tile).map(|fact| (*tile, fact.placement)));
        }
        OpKind::Assign { tile, .. } => {
            let placement = facts.tile(*tile).map_or(Placement::Unknown, |fact| fact.placement);
            // Assigned twice, it is in two places.
            let before = known.insert(*tile, placement);
            if before.is_some_and(|before| before != placement) {
                known.insert(*tile, Placement::Unknown);
            }
        }
        _ => {}
    });
    known
}

fn overlap(a: Span, b: Span) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

/// Every tile apart from every other, after the last fixed one.
fn side_by_side(requests: &[Request], fixed: &[Fixed], limit: u64) -> Option<Vec<u64>> {
    let start = fixed.iter().map(|fixed| fixed.range.1).max().unwrap_or(0);
    let mut next = start.checked_next_multiple_of(BLOCK_BYTES)?;
    let mut addresses = Vec::with_capacity(requests.len());
    for request in requests {
        addresses.push(next);
        next = next.checked_add(request.bytes)?;
        if next > limit {
            return None;
        }
    }
    Some(addresses)
}

/// In the order in which tiles come to life, each into the smallest gap that is large enough.
fn by_time(requests: &[Request], fixed: &[Fixed], limit: u64) -> Option<Vec<u64>> {
    let mut gaps = Gaps::new(limit);
    for fixed in fixed {
        gaps.take(fixed.range.0 / BLOCK_BYTES * BLOCK_BYTES, fixed.range.1);
    }
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|at| (requests[*at].span, core::cmp::Reverse(requests[*at].bytes)));
    let mut ends = std::collections::BinaryHeap::new();
    let mut addresses = vec![0; requests.len()];
    for at in order {
        let Request { span, bytes } = requests[at];
        while let Some(core::cmp::Reverse((end, address, bytes))) = ends.peek().copied()
            && end < span.0
        {
            ends.pop();
            gaps.give(address, bytes);
        }
        addresses[at] = gaps.best_fit(bytes)?;
        ends.push(core::cmp::Reverse((span.1, addresses[at], bytes)));
    }
    Some(addresses)
}

/// Free bytes, by address.
struct Gaps(BTreeMap<u64, u64>);

impl Gaps {
    fn new(limit: u64) -> Self {
        Self(BTreeMap::from([(0, limit)]))
    }

    /// Removes a range from whatever is free of it.
    fn take(&mut self, start: u64, end: u64) {
        let cut: Vec<(u64, u64)> =
            self.0.range(..end).map(|(from, to)| (*from, *to)).filter(|gap| gap.1 > start).collect();
        for (from, to) in cut {
            self.0.remove(&from);
            if from < start {
                self.0.insert(from, start);
            }
            // What follows starts at a block again.
            let after = end.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(u64::MAX);
            if after < to {
                self.0.insert(after, to);
            }
        }
    }

    fn best_fit(&mut self, bytes: u64) -> Option<u64> {
        let (from, to) = self
            .0
            .iter()
            .map(|(from, to)| (*from, *to))
            .filter(|(from, to)| to - from >= bytes)
            .min_by_key(|(from, to)| (to - from, *from))?;
        self.0.remove(&from);
        if from + bytes < to {
            self.0.insert(from + bytes, to);
        }
        Some(from)
    }

    fn give(&mut self, address: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let (mut start, mut end) = (address, address + bytes);
        if let Some((from, to)) = self.0.range(..=start).next_back().map(|(from, to)| (*from, *to))
            && to == start
        {
            self.0.remove(&from);
            start = from;
        }
        if let Some(to) = self.0.remove(&end) {
            end = to;
        }
        self.0.insert(start, end);
    }
}

/// Largest first, each at the lowest address where nothing that is live with it lies.
fn by_size(requests: &[Request], fixed: &[Fixed], limit: u64) -> Option<Vec<u64>> {
    if requests.len() > MOST_BY_SIZE {
        return None;
    }
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|at| (core::cmp::Reverse(requests[*at].bytes), requests[*at].span));
    let mut placed: Vec<Fixed> = fixed.to_vec();
    let mut addresses = vec![0; requests.len()];
    for at in order {
        let Request { span, bytes } = requests[at];
        let mut taken: Vec<(u64, u64)> =
            placed.iter().filter(|placed| overlap(placed.span, span)).map(|placed| placed.range).collect();
        taken.sort_unstable();
        let mut address = 0u64;
        for (from, to) in taken {
            if address.checked_add(bytes)? <= from {
                break;
            }
            address = address.max(to.checked_next_multiple_of(BLOCK_BYTES)?);
        }
        let end = address.checked_add(bytes)?;
        if end > limit {
            return None;
        }
        addresses[at] = address;
        placed.push(Fixed { span, range: (address, end) });
    }
    Some(addresses)
}

fn does_not_fit(
    function: &Function,
    target: Target,
    limit: u64,
    requests: &[Request],
    values: &[(ValueId, Place)],
) -> Diagnostic {
    let sizes: Vec<(Span, u64)> = requests.iter().map(|request| (request.span, request.bytes)).collect();
    let (most, live) = peak(&sizes);
    let name = |value: ValueId| match &*function.value(value).name {
        "" => format!("`%{}`", value.0),
        name => format!("`%{name}`"),
    };
    let live: Vec<(String, Place, u64)> =
        live.into_iter().map(|at| (name(values[at].0), values[at].1, sizes[at].1)).collect();
    let diagnostic = over_budget(function.place, target, function.launch.dyn_ub, limit, most, &live);
    if most > limit {
        return diagnostic;
    }
    diagnostic.help("the tiles would fit, but not around each other and the tiles that have addresses: make some of them live for a shorter time, or of one size")
}

fn write(region: &mut Region, addresses: &BTreeMap<ValueId, u64>, depth: usize) {
    if depth > NESTING {
        return;
    }
    for op in &mut region.ops {
        match &mut op.kind {
            OpKind::For(op) => write(&mut op.body, addresses, depth + 1),
            OpKind::If(op) => {
                write(&mut op.then, addresses, depth + 1);
                write(&mut op.otherwise, addresses, depth + 1);
            }
            OpKind::AllocTile { result, address, .. } => {
                if let Some(given) = addresses.get(result) {
                    *address = Some(Operand::Number(*given as i64));
                }
            }
            _ => {}
        }
    }
}
