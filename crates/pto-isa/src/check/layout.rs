//! Rules on where tiles live and how tiles and tables are stored.

use super::{Case, declare_rules};
use crate::tile::BLOCK_BYTES;
use crate::{BLayout, IndexLayouts, Location, PayloadLayouts, SLayout, TensorLayout, Tile};

declare_rules! {
    LAYOUT_LOCATION = "layout.location" Error on ANY EVERYWHERE [Dst, Src, Idx] {
        "every tile of these instructions is a vector tile in UB"
        help "declare the tile with location vec, or move it to UB first"
        spec "001: src must be a vector tile (TileSrc::Loc == TileType::Vec); indexes must be a vector tile (TileIdx::Loc == TileType::Vec). 002 and 004 say the same of theirs."
        if not_vec => location_found
    }
    LAYOUT_PAYLOAD = "layout.payload" Error on MEMORY NOT_HOST [Src, Dst] {
        "the payload tile must be stored in an order that the target walks"
        help "use a row-major tile without boxes (on a5 column-major is fine too)"
        spec "001, Layout Support: CPU: BLayout::RowMajor + SLayout::NoneBox only. A5: BLayout::RowMajor or ColMajor, SLayout::NoneBox."
        if payload_layout_wrong => payload_layout_found
    }
    LAYOUT_PAIR = "layout.pair" Error on MEMORY A2A3 [Src, Dst] {
        "on a2a3 the tile's layout is paired with the table's"
        help "use a row-major NoneBox tile with an ND table, a col_major + row_major tile of 512-byte fractals with an NZ table"
        spec "001: The source tile's bulk + sub layout must be paired with the table layout exactly: ND: RowMajor + NoneBox; NZ: ColMajor + RowMajor + SFractalSize == 512."
        if pair_wrong => pair_found
    }
    LAYOUT_BOX = "layout.box" Error on MEMORY HOST [Src, Dst, Idx] {
        "a boxed tile is a whole number of boxes"
        help "pad rows and columns to whole boxes, and use a fractal of 16 block rows"
        spec "001, NZ Layout: each fractal block is 16 rows of 32 bytes; decided here for host: a tile that is not a whole number of boxes has no storage order."
        if box_partial => box_found
    }
    LAYOUT_INDEX = "layout.index" Error on MEMORY NOT_HOST [Idx] {
        "the index tile must be stored in an order that the target reads"
        help "use a row-major index tile without boxes (on a5 column-major is fine too)"
        spec "001: The index tile is always BLayout::RowMajor + SLayout::NoneBox (ND), regardless of the table layout (A2/A3, CPU); any BLayout on A5."
        if index_layout_wrong => index_layout_found
    }
    LAYOUT_TABLE = "layout.table" Error on MEMORY EVERYWHERE [Table] {
        "the table's layout must be one that the target addresses"
        help "repack the table as ND before the transfer"
        spec "001, Layout Support: GlobalTable: CPU Layout::ND only; A2/A3 Layout::ND and Layout::NZ; A5 Layout::ND only."
        if table_layout_wrong => table_layout_found
    }
    LAYOUT_PACKED = "layout.packed" Error on MEMORY A5 [Table] {
        "in Row mode on a5 the table's rows follow each other without gaps"
        help "pack the table, so that the stride of dimension 3 is the valid columns; a5 ignores any other stride"
        spec "001: The Row kernel computes dstRow = table + safeIdx * validCols, so the GM table is treated as packed ND with row stride = validCols."
        if not_packed => packed_found
    }
    LAYOUT_INNER_STRIDE = "layout.inner-stride" Error on MEMORY DEVICES [Table] {
        "in Row mode the elements of a table row are contiguous"
        help "make the stride of dimension 4 be 1: a row moves as one burst"
        spec "001, DMA cost (Row): each row is one copy_ubuf_to_gm_align_b* call with nBurst = 1, lenBurst = validCol * sizeof(T)."
        if inner_stride_wrong => inner_stride_found
    }
    LAYOUT_TSCATTER_BOX = "layout.tscatter-box" Error on TILE EVERYWHERE [Dst, Src, Idx] {
        "TSCATTER works on tiles without boxes"
        help "use slayout none_box"
        spec "SPEC: tiles with a box layout in TSCATTER: refused."
        if boxed => tscatter_box_found
    }
    LAYOUT_MASK = "layout.mask" Error on MASK EVERYWHERE [Dst, Src] {
        "mask TSCATTER works on row-major tiles"
        help "use blayout row_major"
        spec "SPEC: the mask form wants row-major."
        if column_major => mask_found
    }
    ALIGN_ROW_WIDTH = "align.row-width" Error on MEMORY NOT_HOST [Src, Dst] {
        "the padded contiguous dimension of the payload tile is a multiple of 32 bytes"
        help "pad the tile to the next multiple of 32 bytes; the valid extents may stay as they are"
        spec "001: Padded TileSrc::Cols * sizeof(T) (RowMajor) or TileSrc::Rows * sizeof(T) (ColMajor) must be 32-byte aligned."
        if row_width_unaligned => row_width_found
    }
    ALIGN_ADDRESS = "align.address" Error on ANY DEVICES [Dst, Src, Idx] {
        "a tile's UB address is a multiple of 32 bytes"
        help "round the address up to the next multiple of 32"
        spec "001: every TLOAD / TSTORE issues 32 B GM<->UB bursts; the UB source address must be 32-byte aligned."
        if address_unaligned => address_found
    }
}

fn layout_of(case: &Case<'_>) -> String {
    case.tile().map_or_else(String::new, |t| format!("{} + {} (fractal {})", t.blayout, t.slayout, t.fractal))
}

const fn not_vec(case: &Case<'_>) -> bool {
    match case.tile() {
        Some(tile) => !tile.location.is(Location::Vec),
        None => false,
    }
}

fn location_found(case: &Case<'_>) -> (String, String) {
    ("location vec".into(), case.tile().map_or_else(String::new, |t| t.location.to_string()))
}

const fn payload_layout_wrong(case: &Case<'_>) -> bool {
    let Some(tile) = case.tile() else { return false };
    match case.profile().payload {
        PayloadLayouts::RowMajor => !tile.is_row_major(),
        PayloadLayouts::Unboxed => tile.is_boxed(),
        PayloadLayouts::PairedWithTable | PayloadLayouts::Any => false,
    }
}

fn payload_layout_found(case: &Case<'_>) -> (String, String) {
    let expected = match case.profile().payload {
        PayloadLayouts::RowMajor => "row_major + none_box",
        _ => "row_major or col_major, none_box",
    };
    (expected.into(), layout_of(case))
}

const fn pair_wrong(case: &Case<'_>) -> bool {
    match (case.tile(), case.instruction.table()) {
        (Some(tile), Some(table)) => match table.layout {
            TensorLayout::Nd => !tile.is_row_major(),
            TensorLayout::Nz => !tile.is_nz(),
            // A table layout that the target lacks is reported by the rule on table layouts.
            TensorLayout::Dn => false,
        },
        _ => false,
    }
}

fn pair_found(case: &Case<'_>) -> (String, String) {
    let nz = case.instruction.table().is_some_and(|t| t.layout == TensorLayout::Nz);
    let expected = if nz {
        "col_major + row_major with 512-byte fractals for an NZ table"
    } else {
        "row_major + none_box for an ND table"
    };
    (expected.into(), layout_of(case))
}

const fn box_partial(case: &Case<'_>) -> bool {
    let Some(tile) = case.tile() else { return false };
    if !tile.is_boxed() {
        return false;
    }
    let (rows, cols) = tile.box_extents();
    !tile.rows.is_multiple_of(rows)
        || !tile.cols.is_multiple_of(cols)
        || rows * cols * tile.element.size() != tile.fractal
}

fn box_found(case: &Case<'_>) -> (String, String) {
    let Some(tile) = case.tile() else { return Default::default() };
    let (rows, cols) = tile.box_extents();
    let expected = format!("padded extents in whole boxes of {rows}x{cols} = {} bytes", tile.fractal);
    (expected, format!("{}x{}", tile.rows, tile.cols))
}

const fn index_layout_wrong(case: &Case<'_>) -> bool {
    let Some(tile) = case.tile() else { return false };
    match case.profile().index {
        IndexLayouts::RowMajor => !tile.is_row_major(),
        IndexLayouts::Unboxed => tile.is_boxed(),
        IndexLayouts::Any => false,
    }
}

fn index_layout_found(case: &Case<'_>) -> (String, String) {
    let expected = match case.profile().index {
        IndexLayouts::RowMajor => "row_major + none_box",
        _ => "row_major or col_major, none_box",
    };
    (expected.into(), layout_of(case))
}

const fn table_layout_wrong(case: &Case<'_>) -> bool {
    match case.instruction.table() {
        Some(table) => !case.profile().takes_table(table.layout),
        None => false,
    }
}

fn table_layout_found(case: &Case<'_>) -> (String, String) {
    let expected = case.profile().tables.iter().map(|l| l.name()).collect::<Vec<_>>().join(" or ");
    (format!("layout {expected}"), case.instruction.table().map_or_else(String::new, |t| t.layout.to_string()))
}

/// The stride of a dimension matters only where there is a second element along it.
const fn has_neighbours(extent: crate::Extent) -> bool {
    !matches!(extent.known(), Some(0 | 1))
}

const fn not_packed(case: &Case<'_>) -> bool {
    match case.memory() {
        Some((payload, _, table, _)) => {
            case.is_row()
                && has_neighbours(table.shape[3])
                && table.strides[3].differs(payload.valid_cols)
                // Rows of the wrong width are another rule's finding.
                && !table.shape[4].differs(payload.valid_cols)
        }
        None => false,
    }
}

fn packed_found(case: &Case<'_>) -> (String, String) {
    let Some((payload, _, table, _)) = case.memory() else { return Default::default() };
    (format!("row stride {} = the valid columns", payload.valid_cols), table.strides[3].to_string())
}

const fn inner_stride_wrong(case: &Case<'_>) -> bool {
    match case.instruction.table() {
        Some(table) => case.is_row() && has_neighbours(table.shape[4]) && table.strides[4].is_not(1),
        None => false,
    }
}

fn inner_stride_found(case: &Case<'_>) -> (String, String) {
    let found = case.instruction.table().map_or_else(String::new, |t| t.strides[4].to_string());
    ("a stride of 1 in dimension 4".into(), found)
}

const fn boxed(case: &Case<'_>) -> bool {
    match case.tile() {
        Some(tile) => tile.is_boxed(),
        None => false,
    }
}

fn tscatter_box_found(case: &Case<'_>) -> (String, String) {
    (format!("slayout {}", SLayout::NoneBox), layout_of(case))
}

const fn column_major(case: &Case<'_>) -> bool {
    match case.tile() {
        Some(tile) => tile.blayout.is(BLayout::ColMajor),
        None => false,
    }
}

fn mask_found(case: &Case<'_>) -> (String, String) {
    (format!("blayout {}", BLayout::RowMajor), layout_of(case))
}

/// The padded extent that is contiguous in storage.
const fn contiguous(tile: &Tile) -> u64 {
    if tile.blayout.is(BLayout::ColMajor) { tile.rows } else { tile.cols }
}

const fn row_width_unaligned(case: &Case<'_>) -> bool {
    let Some(tile) = case.tile() else { return false };
    // For NZ tiles the same 32 bytes are a block column: the rule on those reports it.
    if tile.is_boxed() {
        return false;
    }
    // The remainder of the product follows from the remainder of the factor, which cannot overflow.
    !(contiguous(tile) % BLOCK_BYTES * tile.element.size()).is_multiple_of(BLOCK_BYTES)
}

fn row_width_found(case: &Case<'_>) -> (String, String) {
    let Some(tile) = case.tile() else { return Default::default() };
    let name = if tile.blayout == BLayout::ColMajor { "Rows" } else { "Cols" };
    let (extent, size) = (contiguous(tile), tile.element.size());
    (
        format!("padded {name} * sizeof({}) to be a multiple of {BLOCK_BYTES} bytes", tile.element),
        format!("{extent} * {size} = {}", u128::from(extent) * u128::from(size)),
    )
}

const fn address_unaligned(case: &Case<'_>) -> bool {
    match case.tile() {
        Some(Tile { address: Some(address), .. }) => !address.is_multiple_of(BLOCK_BYTES),
        _ => false,
    }
}

fn address_found(case: &Case<'_>) -> (String, String) {
    let address = case.tile().and_then(|t| t.address).unwrap_or_default();
    (format!("an address that is a multiple of {BLOCK_BYTES}"), format!("0x{address:x}"))
}
