//! Order between pipes by hand. A core that runs its kernel at once has nothing to order; a recorded kernel keeps it.

use core::panic::Location;

use pto_ir::{Flag, OpKind, Pipe};

use crate::arch::Arch;
use crate::vector_core::VectorCore;

impl<A: Arch> VectorCore<A> {
    /// `from` sets an event for `to` when all it was given so far is done (`set_flag`).
    ///
    /// ```
    /// use pto::prelude::*;
    /// let (values, mut copy) = ([1i32; 8], [0i32; 8]);
    /// let mut tile = Tile::<i32, 1, 8>::new();
    /// let mut core = VectorCore::<A5>::new();
    /// core.tload(&mut tile, &GlobalRef::<i32, Shape<1, 1, 1, 1, 8>>::new(&values)?)?;
    /// core.set_flag(Pipe::Mte2, Pipe::Mte3, 0);
    /// core.wait_flag(Pipe::Mte2, Pipe::Mte3, 0);
    /// core.tstore(&mut GlobalTensor::<i32, Shape<1, 1, 1, 1, 8>>::new(&mut copy)?, &tile)?;
    /// assert_eq!(copy, values);
    /// # Ok::<(), pto::Error>(())
    /// ```
    #[track_caller]
    pub fn set_flag(&mut self, from: Pipe, to: Pipe, event: u8) {
        self.order(Location::caller(), OpKind::SetFlag(Flag { from, to, event }));
    }

    /// `to` starts nothing more before `from` has set the event (`wait_flag`).
    ///
    /// ```
    /// use pto::prelude::*;
    /// let mut core = VectorCore::<A5>::new();
    /// core.set_flag(Pipe::V, Pipe::Mte3, 1);
    /// core.wait_flag(Pipe::V, Pipe::Mte3, 1);
    /// ```
    #[track_caller]
    pub fn wait_flag(&mut self, from: Pipe, to: Pipe, event: u8) {
        self.order(Location::caller(), OpKind::WaitFlag(Flag { from, to, event }));
    }

    /// Everything given to a pipe, or to all, is done before what follows (`pipe_barrier`).
    ///
    /// ```
    /// use pto::prelude::*;
    /// VectorCore::<A5>::new().barrier(Pipe::All);
    /// ```
    #[track_caller]
    pub fn barrier(&mut self, pipe: Pipe) {
        self.order(Location::caller(), OpKind::Barrier(pipe));
    }

    /// Pushes scattered data to memory, where the host sees it (`dcci` and `dsb`): on A5 a kernel that
    /// [orders](crate::record) its instructions by itself has to end with it; others get it when they are lowered.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let mut core = VectorCore::<A5>::new();
    /// core.flush();
    /// ```
    #[track_caller]
    pub fn flush(&mut self) {
        if let Some(recorder) = self.recorder.as_deref_mut() {
            recorder.flush(Location::caller());
        }
    }

    fn order(&mut self, place: &'static Location<'static>, kind: OpKind) {
        if let Some(recorder) = self.recorder.as_deref_mut() {
            recorder.order(place, kind);
        }
    }
}
