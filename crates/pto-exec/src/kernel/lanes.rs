//! Index lanes: reading them, whatever their type and distance.

use pto_isa::ElementType;

use super::offsets::Word;

/// The index tile's bytes and how the target reads them.
#[derive(Clone, Copy)]
pub(crate) struct LaneReader<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) element: ElementType,
    /// Signed types are plain integers (`host`); otherwise every lane is its unsigned bit pattern.
    pub(crate) signed: bool,
}

/// A run of elements at a constant distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Strided {
    pub(crate) start: usize,
    pub(crate) step: usize,
}

impl Strided {
    /// The run without its first elements.
    pub(crate) fn after(self, count: usize) -> Self {
        Self { start: self.start + count * self.step, ..self }
    }
}

impl<'a> LaneReader<'a> {
    /// The lanes of a run as they lie in memory, if they are dense and as wide as a word.
    #[inline(always)]
    pub(crate) fn native<W: Word>(&self, run: Strided, count: usize) -> Option<&'a [W]> {
        let native = self.element.size() as usize == W::BYTES && (run.step == 1 || count <= 1);
        native.then(|| bytemuck::cast_slice(&self.bytes[run.start * W::BYTES..][..count * W::BYTES]))
    }

    /// Reads lanes `run.start`, `run.start + run.step`, ... as words, signed ones sign-extended.
    ///
    /// # Panics
    /// If the run leaves the tile, which a plan never asks for.
    #[inline(always)]
    pub(crate) fn read<W: Word>(&self, run: Strided, words: &mut [W]) {
        macro_rules! read {
            ($type:ty) => {
                read_as::<{ size_of::<$type>() }, W>(self.bytes, run, words, |b| {
                    W::put(<$type>::from_le_bytes(b) as i64 as u64)
                })
            };
        }
        match (self.element, self.signed) {
            (ElementType::I16, true) => read!(i16),
            (ElementType::I32, true) => read!(i32),
            (ElementType::I16 | ElementType::U16, _) => read!(u16),
            (ElementType::I32 | ElementType::U32, _) => read!(u32),
            _ => read!(u64),
        }
    }
}

#[inline(always)]
fn read_as<const N: usize, W: Word>(bytes: &[u8], run: Strided, words: &mut [W], widen: impl Fn([u8; N]) -> W) {
    let lanes = bytes[run.start * N..].as_chunks::<N>().0;
    if run.step == 1 {
        let lanes = &lanes[..words.len()];
        for (word, lane) in words.iter_mut().zip(lanes) {
            *word = widen(*lane);
        }
    } else {
        for (i, word) in words.iter_mut().enumerate() {
            *word = widen(lanes[i * run.step]);
        }
    }
}
