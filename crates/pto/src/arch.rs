//! Targets as types: what a [`VectorCore`](crate::VectorCore) is a core *of*.

use pto_isa::{Launch, Target};

use crate::sealed::Sealed;

/// A target as a type, so that what it lacks is a type error.
///
/// ```
/// use pto::prelude::*;
/// fn name<A: Arch>() -> &'static str {
///     A::TARGET.name()
/// }
/// assert_eq!(name::<A2A3>(), "a2a3");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a PTO target",
    label = "not a target",
    note = "targets are `Cpu`, `A2A3`, `A5` (with dynamic UB: `A5<BYTES>`) and `Host`"
)]
pub trait Arch: Sealed + Copy + Default + core::fmt::Debug + Send + Sync + 'static {
    /// The target that this type stands for.
    const TARGET: Target;
    /// How kernels are launched on it.
    const LAUNCH: Launch = Launch { dyn_ub: None };
}

/// The reference form: element semantics, plain replace, last writer wins. No unified buffer to run out of.
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(VectorCore::<Cpu>::new().ub_limit(), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cpu;

/// Atlas A2 and A3: a sequential vector core with 192 KiB of unified buffer.
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(VectorCore::<A2A3>::new().ub_limit(), Some(192 * 1024));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct A2A3;

/// Atlas A5: SIMT warps over 256 KiB of unified buffer, of which tiles may take 128 KiB.
///
/// A kernel that needs more is launched with a `dynUBufSize`, here a const parameter, so that the budget of every
/// instruction is known to the compiler: `A5<{ 200 * 1024 }>`.
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(VectorCore::<A5>::new().ub_limit(), Some(128 * 1024));
/// assert_eq!(VectorCore::<A5<{ 200 * 1024 }>>::new().ub_limit(), Some(200 * 1024));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct A5<const DYN_UB: u64 = 0>;

/// This project's own engine on the machine it runs on: every policy, every element type, no budget.
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(Host::TARGET.name(), "host");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host;

impl Sealed for Cpu {}
impl Sealed for A2A3 {}
impl<const DYN_UB: u64> Sealed for A5<DYN_UB> {}
impl Sealed for Host {}

impl Arch for Cpu {
    const TARGET: Target = Target::Cpu;
}

impl Arch for A2A3 {
    const TARGET: Target = Target::A2A3;
}

impl<const DYN_UB: u64> Arch for A5<DYN_UB> {
    const TARGET: Target = Target::A5;
    const LAUNCH: Launch = Launch { dyn_ub: if DYN_UB == 0 { None } else { Some(DYN_UB) } };
}

impl Arch for Host {
    const TARGET: Target = Target::Host;
}
