//! How the bytes of a tile lie in memory, in words.

use std::fmt::Write as _;

use pto_ir::facts::TileFact;
use pto_isa::tile::BLOCK_BYTES;
use pto_isa::{BLayout, Extent, SLayout, Target, Tile};

/// The byte layout of a tile, as Markdown.
pub(crate) fn describe(tile: &Tile) -> String {
    let mut out = extents(tile);
    match (tile.bytes(), tile.allocation()) {
        (Some(bytes), Some(allocation)) => {
            let _ = write!(out, "- size: {bytes} bytes ({} blocks of {BLOCK_BYTES} bytes)", allocation / BLOCK_BYTES);
            let shares = Target::ALL.iter().filter_map(|target| {
                let limit = target.profile().ub?.limit(None);
                Some(format!("{:.1} % of UB on {target}", bytes as f64 * 100.0 / limit as f64))
            });
            let _ = writeln!(out, "; {}", shares.collect::<Vec<_>>().join(", "));
        }
        _ => out.push_str("- size: more bytes than a 64-bit number counts\n"),
    }
    let _ = writeln!(out, "- order: {}", order(tile));
    let _ = write!(out, "- element (r, c) at byte `{}`", formula(tile));
    out
}

/// The byte layout of a window of a tile, whose rows and columns are as far apart as there.
pub(crate) fn window(fact: &TileFact, name: &str, whole: &Tile) -> String {
    let mut out = extents(&fact.tile);
    let (start, end) = fact.storage.bytes;
    let _ = writeln!(out, "- window of `%{name}`: inside its bytes {start} to {end} (end excluded)");
    let _ = writeln!(out, "- order of `%{name}`: {}", order(whole));
    let _ = write!(out, "- element (r, c) of `%{name}` at byte `{}`", formula(whole));
    out
}

fn extents(tile: &Tile) -> String {
    let (element, size) = (tile.element, tile.element.size());
    let bytes = if size == 1 { "1 byte" } else { &format!("{size} bytes") };
    format!("- element: `{element}`, {bytes} each\n- padded: {} x {}; valid: {}\n", tile.rows, tile.cols, valid(tile))
}

/// Where a tile lies in UB, as far as it is known.
pub(crate) fn place(fact: &TileFact) -> String {
    use pto_ir::facts::Placement::{At, Unknown, Unplaced};
    match (fact.placement, fact.range()) {
        (At(_), Some((start, end))) => format!("- UB: bytes 0x{start:x} to 0x{end:x} (end excluded)"),
        (At(address), None) => format!("- UB: from byte 0x{address:x} on"),
        (Unplaced, _) => "- UB: not placed here; `pto lower --to level3` would place it".into(),
        (Unknown, _) => "- UB: at an address that only the run knows".into(),
    }
}

fn valid(tile: &Tile) -> String {
    let extent = |extent: Extent| match extent {
        Extent::Static(value) => value.to_string(),
        Extent::Dynamic(Some(value)) => format!("{value} (dynamic)"),
        Extent::Dynamic(None) => "? (dynamic)".into(),
    };
    format!("{} x {}", extent(tile.valid_rows), extent(tile.valid_cols))
}

fn order(tile: &Tile) -> String {
    let major = |row: bool| if row { "row-major" } else { "column-major" };
    let outer = major(tile.blayout == BLayout::RowMajor);
    if !tile.is_boxed() {
        return format!("{outer}, not boxed");
    }
    let (rows, cols) = tile.box_extents();
    let inner = major(tile.slayout == SLayout::RowMajor);
    let name = if tile.is_nz() { " (NZ)" } else { "" };
    format!("{outer} boxes of {rows} x {cols} elements ({} bytes), {inner} inside{name}", tile.fractal)
}

/// The byte offset of an element as a formula of its row and column. It is [`Tile::offset`] in words.
fn formula(tile: &Tile) -> String {
    // A type may spell extents whose product is no 64-bit number.
    let wide = |a: u64, b: u64| u128::from(a) * u128::from(b);
    let size = tile.element.size();
    if !tile.is_boxed() {
        return match tile.blayout {
            BLayout::RowMajor => format!("r * {} + c * {size}", wide(tile.cols, size)),
            BLayout::ColMajor => format!("c * {} + r * {size}", wide(tile.rows, size)),
        };
    }
    let (rows, cols) = tile.box_extents();
    let grid = match tile.blayout {
        BLayout::RowMajor => format!("r / {rows} * {} + c / {cols}", tile.cols / cols),
        BLayout::ColMajor => format!("c / {cols} * {} + r / {rows}", tile.rows / rows),
    };
    let inner = match tile.slayout {
        SLayout::ColMajor => format!("c % {cols} * {} + r % {rows} * {size}", rows * size),
        _ => format!("r % {rows} * {} + c % {cols} * {size}", cols * size),
    };
    format!("({grid}) * {} + {inner}", rows * cols * size)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pto_isa::ElementType;

    /// Computes a formula as it is written: `*`, `/` and `%` from left to right before `+`, parentheses first.
    fn compute(formula: &str, row: u64, col: u64) -> u64 {
        if let Some(inner) = formula.strip_prefix('(') {
            let (inner, rest) = inner.split_once(')').unwrap();
            return compute(&format!("{}{rest}", compute(inner, row, col)), row, col);
        }
        let value = |word: &str| match word {
            "r" => row,
            "c" => col,
            number => number.parse().unwrap(),
        };
        let product = |term: &str| {
            let words: Vec<&str> = term.split(' ').collect();
            words[1..].chunks(2).fold(value(words[0]), |left, pair| match pair[0] {
                "*" => left * value(pair[1]),
                "/" => left / value(pair[1]),
                _ => left % value(pair[1]),
            })
        };
        formula.split(" + ").map(product).sum()
    }

    #[test]
    fn formulas_are_the_storage_order() {
        for element in [ElementType::I8, ElementType::F16, ElementType::F32] {
            for blayout in BLayout::ALL {
                for slayout in SLayout::ALL {
                    let tile = Tile::new(element, 64, 64).with_layout(*blayout, *slayout);
                    let formula = formula(&tile);
                    for (row, col) in [(0, 0), (1, 0), (0, 1), (17, 9), (63, 63), (16, 33), (40, 31)] {
                        let expected = tile.offset(row, col) * element.size();
                        assert_eq!(compute(&formula, row, col), expected, "{tile}: {formula} at {row}, {col}");
                    }
                }
            }
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_said_not_computed() {
        let text = describe(&Tile::new(ElementType::F32, u64::MAX, u64::MAX));
        assert!(text.contains("more bytes than") && text.contains("73786976294838206460"), "{text}");
    }
}
