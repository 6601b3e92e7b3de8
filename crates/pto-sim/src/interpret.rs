//! Program order: the scalar unit computes, decides and issues.

use pto_ir::{Arithmetic, Constant, Diagnostic, For, OpKind, Operand, Pipe, Predicate, Type, ValueId};
use pto_isa::{ElementType, TensorLayout};

use crate::code::Step;
use crate::device::FlagFault;
use crate::effects::Work;
use crate::machine::{Machine, decode, encode, five_dimensions, packed_view, with_known_valid};
use crate::rules;
use crate::state::{TileState, Value, View, known};

/// A loop that is running.
struct Round {
    current: i64,
    upper: i64,
    step: i64,
}

impl Machine<'_> {
    pub(crate) fn run(&mut self) {
        let mut rounds: Vec<Round> = Vec::new();
        let (mut at, mut steps) = (0usize, 0u64);
        while at < self.code.steps.len() && !self.stopped {
            steps += 1;
            if steps > self.options.max_steps {
                self.trap(rules::LAUNCH_LIMIT, at as u32, format!("expected at most {} steps", self.options.max_steps));
                break;
            }
            if steps.is_multiple_of(1024) {
                if self.asked_to_stop() {
                    break;
                }
                if let Some(progress) = self.options.progress {
                    progress(self.instructions);
                }
            }
            at = match self.code.steps[at] {
                Step::Op(OpKind::Return(_)) => break,
                Step::Op(op) => {
                    self.step(op, at as u32);
                    at + 1
                }
                Step::ForBegin { op, end } => self.begin_loop(op, at, end, &mut rounds),
                Step::ForNext { op, yields, body } => self.next_round(op, yields, at, body, &mut rounds),
                Step::IfBegin { op, otherwise } => {
                    if self.integer(op.condition) != 0 {
                        at + 1
                    } else {
                        otherwise
                    }
                }
                Step::IfEnd { op, yields, end } => {
                    let handed: Vec<Value> = yields.iter().map(|id| self.value(*id).clone()).collect();
                    for (result, value) in op.results.iter().zip(handed) {
                        self.set_value(*result, value);
                    }
                    end
                }
            };
        }
        self.pump();
        self.end();
    }

    fn begin_loop(&mut self, op: &For, at: usize, end: usize, rounds: &mut Vec<Round>) -> usize {
        let (lower, upper, step) = (self.integer(op.lower), self.integer(op.upper), self.integer(op.step));
        if step <= 0 {
            self.trap(rules::BOUNDS_LOOP, at as u32, format!("expected a step of 1 or more, found {step}"));
            return end;
        }
        let runs = lower < upper;
        for carried in &op.carried {
            let value = self.value(carried.initial).clone();
            self.set_value(if runs { carried.inner } else { carried.result }, value);
        }
        if !runs {
            return end;
        }
        self.set_value(op.induction, Value::Integer(lower));
        rounds.push(Round { current: lower, upper, step });
        at + 1
    }

    fn next_round(&mut self, op: &For, yields: &[ValueId], at: usize, body: usize, rounds: &mut Vec<Round>) -> usize {
        let handed: Vec<Value> = yields.iter().map(|id| self.value(*id).clone()).collect();
        let Some(round) = rounds.last_mut() else { return at + 1 };
        let next = round.current.checked_add(round.step).filter(|next| *next < round.upper);
        if let Some(next) = next {
            round.current = next;
        } else {
            rounds.pop();
        }
        for (carried, value) in op.carried.iter().zip(handed) {
            self.set_value(if next.is_some() { carried.inner } else { carried.result }, value);
        }
        match next {
            Some(next) => {
                self.set_value(op.induction, Value::Integer(next));
                body
            }
            None => at + 1,
        }
    }

    pub(crate) fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }

    pub(crate) fn set_value(&mut self, id: ValueId, value: Value) {
        self.values[id.0 as usize] = value;
    }

    fn integer(&self, id: ValueId) -> i64 {
        match self.value(id) {
            Value::Integer(value) => *value,
            _ => 0,
        }
    }

    pub(crate) fn operand(&self, operand: Operand) -> i64 {
        match operand {
            Operand::Value(id) => self.integer(id),
            Operand::Number(number) => number,
        }
    }

    fn scalar_type(&self, id: ValueId) -> Option<ElementType> {
        match self.module.types.get(self.function.value(id).ty) {
            Type::Scalar(element) => Some(*element),
            _ => None,
        }
    }

    /// One operation without regions.
    fn step(&mut self, op: &OpKind, step: u32) {
        match op {
            OpKind::Constant { result, value } => {
                let value = match value {
                    Constant::Integer(value) => Value::Integer(*value),
                    Constant::Float(value) => Value::Float(*value),
                };
                self.set_value(*result, value);
            }
            OpKind::Arithmetic { result, op, lhs, rhs } => {
                let value = arithmetic(*op, self.integer(*lhs), self.integer(*rhs));
                let value = wrap(self.scalar_type(*result), value);
                self.set_value(*result, Value::Integer(value));
            }
            OpKind::Compare { result, predicate, lhs, rhs } => {
                let holds = compare(*predicate, self.integer(*lhs), self.integer(*rhs));
                self.set_value(*result, Value::Integer(holds.into()));
            }
            OpKind::Select { result, condition, then, otherwise } => {
                let chosen = if self.integer(*condition) != 0 { then } else { otherwise };
                let value = self.value(*chosen).clone();
                self.set_value(*result, value);
            }
            OpKind::Cast { result, value } => {
                let value = match self.value(*value) {
                    Value::Integer(value) => Value::Integer(wrap(self.scalar_type(*result), *value)),
                    other => other.clone(),
                };
                self.set_value(*result, value);
            }
            OpKind::SetFlag(_)
            | OpKind::WaitFlag(_)
            | OpKind::Barrier(_)
            | OpKind::FlushCache
            | OpKind::DataBarrier => {
                self.synchronise(op, step);
            }
            OpKind::Load { .. }
            | OpKind::Store { .. }
            | OpKind::Move { .. }
            | OpKind::MGather { .. }
            | OpKind::MScatter { .. }
            | OpKind::TScatter { .. }
            | OpKind::TScatterMask { .. }
            | OpKind::Collective(_) => self.issue(op, step),
            OpKind::LoadScalar { .. }
            | OpKind::StoreScalar { .. }
            | OpKind::GetValue { .. }
            | OpKind::SetValue { .. } => {
                self.scalar_access(op, step);
            }
            OpKind::MakeView { .. } | OpKind::PartitionView { .. } | OpKind::MakeGroup { .. } => self.view(op, step),
            OpKind::AllocTile { .. }
            | OpKind::Assign { .. }
            | OpKind::Subview { .. }
            | OpKind::SetValidShape { .. } => {
                self.tile(op, step);
            }
            OpKind::Rank { result } => {
                let rank = self.options.rank.unwrap_or(0);
                self.set_value(*result, Value::Integer(rank as i64));
            }
            OpKind::Ranks { result } => self.set_value(*result, Value::Integer(self.options.ranks as i64)),
            OpKind::RankBarrier | OpKind::Yield(_) | OpKind::Return(_) => {}
            // Flattened into steps of their own.
            OpKind::For(_) | OpKind::If(_) => {}
            OpKind::Unknown(unknown) => {
                let message = format!("`{}` is not part of this instruction set", unknown.name);
                self.trap(pto_isa::rules::POLICY_NAME, step, message);
            }
        }
    }

    fn synchronise(&mut self, op: &OpKind, step: u32) {
        if !self.is_device() {
            return;
        }
        let room = match op {
            OpKind::SetFlag(flag) => self.device.set(*flag, step),
            OpKind::WaitFlag(flag) => self.device.wait(*flag, step),
            OpKind::Barrier(Pipe::All) => {
                self.pump();
                self.device.barrier_all();
                true
            }
            // A pipe does its work in order anyway, and so does the scalar unit.
            OpKind::Barrier(_) => true,
            OpKind::FlushCache => {
                self.flushing = true;
                true
            }
            OpKind::DataBarrier => {
                if self.flushing {
                    self.unflushed = None;
                }
                true
            }
            _ => true,
        };
        let cycles = self.timing.map_or(0, |timing| timing.issue);
        self.device.spend(cycles);
        self.pump();
        if !room || self.device.scalar_is_stuck() {
            self.stopped = true;
        }
    }

    /// Runs what is ready, and reports what goes wrong with flags.
    pub(crate) fn pump(&mut self) {
        let mut faults = Vec::new();
        while let Some((_, number)) = self.device.advance(&mut faults) {
            if let Some(issued) = self.issued.remove(&number) {
                self.execute(&issued);
            }
            if self.stopped {
                break;
            }
        }
        faults.into_iter().for_each(|fault| self.flag_fault(fault));
    }

    /// What is left to be said when the program has ended.
    fn end(&mut self) {
        // Flags that are left after an instruction faulted are no finding of their own.
        let trapped = self.stopped && self.device.stuck().is_empty();
        if self.is_device() && !trapped && !self.asked_to_stop() {
            for fault in self.device.finish() {
                self.flag_fault(fault);
            }
        }
        if let Some(step) = self.unflushed
            && !self.stopped
        {
            let message = "expected pto.dcci and pto.dsb after this scatter, before the kernel ends; found neither";
            let place = self.place(step);
            self.say(Diagnostic::new(rules::FLUSH_MISSING, place, message));
        }
    }

    pub(crate) fn flag_fault(&mut self, fault: FlagFault) {
        let name = |flag: pto_ir::Flag| format!("{} -> {} EVENT_ID{}", flag.from.name(), flag.to.name(), flag.event);
        match fault {
            FlagFault::DoubleSet { flag, step, earlier } => {
                let message = format!("{} is set again before anyone has waited for it", name(flag));
                let place = self.place(step);
                let earlier = self.place(earlier);
                self.say(Diagnostic::new(rules::SYNC_DOUBLE_SET, place, message).label(earlier, "set here before"));
            }
            FlagFault::Collision { flag, step, earlier } => {
                let message = format!("this instruction uses {} inside, and that flag is pending", name(flag));
                let place = self.place(step);
                let earlier = self.place(earlier);
                self.say(Diagnostic::new(rules::SYNC_EVENT_COLLISION, place, message).label(earlier, "set here"));
            }
            FlagFault::NeverWaited { flag, step } => {
                let message = format!("{} is set here, and the program ends before anyone waits for it", name(flag));
                let place = self.place(step);
                self.say(Diagnostic::new(rules::SYNC_NEVER_WAITED, place, message));
            }
            FlagFault::Deadlock { waits } => {
                let all: Vec<String> =
                    waits.iter().map(|(flag, _)| format!("{} waits for {}", flag.to.name(), name(*flag))).collect();
                let Some(((_, first), rest)) = waits.split_first() else { return };
                let place = self.place(*first);
                let mut diagnostic =
                    Diagnostic::new(rules::SYNC_DEADLOCK, place, format!("the device hangs: {}", all.join("; ")));
                for (flag, step) in rest {
                    diagnostic = diagnostic.label(self.place(*step), format!("waits for {}", name(*flag)));
                }
                self.say(diagnostic);
            }
        }
    }

    fn view(&mut self, op: &OpKind, step: u32) {
        let made = match op {
            OpKind::MakeView { result, pointer, shape, strides, layout } => {
                self.make_view(*pointer, shape, strides, *layout, *result).map(|view| (*result, view))
            }
            OpKind::PartitionView { result, view, offsets, sizes } => {
                self.partition(*view, offsets, sizes).map(|view| (*result, view))
            }
            OpKind::MakeGroup { result, members } => {
                let views = members.iter().filter_map(|id| match self.value(*id) {
                    Value::View(view) => Some(**view),
                    _ => None,
                });
                let group = Value::Group(views.collect());
                self.set_value(*result, group);
                return;
            }
            _ => return,
        };
        match made {
            Ok((result, view)) => self.set_value(result, Value::View(Box::new(view))),
            Err(message) => self.trap(rules::BOUNDS_BUFFER, step, message),
        }
    }

    fn naturals(&self, operands: &[Operand], what: &str) -> Result<Vec<u64>, String> {
        let natural = |operand: &Operand| {
            let value = self.operand(*operand);
            u64::try_from(value).map_err(|_| format!("expected {what} of zero or more, found {value}"))
        };
        operands.iter().map(natural).collect()
    }

    fn make_view(
        &self,
        pointer: ValueId,
        shape: &[Operand],
        strides: &[Operand],
        layout: Option<TensorLayout>,
        result: ValueId,
    ) -> Result<View, String> {
        let Value::Pointer { buffer, offset } = *self.value(pointer) else {
            return Err("expected a pointer that is bound to an array".into());
        };
        let Type::View(ty) = self.module.types.get(self.function.value(result).ty) else {
            return Err("expected the type of a view".into());
        };
        let shape = self.naturals(shape, "extents")?;
        let tensor = if strides.is_empty() {
            packed_view(ty, &shape)?
        } else {
            let layout = layout.or(ty.layout).unwrap_or(TensorLayout::Nd);
            five_dimensions(ty.element, &shape, &self.naturals(strides, "strides")?, layout)?
        };
        let view = View { buffer, offset, tensor, rank: shape.len() };
        self.fits(&view)?;
        Ok(view)
    }

    /// The view lies inside its buffer.
    fn fits(&self, view: &View) -> Result<(), String> {
        let buffer = &self.buffers[view.buffer];
        let size = view.tensor.element.size();
        let end = view.tensor.span().and_then(|span| span.checked_add(view.offset)).unwrap_or(u64::MAX);
        let needed = end.saturating_mul(size);
        if needed <= buffer.bytes.len() as u64 {
            return Ok(());
        }
        let (name, found) = (&buffer.name, buffer.bytes.len());
        Err(format!("the view addresses {needed} bytes of `{name}`, but the array bound to it has {found}"))
    }

    fn partition(&self, view: ValueId, offsets: &[Operand], sizes: &[Operand]) -> Result<View, String> {
        let Value::View(view) = self.value(view) else { return Err("expected a view".into()) };
        let mut part = **view;
        let lead = 5 - view.rank;
        let (offsets, sizes) = (self.naturals(offsets, "offsets")?, self.naturals(sizes, "sizes")?);
        if offsets.len() != view.rank || sizes.len() != view.rank {
            return Err(format!(
                "expected {} offsets and sizes, found {} and {}",
                view.rank,
                offsets.len(),
                sizes.len()
            ));
        }
        for (i, (offset, size)) in offsets.iter().zip(&sizes).enumerate() {
            let whole = known(view.tensor.shape[lead + i]);
            if offset.checked_add(*size).is_none_or(|end| end > whole) {
                return Err(format!("dimension {i}: {size} from {offset} leaves the view's extent {whole}"));
            }
            part.offset += offset * known(view.tensor.strides[lead + i]);
            part.tensor.shape[lead + i] = pto_isa::Extent::Dynamic(Some(*size));
        }
        Ok(part)
    }

    fn tile(&mut self, op: &OpKind, step: u32) {
        match op {
            OpKind::AllocTile { result, address, valid_rows, valid_cols } => {
                let Type::Tile(tile) = *self.module.types.get(self.function.value(*result).ty) else { return };
                let valid = |operand: &Option<Operand>, machine: &Self| {
                    operand.map(|operand| u64::try_from(machine.operand(operand)).unwrap_or(u64::MAX))
                };
                let rows = valid(valid_rows, self).or(tile.valid_rows.known());
                let cols = valid(valid_cols, self).or(tile.valid_cols.known());
                let tile = with_known_valid(tile, rows, cols);
                let address = address.map(|operand| self.operand(operand));
                let Ok(address) = address.map(u64::try_from).transpose() else {
                    return self.trap(pto_isa::rules::SHAPE_NEGATIVE, step, "expected a UB address of zero or more");
                };
                let state = self.place_tile(*result, tile, address);
                if self.tile_fits(&state, step) {
                    self.set_value(*result, Value::Tile(Box::new(state)));
                }
            }
            OpKind::Assign { tile, address } => {
                let address = self.operand(*address);
                let Value::Tile(state) = self.value(*tile) else { return };
                let mut state = **state;
                let Ok(address) = u64::try_from(address) else {
                    return self.trap(pto_isa::rules::SHAPE_NEGATIVE, step, "expected a UB address of zero or more");
                };
                state.tile.address = Some(address);
                if self.tile_fits(&state, step) {
                    self.set_value(*tile, Value::Tile(Box::new(state)));
                }
            }
            OpKind::SetValidShape { tile, rows, cols } => {
                let (rows, cols) = (self.operand(*rows), self.operand(*cols));
                let Value::Tile(state) = self.value(*tile) else { return };
                let mut state = **state;
                let (rows, cols) = (u64::try_from(rows).unwrap_or(u64::MAX), u64::try_from(cols).unwrap_or(u64::MAX));
                state.tile = state.tile.with_dynamic_valid(rows, cols);
                self.valid_fits(&state, step);
                self.set_value(*tile, Value::Tile(Box::new(state)));
            }
            OpKind::Subview { result, source, offsets, sizes } => {
                let Value::Tile(state) = self.value(*source) else { return };
                let parent = **state;
                match self.subview(&parent, offsets, sizes) {
                    Ok(state) => self.set_value(*result, Value::Tile(Box::new(state))),
                    Err(message) => self.trap(pto_isa::rules::SHAPE_VALID_EXTENT, step, message),
                }
            }
            _ => {}
        }
    }

    /// A window of a row-major tile: the parent's row distance, another first byte.
    fn subview(&self, parent: &TileState, offsets: &[Operand; 2], sizes: &[Operand; 2]) -> Result<TileState, String> {
        let (at, size) = (self.naturals(offsets, "offsets")?, self.naturals(sizes, "sizes")?);
        let tile = parent.tile;
        if !tile.is_row_major() {
            return Err("expected a row-major tile: only those have subviews here".into());
        }
        let inside = |at: u64, size: u64, whole: u64| at.checked_add(size).is_some_and(|end| end <= whole);
        if !inside(at[0], size[0], tile.rows) || !inside(at[1], size[1], tile.cols) {
            return Err(format!(
                "{}x{} at ({}, {}) leaves the tile's {}x{}",
                size[0], size[1], at[0], at[1], tile.rows, tile.cols
            ));
        }
        let first = tile.offset(at[0], at[1]) * tile.element.size();
        let mut window = tile.with_dynamic_valid(size[0], size[1]);
        window.rows = size[0];
        window.address = tile.address.map(|address| address + first);
        Ok(TileState { tile: window, owner: parent.owner })
    }

    fn valid_fits(&mut self, state: &TileState, step: u32) {
        let tile = &state.tile;
        if known(tile.valid_rows) > tile.rows || known(tile.valid_cols) > tile.cols {
            let message = format!("expected valid extents within the padded {}x{}, found {tile}", tile.rows, tile.cols);
            self.trap(pto_isa::rules::SHAPE_VALID_EXTENT, step, message);
        }
    }

    /// A tile that is placed lies inside the UB that the launch gives; its valid extents inside its padded ones.
    fn tile_fits(&mut self, state: &TileState, step: u32) -> bool {
        self.valid_fits(state, step);
        let Some(address) = state.tile.address else { return !self.stopped };
        let end = state.tile.allocation().and_then(|bytes| address.checked_add(bytes)).unwrap_or(u64::MAX);
        if let Some(limit) = self.ub_limit() {
            if !address.is_multiple_of(32) {
                let message = format!("expected an address that is a multiple of 32, found 0x{address:x}");
                self.trap(pto_isa::rules::ALIGN_ADDRESS, step, message);
            } else if end > limit {
                let message =
                    format!("expected the tile to end by byte {limit} of UB, found {} at 0x{address:x}", state.tile);
                self.trap(pto_isa::rules::BUDGET_UB, step, message);
            }
        } else if end > 1 << 34 {
            self.trap(pto_isa::rules::SHAPE_OVERFLOW, step, "expected tiles of at most 16 GiB in all");
        } else {
            self.reserve(end);
        }
        !self.stopped
    }

    fn scalar_access(&mut self, op: &OpKind, step: u32) {
        self.pump();
        if self.device.scalar_is_stuck() {
            self.stopped = true;
            return;
        }
        let outcome = match op {
            OpKind::LoadScalar { result, pointer, offset } => {
                self.element_of(*pointer, self.operand(*offset)).map(|(buffer, element, at)| {
                    let size = element.size() as usize;
                    let value = decode(element, &self.buffers[buffer].bytes[at..at + size]);
                    self.touch_buffer_scalar(buffer, at as u64, size as u64, crate::hazard::Kind::Read, step);
                    self.set_value(*result, value);
                })
            }
            OpKind::StoreScalar { pointer, offset, value } => {
                self.element_of(*pointer, self.operand(*offset)).map(|(buffer, element, at)| {
                    let size = element.size() as usize;
                    let bytes = encode(element, self.value(*value));
                    self.buffers[buffer].bytes[at..at + size].copy_from_slice(&bytes[..size]);
                    self.touch_buffer_scalar(buffer, at as u64, size as u64, crate::hazard::Kind::Write, step);
                })
            }
            OpKind::GetValue { result, tile, offset } => {
                self.tile_element(*tile, self.operand(*offset)).map(|(state, at)| {
                    let size = state.tile.element.size();
                    let value = decode(state.tile.element, &self.ub[at as usize..(at + size) as usize]);
                    self.touch_ub(state.owner, &[(at, at + size)], crate::hazard::Kind::Read, Pipe::S, step);
                    self.set_value(*result, value);
                })
            }
            OpKind::SetValue { tile, offset, value } => {
                self.tile_element(*tile, self.operand(*offset)).map(|(state, at)| {
                    let size = state.tile.element.size();
                    let bytes = encode(state.tile.element, self.value(*value));
                    self.ub[at as usize..(at + size) as usize].copy_from_slice(&bytes[..size as usize]);
                    self.touch_ub(state.owner, &[(at, at + size)], crate::hazard::Kind::Write, Pipe::S, step);
                })
            }
            _ => Ok(()),
        };
        if let Err(message) = outcome {
            self.trap(rules::BOUNDS_SCALAR, step, message);
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

    /// The buffer, element type and byte position of an element behind a pointer or view.
    fn element_of(&self, pointer: ValueId, offset: i64) -> Result<(usize, ElementType, usize), String> {
        let (buffer, first) = match self.value(pointer) {
            Value::Pointer { buffer, offset } => (*buffer, *offset),
            Value::View(view) => (view.buffer, view.offset),
            _ => return Err("expected a pointer or view that is bound to an array".into()),
        };
        let element = self.buffers[buffer].element;
        let length = self.buffers[buffer].bytes.len() as u64 / element.size();
        let at = u64::try_from(offset).ok().and_then(|offset| offset.checked_add(first)).filter(|at| *at < length);
        let at = at.ok_or_else(|| format!("expected an offset within {length} elements, found {offset}"))?;
        Ok((buffer, element, (at * element.size()) as usize))
    }

    fn tile_element(&self, tile: ValueId, offset: i64) -> Result<(TileState, u64), String> {
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

    fn issue(&mut self, op: &OpKind, step: u32) {
        match Work::capture(self, op) {
            Ok(work) => self.issue_work(work, step),
            Err((rule, message)) => self.trap(rule, step, message),
        }
    }
}

fn arithmetic(op: Arithmetic, a: i64, b: i64) -> i64 {
    match op {
        Arithmetic::Add => a.wrapping_add(b),
        Arithmetic::Sub => a.wrapping_sub(b),
        Arithmetic::Mul => a.wrapping_mul(b),
        // Division by zero is undefined in the language; here it gives zero, as it does on the scalar unit.
        Arithmetic::Div => a.checked_div(b).unwrap_or(0),
        Arithmetic::Rem => a.checked_rem(b).unwrap_or(0),
        Arithmetic::CeilDiv => a.checked_div(b).map_or(0, |q| q + i64::from(a % b != 0 && (a < 0) == (b < 0))),
        Arithmetic::Max => a.max(b),
        Arithmetic::Min => a.min(b),
        Arithmetic::And => a & b,
        Arithmetic::Or => a | b,
        Arithmetic::Xor => a ^ b,
    }
}

fn compare(predicate: Predicate, a: i64, b: i64) -> bool {
    let (ua, ub) = (a as u64, b as u64);
    match predicate {
        Predicate::Eq => a == b,
        Predicate::Ne => a != b,
        Predicate::Slt => a < b,
        Predicate::Sle => a <= b,
        Predicate::Sgt => a > b,
        Predicate::Sge => a >= b,
        Predicate::Ult => ua < ub,
        Predicate::Ule => ua <= ub,
        Predicate::Ugt => ua > ub,
        Predicate::Uge => ua >= ub,
    }
}

/// A number wrapped to the width of its type.
fn wrap(element: Option<ElementType>, value: i64) -> i64 {
    match element {
        Some(ElementType::I8) => i64::from(value as i8),
        Some(ElementType::U8) => i64::from(value as u8),
        Some(ElementType::I16) => i64::from(value as i16),
        Some(ElementType::U16) => i64::from(value as u16),
        Some(ElementType::I32) => i64::from(value as i32),
        Some(ElementType::U32) => i64::from(value as u32),
        _ => value,
    }
}
