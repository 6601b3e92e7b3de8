//! What is known of views of global memory.

use pto_isa::{Extent, Tensor, TensorLayout};

use super::Facts;
use crate::{Operand, Type, ValueId, ViewType};

/// The memory that a view or pointer leads to.
///
/// Different parameters are different buffers: two roots never overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Root {
    /// The buffer that this value, a parameter, stands for.
    Memory(ValueId),
    /// Any buffer.
    Unknown,
}

/// What is known of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Extents, strides, layout, in five dimensions.
    pub tensor: Tensor,
    /// Dimensions that its type has; they are the last of the five.
    pub rank: usize,
    /// The buffer it is in.
    pub root: Root,
    /// Elements from the start of the buffer to its first, if known.
    pub offset: Option<u64>,
}

impl View {
    /// Rows and columns as a transfer sees them: an NZ view is a matrix of blocks, others have dimension 4 as columns.
    pub fn matrix(&self) -> (Option<u64>, Option<u64>) {
        let dims = self.tensor.shape.map(Extent::known);
        let product = |dims: &[Option<u64>]| dims.iter().try_fold(1u64, |product, dim| product.checked_mul((*dim)?));
        if self.tensor.layout == TensorLayout::Nz {
            (product(&dims[2..4]), product(&[dims[0], dims[1], dims[4]]))
        } else {
            (product(&dims[..4]), dims[4])
        }
    }

    /// The elements `start..end` of the buffer that it may touch, if known.
    pub fn elements(&self) -> Option<(u64, u64)> {
        let start = self.offset?;
        Some((start, start.checked_add(self.tensor.span()?)?))
    }
}

/// The tensor that a view's type describes: right-aligned in five dimensions, packed where it names no strides.
///
/// `None` if the type has no dimension or more than five.
///
/// ```
/// use pto_ir::{ViewKind, ViewType, facts::tensor_of_type};
/// use pto_isa::{ElementType::F32, Tensor};
/// let ty = ViewType { kind: ViewKind::MemRef, element: F32, shape: vec![Some(64), Some(32)], strides: None, layout: None };
/// assert_eq!(tensor_of_type(&ty), Some(Tensor::packed(F32, [1, 1, 1, 64, 32])));
/// ```
pub fn tensor_of_type(ty: &ViewType) -> Option<Tensor> {
    of_type(ty, Root::Unknown, true).map(|view| view.tensor)
}

/// The view that a type describes; strides that it does not name are packed ones or unknown.
pub(super) fn of_type(ty: &ViewType, root: Root, packed: bool) -> Option<View> {
    let extents = |at: usize| static_or(ty.shape[at], None);
    let strides = |at: usize| match &ty.strides {
        Some(strides) => strides.get(at).map_or(Extent::Dynamic(None), |stride| static_or(*stride, None)),
        None => Extent::Dynamic(None),
    };
    let rank = ty.shape.len();
    let mut tensor = aligned(ty, rank, extents, strides)?;
    if packed && ty.strides.is_none() {
        pack(&mut tensor);
    }
    Some(View { tensor, rank, root, offset: packed.then_some(0) })
}

/// A type's extent, or the value that fills it.
fn static_or(extent: Option<u64>, value: Option<i64>) -> Extent {
    match extent {
        Some(extent) => Extent::Static(extent),
        None => Extent::Dynamic(value.and_then(|value| u64::try_from(value).ok())),
    }
}

fn aligned(
    ty: &ViewType,
    rank: usize,
    extent: impl Fn(usize) -> Extent,
    stride: impl Fn(usize) -> Extent,
) -> Option<Tensor> {
    if !(1..=5).contains(&rank) || ty.shape.len() != rank {
        return None;
    }
    let lead = 5 - rank;
    let shape: [Extent; 5] = core::array::from_fn(|at| if at < lead { Extent::Static(1) } else { extent(at - lead) });
    let mut strides: [Extent; 5] =
        core::array::from_fn(|at| if at < lead { Extent::Dynamic(None) } else { stride(at - lead) });
    // Nothing ever steps along a leading dimension of extent 1; the packed stride keeps the description whole.
    for at in (0..lead).rev() {
        strides[at] = times(strides[at + 1], shape[at + 1]);
    }
    Some(Tensor { element: ty.element, shape, strides, layout: ty.layout.unwrap_or(TensorLayout::Nd) })
}

/// Fills in the strides of a tensor without gaps.
fn pack(tensor: &mut Tensor) {
    // A column-major matrix walks dimension 3 first.
    let order = if tensor.layout == TensorLayout::Dn { [3, 4, 2, 1, 0] } else { [4, 3, 2, 1, 0] };
    let mut step = Extent::Static(1);
    for at in order {
        tensor.strides[at] = step;
        step = times(step, tensor.shape[at]);
    }
}

fn times(a: Extent, b: Extent) -> Extent {
    match (a, b) {
        (Extent::Static(a), Extent::Static(b)) => a.checked_mul(b).map_or(Extent::Dynamic(None), Extent::Static),
        _ => Extent::Dynamic(a.known().zip(b.known()).and_then(|(a, b)| a.checked_mul(b))),
    }
}

impl Facts<'_> {
    /// The view that `make_tensor_view` makes.
    pub(super) fn made_view(
        &self,
        result: ValueId,
        pointer: ValueId,
        shape: &[Operand],
        strides: &[Operand],
        layout: Option<TensorLayout>,
    ) -> Option<View> {
        let Type::View(ty) = self.ty(result)? else { return None };
        let known = |operands: &[Operand], at: usize| operands.get(at).and_then(|operand| self.operand(*operand));
        let extent = |at: usize| static_or(ty.shape.get(at).copied().flatten(), known(shape, at));
        let stride = |at: usize| {
            let named = ty.strides.as_ref().and_then(|strides| strides.get(at).copied().flatten());
            static_or(named, known(strides, at))
        };
        let mut tensor = aligned(ty, ty.shape.len(), extent, stride)?;
        tensor.layout = layout.or(ty.layout).unwrap_or(TensorLayout::Nd);
        if strides.is_empty() && ty.strides.is_none() {
            pack(&mut tensor);
        }
        Some(View { tensor, rank: ty.shape.len(), root: self.root(pointer), offset: Some(0) })
    }

    /// The view that `partition_view` makes: the strides of the one it is a window of.
    pub(super) fn partition(
        &self,
        result: ValueId,
        view: ValueId,
        offsets: &[Operand],
        sizes: &[Operand],
    ) -> Option<View> {
        let Type::View(ty) = self.ty(result)? else { return None };
        let whole = *self.view(view)?;
        let rank = ty.shape.len();
        let skip = 5usize.checked_sub(rank)?;
        let known = |at: usize| sizes.get(at).and_then(|operand| self.operand(*operand));
        let extent = |at: usize| static_or(ty.shape[at], known(at));
        let mut tensor = aligned(ty, rank, extent, |at| whole.tensor.strides[skip + at])?;
        tensor.strides[..skip].copy_from_slice(&whole.tensor.strides[..skip]);
        tensor.layout = ty.layout.unwrap_or(whole.tensor.layout);
        let mut offset = whole.offset;
        let lead = 5usize.checked_sub(offsets.len())?;
        for (at, operand) in offsets.iter().enumerate() {
            let position = self.operand(*operand).and_then(|position| u64::try_from(position).ok());
            offset = match (offset, position, whole.tensor.strides[lead + at].known()) {
                // A window at position 0 begins where the view does, whatever the stride.
                (offset, Some(0), _) => offset,
                (Some(offset), Some(position), Some(stride)) => {
                    position.checked_mul(stride).and_then(|step| offset.checked_add(step))
                }
                _ => None,
            };
        }
        Some(View { tensor, rank, root: whole.root, offset })
    }
}
