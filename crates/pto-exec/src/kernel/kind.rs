//! The kernels of one element type and one operation, behind one interface.
//!
//! Everything above works on bytes and asks a [`Kernel`] to move blocks of them: what is compiled for each of the
//! element types and operations is these few loops and no more.

use core::fmt;
use core::marker::PhantomData;

use pto_isa::{Atomic, ElementType};

use super::BLOCK;
use super::apply::{Apply, Asks};
use super::bounds::Part;
use super::combine::{Combine, Merging};
use super::elements::Moved;
use super::lanes::Strided;
use super::offsets::{AnyOffsets, KEEP, KeptLanes, Offsets, Word};
use super::rows::{Ask, RowBlock, Segment};
use super::simd::{Backend, Simd, Task};
use super::transfer;

/// What a scatter does to the elements of a table.
pub(crate) trait Kernel: Sync + fmt::Debug {
    /// Bytes of an element.
    fn size(&self) -> usize;

    /// Combines values into one slot, in order.
    ///
    /// # Panics
    /// If the slot is shorter than an element.
    fn combine_all(&self, backend: Backend, slot: &mut [u8], values: &[u8]);

    /// Combines elements of `tile` into those places of `table`, in order.
    fn scatter(&self, backend: Backend, table: &mut [u8], moved: Moved<'_>, tile: &[u8]);

    /// Combines what falls into a part of a table, which `table` is, in order. Lanes are their own offsets, and stand for as
    /// many elements of `values`. They are looked at on the way: false as soon as one is at or beyond the capacity.
    fn scatter_part(&self, backend: Backend, table: &mut [u8], lanes: PartLanes<'_>, values: &[u8]) -> bool;

    /// Combines lanes that are their own offsets, in order, looking at them on the way: false as soon as one is at or
    /// beyond the capacity, or has a value that [may not](Self::may_merge) go to such a table.
    fn scatter_looking(
        &self,
        backend: Backend,
        table: &mut [u8],
        lanes: WholeLanes<'_>,
        values: &[u8],
        kind: Table,
    ) -> bool;

    /// Combines rows of `tile` into those of `table`, in order.
    fn scatter_rows(&self, backend: Backend, table: &mut [u8], block: RowBlock<'_>, tile: &[u8]);

    /// Combines the entries of a partition into their bucket's part of the table, piece by piece.
    fn apply(&self, backend: Backend, table: &mut [u8], pieces: &[&[u8]], asks: Asks);

    /// True if threads may combine in tables of their own that are [merged](Self::merge) in the order of their lanes.
    fn merges(&self) -> bool;

    /// Makes a table of a thread's own ready.
    fn clear(&self, own: &mut [u8]);

    /// True if these values may be combined in a table of a thread's own.
    fn may_merge(&self, values: &[u8]) -> bool;

    /// Combines a table of a thread's own into another of the same length.
    fn merge(&self, backend: Backend, table: &mut [u8], own: &[u8]);

    /// Combines elements in an order of their own, `(offset in the table, position in the tile)` each.
    fn scatter_ordered(&self, backend: Backend, table: &mut [u8], order: &[(u64, usize)], tile: &[u8]);
}

/// Lanes that are their own offsets.
#[derive(Clone, Copy)]
pub(crate) struct WholeLanes<'a> {
    pub(crate) words: &'a [[u8; 4]],
    /// What they have to be below of; [`u64::MAX`] for those that were looked at.
    pub(crate) capacity: u64,
}

/// Whose table lanes are carried out in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Table {
    /// The caller's.
    Given,
    /// A thread's own, to be merged.
    Own,
}

/// Lanes of which those that fall into a part of a table are wanted.
#[derive(Clone, Copy)]
pub(crate) struct PartLanes<'a> {
    pub(crate) whole: WholeLanes<'a>,
    pub(crate) part: Part,
}

/// Runs a body with `$n`, the bytes of an element type, and `$c`, what an operation does to one.
///
/// Replacing depends on the width alone, and so does wrapping addition; 8-bit floats only ever move.
macro_rules! with_combine {
    ($element:expr, $atomic:expr, $n:ident, $c:ident => $body:expr) => {{
        use pto_isa::{Atomic, ElementType as E};

        use $crate::kernel::combine::{Add, Max, Min, Replace};
        macro_rules! arm {
            ($size:literal, $kind:ty) => {{
                #[allow(dead_code, reason = "the body may need the type alone")]
                const $n: usize = $size;
                #[allow(dead_code, reason = "the body may need the width alone")]
                type $c = $kind;
                $body
            }};
        }
        match ($atomic, $element) {
            (Atomic::None, E::I8 | E::U8) | (_, E::F8E4M3 | E::F8E5M2 | E::HiF8) => arm!(1, Replace),
            (Atomic::None, E::I16 | E::U16 | E::F16 | E::BF16) => arm!(2, Replace),
            (Atomic::None, E::I32 | E::U32 | E::F32) => arm!(4, Replace),
            (Atomic::None, E::I64 | E::U64 | E::F64) => arm!(8, Replace),
            (Atomic::Add, E::I8 | E::U8) => arm!(1, Add<u8>),
            (Atomic::Add, E::I16 | E::U16) => arm!(2, Add<u16>),
            (Atomic::Add, E::I32 | E::U32) => arm!(4, Add<u32>),
            (Atomic::Add, E::I64 | E::U64) => arm!(8, Add<u64>),
            (Atomic::Add, E::F16) => arm!(2, Add<half::f16>),
            (Atomic::Add, E::BF16) => arm!(2, Add<half::bf16>),
            (Atomic::Add, E::F32) => arm!(4, Add<f32>),
            (Atomic::Add, E::F64) => arm!(8, Add<f64>),
            (Atomic::Max, E::I8) => arm!(1, Max<i8>),
            (Atomic::Max, E::U8) => arm!(1, Max<u8>),
            (Atomic::Max, E::I16) => arm!(2, Max<i16>),
            (Atomic::Max, E::U16) => arm!(2, Max<u16>),
            (Atomic::Max, E::I32) => arm!(4, Max<i32>),
            (Atomic::Max, E::U32) => arm!(4, Max<u32>),
            (Atomic::Max, E::I64) => arm!(8, Max<i64>),
            (Atomic::Max, E::U64) => arm!(8, Max<u64>),
            (Atomic::Max, E::F16) => arm!(2, Max<half::f16>),
            (Atomic::Max, E::BF16) => arm!(2, Max<half::bf16>),
            (Atomic::Max, E::F32) => arm!(4, Max<f32>),
            (Atomic::Max, E::F64) => arm!(8, Max<f64>),
            (Atomic::Min, E::I8) => arm!(1, Min<i8>),
            (Atomic::Min, E::U8) => arm!(1, Min<u8>),
            (Atomic::Min, E::I16) => arm!(2, Min<i16>),
            (Atomic::Min, E::U16) => arm!(2, Min<u16>),
            (Atomic::Min, E::I32) => arm!(4, Min<i32>),
            (Atomic::Min, E::U32) => arm!(4, Min<u32>),
            (Atomic::Min, E::I64) => arm!(8, Min<i64>),
            (Atomic::Min, E::U64) => arm!(8, Min<u64>),
            (Atomic::Min, E::F16) => arm!(2, Min<half::f16>),
            (Atomic::Min, E::BF16) => arm!(2, Min<half::bf16>),
            (Atomic::Min, E::F32) => arm!(4, Min<f32>),
            (Atomic::Min, E::F64) => arm!(8, Min<f64>),
        }
    }};
}
pub(crate) use with_combine;

/// The kernel of an element type and an operation.
pub(crate) fn kernel(element: ElementType, atomic: Atomic) -> &'static dyn Kernel {
    with_combine!(element, atomic, N, C => &Typed::<N, C>(PhantomData))
}

/// Elements of `N` bytes, combined by `C`.
struct Typed<const N: usize, C>(PhantomData<C>);

impl<const N: usize, C> fmt::Debug for Typed<N, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(core::any::type_name::<C>())
    }
}

impl<const N: usize, C: Combine<N>> Kernel for Typed<N, C> {
    fn size(&self) -> usize {
        N
    }

    fn combine_all(&self, backend: Backend, slot: &mut [u8], values: &[u8]) {
        let (slot, values) = (&mut slot.as_chunks_mut::<N>().0[0], values.as_chunks::<N>().0);
        C::enter(backend, CombineAll { slot, values, combine: PhantomData::<C> });
    }

    fn scatter(&self, backend: Backend, table: &mut [u8], moved: Moved<'_>, tile: &[u8]) {
        let (table, tile) = (table.as_chunks_mut::<N>().0, tile.as_chunks::<N>().0);
        let combine = PhantomData::<C>;
        match moved.offsets {
            AnyOffsets::Narrow(offsets) => enter_looking(backend, Scatter { table, offsets, moved, tile, combine }),
            AnyOffsets::Wide(offsets) => enter_looking(backend, Scatter { table, offsets, moved, tile, combine }),
        }
    }

    fn scatter_part(&self, backend: Backend, table: &mut [u8], lanes: PartLanes<'_>, values: &[u8]) -> bool {
        let (table, values) = (table.as_chunks_mut::<N>().0, values.as_chunks::<N>().0);
        backend.run(ScatterPart { table, lanes, values, combine: PhantomData::<C> })
    }

    fn scatter_looking(
        &self,
        backend: Backend,
        table: &mut [u8],
        lanes: WholeLanes<'_>,
        values: &[u8],
        kind: Table,
    ) -> bool {
        let (table, values) = (table.as_chunks_mut::<N>().0, values.as_chunks::<N>().0);
        backend.run(ScatterLooking { table, lanes, values, kind, combine: PhantomData::<C> })
    }

    fn scatter_rows(&self, backend: Backend, table: &mut [u8], block: RowBlock<'_>, tile: &[u8]) {
        let (table, tile) = (table.as_chunks_mut::<N>().0, tile.as_chunks::<N>().0);
        backend.run(ScatterRows { table, block, tile, combine: PhantomData::<C> });
    }

    fn apply(&self, backend: Backend, table: &mut [u8], pieces: &[&[u8]], asks: Asks) {
        let table = table.as_chunks_mut::<N>().0;
        C::enter(backend, Apply { table, pieces, asks, combine: PhantomData::<C> });
    }

    fn merges(&self) -> bool {
        !matches!(C::MERGING, Merging::Never)
    }

    fn clear(&self, own: &mut [u8]) {
        if let Merging::Neutral(first) | Merging::Unused(first) = C::MERGING {
            own.as_chunks_mut::<N>().0.fill(first);
        }
    }

    fn may_merge(&self, values: &[u8]) -> bool {
        may_merge::<N, C>(values.as_chunks::<N>().0)
    }

    fn merge(&self, backend: Backend, table: &mut [u8], own: &[u8]) {
        let (table, own) = (table.as_chunks_mut::<N>().0, own.as_chunks::<N>().0);
        backend.run(Merge { table, own, combine: PhantomData::<C> });
    }

    fn scatter_ordered(&self, backend: Backend, table: &mut [u8], order: &[(u64, usize)], tile: &[u8]) {
        let (table, tile) = (table.as_chunks_mut::<N>().0, tile.as_chunks::<N>().0);
        C::enter(backend, Ordered { table, order, tile, combine: PhantomData::<C> });
    }
}

/// Runs a scatter with an instruction set where it matters: for the elements, or for looking at all values.
#[inline(always)]
fn enter_looking<const N: usize, C: Combine<N>, W: Word>(backend: Backend, scatter: Scatter<'_, N, C, W>) {
    if C::TAMES { backend.run(scatter) } else { C::enter(backend, scatter) }
}

struct CombineAll<'a, const N: usize, C> {
    slot: &'a mut [u8; N],
    values: &'a [[u8; N]],
    combine: PhantomData<C>,
}

impl<const N: usize, C: Combine<N>> Task for CombineAll<'_, N, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        transfer::combine_all::<N, C, S>(simd, self.slot, self.values.iter());
    }
}

struct Scatter<'a, const N: usize, C, W> {
    table: &'a mut [[u8; N]],
    offsets: Offsets<'a, W>,
    moved: Moved<'a>,
    tile: &'a [[u8; N]],
    combine: PhantomData<C>,
}

impl<const N: usize, C: Combine<N>, W: Word> Task for Scatter<'_, N, C, W> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { table, offsets, moved, tile, .. } = self;
        match moved.positions {
            None => {
                let lanes = (offsets, offsets.words(), offsets.len());
                let asks = !moved.is_at_hand;
                transfer::scatter::<N, C, W, S>(simd, table, lanes, (tile, moved.payload), asks);
            }
            Some(positions) => {
                transfer::scatter_some::<N, C, W, S>(simd, table, offsets, tile, moved.payload, positions);
            }
        }
    }
}

struct ScatterLooking<'a, const N: usize, C> {
    table: &'a mut [[u8; N]],
    lanes: WholeLanes<'a>,
    values: &'a [[u8; N]],
    kind: Table,
    combine: PhantomData<C>,
}

impl<const N: usize, C: Combine<N>> Task for ScatterLooking<'_, N, C> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        let Self { table, lanes: WholeLanes { words, capacity }, values, kind, .. } = self;
        // All values are handed over each time, so that the next block's can be asked for.
        for (i, block) in words.chunks(BLOCK).enumerate() {
            let Some(offsets) = Offsets::look(simd, block, capacity) else { return false };
            let run = Strided { start: i * BLOCK, step: 1 };
            if kind == Table::Own && !may_merge::<N, C>(&values[run.start..][..block.len()]) {
                return false;
            }
            let lanes = (offsets, &words[run.start..], words.len());
            transfer::scatter::<N, C, _, S>(simd, table, lanes, (values, run), true);
        }
        true
    }
}

struct ScatterPart<'a, const N: usize, C> {
    table: &'a mut [[u8; N]],
    lanes: PartLanes<'a>,
    values: &'a [[u8; N]],
    combine: PhantomData<C>,
}

impl<const N: usize, C: Combine<N>> Task for ScatterPart<'_, N, C> {
    type Output = bool;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> bool {
        let Self { table, lanes: PartLanes { whole: WholeLanes { words, capacity }, part }, values, .. } = self;
        let (length, mut kept) = (words.len(), KeptLanes::<N>::new(part));
        for (words, values) in words.chunks(KEEP).zip(values.chunks(KEEP)) {
            if !simd.are_below(words, capacity) {
                return false;
            }
            kept.add(simd, words, values);
            let (offsets, values) = kept.all();
            // The last ones wait for those to come, whose slots are asked for in the meantime.
            let count = offsets.len().saturating_sub(transfer::lookahead::<N, C>(table, length));
            transfer::scatter_first::<N, C, _, S>(simd, table, offsets, values, (count, length));
            kept.take_off(count);
        }
        let (offsets, values) = kept.all();
        transfer::scatter_first::<N, C, _, S>(simd, table, offsets, values, (offsets.len(), length));
        true
    }
}

struct ScatterRows<'a, const N: usize, C> {
    table: &'a mut [[u8; N]],
    block: RowBlock<'a>,
    tile: &'a [[u8; N]],
    combine: PhantomData<C>,
}

impl<const N: usize, C: Combine<N>> Task for ScatterRows<'_, N, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match (self.block.moved.offsets, self.block.segments) {
            // What is mostly so, in fewer instructions.
            (AnyOffsets::Narrow(offsets), [only]) => self.rows(simd, offsets.words(), &[*only]),
            (AnyOffsets::Narrow(offsets), segments) => self.rows(simd, offsets.words(), segments),
            (AnyOffsets::Wide(offsets), segments) => self.rows(simd, offsets.words(), segments),
        }
    }
}

impl<const N: usize, C: Combine<N>> ScatterRows<'_, N, C> {
    #[inline(always)]
    fn rows<S: Simd, W: Word>(self, simd: S, words: &[W], segments: &[Segment]) {
        let Self { table, block, tile, .. } = self;
        let block = RowBlock { segments, ..block };
        // Lines that are written whole and past the caches are not wanted in them.
        let streams = if C::READS { None } else { block.streams };
        if let Some(streams) = streams
            && let Some(whole) = block.table_lines(table)
        {
            return block.replace_lines(simd, streams, whole, words, tile);
        }
        let ask = if C::READS { Ask::read() } else { Ask::write() };
        let ask = streams.is_none().then_some(ask);
        // Inlined by force: a closure on its own is compiled without the instruction set.
        block.for_each_row(
            words,
            ask,
            table,
            #[inline(always)]
            |table, at| {
                for segment in segments {
                    let row = &mut table[at.table + segment.table..][..segment.length];
                    let new = &tile[at.tile + segment.tile..][..segment.length];
                    match streams {
                        Some(streams) => streams.copy(simd, row.as_flattened_mut(), new.as_flattened()),
                        None => C::combine_row(simd, row, new),
                    }
                }
            },
        );
    }
}

struct Ordered<'a, const N: usize, C> {
    table: &'a mut [[u8; N]],
    order: &'a [(u64, usize)],
    tile: &'a [[u8; N]],
    combine: PhantomData<C>,
}

impl<const N: usize, C: Combine<N>> Task for Ordered<'_, N, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        for &(offset, position) in self.order {
            let slot = &mut self.table[offset as usize];
            *slot = C::combine(simd, *slot, self.tile[position]);
        }
    }
}

/// True if values, fewer than 2^32, may go to a table of a thread's own.
#[inline(always)]
fn may_merge<const N: usize, C: Combine<N>>(values: &[[u8; N]]) -> bool {
    let Merging::Unused(unused) = C::MERGING else { return true };
    // Counted in numbers as wide as a value: what the vector unit does in the fewest instructions.
    macro_rules! count {
        ($bits:ty) => {{
            let unused = <$bits>::from_le_bytes(bytemuck::pod_read_unaligned(&unused));
            let values = bytemuck::cast_slice::<_, [u8; size_of::<$bits>()]>(values);
            values.iter().map(|value| <$bits>::from(<$bits>::from_le_bytes(*value) == unused)).sum::<$bits>()
        }};
    }
    match N {
        4 => count!(u32) == 0,
        8 => count!(u64) == 0,
        _ => !values.contains(&unused),
    }
}

struct Merge<'a, const N: usize, C> {
    table: &'a mut [[u8; N]],
    own: &'a [[u8; N]],
    combine: PhantomData<C>,
}

impl<const N: usize, C: Combine<N>> Task for Merge<'_, N, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { table, own, .. } = self;
        match C::MERGING {
            Merging::Never => {}
            Merging::Neutral(_) => C::combine_row(simd, table, own),
            Merging::Unused(unused) => {
                for (slot, new) in table.iter_mut().zip(own) {
                    *slot = if *new == unused { *slot } else { *new };
                }
            }
        }
    }
}
