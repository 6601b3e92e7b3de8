//! Scalar accesses to global memory and tiles.

use pto_ir::check::rules as ir;
use pto_ir::{OpKind, Pipe, ValueId};
use pto_isa::ElementType;

use crate::hazard::Kind;
use crate::machine::{Machine, decode, encode};
use crate::state::{TileState, Value};

impl Machine<'_> {
    pub(crate) fn scalar_access(&mut self, op: &OpKind, step: u32) {
        self.pump();
        if self.device.scalar_is_stuck() {
            self.stopped = true;
            return;
        }
        let outcome = match op {
            OpKind::LoadScalar { result, pointer, offset } => {
                self.element_in_reach(*pointer, self.operand(*offset)).map(|(buffer, element, at)| {
                    let size = element.size() as usize;
                    let value = decode(element, &self.buffers[buffer].bytes[at..at + size]);
                    self.touch_buffer_scalar(buffer, at as u64, size as u64, Kind::Read, step);
                    self.set_value(*result, value);
                })
            }
            OpKind::StoreScalar { pointer, offset, value } => {
                self.element_in_reach(*pointer, self.operand(*offset)).map(|(buffer, element, at)| {
                    let size = element.size() as usize;
                    let bytes = encode(element, self.value(*value));
                    self.buffers[buffer].bytes[at..at + size].copy_from_slice(&bytes[..size]);
                    self.touch_buffer_scalar(buffer, at as u64, size as u64, Kind::Write, step);
                })
            }
            OpKind::GetValue { result, tile, offset } => {
                self.tile_element(*tile, self.operand(*offset)).map(|(state, at)| {
                    let size = state.tile.element.size();
                    let value = decode(state.tile.element, &self.ub[at as usize..(at + size) as usize]);
                    self.check_bytes(&state, at, at + size, step);
                    self.touch_ub(state.owner, &[(at, at + size)], Kind::Read, Pipe::S, step);
                    self.set_value(*result, value);
                })
            }
            OpKind::SetValue { tile, offset, value } => {
                self.tile_element(*tile, self.operand(*offset)).map(|(state, at)| {
                    let size = state.tile.element.size();
                    let bytes = encode(state.tile.element, self.value(*value));
                    self.ub[at as usize..(at + size) as usize].copy_from_slice(&bytes[..size as usize]);
                    self.touch_ub(state.owner, &[(at, at + size)], Kind::Write, Pipe::S, step);
                })
            }
            _ => Ok(()),
        };
        if let Err(message) = outcome {
            self.trap(&ir::ELEMENT, step, message);
        }
        self.instructions += 1;
        if let Some(timing) = self.timing {
            let cycles = match op {
                OpKind::LoadScalar { .. } => timing.scalar_gm_read,
                OpKind::StoreScalar { .. } => timing.scalar_gm_write,
                _ => timing.scalar_ub,
            };
            let now = self.device.now();
            self.device.run(Pipe::S, now, 0, cycles);
        }
    }

    /// [`element_of`](Self::element_of), with the bytes there even if they are those of a window.
    fn element_in_reach(&mut self, pointer: ValueId, offset: i64) -> Result<(usize, ElementType, usize), String> {
        let found = self.element_of(pointer, offset)?;
        self.fetch(found.0).map_err(|(_, message)| message)?;
        Ok(found)
    }

    /// The buffer, element type and byte position of an element behind a pointer or view.
    pub(crate) fn element_of(&self, pointer: ValueId, offset: i64) -> Result<(usize, ElementType, usize), String> {
        let (buffer, first) = match self.value(pointer) {
            Value::Pointer { buffer, offset } => (*buffer, *offset),
            Value::View(view) => (view.buffer, view.offset),
            _ => return Err("expected a pointer or view that is bound to an array".into()),
        };
        let element = self.buffers[buffer].element;
        let length = self.buffers[buffer].length / element.size();
        let at = u64::try_from(offset).ok().and_then(|offset| offset.checked_add(first)).filter(|at| *at < length);
        let at = at.ok_or_else(|| format!("expected an offset within {length} elements, found {offset}"))?;
        Ok((buffer, element, (at * element.size()) as usize))
    }

    pub(crate) fn tile_element(&self, tile: ValueId, offset: i64) -> Result<(TileState, u64), String> {
        let Value::Tile(state) = self.value(tile) else { return Err("expected a tile".into()) };
        let elements = state.tile.elements().unwrap_or(0);
        let at = u64::try_from(offset).ok().filter(|at| *at < elements);
        let at = at.ok_or_else(|| format!("expected an offset within {elements} elements, found {offset}"))?;
        let address = state.tile.address.ok_or("the tile has no address yet")?;
        let byte = address + at * state.tile.element.size();
        if byte + state.tile.element.size() > self.ub.len() as u64 {
            return Err("the element lies outside UB".into());
        }
        Ok((**state, byte))
    }
}
