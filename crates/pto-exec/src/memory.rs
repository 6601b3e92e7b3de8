//! The bytes of an instruction's operands, and what executing it did to them.

use pto_isa::{Instruction, OutOfBounds, Role, Tile};

use crate::Fault;

/// The bytes of an instruction's operands, named as in the instruction.
///
/// Tiles are their whole padded allocation in storage order; tables are the whole physical buffer from element 0.
#[derive(Debug)]
pub enum Memory<'a> {
    /// Operands of `MGATHER`.
    MGather {
        /// Written.
        dst: &'a mut [u8],
        /// Read.
        table: &'a [u8],
        /// Read.
        idx: &'a [u8],
    },
    /// Operands of `MSCATTER`.
    MScatter {
        /// Written.
        table: &'a mut [u8],
        /// Read.
        src: &'a [u8],
        /// Read.
        idx: &'a [u8],
    },
    /// Operands of index `TSCATTER`.
    TScatter {
        /// Written.
        dst: &'a mut [u8],
        /// Read.
        src: &'a [u8],
        /// Read.
        idx: &'a [u8],
    },
    /// Operands of mask `TSCATTER`.
    TScatterMask {
        /// Written.
        dst: &'a mut [u8],
        /// Read.
        src: &'a [u8],
    },
}

/// What happened to the lanes of one execution: rows in Row mode, elements otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lanes {
    /// Lanes whose value was written, remapped and zeroed ones included.
    pub written: u64,
    /// Lanes dropped by `skip`.
    pub skipped: u64,
    /// Lanes that `clamp` sent to the last slot.
    pub clamped: u64,
    /// Lanes that `wrap` took modulo the capacity.
    pub wrapped: u64,
    /// Lanes that `zero` filled.
    pub zeroed: u64,
}

impl Lanes {
    /// What a policy did to `total` lanes of which `outside` were out of range.
    #[inline]
    pub(crate) fn of(oob: OutOfBounds, total: u64, outside: u64) -> Self {
        let mut lanes = Self { written: total, ..Self::default() };
        match oob {
            OutOfBounds::Undefined => {}
            OutOfBounds::Skip => {
                lanes.skipped = outside;
                lanes.written -= outside;
            }
            OutOfBounds::Clamp => lanes.clamped = outside,
            OutOfBounds::Wrap => lanes.wrapped = outside,
            OutOfBounds::Zero => lanes.zeroed = outside,
        }
        lanes
    }
}

impl core::ops::AddAssign for Lanes {
    fn add_assign(&mut self, other: Self) {
        self.written += other.written;
        self.skipped += other.skipped;
        self.clamped += other.clamped;
        self.wrapped += other.wrapped;
        self.zeroed += other.zeroed;
    }
}

impl Memory<'_> {
    /// Every buffer is as long as its operand addresses.
    pub(crate) fn check(&self, instruction: &Instruction) -> Result<(), Fault> {
        let given = match self {
            Self::MGather { dst, table, idx } => {
                [(Role::Dst, dst.len()), (Role::Table, table.len()), (Role::Idx, idx.len())]
            }
            Self::MScatter { table, src, idx } => {
                [(Role::Table, table.len()), (Role::Src, src.len()), (Role::Idx, idx.len())]
            }
            Self::TScatter { dst, src, idx } => {
                [(Role::Dst, dst.len()), (Role::Src, src.len()), (Role::Idx, idx.len())]
            }
            Self::TScatterMask { dst, src } => [(Role::Dst, dst.len()), (Role::Src, src.len()), (Role::Src, src.len())],
        };
        for (role, found) in given {
            let unknown = Fault::Call("the size of an operand is unknown");
            let needed = match (role, instruction.table()) {
                (Role::Table, Some(table)) => table.span().map(|span| span.saturating_mul(table.element.size())),
                (Role::Table, None) => None,
                _ => instruction.tile(role).and_then(Tile::bytes),
            }
            .ok_or(unknown)?;
            if (found as u64) < needed {
                return Err(Fault::ShortBuffer { role, needed, found: found as u64 });
            }
        }
        Ok(())
    }
}
