//! The instructions, with their operands named as the specification names them.

use core::fmt;

use crate::tile::{FRACTAL_ROWS, names};
use crate::{Coalesce, Extent, MaskPattern, Policy, Target, Tensor, TensorLayout, Tile};

/// Which instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Opcode {
    /// Indexed load, global memory to tile.
    MGather,
    /// Indexed store, tile to global memory.
    MScatter,
    /// Indexed scatter within tiles.
    TScatter,
    /// Mask-pattern scatter within tiles.
    TScatterMask,
    /// Rows of the root to every rank.
    CommTScatter,
    /// Rows of every rank to the root.
    CommTGather,
}

names!(Opcode {
    MGather = "mgather",
    MScatter = "mscatter",
    TScatter = "tscatter",
    TScatterMask = "tscatter (mask)",
    CommTScatter = "comm.tscatter",
    CommTGather = "comm.tgather",
});

/// The part of an instruction that a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Role {
    /// The source tile or tensor.
    Src,
    /// The index tile.
    Idx,
    /// The destination tile or tensor.
    Dst,
    /// The table in global memory.
    Table,
    /// The policies.
    Policy,
    /// The mask pattern.
    Mask,
    /// The launch of the kernel.
    Launch,
    /// The parallel group of a collective.
    Group,
    /// The staging tile of a collective, the ping tile where there are two.
    Staging,
    /// The second staging tile.
    Pong,
}

names!(Role {
    Src = "src",
    Idx = "idx",
    Dst = "dst",
    Table = "table",
    Policy = "policy",
    Mask = "mask",
    Launch = "launch",
    Group = "group",
    Staging = "staging",
    Pong = "pong",
});

/// One instruction on described operands.
///
/// ```
/// use pto_isa::{Coalesce, ElementType::*, Instruction, Policy, Target, Tensor, Tile};
/// let scatter = Instruction::MScatter {
///     table: Tensor::packed(F32, [1, 1, 1, 64, 32]),
///     src: Tile::new(F32, 8, 32),
///     idx: Tile::new(I32, 1, 8),
///     policy: Policy::coalesce(Coalesce::Row),
/// };
/// assert_eq!(scatter.capacity(Target::A2A3), Some(64));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// `dst[r, c] = table[idx[r, c]]`, or whole rows.
    MGather {
        /// Written.
        dst: Tile,
        /// Read.
        table: Tensor,
        /// Indices into the table.
        idx: Tile,
        /// Mode and bounds; atomic and conflict have no meaning here.
        policy: Policy,
    },
    /// `table[idx[r, c]] = src[r, c]`, or whole rows, replaced or combined.
    MScatter {
        /// Written.
        table: Tensor,
        /// Read.
        src: Tile,
        /// Indices into the table.
        idx: Tile,
        /// Mode, bounds, atomic, conflict.
        policy: Policy,
    },
    /// `dst_flat[idx[r, c]] = src[r, c]`.
    TScatter {
        /// Written; cleared first on the device targets.
        dst: Tile,
        /// Read.
        src: Tile,
        /// Flat storage offsets into `dst`.
        idx: Tile,
    },
    /// `dst[r, F * c + p] = src[r, c]`, zero elsewhere.
    TScatterMask {
        /// Written; cleared first.
        dst: Tile,
        /// Read.
        src: Tile,
        /// Factor and position.
        pattern: MaskPattern,
    },
}

impl Instruction {
    /// Which instruction it is.
    pub const fn opcode(&self) -> Opcode {
        match self {
            Self::MGather { .. } => Opcode::MGather,
            Self::MScatter { .. } => Opcode::MScatter,
            Self::TScatter { .. } => Opcode::TScatter,
            Self::TScatterMask { .. } => Opcode::TScatterMask,
        }
    }

    /// The tile in a role, if the instruction has one there.
    pub const fn tile(&self, role: Role) -> Option<&Tile> {
        match (self, role) {
            (Self::MGather { dst: tile, .. }, Role::Dst)
            | (Self::MGather { idx: tile, .. }, Role::Idx)
            | (Self::MScatter { src: tile, .. }, Role::Src)
            | (Self::MScatter { idx: tile, .. }, Role::Idx)
            | (Self::TScatter { dst: tile, .. }, Role::Dst)
            | (Self::TScatter { src: tile, .. }, Role::Src)
            | (Self::TScatter { idx: tile, .. }, Role::Idx)
            | (Self::TScatterMask { dst: tile, .. }, Role::Dst)
            | (Self::TScatterMask { src: tile, .. }, Role::Src) => Some(tile),
            _ => None,
        }
    }

    /// The tile operands, destination first.
    pub fn tiles(&self) -> impl Iterator<Item = (Role, &Tile)> {
        [Role::Dst, Role::Src, Role::Idx].into_iter().filter_map(|role| Some((role, self.tile(role)?)))
    }

    /// The table in global memory, for the memory instructions.
    pub const fn table(&self) -> Option<&Tensor> {
        match self {
            Self::MGather { table, .. } | Self::MScatter { table, .. } => Some(table),
            _ => None,
        }
    }

    /// The tile that the payload is in: `src` of a scatter, `dst` of a gather.
    pub const fn payload(&self) -> &Tile {
        match self {
            Self::MGather { dst, .. } => dst,
            Self::MScatter { src, .. } | Self::TScatter { src, .. } | Self::TScatterMask { src, .. } => src,
        }
    }

    /// The policies, for the memory instructions.
    pub const fn policy(&self) -> Option<&Policy> {
        match self {
            Self::MGather { policy, .. } | Self::MScatter { policy, .. } => Some(policy),
            _ => None,
        }
    }

    /// The instruction as a checker sees it before the program runs: dynamic extents forgotten.
    pub const fn erased(self) -> Self {
        match self {
            Self::MGather { dst, table, idx, policy } => {
                Self::MGather { dst: dst.erased(), table: table.erased(), idx: idx.erased(), policy }
            }
            Self::MScatter { table, src, idx, policy } => {
                Self::MScatter { table: table.erased(), src: src.erased(), idx: idx.erased(), policy }
            }
            Self::TScatter { dst, src, idx } => {
                Self::TScatter { dst: dst.erased(), src: src.erased(), idx: idx.erased() }
            }
            Self::TScatterMask { dst, src, pattern } => {
                Self::TScatterMask { dst: dst.erased(), src: src.erased(), pattern }
            }
        }
    }

    /// Row or element mode on a target: the one that is named, or the one that the index shape implies.
    ///
    /// `None` while the shapes that decide are unknown, when they fit neither mode, and for tile instructions.
    pub const fn coalesce(&self, target: Target) -> Option<Coalesce> {
        let (payload, idx, policy) = match self {
            Self::MGather { dst, idx, policy, .. } => (dst, idx, policy),
            Self::MScatter { src, idx, policy, .. } => (src, idx, policy),
            _ => return None,
        };
        if target.is(Target::Cpu) {
            return Some(Coalesce::Elem);
        }
        if policy.coalesce.is_some() {
            return policy.coalesce;
        }
        // A shape that fits both (a single payload column) is Elem, so Elem has to be ruled out before Row holds.
        match (fits_elem(payload, idx), fits_row(payload, idx)) {
            (Some(true), _) => Some(Coalesce::Elem),
            (Some(false), Some(true)) => Some(Coalesce::Row),
            _ => None,
        }
    }

    /// True if no mode is named and the index shape is known to fit neither.
    pub const fn coalesce_fits_neither(&self) -> bool {
        let (payload, idx, policy) = match self {
            Self::MGather { dst, idx, policy, .. } => (dst, idx, policy),
            Self::MScatter { src, idx, policy, .. } => (src, idx, policy),
            _ => return false,
        };
        policy.coalesce.is_none()
            && matches!(fits_elem(payload, idx), Some(false))
            && matches!(fits_row(payload, idx), Some(false))
    }

    /// The number of values that an index may take: rows, elements, or storage slots of the destination tile.
    ///
    /// `None` while an extent or the mode is unknown, or if the product overflows.
    pub const fn capacity(&self, target: Target) -> Option<u64> {
        match self {
            Self::MGather { table, .. } | Self::MScatter { table, .. } => match self.coalesce(target) {
                Some(Coalesce::Elem) => table.elements(),
                Some(Coalesce::Row) => match (table.layout, target) {
                    (TensorLayout::Nz, _) => match table.shape[2].known() {
                        Some(block_rows) => block_rows.checked_mul(FRACTAL_ROWS),
                        None => None,
                    },
                    (_, Target::A5) => table.shape[3].known(),
                    _ => table.product(0, 4),
                },
                None => None,
            },
            Self::TScatter { dst, .. } => dst.elements(),
            Self::TScatterMask { .. } => None,
        }
    }

    /// True if the target zeroes the whole destination allocation before it writes the lanes.
    pub const fn clears_destination(&self, target: Target) -> bool {
        match self {
            Self::TScatter { .. } => matches!(target, Target::A2A3 | Target::A5),
            Self::TScatterMask { .. } => target.is(Target::A5),
            _ => false,
        }
    }
}

/// Equality of two extents, `None` while one is unknown.
const fn same(a: Extent, b: Extent) -> Option<bool> {
    match (a.known(), b.known()) {
        (Some(a), Some(b)) => Some(a == b),
        _ => None,
    }
}

const fn both(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), Some(true)) => Some(true),
        (Some(false), _) | (_, Some(false)) => Some(false),
        _ => None,
    }
}

const fn either(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

/// Does the index tile have one lane per payload element?
pub(crate) const fn fits_elem(payload: &Tile, idx: &Tile) -> Option<bool> {
    both(same(idx.valid_rows, payload.valid_rows), same(idx.valid_cols, payload.valid_cols))
}

/// Is the index tile `[1, R]` for R payload rows?
pub(crate) const fn fits_flat_row(payload: &Tile, idx: &Tile) -> Option<bool> {
    both(same(idx.valid_rows, Extent::Static(1)), same(idx.valid_cols, payload.valid_rows))
}

/// Is the index tile `[1, R]` or `[R, 1]` for R payload rows?
pub(crate) const fn fits_row(payload: &Tile, idx: &Tile) -> Option<bool> {
    let column = both(same(idx.valid_rows, payload.valid_rows), same(idx.valid_cols, Extent::Static(1)));
    either(fits_flat_row(payload, idx), column)
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.opcode())?;
        for (role, tile) in self.tiles() {
            write!(f, " {role}({tile})")?;
        }
        match self.table() {
            Some(table) => write!(f, " table({table})"),
            None => Ok(()),
        }
    }
}
