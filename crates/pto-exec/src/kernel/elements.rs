//! Gathers and scatters of single elements: one run of index lanes and payload at a time.

use super::BLOCK;
use super::address::AddressMap;
use super::bounds::{Block, Resolved, Resolver, count_outside};
use super::lanes::{LaneReader, Strided};
use super::offsets::{AnyOffsets, Offsets, Word};
use super::simd::{self, Backend, Simd, Streams, Task};
use super::transfer;

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
                visit(Moved { payload: run.payload, count: run.length, offsets, positions: None });
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
            visit(Moved { payload: run.payload.after(done), count, offsets, positions });
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

/// Gathers elements of `size` bytes, zero for lanes that were dropped, past the caches where that is allowed and possible.
pub(crate) fn gather(
    (backend, streams): (Backend, Option<&Streams>),
    size: usize,
    tile: &mut [u8],
    moved: Moved<'_>,
    table: &[u8],
) {
    match size {
        1 => gather_as::<1>(backend, streams, tile, moved, table),
        2 => gather_as::<2>(backend, streams, tile, moved, table),
        4 => gather_as::<4>(backend, streams, tile, moved, table),
        _ => gather_as::<8>(backend, streams, tile, moved, table),
    }
}

/// As [`gather`] for a run of which no lane is dropped, whatever its index; returns how many were out of range. Lanes are
/// looked at on the way: [`Outside`] if there is one that no policy has an answer to, and some elements were written then.
/// `None` if lanes are dropped, or do not lie in memory as words that are offsets once they are resolved.
pub(crate) fn gather_resolving(
    way: (Backend, Option<&Streams>),
    size: usize,
    tile: &mut [u8],
    (lookup, run): (&Lookup<'_>, Run),
    table: &[u8],
) -> Option<Result<usize, Outside>> {
    let resolver = lookup.resolver;
    let is_plain = *lookup.map == AddressMap::Linear && run.payload.step == 1;
    if !is_plain || !(resolver.is_total() || resolver.is_identity()) {
        return None;
    }
    let tile = &mut tile[run.payload.start * size..][..run.length * size];
    if lookup.is_narrow() {
        let words = lookup.reader.native::<[u8; 4]>(run.idx, run.length)?;
        Some(gather_words_resolving(way, size, tile, (resolver, words), table))
    } else {
        let words = lookup.reader.native::<[u8; 8]>(run.idx, run.length)?;
        Some(gather_words_resolving(way, size, tile, (resolver, words), table))
    }
}

fn gather_words_resolving<W: Word>(
    (backend, streams): (Backend, Option<&Streams>),
    size: usize,
    tile: &mut [u8],
    (resolver, words): (Resolver, &[W]),
    table: &[u8],
) -> Result<usize, Outside> {
    macro_rules! gathered {
        ($n:literal) => {{
            let (tile, table) = (tile.as_chunks_mut::<$n>().0, table.as_chunks::<$n>().0);
            let is_gathered = W::BYTES == 4 && (is_gathered(table) || ($n == 4 && words.len() < GATHER_LANES));
            backend.run(GatherResolving { tile, words, from: Resolving { table, is_gathered, resolver, streams } })
        }};
    }
    match size {
        1 => gathered!(1),
        2 => gathered!(2),
        4 => gathered!(4),
        _ => gathered!(8),
    }
}

/// Lanes that are resolved and then gathered. So few that the machine resolves the next ones while loads are under way.
const AT_ONCE: usize = 64;

struct GatherResolving<'a, const N: usize, W> {
    tile: &'a mut [[u8; N]],
    words: &'a [W],
    from: Resolving<'a, N>,
}

impl<const N: usize, W: Word> Task for GatherResolving<'_, N, W> {
    type Output = Result<usize, Outside>;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> Self::Output {
        let Self { tile, words, from } = self;
        let is_identity = from.resolver.is_identity();
        if is_identity && from.is_gathered {
            // Nothing to be resolved, and the instruction looks at its lanes by itself.
            return from.gather(simd, tile, words, &[]).map(|()| 0);
        }
        // Whole lines are written after these.
        let head = tile.as_ptr().align_offset(simd::LINE).min(AT_ONCE).min(words.len());
        let ((first, tile), (first_words, words)) = (tile.split_at_mut(head), words.split_at(head));
        let ((tiles, last), (chunks, last_words)) = (tile.as_chunks_mut::<AT_ONCE>(), words.as_chunks::<AT_ONCE>());
        let ahead = if is_identity { transfer::far_gathers(from.table, words) } else { &[] };
        let mut remapped = [W::put(0); AT_ONCE];
        let mut outside = from.resolve_and_gather(simd, first, first_words, &mut remapped, &[])?;
        for (i, (tile, chunk)) in tiles.iter_mut().zip(chunks).enumerate() {
            // The machine's prefetchers lose the stream among the other accesses.
            (0..AT_ONCE).step_by(simd::LINE / W::BYTES).for_each(|k| simd::prefetch(words, (i + 8) * AT_ONCE + k));
            let ahead = ahead.get(i * AT_ONCE..).unwrap_or(&[]);
            outside += from.resolve_and_gather(simd, tile, chunk, &mut remapped, ahead)?;
        }
        Ok(outside + from.resolve_and_gather(simd, last, last_words, &mut remapped, &[])?)
    }
}

/// A table, with what its lanes are resolved by and whether its elements are written past the caches.
struct Resolving<'a, const N: usize> {
    table: &'a [[u8; N]],
    /// By the gather instruction: elements and words have 4 bytes.
    is_gathered: bool,
    resolver: Resolver,
    streams: Option<&'a Streams>,
}

impl<const N: usize> Resolving<'_, N> {
    /// Resolves lanes and gathers them; returns how many were out of range. The elements of `ahead` are asked for.
    #[inline(always)]
    fn resolve_and_gather<W: Word, S: Simd>(
        &self,
        simd: S,
        tile: &mut [[u8; N]],
        words: &[W],
        remapped: &mut [W; AT_ONCE],
        ahead: &[W],
    ) -> Result<usize, Outside> {
        let (words, outside) = self.resolver.remap(words, remapped);
        self.gather(simd, tile, words, ahead)?;
        Ok(outside)
    }

    /// Gathers lanes that are resolved, looking at each; at most [`AT_ONCE`] unless by the gather instruction. The elements of
    /// `ahead` are asked for.
    #[inline(always)]
    fn gather<W: Word, S: Simd>(&self, simd: S, tile: &mut [[u8; N]], words: &[W], ahead: &[W]) -> Result<(), Outside> {
        let capacity = self.resolver.capacity;
        if self.is_gathered {
            let table = bytemuck::cast_slice(&self.table[..capacity as usize]);
            let (tile, words) = (bytemuck::cast_slice_mut(tile), bytemuck::cast_slice(words));
            return if simd.gather4(tile, table, words, self.streams) { Ok(()) } else { Err(Outside) };
        }
        let offsets = Offsets::look(simd, words, capacity).ok_or(Outside)?;
        match self.streams {
            Some(streams) => {
                let found = &mut [[0; N]; AT_ONCE][..tile.len()];
                transfer::gather_ahead(found, self.table, offsets, ahead);
                streams.copy(tile.as_flattened_mut(), found.as_flattened());
            }
            None => transfer::gather_ahead(tile, self.table, offsets, ahead),
        }
        Ok(())
    }
}

/// Tables of up to this many elements of 4 bytes, 8 MiB, are read by the vector unit's gather instruction.
const GATHER_ELEMENTS: usize = 1 << 21;

/// So few lanes are read by it from any table: the addresses of their pages are at hand.
const GATHER_LANES: usize = 1 << 11;

/// Beyond the cache the vector unit waits for the slowest of its lanes, and single loads overlap better.
#[inline(always)]
fn is_gathered<const N: usize>(table: &[[u8; N]]) -> bool {
    N == 4 && table.len() <= GATHER_ELEMENTS
}

fn gather_as<const N: usize>(
    backend: Backend,
    streams: Option<&Streams>,
    tile: &mut [u8],
    moved: Moved<'_>,
    table: &[u8],
) {
    let (tile, table) = (tile.as_chunks_mut::<N>().0, table.as_chunks::<N>().0);
    match moved.offsets {
        AnyOffsets::Narrow(offsets) if is_gathered(table) && moved.positions.is_none() && moved.payload.step == 1 => {
            let tile = bytemuck::cast_slice_mut(&mut tile[moved.payload.start..][..offsets.len()]);
            backend.run(Gather4 { tile, table: bytemuck::cast_slice(table), offsets, streams });
        }
        AnyOffsets::Narrow(offsets) => gather_words(tile, moved, table, offsets),
        AnyOffsets::Wide(offsets) => gather_words(tile, moved, table, offsets),
    }
}

fn gather_words<const N: usize, W: Word>(
    tile: &mut [[u8; N]],
    moved: Moved<'_>,
    table: &[[u8; N]],
    offsets: Offsets<'_, W>,
) {
    match moved.positions {
        None => transfer::gather(tile, moved.payload, table, offsets),
        Some(positions) => transfer::gather_some(tile, moved.payload, moved.count, table, offsets, positions),
    }
}

struct Gather4<'a> {
    tile: &'a mut [[u8; 4]],
    table: &'a [[u8; 4]],
    offsets: Offsets<'a, [u8; 4]>,
    streams: Option<&'a Streams>,
}

impl Task for Gather4<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let inside = simd.gather4(self.tile, self.table, self.offsets.words(), self.streams);
        assert!(inside, "an element offset leaves its buffer");
    }
}
