//! Gather and scatter on arrays: every policy of the instruction set, at the speed of the machine.
//!
//! | | one element per index | one row per index |
//! | --- | --- | --- |
//! | read | [`gather`] | [`gather_rows`] |
//! | replace, add, max, min | [`scatter`] | [`scatter_rows`] |
//!
//! Tables, payloads and indices are slices or [`View`]s with a distance between rows; tables with more dimensions go
//! through a [`Plan`](crate::Plan). Elements are any [`Element`], indices any [`Index`]: `i32`, `u32`, `i64`, `u64`. A
//! negative index is out of range: `Clamp` sends it to 0, `Wrap` takes the Euclidean remainder.
//!
//! Values that meet in one slot do so in source order. So the result is the same to the last bit whatever the number
//! of threads and the instruction set, sums of floats included (which NaN it is, where it is one, is unspecified). On a [`Fault`] no table
//! has changed; nothing was written, unless a [`gather`] had begun to fill its destination.
//!
//! ```
//! use pto_exec::host::{self, Atomic, OutOfBounds, View, ViewMut};
//!
//! // Embedding look-up; an unknown token reads as zero.
//! let table: Vec<f32> = (0..12).map(|x| x as f32).collect();
//! let mut found = [9.0; 9];
//! let lanes = host::gather_rows(
//!     ViewMut::new(&mut found, 3, 3)?,
//!     View::new(&table, 4, 3)?,
//!     &[2i32, -1, 0],
//!     OutOfBounds::Zero,
//! )?;
//! assert_eq!(found, [6.0, 7.0, 8.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0]);
//! assert_eq!(lanes.zeroed, 1);
//!
//! // Accumulation, in source order.
//! let mut sums = [0.5f32; 2];
//! host::scatter(&mut sums, &[1.0, 2.0, 3.0], &[1u64, 0, 1], Atomic::Add, OutOfBounds::Undefined)?;
//! assert_eq!(sums, [2.5, 4.5]);
//! # Ok::<(), host::Fault>(())
//! ```
//!
//! These functions use the [shared engine](Engine::shared); an [`Engine`] of one's own has its own threads and memory.

mod calls;
mod fault;
mod few;
mod index;
mod view;

use pto_isa::Element;

use crate::Lanes;
pub use crate::engine::Engine;
pub use crate::engine::cost::Method;
pub use crate::kernel::simd::Backend;
pub use fault::Fault;
pub use index::Index;
pub use pto_isa::{Atomic, OutOfBounds};
pub use view::{View, ViewMut};

/// `destination[i] = table[indices[i]]`; see [`Engine::gather`].
///
/// # Errors
/// See [`Fault`]. Lanes are looked at on the way: `destination` holds anything then.
#[inline(always)]
pub fn gather<'a, T: Element, I: Index>(
    destination: impl Into<ViewMut<'a, T>>,
    table: impl Into<View<'a, T>>,
    indices: impl Into<View<'a, I>>,
    oob: OutOfBounds,
) -> Result<Lanes, Fault> {
    Engine::shared().gather(destination, table, indices, oob)
}

/// `table[indices[i]] = source[i]`, or combined with what is there; see [`Engine::scatter`].
///
/// # Errors
/// See [`Fault`]; nothing was written then.
#[inline(always)]
pub fn scatter<'a, T: Element, I: Index>(
    table: impl Into<ViewMut<'a, T>>,
    source: impl Into<View<'a, T>>,
    indices: impl Into<View<'a, I>>,
    atomic: Atomic,
    oob: OutOfBounds,
) -> Result<Lanes, Fault> {
    Engine::shared().scatter(table, source, indices, atomic, oob)
}

/// `destination[i, :] = table[indices[i], :]`; see [`Engine::gather_rows`].
///
/// # Errors
/// See [`Fault`]; nothing was written then.
pub fn gather_rows<'a, T: Element, I: Index>(
    destination: ViewMut<'a, T>,
    table: View<'a, T>,
    indices: impl Into<View<'a, I>>,
    oob: OutOfBounds,
) -> Result<Lanes, Fault> {
    Engine::shared().gather_rows(destination, table, indices, oob)
}

/// `table[indices[i], :] = source[i, :]`, or combined with what is there; see [`Engine::scatter_rows`].
///
/// # Errors
/// See [`Fault`]; nothing was written then.
pub fn scatter_rows<'a, T: Element, I: Index>(
    table: ViewMut<'a, T>,
    source: View<'a, T>,
    indices: impl Into<View<'a, I>>,
    atomic: Atomic,
    oob: OutOfBounds,
) -> Result<Lanes, Fault> {
    Engine::shared().scatter_rows(table, source, indices, atomic, oob)
}
