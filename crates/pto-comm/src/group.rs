//! Parallel groups: the tensors of all ranks, as the root of a collective sees them.

use pto_isa::check::Verdict;
use pto_isa::{Collective, Direction, ElementType, Extent, Launch, Role, Severity, Target, Tensor, TensorLayout, Tile};
use pto_isa::{check_collective, judge_collective};

use crate::{ChunkPlan, CommError, Transport, Window};

/// One rank's tensor and where it starts in that rank's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// The tensor.
    pub tensor: Tensor,
    /// Byte of the window at which its element 0 lies.
    pub offset: u64,
}

impl Member {
    /// A tensor at the start of its rank's window.
    pub const fn new(tensor: Tensor) -> Self {
        Self { tensor, offset: 0 }
    }

    /// Bytes of window that the tensor needs; `None` if an extent is unknown or that overflows.
    pub const fn window_bytes(&self) -> Option<u64> {
        match self.tensor.span() {
            // A tensor without elements touches nothing, wherever it lies.
            Some(0) => Some(0),
            Some(span) => match span.checked_mul(self.tensor.element.size()) {
                Some(bytes) => bytes.checked_add(self.offset),
                None => None,
            },
            None => None,
        }
    }
}

/// The tensors of all ranks in an open [`Window`], with a root (`ParallelGroup` of the C++ interface).
///
/// ```
/// use pto_comm::{ParallelGroup, Transport, launch, tscatter};
/// use pto_isa::{ElementType::U8, Tensor, Tile};
/// let received = launch(2, |rank| {
///     let mine = Tensor::packed(U8, [1, 1, 1, 1, 2]);
///     let window = rank.expose(2)?;
///     let group = ParallelGroup::agree(rank, &*window, 0, Some(mine))?;
///     if rank.rank() == group.root() {
///         let source = Tensor::packed(U8, [1, 1, 1, 2, 2]);
///         tscatter(&group, &source, &[1, 2, 3, 4], &[Tile::new(U8, 1, 32).with_valid(1, 2)])?;
///     }
///     rank.barrier()?;
///     let mut bytes = Vec::new();
///     window.local(&mut |memory| bytes = memory.to_vec())?;
///     Ok(bytes)
/// });
/// assert_eq!(received, [Ok(vec![1, 2]), Ok(vec![3, 4])]);
/// ```
#[derive(Clone)]
pub struct ParallelGroup<'w> {
    window: &'w dyn Window,
    members: Vec<Option<Member>>,
    root: usize,
    target: Target,
    launch: Launch,
}

impl<'w> ParallelGroup<'w> {
    /// A group as the caller sees it: what the other ranks think of it is not asked, exactly as in the C++ interface.
    ///
    /// `None` is a hole, which no collective accepts.
    pub fn new(window: &'w dyn Window, members: Vec<Option<Member>>, root: usize) -> Self {
        Self { window, members, root, target: Target::Host, launch: Launch::default() }
    }

    /// A group that all ranks describe together, each its own tensor at the start of its window.
    ///
    /// # Errors
    /// At every rank alike: [`CommError::Refused`] if the tensors differ, one is missing or the root is no rank,
    /// [`CommError::WindowTooSmall`] if a rank opened less than its tensor takes, [`CommError::Mismatch`] if the ranks
    /// name different roots.
    pub fn agree(
        transport: &dyn Transport,
        window: &'w dyn Window,
        root: usize,
        mine: Option<Tensor>,
    ) -> Result<Self, CommError> {
        let said = transport.all_to_all(vec![encode(root, mine.as_ref()); transport.size()])?;
        let mut members = Vec::with_capacity(said.len());
        for (rank, words) in said.iter().enumerate() {
            let (theirs, tensor) = decode(words).ok_or_else(|| CommError::Mismatch {
                rank,
                theirs: "another operation".into(),
                mine: "making a group".into(),
            })?;
            if theirs != root as u64 {
                let (theirs, mine) = (format!("a group with root {theirs}"), format!("a group with root {root}"));
                return Err(CommError::Mismatch { rank, theirs, mine });
            }
            members.push(tensor.map(Member::new));
        }
        let group = Self::new(window, members, root);
        group.check_members()?;
        group.check_windows()?;
        Ok(group)
    }

    /// The same group for a target and a launch, whose rules and UB budget its collectives then keep to. Without
    /// this, it is `host`.
    pub fn on(mut self, target: Target, launch: Launch) -> Self {
        (self.target, self.launch) = (target, launch);
        self
    }

    /// The root.
    pub fn root(&self) -> usize {
        self.root
    }

    /// The ranks' tensors, in rank order.
    pub fn members(&self) -> &[Option<Member>] {
        &self.members
    }

    /// The window that the tensors lie in.
    pub fn window(&self) -> &'w dyn Window {
        self.window
    }

    /// A collective of this group by this rank, as the rules see it.
    pub fn describe(&self, direction: Direction, local: Tensor, staging: &[Tile]) -> Collective {
        Collective {
            direction,
            root: self.root as u64,
            caller: self.window.rank() as u64,
            local,
            group: self.members.iter().map(|m| m.map(|m| m.tensor)).collect(),
            staging: staging.to_vec(),
        }
    }

    /// Everything that can be wrong with a collective and be known before a byte moves; then how it is cut.
    ///
    /// # Errors
    /// As [`tscatter`](crate::tscatter).
    pub fn plan(&self, call: &Collective, local_bytes: u64) -> Result<ChunkPlan, CommError> {
        judge(call, self.target, self.launch)?;
        let needed = Member::new(call.local).window_bytes().ok_or(UNKNOWN)?;
        if local_bytes < needed {
            return Err(CommError::ShortBuffer { role: call.local_role(), needed, found: local_bytes });
        }
        self.check_windows()?;
        ChunkPlan::new(call)
    }

    /// Every member's tensor lies inside the window of its rank.
    fn check_windows(&self) -> Result<(), CommError> {
        let sizes = self.window.sizes();
        if sizes.len() != self.members.len() {
            return Err(CommError::GroupSize { described: self.members.len(), ranks: sizes.len() });
        }
        for (rank, (member, &found)) in self.members.iter().zip(sizes).enumerate() {
            let needed = member.map_or(Some(0), |m| m.window_bytes()).ok_or(UNKNOWN)?;
            if found < needed {
                return Err(CommError::WindowTooSmall { rank, needed, found });
            }
        }
        Ok(())
    }

    /// The rules that speak of the group alone, so that every rank learns what is wrong with it, not the root alone.
    fn check_members(&self) -> Result<(), CommError> {
        let Some(first) = self.members.iter().flatten().next() else {
            let call = self.describe(Direction::Scatter, Tensor::packed(ElementType::U8, [0; 5]), &[]);
            return self.refuse(&Collective { caller: call.root, ..call });
        };
        let call = self.describe(Direction::Scatter, first.tensor, &[]);
        self.refuse(&Collective { caller: call.root, ..call })
    }

    fn refuse(&self, call: &Collective) -> Result<(), CommError> {
        let findings: Vec<_> = check_collective(call, self.target, self.launch)
            .into_iter()
            .filter(|f| f.rule.severity == Severity::Error && f.role == Role::Group)
            .collect();
        if findings.is_empty() { Ok(()) } else { Err(CommError::Refused(findings)) }
    }
}

/// The rules, as errors.
pub(crate) fn judge(call: &Collective, target: Target, launch: Launch) -> Result<(), CommError> {
    match judge_collective(call, target, launch) {
        Verdict::Refused(findings) => Err(CommError::Refused(findings)),
        Verdict::Faults(findings) => Err(CommError::Faults(findings)),
        Verdict::Legal(_) => Ok(()),
    }
}

const UNKNOWN: CommError = CommError::UnknownExtent("an extent of a collective is unknown when it runs");

/// A root and a tensor in words of 8 bytes: root, presence, element type, layout, then kind and value of each extent
/// and stride. Private to one version of this crate: all ranks of a job run the same program.
fn encode(root: usize, tensor: Option<&Tensor>) -> Vec<u8> {
    let mut words = vec![root as u64, u64::from(tensor.is_some())];
    if let Some(tensor) = tensor {
        words.extend([tensor.element as u64, tensor.layout as u64]);
        for extent in tensor.shape.iter().chain(&tensor.strides) {
            words.extend(match extent {
                Extent::Static(value) => [0, *value],
                Extent::Dynamic(Some(value)) => [1, *value],
                Extent::Dynamic(None) => [2, 0],
            });
        }
    }
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

fn decode(bytes: &[u8]) -> Option<(u64, Option<Tensor>)> {
    let (words, []) = bytes.as_chunks::<8>() else { return None };
    let words: Vec<u64> = words.iter().map(|w| u64::from_le_bytes(*w)).collect();
    let extents = |words: &[u64]| -> Option<[Extent; 5]> {
        let pairs = words.as_chunks::<2>().0.iter().map(|[kind, value]| match kind {
            0 => Extent::Static(*value),
            1 => Extent::Dynamic(Some(*value)),
            _ => Extent::Dynamic(None),
        });
        pairs.collect::<Vec<_>>().try_into().ok()
    };
    match words.as_slice() {
        [root, 0] => Some((*root, None)),
        [root, 1, element, layout, rest @ ..] if rest.len() == 20 => {
            let element = *ElementType::ALL.get(usize::try_from(*element).ok()?)?;
            let layout = *TensorLayout::ALL.get(usize::try_from(*layout).ok()?)?;
            let (shape, strides) = (extents(&rest[..10])?, extents(&rest[10..])?);
            Some((*root, Some(Tensor { element, shape, strides, layout })))
        }
        _ => None,
    }
}
