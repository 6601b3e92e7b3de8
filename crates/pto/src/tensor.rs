//! Global tensors: five-dimensional views of host slices, which stand for global memory.

use core::fmt;
use core::marker::PhantomData;
use core::panic::Location;

use pto_exec::Fault;
use pto_isa::{Element, Role, Tensor};

use crate::error::{Cause, Error};
use crate::layout::{GlobalLayout, Nd};
use crate::sealed::Sealed;
use crate::shape::{Packed, TensorShape, TensorStride, extents, packed};

/// A tensor that can be read and written (`GlobalTensor<T, Shape, Stride, Layout>`), over a `&mut [T]`.
///
/// The slice must be at least as long as the shape and strides address; a shorter one is an error. Only what the
/// shape addresses is ever touched.
///
/// ```
/// use pto::prelude::*;
/// let mut memory = vec![0f32; 64 * 32];
/// let table = GlobalTensor::<f32, Shape<1, 1, 1, 64, 32>>::new(&mut memory)?;
/// assert_eq!(table.describe().elements(), Some(2048));
///
/// let error = GlobalTensor::<f32, Shape<1, 1, 1, 64, 32>>::new(&mut memory[1..]).unwrap_err();
/// assert!(error.to_string().contains("has 8188 bytes, but its shape addresses 8192"));
/// # Ok::<(), pto::Error>(())
/// ```
pub struct GlobalTensor<'a, T: Element, S: TensorShape, St: TensorStride = Packed, L: GlobalLayout = Nd> {
    data: &'a mut [T],
    tensor: Tensor,
    name: Option<&'static str>,
    of: PhantomData<(S, St, L)>,
}

/// A tensor that can only be read, over a `&[T]`.
///
/// ```
/// use pto::prelude::*;
/// let memory = [1i32, 2, 3];
/// assert!(GlobalRef::<i32, Shape<1, 1, 1, 1, 3>>::new(&memory).is_ok());
/// ```
pub struct GlobalRef<'a, T: Element, S: TensorShape, St: TensorStride = Packed, L: GlobalLayout = Nd> {
    data: &'a [T],
    tensor: Tensor,
    name: Option<&'static str>,
    of: PhantomData<(S, St, L)>,
}

/// What the types alone say of a tensor.
pub(crate) const fn of_types<T: Element, S: TensorShape, St: TensorStride, L: GlobalLayout>() -> Tensor {
    let shape = extents(S::DIMS, None);
    let strides = match St::STEPS {
        Some(steps) => extents(steps, None),
        None => packed(shape),
    };
    Tensor { element: T::TYPE, shape, strides, layout: L::LAYOUT }
}

/// The tensor with its run-time extents, and the bytes that it reaches over.
pub(crate) fn describe<T: Element, S: TensorShape, St: TensorStride, L: GlobalLayout>(
    shape: S,
    stride: St,
) -> Result<(Tensor, u64), Cause> {
    let shape = extents(S::DIMS, Some(shape.now()));
    let strides = match St::STEPS {
        Some(steps) => extents(steps, stride.now()),
        None => packed(shape),
    };
    let tensor = Tensor { element: T::TYPE, shape, strides, layout: L::LAYOUT };
    match tensor.span().and_then(|span| span.checked_mul(T::TYPE.size())) {
        Some(bytes) => Ok((tensor, bytes)),
        None => Err(Cause::TensorOverflow { tensor: Box::new(tensor) }),
    }
}

/// The tensor with its run-time extents, if `len` elements are enough for it.
fn measured<T: Element, S: TensorShape, St: TensorStride, L: GlobalLayout>(
    shape: S,
    stride: St,
    len: usize,
) -> Result<Tensor, Cause> {
    let (tensor, needed) = describe::<T, S, St, L>(shape, stride)?;
    let found = len as u64 * T::TYPE.size();
    if found < needed {
        return Err(Fault::ShortBuffer { role: Role::Table, needed, found }.into());
    }
    Ok(tensor)
}

macro_rules! tensors {
    ($name:ident, [$($data:tt)*], $mutability:literal) => {
        impl<'a, T: Element, S: TensorShape, St: TensorStride, L: GlobalLayout> $name<'a, T, S, St, L> {
            /// A tensor whose shape and strides are part of its type.
            ///
            /// # Errors
            /// If the slice is shorter than the tensor, or the size of the tensor overflows.
            ///
            /// ```
            /// use pto::prelude::*;
            #[doc = concat!("let ", $mutability, " memory = [0f32; 24];")]
            #[doc = concat!("let tensor = ", stringify!($name), "::<f32, Shape<1, 1, 1, 3, 8>>::new(&", $mutability, " memory)?;")]
            /// assert_eq!(tensor.describe().span(), Some(24));
            /// # Ok::<(), pto::Error>(())
            /// ```
            #[track_caller]
            pub fn new(data: $($data)* [T]) -> Result<Self, Error> {
                const { assert!(S::IS_STATIC && St::IS_STATIC, "the shape or stride has a DYN part: use `dynamic`") };
                Self::over(data, S::fixed(), St::fixed(), Location::caller())
            }

            /// A tensor whose shape or strides have [`DYN`](crate::DYN) parts.
            ///
            /// # Errors
            /// If the slice is shorter than the tensor, or the size of the tensor overflows.
            ///
            /// ```
            /// use pto::prelude::*;
            #[doc = concat!("let ", $mutability, " memory = [0f32; 30];")]
            /// let shape = Shape::<1, 1, 1, DYN, DYN>::dynamic([3, 10]);
            #[doc = concat!("let tensor = ", stringify!($name), "::<f32, _>::dynamic(&", $mutability, " memory, shape, Packed)?;")]
            /// # let tensor: &dyn core::fmt::Debug = &tensor;
            /// # Ok::<(), pto::Error>(())
            /// ```
            #[track_caller]
            pub fn dynamic(data: $($data)* [T], shape: S, stride: St) -> Result<Self, Error> {
                Self::over(data, shape, stride, Location::caller())
            }

            fn over(
                data: $($data)* [T],
                shape: S,
                stride: St,
                place: &'static Location<'static>,
            ) -> Result<Self, Error> {
                let tensor = measured::<T, S, St, L>(shape, stride, data.len()).map_err(|cause| cause.at(place))?;
                Ok(Self { data, tensor, name: None, of: PhantomData })
            }

            /// The tensor as the rules and executors see it.
            ///
            /// ```
            /// use pto::prelude::*;
            #[doc = concat!("let ", $mutability, " memory = [0u8; 64];")]
            #[doc = concat!("let tensor = ", stringify!($name), "::<u8, Shape<1, 1, 1, 2, 32>>::new(&", $mutability, " memory)?;")]
            /// assert_eq!(tensor.describe().element, pto::isa::ElementType::U8);
            /// # Ok::<(), pto::Error>(())
            /// ```
            pub fn describe(&self) -> Tensor {
                self.tensor
            }

            /// The same tensor with a name: that of its parameter in a [recorded](crate::record) kernel.
            ///
            /// ```
            /// use pto::prelude::*;
            #[doc = concat!("let ", $mutability, " memory = [0u8; 64];")]
            #[doc = concat!("let tensor = ", stringify!($name), "::<u8, Shape<1, 1, 1, 2, 32>>::new(&", $mutability, " memory)?.named(\"table\");")]
            /// assert_eq!(tensor.name(), Some("table"));
            /// # Ok::<(), pto::Error>(())
            /// ```
            #[must_use]
            pub fn named(mut self, name: &'static str) -> Self {
                self.name = Some(name);
                self
            }

            /// The elements behind the tensor.
            ///
            /// ```
            /// use pto::prelude::*;
            #[doc = concat!("let ", $mutability, " memory = [7u8; 32];")]
            #[doc = concat!("let tensor = ", stringify!($name), "::<u8, Shape<1, 1, 1, 1, 32>>::new(&", $mutability, " memory)?;")]
            /// assert_eq!(tensor.data()[31], 7);
            /// # Ok::<(), pto::Error>(())
            /// ```
            pub fn data(&self) -> &[T] {
                self.data
            }
        }

        impl<T: Element, S: TensorShape, St: TensorStride, L: GlobalLayout> Sealed for $name<'_, T, S, St, L> {}

        impl<T: Element, S: TensorShape, St: TensorStride, L: GlobalLayout> Table for $name<'_, T, S, St, L> {
            type Element = T;
            const STATIC: Tensor = of_types::<T, S, St, L>();

            fn operand(&self) -> Tensor {
                self.tensor
            }

            fn name(&self) -> Option<&'static str> {
                self.name
            }

            fn bytes(&self) -> &[u8] {
                bytemuck::cast_slice(self.data)
            }
        }

        impl<T: Element, S: TensorShape, St: TensorStride, L: GlobalLayout> fmt::Debug for $name<'_, T, S, St, L> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.tensor)
            }
        }
    };
}

tensors! { GlobalTensor, [&'a mut], "mut" }
tensors! { GlobalRef, [&'a], "" }

impl<T: Element, S: TensorShape, St: TensorStride, L: GlobalLayout> TableMut for GlobalTensor<'_, T, S, St, L> {
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self.data)
    }
}

/// Any tensor, as an operand that is read.
///
/// ```
/// use pto::prelude::*;
/// fn elements<G: Table>(table: &G) -> Option<u64> {
///     table.operand().elements()
/// }
/// assert_eq!(elements(&GlobalRef::<u8, Shape<1, 1, 1, 2, 32>>::new(&[0; 64])?), Some(64));
/// # Ok::<(), pto::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a global tensor",
    label = "expected a `GlobalTensor` or `GlobalRef`",
    note = "wrap the slice: `GlobalRef::<T, Shape<1, 1, 1, ROWS, COLS>>::new(&slice)?`"
)]
pub trait Table: Sealed {
    /// Element type.
    type Element: Element;
    /// What the type alone says of the tensor.
    const STATIC: Tensor;
    /// The tensor as the rules and executors see it now.
    fn operand(&self) -> Tensor;
    /// Its name, if it was given one.
    fn name(&self) -> Option<&'static str>;
    /// The bytes behind it, from element 0.
    fn bytes(&self) -> &[u8];
}

/// Any tensor, as an operand that is written.
///
/// ```
/// use pto::prelude::*;
/// fn clear(table: &mut impl TableMut) {
///     table.bytes_mut().fill(0);
/// }
/// let mut memory = [1u8; 32];
/// clear(&mut GlobalTensor::<u8, Shape<1, 1, 1, 1, 32>>::new(&mut memory)?);
/// assert_eq!(memory, [0; 32]);
/// # Ok::<(), pto::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written",
    label = "expected a `GlobalTensor`",
    note = "a `GlobalRef` is read-only: build a `GlobalTensor` over a `&mut` slice"
)]
pub trait TableMut: Table {
    /// The bytes behind it, from element 0.
    fn bytes_mut(&mut self) -> &mut [u8];
}
