//! Communication: the rows of a tensor between a root and the ranks of a group (`TSCATTER`, `TGATHER` of `pto::comm`).
//!
//! Every rank exposes a tensor; the root alone calls, and reads or writes them all. Ranks are threads of this process
//! ([`launch`]) or, by the transports of [`pto_comm`], processes of an MPI job.
//!
//! ```
//! use pto::comm::{self, ExposedTensor, ParallelGroup, Transport};
//! use pto::prelude::*;
//!
//! let received = comm::launch(2, |rank| {
//!     let mine = ExposedTensor::<i32, Shape<1, 1, 1, 1, 8>>::new(rank)?;
//!     let group = ParallelGroup::new(rank, &mine, 0)?;
//!     if rank.rank() == group.root() {
//!         let rows: Vec<i32> = (0..16).collect();
//!         let source = GlobalRef::<i32, Shape<1, 1, 1, 2, 8>>::new(&rows)?;
//!         VectorCore::<A5>::new().comm_tscatter(&group, &source, &Tile::<i32, 1, 8>::new())?;
//!     }
//!     rank.barrier()?;
//!     mine.read()
//! });
//! assert_eq!(received[1], Ok(vec![8, 9, 10, 11, 12, 13, 14, 15]));
//! ```

use core::marker::PhantomData;
use core::panic::Location;

use pto_comm::Moved;
use pto_isa::{Element, Tensor, Tile};

use crate::arch::Arch;
use crate::error::{Cause, Error};
use crate::event::Event;
use crate::layout::{GlobalLayout, Nd};
use crate::legal;
use crate::sealed::Sealed;
use crate::shape::{Packed, TensorShape, TensorStride};
use crate::support::{Payload, Same};
use crate::tensor::{Table, TableMut, describe, of_types};
use crate::tile::TileOperand;
use crate::vector_core::{Done, VectorCore};

pub use pto_comm::in_process::DEFAULT_TIMEOUT;
pub use pto_comm::{CommError, InProcess, Transport, Window};

/// Runs `body` on `ranks` threads that form a group, and returns what each made of it, in rank order.
///
/// A rank that panics, or returns early, is gone: ranks that wait for it get an error.
///
/// ```
/// use pto::comm::{self, Transport};
/// let ranks = comm::launch(3, |rank| Ok(rank.rank()));
/// assert_eq!(ranks, [Ok(0), Ok(1), Ok(2)]);
/// ```
pub fn launch<T: Send>(ranks: usize, body: impl Fn(&InProcess) -> Result<T, Error> + Sync) -> Vec<Result<T, Error>> {
    pto_comm::in_process::launch_with(ranks, DEFAULT_TIMEOUT, body)
}

/// A tensor of this rank that the others may read and write: zero at first, packed or strided as its type says.
///
/// ```
/// use pto::comm::{self, ExposedTensor};
/// use pto::prelude::*;
/// let tensors = comm::launch(2, |rank| {
///     let mine = ExposedTensor::<f16, Shape<1, 1, 1, 2, 4>>::new(rank)?;
///     mine.write(&[f16::ONE; 8])?;
///     mine.read()
/// });
/// assert_eq!(tensors[1], Ok(vec![f16::ONE; 8]));
/// ```
pub struct ExposedTensor<'r, T: Element, S: TensorShape, St: TensorStride = Packed, L: GlobalLayout = Nd> {
    window: Box<dyn Window + 'r>,
    tensor: Tensor,
    of: PhantomData<(T, S, St, L)>,
}

impl<'r, T: Element, S: TensorShape, St: TensorStride, L: GlobalLayout> ExposedTensor<'r, T, S, St, L> {
    /// Exposes a tensor whose shape and strides are part of its type. All ranks call together.
    ///
    /// # Errors
    /// If the memory cannot be had at some rank, or a rank is lost.
    ///
    /// ```
    /// use pto::comm::{self, ExposedTensor};
    /// use pto::prelude::*;
    /// let zeros = comm::launch(1, |rank| ExposedTensor::<u8, Shape<1, 1, 1, 1, 3>>::new(rank)?.read());
    /// assert_eq!(zeros, [Ok(vec![0; 3])]);
    /// ```
    #[track_caller]
    pub fn new(rank: &'r dyn Transport) -> Result<Self, Error> {
        const { assert!(S::IS_STATIC && St::IS_STATIC, "the shape or stride has a DYN part: use `dynamic`") };
        Self::over(rank, S::fixed(), St::fixed(), Location::caller())
    }

    /// Exposes a tensor whose shape or strides have [`DYN`](crate::DYN) parts. All ranks call together.
    ///
    /// # Errors
    /// If the memory cannot be had at some rank, the size overflows, or a rank is lost.
    ///
    /// ```
    /// use pto::comm::{self, ExposedTensor};
    /// use pto::prelude::*;
    /// let zeros = comm::launch(1, |rank| {
    ///     ExposedTensor::<u8, _>::dynamic(rank, Shape::<1, 1, 1, DYN, 3>::dynamic([2]), Packed)?.read()
    /// });
    /// # let zeros: Vec<Result<Vec<u8>, pto::Error>> = zeros;
    /// assert_eq!(zeros, [Ok(vec![0; 6])]);
    /// ```
    #[track_caller]
    pub fn dynamic(rank: &'r dyn Transport, shape: S, stride: St) -> Result<Self, Error> {
        Self::over(rank, shape, stride, Location::caller())
    }

    fn over(rank: &'r dyn Transport, shape: S, stride: St, place: &'static Location<'static>) -> Result<Self, Error> {
        let expose = || {
            let (tensor, bytes) = describe::<T, S, St, L>(shape, stride)?;
            Ok(Self { window: rank.expose(bytes)?, tensor, of: PhantomData })
        };
        expose().map_err(|cause: Cause| cause.at(place))
    }

    /// The elements behind the tensor, padding between strides included.
    ///
    /// # Errors
    /// If another rank holds on to the memory.
    ///
    /// ```
    /// # use pto::comm::{self, ExposedTensor};
    /// # use pto::prelude::*;
    /// let read = comm::launch(1, |rank| {
    ///     ExposedTensor::<i32, Shape<1, 1, 1, 2, 2>, Stride<8, 8, 8, 4, 1>>::new(rank)?.read()
    /// });
    /// assert_eq!(read, [Ok(vec![0; 6])]); // two rows of two, four apart
    /// ```
    #[track_caller]
    pub fn read(&self) -> Result<Vec<T>, Error> {
        let place = Location::caller();
        let mut values = Vec::new();
        let each = |bytes: &[u8]| bytes.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect();
        let read = self.window.local(&mut |bytes| values = each(bytes));
        read.map_err(|error| Cause::Comm(error).at(place))?;
        Ok(values)
    }

    /// Sets the elements behind the tensor, padding between strides included.
    ///
    /// # Errors
    /// If there is not one value for each element, or another rank holds on to the memory.
    ///
    /// ```
    /// # use pto::comm::{self, ExposedTensor};
    /// # use pto::prelude::*;
    /// let short = comm::launch(1, |rank| ExposedTensor::<i32, Shape<1, 1, 1, 1, 2>>::new(rank)?.write(&[1]));
    /// assert!(short[0].is_err());
    /// ```
    #[track_caller]
    pub fn write(&self, values: &[T]) -> Result<(), Error> {
        let place = Location::caller();
        let from: &[u8] = bytemuck::cast_slice(values);
        let mut length = from.len();
        let written = self.window.local(&mut |bytes| {
            length = bytes.len();
            if length == from.len() {
                bytes.copy_from_slice(from);
            }
        });
        written.map_err(|error| Cause::Comm(error).at(place))?;
        if length != from.len() {
            let (expected, found) = (length as u64 / T::TYPE.size(), values.len() as u64);
            return Err(Cause::Length { expected, found }.at(place));
        }
        Ok(())
    }

    /// The tensor as the rules see it.
    ///
    /// ```
    /// # use pto::comm::{self, ExposedTensor};
    /// # use pto::prelude::*;
    /// let rows = comm::launch(1, |rank| {
    ///     Ok(ExposedTensor::<i32, Shape<1, 1, 1, 3, 8>>::new(rank)?.describe().elements())
    /// });
    /// assert_eq!(rows, [Ok(Some(24))]);
    /// ```
    pub fn describe(&self) -> Tensor {
        self.tensor
    }
}

/// The tensors that all ranks exposed, with a root (`comm::ParallelGroup`).
///
/// See the [module](self) for an example.
pub struct ParallelGroup<'w, T: Element, S: TensorShape, St: TensorStride = Packed, L: GlobalLayout = Nd> {
    group: pto_comm::ParallelGroup<'w>,
    of: PhantomData<(T, S, St, L)>,
}

impl<'w, T: Element, S: TensorShape, St: TensorStride, L: GlobalLayout> ParallelGroup<'w, T, S, St, L> {
    /// The group of the tensors that the ranks exposed together. All ranks call together.
    ///
    /// # Errors
    /// At every rank alike, if the tensors or the roots differ, or the root is no rank.
    ///
    /// ```
    /// # use pto::comm::{self, ExposedTensor, ParallelGroup};
    /// # use pto::prelude::*;
    /// let groups = comm::launch(2, |rank| {
    ///     let mine = ExposedTensor::<i32, Shape<1, 1, 1, 1, 8>>::new(rank)?;
    ///     Ok(ParallelGroup::new(rank, &mine, 2)?.root())
    /// });
    /// let error = groups[0].as_ref().unwrap_err();
    /// assert_eq!(error.rule().map(|rule| rule.name), Some("comm.root"));
    /// ```
    #[track_caller]
    pub fn new(rank: &dyn Transport, mine: &'w ExposedTensor<'_, T, S, St, L>, root: usize) -> Result<Self, Error> {
        let group = pto_comm::ParallelGroup::agree(rank, &*mine.window, root, Some(mine.tensor));
        Ok(Self { group: group?, of: PhantomData })
    }

    /// The root.
    ///
    /// ```
    /// # use pto::comm::{self, ExposedTensor, ParallelGroup};
    /// # use pto::prelude::*;
    /// let roots = comm::launch(2, |rank| {
    ///     let mine = ExposedTensor::<i32, Shape<1, 1, 1, 1, 8>>::new(rank)?;
    ///     Ok(ParallelGroup::new(rank, &mine, 1)?.root())
    /// });
    /// assert_eq!(roots, [Ok(1), Ok(1)]);
    /// ```
    pub fn root(&self) -> usize {
        self.group.root()
    }
}

/// The staging tiles of a collective: one, or a ping and a pong.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a staging tile",
    label = "expected `&tile`, or `(&ping, &pong)` with two tiles of one type",
    note = "a collective moves its data through one tile of the root's unified buffer, or two in turn (comm.staging-count, comm.ping-pong)"
)]
pub trait Staging: Sealed + Copy {
    /// The tile's type.
    type Tile: TileOperand;
    /// How many there are.
    const COUNT: usize;
    /// The tiles; the first twice where there is only one.
    #[doc(hidden)]
    fn tiles(&self) -> [&Self::Tile; 2];
}

impl<T: TileOperand> Sealed for &T {}
impl<T: TileOperand> Sealed for (&T, &T) {}

#[diagnostic::do_not_recommend]
impl<T: TileOperand> Staging for &T {
    type Tile = T;
    const COUNT: usize = 1;

    fn tiles(&self) -> [&T; 2] {
        [self; 2]
    }
}

#[diagnostic::do_not_recommend]
impl<T: TileOperand> Staging for (&T, &T) {
    type Tile = T;
    const COUNT: usize = 2;

    fn tiles(&self) -> [&T; 2] {
        [self.0, self.1]
    }
}

impl<A: Arch> VectorCore<A> {
    /// Distributes the rows of dimension 3 of the root's tensor (`comm::TSCATTER`): rank `r` receives rows
    /// `r * H .. (r + 1) * H`, rows beyond those of all ranks are ignored.
    ///
    /// Only the root calls; the others see the rows after the next [`barrier`](Transport::barrier). The data goes through
    /// one staging tile, or a ping and a pong in turn, in chunks of the tile's valid extents.
    ///
    /// # Errors
    /// Before any byte moves: a caller that is not the root, a tensor with too few rows, dynamic extents that break a
    /// rule, a rank that is gone.
    ///
    /// ```
    /// use pto::comm::{self, ExposedTensor, ParallelGroup, Transport};
    /// use pto::prelude::*;
    /// let received = comm::launch(2, |rank| {
    ///     let mine = ExposedTensor::<i32, Shape<1, 1, 1, 2, 16>>::new(rank)?;
    ///     let group = ParallelGroup::new(rank, &mine, 1)?;
    ///     if rank.rank() == group.root() {
    ///         let rows: Vec<i32> = (0..64).collect();
    ///         let source = GlobalRef::<i32, Shape<1, 1, 1, 4, 16>>::new(&rows)?;
    ///         let (ping, pong) = (Tile::<i32, 1, 8>::new(), Tile::<i32, 1, 8>::new());
    ///         VectorCore::<A2A3>::new().comm_tscatter(&group, &source, (&ping, &pong))?;
    ///     }
    ///     rank.barrier()?;
    ///     mine.read()
    /// });
    /// assert_eq!(received[1], Ok((32..64).collect()));
    /// ```
    #[track_caller]
    pub fn comm_tscatter<T, S, St, L, G, P>(
        &mut self,
        group: &ParallelGroup<'_, T, S, St, L>,
        src: &G,
        staging: P,
    ) -> Result<Event, Error>
    where
        T: Payload<A>,
        S: TensorShape,
        St: TensorStride,
        L: GlobalLayout,
        G: Table<Element: Same<T>>,
        P: Staging<Tile: TileOperand<Element: Same<T>>>,
    {
        const { legal::assert_collective::<A>(G::STATIC, of_types::<T, S, St, L>(), P::Tile::STATIC, P::COUNT as u64) }
        self.collective(Location::caller(), staging, |tiles| {
            let group = group.group.clone().on(A::TARGET, A::LAUNCH);
            pto_comm::tscatter(&group, &src.operand(), src.bytes(), tiles)
        })
    }

    /// Collects the rows of all ranks into dimension 3 of the root's tensor (`comm::TGATHER`): the inverse of
    /// [`comm_tscatter`](Self::comm_tscatter). Rows beyond those of all ranks, and padding, keep what they hold.
    ///
    /// Only the root calls, after a [`barrier`](Transport::barrier) that follows the ranks' own writes.
    ///
    /// # Errors
    /// As [`comm_tscatter`](Self::comm_tscatter).
    ///
    /// ```
    /// use pto::comm::{self, ExposedTensor, ParallelGroup, Transport};
    /// use pto::prelude::*;
    /// let collected = comm::launch(2, |rank| {
    ///     let mine = ExposedTensor::<f32, Shape<1, 1, 1, 1, 8>>::new(rank)?;
    ///     mine.write(&[rank.rank() as f32; 8])?;
    ///     let group = ParallelGroup::new(rank, &mine, 0)?;
    ///     let mut rows = vec![9.0; 24];
    ///     if rank.rank() == group.root() {
    ///         let mut all = GlobalTensor::<f32, Shape<1, 1, 1, 3, 8>>::new(&mut rows)?;
    ///         VectorCore::<A5>::new().comm_tgather(&group, &mut all, &Tile::<f32, 1, 8>::new())?;
    ///     }
    ///     rank.barrier()?;
    ///     Ok(rows)
    /// });
    /// assert_eq!(collected[0], Ok([[0.0; 8], [1.0; 8], [9.0; 8]].concat()));
    /// ```
    #[track_caller]
    pub fn comm_tgather<T, S, St, L, G, P>(
        &mut self,
        group: &ParallelGroup<'_, T, S, St, L>,
        dst: &mut G,
        staging: P,
    ) -> Result<Event, Error>
    where
        T: Payload<A>,
        S: TensorShape,
        St: TensorStride,
        L: GlobalLayout,
        G: TableMut<Element: Same<T>>,
        P: Staging<Tile: TileOperand<Element: Same<T>>>,
    {
        const { legal::assert_collective::<A>(G::STATIC, of_types::<T, S, St, L>(), P::Tile::STATIC, P::COUNT as u64) }
        self.collective(Location::caller(), staging, |tiles| {
            let group = group.group.clone().on(A::TARGET, A::LAUNCH);
            pto_comm::tgather(&group, &dst.operand(), dst.bytes_mut(), tiles)
        })
    }

    /// Gives the staging tiles their places, then lets the transport move the bytes.
    fn collective<P: Staging>(
        &mut self,
        place: &'static Location<'static>,
        staging: P,
        run: impl FnOnce(&[Tile]) -> Result<Moved, CommError>,
    ) -> Result<Event, Error> {
        if self.recorder.is_some() {
            return Err(Cause::NotRecorded.at(place));
        }
        self.issue(place, |core| {
            let [first, second] = staging.tiles();
            let tiles = [core.ub.resolve::<A>(first)?, core.ub.resolve::<A>(second)?];
            run(&tiles[..P::COUNT])?;
            Ok(Done::default())
        })
    }
}
