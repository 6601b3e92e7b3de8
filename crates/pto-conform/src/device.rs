//! A case as a program on the device: loads, the instruction, stores; checked, lowered and simulated.

use std::collections::BTreeMap;

use pto_ir::{
    FunctionBuilder, LaunchAttributes, Module, OpKind, Operand, Pipe, Type, ValueId, ViewKind, ViewType, lower,
};
use pto_isa::{Extent, Instruction, Launch, Role, Severity, Target, Tensor, Tile};
use pto_sim::{Argument, Options, Status, simulate, simulate_ranks};

use crate::operand::valid_positions;

/// What came of running an instruction as a program.
pub(crate) enum DeviceRun {
    /// Refused before it ran, with these sentences.
    Refused(Vec<String>),
    /// Reported an error while running.
    Faulted(Vec<String>),
    /// Ran: what the written operand holds now.
    Ran(Vec<u8>, Vec<String>),
}

/// A program under construction, with the values of its parameters.
struct Builder {
    build: FunctionBuilder,
    arguments: BTreeMap<String, Argument>,
    /// Sizes that are known only at run time: parameters, which come before everything else.
    sizes: BTreeMap<u64, ValueId>,
}

impl Builder {
    fn pointer(&mut self, name: &str, element: pto_isa::ElementType, bytes: Vec<u8>) -> ValueId {
        self.arguments.insert(name.into(), Argument::Array(bytes));
        self.build.pointer(name, element)
    }

    /// Makes a parameter of a run-time size.
    fn prepare(&mut self, extent: Extent) {
        if let Extent::Dynamic(Some(value)) = extent
            && !self.sizes.contains_key(&value)
        {
            let name = format!("size{}", self.sizes.len());
            self.arguments.insert(name.clone(), Argument::Integer(value as i64));
            let id = self.build.size(&name);
            self.sizes.insert(value, id);
        }
    }

    /// An extent as the program spells it: a number, or a parameter.
    fn operand(&self, extent: Extent) -> Operand {
        match extent {
            Extent::Dynamic(Some(value)) => self.sizes.get(&value).map_or(Operand::Number(0), |id| Operand::Value(*id)),
            other => Operand::Number(other.known().unwrap_or(0) as i64),
        }
    }

    /// A view of a pointer with these extents.
    fn view(&mut self, pointer: ValueId, element: pto_isa::ElementType, tensor: &Tensor, dims: usize) -> ValueId {
        let lead = 5 - dims;
        let fixed = |extent: &Extent| match extent {
            Extent::Static(value) => Some(*value),
            Extent::Dynamic(_) => None,
        };
        let shape = tensor.shape[lead..].iter().map(fixed).collect();
        let ty = ViewType { kind: ViewKind::Tensor, element, shape, strides: None, layout: Some(tensor.layout) };
        let result = self.build.value("", Type::View(ty));
        let list = |extents: &[Extent; 5]| extents[lead..].iter().map(|extent| self.operand(*extent)).collect();
        let (shape, strides) = (list(&tensor.shape), list(&tensor.strides));
        self.build.push(OpKind::MakeView { result, pointer, shape, strides, layout: Some(tensor.layout) });
        result
    }

    /// A view of the packed valid region of a tile.
    fn matrix(&mut self, pointer: ValueId, tile: &Tile) -> ValueId {
        let one = Extent::Static(1);
        let tensor = Tensor {
            element: tile.element,
            shape: [one, one, one, tile.valid_rows, tile.valid_cols],
            strides: [one, one, one, tile.valid_cols, one],
            layout: pto_isa::TensorLayout::Nd,
        };
        self.view(pointer, tile.element, &tensor, 2)
    }

    /// A tile loaded from a pointer, behind the view that it came through.
    fn load(&mut self, pointer: ValueId, described: &Tile) -> (ValueId, ValueId) {
        let view = self.matrix(pointer, described);
        let tile = self.tile(described);
        self.build.push(OpKind::Load { src: view, dst: tile });
        (view, tile)
    }

    /// The instruction itself; in manual mode with barriers around it and, where it scatters, the flush.
    fn issue(&mut self, op: OpKind, manual: bool) {
        let scatters = matches!(op, OpKind::MScatter { .. });
        let barrier = manual.then_some(OpKind::Barrier(Pipe::All));
        let flush = (manual && scatters).then_some([OpKind::FlushCache, OpKind::DataBarrier]);
        let before = barrier.clone().into_iter();
        for op in before.chain([op]).chain(barrier).chain(flush.into_iter().flatten()) {
            self.build.push(op);
        }
    }

    fn tile(&mut self, tile: &Tile) -> ValueId {
        let result = self.build.value("", Type::Tile(Tile { address: None, ..*tile }.erased()));
        let address = tile.address.map(|address| Operand::Number(address as i64));
        let filled = |extent: Extent| extent.is_dynamic().then(|| self.operand(extent));
        let (valid_rows, valid_cols) = (filled(tile.valid_rows), filled(tile.valid_cols));
        self.build.push(OpKind::AllocTile { result, address, valid_rows, valid_cols });
        result
    }
}

/// The valid region of a tile's bytes, packed in row-major order.
fn packed(tile: &Tile, bytes: &[u8]) -> Vec<u8> {
    let size = tile.element.size() as usize;
    valid_positions(tile).filter_map(|at| bytes.get(at..at + size)).flatten().copied().collect()
}

/// Runs an instruction on the device path; `written` and `inputs` are the operands' bytes, tiles padded.
pub(crate) fn run(
    instruction: &Instruction,
    target: Target,
    launch: Launch,
    written: &[u8],
    inputs: &[Vec<u8>],
) -> DeviceRun {
    let (module, arguments) = program(instruction, launch, written, inputs);
    let mut sentences = Vec::new();
    let found = pto_ir::check(&module, target);
    sentences.extend(found.iter().map(sentence));
    if found.iter().any(|one| one.severity == Severity::Error) {
        return DeviceRun::Refused(sentences);
    }
    let mut lowered = match lower::lower(&module, target) {
        Ok(lowered) => lowered,
        Err(found) => {
            sentences.extend(found.iter().map(sentence));
            return DeviceRun::Refused(sentences);
        }
    };
    synchronise(&mut lowered, target);
    let options = Options { dyn_ub: launch.dyn_ub, ..Options::default() };
    let report = simulate(&lowered, &lowered.functions[0], target, arguments, &options);
    sentences.extend(report.diagnostics.iter().map(sentence));
    match report.status {
        Status::Fault | Status::Interrupted => DeviceRun::Faulted(sentences),
        Status::Ok => {
            let after = report.buffers.into_iter().find(|(name, _)| name == "written");
            DeviceRun::Ran(after.map(|(_, bytes)| bytes).unwrap_or_default(), sentences)
        }
    }
}

/// A case that places its tiles is in manual mode, but says nothing of flags: they are added here.
fn synchronise(module: &mut Module, target: Target) {
    for function in &mut module.functions {
        *function = lower::synchronise(&lower::flush(function, target), &module.types, target);
    }
}

fn sentence(found: &pto_ir::Diagnostic) -> String {
    format!("{}: {}: {}", found.severity, found.rule.name, found.message)
}

fn program(
    instruction: &Instruction,
    launch: Launch,
    written: &[u8],
    inputs: &[Vec<u8>],
) -> (Module, BTreeMap<String, Argument>) {
    let mut b = Builder { build: FunctionBuilder::new("case"), arguments: BTreeMap::new(), sizes: BTreeMap::new() };
    b.build.launch(LaunchAttributes { dyn_ub: launch.dyn_ub, ..LaunchAttributes::default() });
    let tile = |role| instruction.tile(role).copied();
    let (dst, src, idx) = (tile(Role::Dst), tile(Role::Src), tile(Role::Idx));
    // Parameters first: arrays, then sizes.
    let table = instruction.table().copied();
    let empty = Vec::new();
    let input = |i: usize| inputs.get(i).unwrap_or(&empty);
    let written_pointer = match (&table, dst) {
        (_, Some(dst)) => b.pointer("written", dst.element, packed(&dst, written)),
        (Some(table), None) => b.pointer("written", table.element, written.to_vec()),
        (None, None) => b.pointer("written", pto_isa::ElementType::U8, Vec::new()),
    };
    let read_pointer = match (&table, src) {
        (_, Some(src)) => b.pointer("src", src.element, packed(&src, input(0))),
        (Some(table), None) => b.pointer("table", table.element, input(0).clone()),
        (None, None) => written_pointer,
    };
    let idx_pointer = idx.map(|idx| b.pointer("idx", idx.element, packed(&idx, input(1))));
    for tile in [dst, src, idx].into_iter().flatten() {
        b.prepare(tile.valid_rows);
        b.prepare(tile.valid_cols);
    }
    for extent in table.iter().flat_map(|table| table.shape.into_iter().chain(table.strides)) {
        b.prepare(extent);
    }
    // A case that gives every address is in manual mode, where lowering adds nothing: it orders its pipes itself.
    let manual = [dst, src, idx].into_iter().flatten().all(|tile| tile.address.is_some());
    let idx_tile = idx.zip(idx_pointer).map(|(idx, pointer)| b.load(pointer, &idx).1);
    match (instruction, idx_tile) {
        (Instruction::MScatter { table, src, policy, .. }, Some(idx)) => {
            let (_, src) = b.load(read_pointer, src);
            let table = b.view(written_pointer, table.element, table, 5);
            b.issue(OpKind::MScatter { table, src, idx, policy: *policy }, manual);
        }
        (Instruction::MGather { dst, table, policy, .. }, Some(idx)) => {
            let (view, dst) = b.load(written_pointer, dst);
            let table = b.view(read_pointer, table.element, table, 5);
            b.issue(OpKind::MGather { dst, table, idx, policy: *policy }, manual);
            b.build.push(OpKind::Store { src: dst, dst: view });
        }
        (Instruction::TScatter { dst, src, .. }, Some(idx)) => {
            let (_, src) = b.load(read_pointer, src);
            let (view, dst) = b.load(written_pointer, dst);
            b.issue(OpKind::TScatter { dst, src, idx }, manual);
            b.build.push(OpKind::Store { src: dst, dst: view });
        }
        (Instruction::TScatterMask { dst, src, pattern }, _) => {
            let (_, src) = b.load(read_pointer, src);
            let (view, dst) = b.load(written_pointer, dst);
            b.issue(OpKind::TScatterMask { dst, src, pattern: *pattern }, manual);
            b.build.push(OpKind::Store { src: dst, dst: view });
        }
        _ => {}
    }
    (b.build.finish(), b.arguments)
}

/// What came of running a collective as the root's program.
pub(crate) enum CollectiveRun {
    /// Refused before it ran.
    Refused,
    /// Reported an error while running.
    Faulted,
    /// Ran: the root's buffer and every rank's.
    Ran { local: Vec<u8>, ranks: Vec<Vec<u8>> },
}

/// The most ranks that are devices of their own, each a thread.
const MOST_DEVICES: usize = 64;

/// Runs a collective on the device path: the root runs a program, and the other ranks keep their windows open. Where
/// there are very many ranks, as the root sees it: every rank's buffer is memory that it can reach.
pub(crate) fn run_collective(
    call: &pto_isa::Collective,
    target: Target,
    launch: Launch,
    local: &[u8],
    ranks: &[Vec<u8>],
) -> CollectiveRun {
    let mut b = Builder { build: FunctionBuilder::new("case"), arguments: BTreeMap::new(), sizes: BTreeMap::new() };
    b.build.launch(LaunchAttributes { dyn_ub: launch.dyn_ub, ..LaunchAttributes::default() });
    let tensors: Vec<Tensor> = call.group.iter().flatten().copied().collect();
    let local_pointer = b.pointer("local", call.local.element, local.to_vec());
    let pointers: Vec<ValueId> = (tensors.iter().zip(ranks).enumerate())
        .map(|(rank, (tensor, bytes))| b.pointer(&format!("rank{rank}"), tensor.element, bytes.clone()))
        .collect();
    for tensor in tensors.iter().chain([&call.local]) {
        tensor.shape.into_iter().chain(tensor.strides).for_each(|extent| b.prepare(extent));
    }
    for tile in &call.staging {
        b.prepare(tile.valid_rows);
        b.prepare(tile.valid_cols);
    }
    let view = b.view(local_pointer, call.local.element, &call.local, 5);
    let group =
        tensors.iter().zip(pointers).map(|(tensor, pointer)| b.view(pointer, tensor.element, tensor, 5)).collect();
    let staging = call.staging.iter().map(|tile| b.tile(tile)).collect();
    let root = Operand::Number(call.root as i64);
    let (direction, local) = (call.direction, view);
    b.build.push(OpKind::Collective(Box::new(pto_ir::Collective { direction, local, group, staging, root })));
    let (module, arguments) = (b.build.finish(), b.arguments);
    if pto_ir::check(&module, target).iter().any(|one| one.severity == Severity::Error) {
        return CollectiveRun::Refused;
    }
    let Ok(mut lowered) = lower::lower(&module, target) else { return CollectiveRun::Refused };
    synchronise(&mut lowered, target);
    if ranks.len() <= MOST_DEVICES {
        return on_ranks(&lowered, call, (target, launch), &arguments, ranks.len());
    }
    let options = Options { dyn_ub: launch.dyn_ub, rank: Some(call.caller), ..Options::default() };
    let report = simulate(&lowered, &lowered.functions[0], target, arguments, &options);
    if report.status == Status::Fault {
        return CollectiveRun::Faulted;
    }
    let mut buffers = report.buffers.into_iter().map(|(_, bytes)| bytes);
    CollectiveRun::Ran { local: buffers.next().unwrap_or_default(), ranks: buffers.collect() }
}

/// Runs a collective between devices.
fn on_ranks(
    lowered: &Module,
    call: &pto_isa::Collective,
    (target, launch): (Target, Launch),
    arguments: &BTreeMap<String, Argument>,
    ranks: usize,
) -> CollectiveRun {
    let bound: Vec<BTreeMap<String, Argument>> = (0..ranks)
        .map(|rank| {
            let window = |name: &str| name.strip_prefix("rank").and_then(|number| number.parse::<usize>().ok());
            let needed = |name: &str| window(name).map_or(rank as u64 == call.root, |of| of == rank);
            arguments
                .iter()
                .filter(|(name, _)| needed(name))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        })
        .collect();
    let options = Options { dyn_ub: launch.dyn_ub, ..Options::default() };
    let (mut local, mut windows) = (Vec::new(), Vec::new());
    for (rank, report) in
        simulate_ranks(lowered, &lowered.functions[0], target, &bound, &options).into_iter().enumerate()
    {
        let Ok(report) = report.map(|ranked| ranked.report) else { return CollectiveRun::Faulted };
        if report.status == Status::Fault {
            return CollectiveRun::Faulted;
        }
        for (name, bytes) in report.buffers {
            match name.as_str() {
                "local" => local = bytes,
                name if name == format!("rank{rank}") => windows.push(bytes),
                _ => {}
            }
        }
    }
    CollectiveRun::Ran { local, ranks: windows }
}
