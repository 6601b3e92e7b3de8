//! When tiles hold data: accesses in program order, and the spans of positions over which a tile's bytes are its own.
//!
//! Every operation has a position; a loop or conditional spans those of its body. Two questions are answered:
//! - [`Liveness::interval`], for placement: from the first access to the last, stretched over every loop that the tile
//!   is used in but not allocated in. It presumes nothing about what an access overwrites, so bytes may be shared by
//!   tiles with disjoint intervals whatever the valid extents turn out to be.
//! - [`Liveness::segments`], for the checker: each from a write of the whole tile to the last read of it. A program that
//!   reuses one tile for different data in turn is not accused of keeping the first alive.
//!
//! Tiles that meet in a carried value, a yield or a select may be any of each other there, and count as one.

use pto_isa::Tile;

use crate::{Function, NESTING, OpKind, Place, Region, Type, Types, ValueId};

/// A closed span of positions.
pub(crate) type Span = (u32, u32);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    /// Of a part, or of one of several tiles.
    Write,
    /// Of the whole tile: nothing older is read afterwards.
    Overwrite,
}

#[derive(Clone, Copy, Debug)]
struct Access {
    value: ValueId,
    position: u32,
    region: u32,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
struct Scope {
    parent: u32,
    span: Span,
    is_loop: bool,
}

/// A tile of a function: allocated, or a parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allocation {
    pub(crate) value: ValueId,
    pub(crate) tile: Tile,
    pub(crate) place: Place,
    region: u32,
    position: u32,
    is_parameter: bool,
    group: u32,
}

/// The accesses to the tiles of a function.
#[derive(Debug)]
pub(crate) struct Liveness {
    pub(crate) allocations: Vec<Allocation>,
    scopes: Vec<Scope>,
    /// Sorted by group, then by position.
    accesses: Vec<Access>,
    /// For each group: its accesses `start..end`, and how many allocations it has.
    groups: Vec<(u32, u32, u32)>,
    /// Where the operations stand that have a position, ascending.
    places: Vec<(u32, Place)>,
    last: u32,
}

struct Walk<'a> {
    function: &'a Function,
    types: &'a Types,
    /// Union-find over values.
    same: Vec<u32>,
    /// True for values that are whole tiles, not windows or joins.
    whole: Vec<bool>,
    allocations: Vec<Allocation>,
    scopes: Vec<Scope>,
    accesses: Vec<Access>,
    places: Vec<(u32, Place)>,
    position: u32,
}

impl Liveness {
    /// Where the operation at a position stands; none at the ends of loops and branches.
    pub(crate) fn place(&self, position: u32) -> Option<Place> {
        let at = self.places.binary_search_by_key(&position, |(position, _)| *position).ok()?;
        Some(self.places[at].1)
    }

    /// Walks a function whose values are defined where they are used.
    pub(crate) fn new(function: &Function, types: &Types) -> Self {
        let values = function.values.len();
        let mut walk = Walk {
            function,
            types,
            same: (0..values as u32).collect(),
            whole: vec![false; values],
            allocations: Vec::new(),
            scopes: vec![Scope { parent: 0, span: (0, 0), is_loop: false }],
            accesses: Vec::new(),
            places: Vec::new(),
            position: 0,
        };
        for parameter in function.parameter_ids() {
            walk.allocate(parameter, 0, true);
        }
        walk.region(&function.body, 0, 0);
        walk.finish()
    }

    /// The span over which an allocation's bytes must be its own; a parameter's data is there from start to end.
    pub(crate) fn interval(&self, allocation: &Allocation) -> Span {
        if allocation.is_parameter {
            return (0, self.last);
        }
        let (start, end, members) = self.groups[allocation.group as usize];
        // What is one of several tiles may have been allocated anywhere.
        let home = if members > 1 { 0 } else { allocation.region };
        let mut span: Option<Span> = None;
        for access in &self.accesses[start as usize..end as usize] {
            let (from, to) = match self.outermost_loop(access.region, home) {
                Some(scope) => self.scopes[scope as usize].span,
                None => (access.position, access.position),
            };
            span = Some(span.map_or((from, to), |(first, last)| (first.min(from), last.max(to))));
        }
        span.unwrap_or((allocation.position, allocation.position))
    }

    /// The spans over which an allocation holds data that is still read, in order.
    pub(crate) fn segments(&self, allocation: &Allocation) -> Vec<Span> {
        let (start, end, members) = self.groups[allocation.group as usize];
        let accesses = &self.accesses[start as usize..end as usize];
        if allocation.is_parameter || members > 1 {
            return if accesses.is_empty() { Vec::new() } else { vec![self.interval(allocation)] };
        }
        let mut segments = Vec::new();
        self.segments_in(accesses, allocation.region, &mut segments);
        segments
    }

    fn segments_in(&self, accesses: &[Access], region: u32, segments: &mut Vec<Span>) {
        let mut live: Option<Span> = None;
        let mut at = 0;
        while let Some(access) = accesses.get(at) {
            let Some(scope) = self.outermost_loop(access.region, region) else {
                // A write in a branch leaves the old data to the other branch.
                let overwrites = access.kind == Kind::Overwrite && access.region == region;
                live = match (access.kind, live) {
                    (Kind::Read, None) => None,
                    (_, Some((first, _))) if !overwrites => Some((first, access.position)),
                    _ => {
                        segments.extend(live);
                        Some((access.position, access.position))
                    }
                };
                at += 1;
                continue;
            };
            let span = self.scopes[scope as usize].span;
            let inside = &accesses[at..];
            let count = inside.partition_point(|access| access.position <= span.1);
            let inside = &inside[..count];
            if access.kind == Kind::Overwrite {
                // Each round begins anew, so nothing is carried from round to round.
                segments.extend(live);
                self.segments_in(inside, scope, segments);
                live = segments.pop();
            } else if live.is_some() || inside.iter().any(|access| access.kind != Kind::Read) {
                live = Some((live.map_or(span.0, |(first, _)| first), span.1));
            }
            at += count;
        }
        segments.extend(live);
    }

    /// The outermost loop around a region that is inside another one.
    fn outermost_loop(&self, mut region: u32, outside: u32) -> Option<u32> {
        let mut found = None;
        while region != outside && region != 0 {
            let scope = &self.scopes[region as usize];
            if scope.is_loop {
                found = Some(region);
            }
            region = scope.parent;
        }
        found
    }
}

impl Walk<'_> {
    fn find(&mut self, value: ValueId) -> u32 {
        let mut at = value.0;
        while self.same[at as usize] != at {
            let next = self.same[at as usize];
            self.same[at as usize] = self.same[next as usize];
            at = next;
        }
        at
    }

    fn unite(&mut self, a: ValueId, b: ValueId) {
        let (a, b) = (self.find(a), self.find(b));
        self.same[b as usize] = a;
    }

    fn tile(&self, value: ValueId) -> Option<&Tile> {
        match self.types.get(self.function.value(value).ty) {
            Type::Tile(tile) => Some(tile),
            _ => None,
        }
    }

    fn allocate(&mut self, value: ValueId, region: u32, is_parameter: bool) {
        let Some(tile) = self.tile(value).copied() else { return };
        self.whole[value.0 as usize] = true;
        let (place, position) = (self.function.value(value).place, self.position);
        self.allocations.push(Allocation { value, tile, place, region, position, is_parameter, group: 0 });
    }

    fn access(&mut self, value: ValueId, region: u32, kind: Kind) {
        let kind = if kind == Kind::Overwrite && !self.whole[value.0 as usize] { Kind::Write } else { kind };
        self.accesses.push(Access { value, position: self.position, region, kind });
    }

    fn region(&mut self, region: &Region, number: u32, depth: usize) {
        for op in &region.ops {
            self.position += 1;
            self.places.push((self.position, op.place));
            match &op.kind {
                OpKind::For(inner) if depth < NESTING => {
                    let scope = self.open(number, true);
                    self.region(&inner.body, scope, depth + 1);
                    self.close(scope);
                    let yields = yields(&inner.body);
                    for (at, carried) in inner.carried.iter().enumerate() {
                        if self.tile(carried.inner).is_some() {
                            self.unite(carried.initial, carried.inner);
                            self.unite(carried.inner, carried.result);
                            if let Some(next) = yields.get(at) {
                                self.unite(carried.inner, *next);
                            }
                        }
                    }
                }
                OpKind::If(inner) if depth < NESTING => {
                    for branch in [&inner.then, &inner.otherwise] {
                        let scope = self.open(number, false);
                        self.region(branch, scope, depth + 1);
                        self.close(scope);
                        for (result, yielded) in inner.results.iter().zip(yields(branch)) {
                            if self.tile(*result).is_some() {
                                self.unite(*yielded, *result);
                            }
                        }
                    }
                }
                kind => self.operation(kind, number),
            }
        }
    }

    fn open(&mut self, parent: u32, is_loop: bool) -> u32 {
        self.scopes.push(Scope { parent, span: (self.position, self.position), is_loop });
        self.scopes.len() as u32 - 1
    }

    fn close(&mut self, scope: u32) {
        self.position += 1;
        self.scopes[scope as usize].span.1 = self.position;
    }

    fn operation(&mut self, op: &OpKind, region: u32) {
        match op {
            OpKind::AllocTile { result, .. } => self.allocate(*result, region, false),
            OpKind::Subview { result, source, .. } => self.unite(*source, *result),
            OpKind::Select { result, then, otherwise, .. } if self.tile(*result).is_some() => {
                self.unite(*then, *result);
                self.unite(*otherwise, *result);
            }
            OpKind::Load { dst, .. } => self.access(*dst, region, Kind::Overwrite),
            OpKind::Store { src, .. } | OpKind::GetValue { tile: src, .. } => self.access(*src, region, Kind::Read),
            OpKind::SetValue { tile, .. } => self.access(*tile, region, Kind::Write),
            OpKind::Move { src, dst } | OpKind::TScatterMask { src, dst, .. } => {
                self.access(*src, region, Kind::Read);
                self.access(*dst, region, Kind::Overwrite);
            }
            OpKind::MGather { dst, idx, .. } => {
                self.access(*idx, region, Kind::Read);
                self.access(*dst, region, Kind::Overwrite);
            }
            OpKind::MScatter { src, idx, .. } => {
                self.access(*src, region, Kind::Read);
                self.access(*idx, region, Kind::Read);
            }
            OpKind::TScatter { dst, src, idx } => {
                self.access(*src, region, Kind::Read);
                self.access(*idx, region, Kind::Read);
                self.access(*dst, region, Kind::Overwrite);
            }
            OpKind::Collective(call) => {
                for tile in &call.staging {
                    self.access(*tile, region, Kind::Overwrite);
                }
            }
            _ => {}
        }
    }

    fn finish(mut self) -> Liveness {
        const NONE: u32 = u32::MAX;
        let mut number_of = vec![NONE; self.same.len()];
        let mut groups: Vec<(u32, u32, u32)> = Vec::new();
        for at in 0..self.allocations.len() {
            let root = self.find(self.allocations[at].value) as usize;
            if number_of[root] == NONE {
                number_of[root] = groups.len() as u32;
                groups.push((0, 0, 0));
            }
            self.allocations[at].group = number_of[root];
            groups[number_of[root] as usize].2 += 1;
        }
        let mut accesses = core::mem::take(&mut self.accesses);
        // The value becomes the group; a tile that nothing allocated has none.
        accesses.retain_mut(|access| {
            let group = number_of[self.find(access.value) as usize];
            access.value = ValueId(group);
            group != NONE
        });
        accesses.sort_by_key(|access| access.value);
        let mut start = 0;
        for (number, group) in groups.iter_mut().enumerate() {
            let count = accesses[start..].partition_point(|access| access.value.0 <= number as u32);
            (group.0, group.1) = (start as u32, (start + count) as u32);
            start += count;
        }
        let Self { allocations, scopes, places, .. } = self;
        Liveness { allocations, scopes, accesses, groups, places, last: self.position + 1 }
    }
}

/// The values that a region yields.
fn yields(region: &Region) -> &[ValueId] {
    match region.ops.last().map(|op| &op.kind) {
        Some(OpKind::Yield(values)) => values,
        _ => &[],
    }
}

/// The most bytes that the tiles take together at any position, and which tiles those are.
pub(crate) fn peak(tiles: &[(Span, u64)]) -> (u64, Vec<usize>) {
    let mut events: Vec<(u32, bool, usize)> = Vec::with_capacity(2 * tiles.len());
    for (at, ((start, end), _)) in tiles.iter().enumerate() {
        events.push((*start, true, at));
        events.push((end.saturating_add(1), false, at));
    }
    // An end comes before the starts at its position: spans are closed, so its own last position has passed.
    events.sort_unstable();
    let (mut sum, mut most, mut worst) = (0u64, 0u64, 0u32);
    for (position, starts, at) in events {
        if starts {
            sum = sum.saturating_add(tiles[at].1);
            if sum > most {
                (most, worst) = (sum, position);
            }
        } else {
            sum = sum.saturating_sub(tiles[at].1);
        }
    }
    let live = (0..tiles.len()).filter(|at| (tiles[*at].0.0..=tiles[*at].0.1).contains(&worst)).collect();
    (most, live)
}
