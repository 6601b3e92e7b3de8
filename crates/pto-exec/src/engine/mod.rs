//! The engine: how many threads a transfer gets, in which way it is carried out, and with which instruction set.

pub(crate) mod cost;
mod direct;
pub(crate) mod elements;
mod help;
mod hot;
pub(crate) mod rows;
mod scratch;
mod share;
mod sorted;

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::kernel::cache::Caches;
pub(crate) use crate::kernel::elements::Outside;
use crate::kernel::simd::Backend;
use cost::Method;
pub(crate) use elements::OnFault;
use help::Helpers;
use scratch::Scratch;

/// Pieces of a transfer for each thread, at most.
const PIECES: usize = 16;

/// Bytes that a piece of a gather gives at least: what takes ten times as long as taking the next one.
const PIECE_BYTES: usize = 1 << 16;

/// Carries out gathers and scatters: threads, memory and instruction set are its, results do not depend on them.
///
/// The functions of [`host`](crate::host) and [`Plan::run`](crate::Plan::run) use a [shared](Self::shared) one with
/// all cores. Threads are the caller and those of its [rayon](https://docs.rs/rayon) pool: the global one, unless the caller is
/// a thread of another.
///
/// ```
/// use std::num::NonZeroUsize;
/// use pto_exec::host::{Backend, Engine};
/// use pto_isa::{Atomic, OutOfBounds};
/// let engine = Engine::new().with_threads(NonZeroUsize::MIN).with_backend(Backend::PORTABLE);
/// let mut histogram = [0u32; 4];
/// engine.scatter(&mut histogram, &[1; 5], &[2i64, 0, 2, -1, 2], Atomic::Add, OutOfBounds::Skip)?;
/// assert_eq!(histogram, [1, 0, 3, 0]);
/// # Ok::<(), pto_exec::host::Fault>(())
/// ```
#[derive(Debug)]
pub struct Engine {
    threads: NonZeroUsize,
    backend: Backend,
    memory_cap: usize,
    method: Option<Method>,
    /// Few lanes are carried out on the spot, without the kernels that a caller has asked for.
    takes_few: bool,
    scratch: Scratch,
    helpers: Helpers,
}

impl Default for Engine {
    fn default() -> Self {
        Self::new()
    }
}

impl Engine {
    /// The memory cap of a new engine: 1 GiB.
    pub const DEFAULT_MEMORY_CAP: usize = 1 << 30;

    /// All cores, the best instruction set, the [default cap](Self::DEFAULT_MEMORY_CAP).
    pub fn new() -> Self {
        Self {
            threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            backend: Backend::best(),
            memory_cap: Self::DEFAULT_MEMORY_CAP,
            method: None,
            takes_few: true,
            scratch: Scratch::default(),
            helpers: Helpers::default(),
        }
    }

    /// The engine that is used where none is given.
    #[inline]
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Engine> = OnceLock::new();
        SHARED.get_or_init(Self::new)
    }

    /// The same with at most this many threads at work in a call. One means the caller's own.
    ///
    /// Small transfers stay on the caller's thread whatever this is, and there are never more threads than the pool has, and the
    /// caller.
    #[must_use]
    pub fn with_threads(mut self, threads: NonZeroUsize) -> Self {
        self.threads = threads;
        self
    }

    /// The same with another instruction set, for transfers of any size.
    #[must_use]
    pub fn with_backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self.takes_few = false;
        self
    }

    /// The same with another cap on the memory that a call may use beyond its arguments.
    ///
    /// Scatters into tables much smaller than their indices save the table, for an undo, instead of looking at all indices
    /// beforehand: that takes as much memory as the table. Rows that replace others are marked in a bit for each row of the table, a few
    /// times for each thread, at most a sixteenth of the bytes that they replace.
    ///
    /// Scatters into tables far beyond the caches sort their lanes by destination first. That takes as much memory as
    /// the index and value bytes (4 bytes of offset and the value for each lane) and a quarter more, up to twice as much for the
    /// fewest lanes that are sorted, or as much as the cap allows, in
    /// several rounds; below 4 MiB it is not done at all. The memory is kept for the next call until
    /// [`release_memory`](Self::release_memory).
    #[must_use]
    pub fn with_memory_cap(mut self, bytes: usize) -> Self {
        self.memory_cap = bytes;
        if self.held_memory() > bytes {
            self.release_memory();
        }
        self
    }

    /// The same with one way for all scatters instead of the one that costs least; for measurements and tests.
    ///
    /// A way that a scatter cannot go is replaced by the direct one (a table of unusual strides), or by the owned one (no memory
    /// for sorting, values that cannot be merged).
    #[must_use]
    pub fn with_method(mut self, method: Method) -> Self {
        self.method = Some(method);
        self.takes_few = false;
        self
    }

    /// How many threads a call uses at most.
    pub fn threads(&self) -> NonZeroUsize {
        self.threads
    }

    /// The instruction set in use.
    #[inline]
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Gives back the memory that the last scatter left for the next one; that of one that is under way, when it is done.
    pub fn release_memory(&self) {
        self.scratch.release();
    }

    /// Bytes that are kept for the next scatter.
    pub fn held_memory(&self) -> usize {
        self.scratch.held()
    }

    /// True if few lanes need no kernel: moving them takes less time than choosing one.
    #[inline(always)]
    pub(crate) fn takes_few(&self) -> bool {
        self.takes_few
    }

    /// How many threads a large transfer gets: as many as were asked for, but no more than there are.
    fn workers(&self) -> usize {
        // Whoever wants one thread need not start the others.
        if self.threads.get() == 1 {
            return 1;
        }
        // A caller from outside works beside those of the pool.
        let outside = usize::from(rayon::current_thread_index().is_none());
        self.threads.get().min(rayon::current_num_threads() + outside)
    }

    /// True if a transfer gets more than the caller's thread, where that `pays` or a way with several was asked for.
    fn is_helped(&self, pays: impl FnOnce() -> bool) -> bool {
        // In this order: who wants one thread need not start the others.
        self.method.map_or_else(pays, |method| method != Method::Direct) && self.workers() > 1
    }

    /// The work of a scatter, for the cost rule.
    fn work(&self, lanes: usize, table_bytes: usize) -> cost::Work {
        cost::Work { lanes, table_bytes, threads: self.workers(), caches: Caches::get(), gathers: false, merges: false }
    }

    /// Cuts a transfer into pieces that threads take from queues, none shorter than `least` unless it is the only one: a thread that
    /// comes late, or is held up, takes fewer.
    fn pieces(&self, count: usize, least: usize) -> Vec<(usize, usize)> {
        // A method stands for transfers beyond those that tests have the time for.
        let least = if self.method.is_some() { 1 } else { least.max(1) };
        cuts(count, (self.workers() * PIECES).min(count / least))
    }

    /// Calls `work` once for each item, on as many threads as the engine has, and returns the results in order.
    fn each<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
        let workers = self.workers().min(items.len());
        if workers <= 1 {
            return items.into_iter().map(work).collect();
        }
        let length = items.len();
        let queues = Queues::new(items, workers);
        let (arrived, results) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(length)));
        let work = || {
            let worker = arrived.fetch_add(1, Ordering::Relaxed);
            while let Some((i, item)) = queues.next(worker) {
                let result = work(item);
                results.lock().unwrap_or_else(PoisonError::into_inner).push((i, result));
            }
        };
        // The caller is one of the workers: it need not be woken, and has begun before the others have been.
        self.helpers.call(workers - 1, &work);
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_unstable_by_key(|(i, _)| *i);
        results.into_iter().map(|(_, result)| result).collect()
    }
}

/// Items in a queue for each worker, those that follow each other in the same one. With two workers the same items go to the same one
/// in every call, whose core has what belongs to them in its caches; cores of a virtual machine need not have any in common. Whoever
/// has nothing left takes the last ones of others.
struct Queues<T>(Mutex<Vec<VecDeque<(usize, T)>>>);

impl<T> Queues<T> {
    fn new(items: Vec<T>, workers: usize) -> Self {
        let cuts = cuts(items.len(), workers);
        let mut items = items.into_iter().enumerate();
        Self(Mutex::new(cuts.into_iter().map(|(from, to)| items.by_ref().take(to - from).collect()).collect()))
    }

    /// The next item of a worker, with its place among all.
    fn next(&self, worker: usize) -> Option<(usize, T)> {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = queues.get_mut(worker).and_then(VecDeque::pop_front);
        own.or_else(|| queues.iter_mut().max_by_key(|queue| queue.len())?.pop_back())
    }
}

/// `count` items cut into `parts` of nearly equal length, none empty unless `count` is 0.
fn cuts(count: usize, parts: usize) -> Vec<(usize, usize)> {
    let parts = parts.min(count).max(1);
    (0..parts).map(|i| (count * i / parts, count * (i + 1) / parts)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn engine(threads: usize) -> Engine {
        Engine::new().with_threads(NonZeroUsize::new(threads).unwrap())
    }

    #[test]
    fn pieces_follow_each_other_and_none_is_short() {
        for (count, least) in
            [(0, 1), (1, 1), (31, 1), (1000, 1), (1000, 300), (1000, 1001), (1 << 20, 0), (1 << 20, 1 << 14)]
        {
            let pieces = engine(2).pieces(count, least);
            assert!(
                pieces
                    .iter()
                    .map(|(from, _)| *from)
                    .eq([0].into_iter().chain(pieces.iter().map(|(_, to)| *to)).take(pieces.len()))
            );
            assert_eq!(pieces.last().map(|(_, to)| *to), Some(count));
            assert!(pieces.len() == 1 || pieces.iter().all(|(from, to)| to - from >= least.max(1)));
            let most = (count / least.max(1)).clamp(1, 2 * PIECES);
            assert_eq!(pieces.len(), most, "{count} by {least}");
        }
        // A method makes small transfers go as large ones.
        assert_eq!(engine(2).with_method(Method::Owned).pieces(100, 50).len(), 2 * PIECES);
        assert_eq!(engine(1).pieces(1 << 20, 1).len(), PIECES);
    }

    #[test]
    fn workers_take_their_own_items_first_and_then_the_last_of_others() {
        let queues = Queues::new((10..17).collect(), 2);
        let taken: Vec<_> = [0, 1, 0, 1, 0, 0, 5, 1].map(|worker| queues.next(worker)).to_vec();
        let expected = [(0, 10), (3, 13), (1, 11), (4, 14), (2, 12), (6, 16), (5, 15)];
        assert_eq!(taken, expected.into_iter().map(Some).chain([None]).collect::<Vec<_>>());
    }

    #[test]
    fn another_thread_helps() {
        let met = AtomicUsize::new(0);
        // Each item waits for the other.
        let both = engine(2).each(vec!['a', 'b'], |item| {
            met.fetch_add(1, Ordering::AcqRel);
            while met.load(Ordering::Acquire) < 2 {
                std::thread::yield_now();
            }
            item
        });
        assert_eq!(both, ['a', 'b']);
    }
}
