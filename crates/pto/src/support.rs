//! What each target takes, as trait bounds.
//!
//! The tables live once, in `pto-isa`. A trait needs its implementations spelled out, so they are repeated here, and
//! after each list a constant proves that it is exactly the table: a type too many or too few does not compile.

use pto_isa::{
    Atomic, Coalesce, Conflict, Element, ElementSet, ElementType, F8E4M3, F8E5M2, HiF8, Instruction, MaskPattern,
    OutOfBounds, Policy, Target, Tensor, Tile, bf16, f16, first_broken,
};

use crate::arch::{A2A3, A5, Arch, Cpu, Host};
use crate::policy::{
    Add, AtomicNone, Clamp, ConflictPolicy, DefaultConflict, Last, Max, Min, Skip, Undefined, Unnamed, Wrap, Zero,
};

/// Element types that MSCATTER, MGATHER and the collectives move on a target.
///
/// ```
/// use pto::prelude::*;
/// fn moves<T: Payload<A>, A: Arch>() {}
/// moves::<F8E4M3, A5>();
/// moves::<f64, Host>();
/// ```
#[diagnostic::on_unimplemented(
    message = "MSCATTER, MGATHER and the collectives do not move `{Self}` on `{A}`",
    label = "`{A}` has no transfer of `{Self}` elements",
    note = "all targets move i8 u8 i16 u16 i32 u32 f16 bf16 f32; `A5` also F8E4M3, F8E5M2 and HiF8; `Host` everything, i64 u64 f64 included"
)]
pub trait Payload<A: Arch>: Element {}

/// Element types that MSCATTER and MGATHER take indices from on a target.
///
/// ```
/// use pto::prelude::*;
/// fn indexes<T: MemoryIndex<A>, A: Arch>() {}
/// indexes::<i32, A5>();
/// indexes::<i64, Host>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` elements cannot index a table on `{A}`",
    label = "not an index type of MSCATTER and MGATHER on `{A}`",
    note = "index tiles hold i32 or u32; on `Host` also i64 or u64"
)]
pub trait MemoryIndex<A: Arch>: Element {}

/// Element types that TSCATTER moves on a target.
///
/// ```
/// use pto::prelude::*;
/// fn moves<T: TilePayload<A>, A: Arch>() {}
/// moves::<bf16, A2A3>();
/// ```
#[diagnostic::on_unimplemented(
    message = "TSCATTER does not move `{Self}` on `{A}`",
    label = "`{A}` has no TSCATTER of `{Self}` elements",
    note = "all targets move i8 u8 i16 u16 i32 u32 f16 bf16 f32; `Host` every element type"
)]
pub trait TilePayload<A: Arch>: Element {}

/// Index types of TSCATTER for payload `T` on a target.
///
/// ```
/// use pto::prelude::*;
/// fn offsets<I: TileIndex<T, A>, T: Element, A: Arch>() {}
/// offsets::<u16, f16, A5>();
/// offsets::<u16, f32, Cpu>(); // the width rule holds on A2A3 and A5 only
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` elements cannot index a TSCATTER of `{T}` on `{A}`",
    label = "wrong index type for `{T}` on `{A}`",
    note = "on `A2A3` and `A5` the index is i32 or u32 for 4-byte elements, i16 or u16 for 2- and 1-byte elements",
    note = "`Cpu` takes i16 u16 i32 u32 for any of them, `Host` i64 and u64 too"
)]
pub trait TileIndex<T: Element, A: Arch>: Element {}

/// The same element type: transfers do not convert.
///
/// ```
/// use pto::prelude::*;
/// fn no_conversion<D: Same<S>, S: Element>() {}
/// no_conversion::<f32, f32>();
/// ```
#[diagnostic::on_unimplemented(
    message = "one operand holds `{Self}` elements, the other `{T}`",
    label = "a transfer does not convert between `{Self}` and `{T}`",
    note = "give tiles and table of an instruction the same element type (type.table, type.same)"
)]
pub trait Same<T: Element>: Element {}
impl<T: Element> Same<T> for T {}

/// Targets that have an atomic operation.
///
/// ```
/// use pto::prelude::*;
/// fn has<A: HasAtomic<Op>, Op: AtomicOp>() {}
/// has::<A5, Max>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no atomic `{Op}`",
    label = "`{Self}` cannot combine by `{Op}`",
    note = "`A2A3` has `AtomicNone` and `Add` only: its store unit has no maximum or minimum"
)]
pub trait HasAtomic<Op>: Arch {}

/// Element types for which a target's atomic operation exists.
///
/// ```
/// use pto::prelude::*;
/// fn combines<T: AtomicElement<Op, A>, Op: AtomicOp, A: Arch>() {}
/// combines::<u32, Add, A5>();
/// combines::<i8, Add, A2A3>();
/// ```
#[diagnostic::on_unimplemented(
    message = "atomic `{Op}` does not exist for `{Self}` on `{A}`",
    label = "`{A}` cannot combine `{Self}` elements by `{Op}`",
    note = "Add: `Cpu` i32 u32 f32 f16; `A2A3` i8 i16 i32 f16 bf16 f32 (no unsigned); `A5` i32 u32 f32 f16 bf16",
    note = "Max, Min: `Cpu` i32 f32; `A5` i32 u32 f32. `Host`: all of them on everything but 8-bit floats"
)]
pub trait AtomicElement<Op, A: Arch>: Element {}

/// Conflict policies that may be named on a target.
///
/// ```
/// use pto::prelude::*;
/// fn may_name<C: ConflictOn<A>, A: Arch>() {}
/// may_name::<Last, A5>();
/// may_name::<Unnamed, A2A3>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{A}` has no conflict policy, so `{Self}` cannot be named there",
    label = "leave the conflict policy out",
    note = "on A2/A3 the walk is sequential and the last write always wins"
)]
pub trait ConflictOn<A: Arch>: ConflictPolicy {}

/// Targets that have the mask form of TSCATTER.
///
/// ```
/// use pto::prelude::*;
/// fn has<A: HasMask>() {}
/// has::<A5>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no mask TSCATTER",
    label = "the mask form exists on `A5` and `Host`",
    note = "use `tscatter` with the indices `factor * column + position` of each row"
)]
pub trait HasMask: Arch {}

/// `list` is exactly `table`.
const fn exactly(table: ElementSet, list: &[ElementType]) {
    let listed = ElementSet::of(list);
    let mut i = 0;
    while i < ElementType::ALL.len() {
        let element = ElementType::ALL[i];
        assert!(table.contains(element) == listed.contains(element), "this list is not the table in pto-isa");
        i += 1;
    }
}

macro_rules! elements {
    ($trait:ident is $table:ident {
        Cpu [$($cpu:ty),*] A2A3 [$($a2a3:ty),*] A5 [$($a5:ty),*] Host [$($host:ty),*]
    }) => {
        $(#[diagnostic::do_not_recommend] impl $trait<Cpu> for $cpu {})*
        $(#[diagnostic::do_not_recommend] impl $trait<A2A3> for $a2a3 {})*
        $(#[diagnostic::do_not_recommend] impl<const DYN_UB: u64> $trait<A5<DYN_UB>> for $a5 {})*
        $(#[diagnostic::do_not_recommend] impl $trait<Host> for $host {})*
        const _: () = {
            exactly(Target::Cpu.profile().$table, &[$(<$cpu as Element>::TYPE),*]);
            exactly(Target::A2A3.profile().$table, &[$(<$a2a3 as Element>::TYPE),*]);
            exactly(Target::A5.profile().$table, &[$(<$a5 as Element>::TYPE),*]);
            exactly(Target::Host.profile().$table, &[$(<$host as Element>::TYPE),*]);
        };
    };
}

elements! { Payload is memory_elements {
    Cpu [i8, u8, i16, u16, i32, u32, f16, bf16, f32]
    A2A3 [i8, u8, i16, u16, i32, u32, f16, bf16, f32]
    A5 [i8, u8, i16, u16, i32, u32, f16, bf16, f32, F8E4M3, F8E5M2, HiF8]
    Host [i8, u8, i16, u16, i32, u32, f16, bf16, f32, F8E4M3, F8E5M2, HiF8, i64, u64, f64]
} }

elements! { MemoryIndex is memory_indices {
    Cpu [i32, u32] A2A3 [i32, u32] A5 [i32, u32] Host [i32, u32, i64, u64]
} }

elements! { TilePayload is tile_elements {
    Cpu [i8, u8, i16, u16, i32, u32, f16, bf16, f32]
    A2A3 [i8, u8, i16, u16, i32, u32, f16, bf16, f32]
    A5 [i8, u8, i16, u16, i32, u32, f16, bf16, f32]
    Host [i8, u8, i16, u16, i32, u32, f16, bf16, f32, F8E4M3, F8E5M2, HiF8, i64, u64, f64]
} }

macro_rules! tile_indices {
    (anything on $arch:ident by [$($idx:ty),*]) => {
        $(#[diagnostic::do_not_recommend] impl<T: Element> TileIndex<T, $arch> for $idx {})*
        const _: () = exactly(Target::$arch.profile().tile_indices, &[$(<$idx as Element>::TYPE),*]);
    };
    (absent [$($payload:ty),*]) => {
        $(
            impl<I: Element> TileIndex<$payload, A2A3> for I {}
            impl<I: Element, const DYN_UB: u64> TileIndex<$payload, A5<DYN_UB>> for I {}
        )*
    };
    ([$($payload:ty),*] by $idx:tt) => {
        $(tile_indices! { one $payload, $idx })*
    };
    (one $payload:ty, [$($idx:ty),*]) => {
        $(
            impl TileIndex<$payload, A2A3> for $idx {}
            impl<const DYN_UB: u64> TileIndex<$payload, A5<DYN_UB>> for $idx {}
        )*
        const _: () = {
            index_widths(<$payload as Element>::TYPE, &[$(<$idx as Element>::TYPE),*], Target::A2A3);
            index_widths(<$payload as Element>::TYPE, &[$(<$idx as Element>::TYPE),*], Target::A5);
        };
    };
}

/// `list` is exactly what the rules let index a TSCATTER of `payload`.
const fn index_widths(payload: ElementType, list: &[ElementType], target: Target) {
    let tile = Tile::new(payload, 1, 32);
    let listed = ElementSet::of(list);
    let mut i = 0;
    while i < ElementType::ALL.len() {
        let idx = ElementType::ALL[i];
        let scatter = Instruction::TScatter { dst: tile, src: tile, idx: Tile::new(idx, 1, 32) };
        let legal = first_broken(&scatter, target, pto_isa::Launch { dyn_ub: None }).is_none();
        assert!(legal == listed.contains(idx), "this list is not what the rules in pto-isa allow");
        i += 1;
    }
}

tile_indices! { anything on Cpu by [i16, u16, i32, u32] }
tile_indices! { anything on Host by [i16, u16, i32, u32, i64, u64] }
// An element type that the devices lack altogether is reported once, by `TilePayload`.
tile_indices! { absent [i64, u64, f64, F8E4M3, F8E5M2, HiF8] }
tile_indices! { [i32, u32, f32] by [i32, u32] }
tile_indices! { [i8, u8, i16, u16, f16, bf16] by [i16, u16] }

impl<A: Arch> HasAtomic<AtomicNone> for A {}
impl<T: Element, A: Arch> AtomicElement<AtomicNone, A> for T {}

macro_rules! atomics {
    ($op:ident { Cpu [$($cpu:ty),*] A2A3 [$($a2a3:ty),*] A5 [$($a5:ty),*] Host [$($host:ty),*] }) => {
        impl HasAtomic<$op> for Cpu {}
        impl<const DYN_UB: u64> HasAtomic<$op> for A5<DYN_UB> {}
        impl HasAtomic<$op> for Host {}
        $(#[diagnostic::do_not_recommend] impl AtomicElement<$op, Cpu> for $cpu {})*
        $(#[diagnostic::do_not_recommend] impl AtomicElement<$op, A2A3> for $a2a3 {})*
        $(#[diagnostic::do_not_recommend] impl<const DYN_UB: u64> AtomicElement<$op, A5<DYN_UB>> for $a5 {})*
        $(#[diagnostic::do_not_recommend] impl AtomicElement<$op, Host> for $host {})*
        const _: () = {
            exactly(Target::Cpu.profile().atomic(Atomic::$op), &[$(<$cpu as Element>::TYPE),*]);
            exactly(Target::A2A3.profile().atomic(Atomic::$op), &[$(<$a2a3 as Element>::TYPE),*]);
            exactly(Target::A5.profile().atomic(Atomic::$op), &[$(<$a5 as Element>::TYPE),*]);
            exactly(Target::Host.profile().atomic(Atomic::$op), &[$(<$host as Element>::TYPE),*]);
        };
    };
}

atomics! { Add {
    Cpu [i32, u32, f32, f16]
    A2A3 [i8, i16, i32, f16, bf16, f32]
    A5 [i32, u32, f32, f16, bf16]
    Host [i8, u8, i16, u16, i32, u32, f16, bf16, f32, i64, u64, f64]
} }
atomics! { Max {
    Cpu [i32, f32] A2A3 [] A5 [i32, u32, f32] Host [i8, u8, i16, u16, i32, u32, f16, bf16, f32, i64, u64, f64]
} }
atomics! { Min {
    Cpu [i32, f32] A2A3 [] A5 [i32, u32, f32] Host [i8, u8, i16, u16, i32, u32, f16, bf16, f32, i64, u64, f64]
} }

impl HasAtomic<Add> for A2A3 {}
// An operation that the target lacks altogether is reported once, by `HasAtomic`.
impl<T: Element> AtomicElement<Max, A2A3> for T {}
impl<T: Element> AtomicElement<Min, A2A3> for T {}

/// A policy in another's place is reported once, by [`AtomicOp`](crate::AtomicOp).
macro_rules! misplaced {
    ($($bounds:ident)*) => {
        $(
            #[diagnostic::do_not_recommend]
            impl<A: Arch> HasAtomic<$bounds> for A {}
            #[diagnostic::do_not_recommend]
            impl<T: Element, A: Arch> AtomicElement<$bounds, A> for T {}
        )*
    };
}
misplaced! { Undefined Skip Clamp Wrap Zero }

impl<A: Arch> ConflictOn<A> for Unnamed {}

macro_rules! conflicts {
    ($($name:ident)*) => {
        $(
            impl ConflictOn<Cpu> for $name {}
            impl<const DYN_UB: u64> ConflictOn<A5<DYN_UB>> for $name {}
            impl ConflictOn<Host> for $name {}
        )*
    };
}
conflicts! { Last DefaultConflict }

impl<const DYN_UB: u64> HasMask for A5<DYN_UB> {}
impl HasMask for Host {}

/// The rules agree with who implements [`ConflictOn`], [`HasMask`], `ScatterBounds` and `GatherBounds`.
const _: () = {
    const fn legal(instruction: Instruction, target: Target) -> bool {
        first_broken(&instruction, target, pto_isa::Launch { dyn_ub: None }).is_none()
    }
    let (tile, idx) = (Tile::new(ElementType::F32, 1, 8), Tile::new(ElementType::I32, 1, 8));
    let (table, elem) = (Tensor::packed(ElementType::F32, [1; 5]), Policy::coalesce(Coalesce::Elem));
    let mut i = 0;
    while i < Target::ALL.len() {
        let target = Target::ALL[i];
        let conflict = elem.with_conflict(Conflict::Last);
        let named = legal(Instruction::MScatter { table, src: tile, idx, policy: conflict }, target);
        assert!(named != matches!(target, Target::A2A3));
        let mask = Instruction::TScatterMask { dst: tile, src: tile, pattern: MaskPattern::P1111 };
        assert!(legal(mask, target) == matches!(target, Target::A5 | Target::Host));
        let mut j = 0;
        while j < OutOfBounds::ALL.len() {
            let policy = elem.with_oob(OutOfBounds::ALL[j]);
            let scatters = legal(Instruction::MScatter { table, src: tile, idx, policy }, target);
            let gathers = legal(Instruction::MGather { dst: tile, table, idx, policy }, target);
            assert!(scatters != matches!(OutOfBounds::ALL[j], OutOfBounds::Zero));
            assert!(gathers != matches!(OutOfBounds::ALL[j], OutOfBounds::Skip));
            j += 1;
        }
        i += 1;
    }
};
