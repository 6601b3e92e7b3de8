//! Sharded tables: drawn calls against one table of the reference executor, lanes in (rank, position) order.

use pto_comm::{CommError, Indices, ShardedTable, Transport};
use pto_exec::{Fault, Memory, Schedule, reference};
use pto_isa::{
    Atomic, Coalesce, Conflict, ElementClass, ElementType, Instruction, Launch, OutOfBounds, Policy, Target, Tensor,
    Tile,
};

use super::{Digest, Draw};

#[derive(Debug)]
pub struct Case {
    element: ElementType,
    index: ElementType,
    rows: u64,
    cols: u64,
    scatter: Policy,
    gather: Policy,
    before: Vec<u8>,
    /// Each rank's lanes and payload, to scatter; the lanes serve the gather too.
    lanes: Vec<Vec<u8>>,
    payload: Vec<Vec<u8>>,
}

impl Case {
    pub fn draw(seed: u64, ranks: usize) -> Self {
        let draw = &mut Draw::new(seed ^ 0xabcd_0000);
        let element = draw.pick(&ElementType::ALL);
        let index = draw.pick(&[ElementType::I32, ElementType::U32, ElementType::I64, ElementType::U64]);
        let (rows, cols) = (draw.range(1, 40), draw.range(1, 6));
        let mode = draw.pick(&[Coalesce::Row, Coalesce::Row, Coalesce::Elem]);
        let atomic = match element.class() {
            ElementClass::Float8 => Atomic::None,
            _ => draw.pick(&[Atomic::None, Atomic::Add, Atomic::Max, Atomic::Min]),
        };
        let policy =
            |draw: &mut Draw, oob: &[OutOfBounds]| Policy { oob: Some(draw.pick(oob)), ..Policy::coalesce(mode) };
        use OutOfBounds::{Clamp, Skip, Undefined, Wrap, Zero};
        let mut scatter = policy(draw, &[Undefined, Skip, Clamp, Wrap]);
        scatter.atomic = (atomic != Atomic::None || draw.one_in(2)).then_some(atomic);
        scatter.conflict = draw.one_in(3).then_some(Conflict::Last);
        let gather = policy(draw, &[Undefined, Clamp, Wrap, Zero]);
        let capacity = if mode == Coalesce::Row { rows } else { rows * cols };
        let width = if mode == Coalesce::Row { cols * element.size() } else { element.size() };
        // Most lanes in range and many of them equal; some cases with none outside, which `undefined` needs to run.
        let tame = draw.one_in(2);
        let (mut lanes, mut payload) = (Vec::new(), Vec::new());
        for _ in 0..ranks {
            let count = if draw.one_in(5) { 0 } else { draw.range(1, 50) };
            let mut mine = Vec::new();
            for _ in 0..count {
                let lane = match draw.range(0, 9) {
                    0 if !tame => draw.pick(&[capacity, capacity + 1, u64::MAX, u64::MAX - 1, 1 << 31, u64::MAX << 31]),
                    1..=4 => draw.range(0, capacity.min(3) - 1),
                    _ => draw.range(0, capacity - 1),
                };
                mine.extend_from_slice(&lane.to_le_bytes()[..index.size() as usize]);
            }
            lanes.push(mine);
            payload.push(draw.bytes((count * width) as usize));
        }
        let before = draw.bytes((rows * cols * element.size()) as usize);
        Self { element, index, rows, cols, scatter, gather, before, lanes, payload }
    }

    fn instruction(&self, lanes: u64, gather: bool) -> Instruction {
        let policy = if gather { self.gather } else { self.scatter };
        let payload = match policy.coalesce {
            Some(Coalesce::Row) => Tile::new(self.element, lanes, self.cols),
            _ => Tile::new(self.element, 1, lanes),
        };
        let table = Tensor::packed(self.element, [1, 1, 1, self.rows, self.cols]);
        let idx = Tile::new(self.index, 1, lanes);
        if gather {
            Instruction::MGather { dst: payload, table, idx, policy }
        } else {
            Instruction::MScatter { table, src: payload, idx, policy }
        }
    }

    fn execute(&self, instruction: &Instruction, memory: Memory<'_>) -> Result<pto_exec::Lanes, Fault> {
        reference::execute(instruction, Target::Host, Launch::default(), memory, Schedule::InOrder)
    }

    /// The whole table after all ranks' lanes, one after the other.
    fn expected_table(&self) -> Result<Vec<u8>, Fault> {
        let (lanes, payload) = (self.lanes.concat(), self.payload.concat());
        let mut table = self.before.clone();
        let count = lanes.len() as u64 / self.index.size();
        if count > 0 {
            let memory = Memory::MScatter { table: &mut table, src: &payload, idx: &lanes };
            self.execute(&self.instruction(count, false), memory)?;
        }
        Ok(table)
    }

    fn equal(&self, a: &[u8], b: &[u8]) -> bool {
        let size = self.element.size() as usize;
        let atomic = self.scatter.atomic_or_default() != Atomic::None;
        let float = self.element.class() == ElementClass::Float;
        let mut pairs = a.chunks(size).zip(b.chunks(size));
        a.len() == b.len()
            && pairs.all(|(a, b)| a == b || (atomic && float && is_nan(self.element, a) && is_nan(self.element, b)))
    }

    /// Scatters and gathers on a transport, and compares this rank's rows and results.
    pub fn check(&self, transport: &dyn Transport, seed: u64, digest: &mut Digest) {
        let rank = transport.rank();
        let mut table = ShardedTable::new(transport, self.element, self.rows, self.cols).unwrap();
        let here = table.partition().rows(rank);
        let row = (self.cols * self.element.size()) as usize;
        let part = here.start as usize * row..here.end as usize * row;
        table.shard_mut().copy_from_slice(&self.before[part.clone()]);

        let idx = Indices::new(self.index, &self.lanes[rank]).unwrap();
        let done = table.mscatter(idx, &self.payload[rank], &self.scatter);
        let whole = match self.expected_table() {
            Ok(whole) => {
                done.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{self:?}"));
                whole
            }
            Err(fault) => {
                // A lane of one rank is out of range: an error at all, and nothing changed anywhere.
                expect_fault(done, &fault, seed);
                self.before.clone()
            }
        };
        assert!(self.equal(table.shard(), &whole[part.clone()]), "seed {seed}: rows of rank {rank} differ\n{self:?}");
        table.shard_mut().copy_from_slice(&whole[part]);

        let mut expected = vec![0xee; self.payload[rank].len()];
        let mut found = expected.clone();
        let faults = self.lanes.iter().zip(&self.payload).enumerate().filter_map(|(other, (lanes, payload))| {
            let mut unused = vec![0xee; payload.len()];
            let dst = if other == rank { &mut expected } else { &mut unused };
            let count = lanes.len() as u64 / self.index.size();
            let memory = Memory::MGather { dst, table: &whole, idx: lanes };
            (count > 0).then(|| self.execute(&self.instruction(count, true), memory).err()).flatten()
        });
        let faults: Vec<Fault> = faults.collect();
        let done = table.mgather(idx, &mut found, &self.gather);
        if let Some(fault) = faults.first() {
            expect_fault(done, fault, seed);
            assert!(found.iter().all(|b| *b == 0xee), "seed {seed}: a failed gather wrote");
        } else {
            done.unwrap_or_else(|error| panic!("seed {seed}: {error}\n{self:?}"));
            assert!(found == expected, "seed {seed}: what rank {rank} gathered differs\n{self:?}");
        }
        digest.add(&whole);
        digest.add(&found);
    }
}

fn expect_fault(done: Result<pto_exec::Lanes, CommError>, fault: &Fault, seed: u64) {
    assert!(matches!(fault, Fault::Lane { .. }), "seed {seed}: the generator left the legal space: {fault}");
    let error = done.expect_err("a lane is out of range");
    assert!(matches!(error, CommError::Fault(Fault::Lane { .. }) | CommError::Peer { .. }), "seed {seed}: {error}");
}

fn is_nan(element: ElementType, bytes: &[u8]) -> bool {
    let mut padded = [0; 8];
    padded[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(padded);
    match element {
        ElementType::F16 => half::f16::from_bits(bits as u16).is_nan(),
        ElementType::BF16 => half::bf16::from_bits(bits as u16).is_nan(),
        ElementType::F32 => f32::from_bits(bits as u32).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    }
}
