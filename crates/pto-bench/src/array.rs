//! Arrays as numerical programs have them: page-aligned, in large pages where the system gives them.

use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use bytemuck::Pod;
use memmap2::MmapMut;

use crate::Error;

/// A zeroed array that asks for large pages, as NumPy's do from 4 MiB on.
///
/// ```
/// let mut array = pto_bench::Array::<f32>::zeroed(1000)?;
/// array[999] = 1.5;
/// assert_eq!((array.len(), array[0], array[999]), (1000, 0.0, 1.5));
/// # Ok::<(), pto_bench::Error>(())
/// ```
#[derive(Debug)]
pub struct Array<T> {
    memory: MmapMut,
    length: usize,
    element: PhantomData<T>,
}

impl<T: Pod> Array<T> {
    /// `length` zeros.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is no memory.
    pub fn zeroed(length: usize) -> Result<Self, Error> {
        let bytes = (length * size_of::<T>()).max(1);
        let memory = MmapMut::map_anon(bytes).map_err(|cause| Error::Memory { bytes, cause })?;
        // Where there are no large pages, all that is measured has small ones.
        #[cfg(target_os = "linux")]
        let _ = memory.advise(memmap2::Advice::HugePage);
        Ok(Self { memory, length, element: PhantomData })
    }

    /// The values of an iterator, which must not end before.
    ///
    /// # Errors
    /// [`Error::Memory`] if there is no memory.
    pub fn from_values(length: usize, values: impl IntoIterator<Item = T>) -> Result<Self, Error> {
        let mut array = Self::zeroed(length)?;
        array.iter_mut().zip(values).for_each(|(slot, value)| *slot = value);
        Ok(array)
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        bytemuck::cast_slice(&self.memory[..self.length * size_of::<T>()])
    }
}

impl<T: Pod> DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.memory[..self.length * size_of::<T>()])
    }
}
