//! Stores that pass by the caches: a line that is written whole need not be read first, and one that nobody reads soon
//! need not push out others.
#![expect(unsafe_code, reason = "the compiler does not choose these stores by itself")]

use core::marker::PhantomData;

use super::{Simd, Task};

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

/// What a cache line holds, at the place of one.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Line(pub(crate) [u8; LINE]);

/// The right to such stores. They are not ordered with others, so the end of this value waits for them: whoever learns
/// afterwards that a transfer is done finds its data there.
pub(crate) struct Streams {
    /// It is the thread that stored that has to wait.
    thread: PhantomData<*const ()>,
}

impl Streams {
    pub(crate) fn new() -> Self {
        Self { thread: PhantomData }
    }

    /// Copies bytes: whole lines of the destination past the caches, what is before and after them as usual.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline(always)]
    pub(crate) fn copy<S: Simd>(&self, simd: S, to: &mut [u8], from: &[u8]) {
        assert!(to.len() == from.len(), "a copy has as many bytes as its original");
        let (to_head, lines, to_tail) = bytemuck::pod_align_to_mut::<u8, Line>(to);
        let (from_head, from) = from.split_at(to_head.len());
        let (from_lines, from_tail) = from.split_at(lines.len() * LINE);
        if !to_head.is_empty() {
            to_head.copy_from_slice(from_head);
        }
        for (line, from) in lines.iter_mut().zip(from_lines.as_chunks::<LINE>().0) {
            simd.stream_line(line, from, self);
        }
        if !to_tail.is_empty() {
            to_tail.copy_from_slice(from_tail);
        }
    }
}

/// Copies bytes past the caches.
pub(crate) struct StreamCopy<'a> {
    pub(crate) streams: &'a Streams,
    pub(crate) to: &'a mut [u8],
    pub(crate) from: &'a [u8],
}

impl Task for StreamCopy<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        self.streams.copy(simd, self.to, self.from);
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        // SAFETY: SSE is part of x86-64.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            core::arch::x86_64::_mm_sfence();
        }
    }
}

/// [`Simd::stream_line`] without more than the program was built for.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn stream_line(line: &mut Line, from: &[u8; LINE]) {
    use core::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
    let (to, from) = (line.0.as_mut_ptr(), from.as_ptr());
    // SAFETY: SSE2 is part of x86-64. Four loads read the 64 bytes of `from`, at any address. A `Line` is at a multiple of 64,
    // so that its four stores are aligned.
    unsafe {
        let parts = [0, 16, 32, 48].map(|at| _mm_loadu_si128(from.add(at).cast()));
        for (i, part) in parts.into_iter().enumerate() {
            _mm_stream_si128(to.add(16 * i).cast(), part);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub(super) fn stream_line(line: &mut Line, from: &[u8; LINE]) {
    line.0 = *from;
}

#[cfg(test)]
mod tests {
    use super::super::Backend;
    use super::*;

    #[test]
    fn copies_of_every_length_and_address_stay_within_their_ends() {
        let from: Vec<u8> = (0..=255).cycle().take(400).collect();
        for start in 1..=LINE {
            for length in (0..=70).chain([127, 128, 129, 191, 192, 193, 300]) {
                for backend in Backend::available() {
                    let mut to = vec![0xee; start + length + 1];
                    let from = &from[3..3 + length];
                    backend.run(StreamCopy { streams: &Streams::new(), to: &mut to[start..start + length], from });
                    assert_eq!(to[start..start + length], *from, "{start} {length} {backend:?}");
                    assert!(to[..start].iter().all(|byte| *byte == 0xee) && to[start + length] == 0xee);
                }
            }
        }
    }
}
