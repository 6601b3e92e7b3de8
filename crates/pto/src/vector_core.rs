//! The vector core: a unified buffer and the instructions that work on it.

use core::marker::PhantomData;
use core::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use pto_exec::{Lanes, Schedule, transfer};
use pto_isa::{Finding, Tile};

use crate::arch::Arch;
use crate::error::{Cause, Error};
use crate::event::Event;
use crate::plans::Plans;
use crate::record::Recorder;
use crate::tile::TileOperand;
use crate::ub::UnifiedBuffer;

static CORES: AtomicU64 = AtomicU64::new(0);

/// A vector core of target `A`: it owns the unified buffer that tiles live in, and executes instructions.
///
/// On `A2A3` and `A5` the buffer has the device's size and its budget is enforced; on `Cpu` and `Host` it grows as
/// needed. Instructions are methods: what is written comes first, as in the C++ intrinsics, and the policies before
/// everything. Each returns an [`Event`], or an [`Error`] with no byte of any memory changed.
///
/// A kernel written against this type can also be [recorded](crate::record) as a program instead of run: checked, and
/// simulated on a device's pipes.
///
/// ```
/// use pto::prelude::*;
///
/// let mut memory = [0f32; 4 * 8];
/// let mut table = GlobalTensor::<f32, Shape<1, 1, 1, 4, 8>>::new(&mut memory)?;
/// let rows = Tile::<f32, 2, 8>::new();
/// let which = Tile::<i32, 1, 2>::new();
///
/// let mut core = VectorCore::<A5>::new();
/// core.write(&rows, &[1.0; 16])?;
/// core.write(&which, &[3, 99])?;
/// let event = core.mscatter((Row, AtomicNone, Skip), &mut table, &rows, &which)?;
///
/// assert_eq!((event.lanes().written, event.lanes().skipped), (1, 1));
/// assert_eq!(memory[3 * 8..], [1.0; 8]);
/// # Ok::<(), pto::Error>(())
/// ```
pub struct VectorCore<A: Arch> {
    pub(crate) id: u64,
    pub(crate) ub: UnifiedBuffer,
    pub(crate) plans: Plans,
    pub(crate) schedule: Schedule,
    lanes: Lanes,
    issued: u64,
    waits_for_stranger: bool,
    /// Takes what is issued, if the kernel is recorded and not run.
    pub(crate) recorder: Option<Box<Recorder>>,
    of: PhantomData<fn() -> A>,
}

impl<A: Arch> Default for VectorCore<A> {
    fn default() -> Self {
        Self::new()
    }
}

impl<A: Arch> core::fmt::Debug for VectorCore<A> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("VectorCore").field("target", &A::TARGET).field("issued", &self.issued).finish_non_exhaustive()
    }
}

impl<A: Arch> VectorCore<A> {
    /// A core with an empty unified buffer: all bytes zero, no tile placed.
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(VectorCore::<A5>::new().ub().len(), 256 * 1024);
    /// ```
    pub fn new() -> Self {
        let id = CORES.fetch_add(1, Ordering::Relaxed);
        Self {
            id,
            ub: UnifiedBuffer::of::<A>(id),
            plans: Plans::default(),
            schedule: Schedule::InOrder,
            lanes: Lanes::default(),
            issued: 0,
            waits_for_stranger: false,
            recorder: None,
            of: PhantomData,
        }
    }

    /// A core that records what it is given.
    pub(crate) fn recording(place: &'static Location<'static>) -> Self {
        let mut core = Self::new();
        core.recorder = Some(Box::new(Recorder::new(core.id, A::TARGET, A::LAUNCH, place)));
        core
    }

    /// The same core with another warp schedule, which decides collisions under
    /// [`DefaultConflict`](crate::DefaultConflict) and the order of A5's float atomics.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let core = VectorCore::<A5>::new().with_schedule(Schedule::Seeded(7));
    /// ```
    #[must_use]
    pub fn with_schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// Bytes of the unified buffer that tiles may take; `None` where there is no limit.
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(VectorCore::<A2A3>::new().ub_limit(), Some(192 * 1024));
    /// assert_eq!(VectorCore::<Host>::new().ub_limit(), None);
    /// ```
    pub fn ub_limit(&self) -> Option<u64> {
        A::LAUNCH.ub_limit(A::TARGET)
    }

    /// The bytes of the unified buffer.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let mut core = VectorCore::<A2A3>::new();
    /// let mut tile = Tile::<u8, 1, 32>::new();
    /// core.tassign(&mut tile, 0x100)?;
    /// core.write(&tile, &[5; 32])?;
    /// assert_eq!(core.ub()[0x100..0x120], [5; 32]);
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn ub(&self) -> &[u8] {
        self.ub.bytes()
    }

    /// What all instructions so far did to their lanes.
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(VectorCore::<A5>::new().lanes().written, 0);
    /// ```
    pub fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// Makes the next instruction wait for these events (`WaitEvents`).
    ///
    /// An event of another core is an error of the next instruction.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let (mut here, mut there) = (VectorCore::<A5>::new(), VectorCore::<A5>::new());
    /// let (src, mut dst) = (Tile::<i32, 1, 8>::new(), Tile::<i32, 1, 8>::new());
    /// let loaded = here.write(&src, &[1; 8])?;
    /// here.after([&loaded]).tmov(&mut dst, &src)?;
    /// let tile = Tile::<i32, 1, 8>::new();
    /// assert!(there.after([&loaded]).write(&tile, &[0; 8]).is_err());
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn after<'e>(&mut self, events: impl IntoIterator<Item = &'e Event>) -> &mut Self {
        for event in events {
            match &mut self.recorder {
                Some(recorder) => recorder.wait_for(event),
                None => self.waits_for_stranger |= event.core != self.id,
            }
        }
        self
    }

    /// Places a tile at a byte address of the unified buffer (`TASSIGN`).
    ///
    /// Tiles may share bytes; what an instruction forbids of that, it refuses. A tile that is never assigned gets a
    /// place of its own when it is first used.
    ///
    /// # Errors
    /// If the address is not a multiple of 32, or the tile would end beyond what the launch gives to tiles.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let mut core = VectorCore::<A5>::new();
    /// let (mut halves, mut words) = (Tile::<u16, 1, 16>::new(), Tile::<u32, 1, 8>::new());
    /// core.tassign(&mut halves, 0x1000)?;
    /// core.tassign(&mut words, 0x1000)?;
    /// core.write(&words, &[0x0002_0001; 8])?;
    /// assert_eq!(core.read(&halves)?[..4], [1, 2, 1, 2]);
    /// # Ok::<(), pto::Error>(())
    /// ```
    #[track_caller]
    pub fn tassign(&mut self, tile: &mut impl TileOperand, address: u64) -> Result<(), Error> {
        let place = Location::caller();
        let assigned = match &mut self.recorder {
            Some(recorder) => recorder.tassign(place, tile, address),
            None => self.ub.assign::<A>(tile, address),
        };
        assigned.map_err(|cause| cause.at(place))
    }

    /// Sets the valid elements of a tile, row by row, from the host. A recorded kernel loads them from a parameter of
    /// its own.
    ///
    /// # Errors
    /// If there is not one value for each valid element.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let mut core = VectorCore::<A5>::new();
    /// let tile = Tile::<i32, 2, 8, RowMajor, 2, 2>::new();
    /// core.write(&tile, &[1, 2, 3, 4])?;
    /// assert_eq!(core.read(&tile)?, [1, 2, 3, 4]);
    /// # Ok::<(), pto::Error>(())
    /// ```
    #[track_caller]
    pub fn write<T: TileOperand>(&mut self, tile: &T, values: &[T::Element]) -> Result<Event, Error> {
        let place = Location::caller();
        if let Some(recorder) = self.recorder.as_deref_mut() {
            return recorder.write(place, tile, bytemuck::cast_slice(values));
        }
        self.issue(place, |core| {
            let at = core.ub.resolve::<A>(tile)?;
            let (rows, cols) = transfer::valid(&at)?;
            let expected = rows * cols;
            if expected != values.len() as u64 {
                return Err(Cause::Length { expected, found: values.len() as u64 });
            }
            let bytes = &mut core.ub.bytes_mut()[range(&at)];
            for (i, value) in values.iter().enumerate() {
                bytes[element(&at, i as u64 / cols, i as u64 % cols)].copy_from_slice(bytemuck::bytes_of(value));
            }
            Ok(Done::default())
        })
    }

    /// The valid elements of a tile, row by row, for the host.
    ///
    /// # Errors
    /// If the tile has no place, or the valid extents exceed the padded ones, or the kernel is recorded and not run.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let mut core = VectorCore::<A5>::new();
    /// let tile = Tile::<f32, 1, 8, RowMajor, 1, 3>::new();
    /// assert_eq!(core.read(&tile)?, [0.0; 3]);
    /// # Ok::<(), pto::Error>(())
    /// ```
    #[track_caller]
    pub fn read<T: TileOperand>(&mut self, tile: &T) -> Result<Vec<T::Element>, Error> {
        let place = Location::caller();
        let read = |core: &mut Self| {
            if core.recorder.is_some() {
                return Err(Cause::NotRun);
            }
            let at = core.ub.resolve::<A>(tile)?;
            let (rows, cols) = transfer::valid(&at)?;
            let bytes = &core.ub.bytes()[range(&at)];
            let value = |i| bytemuck::pod_read_unaligned(&bytes[element(&at, i / cols, i % cols)]);
            Ok((0..rows * cols).map(value).collect())
        };
        read(self).map_err(|cause: Cause| cause.at(place))
    }

    /// The one point that every instruction passes: its place, its waits, what it did.
    pub(crate) fn issue(
        &mut self,
        place: &'static Location<'static>,
        run: impl FnOnce(&mut Self) -> Result<Done, Cause>,
    ) -> Result<Event, Error> {
        let done = match core::mem::take(&mut self.waits_for_stranger) {
            true => Err(Cause::ForeignEvent),
            false => run(self),
        };
        let Done { lanes, findings } = done.map_err(|cause| cause.at(place))?;
        self.lanes += lanes;
        let number = self.issued;
        self.issued += 1;
        Ok(Event { core: self.id, number, lanes, findings, place })
    }
}

/// What an instruction leaves behind besides bytes.
#[derive(Default)]
pub(crate) struct Done {
    pub(crate) lanes: Lanes,
    pub(crate) findings: Vec<Finding>,
}

/// The bytes of a placed tile.
pub(crate) fn range(tile: &Tile) -> core::ops::Range<usize> {
    let (start, end) = tile.range().unwrap_or_default();
    start as usize..end as usize
}

/// The bytes of one element, counted from the start of its tile. On `Cpu` and `Host` they may be unaligned.
fn element(tile: &Tile, row: u64, col: u64) -> core::ops::Range<usize> {
    let (offset, size) = (tile.offset(row, col) as usize, tile.element.size() as usize);
    offset * size..(offset + 1) * size
}
