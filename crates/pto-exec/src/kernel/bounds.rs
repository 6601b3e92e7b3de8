//! What the out-of-bounds policy makes of a block of index lanes.

use pto_isa::{ElementType, OutOfBounds};

use super::BLOCK;
use super::modulus::Modulus;
use super::offsets::{Offsets, Word};
use super::simd::{Landing, Simd};

/// What becomes of lanes that are out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// Nothing is said about them: all lanes are looked at before one is used.
    Checked,
    /// They leave the block.
    Drop,
    /// They go to the nearest slot.
    Clamp,
    /// They are taken modulo the capacity.
    Wrap,
}

impl Bounds {
    pub(crate) fn of(oob: OutOfBounds) -> Self {
        match oob {
            OutOfBounds::Undefined => Self::Checked,
            OutOfBounds::Skip | OutOfBounds::Zero => Self::Drop,
            OutOfBounds::Clamp => Self::Clamp,
            OutOfBounds::Wrap => Self::Wrap,
        }
    }
}

/// A part of the capacity: `base`, `base + 1`, ... `base + length - 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) base: u64,
    pub(crate) length: u64,
}

/// The policy, with the capacity and how lanes are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resolver {
    pub(crate) bounds: Bounds,
    pub(crate) capacity: u64,
    pub(crate) signed: bool,
    /// Only lanes that resolve into this part are wanted, counted from its base.
    pub(crate) part: Option<Part>,
    /// The capacity as a divisor for words of 4 and of 8 bytes, under [`Bounds::Wrap`].
    moduli: [Modulus; 2],
}

/// The buffers of a block.
pub(crate) struct Block<W> {
    remapped: [W; BLOCK],
    kept: [W; BLOCK],
    positions: [u32; BLOCK],
}

/// A block of lanes, resolved.
pub(crate) struct Resolved<'a, W> {
    /// Where each lane that is left goes.
    pub(crate) offsets: Offsets<'a, W>,
    /// Where these lanes stood in the block; `None` if none was dropped.
    pub(crate) positions: Option<&'a [u32]>,
    /// How many lanes were out of range.
    pub(crate) outside: usize,
}

impl<W: Word> Block<W> {
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self { remapped: [W::put(0); BLOCK], kept: [W::put(0); BLOCK], positions: [0; BLOCK] }
    }
}

impl Resolver {
    pub(crate) fn new(bounds: Bounds, capacity: u64, signed: bool) -> Self {
        // Two divisions take as long as a small transfer: only where they are needed.
        let moduli = match bounds {
            Bounds::Wrap if capacity > 0 => [Modulus::new(capacity, true), Modulus::new(capacity, false)],
            _ => [Modulus::ONE; 2],
        };
        Self { bounds, capacity, signed, part: None, moduli }
    }

    /// True if lanes of this type and all that becomes of them fit into words of 4 bytes, where a negative one is
    /// beyond the capacity.
    pub(crate) fn is_narrow(&self, element: ElementType) -> bool {
        let most = if self.signed { 1 << 31 } else { u64::from(u32::MAX) };
        element.size() <= 4 && self.capacity <= most
    }

    /// True if lanes that were looked at go where they say.
    pub(crate) fn is_identity(&self) -> bool {
        self.bounds == Bounds::Checked && self.part.is_none()
    }

    /// True if every lane goes somewhere, whatever its index.
    pub(crate) fn is_total(&self) -> bool {
        matches!(self.bounds, Bounds::Clamp | Bounds::Wrap) && self.part.is_none()
    }

    /// The same for lanes that resolve into a part of the capacity.
    pub(crate) fn within(self, part: Part) -> Self {
        Self { part: Some(part), ..self }
    }

    /// Where words of 4 bytes that are out of range go, provided that they are to go anywhere.
    pub(crate) fn landing(&self) -> Landing {
        match self.bounds {
            Bounds::Wrap => Landing::Wrapped { modulus: self.moduli[0], signed: self.signed },
            bounds => Landing::Nearest { signed: self.signed && bounds == Bounds::Clamp },
        }
    }

    /// Clamps or wraps words, into a buffer of at least their length, if that is the policy; also returns how many were out
    /// of range.
    #[inline(always)]
    pub(crate) fn remap<'a, W: Word, S: Simd>(
        &self,
        simd: S,
        words: &'a [W],
        remapped: &'a mut [W],
    ) -> (&'a [W], usize) {
        let outside = match self.bounds {
            Bounds::Checked => 0,
            _ => count_outside(words, self.capacity),
        };
        let words = match self.bounds {
            Bounds::Clamp if outside > 0 => clamp(words, self.capacity - 1, self.signed, remapped),
            Bounds::Wrap if outside > 0 => {
                let remapped = &mut remapped[..words.len()];
                simd.remainders(words, self.moduli[W::BYTES / 8], self.signed, remapped);
                remapped
            }
            _ => words,
        };
        (words, outside)
    }

    /// Resolves at most [`BLOCK`] words to offsets below the capacity, or the length of the part. The block is made when
    /// it is needed first.
    #[inline(always)]
    pub(crate) fn resolve<'a, W: Word, S: Simd>(
        &self,
        simd: S,
        words: &'a [W],
        block: &'a mut Option<Block<W>>,
    ) -> Resolved<'a, W> {
        // Never `None`: lanes were checked before, or are below the capacity by what happens below.
        let inside = |words| Offsets::check(words, self.capacity).unwrap_or_else(|| unresolved());
        if self.is_identity() {
            return Resolved { offsets: inside(words), positions: None, outside: 0 };
        }
        let Block { remapped, kept, positions } = block.get_or_insert_with(Block::new);
        let (words, outside) = self.remap(simd, words, remapped);
        let wanted = match self.part {
            None if outside > 0 && self.bounds == Bounds::Drop => Some(Part { base: 0, length: self.capacity }),
            part => part,
        };
        if let Some(Part { base, length }) = wanted {
            let (offsets, positions) = Offsets::keep(simd, words, (base, length), kept, positions);
            return Resolved { offsets, positions: Some(positions), outside };
        }
        Resolved { offsets: inside(words), positions: None, outside }
    }
}

#[cold]
#[inline(never)]
fn unresolved() -> ! {
    unreachable!("lanes that were not checked have no offsets")
}

/// The number of words at or beyond the capacity; negative ones are beyond any.
#[inline(always)]
pub(crate) fn count_outside<W: Word>(words: &[W], capacity: u64) -> usize {
    // Counted by the hundred in a type that the compiler fits as many of into a register as words.
    words.chunks(BLOCK).map(|words| W::count_from(words, capacity) as usize).sum()
}

#[inline(always)]
fn clamp<'a, W: Word>(words: &[W], last: u64, signed: bool, clamped: &'a mut [W]) -> &'a [W] {
    let clamped = &mut clamped[..words.len()];
    if signed {
        clamped.iter_mut().zip(words).for_each(|(slot, word)| *slot = word.clamp_signed(last));
    } else {
        clamped.iter_mut().zip(words).for_each(|(slot, word)| *slot = word.clamp(last));
    }
    clamped
}

#[cfg(test)]
mod tests {
    use super::super::simd::{Backend, Task};
    use super::*;

    struct Resolve<'a, W>(Resolver, &'a [W]);

    impl<W: Word> Task for Resolve<'_, W> {
        type Output = (Vec<u64>, Option<Vec<u32>>, usize);

        #[inline(always)]
        fn run<S: Simd>(self, simd: S) -> Self::Output {
            let mut block = None;
            let resolved = self.0.resolve(simd, self.1, &mut block);
            let offsets = resolved.offsets.words().iter().map(|w| w.get()).collect();
            (offsets, resolved.positions.map(<[u32]>::to_vec), resolved.outside)
        }
    }

    fn resolve<W: Word>(
        bounds: Bounds,
        capacity: u64,
        element: ElementType,
        lanes: &[i128],
    ) -> Vec<(Vec<u64>, Option<Vec<u32>>, usize)> {
        let signed = matches!(element, ElementType::I32 | ElementType::I64);
        let words: Vec<W> = lanes.iter().map(|&x| W::put(x as u64)).collect();
        let resolver = Resolver::new(bounds, capacity, signed);
        assert_eq!(resolver.is_narrow(element), W::BYTES == 4);
        Backend::available().map(|backend| backend.run(Resolve(resolver, &words))).collect()
    }

    /// Every lane position of body and tail, every interesting index, every policy, every backend.
    #[test]
    fn one_odd_lane_at_every_position() {
        for capacity in [1u64, 7, 1_000_003, 1 << 31] {
            let c = i128::from(capacity);
            let odd =
                [c - 1, c, c + 1, 1 << 31, i128::from(u32::MAX), -1, -c, i128::from(i32::MIN), i128::from(i32::MAX)];
            for (element, low, high) in [
                (ElementType::I32, i128::from(i32::MIN), i128::from(i32::MAX)),
                (ElementType::U32, 0, i128::from(u32::MAX)),
                (ElementType::I64, i128::from(i64::MIN), i128::from(i64::MAX)),
                (ElementType::U64, 0, i128::from(u64::MAX)),
            ] {
                let extra = [low, high];
                for lane in odd.iter().chain(&extra).copied().filter(|x| (low..=high).contains(x)) {
                    for length in [1usize, 15, 16, 17, 33, 40] {
                        for at in 0..length {
                            let mut lanes = vec![0; length];
                            lanes[at] = lane;
                            check(capacity, element, &lanes);
                        }
                    }
                }
            }
        }
    }

    fn check(capacity: u64, element: ElementType, lanes: &[i128]) {
        let c = i128::from(capacity);
        let inside = |x: &&i128| (0..c).contains(*x);
        let outside = lanes.len() - lanes.iter().filter(inside).count();
        let run = |bounds| {
            if element.size() == 4 {
                resolve::<[u8; 4]>(bounds, capacity, element, lanes)
            } else {
                resolve::<[u8; 8]>(bounds, capacity, element, lanes)
            }
        };
        let clamped: Vec<u64> = lanes.iter().map(|&x| x.clamp(0, c - 1) as u64).collect();
        let wrapped: Vec<u64> = lanes.iter().map(|&x| x.rem_euclid(c) as u64).collect();
        let kept: Vec<u64> = lanes.iter().filter(inside).map(|&x| x as u64).collect();
        let positions: Vec<u32> = (0..lanes.len()).filter(|&i| inside(&&lanes[i])).map(|i| i as u32).collect();
        for actual in run(Bounds::Clamp) {
            assert_eq!(actual, (clamped.clone(), None, outside));
        }
        for actual in run(Bounds::Wrap) {
            assert_eq!(actual, (wrapped.clone(), None, outside), "{lanes:?} mod {capacity}");
        }
        for actual in run(Bounds::Drop) {
            assert_eq!(actual, (kept.clone(), (outside > 0).then(|| positions.clone()), outside));
        }
    }

    #[test]
    fn a_part_keeps_its_own_lanes_and_counts_from_its_base() {
        let words: Vec<[u8; 4]> = (0..100u32).map(|i| (i * 7 % 100).to_le_bytes()).collect();
        let resolver = Resolver::new(Bounds::Checked, 100, false).within(Part { base: 30, length: 20 });
        for backend in Backend::available() {
            let (offsets, positions, _) = backend.run(Resolve(resolver, &words));
            let expected: Vec<(u64, u32)> = (0..100u32)
                .filter(|i| (30..50).contains(&(i * 7 % 100)))
                .map(|i| (u64::from(i * 7 % 100 - 30), i))
                .collect();
            assert_eq!(
                offsets.into_iter().zip(positions.expect("a part lists positions")).collect::<Vec<_>>(),
                expected
            );
        }
    }
}
