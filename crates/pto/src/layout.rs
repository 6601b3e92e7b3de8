//! Storage orders and pad values as types.

use pto_isa::{BLayout, PadValue, SLayout, TensorLayout};

use crate::sealed::Sealed;

/// Storage order of a tile: [`RowMajor`], [`ColMajor`] or [`Nz`].
///
/// ```
/// use pto::prelude::*;
/// type Column = Tile<i32, 8, 1, ColMajor>;
/// assert_eq!(Column::new().describe().blayout.name(), "col_major");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a storage order of a tile",
    label = "not a tile layout",
    note = "use `RowMajor`, `ColMajor` or `Nz`"
)]
pub trait TileLayout: Sealed + Copy {
    /// Order of the elements or boxes.
    const BLAYOUT: BLayout;
    /// Order inside a box.
    const SLAYOUT: SLayout;
}

/// Storage order of a global tensor: [`Nd`], [`Dn`] or [`Nz`].
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(<Nz as GlobalLayout>::LAYOUT.name(), "nz");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a storage order of a global tensor",
    label = "not a tensor layout",
    note = "use `Nd`, `Dn` or `Nz`"
)]
pub trait GlobalLayout: Sealed + Copy {
    /// The order.
    const LAYOUT: TensorLayout;
}

/// What a load fills the padding of a tile with: [`PadNull`], [`PadZero`], [`PadMax`] or [`PadMin`].
///
/// ```
/// use pto::prelude::*;
/// assert_eq!(<PadZero as Pad>::PAD.name(), "zero");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a pad value",
    label = "not a pad value",
    note = "use `PadNull`, `PadZero`, `PadMax` or `PadMin`"
)]
pub trait Pad: Sealed + Copy {
    /// The value.
    const PAD: PadValue;
}

macro_rules! units {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub struct $name;
            impl Sealed for $name {}
        )*
    };
}

units! {
    /// Rows one after the other, no boxes.
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(Tile::<i32, 4, 8, RowMajor>::new().describe().offset(1, 2), 10);
    /// ```
    RowMajor,
    /// Columns one after the other, no boxes.
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(Tile::<i32, 8, 4, ColMajor>::new().describe().offset(1, 2), 17);
    /// ```
    ColMajor,
    /// Fractal order: for tiles, column-major blocks of row-major 512-byte fractals; for tensors,
    /// `[B, BlockCols, BlockRows, 16, C0]`.
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(Tile::<i32, 16, 16, Nz>::new().describe().offset(1, 9), 16 * 8 + 8 + 1);
    /// ```
    Nz,
    /// Row-major tensor.
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(<Nd as GlobalLayout>::LAYOUT, pto::isa::TensorLayout::Nd);
    /// ```
    Nd,
    /// Column-major tensor.
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(<Dn as GlobalLayout>::LAYOUT, pto::isa::TensorLayout::Dn);
    /// ```
    Dn,
    /// Padding is left as it is.
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(<PadNull as Pad>::PAD, pto::isa::PadValue::Null);
    /// ```
    PadNull,
    /// Padding becomes zero.
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(<PadZero as Pad>::PAD, pto::isa::PadValue::Zero);
    /// ```
    PadZero,
    /// Padding becomes the largest value of the element type (infinity where there is one).
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(<PadMax as Pad>::PAD, pto::isa::PadValue::Max);
    /// ```
    PadMax,
    /// Padding becomes the smallest value of the element type (negative infinity where there is one).
    ///
    /// ```
    /// use pto::prelude::*;
    /// assert_eq!(<PadMin as Pad>::PAD, pto::isa::PadValue::Min);
    /// ```
    PadMin,
}

macro_rules! tile_layouts {
    ($($name:ident = $b:ident + $s:ident),*) => {
        $(impl TileLayout for $name {
            const BLAYOUT: BLayout = BLayout::$b;
            const SLAYOUT: SLayout = SLayout::$s;
        })*
    };
}
tile_layouts! { RowMajor = RowMajor + NoneBox, ColMajor = ColMajor + NoneBox, Nz = ColMajor + RowMajor }

macro_rules! global_layouts {
    ($($name:ident),*) => {
        $(impl GlobalLayout for $name {
            const LAYOUT: TensorLayout = TensorLayout::$name;
        })*
    };
}
global_layouts! { Nd, Dn, Nz }

macro_rules! pads {
    ($($name:ident = $value:ident),*) => {
        $(impl Pad for $name {
            const PAD: PadValue = PadValue::$value;
        })*
    };
}
pads! { PadNull = Null, PadZero = Zero, PadMax = Max, PadMin = Min }
