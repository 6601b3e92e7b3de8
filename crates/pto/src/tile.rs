//! Tiles: typed names for regions of the unified buffer.

use core::cell::RefCell;
use core::fmt;
use core::marker::PhantomData;

use pto_isa::{Element, Extent};

use crate::layout::{Pad, PadNull, RowMajor, TileLayout};
use crate::legal;
use crate::sealed::Sealed;
use crate::ub::Slot;

/// A valid extent, tensor extent or stride that is a value at run time, not part of the type (`-1` in C++).
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(Tile::<f32, 8, 8, RowMajor, DYN, 8>::dynamic([5]).valid(), (5, 8));
/// ```
pub const DYN: usize = usize::MAX;

/// An extent as the rules see it: static from the type, or dynamic with the value if there is one.
pub(crate) const fn extent(of_type: usize, value: Option<usize>) -> Extent {
    match (of_type, value) {
        (DYN, Some(value)) => Extent::Dynamic(Some(value as u64)),
        (DYN, None) => Extent::Dynamic(None),
        (known, _) => Extent::Static(known as u64),
    }
}

/// A vector tile (`Tile<TileType::Vec, T, R, C, ...>`): element type, padded extents, storage order, valid extents
/// and pad value.
///
/// The valid extents are the padded ones unless given; [`DYN`] makes one a run-time value. A tile is a *name*: its
/// bytes are in the unified buffer of a [`VectorCore`](crate::VectorCore), at the address given by
/// [`tassign`](crate::VectorCore::tassign), or at one chosen when the tile is first used. Tiles at one address share
/// bytes. When a tile goes out of scope, automatic placement may use its place again.
///
/// ```
/// use pto::prelude::*;
/// type Src = Tile<f32, 8, 32>;
/// type Idx = Tile<i32, 1, 16, RowMajor, 1, DYN>;
/// let src = Src::new();
/// let idx = Idx::dynamic([9]);
/// assert_eq!(src.valid(), (8, 32));
/// assert_eq!(idx.valid(), (1, 9));
/// assert_eq!(idx.describe().to_string(), "vec i32 1x16, valid 1x9");
/// ```
///
/// A tile that cannot exist does not compile:
///
/// ```compile_fail
/// use pto::prelude::*;
/// let tile = Tile::<f32, 8, 32, RowMajor, 9, 32>::new(); // shape.valid-extent
/// ```
pub struct Tile<
    T: Element,
    const R: usize,
    const C: usize,
    L: TileLayout = RowMajor,
    const VR: usize = R,
    const VC: usize = C,
    P: Pad = PadNull,
> {
    valid: (usize, usize),
    slot: RefCell<Option<Slot>>,
    of: PhantomData<(T, L, P)>,
}

impl<T: Element, const R: usize, const C: usize, L: TileLayout, const VR: usize, const VC: usize, P: Pad>
    Tile<T, R, C, L, VR, VC, P>
{
    /// A tile whose valid extents are part of its type, not yet placed.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let tile = Tile::<f16, 16, 64>::new();
    /// assert_eq!(tile.address(), None);
    /// ```
    pub fn new() -> Self {
        const {
            assert!(VR != DYN && VC != DYN, "this tile has a DYN valid extent: use Tile::dynamic([..])");
            legal::assert_tile(<Self as TileOperand>::STATIC);
        };
        Self { valid: (VR, VC), slot: RefCell::new(None), of: PhantomData }
    }

    /// A tile with dynamic valid extents: one value for each [`DYN`], rows before columns.
    ///
    /// A value beyond the padded extent is found by the first instruction that uses the tile.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let tile = Tile::<f32, 1, 16, RowMajor, DYN, DYN>::dynamic([1, 9]);
    /// assert_eq!(tile.valid(), (1, 9));
    /// ```
    pub fn dynamic<const N: usize>(values: [usize; N]) -> Self {
        const {
            assert!(N == (VR == DYN) as usize + (VC == DYN) as usize, "give one value for each DYN extent");
            legal::assert_tile(<Self as TileOperand>::STATIC);
        };
        Self { valid: Self::extents(values), slot: RefCell::new(None), of: PhantomData }
    }

    /// The valid extents, dynamic ones taken from as many values.
    fn extents<const N: usize>(values: [usize; N]) -> (usize, usize) {
        let mut values = values.into_iter();
        let mut next = |of_type| if of_type == DYN { values.next().unwrap_or(0) } else { of_type };
        (next(VR), next(VC))
    }

    /// Changes the dynamic valid extents (`set_validshape`).
    ///
    /// ```
    /// use pto::prelude::*;
    /// let mut tile = Tile::<f32, 8, 16, RowMajor, DYN, 16>::dynamic([8]);
    /// tile.set_valid([3]);
    /// assert_eq!(tile.valid(), (3, 16));
    /// ```
    pub fn set_valid<const N: usize>(&mut self, values: [usize; N]) {
        const { assert!(N == (VR == DYN) as usize + (VC == DYN) as usize, "give one value for each DYN extent") };
        self.valid = Self::extents(values);
    }

    /// Valid rows and columns.
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(Tile::<i32, 3, 8, RowMajor, 3, 3>::new().valid(), (3, 3));
    /// ```
    pub fn valid(&self) -> (usize, usize) {
        self.valid
    }

    /// The address in the unified buffer, once placed.
    ///
    /// ```
    /// use pto::prelude::*;
    /// let mut core = VectorCore::<A5>::new();
    /// let mut tile = Tile::<i32, 8, 8>::new();
    /// core.tassign(&mut tile, 0x400)?;
    /// assert_eq!(tile.address(), Some(0x400));
    /// # Ok::<(), pto::Error>(())
    /// ```
    pub fn address(&self) -> Option<u64> {
        self.slot.borrow().as_ref().and_then(Slot::address)
    }

    /// The tile as the rules and executors see it.
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(Tile::<f32, 8, 32>::new().describe().bytes(), Some(1024));
    /// ```
    pub fn describe(&self) -> pto_isa::Tile {
        pto_isa::Tile {
            valid_rows: extent(VR, Some(self.valid.0)),
            valid_cols: extent(VC, Some(self.valid.1)),
            address: self.address(),
            ..<Self as TileOperand>::STATIC
        }
    }
}

impl<T: Element, const R: usize, const C: usize, L: TileLayout, P: Pad> Default for Tile<T, R, C, L, R, C, P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Element, const R: usize, const C: usize, L: TileLayout, const VR: usize, const VC: usize, P: Pad> fmt::Debug
    for Tile<T, R, C, L, VR, VC, P>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tile({})", self.describe())
    }
}

/// Any tile, as an operand.
///
/// ```
/// use pto::prelude::*;
/// fn bytes<T: TileOperand>() -> Option<u64> {
///     T::STATIC.bytes()
/// }
/// assert_eq!(bytes::<Tile<f16, 16, 64>>(), Some(2048));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tile",
    label = "expected a `Tile`",
    note = "the operands of tile instructions are `Tile<T, ROWS, COLS, ...>`"
)]
pub trait TileOperand: Sealed + Placed {
    /// Element type.
    type Element: Element;
    /// What the type alone says of the tile.
    const STATIC: pto_isa::Tile;
    /// The tile as the rules and executors see it now.
    fn operand(&self) -> pto_isa::Tile;
}

/// The part of a tile that only its core touches.
#[doc(hidden)]
pub trait Placed {
    #[doc(hidden)]
    fn slot(&self) -> &RefCell<Option<Slot>>;
}

impl<T: Element, const R: usize, const C: usize, L: TileLayout, const VR: usize, const VC: usize, P: Pad> Sealed
    for Tile<T, R, C, L, VR, VC, P>
{
}

impl<T: Element, const R: usize, const C: usize, L: TileLayout, const VR: usize, const VC: usize, P: Pad> Placed
    for Tile<T, R, C, L, VR, VC, P>
{
    fn slot(&self) -> &RefCell<Option<Slot>> {
        &self.slot
    }
}

impl<T: Element, const R: usize, const C: usize, L: TileLayout, const VR: usize, const VC: usize, P: Pad> TileOperand
    for Tile<T, R, C, L, VR, VC, P>
{
    type Element = T;
    const STATIC: pto_isa::Tile = {
        let mut tile = pto_isa::Tile::new(T::TYPE, R as u64, C as u64).with_layout(L::BLAYOUT, L::SLAYOUT);
        tile.valid_rows = extent(VR, None);
        tile.valid_cols = extent(VC, None);
        tile.pad = P::PAD;
        tile
    };

    fn operand(&self) -> pto_isa::Tile {
        self.describe()
    }
}
