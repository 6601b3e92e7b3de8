//! Which tiles the SSA spellings define by the instruction that writes them.
//!
//! A tile that was allocated without an address and is written once, before every other use and around all of them, is
//! the result of that instruction. Everything else that is written in place has no spelling in SSA, and is refused with
//! the reason.

use std::collections::{BTreeMap, HashMap};

use pto_ir::{Function, Op, OpKind, Operand, Place, Region, ValueId};

use crate::regular::{Regular, Signature};

/// The tiles that are defined by their only writer, with the valid extents that their allocation gives.
#[derive(Default)]
pub(super) struct Defined(HashMap<ValueId, [Option<Operand>; 2]>);

impl Defined {
    pub(super) fn contains(&self, value: ValueId) -> bool {
        self.0.contains_key(&value)
    }

    /// The valid rows and columns that the definition of a tile gives it.
    pub(super) fn valid(&self, value: ValueId) -> [Option<Operand>; 2] {
        self.0.get(&value).copied().unwrap_or_default()
    }
}

/// What happens to one tile, by the numbers of operations in program order.
#[derive(Default)]
struct Life {
    /// Why it cannot be a result, from its allocation.
    bound: Option<&'static str>,
    valid: [Option<Operand>; 2],
    writers: Vec<Writer>,
    first_use: Option<usize>,
    last_use: usize,
}

struct Writer {
    at: usize,
    /// Where the region that it stands in ends.
    region_end: usize,
    place: Place,
}

/// Why a program cannot be written: places and reasons.
type Refused = Vec<(Place, String)>;

/// The tiles that are defined by their writer, and what is written otherwise.
pub(super) fn defined(function: &Function, names: &[String]) -> (Defined, Refused) {
    let mut search = Search { lives: BTreeMap::new(), at: 0, refused: Vec::new(), names };
    search.allocations(&function.body);
    search.region(&function.body);
    let Search { lives, mut refused, .. } = search;
    let mut defined = HashMap::new();
    for (value, mut life) in lives {
        life.writers.sort_by_key(|writer| writer.at);
        let name = &names[value.0 as usize];
        match (life.reason(), life.writers.first()) {
            (None, Some(_)) => drop(defined.insert(value, life.valid)),
            // Staging tiles, and tiles that nobody writes, stay allocations.
            (_, None) => {}
            (Some(reason), Some(writer)) => {
                let place = life.writers.get(1).unwrap_or(writer).place;
                refused.push((place, format!("expected %{name} to be the result of one instruction, {reason}")));
            }
        }
    }
    refused.sort_by_key(|(place, _)| *place);
    (Defined(defined), refused)
}

impl Life {
    /// Why the tile cannot be the result of its writer.
    fn reason(&self) -> Option<String> {
        let writer = self.writers.first()?;
        if self.writers.len() > 1 {
            return Some(format!("found {} that write it", self.writers.len()));
        }
        if let Some(bound) = self.bound {
            return Some(format!("found that {bound}"));
        }
        if self.first_use.is_some_and(|first| first < writer.at) {
            return Some("found a use before it is written".into());
        }
        (self.last_use >= writer.region_end).then(|| "found a use outside the region in which it is written".into())
    }
}

struct Search<'n> {
    lives: BTreeMap<ValueId, Life>,
    at: usize,
    refused: Refused,
    names: &'n [String],
}

impl Search<'_> {
    fn allocations(&mut self, region: &Region) {
        for_each_op(region, &mut |op| {
            if let OpKind::AllocTile { result, address, valid_rows, valid_cols } = &op.kind {
                let bound = address.is_some().then_some("it has an address, which only an allocation can give");
                self.lives.insert(*result, Life { bound, valid: [*valid_rows, *valid_cols], ..Life::default() });
            }
        });
    }

    /// Numbers the operations of a region; the writers in it learn where it ends.
    fn region(&mut self, region: &Region) {
        let mut written = Vec::new();
        for op in &region.ops {
            self.at += 1;
            let at = self.at;
            let out = self.written(op);
            op.kind.for_each_operand(|value| {
                if let Some(life) = self.lives.get_mut(&value).filter(|_| Some(value) != out) {
                    life.first_use.get_or_insert(at);
                    life.last_use = at;
                }
            });
            if let Some(out) = out.filter(|out| self.lives.contains_key(out)) {
                written.push((out, at, op.place));
            }
            match &op.kind {
                OpKind::For(inner) => self.region(&inner.body),
                OpKind::If(inner) => {
                    self.region(&inner.then);
                    self.region(&inner.otherwise);
                }
                _ => {}
            }
        }
        self.at += 1;
        for (out, at, place) in written {
            if let Some(life) = self.lives.get_mut(&out) {
                life.writers.push(Writer { at, region_end: self.at, place });
            }
        }
    }

    /// The tile that an operation writes in place. What is no allocation cannot be a result.
    fn written(&mut self, op: &Op) -> Option<ValueId> {
        let out = match (&op.kind, Regular::of(&op.kind)) {
            (OpKind::SetValue { tile, .. }, _) => {
                let name = &self.names[tile.0 as usize];
                self.refused
                    .push((op.place, format!("expected no write in place, found one of an element of %{name}")));
                return None;
            }
            (_, Some(regular)) if Signature::of(regular.name).is_some_and(|signature| signature.writes_tile) => {
                regular.out
            }
            _ => return None,
        };
        if !self.lives.contains_key(&out) {
            let name = &self.names[out.0 as usize];
            let message = format!(
                "expected an instruction to define its tile, found a write to %{name}, which it does not define"
            );
            self.refused.push((op.place, message));
        }
        Some(out)
    }
}

/// Calls `visit` with every operation, those in inner regions included.
pub(super) fn for_each_op<'r>(region: &'r Region, visit: &mut dyn FnMut(&'r Op)) {
    for op in &region.ops {
        visit(op);
        match &op.kind {
            OpKind::For(inner) => for_each_op(&inner.body, visit),
            OpKind::If(inner) => {
                for_each_op(&inner.then, visit);
                for_each_op(&inner.otherwise, visit);
            }
            _ => {}
        }
    }
}
