//! The types of tiles, in all their spellings: `!pto.tile_buf<loc=vec, dtype=f32, rows=8, ...>`, the compact
//! `!pto.tile_buf<vec, 8x32xf32, valid=8x?>`, the positional `!pto.tile<vec, f32, 8, 32, row_major, none_box, 512, 0>`
//! and the short `!pto.tile<8x32xf32>`.

use pto_isa::{BLayout, Extent, Location, PadValue, SLayout, Tile};

use super::name::{Enumerator, word_of};
use super::types::{Refused, TypeReader, refuse};
use crate::diagnostic::{Diagnostic, suggest};
use crate::rules;
use crate::syntax::{Kind, Node};
use crate::view::{Parameter, TypeView, dimensions, integer};

const KEYS: [&str; 11] =
    ["loc", "dtype", "rows", "cols", "v_row", "v_col", "valid", "blayout", "slayout", "fractal", "pad"];

/// What a tile's parameters have said so far.
#[derive(Default)]
struct Fields {
    element: Option<pto_isa::ElementType>,
    location: Option<Location>,
    rows: Option<u64>,
    cols: Option<u64>,
    valid_rows: Option<Extent>,
    valid_cols: Option<Extent>,
    blayout: Option<BLayout>,
    slayout: Option<SLayout>,
    fractal: Option<u64>,
    pad: Option<PadValue>,
}

impl<'t> TypeReader<'t> {
    pub(super) fn tile(&self, view: TypeView<'t>) -> Result<Tile, Refused> {
        let mut fields = Fields::default();
        for parameter in view.parameters() {
            match parameter.key {
                Some(key) => self.keyed(&mut fields, key, &parameter, view)?,
                None => self.positional(&mut fields, &parameter)?,
            }
        }
        let missing = |what: &str| refuse(view.node(), format!("expected {what} in `!{}<...>`", view.name()));
        let Some(element) = fields.element else { return missing("an element type") };
        let (Some(rows), Some(cols)) = (fields.rows, fields.cols) else { return missing("rows and columns") };
        let whole = Tile::new(element, rows, cols);
        Ok(Tile {
            location: fields.location.unwrap_or(whole.location),
            valid_rows: fields.valid_rows.unwrap_or(whole.valid_rows),
            valid_cols: fields.valid_cols.unwrap_or(whole.valid_cols),
            blayout: fields.blayout.unwrap_or(whole.blayout),
            slayout: fields.slayout.unwrap_or(whole.slayout),
            fractal: fields.fractal.unwrap_or(whole.fractal),
            pad: fields.pad.unwrap_or(whole.pad),
            ..whole
        })
    }

    fn keyed(
        &self,
        fields: &mut Fields,
        key: &str,
        parameter: &Parameter<'t>,
        view: TypeView<'t>,
    ) -> Result<(), Refused> {
        let [term] = parameter.terms[..] else { return refuse(view.node(), format!("expected one value for `{key}`")) };
        match key {
            "loc" => fields.location = Some(Location::read(term)?),
            "dtype" => fields.element = Some(self.expect_element(term)?),
            "rows" => fields.rows = Some(size(term)?),
            "cols" => fields.cols = Some(size(term)?),
            "v_row" => fields.valid_rows = Some(extent(term)?),
            "v_col" => fields.valid_cols = Some(extent(term)?),
            "valid" => match dimensions(term).as_deref() {
                Some([rows, cols]) => {
                    let filled = |dim: &Option<u64>| dim.map_or(Extent::Dynamic(None), Extent::Static);
                    (fields.valid_rows, fields.valid_cols) = (Some(filled(rows)), Some(filled(cols)));
                }
                _ => {
                    return refuse(
                        term,
                        format!("expected valid rows and columns as in `8x?`, found `{}`", term.text()),
                    );
                }
            },
            "blayout" => fields.blayout = Some(BLayout::read(term)?),
            "slayout" => fields.slayout = Some(SLayout::read(term)?),
            "fractal" => fields.fractal = Some(size(term)?),
            "pad" => fields.pad = Some(pad(term)?),
            _ => {
                let message = format!("expected a parameter of a tile, found `{key}`");
                let mut found = Diagnostic::new(&rules::TYPE_PARAMETER, message).at(term.span());
                if let Some(near) = suggest(key, KEYS) {
                    found = found.with_help(format!("did you mean `{near}`?"));
                }
                return Err(Box::new(found));
            }
        }
        Ok(())
    }

    /// Without keys, the order is location, type, rows, columns, layouts, fractal size, padding; `8x32xf32` gives the
    /// three in the middle at once, and what a word can be is taken in this order.
    fn positional(&self, fields: &mut Fields, parameter: &Parameter<'t>) -> Result<(), Refused> {
        let [term] = parameter.terms[..] else {
            let Some(first) = parameter.terms.first() else { return Ok(()) };
            return refuse(*first, "expected one parameter between two commas".into());
        };
        if term.kind() == Kind::Shaped {
            let (dims, element) = self.shaped(term)?;
            let [Some(rows), Some(cols)] = dims[..] else {
                return refuse(term, format!("expected static rows and columns, found `{}`", term.text()));
            };
            (fields.rows, fields.cols, fields.element) = (Some(rows), Some(cols), Some(element));
            return Ok(());
        }
        if term.kind() == Kind::Int {
            let value = size(term)?;
            match fields {
                Fields { rows: rows @ None, .. } => *rows = Some(value),
                Fields { cols: cols @ None, .. } => *cols = Some(value),
                Fields { fractal: fractal @ None, .. } => *fractal = Some(value),
                _ => fields.pad = Some(pad(term)?),
            }
            return Ok(());
        }
        if let (None, Some(element)) = (fields.element, self.element(term)) {
            fields.element = Some(element);
            return Ok(());
        }
        let word = word_of(term).unwrap_or(term.text());
        match fields {
            Fields { location: location @ None, element: None, .. } => *location = Some(Location::read(term)?),
            Fields { blayout: blayout @ None, .. } if BLayout::from_name(word).is_some() => {
                *blayout = BLayout::from_name(word);
            }
            Fields { slayout: slayout @ None, .. } if SLayout::from_name(word).is_some() => {
                *slayout = SLayout::from_name(word);
            }
            _ => fields.pad = Some(pad(term)?),
        }
        Ok(())
    }
}

fn size(term: Node<'_>) -> Result<u64, Refused> {
    match integer(term).map(u64::try_from) {
        Some(Ok(size)) => Ok(size),
        _ => refuse(term, format!("expected a size, found `{}`", term.text())),
    }
}

/// A valid extent; `?` and `-1` leave it open.
fn extent(term: Node<'_>) -> Result<Extent, Refused> {
    match term.text() {
        "?" | "-1" => Ok(Extent::Dynamic(None)),
        _ => size(term).map(Extent::Static),
    }
}

/// A padding value by its name or number.
fn pad(term: Node<'_>) -> Result<PadValue, Refused> {
    match integer(term).and_then(|number| usize::try_from(number).ok()) {
        Some(number) => match PadValue::ALL.get(number) {
            Some(pad) => Ok(*pad),
            None => refuse(term, format!("expected a padding value from 0 to 3, found {number}")),
        },
        None => PadValue::read(term),
    }
}
