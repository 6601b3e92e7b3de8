//! Tensors: five-dimensional operands in global memory (`GlobalTensor`).

use core::fmt;

use crate::tile::names;
use crate::{ElementType, Extent};

/// Storage order of a tensor (`Layout`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum TensorLayout {
    /// Row-major.
    Nd,
    /// Column-major.
    Dn,
    /// Fractal blocks: shape `[B, BlockCols, BlockRows, 16, C0]`.
    Nz,
}

names!(TensorLayout { Nd = "nd", Dn = "dn", Nz = "nz" });

/// The description of a global tensor: everything but its bytes.
///
/// ```
/// use pto_isa::{ElementType, Tensor};
/// let table = Tensor::packed(ElementType::F32, [1, 1, 1, 64, 32]);
/// assert_eq!(table.span(), Some(64 * 32));
/// assert_eq!(table.to_string(), "f32 nd [1, 1, 1, 64, 32] strides [2048, 2048, 2048, 32, 1]");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// Element type.
    pub element: ElementType,
    /// Extents of the five dimensions, outermost first.
    pub shape: [Extent; 5],
    /// Distance in elements between neighbours along each dimension.
    pub strides: [Extent; 5],
    /// Storage order.
    pub layout: TensorLayout,
}

impl Tensor {
    /// A static ND tensor whose rows follow each other without gaps.
    ///
    /// Strides that overflow become the largest number, which the overflow rule then reports.
    pub const fn packed(element: ElementType, shape: [u64; 5]) -> Self {
        let mut strides = [Extent::Static(1); 5];
        let mut step = Some(1u64);
        let mut i = 5;
        while i > 0 {
            i -= 1;
            strides[i] = match step {
                Some(value) => Extent::Static(value),
                None => Extent::Static(u64::MAX),
            };
            step = match step {
                Some(value) => value.checked_mul(shape[i]),
                None => None,
            };
        }
        Self { element, shape: statics(shape), strides, layout: TensorLayout::Nd }
    }

    /// A static tensor with strides of its own.
    pub const fn strided(element: ElementType, shape: [u64; 5], strides: [u64; 5], layout: TensorLayout) -> Self {
        Self { element, shape: statics(shape), strides: statics(strides), layout }
    }

    /// The same tensor with all extents and strides known at run time only.
    pub const fn into_dynamic(mut self) -> Self {
        let mut i = 0;
        while i < 5 {
            self.shape[i] = Extent::Dynamic(self.shape[i].known());
            self.strides[i] = Extent::Dynamic(self.strides[i].known());
            i += 1;
        }
        self
    }

    /// The tensor as a checker sees it before the program runs: dynamic extents forgotten.
    pub const fn erased(mut self) -> Self {
        let mut i = 0;
        while i < 5 {
            self.shape[i] = self.shape[i].erased();
            self.strides[i] = self.strides[i].erased();
            i += 1;
        }
        self
    }

    /// Product of the extents `from..to`; `None` if one is unknown or the product overflows.
    pub const fn product(&self, from: usize, to: usize) -> Option<u64> {
        let mut product = 1u64;
        let mut i = from;
        while i < to {
            product = match self.shape[i].known() {
                Some(extent) => match product.checked_mul(extent) {
                    Some(product) => product,
                    None => return None,
                },
                None => return None,
            };
            i += 1;
        }
        Some(product)
    }

    /// Number of elements; `None` if an extent is unknown or the product overflows.
    pub const fn elements(&self) -> Option<u64> {
        self.product(0, 5)
    }

    /// True if the tensor is known to have no element: one extent of zero is enough, whatever the others are.
    ///
    /// ```
    /// use pto_isa::{ElementType::F32, Tensor};
    /// assert!(Tensor::packed(F32, [1, 1, 1, 8, 0]).is_empty());
    /// assert!(!Tensor::packed(F32, [1, 1, 1, 8, 0]).into_dynamic().erased().is_empty());
    /// ```
    pub const fn is_empty(&self) -> bool {
        let mut i = 0;
        while i < 5 {
            if matches!(self.shape[i].known(), Some(0)) {
                return true;
            }
            i += 1;
        }
        false
    }

    /// Elements from the first to the last addressed one: the length of the buffer behind the tensor.
    ///
    /// `None` if an extent or stride is unknown or the sum overflows; 0 for a tensor without elements.
    pub const fn span(&self) -> Option<u64> {
        let mut last = 0u64;
        let mut empty = false;
        let mut i = 0;
        while i < 5 {
            let (Some(extent), Some(stride)) = (self.shape[i].known(), self.strides[i].known()) else { return None };
            if extent == 0 {
                empty = true;
            } else {
                let Some(step) = (extent - 1).checked_mul(stride) else { return None };
                let Some(sum) = last.checked_add(step) else { return None };
                last = sum;
            }
            i += 1;
        }
        if empty { Some(0) } else { last.checked_add(1) }
    }

    /// True if every extent and stride is known now.
    pub const fn is_known(&self) -> bool {
        let mut i = 0;
        while i < 5 {
            if self.shape[i].known().is_none() || self.strides[i].known().is_none() {
                return false;
            }
            i += 1;
        }
        true
    }

    /// True if, as far as is known, elements follow each other in row-major order without gaps.
    pub fn is_packed(&self) -> bool {
        let mut step = Some(1);
        for i in (0..5).rev() {
            let extent = self.shape[i].known();
            if extent != Some(1) && self.strides[i].known() != step {
                return false;
            }
            step = step.zip(extent).and_then(|(step, extent)| u64::checked_mul(step, extent));
        }
        true
    }
}

const fn statics(values: [u64; 5]) -> [Extent; 5] {
    [
        Extent::Static(values[0]),
        Extent::Static(values[1]),
        Extent::Static(values[2]),
        Extent::Static(values[3]),
        Extent::Static(values[4]),
    ]
}

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |extents: &[Extent; 5]| extents.map(|e| e.to_string()).join(", ");
        write!(f, "{} {} [{}] strides [{}]", self.element, self.layout, list(&self.shape), list(&self.strides))
    }
}
