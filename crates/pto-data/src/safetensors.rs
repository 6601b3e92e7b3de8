//! Safetensors files: several named arrays behind a JSON header.
//!
//! Only the header and the one tensor asked for are read, so a large model costs no more than the tensor. The header is
//! judged by the `safetensors` crate (offsets without holes, sizes that fit shapes) and held against the file's length.
//!
//! HiFloat8 has no name in this form and is written as `U8`, as are opaque bytes; wider opaque elements as `U16` and so
//! on.

use std::{
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use ::safetensors::{
    Dtype,
    tensor::{Metadata, TensorInfo},
};
use pto_isa::ElementType;

use crate::{
    array::{Array, DataType, byte_count},
    error::{DataError, FormatError},
    file,
};

const FORM: &str = ".safetensors";
/// Some 100,000 tensors; the form's own limit of 100 MB would let a small file ask for gigabytes of parsed header.
const MAX_HEADER: u64 = 16 << 20;

/// Reads the tensor named `key`.
///
/// ```
/// use pto_data::{Array, safetensors};
/// use pto_isa::ElementType;
/// # let directory = tempfile::tempdir().unwrap();
/// # let path = directory.path().join("model.safetensors");
/// let table = Array::new(ElementType::BF16, vec![2], vec![0x80, 0x3f, 0, 0])?;
/// safetensors::write(&path, &[("table", &table)])?;
/// assert_eq!(safetensors::read(&path, "table")?, table);
///
/// let error = safetensors::read(&path, "tabel").unwrap_err().to_string();
/// assert!(error.ends_with("no tensor `tabel`: the file holds table"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: &Path, key: &str) -> Result<Array, DataError> {
    file::read(path, |mut reader, len| read_from(&mut reader, len, key))
}

/// Reads the tensor named `key` from anything that holds `len` bytes, from its start.
pub fn read_from(reader: &mut (impl Read + Seek), len: u64, key: &str) -> Result<Array, FormatError> {
    let not_this = |reason| FormatError::NotThisForm { form: FORM, reason };
    if len < 8 {
        return Err(not_this(format!("expected at least 8 bytes, found {len}")));
    }
    let header_len = file::take(reader, 8)?.iter().rev().fold(0, |n, &byte| n << 8 | u64::from(byte));
    let limit = MAX_HEADER.min(len - 8);
    if header_len > limit {
        return Err(not_this(format!("the header's length is {header_len}, expected at most {limit}")));
    }
    let metadata: Metadata = serde_json::from_slice(&file::take(reader, header_len)?)
        .map_err(|error| FormatError::Header { form: FORM, reason: error.to_string() })?;

    // Offsets are without holes, so the last one is the length of all data.
    let expected = metadata.data_len() as u64;
    let found = len - 8 - header_len;
    if expected != found {
        return Err(FormatError::Length { expected, found });
    }
    let Some(info) = metadata.info(key) else {
        let mut keys = metadata.offset_keys();
        keys.sort();
        return Err(FormatError::NoTensor { key: key.to_owned(), keys });
    };
    let data_type = data_type(info.dtype)?;
    let shape: Vec<u64> = info.shape.iter().map(|&extent| extent as u64).collect();
    let size = byte_count(&shape, data_type.width())?;
    reader.seek(SeekFrom::Start(8 + header_len + info.data_offsets.0 as u64))?;
    Array::new(data_type, shape, file::take(reader, size)?)
}

/// Writes a file of these tensors. A name that occurs twice is refused.
pub fn write(path: &Path, tensors: &[(&str, &Array)]) -> Result<(), DataError> {
    let mut tensors = tensors.to_vec();
    // Widest first keeps every tensor aligned to its elements; by name makes the file reproducible.
    tensors.sort_by_key(|(name, array)| (std::cmp::Reverse(array.data_type().width()), *name));
    let header = header(&tensors).map_err(|source| DataError::File { path: path.to_owned(), source })?;
    let length = (header.len() as u64).to_le_bytes();
    let data = tensors.iter().map(|(_, array)| array.bytes());
    file::write(path, [length.as_slice(), header.as_slice()].into_iter().chain(data))
}

/// The JSON header, padded so that the data is 8-byte aligned.
fn header(tensors: &[(&str, &Array)]) -> Result<Vec<u8>, FormatError> {
    let malformed = |reason: String| FormatError::Header { form: FORM, reason };
    let mut names: Vec<&str> = tensors.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(malformed(format!("two tensors are named `{}`", pair[0])));
    }
    if names.contains(&"__metadata__") {
        return Err(malformed("`__metadata__` is reserved: give the tensor another name".to_owned()));
    }
    let mut end = 0;
    let infos = tensors.iter().map(|(name, array)| {
        let start = end;
        end += array.bytes().len();
        let shape = array.shape().iter().map(|&extent| extent as usize).collect();
        ((*name).to_owned(), TensorInfo { dtype: dtype(array.data_type()), shape, data_offsets: (start, end) })
    });
    let metadata = Metadata::new(None, infos.collect()).map_err(|error| malformed(error.to_string()))?;
    let mut header = serde_json::to_vec(&metadata).map_err(|error| malformed(error.to_string()))?;
    header.resize(header.len().next_multiple_of(8), b' ');
    Ok(header)
}

fn data_type(dtype: Dtype) -> Result<DataType, FormatError> {
    Ok(DataType::Element(match dtype {
        Dtype::I8 => ElementType::I8,
        Dtype::U8 => ElementType::U8,
        Dtype::I16 => ElementType::I16,
        Dtype::U16 => ElementType::U16,
        Dtype::I32 => ElementType::I32,
        Dtype::U32 => ElementType::U32,
        Dtype::I64 => ElementType::I64,
        Dtype::U64 => ElementType::U64,
        Dtype::F16 => ElementType::F16,
        Dtype::BF16 => ElementType::BF16,
        Dtype::F32 => ElementType::F32,
        Dtype::F64 => ElementType::F64,
        Dtype::F8_E4M3 => ElementType::F8E4M3,
        Dtype::F8_E5M2 => ElementType::F8E5M2,
        other => {
            let name = other.to_string();
            return match other.bitsize() {
                bits @ (8 | 16 | 32 | 64) => Ok(DataType::Opaque { name, width: (bits / 8) as u8 }),
                _ => Err(FormatError::Unsupported { found: name, advice: "store it with a type of whole bytes" }),
            };
        }
    }))
}

fn dtype(data_type: &DataType) -> Dtype {
    match data_type {
        DataType::Element(element) => match element {
            ElementType::I8 => Dtype::I8,
            ElementType::U8 | ElementType::HiF8 => Dtype::U8,
            ElementType::I16 => Dtype::I16,
            ElementType::U16 => Dtype::U16,
            ElementType::I32 => Dtype::I32,
            ElementType::U32 => Dtype::U32,
            ElementType::I64 => Dtype::I64,
            ElementType::U64 => Dtype::U64,
            ElementType::F16 => Dtype::F16,
            ElementType::BF16 => Dtype::BF16,
            ElementType::F32 => Dtype::F32,
            ElementType::F64 => Dtype::F64,
            ElementType::F8E4M3 => Dtype::F8_E4M3,
            ElementType::F8E5M2 => Dtype::F8_E5M2,
        },
        DataType::Opaque { width, .. } => match width {
            1 => Dtype::U8,
            2 => Dtype::U16,
            4 => Dtype::U32,
            _ => Dtype::U64,
        },
    }
}
