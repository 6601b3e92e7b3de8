//! The order in which A5's warps run.

/// The order in which A5 runs the lanes of a kernel whose result may depend on it: `Conflict::Default` and atomics.
///
/// Everything else ignores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Warps run round-robin, lanes in order: the walk of a sequential machine.
    #[default]
    InOrder,
    /// A pseudo-random interleaving of warps, and of the lanes of a warp, drawn from a seed.
    Seeded(u64),
}
