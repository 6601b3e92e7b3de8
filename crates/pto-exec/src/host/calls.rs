//! The four transfers on views.

use pto_isa::{Atomic, Element, ElementClass, OutOfBounds};

use super::view::Shape;
use super::{Fault, Index, View, ViewMut, few};
use crate::Lanes;
use crate::engine::{Engine, OnFault, Outside};
use crate::kernel::address::AddressMap;
use crate::kernel::bounds::{Bounds, Resolver};
use crate::kernel::elements::{Lookup, Run};
use crate::kernel::lanes::{LaneReader, Strided};
use crate::kernel::rows::Segment;

impl Engine {
    /// `destination[i] = table[indices[i]]`, the table's elements counted row by row.
    ///
    /// `destination` and `indices` have the same shape. An index out of range is a fault under `Undefined` and reads
    /// as zero under `Zero`.
    ///
    /// ```
    /// use pto_exec::host::Engine;
    /// use pto_isa::OutOfBounds;
    /// let mut found = [0i16; 3];
    /// Engine::shared().gather(&mut found, &[10, 20, 30], &[-1i64, 4, 1], OutOfBounds::Wrap)?;
    /// assert_eq!(found, [30, 20, 20]);
    /// # Ok::<(), pto_exec::host::Fault>(())
    /// ```
    ///
    /// # Errors
    /// See [`Fault`]. Lanes are looked at on the way: `destination` holds anything then.
    #[inline(always)]
    pub fn gather<'a, T: Element, I: Index>(
        &self,
        destination: impl Into<ViewMut<'a, T>>,
        table: impl Into<View<'a, T>>,
        indices: impl Into<View<'a, I>>,
        oob: OutOfBounds,
    ) -> Result<Lanes, Fault> {
        let (destination, table, indices) = (destination.into(), table.into(), indices.into());
        let plain = destination.shape.rows == 1 && table.shape.rows == 1 && indices.shape.rows == 1;
        if !plain {
            return self.gather_views(destination, table, indices, oob);
        }
        let (to, from) = (&mut destination.data[..destination.shape.cols], &table.data[..table.shape.cols]);
        self.gather_slices(to, from, &indices.data[..indices.shape.cols], oob)
    }

    #[inline(always)]
    fn gather_slices<T: Element, I: Index>(
        &self,
        destination: &mut [T],
        table: &[T],
        indices: &[I],
        oob: OutOfBounds,
    ) -> Result<Lanes, Fault> {
        let lanes = indices.len();
        let is_handful = lanes <= few::HANDFUL && destination.len() == lanes;
        let is_plain = oob == OutOfBounds::Undefined && self.takes_few();
        // Whatever else there is to say about lanes is said where there are many: here, it would take longer than to move a few.
        if is_handful && is_plain && few::gather_handful(destination, table, indices) {
            return Ok(all_written(lanes));
        }
        self.gather_many(destination, table, indices, oob)
    }

    #[inline(never)]
    fn gather_many<T: Element, I: Index>(
        &self,
        destination: &mut [T],
        table: &[T],
        indices: &[I],
        oob: OutOfBounds,
    ) -> Result<Lanes, Fault> {
        let lanes = indices.len();
        let few = destination.len() == lanes && self.takes_few();
        if few && oob == OutOfBounds::Undefined && few::is_gather_of_few(lanes, table) {
            let done = few::gather_checked(self.backend(), destination, table, indices);
            return finish_few(done, indices, table.len());
        }
        if few && lanes <= few::FEW_RESOLVED {
            let capacity = gather_policy(oob, table.len())?;
            return finish(few::gather(destination, table, indices, oob), oob, indices.into(), capacity);
        }
        self.gather_views(destination.into(), table.into(), indices.into(), oob)
    }

    #[inline(never)]
    fn gather_views<T: Element, I: Index>(
        &self,
        destination: ViewMut<'_, T>,
        table: View<'_, T>,
        indices: View<'_, I>,
        oob: OutOfBounds,
    ) -> Result<Lanes, Fault> {
        let capacity = gather_policy(oob, table.shape.elements())?;
        let runs = Runs::new(destination.shape, indices.shape)?;
        let map = elements_map(table.shape);
        let lookup = lookup(indices, capacity, oob, &map);
        let (to, from) = (bytemuck::cast_slice_mut(destination.data), bytemuck::cast_slice(table.data));
        let kind = (T::TYPE, OnFault::AnythingWritten);
        let result = runs.each(self, lookup, |run| self.gather_run(kind, lookup, run, to, from));
        finish(result, oob, indices, capacity)
    }

    /// `table[indices[i]] = source[i]`, or combined with what is there, in source order; the table's elements counted
    /// row by row.
    ///
    /// `source` and `indices` have the same shape. An index out of range is a fault under `Undefined`, and its value
    /// is dropped under `Skip`.
    ///
    /// ```
    /// use pto_exec::host::Engine;
    /// use pto_isa::{Atomic, OutOfBounds};
    /// let mut table = [1.0f64, 2.0];
    /// let lanes = Engine::shared().scatter(&mut table, &[5.0, 7.0], &[0u32, 9], Atomic::Max, OutOfBounds::Skip)?;
    /// assert_eq!((table, lanes.skipped), ([5.0, 2.0], 1));
    /// # Ok::<(), pto_exec::host::Fault>(())
    /// ```
    ///
    /// # Errors
    /// See [`Fault`]; nothing was written then.
    #[inline(always)]
    pub fn scatter<'a, T: Element, I: Index>(
        &self,
        table: impl Into<ViewMut<'a, T>>,
        source: impl Into<View<'a, T>>,
        indices: impl Into<View<'a, I>>,
        atomic: Atomic,
        oob: OutOfBounds,
    ) -> Result<Lanes, Fault> {
        let (table, source, indices) = (table.into(), source.into(), indices.into());
        let plain = source.shape.rows == 1 && table.shape.rows == 1 && indices.shape.rows == 1;
        if !plain {
            return self.scatter_views(table, source, indices, (atomic, oob));
        }
        let (to, from) = (&mut table.data[..table.shape.cols], &source.data[..source.shape.cols]);
        self.scatter_slices(to, from, &indices.data[..indices.shape.cols], (atomic, oob))
    }

    #[inline(always)]
    fn scatter_slices<T: Element, I: Index>(
        &self,
        table: &mut [T],
        source: &[T],
        indices: &[I],
        (atomic, oob): (Atomic, OutOfBounds),
    ) -> Result<Lanes, Fault> {
        let lanes = indices.len();
        let is_handful = lanes <= few::handful::<T>(atomic) && source.len() == lanes;
        let is_plain = oob == OutOfBounds::Undefined && is_defined::<T>(atomic) && self.takes_few();
        if is_handful && is_plain && few::scatter_handful(table, source, indices, atomic) {
            return Ok(all_written(lanes));
        }
        self.scatter_many(table, source, indices, (atomic, oob))
    }

    #[inline(never)]
    fn scatter_many<T: Element, I: Index>(
        &self,
        table: &mut [T],
        source: &[T],
        indices: &[I],
        (atomic, oob): (Atomic, OutOfBounds),
    ) -> Result<Lanes, Fault> {
        let lanes = indices.len();
        let few = source.len() == lanes && self.takes_few();
        if few && oob == OutOfBounds::Undefined && lanes <= few::few_scattered::<T>(atomic) && is_defined::<T>(atomic) {
            let capacity = table.len();
            let done = few::scatter_checked(self.backend(), table, source, indices, atomic);
            return finish_few(done, indices, capacity);
        }
        if few && lanes <= few::FEW_RESOLVED {
            let capacity = scatter_policy::<T>(oob, atomic, table.len())?;
            let result = few::scatter(self.backend(), table, source, indices, (atomic, oob));
            return finish(result, oob, indices.into(), capacity);
        }
        self.scatter_views(table.into(), source.into(), indices.into(), (atomic, oob))
    }

    #[inline(never)]
    fn scatter_views<T: Element, I: Index>(
        &self,
        table: ViewMut<'_, T>,
        source: View<'_, T>,
        indices: View<'_, I>,
        (atomic, oob): (Atomic, OutOfBounds),
    ) -> Result<Lanes, Fault> {
        let capacity = scatter_policy::<T>(oob, atomic, table.shape.elements())?;
        let runs = Runs::new(source.shape, indices.shape)?;
        let map = elements_map(table.shape);
        let lookup = lookup(indices, capacity, oob, &map);
        let (to, from) = (bytemuck::cast_slice_mut(table.data), bytemuck::cast_slice(source.data));
        let result = runs.each(self, lookup, |run| self.scatter_run((T::TYPE, atomic), lookup, run, to, from));
        finish(result, oob, indices, capacity)
    }

    /// `destination[i, :] = table[indices[i], :]`.
    ///
    /// `destination` has as many rows as there are indices, and as many columns as the table.
    ///
    /// # Errors
    /// See [`Fault`]; nothing was written then.
    pub fn gather_rows<'a, T: Element, I: Index>(
        &self,
        destination: ViewMut<'a, T>,
        table: View<'a, T>,
        indices: impl Into<View<'a, I>>,
        oob: OutOfBounds,
    ) -> Result<Lanes, Fault> {
        let indices = indices.into();
        let capacity = gather_policy(oob, table.shape.rows)?;
        let (run, segment) = rows(destination.shape, table.shape, indices.shape)?;
        let map = AddressMap::Rows { stride: table.shape.stride as u64 };
        let lookup = lookup(indices, capacity, oob, &map);
        let (to, from) = (bytemuck::cast_slice_mut(destination.data), bytemuck::cast_slice(table.data));
        let result = self.gather_rows_run(T::TYPE, lookup, run, &segment, to, from);
        finish(result, oob, indices, capacity)
    }

    /// `table[indices[i], :] = source[i, :]`, or combined with what is there, in source order.
    ///
    /// `source` has as many rows as there are indices, and as many columns as the table.
    ///
    /// ```
    /// use pto_exec::host::{Engine, View, ViewMut};
    /// use pto_isa::{Atomic, OutOfBounds};
    /// let mut table = [0i32; 6];
    /// let gradient = View::new(&[1, 2, 3, 4, 5, 6], 3, 2)?;
    /// let rows = ViewMut::new(&mut table, 3, 2)?;
    /// Engine::shared().scatter_rows(rows, gradient, &[2i32, 0, 2], Atomic::Add, OutOfBounds::Undefined)?;
    /// assert_eq!(table, [3, 4, 0, 0, 6, 8]);
    /// # Ok::<(), pto_exec::host::Fault>(())
    /// ```
    ///
    /// # Errors
    /// See [`Fault`]; nothing was written then.
    pub fn scatter_rows<'a, T: Element, I: Index>(
        &self,
        table: ViewMut<'a, T>,
        source: View<'a, T>,
        indices: impl Into<View<'a, I>>,
        atomic: Atomic,
        oob: OutOfBounds,
    ) -> Result<Lanes, Fault> {
        let indices = indices.into();
        let capacity = scatter_policy::<T>(oob, atomic, table.shape.rows)?;
        let (run, segment) = rows(source.shape, table.shape, indices.shape)?;
        let map = AddressMap::Rows { stride: table.shape.stride as u64 };
        let lookup = lookup(indices, capacity, oob, &map);
        let (to, from) = (bytemuck::cast_slice_mut(table.data), bytemuck::cast_slice(source.data));
        let result = self.scatter_rows_run((T::TYPE, atomic), lookup, run, &segment, to, from);
        finish(result, oob, indices, capacity)
    }
}

/// True if the operation is defined on the elements.
#[inline(always)]
fn is_defined<T: Element>(atomic: Atomic) -> bool {
    atomic == Atomic::None || !matches!(T::TYPE.class(), ElementClass::Float8)
}

/// The capacity, if a gather has this policy.
#[inline(always)]
fn gather_policy(oob: OutOfBounds, capacity: usize) -> Result<u64, Fault> {
    match oob {
        OutOfBounds::Skip => Err(Fault::Policy(oob)),
        OutOfBounds::Clamp | OutOfBounds::Wrap if capacity == 0 => Err(Fault::EmptyTable(oob)),
        _ => Ok(capacity as u64),
    }
}

/// The capacity, if a scatter of these elements has these policies.
#[inline(always)]
fn scatter_policy<T: Element>(oob: OutOfBounds, atomic: Atomic, capacity: usize) -> Result<u64, Fault> {
    match oob {
        OutOfBounds::Zero => Err(Fault::Policy(oob)),
        OutOfBounds::Clamp | OutOfBounds::Wrap if capacity == 0 => Err(Fault::EmptyTable(oob)),
        _ if !is_defined::<T>(atomic) => Err(Fault::Arithmetic { atomic, element: T::TYPE }),
        _ => Ok(capacity as u64),
    }
}

fn lookup<'a, I: Index>(indices: View<'a, I>, capacity: u64, oob: OutOfBounds, map: &'a AddressMap) -> Lookup<'a> {
    let reader = LaneReader { bytes: bytemuck::cast_slice(indices.data), element: I::TYPE, signed: I::SIGNED };
    Lookup { reader, resolver: Resolver::new(Bounds::of(oob), capacity, I::SIGNED), map }
}

/// Elements counted row by row.
fn elements_map(shape: Shape) -> AddressMap {
    if shape.is_packed() {
        return AddressMap::Linear;
    }
    let (rows, cols, stride) = (shape.rows as u64, shape.cols as u64, shape.stride as u64);
    AddressMap::Strided { shape: [1, 1, 1, rows, cols], strides: [0, 0, 0, stride, 1], dims: 5 }
}

/// The runs that payload and indices are walked in together.
struct Runs {
    first: Run,
    count: usize,
    strides: (usize, usize),
}

impl Runs {
    fn new(payload: Shape, indices: Shape) -> Result<Self, Fault> {
        if (payload.rows, payload.cols) != (indices.rows, indices.cols) {
            let (left, right) = ((payload.rows, payload.cols), (indices.rows, indices.cols));
            return Err(Fault::Shape { what: "values and indices", left, right });
        }
        let dense = Strided { start: 0, step: 1 };
        let packed = payload.is_packed() && indices.is_packed();
        let (count, length) = if packed { (1, payload.elements()) } else { (payload.rows, payload.cols) };
        let first = Run { payload: dense, idx: dense, length };
        Ok(Self { first, count, strides: (payload.stride, indices.stride) })
    }

    fn get(&self, row: usize) -> Run {
        let mut run = self.first;
        run.payload.start = row * self.strides.0;
        run.idx.start = row * self.strides.1;
        run
    }

    /// Carries out all runs, or none if there are several.
    #[inline]
    fn each(
        &self,
        engine: &Engine,
        lookup: Lookup<'_>,
        mut work: impl FnMut(Run) -> Result<usize, Outside>,
    ) -> Result<usize, Outside> {
        // A single run is checked where it is carried out; of several, none may be before all are checked.
        if self.count == 1 {
            return work(self.first);
        }
        (0..self.count).try_for_each(|row| engine.check_lanes(&lookup, self.get(row)))?;
        (0..self.count).map(|row| work(self.get(row))).sum()
    }
}

/// The run of a row transfer, and the one piece that its rows are.
fn rows(payload: Shape, table: Shape, indices: Shape) -> Result<(Run, [Segment; 1]), Fault> {
    if indices.rows != 1 || indices.cols != payload.rows {
        let (left, right) = ((1, payload.rows), (indices.rows, indices.cols));
        return Err(Fault::Shape { what: "one index for each row", left, right });
    }
    if payload.cols != table.cols {
        let (left, right) = ((payload.rows, payload.cols), (table.rows, table.cols));
        return Err(Fault::Shape { what: "columns of values and table", left, right });
    }
    let stride = if payload.rows > 1 { payload.stride } else { payload.cols };
    let run =
        Run { payload: Strided { start: 0, step: stride }, idx: Strided { start: 0, step: 1 }, length: payload.rows };
    Ok((run, [Segment { tile: 0, table: 0, length: payload.cols }]))
}

/// What happened to the lanes, or the fault of the first one out of range.
#[inline]
fn finish<I: Index>(
    result: Result<usize, Outside>,
    oob: OutOfBounds,
    indices: View<'_, I>,
    capacity: u64,
) -> Result<Lanes, Fault> {
    match result {
        Ok(outside) => Ok(Lanes::of(oob, indices.shape.elements() as u64, outside as u64)),
        Err(Outside) => Err(first_outside(indices, capacity)),
    }
}

/// What happened to lanes that were all in range.
#[inline(always)]
fn all_written(lanes: usize) -> Lanes {
    Lanes { written: lanes as u64, ..Lanes::default() }
}

/// As [`finish`] for few lanes without a policy.
#[inline(always)]
fn finish_few<I: Index>(done: bool, indices: &[I], capacity: usize) -> Result<Lanes, Fault> {
    if done {
        return Ok(all_written(indices.len()));
    }
    Err(first_outside(indices.into(), capacity as u64))
}

/// The fault of the first index that is out of range.
#[cold]
#[inline(never)]
fn first_outside<I: Index>(indices: View<'_, I>, capacity: u64) -> Fault {
    let Shape { rows, cols, stride } = indices.shape;
    let reader = LaneReader { bytes: bytemuck::cast_slice(indices.data), element: I::TYPE, signed: I::SIGNED };
    let index = |row: usize, col: usize| {
        let mut word = [[0u8; 8]];
        reader.read(Strided { start: row * stride + col, step: 1 }, &mut word);
        let bits = u64::from_le_bytes(word[0]);
        if I::SIGNED { i128::from(bits as i64) } else { i128::from(bits) }
    };
    let lanes = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
    let (lane, index) = (0..)
        .zip(lanes.map(|(row, col)| index(row, col)))
        .find(|(_, index)| !(0..i128::from(capacity)).contains(index))
        // Borrowed indices do not change while they are being read.
        .unwrap_or((0, 0));
    Fault::Lane { lane, index, capacity }
}
