//! From the words of a case to described operands and their bytes.

use std::path::Path;

use pto_isa::{BLayout, ElementType, Extent, Location, Rule, SLayout, Tensor, TensorLayout, Tile, rules};

use crate::array::{self, ArrayError};
use crate::case;

/// Why a case is not an instruction.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// The case names something that does not exist: refused, as a program would be.
    #[error("{}: {what}", rule.name)]
    Refused { rule: &'static Rule, what: String },
    /// The case itself is not well formed.
    #[error("{0}")]
    Malformed(String),
    /// An array of the case could not be read.
    #[error(transparent)]
    Array(#[from] ArrayError),
}

pub(crate) fn malformed(what: impl Into<String>) -> LoadError {
    LoadError::Malformed(what.into())
}

/// A value by its name, or a refusal that lists the names there are.
pub(crate) fn named<T: Copy>(
    rule: &'static Rule,
    name: &str,
    from_name: impl Fn(&str) -> Option<T>,
    names: &[&str],
) -> Result<T, LoadError> {
    let what = || format!("expected one of {}, found {name:?}", names.join(", "));
    from_name(name).ok_or_else(|| LoadError::Refused { rule, what: what() })
}

macro_rules! by_name {
    ($rule:expr, $type:ty, $name:expr) => {
        $crate::operand::named(
            $rule,
            $name,
            <$type>::from_name,
            &<$type>::ALL.iter().map(|v| v.name()).collect::<Vec<_>>(),
        )
    };
}
pub(crate) use by_name;

pub(crate) fn natural(value: i64, what: &str) -> Result<u64, LoadError> {
    u64::try_from(value).map_err(|_| LoadError::Refused {
        rule: rules::SHAPE_NEGATIVE,
        what: format!("expected {what} to be zero or more, found {value}"),
    })
}

pub(crate) fn tile(case: &case::Tile) -> Result<Tile, LoadError> {
    let extent = |value: i64, what: &str| {
        let value = natural(value, what)?;
        Ok::<_, LoadError>(if case.dynamic { Extent::Dynamic(Some(value)) } else { Extent::Static(value) })
    };
    let mut tile = Tile::new(
        by_name!(rules::TYPE_NAME, ElementType, &case.dtype)?,
        natural(case.rows, "rows")?,
        natural(case.cols, "cols")?,
    );
    tile.valid_rows = extent(case.valid_rows, "valid_rows")?;
    tile.valid_cols = extent(case.valid_cols, "valid_cols")?;
    if let Some(location) = &case.loc {
        tile.location = by_name!(rules::LAYOUT_LOCATION, Location, location)?;
    }
    if let Some(layout) = &case.blayout {
        tile.blayout = by_name!(rules::POLICY_NAME, BLayout, layout)?;
    }
    if let Some(layout) = &case.slayout {
        tile.slayout = by_name!(rules::POLICY_NAME, SLayout, layout)?;
    }
    if let Some(fractal) = case.fractal {
        tile.fractal = natural(fractal, "fractal")?;
    }
    tile.address = case.addr.map(|address| natural(address, "addr")).transpose()?;
    Ok(tile)
}

pub(crate) fn tensor(case: &case::Tensor) -> Result<Tensor, LoadError> {
    let naturals = |values: &[i64; 5], what: &str| {
        let mut naturals = [0; 5];
        for (to, value) in naturals.iter_mut().zip(values) {
            *to = natural(*value, what)?;
        }
        Ok::<_, LoadError>(naturals)
    };
    let tensor = Tensor::strided(
        by_name!(rules::TYPE_NAME, ElementType, &case.dtype)?,
        naturals(&case.shape, "shape")?,
        naturals(&case.strides, "strides")?,
        by_name!(rules::POLICY_NAME, TensorLayout, &case.layout)?,
    );
    Ok(if case.dynamic { tensor.into_dynamic() } else { tensor })
}

/// What stands in the padding of tiles: no result may depend on it.
const POISON: u8 = 0xa5;

/// Positions of the valid region in logical row-major order, as byte offsets into the tile.
pub(crate) fn valid_positions(tile: &Tile) -> impl Iterator<Item = usize> + '_ {
    let (rows, cols) = (tile.valid_rows.known().unwrap_or(0), tile.valid_cols.known().unwrap_or(0));
    let size = tile.element.size();
    (0..rows).flat_map(move |row| (0..cols).map(move |col| (tile.offset(row, col) * size) as usize))
}

fn valid_bytes(tile: &Tile) -> Result<u64, LoadError> {
    let overflow = || malformed("the valid region of a tile overflows");
    let elements = tile.valid_rows.known().unwrap_or(0).checked_mul(tile.valid_cols.known().unwrap_or(0));
    elements.and_then(|n| n.checked_mul(tile.element.size())).ok_or_else(overflow)
}

/// The bytes of a tile's whole allocation: its valid region from the file (or zero), poison elsewhere.
pub(crate) fn tile_bytes(folder: &Path, case: &case::Tile, tile: &Tile) -> Result<Vec<u8>, LoadError> {
    let length = tile.bytes().ok_or_else(|| malformed("the size of a tile overflows"))?;
    let mut bytes = array::zeros(length)?;
    bytes.fill(POISON);
    let size = tile.element.size() as usize;
    let values = match &case.data.file {
        Some(_) => file(folder, &case.data, 0, valid_bytes(tile)?)?,
        None => array::zeros(valid_bytes(tile)?)?,
    };
    for (position, value) in valid_positions(tile).zip(values.chunks_exact(size)) {
        let end = position + size;
        bytes
            .get_mut(position..end)
            .ok_or_else(|| malformed("a tile is valid beyond its padded extents"))?
            .copy_from_slice(value);
    }
    Ok(bytes)
}

/// Bytes of a tensor's buffer.
pub(crate) fn tensor_length(tensor: &Tensor) -> Result<u64, LoadError> {
    let overflow = || malformed("the size of a tensor overflows");
    tensor.span().and_then(|span| span.checked_mul(tensor.element.size())).ok_or_else(overflow)
}

/// The bytes of a tensor's whole buffer, the `i`-th where there are several.
pub(crate) fn tensor_bytes(folder: &Path, data: &case::Data, i: usize, tensor: &Tensor) -> Result<Vec<u8>, LoadError> {
    let length = tensor_length(tensor)?;
    match &data.file {
        Some(_) => file(folder, data, i, length),
        None => Ok(array::zeros(length)?),
    }
}

fn file(folder: &Path, data: &case::Data, i: usize, length: u64) -> Result<Vec<u8>, LoadError> {
    let names = data.file.as_ref().ok_or_else(|| malformed("no file"))?;
    let name = names.at(i).ok_or_else(|| malformed(format!("no file for rank {i}")))?;
    let offset = data.file_offset.as_ref().map_or(Some(&0), |offsets| offsets.at(i));
    let offset = *offset.ok_or_else(|| malformed(format!("no file_offset for rank {i}")))?;
    Ok(array::read(folder, name, offset, length)?)
}

/// The results that are legal for an operand of `length` bytes: one `golden`, or any of `golden_any`.
pub(crate) fn goldens(folder: &Path, data: &case::Data, i: usize, length: u64) -> Result<Vec<Vec<u8>>, LoadError> {
    if let Some(names) = &data.golden_any {
        if names.is_empty() {
            return Err(malformed("golden_any lists no outcome"));
        }
        return names
            .iter()
            .enumerate()
            .map(|(k, name)| {
                let offset = data.golden_any_offset.as_ref().map_or(Some(&0), |offsets| offsets.at(k));
                let offset = *offset.ok_or_else(|| malformed("golden_any_offset is shorter than golden_any"))?;
                Ok(array::read(folder, name, offset, length)?)
            })
            .collect();
    }
    let Some(names) = &data.golden else {
        return Err(malformed("a case that expects ok needs a golden on what it writes"));
    };
    let name = names.at(i).ok_or_else(|| malformed(format!("no golden for rank {i}")))?;
    let offset = data.golden_offset.as_ref().map_or(Some(&0), |offsets| offsets.at(i));
    let offset = *offset.ok_or_else(|| malformed(format!("no golden_offset for rank {i}")))?;
    Ok(vec![array::read(folder, name, offset, length)?])
}
