//! Collectives: drawn cases, the reference's answer, and every refusal.

use pto_comm::{CommError, Member, ParallelGroup, Transport, tgather, tscatter};
use pto_exec::reference::execute_collective;
use pto_isa::{Collective, Direction, ElementType, Launch, Location, Target, Tensor, TensorLayout, Tile};

use super::Draw;

#[derive(Debug)]
pub struct Case {
    pub call: Collective,
    pub target: Target,
    /// Where the ranks' tensors start in their windows.
    pub offset: u64,
    pub local: Vec<u8>,
    /// What each rank's window holds before, padding and tail included.
    pub windows: Vec<Vec<u8>>,
}

/// Row and column stride of a matrix of so many rows and columns.
type Step = fn(u64, u64) -> (u64, u64);

/// Strides without overlap: dimensions nested in the given order, innermost first, with gaps.
fn strides(draw: &mut Draw, shape: [u64; 5], order: [usize; 5]) -> [u64; 5] {
    let mut strides = [0; 5];
    let mut span = 1;
    for (depth, dimension) in order.into_iter().enumerate() {
        let gap = if draw.one_in(3) { draw.range(1, 5) } else { 0 };
        strides[dimension] = span + if depth == 0 && draw.one_in(2) { 0 } else { gap };
        span = strides[dimension] * shape[dimension].max(1);
    }
    strides
}

fn bytes_of(tensor: &Tensor) -> usize {
    (tensor.span().unwrap() * tensor.element.size()) as usize
}

impl Case {
    pub fn draw(seed: u64, ranks: usize) -> Self {
        let draw = &mut Draw::new(seed);
        let direction = draw.pick(&[Direction::Scatter, Direction::Gather]);
        let target = draw.pick(&[Target::Host, Target::Host, Target::A5, Target::A2A3, Target::Cpu]);
        let elements: Vec<ElementType> = target.profile().memory_elements.iter().collect();
        let element = draw.pick(&elements);
        let outer = [draw.range(1, 2), draw.range(1, 2), draw.range(1, 3)];
        let rows = if draw.one_in(12) { 0 } else { draw.range(1, 13) };
        let cols = draw.range(1, 21);
        let shape = [outer[0], outer[1], outer[2], rows, cols];
        let extra = if draw.one_in(2) { draw.range(1, 4) } else { 0 };
        let mut local_shape = shape;
        local_shape[3] = rows * ranks as u64 + extra;
        let order = draw.pick(&[[4, 3, 2, 1, 0], [4, 3, 2, 1, 0], [3, 4, 2, 1, 0], [4, 2, 3, 0, 1]]);
        let mut local = Tensor::strided(element, local_shape, strides(draw, local_shape, order), TensorLayout::Nd);
        let mut remote = Tensor::strided(element, shape, strides(draw, shape, order), TensorLayout::Nd);
        if draw.one_in(3) {
            (local, remote) = (local.into_dynamic(), remote.into_dynamic());
        }
        let tile = Self::tile(draw, element, rows.max(1), cols);
        let staging = vec![tile; draw.range(1, 2) as usize];
        let root = draw.range(0, ranks as u64 - 1);
        let call = Collective { direction, root, caller: root, local, group: vec![Some(remote); ranks], staging };
        let offset = if draw.one_in(2) { 0 } else { draw.range(1, 40) };
        Self::fill(draw, call, target, offset)
    }

    /// Enough bytes for the transports' fast ways, in rows with gaps, packed rows and columns.
    pub fn large(ranks: usize) -> Vec<Self> {
        let steps: [Step; 3] = [|_, cols| (cols + 3, 1), |_, cols| (cols, 1), |rows, _| (1, rows + 2)];
        let directions = [Direction::Scatter, Direction::Gather];
        steps.into_iter().flat_map(|step| directions.map(|direction| Self::matrix(ranks, direction, step))).collect()
    }

    /// A case with two matrices per rank, whose row and column strides depend on the number of rows and columns.
    fn matrix(ranks: usize, direction: Direction, step: Step) -> Self {
        let (element, rows, cols) = (ElementType::F32, 180, 190);
        let tensor = |rows| {
            let (row, col) = step(rows, cols);
            let outer = row * rows + col * cols;
            Tensor::strided(element, [1, 2, 1, rows, cols], [2 * outer, outer, outer, row, col], TensorLayout::Nd)
        };
        let root = ranks as u64 - 1;
        let call = Collective {
            direction,
            root,
            caller: root,
            local: tensor(rows * ranks as u64 + 1),
            group: vec![Some(tensor(rows)); ranks],
            staging: vec![Tile::new(element, 32, 64).with_dynamic_valid(31, 63); 2],
        };
        Self::fill(&mut Draw::new(77), call, Target::Host, 12)
    }

    fn tile(draw: &mut Draw, element: ElementType, rows: u64, cols: u64) -> Tile {
        let dividing = |draw: &mut Draw, extent: u64| {
            let fitting: Vec<u64> = (1..=extent + 2).filter(|n| extent.is_multiple_of(*n) || *n > extent).collect();
            draw.pick(&fitting)
        };
        if draw.one_in(2) {
            let (rows, cols) = (dividing(draw, rows), dividing(draw, cols));
            Tile::new(element, rows, cols.next_multiple_of(32)).with_valid(rows, cols)
        } else {
            let (rows, cols) = (draw.range(1, rows + 1), draw.range(1, cols + 1));
            Tile::new(element, rows + 1, cols.next_multiple_of(32)).with_dynamic_valid(rows, cols)
        }
    }

    fn fill(draw: &mut Draw, call: Collective, target: Target, offset: u64) -> Self {
        let local = draw.bytes(bytes_of(&call.local) + 5);
        let remote = bytes_of(&call.group[0].unwrap());
        let windows = call.group.iter().map(|_| draw.bytes(offset as usize + remote + 7)).collect();
        Self { call, target, offset, local, windows }
    }

    /// The root's buffer and this rank's window afterwards.
    pub fn run(&self, transport: &dyn Transport) -> Result<(Vec<u8>, Vec<u8>), CommError> {
        let rank = transport.rank();
        let before = &self.windows[rank];
        let window = transport.expose(before.len() as u64)?;
        window.local(&mut |memory| memory.copy_from_slice(before))?;
        let members = self.call.group.iter().map(|t| t.map(|tensor| Member { tensor, offset: self.offset })).collect();
        let group = ParallelGroup::new(&*window, members, self.call.root as usize).on(self.target, Launch::default());
        transport.barrier()?;
        let mut local = self.local.clone();
        if rank as u64 == self.call.caller {
            match self.call.direction {
                Direction::Scatter => tscatter(&group, &self.call.local, &local, &self.call.staging)?,
                Direction::Gather => tgather(&group, &self.call.local, &mut local, &self.call.staging)?,
            };
        }
        transport.barrier()?;
        let mut after = Vec::new();
        window.local(&mut |memory| after = memory.to_vec())?;
        Ok((local, after))
    }

    /// Every byte is the reference's.
    pub fn compare(&self, rank: usize, seed: u64, local: &[u8], window: &[u8]) {
        let (mut expected_local, mut ranks) = (self.local.clone(), self.windows.clone());
        let mut inner: Vec<Vec<u8>> = ranks.iter().map(|w| w[self.offset as usize..].to_vec()).collect();
        execute_collective(&self.call, self.target, Launch::default(), &mut expected_local, &mut inner)
            .unwrap_or_else(|fault| panic!("seed {seed}: the generator left the legal space: {fault}"));
        for (whole, inner) in ranks.iter_mut().zip(inner) {
            whole[self.offset as usize..].copy_from_slice(&inner);
        }
        if rank as u64 != self.call.root {
            expected_local.clone_from(&self.local);
        }
        assert!(local == expected_local, "seed {seed}: the root's buffer differs\n{self:?}");
        assert!(window == ranks[rank], "seed {seed}: the window of rank {rank} differs\n{self:?}");
    }
}

/// A legal call that each refusal breaks in one way.
fn sound(transport: &dyn Transport) -> Collective {
    let ranks = transport.size();
    Collective {
        direction: Direction::Scatter,
        root: 0,
        caller: transport.rank() as u64,
        local: Tensor::packed(ElementType::F32, [1, 1, 1, 4 * ranks as u64, 8]),
        group: vec![Some(Tensor::packed(ElementType::F32, [1, 1, 1, 4, 8])); ranks],
        staging: vec![Tile::new(ElementType::F32, 2, 8)],
    }
}

type Break = fn(&mut Collective);

/// Each way to break a call, and the rule that says so. `Dynamic` ones are known only when the call runs.
const BROKEN: &[(&str, Break)] = &[
    ("comm.root", |c| c.root = c.group.len() as u64),
    ("comm.hole", |c| c.group[0] = None),
    ("comm.group-type", |c| c.group.fill(Some(Tensor::packed(ElementType::I32, [1, 1, 1, 4, 8])))),
    ("comm.staging-type", |c| c.staging[0].element = ElementType::F16),
    ("comm.staging-count", |c| c.staging.clear()),
    ("comm.staging-count", |c| c.staging = vec![c.staging[0]; 3]),
    ("comm.staging-location", |c| c.staging[0].location = Location::Mat),
    ("comm.staging-valid", |c| c.staging[0] = c.staging[0].with_valid(3, 8)),
    ("comm.staging-valid", |c| c.staging[0] = c.staging[0].with_dynamic_valid(0, 8)),
    ("comm.ping-pong", |c| c.staging.push(Tile::new(ElementType::F32, 4, 8))),
    ("comm.root-dims", |c| c.local = Tensor::packed(ElementType::F32, [1, 1, 1, 4 * c.group.len() as u64, 9])),
    ("comm.root-dims", |c| {
        c.local = Tensor::packed(ElementType::F32, [2, 1, 1, 4 * c.group.len() as u64, 8]).into_dynamic();
    }),
    ("comm.root-rows", |c| c.local = Tensor::packed(ElementType::F32, [1, 1, 1, 4 * c.group.len() as u64 - 1, 8])),
    ("comm.divide-rows", |c| c.staging[0] = Tile::new(ElementType::F32, 3, 8)),
    ("comm.divide-cols", |c| c.staging[0] = Tile::new(ElementType::F32, 2, 5)),
    ("budget.ub", |c| c.staging[0] = Tile::new(ElementType::F32, 4097, 8)),
];

/// Every refusal, at the root, with every window untouched; and what other ranks are told.
pub fn refusals(transport: &dyn Transport) {
    let rank = transport.rank();
    let bytes = 4 * 8 * 4;
    let window = transport.expose(bytes).unwrap();
    window.local(&mut |memory| memory.fill(0x5a)).unwrap();
    transport.barrier().unwrap();
    let attempt = |call: &Collective, local: &mut [u8]| {
        let members = call.group.iter().map(|t| t.map(Member::new)).collect();
        let group = ParallelGroup::new(&*window, members, call.root as usize).on(Target::A5, Launch::default());
        match call.direction {
            Direction::Scatter => tscatter(&group, &call.local, local, &call.staging),
            Direction::Gather => tgather(&group, &call.local, local, &call.staging),
        }
    };
    let broken = |error: CommError| match error {
        CommError::Refused(findings) | CommError::Faults(findings) => {
            findings.iter().map(|f| f.rule.name).collect::<Vec<_>>()
        }
        other => panic!("expected broken rules, found {other}"),
    };
    let mut local = vec![0xa5; bytes as usize * transport.size() * 3];
    for direction in [Direction::Scatter, Direction::Gather] {
        let sound = Collective { direction, ..sound(transport) };
        if rank == 0 {
            for (rule, spoil) in BROKEN {
                let mut call = sound.clone();
                spoil(&mut call);
                let found = broken(attempt(&call, &mut local).unwrap_err());
                assert!(found.contains(rule), "{rule} expected, found {found:?}");
            }
            let mut differing = sound.clone();
            if let Some(last) = differing.group.last_mut().filter(|_| transport.size() > 1) {
                *last = Some(Tensor::strided(ElementType::F32, [1, 1, 1, 4, 8], [32, 32, 32, 9, 1], TensorLayout::Nd));
                assert!(broken(attempt(&differing, &mut local).unwrap_err()).contains(&"comm.rank-shapes"));
            }
            let mut huge = sound.clone();
            let rows = Tensor::packed(ElementType::F32, [1, 1, 1, 5, 8]);
            (huge.local, huge.staging) =
                (Tensor::packed(ElementType::F32, [1, 1, 1, 100, 8]), vec![Tile::new(ElementType::F32, 5, 8)]);
            huge.group.fill(Some(rows));
            let error = attempt(&huge, &mut [0xa5; 100 * 32]).unwrap_err();
            assert_eq!(error, CommError::WindowTooSmall { rank: 0, needed: 160, found: 128 });
            let error = attempt(&sound, &mut [0xa5; 100]).unwrap_err();
            assert!(matches!(error, CommError::ShortBuffer { found: 100, .. }), "{error}");
            let mut more = sound.clone();
            more.local.shape[3] = (4 * (transport.size() as u64 + 1)).into();
            more.group.push(more.group[0]);
            let error = attempt(&more, &mut local).unwrap_err();
            assert_eq!(error, CommError::GroupSize { described: transport.size() + 1, ranks: transport.size() });
        } else {
            assert_eq!(broken(attempt(&sound, &mut local).unwrap_err()), ["comm.caller"]);
        }
    }
    assert!(local.iter().all(|b| *b == 0xa5), "a refused collective changed the root's buffer");
    transport.barrier().unwrap();
    window.local(&mut |memory| assert!(memory.iter().all(|b| *b == 0x5a), "a refused collective moved bytes")).unwrap();
    disagreements(transport);
}

/// Groups that the ranks describe together: every rank is told what is wrong.
fn disagreements(transport: &dyn Transport) {
    let (rank, ranks) = (transport.rank(), transport.size());
    let window = transport.expose(if rank + 1 == ranks { 64 } else { 128 }).unwrap();
    let tensor = |rows| Tensor::packed(ElementType::F32, [1, 1, 1, rows, 8]);
    let agree = |root: usize, tensor: Option<Tensor>| {
        ParallelGroup::agree(transport, &*window, root, tensor).map(drop).unwrap_err()
    };
    let refused = |error: CommError, rule: &str| match error {
        CommError::Refused(findings) => assert_eq!(findings[0].rule.name, rule),
        other => panic!("expected {rule}, found {other}"),
    };
    assert_eq!(agree(0, Some(tensor(4))), CommError::WindowTooSmall { rank: ranks - 1, needed: 128, found: 64 });
    refused(agree(ranks, Some(tensor(1))), "comm.root");
    refused(agree(0, (rank + 1 < ranks).then(|| tensor(1))), "comm.hole");
    if ranks > 1 {
        refused(agree(0, Some(tensor(1 + (rank == 0) as u64))), "comm.rank-shapes");
        let element = if rank == 0 { ElementType::I32 } else { ElementType::F32 };
        refused(agree(0, Some(Tensor { element, ..tensor(1) })), "comm.group-type");
        let error = agree((rank == 0) as usize, Some(tensor(1)));
        assert!(matches!(error, CommError::Mismatch { .. }), "{error}");
    }
}
