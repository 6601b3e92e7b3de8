//! Executes a lowered function and lists what it does, with concrete addresses.

use std::collections::HashMap;

use pto_ir::{
    Executed, Flag, Footprint, Function, Lanes, OpKind, Operand, Phase, Pipe, Region, Touch, Type, Types, ValueId,
    fold, footprint,
};
use pto_isa::{Atomic, Coalesce, Direction, Target, Tile};

/// Memory by name: UB, or the buffer of a parameter; `u32::MAX` is what the data cache holds of any buffer.
pub type Space = u32;
pub const UB: Space = u32::MAX - 1;
pub const CACHE: Space = u32::MAX;

const COLLECTIVE: Footprint = Footprint {
    phases: &[Phase { pipe: Pipe::Mte2, touches: &[] }, Phase { pipe: Pipe::Mte3, touches: &[] }],
    waits_for: &[],
    releases: &[],
    handshakes: &[(Pipe::Mte2, Pipe::Mte3), (Pipe::Mte3, Pipe::Mte2)],
};

#[derive(Clone, Debug)]
pub struct Access {
    pub space: Space,
    pub range: (u64, u64),
    pub write: bool,
    /// Which execution of which allocation, for tiles.
    pub tile: Option<u64>,
}

#[derive(Clone, Debug)]
pub enum Event {
    Set(Flag, usize),
    Wait(Flag, usize),
    Barrier,
    Work { name: String, footprint: Footprint, accesses: Vec<Vec<Access>> },
}

/// What the run decides: trips of loops that the text leaves open, and branches.
#[derive(Clone, Copy, Debug)]
pub struct Choices {
    pub n: i64,
    pub seed: u64,
}

struct Run<'a> {
    function: &'a Function,
    types: &'a Types,
    target: Target,
    choices: Choices,
    integers: HashMap<ValueId, i64>,
    tiles: HashMap<ValueId, (u64, u64, u64)>,
    views: HashMap<ValueId, (u32, u64, u64)>,
    instances: u64,
    events: Vec<Event>,
}

pub fn trace(function: &Function, types: &Types, target: Target, choices: Choices) -> Vec<Event> {
    let mut run = Run {
        function,
        types,
        target,
        choices,
        integers: HashMap::new(),
        tiles: HashMap::new(),
        views: HashMap::new(),
        instances: 0,
        events: Vec::new(),
    };
    for parameter in function.parameter_ids() {
        match run.ty(parameter) {
            Type::Index => drop(run.integers.insert(parameter, choices.n)),
            _ => drop(run.views.insert(parameter, (parameter.0, 0, u64::MAX))),
        }
    }
    let mut statement = 0;
    run.region(&function.body, &mut statement);
    run.events
}

impl<'a> Run<'a> {
    fn ty(&self, value: ValueId) -> &'a Type {
        self.types.get(self.function.value(value).ty)
    }

    fn tile_type(&self, value: ValueId) -> Tile {
        match self.ty(value) {
            Type::Tile(tile) => *tile,
            other => panic!("{other} is not a tile"),
        }
    }

    fn number(&self, operand: Operand) -> i64 {
        match operand {
            Operand::Number(number) => number,
            Operand::Value(value) => self.integers[&value],
        }
    }

    /// Statements are numbered in text order, whatever is executed.
    fn region(&mut self, region: &'a Region, statement: &mut usize) {
        for op in &region.ops {
            let number = *statement;
            *statement += 1;
            match &op.kind {
                OpKind::For(inner) => {
                    let bounds = [inner.lower, inner.upper, inner.step].map(|value| self.integers[&value]);
                    let body = *statement;
                    count(&inner.body, statement);
                    let mut at = bounds[0];
                    let mut carried: Vec<_> =
                        inner.carried.iter().map(|carried| self.tiles[&carried.initial]).collect();
                    while at < bounds[1] {
                        self.integers.insert(inner.induction, at);
                        self.tiles.extend(inner.carried.iter().map(|carried| carried.inner).zip(carried));
                        self.region(&inner.body, &mut body.clone());
                        let Some(OpKind::Yield(next)) = inner.body.ops.last().map(|op| &op.kind) else { panic!() };
                        carried = next.iter().map(|value| self.tiles[value]).collect();
                        at += bounds[2];
                    }
                    self.tiles.extend(inner.carried.iter().map(|carried| carried.result).zip(carried));
                }
                OpKind::If(inner) => {
                    // Any branch may be taken in any round: races on a path must not hide behind the condition.
                    self.choices.seed =
                        self.choices.seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                    let (then, mut otherwise) = (*statement, *statement);
                    count(&inner.then, &mut otherwise);
                    *statement = otherwise;
                    count(&inner.otherwise, statement);
                    if self.choices.seed >> 33 & 1 == 0 {
                        self.region(&inner.then, &mut then.clone());
                    } else {
                        self.region(&inner.otherwise, &mut otherwise.clone());
                    }
                }
                kind => self.operation(kind, number),
            }
        }
    }

    fn operation(&mut self, op: &'a OpKind, statement: usize) {
        match op {
            OpKind::Constant { result, value: pto_ir::Constant::Integer(value) } => {
                self.integers.insert(*result, *value);
            }
            OpKind::Arithmetic { result, op, lhs, rhs } => {
                let value = fold::arithmetic(*op, &Type::Index, self.integers[lhs], self.integers[rhs])
                    .expect("no division by zero");
                self.integers.insert(*result, value);
            }
            OpKind::MakeView { result, pointer, .. } => {
                let (root, ..) = self.views[pointer];
                let Type::View(ty) = self.ty(*result) else { panic!() };
                let elements = ty.shape.iter().map(|extent| extent.expect("static views")).product();
                self.views.insert(*result, (root, 0, elements));
            }
            OpKind::PartitionView { result, view, offsets, sizes } => {
                let (root, start, _) = self.views[view];
                let cols = program_cols();
                let row = self.number(offsets[0]) as u64;
                let (rows, width) = (self.number(sizes[0]) as u64, self.number(sizes[1]) as u64);
                let from = start + row * cols + self.number(offsets[1]) as u64;
                self.views.insert(*result, (root, from, from + (rows - 1) * cols + width));
            }
            OpKind::AllocTile { result, address, .. } => {
                let address = address.map_or(u64::MAX / 2, |address| self.number(address) as u64);
                self.instances += 1;
                self.tiles
                    .insert(*result, (address, self.tile_type(*result).bytes().expect("small tiles"), self.instances));
            }
            OpKind::Assign { tile, address } => {
                self.instances += 1;
                let address = self.number(*address) as u64;
                self.tiles
                    .insert(*tile, (address, self.tile_type(*tile).bytes().expect("small tiles"), self.instances));
            }
            OpKind::Subview { result, source, offsets, sizes } => {
                let (address, _, instance) = self.tiles[source];
                let size = self.tile_type(*source).element.size();
                let row_bytes = self.tile_type(*source).cols * size;
                let (row, rows) = (self.number(offsets[0]) as u64, self.number(sizes[0]) as u64);
                self.tiles.insert(*result, (address + row * row_bytes, rows * row_bytes, instance));
            }
            OpKind::Collective(call) => {
                let (load, store) = match call.direction {
                    Direction::Scatter => (call.local, call.group[0]),
                    Direction::Gather => (call.group[0], call.local),
                };
                let mut loads = vec![self.access(load, false)];
                let mut stores = vec![self.access(store, true)];
                for tile in &call.staging {
                    loads.push(self.access(*tile, true));
                    stores.push(self.access(*tile, false));
                }
                let (name, accesses) = (op.name().into(), vec![loads, stores]);
                self.events.push(Event::Work { name, footprint: COLLECTIVE, accesses });
            }
            OpKind::SetFlag(flag) => self.events.push(Event::Set(*flag, statement)),
            OpKind::WaitFlag(flag) => self.events.push(Event::Wait(*flag, statement)),
            OpKind::Barrier(Pipe::All) => self.events.push(Event::Barrier),
            OpKind::Load { src, dst } => self.work(Executed::Load, op, [*src, *dst, *dst, *dst]),
            OpKind::Store { src, dst } => self.work(Executed::Store, op, [*src, *dst, *dst, *dst]),
            OpKind::Move { src, dst } => self.work(Executed::Move, op, [*src, *dst, *dst, *dst]),
            OpKind::TScatter { dst, src, idx } => self.work(Executed::TScatter, op, [*src, *dst, *idx, *dst]),
            OpKind::GetValue { tile, .. } => self.work(Executed::ScalarRead, op, [*tile; 4]),
            OpKind::SetValue { tile, .. } => self.work(Executed::ScalarWrite, op, [*tile; 4]),
            OpKind::MGather { dst, table, idx, policy } => {
                let mode = policy.coalesce.unwrap_or(Coalesce::Row);
                self.work(Executed::MGather(mode, Lanes::Many), op, [*dst, *dst, *idx, *table]);
            }
            OpKind::MScatter { table, src, idx, policy } => {
                let (mode, atomic) = (policy.coalesce.unwrap_or(Coalesce::Row), policy.atomic.unwrap_or(Atomic::None));
                self.work(Executed::MScatter(mode, atomic, Lanes::Many), op, [*src, *src, *idx, *table]);
            }
            OpKind::FlushCache => {
                let access = Access { space: CACHE, range: (0, u64::MAX), write: false, tile: None };
                let footprint = footprint(Executed::ScalarRead, self.target);
                self.events.push(Event::Work { name: "dcci".into(), footprint, accesses: vec![vec![access]] });
            }
            _ => {}
        }
    }

    fn work(&mut self, executed: Executed, op: &OpKind, [src, dst, idx, table]: [ValueId; 4]) {
        let footprint = footprint(executed, self.target);
        let touch = |touch: &Touch| match touch {
            Touch::ReadSrc => self.access(src, false),
            Touch::ReadIdx => self.access(idx, false),
            Touch::ReadTable => self.access(table, false),
            Touch::WriteDst => self.access(dst, true),
            Touch::WriteTable => self.access(table, true),
        };
        let accesses = footprint.phases.iter().map(|phase| phase.touches.iter().map(touch).collect()).collect();
        self.events.push(Event::Work { name: op.name().into(), footprint, accesses });
    }

    fn access(&self, value: ValueId, write: bool) -> Access {
        match (self.tiles.get(&value), self.views.get(&value)) {
            (Some((address, bytes, instance)), _) => {
                Access { space: UB, range: (*address, address + bytes), write, tile: Some(*instance) }
            }
            (_, Some((root, from, to))) => Access { space: *root, range: (*from, *to), write, tile: None },
            _ => panic!("no memory behind {value:?}"),
        }
    }
}

fn program_cols() -> u64 {
    super::program::COLS
}

fn count(region: &Region, statements: &mut usize) {
    for op in &region.ops {
        *statements += 1;
        match &op.kind {
            OpKind::For(inner) => count(&inner.body, statements),
            OpKind::If(inner) => {
                count(&inner.then, statements);
                count(&inner.otherwise, statements);
            }
            _ => {}
        }
    }
}
