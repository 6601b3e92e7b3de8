//! The array: bytes with a shape and a type.

use std::fmt;

use pto_isa::{ElementClass, ElementType};

use crate::error::FormatError;

/// The most bytes one array may have: 16 GiB.
pub const MAX_BYTES: u64 = 16 << 30;

/// The most dimensions an array may have, as in NumPy.
pub const MAX_RANK: usize = 64;

/// What the elements of an array are: a PTO element type, or bits of a width that carry some other name.
///
/// ```
/// use pto_data::DataType;
/// use pto_isa::ElementType;
/// assert_eq!(DataType::from(ElementType::F16).to_string(), "f16");
/// assert_eq!(DataType::Opaque { name: "<V2".into(), width: 2 }.to_string(), "`<V2` (2 bytes each)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DataType {
    /// A PTO element type.
    Element(ElementType),
    /// Bits whose meaning the file does not tell, like NumPy's `<V2` for a bfloat16 array.
    Opaque {
        /// The type as the file spells it.
        name: String,
        /// Bytes per element: 1, 2, 4 or 8.
        width: u8,
    },
}

impl DataType {
    /// Bytes per element.
    pub fn width(&self) -> u64 {
        match self {
            Self::Element(element) => element.size(),
            Self::Opaque { width, .. } => u64::from(*width),
        }
    }

    /// True if an array of this type may be given to a parameter of type `element`: the same type, or any type of the
    /// same width for bf16 and the 8-bit floats.
    pub fn fits(&self, element: ElementType) -> bool {
        let bits = element == ElementType::BF16 || element.class() == ElementClass::Float8;
        *self == Self::Element(element) || bits && self.width() == element.size()
    }
}

impl From<ElementType> for DataType {
    fn from(element: ElementType) -> Self {
        Self::Element(element)
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Element(element) => element.fmt(f),
            Self::Opaque { name, width: 1 } => write!(f, "`{name}` (1 byte each)"),
            Self::Opaque { name, width } => write!(f, "`{name}` ({width} bytes each)"),
        }
    }
}

/// An array: little-endian elements in row-major order. Its bytes always fill its shape exactly.
///
/// ```
/// use pto_data::{Array, FormatError};
/// use pto_isa::ElementType;
///
/// let array = Array::new(ElementType::U16, vec![2, 3], vec![0; 12])?;
/// assert_eq!(array.elements(), 6);
/// // bf16 parameters take any two-byte elements, f16 parameters do not.
/// assert!(array.clone().into_element(ElementType::BF16).is_ok());
/// assert!(array.into_element(ElementType::F16).is_err());
/// # Ok::<(), FormatError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    data_type: DataType,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

impl Array {
    /// The array of these bytes; refused if they do not fill the shape exactly.
    pub fn new(data_type: impl Into<DataType>, shape: Vec<u64>, bytes: Vec<u8>) -> Result<Self, FormatError> {
        let data_type = data_type.into();
        let width = data_type.width();
        let (expected, found) = (byte_count(&shape, width)?, bytes.len() as u64);
        if expected != found {
            return Err(FormatError::Bytes { shape, width, expected, found });
        }
        Ok(Self { data_type, shape, bytes })
    }

    /// What the elements are.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The extents, outermost first; empty for a single element.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// The number of elements.
    pub fn elements(&self) -> u64 {
        self.bytes.len() as u64 / self.data_type.width()
    }

    /// The elements, little-endian, row-major.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Gives the bytes away without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The same bits as elements of a parameter's type, if they [fit](DataType::fits) it.
    pub fn into_element(self, element: ElementType) -> Result<Self, FormatError> {
        if !self.data_type.fits(element) {
            return Err(FormatError::ElementType { expected: element, found: self.data_type });
        }
        Ok(Self { data_type: element.into(), ..self })
    }
}

/// Bytes that a shape needs, at most [`MAX_BYTES`].
pub(crate) fn byte_count(shape: &[u64], width: u64) -> Result<u64, FormatError> {
    if shape.len() > MAX_RANK {
        return Err(FormatError::Rank(shape.len()));
    }
    // A zero extent makes the array empty whatever the others say, so it must not be hidden by their overflow.
    let elements = if shape.contains(&0) { Some(0) } else { shape.iter().try_fold(1u64, |n, &d| n.checked_mul(d)) };
    elements
        .and_then(|n| n.checked_mul(width))
        .filter(|&bytes| bytes <= MAX_BYTES && usize::try_from(bytes).is_ok())
        .ok_or_else(|| FormatError::TooLarge { shape: shape.to_vec(), width })
}
