//! PTO for Rust: tile kernels against a typed API in which illegal instructions do not compile.
//!
//! - A [`VectorCore`] of a target ([`Cpu`], [`A2A3`], [`A5`], [`Host`]) owns a unified buffer and executes
//!   instructions on it: [`mscatter`](VectorCore::mscatter), [`mgather`](VectorCore::mgather),
//!   [`tscatter`](VectorCore::tscatter), [`tscatter_mask`](VectorCore::tscatter_mask), and the plain moves
//!   [`tload`](VectorCore::tload), [`tstore`](VectorCore::tstore), [`tmov`](VectorCore::tmov).
//! - A [`Tile`] names a region of that buffer: [assigned](VectorCore::tassign) by hand or placed when first used.
//! - A [`GlobalTensor`] is a five-dimensional view of a slice, which stands for global memory.
//! - Policies are types, named at the call in the order of the C++ intrinsics: `(Row, Add, Clamp, Last)`.
//!
//! A kernel that takes its core as a parameter can also be [recorded](record): the same source becomes a program, which is
//! checked and simulated on the pipes of a device, with places that point into the kernel's source.
//!
//! What the types say is judged by the compiler: element types, atomics and policies that a target lacks are missing
//! trait implementations, shapes and layouts that break a rule stop the build with the rule's name. What only the run
//! knows, dynamic extents, addresses and index values, is judged when the instruction runs; an [`Error`] leaves all
//! memory as it was.
//!
//! ```
//! use pto::prelude::*;
//!
//! type Rows = Tile<f32, 4, 8>;
//! type Index = Tile<i32, 1, 4>;
//! type Table = Shape<1, 1, 1, 16, 8>;
//!
//! let (gradients, tokens) = (vec![0.5f32; 32], [3, 3, 0, 7]);
//! let mut embedding = vec![0f32; 16 * 8];
//!
//! let mut core = VectorCore::<A5>::new();
//! let (mut src, mut idx) = (Rows::new(), Index::new());
//! core.tload(&mut src, &GlobalRef::<f32, Shape<1, 1, 1, 4, 8>>::new(&gradients)?)?;
//! core.tload(&mut idx, &GlobalRef::<i32, Shape<1, 1, 1, 1, 4>>::new(&tokens)?)?;
//! let mut table = GlobalTensor::<f32, Table>::new(&mut embedding)?;
//! core.mscatter((Row, Add, Skip), &mut table, &src, &idx)?;
//!
//! assert_eq!(embedding[3 * 8], 1.0); // token 3 came twice
//! # Ok::<(), pto::Error>(())
//! ```

mod arch;
pub mod comm;
mod error;
mod event;
mod instructions;
mod layout;
mod legal;
mod plans;
mod policy;
pub mod record;
mod shape;
mod support;
mod sync;
mod tensor;
mod tile;
mod ub;
mod vector_core;

pub use arch::{A2A3, A5, Arch, Cpu, Host};
pub use error::{Cause, Error};
pub use event::Event;
pub use layout::{ColMajor, Dn, GlobalLayout, Nd, Nz, Pad, PadMax, PadMin, PadNull, PadZero, RowMajor, TileLayout};
pub use policy::{
    Add, AtomicNone, AtomicOp, Bounds, Clamp, ConflictPolicy, DefaultConflict, Elem, GatherBounds, GatherPolicy, Last,
    Mask, Max, Min, Mode, P0001, P0010, P0100, P0101, P1000, P1010, P1111, Row, ScatterBounds, ScatterPolicy, Skip,
    Undefined, Unnamed, Wrap, Zero,
};
pub use pto_exec::{Fault, Lanes, Schedule};
pub use pto_ir::Pipe;
pub use pto_isa::{Element, F8E4M3, F8E5M2, HiF8, bf16, f16};
pub use shape::{Packed, Shape, Stride, TensorShape, TensorStride};
pub use support::{AtomicElement, ConflictOn, HasAtomic, HasMask, MemoryIndex, Payload, Same, TileIndex, TilePayload};
pub use tensor::{GlobalRef, GlobalTensor, Table, TableMut};
pub use tile::{DYN, Tile, TileOperand};
pub use vector_core::VectorCore;

/// The instruction set: descriptions, rules and targets, for programs that build instructions at run time.
pub use pto_isa as isa;

/// Gather and scatter on plain slices, at full speed: what a program calls that has arrays and no tiles.
pub use pto_exec::host;

/// The executors: instructions on the bytes of their operands.
pub use pto_exec as exec;

/// The program representation that a kernel is recorded into.
pub use pto_ir as ir;

/// The device that a recorded kernel is simulated on.
pub use pto_sim as sim;

/// Everything that a kernel names.
///
/// ```
/// use pto::prelude::*;
/// let core = VectorCore::<A5>::new();
/// ```
pub mod prelude {
    pub use crate::{
        A2A3, A5, Add, Arch, AtomicElement, AtomicNone, AtomicOp, Bounds, Clamp, ColMajor, ConflictOn, ConflictPolicy,
        Cpu, DYN, DefaultConflict, Dn, Elem, Element, Event, F8E4M3, F8E5M2, GatherBounds, GatherPolicy, GlobalLayout,
        GlobalRef, GlobalTensor, HasAtomic, HasMask, HiF8, Host, Lanes, Last, Mask, Max, MemoryIndex, Min, Mode, Nd,
        Nz, P0001, P0010, P0100, P0101, P1000, P1010, P1111, Packed, Pad, PadMax, PadMin, PadNull, PadZero, Payload,
        Pipe, Row, RowMajor, Same, ScatterBounds, ScatterPolicy, Schedule, Shape, Skip, Stride, Table, TableMut, Tile,
        TileIndex, TileLayout, TileOperand, TilePayload, Undefined, Unnamed, VectorCore, Wrap, Zero, bf16, f16,
    };
}

mod sealed {
    /// Keeps the traits of this crate to its own types, so that they can grow.
    pub trait Sealed {}
}
