//! Tables larger than one memory: rows spread over the ranks, gathered and scattered by global row.
//!
//! Every rank brings its own indices to a common call. One all-to-all carries the indices to the owners of the rows,
//! one the rows: back from them (`mgather`) or along to them (`mscatter`). Owners apply what they receive in the order
//! of (rank, position), so the table is the same after every run, whatever the number of threads and processes, and
//! the same as if one rank had done everything in that order.

mod lanes;
mod partition;
mod request;

use pto_exec::{Fault, Lanes, Memory, Plan, Schedule};
use pto_isa::{
    Coalesce, ElementType, Instruction, Launch, Opcode, OutOfBounds, Policy, Role, Severity, Target, Tensor, Tile,
    check,
};

use crate::transport::zeroed;
use crate::{CommError, Transport};
pub use lanes::Indices;
use lanes::Route;
pub use partition::Partition;
use request::Request;

/// A two-dimensional table whose rows are spread over the ranks of a transport in equal blocks.
///
/// Rules, policies and index lanes are those of `host`. Without a named mode an index selects a row; with
/// [`Coalesce::Elem`] it selects an element of the whole table in row-major order.
///
/// ```
/// use pto_comm::{Indices, ShardedTable, Transport, launch};
/// use pto_isa::{Atomic, ElementType::I32, OutOfBounds, Policy};
/// let gathered = launch(2, |rank| {
///     let mut table = ShardedTable::new(rank, I32, 6, 1)?; // rows 0..3 and 3..6
///     let add = Policy::default().with_atomic(Atomic::Add);
///     // Both ranks add to row 4; rank 0 also to row 0.
///     let (rows, values): (&[i32], &[i32]) = if rank.rank() == 0 { (&[4, 0], &[10, 1]) } else { (&[4], &[5]) };
///     table.mscatter(Indices::from(rows), bytemuck::cast_slice(values), &add)?;
///
///     let mut seen = [0i32; 3];
///     let zero = Policy::default().with_oob(OutOfBounds::Zero);
///     table.mgather(Indices::from(&[4i32, 0, -1][..]), bytemuck::cast_slice_mut(&mut seen), &zero)?;
///     Ok(seen)
/// });
/// assert_eq!(gathered, vec![Ok([15, 1, 0]); 2]);
/// ```
pub struct ShardedTable<'t> {
    transport: &'t dyn Transport,
    element: ElementType,
    cols: u64,
    partition: Partition,
    shard: Vec<u8>,
}

impl<'t> ShardedTable<'t> {
    /// A table of zeros. All ranks call together, with the same extents.
    ///
    /// # Errors
    /// At every rank alike, if one cannot have the memory for its rows or names other extents.
    pub fn new(transport: &'t dyn Transport, element: ElementType, rows: u64, cols: u64) -> Result<Self, CommError> {
        let partition = Partition::new(rows, transport.size());
        let here = partition.rows(transport.rank());
        let bytes = (here.end - here.start).checked_mul(cols).and_then(|n| n.checked_mul(element.size()));
        let shard = bytes.ok_or(CommError::OutOfMemory { bytes: u64::MAX }).and_then(zeroed);
        transport.agree(shard.as_ref().map(drop).map_err(CommError::clone))?;
        let words = format!("a table of {rows}x{cols} {element}");
        let said = transport.all_to_all(vec![words.clone().into_bytes(); transport.size()])?;
        if let Some((rank, theirs)) = said.iter().enumerate().find(|(_, theirs)| **theirs != words.as_bytes()) {
            let theirs = String::from_utf8_lossy(theirs).into_owned();
            return Err(CommError::Mismatch { rank, theirs, mine: words });
        }
        Ok(Self { transport, element, cols, partition, shard: shard? })
    }

    /// Which rank holds which rows.
    pub fn partition(&self) -> &Partition {
        &self.partition
    }

    /// The rows that this rank holds, one after the other.
    pub fn shard(&self) -> &[u8] {
        &self.shard
    }

    /// The rows that this rank holds, to be filled in place.
    pub fn shard_mut(&mut self) -> &mut [u8] {
        &mut self.shard
    }

    /// Fetches the rows that this rank asks for into `dst`, in the order of its indices. All ranks call together.
    ///
    /// # Errors
    /// If this rank's operands break a rule or an index is out of range under `undefined`; if those of another rank
    /// do ([`CommError::Peer`]); if the ranks call with different policies; if a rank is lost. `dst` is then as it was.
    pub fn mgather(&self, idx: Indices<'_>, dst: &mut [u8], policy: &Policy) -> Result<Lanes, CommError> {
        let work = self.work(Opcode::MGather, policy);
        let route = self.route(&work, idx, dst.len());
        let (route, requests) = self.exchange(&work, route)?;
        let mut replies = Vec::with_capacity(requests.len());
        for request in &requests {
            let (count, bytes) = work.count(request)?;
            let mut rows = zeroed(bytes)?;
            if count > 0 {
                let memory = Memory::MGather { dst: &mut rows, table: &self.shard, idx: request };
                Plan::new(&self.on_shard(&work, count), Target::Host, Launch::default())?
                    .run(memory, Schedule::InOrder)?;
            }
            replies.push(rows);
        }
        let rows = self.transport.all_to_all(replies)?;
        for (rank, rows) in rows.iter().enumerate() {
            route.check_reply(rank, rows.len() as u64, work.lane_bytes)?;
        }
        let width = work.lane_bytes as usize;
        for lane in route.dropped() {
            dst[lane * width..][..width].fill(0);
        }
        for (rank, rows) in rows.iter().enumerate() {
            for (row, &lane) in rows.chunks_exact(width.max(1)).zip(route.lanes(rank)) {
                dst[lane * width..][..width].copy_from_slice(row);
            }
        }
        Ok(route.counts())
    }

    /// Writes or combines rows of `src` into the rows that this rank names. All ranks call together.
    ///
    /// # Errors
    /// As [`mgather`](Self::mgather); the table is then as it was, unless a rank was lost under way.
    pub fn mscatter(&mut self, idx: Indices<'_>, src: &[u8], policy: &Policy) -> Result<Lanes, CommError> {
        let work = self.work(Opcode::MScatter, policy);
        let route = self.route(&work, idx, src.len());
        let (route, requests) = self.exchange(&work, route)?;
        let width = work.lane_bytes as usize;
        let pack = |rank| -> Vec<u8> {
            let mut rows = Vec::with_capacity(route.lanes(rank).len() * width);
            for &lane in route.lanes(rank) {
                rows.extend_from_slice(&src[lane * width..][..width]);
            }
            rows
        };
        let payload = self.transport.all_to_all((0..self.transport.size()).map(pack).collect())?;
        for (rank, (request, rows)) in requests.iter().zip(&payload).enumerate() {
            let (_, expected) = work.count(request)?;
            request::check_length(rank, expected, rows.len() as u64)?;
        }
        for (request, rows) in requests.iter().zip(&payload) {
            let (count, _) = work.count(request)?;
            if count > 0 {
                let instruction = self.on_shard(&work, count);
                let memory = Memory::MScatter { table: &mut self.shard, src: rows, idx: request };
                Plan::new(&instruction, Target::Host, Launch::default())?.run(memory, Schedule::InOrder)?;
            }
        }
        Ok(route.counts())
    }

    fn work(&self, opcode: Opcode, policy: &Policy) -> Work {
        let mode = policy.coalesce.unwrap_or(Coalesce::Row);
        let lane_elements = if mode == Coalesce::Row { self.cols } else { 1 };
        let lanes_per_row = if mode == Coalesce::Row { 1 } else { self.cols };
        let policy = Policy { coalesce: Some(mode), ..*policy };
        // `new` has seen that a shard has a size in bytes, and the rules see to the table's.
        Work { opcode, policy, lanes_per_row, lane_bytes: lane_elements.saturating_mul(self.element.size()) }
    }

    /// An instruction on `lanes` lanes and a table of `rows` rows.
    fn instruction(&self, work: &Work, policy: Policy, rows: u64, idx: ElementType, lanes: u64) -> Instruction {
        let table = Tensor::packed(self.element, [1, 1, 1, rows, self.cols]);
        let payload = match policy.coalesce {
            Some(Coalesce::Row) => Tile::new(self.element, lanes, self.cols),
            _ => Tile::new(self.element, 1, lanes),
        };
        let idx = Tile::new(idx, 1, lanes);
        match work.opcode {
            Opcode::MGather => Instruction::MGather { dst: payload, table, idx, policy },
            _ => Instruction::MScatter { table, src: payload, idx, policy },
        }
    }

    /// What an owner does with the lanes of one rank: they are resolved, so only the atomic is left of the policy.
    fn on_shard(&self, work: &Work, lanes: u64) -> Instruction {
        let here = self.partition.rows(self.transport.rank());
        let policy = Policy { oob: None, conflict: None, ..work.policy };
        self.instruction(work, policy, here.end - here.start, ElementType::U64, lanes)
    }

    /// This rank's part of a call, judged by the rules of `host` and resolved against the whole table.
    fn route(&self, work: &Work, idx: Indices<'_>, payload: usize) -> Result<Route, CommError> {
        // The rules do not depend on the number of lanes, but tiles have at least one.
        let instruction = self.instruction(work, work.policy, self.partition.total(), idx.element(), idx.len().max(1));
        let broken: Vec<_> = check(&instruction, Target::Host, Launch::default())
            .into_iter()
            .filter(|f| f.rule.severity == Severity::Error)
            .collect();
        if !broken.is_empty() {
            return Err(Fault::Illegal(broken).into());
        }
        let expected = idx.len().saturating_mul(work.lane_bytes);
        if payload as u64 != expected {
            let role = if work.opcode == Opcode::MGather { Role::Dst } else { Role::Src };
            return Err(CommError::Length { role, expected, found: payload as u64 });
        }
        let oob = work.policy.oob.unwrap_or(OutOfBounds::Undefined);
        Route::new(idx, work.opcode, oob, work.lanes_per_row, &self.partition)
    }

    /// Sends each owner its lanes and returns the ones that this rank owns, from each rank; or makes an error of one
    /// rank an error of all.
    fn exchange(&self, work: &Work, route: Result<Route, CommError>) -> Result<(Route, Vec<Vec<u8>>), CommError> {
        let request = Request { opcode: work.opcode, policy: work.policy };
        let parts = (0..self.transport.size()).map(|rank| request.encode(route.as_ref().map(|r| r.indices(rank))));
        let received = self.transport.all_to_all(parts.collect())?;
        let route = route?;
        let lanes = received.into_iter().enumerate().map(|(rank, part)| request.decode(rank, part));
        Ok((route, lanes.collect::<Result<_, _>>()?))
    }
}

/// One call, the same at all ranks.
struct Work {
    opcode: Opcode,
    /// With its mode named.
    policy: Policy,
    lanes_per_row: u64,
    /// Bytes of payload that one lane moves.
    lane_bytes: u64,
}

impl Work {
    /// Lanes in a request, and bytes that they move.
    fn count(&self, request: &[u8]) -> Result<(u64, u64), CommError> {
        let lanes = (request.len() / 8) as u64;
        let bytes = lanes.checked_mul(self.lane_bytes).ok_or(CommError::OutOfMemory { bytes: u64::MAX })?;
        Ok((lanes, bytes))
    }
}
