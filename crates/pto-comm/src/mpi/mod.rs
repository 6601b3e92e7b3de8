//! Ranks as processes of an MPI job: windows are MPI-3 one-sided windows, so only the root calls.
//!
//! Everything that waits for other ranks is started without blocking and polled against a deadline, and a rank that
//! leaves tells the others, so a lost rank is an error at all others in bounded time. The one-sided calls of MPI can
//! only block: a watchdog ends the process if one of them does not come back, upon which the launcher ends
//! the job.
//!
//! Only one thread of a process may use the transport, which is why it cannot be sent to another.
#![expect(unsafe_code, reason = "MPI is a C interface; each call states why its arguments are sound")]

mod alive;
mod call;
mod datatype;
mod epoch;
mod exit;
mod message;
mod watchdog;
mod window;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use mpi::environment::Universe;
use mpi::ffi::{self, MPI_Comm, MPI_Request};
use mpi::topology::Communicator;
use mpi::traits::AsRaw;

use crate::in_process::DEFAULT_TIMEOUT;
use crate::transport::zeroed;
use crate::{CommError, Transport, Window};
use alive::{Alive, Losses};
use call::{check, count};
use watchdog::Watchdog;
use window::{Allocation, MpiWindow};

/// How rows that do not follow each other are put and got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strided {
    /// Whichever was measured to be faster for the length of the rows.
    #[default]
    Measured,
    /// All rows of a chunk in one transfer with a derived datatype.
    Datatype,
    /// One transfer for each row.
    Rows,
}

/// One process of an MPI job. Dropping it leaves the group and ends MPI in this process.
///
/// ```no_run
/// use pto_comm::{Transport, mpi::Mpi};
/// let rank = Mpi::init()?; // started by `mpirun -n 4 program`
/// rank.barrier()?;
/// # Ok::<(), pto_comm::CommError>(())
/// ```
pub struct Mpi {
    /// Until MPI is ended.
    universe: Option<Universe>,
    /// Carries exchanges.
    work: MPI_Comm,
    /// Carries the notices of ranks that leave.
    control: MPI_Comm,
    rank: usize,
    size: usize,
    timeout: Duration,
    strided: Strided,
    /// All ranks share this machine's memory, and may use it as such.
    shared: bool,
    /// The first rank that was heard to be gone, and when.
    lost: RefCell<Option<(CommError, Instant)>>,
    /// Notices received.
    notices: Cell<usize>,
    /// Whether an operation has failed, after which MPI may hold on to anything.
    failed: Cell<bool>,
    /// Every window that was opened and not yet freed, in the order of opening, which is the same at all ranks.
    windows: RefCell<Vec<Rc<Allocation>>>,
    /// Messages whose buffers MPI may still read.
    posted: RefCell<Vec<message::Posted>>,
    watchdog: Watchdog,
    losses: Losses,
    /// Finds out who is alive; `None` while MPI is being started.
    alive: Option<Alive>,
}

/// Message tags.
const NOTICE: i32 = 1;
const PART: i32 = 2;

/// The most that one message carries: MPI counts in `int`.
const MESSAGE_BYTES: usize = 1 << 30;

/// A rank that has left may have done its part of an operation under way: it is missed only if that does not end soon.
const SOON: Duration = Duration::from_secs(1);

/// A rank that died may have done its part of an operation too; but launchers leave a second before they end the job.
const AT_ONCE: Duration = Duration::from_millis(100);

impl Mpi {
    /// Starts MPI in this process.
    ///
    /// # Errors
    /// If MPI was started before, or fails to.
    pub fn init() -> Result<Self, CommError> {
        Self::init_within(DEFAULT_TIMEOUT)
    }

    /// [`init`](Self::init) with a time after which a rank that does not come is called lost.
    ///
    /// # Errors
    /// As [`init`](Self::init).
    pub fn init_within(timeout: Duration) -> Result<Self, CommError> {
        let failed = || CommError::Mpi { call: "MPI_Init_thread", message: "MPI is started once in a process".into() };
        let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled).ok_or_else(failed)?;
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        let losses = Losses::default();
        let watchdog = Watchdog::start(rank, timeout, losses.clone());
        let duplicate = || {
            // SAFETY: the world communicator lives as long as MPI; both results are written before they are used.
            unsafe {
                let mut copy = ffi::RSMPI_COMM_NULL;
                check("MPI_Comm_dup", ffi::MPI_Comm_dup(world.as_raw(), &mut copy))?;
                check("MPI_Comm_set_errhandler", ffi::MPI_Comm_set_errhandler(copy, ffi::RSMPI_ERRORS_RETURN))?;
                Ok::<_, CommError>(copy)
            }
        };
        let mut this = Self {
            work: watchdog.watch("the start of MPI", duplicate)?,
            control: watchdog.watch("the start of MPI", duplicate)?,
            universe: Some(universe),
            rank,
            size,
            timeout,
            strided: Strided::default(),
            shared: false,
            lost: RefCell::default(),
            notices: Cell::new(0),
            failed: Cell::new(false),
            windows: RefCell::default(),
            posted: RefCell::default(),
            watchdog,
            losses,
            alive: None,
        };
        let (shared, alive) = this.watchdog.watch("the start of MPI", || {
            let shared = this.on_one_machine()?;
            let alive = Alive::start(this.work, rank, size, shared, this.losses.clone())?;
            Ok::<_, CommError>((shared, alive))
        })?;
        this.shared = shared;
        this.alive = Some(alive);
        Ok(this)
    }

    /// True if all ranks share one machine's memory. All ranks call together, and find the same.
    fn on_one_machine(&self) -> Result<bool, CommError> {
        let mut ranks = 0;
        // SAFETY: the communicator is written before it is used, and freed after.
        unsafe {
            let mut machine = ffi::RSMPI_COMM_NULL;
            let (kind, info) = (ffi::RSMPI_COMM_TYPE_SHARED, ffi::RSMPI_INFO_NULL);
            let code = ffi::MPI_Comm_split_type(self.work, kind, 0, info, &mut machine);
            check("MPI_Comm_split_type", code)?;
            check("MPI_Comm_size", ffi::MPI_Comm_size(machine, &mut ranks))?;
            check("MPI_Comm_free", ffi::MPI_Comm_free(&mut machine))?;
        }
        Ok(ranks as usize == self.size)
    }

    /// The same transport with every access as an MPI transfer, as it must be between machines: windows of ranks on
    /// one machine are plain memory otherwise. All ranks call alike.
    pub fn one_sided_only(mut self) -> Self {
        self.shared = false;
        self
    }

    /// The same transport with another way for rows that do not follow each other.
    pub fn with_strided(mut self, strided: Strided) -> Self {
        self.strided = strided;
        self
    }

    /// The communicator that exchanges use, for measurements against MPI's own collectives.
    pub fn communicator(&self) -> MPI_Comm {
        self.work
    }

    /// Polls requests until all have ended, a rank is lost or it takes too long.
    ///
    /// The buffers of requests that have not ended belong to MPI: on an error, the caller must not free them.
    fn wait(&self, operation: &'static str, requests: &mut [MPI_Request]) -> Result<(), CommError> {
        /// Polls between two looks at the clock and at the notices.
        const POLLS: usize = 64;
        let deadline = Instant::now() + self.timeout;
        let mut patience = Patience { polls: 0, sleeps: operation == "barrier" };
        loop {
            for _ in 0..POLLS {
                let mut done = 0;
                let length = count(requests.len())?;
                // SAFETY: `requests` holds as many initialised requests as it says; ended ones are set to null.
                let code =
                    unsafe { ffi::MPI_Testall(length, requests.as_mut_ptr(), &mut done, ffi::RSMPI_STATUSES_IGNORE) };
                self.note(check("MPI_Testall", code))?;
                if done != 0 {
                    return Ok(());
                }
                patience.pause();
            }
            self.give_up(deadline, operation)?;
        }
    }

    /// An error if there is no point in waiting any longer.
    fn give_up(&self, deadline: Instant, operation: &'static str) -> Result<(), CommError> {
        self.listen()?;
        let now = Instant::now();
        let left = self.lost.borrow().as_ref().filter(|(_, heard)| now > *heard + SOON).map(|(e, _)| e.clone());
        let dead = || self.dead().filter(|(_, known)| now > *known + AT_ONCE).map(|(error, _)| error);
        if let Some(error) = left.or_else(dead) {
            return self.note(Err(error));
        }
        if now > deadline {
            return self.note(Err(CommError::Timeout { operation, seconds: self.timeout.as_secs() }));
        }
        Ok(())
    }

    /// Remembers a failure, so that leaving does not count on the others any more.
    fn note<T>(&self, outcome: Result<T, CommError>) -> Result<T, CommError> {
        self.failed.set(self.failed.get() || outcome.is_err());
        outcome
    }

    /// Each rank's word for each rank.
    fn all_to_all_words(&self, words: Vec<u64>) -> Result<Vec<u64>, CommError> {
        let mut received = vec![0; self.size];
        // SAFETY: a handle that MPI defines.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: both buffers hold one word for each rank and stay until the request has ended: on success it has,
        // and on failure they are leaked below.
        let code = unsafe {
            let word = ffi::RSMPI_UINT64_T;
            let (from, to) = (words.as_ptr().cast(), received.as_mut_ptr().cast());
            ffi::MPI_Ialltoall(from, 1, word, to, 1, word, self.work, &mut request)
        };
        check("MPI_Ialltoall", code)?;
        match self.wait("all_to_all", &mut [request]) {
            Ok(()) => Ok(received),
            Err(error) => {
                std::mem::forget((received, words));
                Err(error)
            }
        }
    }
}

/// How a rank waits: it makes room for others at once, and where nothing but the others' arrival is waited for, it soon
/// sleeps between looks, for there may be more ranks than processors.
struct Patience {
    polls: u32,
    sleeps: bool,
}

impl Patience {
    fn pause(&mut self) {
        const EAGER_POLLS: u32 = 2000;
        const NAP: Duration = Duration::from_micros(20);
        self.polls = self.polls.saturating_add(1);
        if self.sleeps && self.polls > EAGER_POLLS {
            std::thread::sleep(NAP);
        } else {
            std::thread::yield_now();
        }
    }
}

impl Transport for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn expose(&self, bytes: u64) -> Result<Box<dyn Window + '_>, CommError> {
        self.free_dropped_windows()?;
        // MPI aborts on memory that cannot be had, so it is asked for elsewhere first.
        let length = usize::try_from(bytes).ok().filter(|length| Vec::<u8>::new().try_reserve_exact(*length).is_ok());
        self.agree(length.map(drop).ok_or(CommError::OutOfMemory { bytes }))?;
        let sizes = self.all_to_all_words(vec![bytes; self.size])?;
        let allocate = || Allocation::new(self, length.unwrap_or(0));
        let allocation = Rc::new(self.note(self.watchdog.watch("a new window", allocate))?);
        self.windows.borrow_mut().push(Rc::clone(&allocation));
        // Nobody writes before all memory is zero.
        self.barrier()?;
        Ok(Box::new(MpiWindow::new(self, allocation, sizes)))
    }

    fn barrier(&self) -> Result<(), CommError> {
        // SAFETY: a handle that MPI defines.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: the communicator lives as long as `self`, and a barrier has no buffers.
        let code = unsafe { ffi::MPI_Ibarrier(self.work, &mut request) };
        check("MPI_Ibarrier", code)?;
        self.wait("barrier", &mut [request])
    }

    fn post(&self, rank: usize, message: Vec<u8>) -> Result<(), CommError> {
        self.post_message(rank, message)
    }

    fn receive(&self) -> Result<(usize, Vec<u8>), CommError> {
        self.receive_message()
    }

    fn all_to_all(&self, mut parts: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, CommError> {
        if parts.len() != self.size {
            return Err(CommError::Parts { ranks: self.size, found: parts.len() });
        }
        let lengths = self.all_to_all_words(parts.iter().map(|part| part.len() as u64).collect())?;
        let own = std::mem::take(&mut parts[self.rank]);
        let mut received = Vec::with_capacity(self.size);
        for (rank, length) in lengths.iter().enumerate() {
            received.push(self.note(zeroed(if rank == self.rank { 0 } else { *length }))?);
        }
        let mut requests = Vec::new();
        let started = (0..self.size).try_for_each(|step| {
            // Every rank starts with its neighbour, so that no rank is everybody's first.
            let rank = (self.rank + step) % self.size;
            for piece in received[rank].chunks_mut(MESSAGE_BYTES) {
                // SAFETY: `piece` lives in `received` until the request has ended, or is leaked below.
                requests.push(unsafe { call::receive(piece, rank, PART, self.work) }?);
            }
            for piece in parts[rank].chunks(MESSAGE_BYTES) {
                // SAFETY: `piece` lives in `parts` until the request has ended, or is leaked below.
                requests.push(unsafe { call::send(piece, rank, PART, self.work) }?);
            }
            Ok::<_, CommError>(())
        });
        if let Err(error) = self.note(started).and_then(|()| self.wait("all_to_all", &mut requests)) {
            std::mem::forget((received, parts));
            return Err(error);
        }
        received[self.rank] = own;
        Ok(received)
    }
}
