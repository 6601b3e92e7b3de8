//! Types as each spelling writes them.

use std::collections::HashMap;
use std::fmt::Write;

use pto_ir::{GroupType, Type, TypeId, Types, ViewKind, ViewType};
use pto_isa::{ElementType, Extent, Location, Tile};

use super::Form;

/// The types that were written, each made once.
#[derive(Default)]
pub(super) struct Spellings {
    made: HashMap<TypeId, String>,
}

impl Spellings {
    pub(super) fn of(&mut self, types: &Types, id: TypeId, form: Form) -> String {
        self.made.entry(id).or_insert_with(|| spelling(types.get(id), form)).clone()
    }
}

/// An element type as texts write it.
pub(super) fn element(element: ElementType) -> &'static str {
    use ElementType::*;
    match element {
        I8 => "i8",
        U8 => "ui8",
        I16 => "i16",
        U16 => "ui16",
        I32 => "i32",
        U32 => "ui32",
        I64 => "i64",
        U64 => "ui64",
        F16 => "f16",
        BF16 => "bf16",
        F32 => "f32",
        F64 => "f64",
        F8E4M3 => "f8E4M3FN",
        F8E5M2 => "f8E5M2",
        HiF8 => "!pto.hif8",
    }
}

/// A type in a spelling.
pub(super) fn spelling(ty: &Type, form: Form) -> String {
    match ty {
        Type::Index => "index".into(),
        Type::Boolean => "i1".into(),
        Type::Scalar(scalar) => element(*scalar).into(),
        Type::Pointer(target) => format!("!pto.ptr<{}>", element(*target)),
        Type::View(ty) => view(ty),
        Type::Group(GroupType { ranks, view: member }) => {
            let ranks = ranks.map(|ranks| format!("{ranks}x")).unwrap_or_default();
            format!("!pto.group<{ranks}{}>", view(member))
        }
        Type::Tile(ty) => tile(ty, form),
        Type::Event => "!pto.event".into(),
        Type::OfIndex(text) | Type::Opaque(text) => text.to_string(),
    }
}

fn view(ty: &ViewType) -> String {
    let name = match ty.kind {
        ViewKind::Tensor => "tensor_view",
        ViewKind::Partition => "partition_tensor_view",
        ViewKind::MemRef => "memref",
    };
    let number = |extent: &Option<u64>| extent.map_or("?".into(), |extent| extent.to_string());
    let dims: Vec<String> = ty.shape.iter().map(number).collect();
    let mut text = format!("!pto.{name}<{}x{}", dims.join("x"), element(ty.element));
    if let Some(strides) = &ty.strides {
        let strides: Vec<String> = strides.iter().map(number).collect();
        text += &format!(", strided<[{}]>", strides.join(", "));
    }
    if let Some(layout) = ty.layout {
        text += &format!(", layout={layout}");
    }
    text + ">"
}

/// What is not said is the default: the whole tile valid, rows one after the other.
fn tile(ty: &Tile, form: Form) -> String {
    let mut text = String::from(if form.defines_tiles() { "!pto.tile<" } else { "!pto.tile_buf<" });
    if !form.defines_tiles() || ty.location != Location::Vec {
        text += ty.location.name();
        text += ", ";
    }
    text += &format!("{}x{}x{}", ty.rows, ty.cols, element(ty.element));
    let whole = Tile::new(ty.element, ty.rows, ty.cols);
    if (ty.valid_rows, ty.valid_cols) != (whole.valid_rows, whole.valid_cols) {
        let extent = |extent: Extent| match extent {
            Extent::Static(extent) => extent.to_string(),
            Extent::Dynamic(_) => "?".into(),
        };
        text += &format!(", valid={}x{}", extent(ty.valid_rows), extent(ty.valid_cols));
    }
    let mut differs = |key: &str, value: &dyn std::fmt::Display, differs: bool| {
        if differs {
            // Writing to a string does not fail.
            let _ = write!(text, ", {key}={value}");
        }
    };
    differs("blayout", &ty.blayout, ty.blayout != whole.blayout);
    differs("slayout", &ty.slayout, ty.slayout != whole.slayout);
    differs("fractal", &ty.fractal, ty.fractal != whole.fractal);
    differs("pad", &ty.pad, ty.pad != whole.pad);
    text + ">"
}
