//! Parameters and what they are bound to: arrays as buffers, tiles with a place and their contents, numbers.

use std::collections::BTreeMap;

use pto_ir::{Diagnostic, Type, ValueId};
use pto_isa::{ElementType, Tile};

use crate::hazard::Shadow;
use crate::machine::{Argument, Machine, packed_view, with_known_valid};
use crate::rules;
use crate::state::{Buffer, TileState, Value, View, known};
use crate::work::Refusal;

impl Machine<'_> {
    /// Binds the parameters; false, with findings, if the arguments do not fit.
    pub(crate) fn bind(&mut self, mut arguments: BTreeMap<String, Argument>) -> bool {
        for id in self.function.parameter_ids() {
            let argument = arguments.remove(self.function.value(id).name.as_ref());
            self.bind_parameter(id, argument);
        }
        let names: Vec<&str> = self.function.parameter_ids().map(|id| self.function.value(id).name.as_ref()).collect();
        for name in arguments.keys() {
            let message = format!("expected one of the parameters {}, found an argument `{name}`", names.join(", "));
            self.say(Diagnostic::new(rules::LAUNCH_ARGUMENT, self.function.place, message));
        }
        self.first_error().is_none()
    }

    pub(crate) fn bind_parameter(&mut self, id: ValueId, argument: Option<Argument>) {
        let value = self.function.value(id);
        let name = value.name.to_string();
        let Some(argument) = argument else {
            let message = format!("expected an argument for parameter `{name}`, found none");
            return self.say(Diagnostic::new(rules::LAUNCH_ARGUMENT, value.place, message));
        };
        if let Err((rule, message)) = self.bind_one(id, &name, argument) {
            self.say(Diagnostic::new(rule, value.place, message));
        }
    }

    fn bind_one(&mut self, id: ValueId, name: &str, argument: Argument) -> Result<(), Refusal> {
        let unfit = |message: String| (rules::LAUNCH_ARGUMENT, message);
        let ty = self.module.types.get(self.function.value(id).ty).clone();
        let bound = match (&ty, argument) {
            (Type::Pointer(element), Argument::Array(bytes)) => {
                Value::Pointer { buffer: self.add_buffer(name, *element, bytes), offset: 0 }
            }
            (Type::View(view), Argument::Array(bytes)) => {
                let shape: Option<Vec<u64>> = view.shape.iter().copied().collect();
                let shape = shape
                    .ok_or_else(|| unfit("a view parameter with unknown extents cannot be bound to an array".into()))?;
                let tensor = packed_view(view, &shape).map_err(unfit)?;
                let needed = tensor.span().unwrap_or(u64::MAX).saturating_mul(view.element.size());
                let found = bytes.len();
                let buffer = self.add_buffer(name, view.element, bytes);
                if needed > found as u64 {
                    let message = format!("expected at least {needed} bytes for `{name}`, found {found}");
                    return Err((rules::BOUNDS_BUFFER, message));
                }
                Value::View(Box::new(View { buffer, offset: 0, tensor, rank: shape.len() }))
            }
            (Type::Tile(tile), Argument::Array(bytes)) => self.bind_tile(id, name, *tile, &bytes).map_err(unfit)?,
            (Type::Index | Type::Boolean, Argument::Integer(value)) => Value::Integer(value),
            (Type::Scalar(element), Argument::Integer(value)) if element.is_integer() => Value::Integer(value),
            (Type::Scalar(_), Argument::Integer(value)) => Value::Float(value as f64),
            (Type::Scalar(element), Argument::Float(value)) if !element.is_integer() => Value::Float(value),
            (Type::Group(_), _) => {
                return Err(unfit(format!("`{name}` is a group, which spans ranks: run the program on several")));
            }
            (ty, argument) => {
                let found = match argument {
                    Argument::Array(_) => "an array",
                    Argument::Integer(_) => "a whole number",
                    Argument::Float(_) => "a number",
                };
                return Err(unfit(format!("expected a value for `{name}: {ty}`, found {found}")));
            }
        };
        self.values[id.0 as usize] = bound;
        Ok(())
    }

    fn add_buffer(&mut self, name: &str, element: ElementType, bytes: Vec<u8>) -> usize {
        let length = bytes.len() as u64;
        let buffer = Buffer { name: name.into(), element, bytes, length, shadow: Shadow::default() };
        self.buffers.push(buffer);
        self.buffers.len() - 1
    }

    /// A tile parameter arrives loaded, its valid region from the array: at a place of its own, or where the program
    /// assigns it.
    fn bind_tile(&mut self, id: ValueId, name: &str, tile: Tile, bytes: &[u8]) -> Result<Value, String> {
        let tile = with_known_valid(tile, tile.valid_rows.known(), tile.valid_cols.known());
        let size = tile.element.size();
        let needed = known(tile.valid_rows).saturating_mul(known(tile.valid_cols)).saturating_mul(size);
        if needed != bytes.len() as u64 {
            return Err(format!("expected {needed} bytes for the valid region of `{name}`, found {}", bytes.len()));
        }
        if self.code.assigns(id) {
            self.arriving.insert(id.0, bytes.to_vec());
            return Ok(Value::Tile(Box::new(TileState { tile, owner: id.0 })));
        }
        let state = self.place_tile(id, tile, None);
        self.reserve(state.allocation().1);
        self.fill_tile(&state, bytes, 0)?;
        Ok(Value::Tile(Box::new(state)))
    }

    /// The valid region of a tile takes the elements of an array, in row-major order.
    pub(crate) fn fill_tile(&mut self, state: &TileState, bytes: &[u8], step: u32) -> Result<(), String> {
        let (tile, size) = (&state.tile, state.tile.element.size());
        let (base, cols) = (tile.address.unwrap_or(0), known(tile.valid_cols));
        for (lane, value) in bytes.chunks_exact(size as usize).enumerate() {
            let (row, col) = (lane as u64 / cols, lane as u64 % cols);
            let at = (base + tile.offset(row, col) * size) as usize;
            let room = self.ub.get_mut(at..at + size as usize).ok_or("a tile parameter does not fit into UB")?;
            room.copy_from_slice(value);
        }
        for &(from, to) in &*state.valid_ranges() {
            self.contents.write(state.owner, from, to, step);
        }
        self.ub_peak = self.ub_peak.max(state.allocation().1);
        Ok(())
    }

    /// Gives a tile its place: the address named, or, where there is no UB to share, a place of its own.
    pub(crate) fn place_tile(&mut self, id: ValueId, mut tile: Tile, address: Option<u64>) -> TileState {
        tile.address = address.or_else(|| {
            let is_parameter = (id.0 as usize) < self.function.parameters;
            (!self.is_device() || is_parameter).then(|| {
                let bytes = tile.allocation().unwrap_or(0);
                let home = *self.homes.entry(id.0).or_insert(self.bump);
                self.bump = self.bump.max(home + bytes);
                home
            })
        });
        TileState { tile, owner: id.0 }
    }

    /// Makes room in UB where it has no fixed size.
    pub(crate) fn reserve(&mut self, end: u64) {
        if !self.is_device() && (self.ub.len() as u64) < end {
            self.ub.resize(end as usize, 0);
        }
    }
}
