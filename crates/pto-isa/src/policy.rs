//! Policies: how an indexed transfer reads its indices and resolves what they leave open.

use crate::tile::names;

/// What one index selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Coalesce {
    /// A whole row: `table[idx[r], :]`.
    Row,
    /// One element of the linearised table: `table[idx[r, c]]`.
    Elem,
}

/// What happens to an index at or beyond the capacity of the table.
///
/// MSCATTER has no `Zero` and MGATHER no `Skip`; a rule says so where a text names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum OutOfBounds {
    /// The caller guarantees that there is none; here it is a reported fault.
    #[default]
    Undefined,
    /// The write is dropped (MSCATTER).
    Skip,
    /// The index becomes `capacity - 1`.
    Clamp,
    /// The index is taken modulo the capacity.
    Wrap,
    /// The lane or row becomes zero (MGATHER).
    Zero,
}

/// How MSCATTER combines a value with what the table holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Atomic {
    /// Replace.
    #[default]
    None,
    /// Add.
    Add,
    /// Keep the larger.
    Max,
    /// Keep the smaller.
    Min,
}

/// Who survives when several lanes replace one slot (A5; elsewhere the order of the walk decides).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[repr(u8)]
pub enum Conflict {
    /// The largest source position.
    #[default]
    Last,
    /// Whichever the warp scheduler runs last.
    Default,
}

/// Which lane of each expanded group mask TSCATTER writes.
///
/// The digits do not read as lanes from left to right: `P0101` is the *first* of two, as the specification's table
/// has it.
///
/// ```
/// use pto_isa::MaskPattern;
/// assert_eq!((MaskPattern::P0101.factor(), MaskPattern::P0101.position()), (2, 0));
/// assert_eq!((MaskPattern::P1000.factor(), MaskPattern::P1000.position()), (4, 3));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum MaskPattern {
    /// First lane of two.
    P0101,
    /// Second lane of two.
    P1010,
    /// First lane of four.
    P0001,
    /// Second lane of four.
    P0010,
    /// Third lane of four.
    P0100,
    /// Fourth lane of four.
    P1000,
    /// All lanes: a plain move.
    P1111,
}

names!(Coalesce { Row = "row", Elem = "elem" });
names!(OutOfBounds { Undefined = "undefined", Skip = "skip", Clamp = "clamp", Wrap = "wrap", Zero = "zero" });
names!(Atomic { None = "none", Add = "add", Max = "max", Min = "min" });
names!(Conflict { Last = "last", Default = "default" });
names!(MaskPattern {
    P0101 = "P0101",
    P1010 = "P1010",
    P0001 = "P0001",
    P0010 = "P0010",
    P0100 = "P0100",
    P1000 = "P1000",
    P1111 = "P1111",
});

impl MaskPattern {
    /// By how much a row widens.
    pub const fn factor(self) -> u64 {
        match self {
            Self::P1111 => 1,
            Self::P0101 | Self::P1010 => 2,
            Self::P0001 | Self::P0010 | Self::P0100 | Self::P1000 => 4,
        }
    }

    /// The lane of each group that receives the source element.
    pub const fn position(self) -> u64 {
        match self {
            Self::P0101 | Self::P0001 | Self::P1111 => 0,
            Self::P1010 | Self::P0010 => 1,
            Self::P0100 => 2,
            Self::P1000 => 3,
        }
    }
}

/// The policies an instruction names; `None` where it leaves one out.
///
/// That a policy was left out matters: naming a conflict policy on A2/A3 is an error, leaving it out is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Policy {
    /// Row or element mode; left out, the index shape decides.
    pub coalesce: Option<Coalesce>,
    /// Left out: undefined.
    pub oob: Option<OutOfBounds>,
    /// Left out: none.
    pub atomic: Option<Atomic>,
    /// Left out: last.
    pub conflict: Option<Conflict>,
}

impl OutOfBounds {
    /// Where an index goes in a table of so many slots; `None` if nowhere: it faults, or is dropped, or reads as zero.
    ///
    /// ```
    /// use pto_isa::OutOfBounds::{Clamp, Skip, Wrap};
    /// assert_eq!([Clamp, Wrap, Skip].map(|oob| oob.slot(7, 5)), [Some(4), Some(2), None]);
    /// assert_eq!([Clamp, Wrap, Skip].map(|oob| oob.slot(-1, 5)), [Some(0), Some(4), None]);
    /// assert_eq!(Skip.slot(3, 5), Some(3));
    /// ```
    #[inline]
    pub const fn slot(self, index: i128, capacity: u64) -> Option<u64> {
        match self {
            _ if 0 <= index && index < capacity as i128 => Some(index as u64),
            Self::Clamp if capacity > 0 => Some(if index < 0 { 0 } else { capacity - 1 }),
            Self::Wrap if capacity > 0 => Some(index.rem_euclid(capacity as i128) as u64),
            _ => None,
        }
    }
}

impl Policy {
    /// Only the mode given, everything else left out.
    pub const fn coalesce(mode: Coalesce) -> Self {
        Self { coalesce: Some(mode), oob: None, atomic: None, conflict: None }
    }

    /// The same with an out-of-bounds policy.
    pub const fn with_oob(mut self, oob: OutOfBounds) -> Self {
        self.oob = Some(oob);
        self
    }

    /// The same with an atomic operation.
    pub const fn with_atomic(mut self, atomic: Atomic) -> Self {
        self.atomic = Some(atomic);
        self
    }

    /// The same with a conflict policy.
    pub const fn with_conflict(mut self, conflict: Conflict) -> Self {
        self.conflict = Some(conflict);
        self
    }

    /// The out-of-bounds policy in force.
    pub const fn oob_or_default(&self) -> OutOfBounds {
        match self.oob {
            Some(oob) => oob,
            None => OutOfBounds::Undefined,
        }
    }

    /// The atomic operation in force.
    pub const fn atomic_or_default(&self) -> Atomic {
        match self.atomic {
            Some(atomic) => atomic,
            None => Atomic::None,
        }
    }

    /// The conflict policy in force.
    pub const fn conflict_or_default(&self) -> Conflict {
        match self.conflict {
            Some(conflict) => conflict,
            None => Conflict::Last,
        }
    }
}
