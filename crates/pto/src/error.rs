//! Why a call failed, and where it was made.

use core::fmt;
use core::panic::Location;

use pto_comm::CommError;
use pto_exec::Fault;
use pto_exec::transfer::Misfit;
use pto_ir::EVENTS;
use pto_isa::{Finding, Rule, Tensor, rules};

/// Why a call failed, with the place in the source that made it. No byte of any memory was changed.
///
/// ```
/// use pto::prelude::*;
/// let mut core = VectorCore::<A2A3>::new();
/// let mut tile = Tile::<f32, 8, 8>::new();
/// let error = core.tassign(&mut tile, 0x21).unwrap_err();
/// assert_eq!(error.rule().map(|rule| rule.name), Some("align.address"));
/// assert_eq!(error.place().line() + 2, line!());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    cause: Cause,
    place: &'static Location<'static>,
}

/// What went wrong.
///
/// ```
/// use pto::prelude::*;
/// use pto::Cause;
/// let mut core = VectorCore::<Host>::new();
/// let tile = Tile::<i32, 1, 4>::new();
/// let error = core.write(&tile, &[1, 2, 3]).unwrap_err();
/// assert_eq!(error.cause(), &Cause::Length { expected: 4, found: 3 });
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The instruction did not execute.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A collective failed, or a rank that it counted on.
    #[error(transparent)]
    Comm(#[from] CommError),
    /// A tile cannot be placed there.
    #[error("the tile cannot be placed: {}", listed(.0))]
    Placement(Vec<Finding>),
    /// The tile was placed by another core.
    #[error("the tile lives in the unified buffer of another core")]
    ForeignTile,
    /// The event was recorded by another core.
    #[error("the event was recorded by another core")]
    ForeignEvent,
    /// The tile reaches beyond the tensor.
    #[error("{}", Misfit::Region { tile: *tile, tensor: *tensor })]
    Region {
        /// Valid rows and columns of the tile.
        tile: (u64, u64),
        /// Logical rows and columns of the tensor.
        tensor: (u64, u64),
    },
    /// The valid regions of two tiles differ.
    #[error("{}", Misfit::Regions { dst: *dst, src: *src })]
    Regions {
        /// Valid rows and columns of the destination.
        dst: (u64, u64),
        /// Valid rows and columns of the source.
        src: (u64, u64),
    },
    /// A tile's valid region is larger than its padded one.
    #[error("{}", Misfit::Valid { valid: *valid, padded: *padded })]
    Valid {
        /// Valid rows and columns.
        valid: (u64, u64),
        /// Padded rows and columns.
        padded: (u64, u64),
    },
    /// The size of a tensor overflows address arithmetic.
    #[error("the size of the tensor overflows: {tensor}")]
    TensorOverflow {
        /// The tensor.
        tensor: Box<Tensor>,
    },
    /// The machine has no memory for the tile.
    #[error("no memory for a unified buffer of {bytes} bytes")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// A slice does not have one value per valid element of a tile.
    #[error("expected {expected} values, one for each valid element of the tile, found {found}")]
    Length {
        /// Valid elements of the tile.
        expected: u64,
        /// Values given.
        found: u64,
    },
    /// The host reads a tile of a kernel that is recorded, not run.
    #[error("a tile has no contents while its kernel is recorded: store it into a tensor")]
    NotRun,
    /// A collective is issued while its kernel is recorded, not run.
    #[error(
        "a collective cannot be recorded: the tensors of the other ranks are not this kernel's parameters; write it as a program and `pto run --ranks` it"
    )]
    NotRecorded,
    /// Two tensors of a recording share memory, but not their first element.
    #[error("the tensor begins or ends inside `{name}`: record one tensor over the whole slice")]
    Window {
        /// Name of the other's parameter.
        name: String,
    },
    /// Two tensors of a recording have one name or one slice, but are not the same parameter.
    #[error("parameter `{name}` is a different slice or element type than before")]
    Parameter {
        /// Name of the parameter.
        name: String,
    },
    /// More events are pending between two pipes than there are flags.
    #[error("no flag is free from {from} to {to}: all {EVENTS} are pending, used by hand or by an instruction itself")]
    Flags {
        /// The pipe of the instruction that is waited for.
        from: &'static str,
        /// The pipe of the instruction that waits.
        to: &'static str,
    },
}

fn listed(findings: &[Finding]) -> String {
    let one = |f: &Finding| format!("{}: expected {}, found {}", f.rule.name, f.expected, f.found);
    findings.iter().map(one).collect::<Vec<_>>().join("; ")
}

impl Cause {
    pub(crate) fn at(self, place: &'static Location<'static>) -> Error {
        Error(Box::new(Inner { cause: self, place }))
    }
}

impl Error {
    /// What went wrong.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let error = GlobalRef::<u8, Shape<1, 1, 1, 1, 32>>::new(&[0; 31]).unwrap_err();
    /// assert!(matches!(error.cause(), pto::Cause::Fault(pto::Fault::ShortBuffer { found: 31, .. })));
    /// ```
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }

    /// The call that failed.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let error = GlobalRef::<u8, Shape<1, 1, 1, 1, 32>>::new(&[]).unwrap_err();
    /// assert_eq!(error.place().line() + 1, line!());
    /// ```
    pub fn place(&self) -> &'static Location<'static> {
        self.0.place
    }

    /// The first rule that was broken, if it is one of the instruction set's.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let mut core = VectorCore::<A5>::new();
    /// let mut tile = Tile::<f32, 8, 8>::new();
    /// let error = core.tassign(&mut tile, 256 * 1024).unwrap_err();
    /// assert!(error.rule().is_some_and(|rule| rule.name.contains("ub")));
    /// ```
    pub fn rule(&self) -> Option<&'static Rule> {
        match &self.0.cause {
            Cause::Fault(Fault::Illegal(findings))
            | Cause::Comm(CommError::Refused(findings) | CommError::Faults(findings))
            | Cause::Placement(findings) => findings.first().map(|f| f.rule),
            Cause::Fault(Fault::Lane { .. }) => Some(rules::BOUNDS_LANE),
            Cause::Valid { .. } => Some(rules::SHAPE_VALID_EXTENT),
            Cause::TensorOverflow { .. } => Some(rules::SHAPE_OVERFLOW),
            _ => None,
        }
    }
}

impl From<Misfit> for Cause {
    fn from(misfit: Misfit) -> Self {
        match misfit {
            Misfit::Valid { valid, padded } => Self::Valid { valid, padded },
            Misfit::Region { tile, tensor } => Self::Region { tile, tensor },
            Misfit::Regions { dst, src } => Self::Regions { dst, src },
            Misfit::Short { role, needed, found } => Self::Fault(Fault::ShortBuffer { role, needed, found }),
            Misfit::Types(..) => Self::Fault(Fault::Call("the operands have different element types")),
        }
    }
}

impl From<CommError> for Error {
    #[track_caller]
    fn from(error: CommError) -> Self {
        Cause::Comm(error).at(Location::caller())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.place, self.0.cause)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.cause {
            Cause::Fault(fault) => Some(fault),
            Cause::Comm(error) => Some(error),
            _ => None,
        }
    }
}
