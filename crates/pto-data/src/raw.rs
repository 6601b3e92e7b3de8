//! `.bin` files: elements and nothing else.

use std::path::Path;

use pto_isa::ElementType;

use crate::{array::Array, error::DataError, error::FormatError, file};

/// Reads a file as a one-dimensional array of little-endian elements.
///
/// ```
/// use pto_data::{Array, raw};
/// use pto_isa::ElementType;
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("index.bin");
/// raw::write(&path, &Array::new(ElementType::U16, vec![1, 2], vec![1, 0, 2, 0])?)?;
/// assert_eq!(raw::read(&path, ElementType::U16)?.shape(), [2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path, element: ElementType) -> Result<Array, DataError> {
    file::read(path, |mut reader, len| {
        if len % element.size() != 0 {
            return Err(FormatError::Partial { element, found: len });
        }
        let shape = vec![len / element.size()];
        crate::array::byte_count(&shape, element.size())?;
        Array::new(element, shape, file::take(&mut reader, len)?)
    })
}

/// Writes the array's bytes; shape and type are lost.
pub fn write(path: &Path, array: &Array) -> Result<(), DataError> {
    file::write(path, [array.bytes()])
}
