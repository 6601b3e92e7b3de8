//! Policies as types, named at the call: `core.mscatter((Row, Add, Clamp), ...)`.
//!
//! The order is the C++ intrinsics' order: mode, atomic, bounds, conflict. What is left out at the end keeps its
//! default (`AtomicNone`, `Undefined`, `Last`); the mode is always explicit.

use pto_isa::{Atomic, Coalesce, Conflict, MaskPattern, OutOfBounds, Policy};

use crate::sealed::Sealed;

macro_rules! markers {
    ($trait:ident $constant:ident: $kind:ident { $($(#[$doc:meta])* $name:ident = $value:ident),* $(,)? }) => {
        $(
            $(#[$doc])*
            ///
            /// ```
            /// use pto::prelude::*;
            #[doc = concat!(
                "assert_eq!(<", stringify!($name), " as ", stringify!($trait), ">::", stringify!($constant),
                ", pto::isa::", stringify!($kind), "::", stringify!($value), ");"
            )]
            /// ```
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub struct $name;

            impl Sealed for $name {}
            impl $trait for $name {
                const $constant: $kind = $kind::$value;
            }
        )*
    };
}

/// What one index selects: [`Row`] or [`Elem`].
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(<Row as Mode>::MODE.name(), "row");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a coalesce mode",
    label = "the first policy says what one index selects",
    note = "use `Row` (one index per row) or `Elem` (one index per element)"
)]
pub trait Mode: Sealed + Copy {
    /// The mode.
    const MODE: Coalesce;
}

markers! { Mode MODE: Coalesce {
    /// One index selects a whole row of the table (`Coalesce::Row`).
    Row = Row,
    /// One index selects one element of the linearised table (`Coalesce::Elem`).
    Elem = Elem,
} }

/// How MSCATTER combines a value with what the table holds: [`AtomicNone`], [`Add`], [`Max`] or [`Min`].
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(<Add as AtomicOp>::OP.name(), "add");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an atomic operation of MSCATTER",
    label = "the second policy is the atomic operation",
    note = "use `AtomicNone`, `Add`, `Max` or `Min`; the order of the policies is (mode, atomic, bounds, conflict)"
)]
pub trait AtomicOp: Sealed + Copy {
    /// The operation.
    const OP: Atomic;
}

markers! { AtomicOp OP: Atomic {
    /// Replace (`ScatterAtomicOp::None`).
    AtomicNone = None,
    /// Add (`ScatterAtomicOp::Add`).
    Add = Add,
    /// Keep the larger (`ScatterAtomicOp::Max`).
    Max = Max,
    /// Keep the smaller (`ScatterAtomicOp::Min`).
    Min = Min,
} }

/// What happens to an index beyond the capacity: one of [`Undefined`], [`Skip`], [`Clamp`], [`Wrap`], [`Zero`].
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(<Wrap as Bounds>::OOB.name(), "wrap");
/// ```
pub trait Bounds: Sealed + Copy {
    /// The policy.
    const OOB: OutOfBounds;
}

markers! { Bounds OOB: OutOfBounds {
    /// The caller guarantees that there is none; if there is one, the instruction faults.
    Undefined = Undefined,
    /// The write is dropped (scatters only).
    Skip = Skip,
    /// The index becomes the last one.
    Clamp = Clamp,
    /// The index is taken modulo the capacity.
    Wrap = Wrap,
    /// The lane or row becomes zero (gathers only).
    Zero = Zero,
} }

/// A bounds policy that MSCATTER has: all but [`Zero`].
///
/// ```
/// use pto::prelude::*;
/// fn scatter_only<B: ScatterBounds>(_: B) {}
/// scatter_only(Skip);
/// ```
#[diagnostic::on_unimplemented(
    message = "MSCATTER has no bounds policy `{Self}`",
    label = "not a bounds policy of a scatter",
    note = "use `Undefined`, `Skip`, `Clamp` or `Wrap`; there is no `Zero`, because an index out of range has no slot to zero"
)]
pub trait ScatterBounds: Bounds {}
impl ScatterBounds for Undefined {}
impl ScatterBounds for Skip {}
impl ScatterBounds for Clamp {}
impl ScatterBounds for Wrap {}

/// A bounds policy that MGATHER has: all but [`Skip`].
///
/// ```
/// use pto::prelude::*;
/// fn gather_only<B: GatherBounds>(_: B) {}
/// gather_only(Zero);
/// ```
#[diagnostic::on_unimplemented(
    message = "MGATHER has no bounds policy `{Self}`",
    label = "not a bounds policy of a gather",
    note = "use `Undefined`, `Clamp`, `Wrap` or `Zero`; a gather has no `Skip`, no atomic and no conflict policy"
)]
pub trait GatherBounds: Bounds {}
impl GatherBounds for Undefined {}
impl GatherBounds for Clamp {}
impl GatherBounds for Wrap {}
impl GatherBounds for Zero {}

/// Who survives when several lanes replace one slot: [`Last`] or [`DefaultConflict`].
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(<Last as ConflictPolicy>::CONFLICT, Some(pto::isa::Conflict::Last));
/// assert_eq!(<Unnamed as ConflictPolicy>::CONFLICT, None);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a conflict policy",
    label = "the fourth policy says who survives a collision",
    note = "use `Last` or `DefaultConflict`"
)]
pub trait ConflictPolicy: Sealed + Copy {
    /// The policy, if one is named.
    const CONFLICT: Option<Conflict>;
}

/// The largest source position survives (`ScatterConflict::Last`).
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(<Last as ConflictPolicy>::CONFLICT, Some(pto::isa::Conflict::Last));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Last;

/// Whichever the warp scheduler runs last survives (`ScatterConflict::Default`).
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(<DefaultConflict as ConflictPolicy>::CONFLICT, Some(pto::isa::Conflict::Default));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefaultConflict;

/// No conflict policy named: the only choice on A2/A3, where the walk decides.
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(<Unnamed as ConflictPolicy>::CONFLICT, None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unnamed;

impl Sealed for Last {}
impl Sealed for DefaultConflict {}
impl Sealed for Unnamed {}

impl ConflictPolicy for Last {
    const CONFLICT: Option<Conflict> = Some(Conflict::Last);
}
impl ConflictPolicy for DefaultConflict {
    const CONFLICT: Option<Conflict> = Some(Conflict::Default);
}
impl ConflictPolicy for Unnamed {
    const CONFLICT: Option<Conflict> = None;
}

/// Everything MSCATTER is told: a mode, or a tuple `(mode, atomic, bounds, conflict)` cut off anywhere.
///
/// ```
/// use pto::prelude::*;
/// fn text<P: ScatterPolicy>(_: P) -> String {
///     format!("{:?}", P::POLICY.atomic)
/// }
/// assert_eq!(text(Elem), "None");
/// assert_eq!(text((Row, Add, Clamp)), "Some(Add)");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a policy of MSCATTER",
    label = "expected a mode or a tuple of policies",
    note = "write `Row`, `(Row, Add)`, `(Row, Add, Clamp)` or `(Row, Add, Clamp, Last)`: mode, atomic, bounds, conflict"
)]
pub trait ScatterPolicy: Copy {
    /// The atomic operation.
    type Atomic: AtomicOp;
    /// The conflict policy.
    type Conflict: ConflictPolicy;
    /// The same as a value.
    const POLICY: Policy;
}

/// Everything MGATHER is told: a mode, or `(mode, bounds)`.
///
/// ```
/// use pto::prelude::*;
/// fn bounds<P: GatherPolicy>(_: P) -> &'static str {
///     P::POLICY.oob_or_default().name()
/// }
/// assert_eq!(bounds((Row, Zero)), "zero");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a policy of MGATHER",
    label = "expected a mode or `(mode, bounds)`",
    note = "write `Row`, `Elem` or `(Row, Zero)`; a gather has no atomic and no conflict policy"
)]
pub trait GatherPolicy: Copy {
    /// The policy as a value.
    const POLICY: Policy;
}

macro_rules! mode_alone {
    ($($mode:ident)*) => {
        $(
            impl ScatterPolicy for $mode {
                type Atomic = AtomicNone;
                type Conflict = Unnamed;
                const POLICY: Policy = Policy::coalesce(<$mode as Mode>::MODE);
            }
            impl GatherPolicy for $mode {
                const POLICY: Policy = Policy::coalesce(<$mode as Mode>::MODE);
            }
        )*
    };
}
mode_alone! { Row Elem }

impl<M: Mode, O: AtomicOp> ScatterPolicy for (M, O) {
    type Atomic = O;
    type Conflict = Unnamed;
    const POLICY: Policy = Policy::coalesce(M::MODE).with_atomic(O::OP);
}

impl<M: Mode, O: AtomicOp, B: ScatterBounds> ScatterPolicy for (M, O, B) {
    type Atomic = O;
    type Conflict = Unnamed;
    const POLICY: Policy = Policy::coalesce(M::MODE).with_atomic(O::OP).with_oob(B::OOB);
}

impl<M: Mode, O: AtomicOp, B: ScatterBounds, C: ConflictPolicy> ScatterPolicy for (M, O, B, C) {
    type Atomic = O;
    type Conflict = C;
    const POLICY: Policy = {
        let mut policy = Policy::coalesce(M::MODE).with_atomic(O::OP).with_oob(B::OOB);
        policy.conflict = C::CONFLICT;
        policy
    };
}

impl<M: Mode, B: GatherBounds> GatherPolicy for (M, B) {
    const POLICY: Policy = Policy::coalesce(M::MODE).with_oob(B::OOB);
}

/// A mask pattern of TSCATTER, as a type.
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(<P1010 as Mask>::PATTERN.factor(), 2);
/// assert_eq!(<P1010 as Mask>::PATTERN.position(), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a mask pattern",
    label = "not a mask pattern",
    note = "use `P0101`, `P1010`, `P0001`, `P0010`, `P0100`, `P1000` or `P1111`"
)]
pub trait Mask: Sealed + Copy {
    /// The pattern.
    const PATTERN: MaskPattern;
}

markers! { Mask PATTERN: MaskPattern {
    /// First lane of two.
    P0101 = P0101,
    /// Second lane of two.
    P1010 = P1010,
    /// First lane of four.
    P0001 = P0001,
    /// Second lane of four.
    P0010 = P0010,
    /// Third lane of four.
    P0100 = P0100,
    /// Fourth lane of four.
    P1000 = P1000,
    /// All lanes: a plain move.
    P1111 = P1111,
} }
