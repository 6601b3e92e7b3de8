//! Stores that pass by the caches: a line that is written whole need not be read first, and one that nobody reads soon
//! need not push out others.
#![expect(unsafe_code, reason = "the compiler does not choose these stores by itself")]

use core::marker::PhantomData;

/// Bytes of a cache line.
pub(crate) const LINE: usize = 64;

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
    pub(crate) fn copy(&self, to: &mut [u8], from: &[u8]) {
        assert!(to.len() == from.len(), "a copy has as many bytes as its original");
        let head = to.as_ptr().align_offset(LINE).min(to.len());
        let ((to_head, to), (from_head, from)) = (to.split_at_mut(head), from.split_at(head));
        let ((lines, to_tail), (from_lines, from_tail)) = (to.as_chunks_mut::<LINE>(), from.as_chunks::<LINE>());
        if head > 0 {
            to_head.copy_from_slice(from_head);
        }
        for (line, from) in lines.iter_mut().zip(from_lines) {
            store(line, from);
        }
        if !to_tail.is_empty() {
            to_tail.copy_from_slice(from_tail);
        }
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

/// Stores one line, which begins where lines do: [`Streams::copy`], the only caller, has cut it so.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn store(line: &mut [u8; LINE], from: &[u8; LINE]) {
    use core::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
    let (to, from) = (line.as_mut_ptr(), from.as_ptr());
    debug_assert!(to.align_offset(LINE) == 0);
    // SAFETY: SSE2 is part of x86-64. Four loads read the 64 bytes of `from`, at any address. The caller has found `line`
    // at a multiple of 64, so that its four stores are aligned, and holds the `Streams` that will wait for them.
    unsafe {
        let parts = [0, 16, 32, 48].map(|at| _mm_loadu_si128(from.add(at).cast()));
        for (i, part) in parts.into_iter().enumerate() {
            _mm_stream_si128(to.add(16 * i).cast(), part);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn store(line: &mut [u8; LINE], from: &[u8; LINE]) {
    *line = *from;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_every_length_and_address_stay_within_their_ends() {
        let from: Vec<u8> = (0..=255).cycle().take(400).collect();
        for start in 1..=LINE {
            for length in (0..=70).chain([127, 128, 129, 191, 192, 193, 300]) {
                let mut to = vec![0xee; start + length + 1];
                Streams::new().copy(&mut to[start..start + length], &from[3..3 + length]);
                assert_eq!(to[start..start + length], from[3..3 + length], "{start} {length}");
                assert!(to[..start].iter().all(|byte| *byte == 0xee) && to[start + length] == 0xee);
            }
        }
    }
}
