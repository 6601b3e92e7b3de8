//! Shapes and strides of global tensors, five dimensions each, static or dynamic.

use pto_isa::Extent;

use crate::sealed::Sealed;
use crate::tile::{DYN, extent};

/// Extents of a global tensor, outermost first; [`DYN`] where only the run knows.
///
/// ```
/// use pto::prelude::*;
/// type Table = Shape<1, 1, 1, DYN, DYN>;
/// let shape = Table::dynamic([3, 10]);
/// assert_eq!(shape.values(), [1, 1, 1, 3, 10]);
/// ```
///
/// One value for each `DYN`, or it does not compile:
///
/// ```compile_fail
/// use pto::prelude::*;
/// let shape = Shape::<1, 1, 1, DYN, DYN>::dynamic([3]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape<const D0: usize, const D1: usize, const D2: usize, const D3: usize, const D4: usize> {
    values: [usize; 5],
}

/// Distances between neighbours along each dimension of a global tensor, in elements.
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(Stride::<1, 1, 1, DYN, 1>::dynamic([10]).values(), [1, 1, 1, 10, 1]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stride<const S0: usize, const S1: usize, const S2: usize, const S3: usize, const S4: usize> {
    values: [usize; 5],
}

/// The strides of a tensor without gaps, whatever its shape.
///
/// ```
/// use pto::prelude::*;
/// let data = [0f32; 6];
/// let table = GlobalRef::<f32, Shape<1, 1, 1, 2, 3>, Packed>::new(&data)?;
/// assert_eq!(table.describe().strides[3].known(), Some(3));
/// # Ok::<(), pto::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packed;

/// A [`Shape`].
///
/// ```
/// use pto::prelude::*;
/// use pto::TensorShape;
/// assert!(<Shape<1, 1, 1, 4, 8> as TensorShape>::IS_STATIC);
/// assert!(!<Shape<1, 1, 1, DYN, 8> as TensorShape>::IS_STATIC);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor shape",
    label = "expected a `Shape`",
    note = "write `Shape<1, 1, 1, ROWS, COLS>`, with `DYN` for what only the run knows"
)]
pub trait TensorShape: Sealed + Copy {
    /// The extents of the type, [`DYN`] included.
    const DIMS: [usize; 5];
    /// True if no extent is [`DYN`].
    const IS_STATIC: bool = count_dynamic(Self::DIMS) == 0;
    /// The shape of a type without dynamic extents.
    fn fixed() -> Self;
    /// The extents now.
    fn now(&self) -> [usize; 5];
}

/// A [`Stride`], or [`Packed`].
///
/// ```
/// use pto::prelude::*;
/// use pto::TensorStride;
/// assert_eq!(<Stride<32, 32, 32, 8, 1> as TensorStride>::STEPS, Some([32, 32, 32, 8, 1]));
/// assert_eq!(<Packed as TensorStride>::STEPS, None);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tensor stride",
    label = "expected a `Stride` or `Packed`",
    note = "write `Stride<S0, S1, S2, S3, S4>` in elements, or leave it out for a tensor without gaps"
)]
pub trait TensorStride: Sealed + Copy {
    /// The strides of the type, [`DYN`] included; `None` if they follow from the shape.
    const STEPS: Option<[usize; 5]>;
    /// True if no stride is [`DYN`].
    const IS_STATIC: bool = match Self::STEPS {
        Some(steps) => count_dynamic(steps) == 0,
        None => true,
    };
    /// The strides of a type without dynamic ones.
    fn fixed() -> Self;
    /// The strides now; `None` if they follow from the shape.
    fn now(&self) -> Option<[usize; 5]>;
}

const fn count_dynamic(dims: [usize; 5]) -> usize {
    let (mut count, mut i) = (0, 0);
    while i < 5 {
        count += (dims[i] == DYN) as usize;
        i += 1;
    }
    count
}

fn fill<const N: usize>(dims: [usize; 5], values: [usize; N]) -> [usize; 5] {
    let mut values = values.into_iter();
    dims.map(|of_type| if of_type == DYN { values.next().unwrap_or(0) } else { of_type })
}

macro_rules! five {
    ($name:ident, $what:literal, $example:literal) => {
        impl<const D0: usize, const D1: usize, const D2: usize, const D3: usize, const D4: usize>
            $name<D0, D1, D2, D3, D4>
        {
            #[doc = concat!("The ", $what, " with one value for each [`DYN`], outermost first.")]
            ///
            /// ```
            /// use pto::prelude::*;
            #[doc = $example]
            /// ```
            pub fn dynamic<const N: usize>(values: [usize; N]) -> Self {
                const { assert!(N == count_dynamic([D0, D1, D2, D3, D4]), "give one value for each DYN") };
                Self { values: fill([D0, D1, D2, D3, D4], values) }
            }

            #[doc = concat!("The five values of the ", $what, ".")]
            ///
            /// ```
            /// use pto::prelude::*;
            #[doc = $example]
            /// ```
            pub const fn values(&self) -> [usize; 5] {
                self.values
            }
        }

        impl<const D0: usize, const D1: usize, const D2: usize, const D3: usize, const D4: usize> Sealed
            for $name<D0, D1, D2, D3, D4>
        {
        }
    };
}

five! { Shape, "shape", "assert_eq!(Shape::<1, 1, 1, DYN, 8>::dynamic([4]).values()[3], 4);" }
five! { Stride, "strides", "assert_eq!(Stride::<1, 1, 1, DYN, 1>::dynamic([8]).values()[3], 8);" }

impl<const D0: usize, const D1: usize, const D2: usize, const D3: usize, const D4: usize> TensorShape
    for Shape<D0, D1, D2, D3, D4>
{
    const DIMS: [usize; 5] = [D0, D1, D2, D3, D4];

    fn fixed() -> Self {
        Self { values: Self::DIMS }
    }

    fn now(&self) -> [usize; 5] {
        self.values
    }
}

impl<const D0: usize, const D1: usize, const D2: usize, const D3: usize, const D4: usize> TensorStride
    for Stride<D0, D1, D2, D3, D4>
{
    const STEPS: Option<[usize; 5]> = Some([D0, D1, D2, D3, D4]);

    fn fixed() -> Self {
        Self { values: [D0, D1, D2, D3, D4] }
    }

    fn now(&self) -> Option<[usize; 5]> {
        Some(self.values)
    }
}

impl Sealed for Packed {}
impl TensorStride for Packed {
    const STEPS: Option<[usize; 5]> = None;

    fn fixed() -> Self {
        Self
    }

    fn now(&self) -> Option<[usize; 5]> {
        None
    }
}

/// Five extents as the rules see them.
pub(crate) const fn extents(of_type: [usize; 5], values: Option<[usize; 5]>) -> [Extent; 5] {
    let mut all = [Extent::Dynamic(None); 5];
    let mut i = 0;
    while i < 5 {
        let value = match values {
            Some(values) => Some(values[i]),
            None => None,
        };
        all[i] = extent(of_type[i], value);
        i += 1;
    }
    all
}

/// The strides of a tensor without gaps; unknown where an extent is unknown or the product overflows.
pub(crate) const fn packed(shape: [Extent; 5]) -> [Extent; 5] {
    let mut strides = [Extent::Static(1); 5];
    let mut i = 4;
    while i > 0 {
        let step = match (strides[i].known(), shape[i].known()) {
            (Some(step), Some(extent)) => step.checked_mul(extent),
            _ => None,
        };
        strides[i - 1] = match step {
            Some(step) if !strides[i].is_dynamic() && !shape[i].is_dynamic() => Extent::Static(step),
            step => Extent::Dynamic(step),
        };
        i -= 1;
    }
    strides
}
