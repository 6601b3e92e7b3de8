//! The collectives: TSCATTER and TGATHER across the ranks of a parallel group.

use crate::{Opcode, Role, Tensor, Tile};

/// The direction of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// The root's rows go to the ranks (`TSCATTER`).
    Scatter,
    /// The ranks' rows come to the root (`TGATHER`).
    Gather,
}

/// One collective call on described operands.
///
/// Rank `r` of `N` owns rows `r*H .. (r+1)*H` of dimension 3 of the root's tensor.
///
/// ```
/// use pto_isa::{Collective, Direction, ElementType::F32, Target, Tensor, Tile, check_collective, Launch};
/// let scatter = Collective {
///     direction: Direction::Scatter,
///     root: 0,
///     caller: 0,
///     local: Tensor::packed(F32, [1, 1, 1, 8, 32]),
///     group: vec![Some(Tensor::packed(F32, [1, 1, 1, 4, 32])); 2],
///     staging: vec![Tile::new(F32, 4, 32)],
/// };
/// assert!(check_collective(&scatter, Target::A5, Launch::default()).is_empty());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Scatter or gather.
    pub direction: Direction,
    /// The group's root.
    pub root: u64,
    /// The rank that makes the call.
    pub caller: u64,
    /// The root's own tensor: the source of a scatter, the destination of a gather.
    pub local: Tensor,
    /// Each rank's tensor as the root sees it; `None` where the group has a hole.
    pub group: Vec<Option<Tensor>>,
    /// The staging tiles: one, or two for ping-pong.
    pub staging: Vec<Tile>,
}

impl Collective {
    /// Which instruction it is.
    pub fn opcode(&self) -> Opcode {
        match self.direction {
            Direction::Scatter => Opcode::CommTScatter,
            Direction::Gather => Opcode::CommTGather,
        }
    }

    /// The role of the root's tensor in the instruction.
    pub fn local_role(&self) -> Role {
        match self.direction {
            Direction::Scatter => Role::Src,
            Direction::Gather => Role::Dst,
        }
    }

    /// Number of ranks in the group.
    pub fn ranks(&self) -> u64 {
        self.group.len() as u64
    }

    /// The call as a checker sees it before the program runs: dynamic extents forgotten.
    pub fn erased(&self) -> Self {
        Self {
            local: self.local.erased(),
            group: self.group.iter().map(|t| t.map(Tensor::erased)).collect(),
            staging: self.staging.iter().copied().map(Tile::erased).collect(),
            ..*self
        }
    }
}
