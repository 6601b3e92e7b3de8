//! Targets and what each of them offers, as tables that can be held against the specification line by line.

use crate::ElementType::{self, *};
use crate::tile::names;
use crate::{Atomic, ElementSet, TensorLayout};

/// A target that programs are judged for and run on.
///
/// ```
/// use pto_isa::{Atomic, Target};
/// assert!(Target::A2A3.profile().atomic(Atomic::Max).is_empty());
/// assert_eq!(Target::from_name("a5"), Some(Target::A5));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Target {
    /// The reference form: element semantics, plain replace, last writer wins.
    Cpu,
    /// Atlas A2 and A3: a sequential vector core with explicit pipes.
    A2A3,
    /// Atlas A5: SIMT warps.
    A5,
    /// This project's own engine on the machine it runs on.
    Host,
}

names!(Target { Cpu = "cpu", A2A3 = "a2a3", A5 = "a5", Host = "host" });

/// A set of targets: where a rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetSet(u8);

impl TargetSet {
    /// Every target.
    pub const ALL: Self = Self::of(Target::ALL);

    /// The set of the listed targets.
    pub const fn of(targets: &[Target]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < targets.len() {
            bits |= 1 << targets[i] as u8;
            i += 1;
        }
        Self(bits)
    }

    /// True if the target is in the set.
    pub const fn contains(self, target: Target) -> bool {
        self.0 >> target as u8 & 1 == 1
    }

    /// The members, in declaration order.
    pub fn iter(self) -> impl Iterator<Item = Target> {
        Target::ALL.iter().copied().filter(move |t| self.contains(*t))
    }
}

/// Storage orders that a target takes for the payload tile of MSCATTER and MGATHER.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadLayouts {
    /// `RowMajor` + `NoneBox` only.
    RowMajor,
    /// `RowMajor` + `NoneBox` for an ND table, the 512-byte NZ fractal for an NZ table.
    PairedWithTable,
    /// `RowMajor` or `ColMajor`, `NoneBox`.
    Unboxed,
    /// Any.
    Any,
}

/// Storage orders that a target takes for an index tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexLayouts {
    /// `RowMajor` + `NoneBox` only.
    RowMajor,
    /// `RowMajor` or `ColMajor`, `NoneBox`.
    Unboxed,
    /// Any.
    Any,
}

/// The unified buffer of a device target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UbBudget {
    /// Physical size in bytes.
    pub size: u64,
    /// Bytes that tiles may take when the launch asks for no dynamic UB.
    pub default_limit: u64,
    /// The most that a launch may ask for as `dynUBufSize`; `None` where there is no such knob.
    pub max_dynamic: Option<u64>,
}

impl UbBudget {
    /// Bytes that tiles may take in a launch that asks for this `dynUBufSize`, or for none: 0 is none, as for the
    /// runtime.
    ///
    /// ```
    /// let ub = pto_isa::Target::A5.profile().ub.unwrap();
    /// assert_eq!((ub.limit(None), ub.limit(Some(0))), (128 * 1024, 128 * 1024));
    /// assert_eq!(ub.limit(Some(1024)), 1024);
    /// assert_eq!(ub.limit(Some(1 << 20)), ub.end());
    /// ```
    pub const fn limit(&self, dyn_ub: Option<u64>) -> u64 {
        match (self.max_dynamic, dyn_ub) {
            (None, _) | (_, None | Some(0)) => self.default_limit,
            (Some(most), Some(asked)) if asked < most => asked,
            (Some(most), Some(_)) => most,
        }
    }

    /// The first byte that tiles can never use, whatever the launch asks for.
    pub const fn end(&self) -> u64 {
        match self.max_dynamic {
            Some(most) => most,
            None => self.size,
        }
    }
}

/// What a target offers.
#[derive(Debug)]
pub struct Profile {
    /// The target described.
    pub target: Target,
    /// Payload element types of MSCATTER, MGATHER and the collectives.
    pub memory_elements: ElementSet,
    /// Index element types of MSCATTER and MGATHER.
    pub memory_indices: ElementSet,
    /// Element types of TSCATTER.
    pub tile_elements: ElementSet,
    /// Index element types of TSCATTER.
    pub tile_indices: ElementSet,
    /// Types for each atomic operation, in the order `Add`, `Max`, `Min`; `None` takes all of `memory_elements`.
    pub atomics: [ElementSet; 3],
    /// Payload tile layouts of MSCATTER and MGATHER.
    pub payload: PayloadLayouts,
    /// Index tile layouts of MSCATTER and MGATHER.
    pub index: IndexLayouts,
    /// Table layouts.
    pub tables: &'static [TensorLayout],
    /// The unified buffer, where there is one.
    pub ub: Option<UbBudget>,
    /// Signed index lanes are plain integers; elsewhere every lane is its unsigned bit pattern.
    pub signed_lanes: bool,
}

impl Profile {
    /// Types for which an atomic operation exists.
    pub const fn atomic(&self, atomic: Atomic) -> ElementSet {
        match atomic {
            Atomic::None => self.memory_elements,
            Atomic::Add => self.atomics[0],
            Atomic::Max => self.atomics[1],
            Atomic::Min => self.atomics[2],
        }
    }

    /// True if the table layout is taken.
    pub const fn takes_table(&self, layout: TensorLayout) -> bool {
        let mut i = 0;
        while i < self.tables.len() {
            if self.tables[i].is(layout) {
                return true;
            }
            i += 1;
        }
        false
    }
}

const KIB: u64 = 1024;
/// 001 "Supported data types", common to CPU, A2/A3 and A5; 002 lists the same nine.
const NINE: ElementSet = ElementSet::of(&[I8, U8, I16, U16, I32, U32, F16, BF16, F32]);
const FLOAT8: ElementSet = ElementSet::of(&[F8E4M3, F8E5M2, HiF8]);
const WIDE: ElementSet = ElementSet::of(&[I64, U64, F64]);
const EVERYTHING: ElementSet = NINE.with(FLOAT8).with(WIDE);
const INDEX_32: ElementSet = ElementSet::of(&[I32, U32]);
const INDEX_16_32: ElementSet = ElementSet::of(&[I16, U16, I32, U32]);
const INDEX_64: ElementSet = ElementSet::of(&[I64, U64]);
const COMPUTABLE: ElementSet = NINE.with(WIDE);

static CPU: Profile = Profile {
    target: Target::Cpu,
    memory_elements: NINE,
    memory_indices: INDEX_32,
    tile_elements: NINE,
    tile_indices: INDEX_16_32,
    // 001 "Atomic Type Support", column CPU: the ABI contract.
    atomics: [ElementSet::of(&[I32, U32, F32, F16]), ElementSet::of(&[I32, F32]), ElementSet::of(&[I32, F32])],
    payload: PayloadLayouts::RowMajor,
    index: IndexLayouts::RowMajor,
    tables: &[TensorLayout::Nd],
    ub: None,
    signed_lanes: false,
};

static A2A3: Profile = Profile {
    target: Target::A2A3,
    memory_elements: NINE,
    memory_indices: INDEX_32,
    tile_elements: NINE,
    tile_indices: INDEX_16_32,
    // 001 "Atomic Type Support", column A2/A3: signed integers only, no Max, no Min.
    atomics: [ElementSet::of(&[I8, I16, I32, F16, BF16, F32]), ElementSet::EMPTY, ElementSet::EMPTY],
    payload: PayloadLayouts::PairedWithTable,
    index: IndexLayouts::RowMajor,
    tables: &[TensorLayout::Nd, TensorLayout::Nz],
    ub: Some(UbBudget { size: 192 * KIB, default_limit: 192 * KIB, max_dynamic: None }),
    signed_lanes: false,
};

static A5: Profile = Profile {
    target: Target::A5,
    memory_elements: NINE.with(FLOAT8),
    memory_indices: INDEX_32,
    tile_elements: NINE,
    tile_indices: INDEX_16_32,
    // 001 "Atomic Type Support", column A5.
    atomics: [
        ElementSet::of(&[I32, U32, F32, F16, BF16]),
        ElementSet::of(&[I32, U32, F32]),
        ElementSet::of(&[I32, U32, F32]),
    ],
    payload: PayloadLayouts::Unboxed,
    index: IndexLayouts::Unboxed,
    tables: &[TensorLayout::Nd],
    // 256 KiB less 8 KiB reserved and at least 32 KiB of data cache.
    ub: Some(UbBudget { size: 256 * KIB, default_limit: 128 * KIB, max_dynamic: Some(216 * KIB) }),
    signed_lanes: false,
};

static HOST: Profile = Profile {
    target: Target::Host,
    memory_elements: EVERYTHING,
    memory_indices: INDEX_32.with(INDEX_64),
    tile_elements: EVERYTHING,
    tile_indices: INDEX_16_32.with(INDEX_64),
    atomics: [COMPUTABLE, COMPUTABLE, COMPUTABLE],
    payload: PayloadLayouts::Any,
    index: IndexLayouts::Any,
    tables: &[TensorLayout::Nd, TensorLayout::Dn, TensorLayout::Nz],
    ub: None,
    signed_lanes: true,
};

impl Target {
    /// What the target offers.
    pub const fn profile(self) -> &'static Profile {
        match self {
            Self::Cpu => &CPU,
            Self::A2A3 => &A2A3,
            Self::A5 => &A5,
            Self::Host => &HOST,
        }
    }

    /// The smallest padded extent of the contiguous dimension of a payload tile (001 "Minimum Tile Shape").
    ///
    /// ```
    /// use pto_isa::{ElementType, Target};
    /// assert_eq!(Target::A5.min_contiguous(ElementType::F16), 16);
    /// assert_eq!(Target::Host.min_contiguous(ElementType::F16), 1);
    /// ```
    pub const fn min_contiguous(self, element: ElementType) -> u64 {
        match self {
            Self::Cpu | Self::A2A3 | Self::A5 => crate::tile::c0(element),
            Self::Host => 1,
        }
    }
}
