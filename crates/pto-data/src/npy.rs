//! NumPy's `.npy` files.
//!
//! Versions 1.0, 2.0 and 3.0 are read, C and Fortran order, little- and big-endian; an [`Array`] is always C order and
//! little-endian. Version 1.0 is written.
//!
//! NumPy has no names for bf16 and the 8-bit floats. Saving an array of `ml_dtypes` gives `<V2` for bf16, `<f1` for
//! e5m2 and `<V1` for the other 8-bit floats. All are read: `<f1` as [`F8E5M2`](pto_isa::ElementType::F8E5M2), the `V`
//! types as [opaque](crate::DataType::Opaque) bits. Written are `<V2` and, e5m2 included, `<V1`: NumPy cannot load its
//! own `<f1`. In Python, `np.load(path).view(ml_dtypes.bfloat16)` gives the values back.
//!
//! The header is read by hand, not with the `npyz` crate: that one refuses `<f1`, allocates whatever length a header
//! claims, and parses it with unbounded recursion.

mod header;

use std::{io::Read, path::Path};

use pto_isa::ElementType;

use crate::{
    array::{Array, DataType, byte_count},
    error::{DataError, FormatError},
    file,
};
use header::Header;

const FORM: &str = ".npy";
const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// Far beyond what an array of numbers needs; only structured types have long headers.
const MAX_HEADER: u64 = 1 << 16;

/// Reads a file.
///
/// ```
/// use pto_data::{Array, npy};
/// use pto_isa::ElementType;
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("table.npy");
/// let table = Array::new(ElementType::I8, vec![2, 3], vec![1, 2, 3, 4, 5, 6])?;
/// npy::write(&path, &table)?;
/// assert_eq!(npy::read(&path)?, table);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path) -> Result<Array, DataError> {
    file::read(path, |mut reader, len| read_from(&mut reader, len))
}

/// Reads from anything that holds `len` bytes.
pub fn read_from(reader: &mut impl Read, len: u64) -> Result<Array, FormatError> {
    let not_npy = |reason: String| FormatError::NotThisForm { form: FORM, reason };
    if len < 10 {
        return Err(not_npy(format!("expected at least 10 bytes, found {len}")));
    }
    let prefix = file::take(reader, 8)?;
    if !prefix.starts_with(MAGIC) {
        return Err(not_npy("it does not begin with \\x93NUMPY".to_owned()));
    }
    let length_bytes = match (prefix[6], prefix[7]) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        (major, minor) => return Err(not_npy(format!("expected version 1.0, 2.0 or 3.0, found {major}.{minor}"))),
    };
    let header_len = file::take(reader, length_bytes)?.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte));
    let rest = len.saturating_sub(8 + length_bytes);
    if header_len > rest.min(MAX_HEADER) {
        let reason = format!("its length is {header_len}, expected at most {}", rest.min(MAX_HEADER));
        return Err(FormatError::Header { form: FORM, reason });
    }
    let header = Header::parse(&file::take(reader, header_len)?)?;

    let width = header.data_type.width();
    let (expected, found) = (byte_count(&header.shape, width)?, rest - header_len);
    if expected != found {
        return Err(FormatError::Length { expected, found });
    }
    let mut bytes = file::take(reader, expected)?;
    if header.big_endian {
        bytes.chunks_exact_mut(width as usize).for_each(<[u8]>::reverse);
    }
    if header.fortran_order {
        bytes = row_major(&bytes, &header.shape, width as usize)?;
    }
    Array::new(header.data_type, header.shape, bytes)
}

/// Writes a file.
pub fn write(path: &Path, array: &Array) -> Result<(), DataError> {
    file::write(path, [header(array).as_slice(), array.bytes()])
}

/// Everything before the data: magic, version, length, and the header padded so that the data is 64-byte aligned.
fn header(array: &Array) -> Vec<u8> {
    let shape = array.shape().iter().map(|extent| format!("{extent}, ")).collect::<String>();
    // One extent keeps its comma, several do without the last one.
    let shape = if array.shape().len() == 1 { shape.trim_end() } else { shape.trim_end_matches(", ") };
    let descr = descr(array.data_type());
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let length = (10 + text.len() + 1).next_multiple_of(64) - 10;
    text.extend(std::iter::repeat_n(' ', length - 1 - text.len()));
    text.push('\n');
    // At most 64 extents of 20 digits: two bytes are enough.
    let length = (length as u16).to_le_bytes();
    [MAGIC, [1, 0].as_slice(), length.as_slice(), text.as_bytes()].concat()
}

fn descr(data_type: &DataType) -> String {
    let element = match data_type {
        DataType::Element(element) => *element,
        DataType::Opaque { width, .. } => return format!("<V{width}"),
    };
    match element {
        ElementType::I8 => "|i1",
        ElementType::U8 => "|u1",
        ElementType::I16 => "<i2",
        ElementType::U16 => "<u2",
        ElementType::I32 => "<i4",
        ElementType::U32 => "<u4",
        ElementType::I64 => "<i8",
        ElementType::U64 => "<u8",
        ElementType::F16 => "<f2",
        ElementType::F32 => "<f4",
        ElementType::F64 => "<f8",
        ElementType::BF16 => "<V2",
        ElementType::F8E4M3 | ElementType::F8E5M2 | ElementType::HiF8 => "<V1",
    }
    .to_owned()
}

/// The same array with its last index, not its first, running fastest. The bytes fill the shape.
fn row_major(bytes: &[u8], shape: &[u64], width: usize) -> Result<Vec<u8>, FormatError> {
    let mut out = file::reserve(bytes.len() as u64)?;
    if bytes.is_empty() {
        // Its other extents may be too large to multiply.
        return Ok(out);
    }
    let mut strides = Vec::with_capacity(shape.len());
    let mut stride = width;
    for &extent in shape {
        strides.push(stride);
        stride *= extent as usize;
    }
    let mut index = vec![0; shape.len()];
    let mut offset = 0;
    while out.len() < bytes.len() {
        out.extend_from_slice(&bytes[offset..offset + width]);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            offset += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            offset -= strides[axis] * shape[axis] as usize;
            index[axis] = 0;
        }
    }
    Ok(out)
}
