//! The recorder: what a core is given, as operations of a program.
//!
//! Tiles and views are numbered as they come; parameters are discovered on the way but come first in a function, so
//! numbers are moved behind them at the end. A tile is known by its slot, a tensor by its name or by where its slice
//! begins. Waits are kept as numbers of instructions until the end, when it is known which flags are free.

use core::panic::Location;
use std::collections::HashMap;

use pto_ir::{
    Executed, Footprint, Op, OpKind, Operand, Place, Type, Types, Value, ValueId, ViewKind, ViewType, footprint,
};
use pto_isa::{ElementType, Extent, Launch, Target, Tensor, Tile};

use crate::error::{Cause, Error};
use crate::event::Event;
use crate::tensor::Table;
use crate::tile::TileOperand;
use crate::ub::{Home, Slot, judge_place};

/// Takes the calls of one kernel.
pub(crate) struct Recorder {
    core: u64,
    pub(super) target: Target,
    pub(super) launch: Launch,
    pub(super) locations: Vec<&'static Location<'static>>,
    numbers: HashMap<&'static Location<'static>, u32>,
    pub(super) types: Types,
    pub(super) parameters: Vec<Parameter>,
    /// Tiles and views.
    pub(super) values: Vec<Value>,
    /// By the number in a tile's slot: the value, and its valid extents when it was last used.
    tiles: Vec<(ValueId, (Extent, Extent))>,
    views: Vec<(usize, Tensor, ValueId)>,
    pub(super) steps: Vec<Step>,
    /// Numbers of the instructions that the next one waits for.
    waits: Vec<u64>,
    waits_for_stranger: bool,
    /// Instructions wait for events, or there are flags.
    pub(super) manual: bool,
    issued: u64,
}

/// A parameter of the function: a slice that a tensor is over, or values that the host wrote into a tile.
pub(crate) struct Parameter {
    pub(super) name: String,
    pub(super) element: ElementType,
    pub(super) place: Place,
    /// First byte of the slice and one past its last: what tells slices apart.
    pub(super) range: (usize, usize),
    /// What the host wrote.
    pub(super) values: Option<Vec<u8>>,
}

/// An operation, and what orders it.
pub(crate) struct Step {
    pub(super) op: Op,
    /// For instructions: their number, and their pipes.
    pub(super) issued: Option<(u64, Footprint)>,
    pub(super) waits: Vec<u64>,
}

impl Recorder {
    pub(crate) fn new(core: u64, target: Target, launch: Launch, place: &'static Location<'static>) -> Self {
        Self {
            core,
            target,
            launch,
            locations: vec![place],
            numbers: HashMap::from([(place, 0)]),
            types: Types::default(),
            parameters: Vec::new(),
            values: Vec::new(),
            tiles: Vec::new(),
            views: Vec::new(),
            steps: Vec::new(),
            waits: Vec::new(),
            waits_for_stranger: false,
            manual: false,
            issued: 0,
        }
    }

    pub(crate) fn wait_for(&mut self, event: &Event) {
        self.waits_for_stranger |= event.core != self.core;
        self.waits.push(event.number);
        self.manual = true;
    }

    /// A call's place, by the number of its location.
    pub(super) fn place(&mut self, location: &'static Location<'static>) -> Place {
        let number = *self.numbers.entry(location).or_insert_with(|| {
            self.locations.push(location);
            // A program with 2^32 different calls would not fit into memory.
            self.locations.len() as u32 - 1
        });
        Place::new(number, number)
    }

    fn value(&mut self, name: String, ty: Type, place: Place) -> ValueId {
        let ty = self.types.intern(ty);
        self.values.push(Value { name: name.into(), ty, place });
        ValueId(self.values.len() as u32 - 1)
    }

    fn push(&mut self, kind: OpKind, place: Place) {
        self.steps.push(Step { op: Op { kind, place }, issued: None, waits: Vec::new() });
    }

    /// An operation that is given to no pipe: flags, barriers.
    pub(crate) fn order(&mut self, location: &'static Location<'static>, kind: OpKind) {
        let place = self.place(location);
        self.manual |= matches!(kind, OpKind::SetFlag(_) | OpKind::WaitFlag(_));
        self.push(kind, place);
    }

    /// The flush, which the scalar unit does when it has waited for what the kernel says.
    pub(crate) fn flush(&mut self, location: &'static Location<'static>) {
        let place = self.place(location);
        let waits = core::mem::take(&mut self.waits);
        self.steps.push(Step { op: Op { kind: OpKind::FlushCache, place }, issued: None, waits });
        self.push(OpKind::DataBarrier, place);
    }

    fn issue(&mut self, location: &'static Location<'static>, kind: OpKind, executed: Executed) -> Event {
        let (place, number) = (self.place(location), self.issued);
        self.issued += 1;
        let (waits, issued) = (core::mem::take(&mut self.waits), Some((number, footprint(executed, self.target))));
        self.steps.push(Step { op: Op { kind, place }, issued, waits });
        Event { core: self.core, number, lanes: pto_exec::Lanes::default(), findings: Vec::new(), place: location }
    }

    /// Records an instruction, unless it waits for another core's event or has operands of another core.
    pub(super) fn instruction(
        &mut self,
        location: &'static Location<'static>,
        operands: impl FnOnce(&mut Self, Place) -> Result<(OpKind, Executed), Cause>,
    ) -> Result<Event, Error> {
        let recorded = match core::mem::take(&mut self.waits_for_stranger) {
            true => Err(Cause::ForeignEvent),
            false => {
                let place = self.place(location);
                operands(self, place)
            }
        };
        match recorded {
            Ok((kind, executed)) => Ok(self.issue(location, kind, executed)),
            Err(cause) => {
                // As on a core that runs, the waits belong to the call that failed.
                self.waits.clear();
                Err(cause.at(location))
            }
        }
    }

    pub(crate) fn tassign(
        &mut self,
        location: &'static Location<'static>,
        tile: &impl TileOperand,
        address: u64,
    ) -> Result<(), Cause> {
        judge_place(Tile { address: Some(address), ..tile.operand() }, self.target, self.launch)?;
        let place = self.place(location);
        let number = match self.slot(tile)? {
            Some(number) => {
                let kind = OpKind::Assign { tile: self.tiles[number as usize].0, address: number_of(address) };
                self.push(kind, place);
                number
            }
            None => self.alloc(tile, Some(address), place),
        };
        let home = Home::Recorded { tile: number, address: Some(address) };
        *tile.slot().borrow_mut() = Some(Slot { core: self.core, home });
        Ok(())
    }

    /// The number of a tile that was met before.
    fn slot(&self, tile: &impl TileOperand) -> Result<Option<u32>, Cause> {
        match &*tile.slot().borrow() {
            None => Ok(None),
            Some(Slot { core, home: Home::Recorded { tile, .. } }) if *core == self.core => Ok(Some(*tile)),
            Some(_) => Err(Cause::ForeignTile),
        }
    }

    fn alloc(&mut self, tile: &impl TileOperand, address: Option<u64>, place: Place) -> u32 {
        let (number, now) = (self.tiles.len() as u32, tile.operand());
        let ty = Type::Tile(Tile { address: None, ..now }.erased());
        let result = self.value(format!("tile{number}"), ty, place);
        // What the type leaves open, the allocation says.
        let filled = |extent: Extent| extent.is_dynamic().then(|| number_of(extent.known().unwrap_or(0)));
        let (valid_rows, valid_cols) = (filled(now.valid_rows), filled(now.valid_cols));
        self.push(OpKind::AllocTile { result, address: address.map(number_of), valid_rows, valid_cols }, place);
        self.tiles.push((result, (now.valid_rows, now.valid_cols)));
        number
    }

    /// A tile as an operand: allocated when first met, with the valid extents that it has now.
    pub(super) fn tile(&mut self, tile: &impl TileOperand, place: Place) -> Result<ValueId, Cause> {
        let Some(number) = self.slot(tile)? else {
            let number = self.alloc(tile, None, place);
            let home = Home::Recorded { tile: number, address: None };
            *tile.slot().borrow_mut() = Some(Slot { core: self.core, home });
            return Ok(self.tiles[number as usize].0);
        };
        let now = tile.operand();
        let (value, valid) = &mut self.tiles[number as usize];
        let value = *value;
        if *valid != (now.valid_rows, now.valid_cols) {
            *valid = (now.valid_rows, now.valid_cols);
            let [rows, cols] = [now.valid_rows, now.valid_cols].map(|extent| number_of(extent.known().unwrap_or(0)));
            self.push(OpKind::SetValidShape { tile: value, rows, cols }, place);
        }
        Ok(value)
    }

    /// A tensor as an operand: a view of its parameter.
    pub(super) fn tensor<G: Table>(&mut self, table: &G, place: Place) -> Result<ValueId, Cause> {
        let (tensor, bytes) = (table.operand(), table.bytes().as_ptr_range());
        let range = (bytes.start as usize, bytes.end as usize);
        let parameter = self.parameter(table.name(), tensor.element, range, place)?;
        Ok(self.view(parameter, tensor, place))
    }

    fn parameter(
        &mut self,
        name: Option<&str>,
        element: ElementType,
        range: (usize, usize),
        place: Place,
    ) -> Result<usize, Cause> {
        let slices = || self.parameters.iter().enumerate().filter(|(_, known)| known.values.is_none());
        let named = name.and_then(|name| self.parameters.iter().position(|known| known.name == name));
        // Empty slices all begin at the same place.
        let begins = || slices().find(|(_, known)| known.range.0 == range.0 && range.0 < range.1).map(|(at, _)| at);
        if let Some(at) = named.or_else(begins) {
            let known = &mut self.parameters[at];
            let same = known.element == element && known.range.0 == range.0 && known.values.is_none();
            if !same || name.is_some_and(|name| name != known.name) {
                return Err(Cause::Parameter { name: known.name.clone() });
            }
            known.range.1 = known.range.1.max(range.1);
            return Ok(at);
        }
        if let Some((_, other)) = slices().find(|(_, known)| known.range.0 < range.1 && range.0 < known.range.1) {
            return Err(Cause::Window { name: other.name.clone() });
        }
        let name = name.map_or_else(|| format!("arg{}", slices().count()), String::from);
        self.parameters.push(Parameter { name, element, place, range, values: None });
        Ok(self.parameters.len() - 1)
    }

    pub(super) fn view(&mut self, parameter: usize, tensor: Tensor, place: Place) -> ValueId {
        let known = self.views.iter().find(|(of, known, _)| *of == parameter && *known == tensor);
        if let Some((.., view)) = known {
            return *view;
        }
        let fixed = |extent: Extent| if extent.is_dynamic() { None } else { extent.known() };
        let ty = ViewType {
            kind: ViewKind::Tensor,
            element: tensor.element,
            shape: tensor.shape.map(fixed).to_vec(),
            strides: Some(tensor.strides.map(fixed).to_vec()),
            layout: Some(tensor.layout),
        };
        let result = self.value(format!("view{}", self.views.len()), Type::View(ty), place);
        let numbers = |extents: [Extent; 5]| extents.map(|extent| number_of(extent.known().unwrap_or(0))).to_vec();
        let (shape, strides) = (numbers(tensor.shape), numbers(tensor.strides));
        let pointer = ValueId(parameter as u32);
        self.push(OpKind::MakeView { result, pointer, shape, strides, layout: Some(tensor.layout) }, place);
        self.views.push((parameter, tensor, result));
        result
    }
}

/// A number of the program; what is beyond its range is refused by the check as the address or extent that it is.
fn number_of(value: u64) -> Operand {
    Operand::Number(i64::try_from(value).unwrap_or(i64::MAX))
}
