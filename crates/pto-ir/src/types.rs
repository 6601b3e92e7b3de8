//! Types of values.

use core::fmt;
use std::collections::HashMap;

use pto_isa::{ElementType, TensorLayout, Tile};

/// A type, by its number in the module's [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(u32);

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// A size or position.
    Index,
    /// `i1`.
    Boolean,
    /// A scalar of an element type.
    Scalar(ElementType),
    /// A pointer into global memory.
    Pointer(ElementType),
    /// A view of global memory, whole (`tensor_view`) or a window of one (`partition_tensor_view`).
    View(ViewType),
    /// A tile; its address is never part of the type.
    Tile(Tile),
    /// The tensors of a parallel group, one per rank.
    Group(GroupType),
    /// An event that later instructions wait for.
    Event,
    /// A pointer, view, tile or group of `index`, kept as it is spelt. The language has the type, but a size or position
    /// has no width in memory, so no instruction takes it.
    OfIndex(Box<str>),
    /// A type of another dialect, kept as it is spelt.
    Opaque(Box<str>),
}

/// The tensors of a parallel group, as far as their type says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GroupType {
    /// Number of ranks, if the type names it.
    pub ranks: Option<u64>,
    /// What each rank holds.
    pub view: ViewType,
}

/// The static part of a view of global memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ViewType {
    /// Which of the spellings it has.
    pub kind: ViewKind,
    /// Element type.
    pub element: ElementType,
    /// One to five extents, outermost first; `None` where only the run knows.
    pub shape: Vec<Option<u64>>,
    /// Strides in elements, if the type names them.
    pub strides: Option<Vec<Option<u64>>>,
    /// Storage order, if the type names it.
    pub layout: Option<TensorLayout>,
}

/// The spellings of a view's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ViewKind {
    /// `!pto.tensor_view<...>`.
    Tensor,
    /// `!pto.partition_tensor_view<...>`.
    Partition,
    /// `!pto.memref<...>`.
    MemRef,
}

impl Type {
    /// The type of a value that is not known, because what defines it could not be understood or does not say.
    pub fn unknown() -> Self {
        Self::Opaque("?".into())
    }

    /// Whether nothing is known of it, so that nothing about it can be wrong.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Opaque(text) if &**text == "?")
    }

    /// True for types that integer arithmetic works on.
    pub fn is_integer(&self) -> bool {
        match self {
            Self::Index | Self::Boolean => true,
            Self::Scalar(element) => element.is_integer(),
            _ => false,
        }
    }

    /// What kind of value it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Index | Self::Boolean | Self::Scalar(_) => "a scalar",
            Self::Pointer(_) => "a pointer",
            Self::View(_) => "a view of global memory",
            Self::Tile(_) => "a tile",
            Self::Group(_) => "a group",
            Self::Event => "an event",
            Self::OfIndex(_) => "memory of `index`, which is not part of this instruction set",
            Self::Opaque(_) => "a value of another dialect",
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index => f.write_str("index"),
            Self::Boolean => f.write_str("i1"),
            Self::Scalar(element) => write!(f, "{element}"),
            Self::Pointer(element) => write!(f, "ptr<{element}>"),
            Self::View(view) => write!(f, "{view}"),
            Self::Tile(tile) => write!(f, "tile<{tile}>"),
            Self::Group(GroupType { ranks: Some(ranks), view }) => write!(f, "group<{ranks} of {view}>"),
            Self::Group(GroupType { ranks: None, view }) => write!(f, "group<{view}>"),
            Self::Event => f.write_str("event"),
            Self::OfIndex(text) | Self::Opaque(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for ViewType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for extent in &self.shape {
            match extent {
                Some(extent) => write!(f, "{extent}x")?,
                None => f.write_str("?x")?,
            }
        }
        write!(f, "{}", self.element)
    }
}

/// The types of a module, each once.
///
/// ```
/// use pto_ir::{Type, Types};
/// let mut types = Types::default();
/// let index = types.intern(Type::Index);
/// assert_eq!(types.intern(Type::Index), index);
/// assert_eq!(types.get(index), &Type::Index);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Types {
    list: Vec<Type>,
    numbers: HashMap<Type, TypeId>,
}

impl Types {
    /// The number of a type, new if it was not there.
    pub fn intern(&mut self, ty: Type) -> TypeId {
        if let Some(id) = self.numbers.get(&ty) {
            return *id;
        }
        // A module with 2^32 different types would not fit into memory.
        let id = TypeId(self.list.len() as u32);
        self.list.push(ty.clone());
        self.numbers.insert(ty, id);
        id
    }

    /// The type with a number of this module.
    pub fn get(&self, id: TypeId) -> &Type {
        &self.list[id.0 as usize]
    }
}
