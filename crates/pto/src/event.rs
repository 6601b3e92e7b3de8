//! Events: what an instruction returns, and what a later one waits for.

use core::panic::Location;

use pto_exec::Lanes;
use pto_isa::Finding;

/// That an instruction was issued (`RecordEvent`): later instructions can wait for it, and it tells what happened.
///
/// A core here runs each instruction to its end before the next, so waiting never changes a result. It still belongs
/// into a kernel: the device needs it, and a recorded kernel keeps it.
///
/// ```
/// use pto::prelude::*;
/// let mut core = VectorCore::<A5>::new();
/// let (mut dst, src, idx) = (Tile::<f32, 1, 8>::new(), Tile::<f32, 1, 8>::new(), Tile::<u32, 1, 8>::new());
/// let ready = core.write(&src, &[1.0; 8])?;
/// core.write(&idx, &[7, 6, 5, 4, 3, 2, 1, 0])?;
/// let scattered = core.after([&ready]).tscatter(&mut dst, &src, &idx)?;
/// assert_eq!(scattered.lanes().written, 8);
/// # Ok::<(), pto::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Event {
    pub(crate) core: u64,
    pub(crate) number: u64,
    pub(crate) lanes: Lanes,
    pub(crate) findings: Vec<Finding>,
    pub(crate) place: &'static Location<'static>,
}

impl Event {
    /// How many lanes were written, skipped, clamped, wrapped, zeroed; all zero for plain moves.
    ///
    /// ```
    /// # use pto::prelude::*;
    /// # let mut core = VectorCore::<Host>::new();
    /// let tile = Tile::<i32, 1, 4>::new();
    /// assert_eq!(core.write(&tile, &[0; 4])?.lanes(), Lanes::default());
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// Warnings and notes: what was legal but is worth knowing, such as a policy that `Cpu` ignores.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let mut core = VectorCore::<Cpu>::new();
    /// let mut memory = [0f32; 32];
    /// let mut table = GlobalTensor::<f32, Shape<1, 1, 1, 1, 32>>::new(&mut memory)?;
    /// let (src, idx) = (Tile::<f32, 1, 8>::new(), Tile::<i32, 1, 8>::new());
    /// let event = core.mscatter((Elem, Add), &mut table, &src, &idx)?;
    /// assert_eq!(event.findings()[0].rule.name, "policy.ignored");
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The position of the instruction in its core's program, from 0.
    ///
    /// ```
    /// # use pto::prelude::*;
    /// # let mut core = VectorCore::<Host>::new();
    /// let tile = Tile::<i32, 1, 4>::new();
    /// assert_eq!(core.write(&tile, &[0; 4])?.number(), 0);
    /// assert_eq!(core.write(&tile, &[1; 4])?.number(), 1);
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The call that issued the instruction.
    ///
    /// ```
    /// # use pto::prelude::*;
    /// # let mut core = VectorCore::<Host>::new();
    /// let tile = Tile::<i32, 1, 4>::new();
    /// assert!(core.write(&tile, &[0; 4])?.place().line() > 0);
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn place(&self) -> &'static Location<'static> {
        self.place
    }
}
