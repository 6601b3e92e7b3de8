//! From a value to what a parameter of a known type gets.

use std::path::Path;

use pto_isa::ElementType;

use crate::{
    array::Array,
    error::{DataError, ValueError},
    npy, raw, safetensors,
    scalar::Scalar,
    value::Value,
};

impl Value {
    /// The array for a buffer of this element type.
    ///
    /// The array's type must be the same; a buffer of bf16 or 8-bit floats takes any type of the same width, bits
    /// unchanged. The result's type is `element` either way.
    ///
    /// ```
    /// use pto_data::Value;
    /// use pto_isa::ElementType;
    /// let value: Value = "iota:3".parse()?;
    /// assert_eq!(value.load_array(ElementType::U8)?.bytes(), [0, 1, 2]);
    ///
    /// let number: Value = "3".parse()?;
    /// let error = number.load_array(ElementType::U8).unwrap_err().to_string();
    /// assert!(error.contains("buffer of u8, found the number 3"));
    /// # Ok::<(), pto_data::DataError>(())
    /// ```
    pub fn load_array(&self, element: ElementType) -> Result<Array, DataError> {
        let typed = |path: &Path, array: Array| {
            array.into_element(element).map_err(|source| DataError::File { path: path.to_owned(), source })
        };
        match self {
            Self::Npy(path) => typed(path, npy::read(path)?),
            Self::SafeTensors { path, key } => typed(path, safetensors::read(path, key)?),
            Self::Raw(path) => raw::read(path, element),
            Self::Generated(generator) => Ok(generator.generate(element)?),
            Self::Number(number) => Err(ValueError::NumberForBuffer { element, found: number.to_string() }.into()),
        }
    }

    /// The scalar of this type; only a number will do. Use `I64` for a parameter of type `index`.
    ///
    /// ```
    /// use pto_data::Value;
    /// use pto_isa::ElementType;
    /// let value: Value = "-2".parse()?;
    /// assert_eq!(value.load_scalar(ElementType::I32)?.integer(), Some(-2));
    /// assert!(value.load_scalar(ElementType::U32).is_err());
    /// # Ok::<(), pto_data::DataError>(())
    /// ```
    pub fn load_scalar(&self, element: ElementType) -> Result<Scalar, DataError> {
        match self {
            Self::Number(number) => Ok(number.to_scalar(element)?),
            _ => Err(ValueError::ArrayForScalar { element, found: self.to_string() }.into()),
        }
    }
}
