//! Single elements: one run of index lanes and payload at a time, resolved block by block.

use super::BLOCK;
use super::address::AddressMap;
use super::bounds::{Block, Resolved, Resolver, count_outside};
use super::lanes::{LaneReader, Strided};
use super::offsets::{AnyOffsets, Offsets, Word};
use super::simd::{Backend, Simd, Task};

/// Index lanes and payload positions that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Where the payload lies in its tile.
    pub(crate) payload: Strided,
    /// Where the lanes lie in the index tile.
    pub(crate) idx: Strided,
    /// How many there are.
    pub(crate) length: usize,
}

impl Run {
    /// Lanes `from` up to `to`.
    pub(crate) fn part(self, from: usize, to: usize) -> Self {
        Self { payload: self.payload.after(from), idx: self.idx.after(from), length: to - from }
    }
}

/// Where the lanes of a run go.
#[derive(Clone, Copy)]
pub(crate) struct Lookup<'a> {
    pub(crate) reader: LaneReader<'a>,
    pub(crate) resolver: Resolver,
    pub(crate) map: &'a AddressMap,
}

impl<'a> Lookup<'a> {
    /// The lanes of a run, if lanes in range are their own offsets, as they lie in memory.
    #[inline(always)]
    pub(crate) fn whole<W: Word>(&self, run: Run) -> Option<&'a [W]> {
        if !self.resolver.is_identity() || *self.map != AddressMap::Linear {
            return None;
        }
        self.reader.native(run.idx, run.length)
    }

    /// True if 4-byte words hold all lanes and offsets.
    pub(crate) fn is_narrow(&self) -> bool {
        *self.map == AddressMap::Linear && self.resolver.is_narrow(self.reader.element)
    }
}

/// Counts lanes at or beyond the capacity.
pub(crate) struct CountOutside<'a> {
    pub(crate) lookup: Lookup<'a>,
    pub(crate) idx: Strided,
    pub(crate) length: usize,
}

impl Task for CountOutside<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<S: Simd>(self, _: S) -> usize {
        if self.lookup.resolver.is_narrow(self.lookup.reader.element) {
            self.count::<[u8; 4]>()
        } else {
            self.count::<[u8; 8]>()
        }
    }
}

impl CountOutside<'_> {
    #[inline(always)]
    fn count<W: Word>(&self) -> usize {
        let Self { lookup: Lookup { reader, resolver, .. }, idx, length } = *self;
        if let Some(words) = reader.native::<W>(idx, length) {
            // Nearly always there is none, and a maximum is cheaper than a count.
            return Offsets::check(words, resolver.capacity)
                .map_or_else(|| count_outside(words, resolver.capacity), |_| 0);
        }
        let mut buffer = [W::put(0); BLOCK];
        let mut outside = 0;
        for done in (0..length).step_by(BLOCK) {
            let words = &mut buffer[..BLOCK.min(length - done)];
            reader.read(idx.after(done), words);
            outside += count_outside(words, resolver.capacity);
        }
        outside
    }
}

/// A block of elements to move.
#[derive(Clone, Copy)]
pub(crate) struct Moved<'a> {
    /// Where the block lies in the payload.
    pub(crate) payload: Strided,
    /// The lanes of the block.
    pub(crate) count: usize,
    /// Where in the table the lanes that are left go.
    pub(crate) offsets: AnyOffsets<'a>,
    /// Which lanes these are; `None` if they are all.
    pub(crate) positions: Option<&'a [u32]>,
    /// Lanes and values need not be asked for: all lanes of the run were looked at just before, and are few enough.
    pub(crate) is_at_hand: bool,
}

impl<'a> Moved<'a> {
    /// A whole run as one block.
    pub(crate) fn whole(run: Run, offsets: AnyOffsets<'a>) -> Self {
        Self { payload: run.payload, count: run.length, offsets, positions: None, is_at_hand: false }
    }
}

impl Lookup<'_> {
    /// Resolves a run block by block and returns how many lanes were out of range. Lanes that have to be checked were.
    pub(crate) fn for_each_block(&self, backend: Backend, run: Run, visit: &mut dyn FnMut(Moved<'_>)) -> usize {
        if self.is_narrow() {
            self.for_each_block_of::<[u8; 4]>(backend, run, visit)
        } else {
            self.for_each_block_of::<[u8; 8]>(backend, run, visit)
        }
    }

    /// As [`for_each_block`](Self::for_each_block), all lanes at once where they are their own offsets: the next ones are
    /// known to whoever looks ahead.
    pub(crate) fn for_each_long_block(&self, backend: Backend, run: Run, visit: &mut dyn FnMut(Moved<'_>)) -> usize {
        match self.check_whole(backend, run) {
            Some(Ok(offsets)) => {
                visit(Moved::whole(run, offsets));
                0
            }
            _ => self.for_each_block(backend, run, visit),
        }
    }

    fn for_each_block_of<W: Word>(&self, backend: Backend, run: Run, visit: &mut dyn FnMut(Moved<'_>)) -> usize {
        let mut buffers = Buffers::<W>::new();
        let mut outside = 0;
        for done in (0..run.length).step_by(BLOCK) {
            let count = BLOCK.min(run.length - done);
            let resolved =
                backend.run(Resolve { lookup: *self, idx: run.idx.after(done), count, buffers: &mut buffers });
            outside += resolved.outside;
            let (offsets, positions) = (resolved.offsets.into(), resolved.positions);
            visit(Moved { payload: run.payload.after(done), count, offsets, positions, is_at_hand: false });
        }
        outside
    }

    /// Checks all lanes of a run that are their own offsets, at once; `None` if lanes have to be looked up.
    pub(crate) fn check_whole(&self, backend: Backend, run: Run) -> Option<Result<AnyOffsets<'_>, Outside>> {
        let capacity = self.resolver.capacity;
        if self.is_narrow() {
            let words = self.whole::<[u8; 4]>(run)?;
            Some(backend.run(Check { words, capacity }).map(AnyOffsets::from).ok_or(Outside))
        } else {
            let words = self.whole::<[u8; 8]>(run)?;
            Some(backend.run(Check { words, capacity }).map(AnyOffsets::from).ok_or(Outside))
        }
    }
}

/// A lane is out of range under a policy that has no answer to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outside;

/// The buffers of a block, from lanes to offsets; each from when it is needed first, as clearing it takes as long as the
/// rest of a small transfer.
struct Buffers<W> {
    words: Option<[W; BLOCK]>,
    block: Option<Block<W>>,
    addresses: Option<[W; BLOCK]>,
}

impl<W: Word> Buffers<W> {
    fn new() -> Self {
        Self { words: None, block: None, addresses: None }
    }
}

/// Resolves one block.
struct Resolve<'a, 'b, W> {
    lookup: Lookup<'a>,
    idx: Strided,
    count: usize,
    buffers: &'b mut Buffers<W>,
}

impl<'b, 'a: 'b, W: Word> Task for Resolve<'a, 'b, W> {
    type Output = Resolved<'b, W>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Resolved<'b, W> {
        let Self { lookup: Lookup { reader, resolver, map }, idx, count, buffers } = self;
        let words = match reader.native::<W>(idx, count) {
            Some(words) => words,
            None => {
                let words = &mut buffers.words.get_or_insert([W::put(0); BLOCK])[..count];
                reader.read(idx, words);
                words
            }
        };
        let mut resolved = resolver.resolve(simd, words, &mut buffers.block);
        if *map != AddressMap::Linear {
            let addresses = &mut buffers.addresses.get_or_insert([W::put(0); BLOCK])[..resolved.offsets.len()];
            for (address, word) in addresses.iter_mut().zip(resolved.offsets.words()) {
                *address = W::put(map.offset(word.get()));
            }
            // Held against the table where it is used.
            resolved.offsets = Offsets::bounded(addresses);
        }
        resolved
    }
}

/// Looks at lanes that are their own offsets.
struct Check<'a, W> {
    words: &'a [W],
    capacity: u64,
}

impl<'a, W: Word> Task for Check<'a, W> {
    type Output = Option<Offsets<'a, W>>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        Offsets::look(simd, self.words, self.capacity)
    }
}
