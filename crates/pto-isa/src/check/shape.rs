//! Rules on extents.

use super::{Case, declare_rules, extents};
use crate::instruction::{fits_elem, fits_flat_row, fits_row};
use crate::tile::{FRACTAL_ROWS, c0};
use crate::{Extent, Instruction, OutOfBounds, Target, TensorLayout};

declare_rules! {
    SHAPE_VALID_EXTENT = "shape.valid-extent" Error on ANY EVERYWHERE [Dst, Src, Idx] {
        "a valid extent must not exceed the padded one"
        help "enlarge the padded tile, or reduce the valid extent"
        spec "002, Static valid bounds: TileDataD::ValidRow <= TileDataD::Rows, TileDataD::ValidCol <= TileDataD::Cols (and for every tile)."
        if valid_exceeds => valid_found
    }
    SHAPE_EMPTY = "shape.empty" Error on MEMORY DEVICES [Src, Dst] {
        "the payload must have at least one valid row and one valid column"
        help "skip the instruction when there is nothing to transfer"
        spec "001: Both modes require TileSrc::ValidRow >= 1 and TileSrc::ValidCol >= 1."
        if payload_empty => payload_found
    }
    SHAPE_OVERFLOW = "shape.overflow" Error on ANY EVERYWHERE [Dst, Src, Idx, Table] {
        "sizes in bytes must fit into 63 bits"
        help "reduce the extents or strides; no memory is that large"
        spec "Decided here: extents and strides whose products overflow address arithmetic are refused."
        if overflows => overflow_found
    }
    SHAPE_INDEX_COALESCE = "shape.index-coalesce" Error on MEMORY NOT_CPU [Idx] {
        "the index tile's valid shape must match the coalesce mode"
        help "Row takes one index per payload row, Elem one per payload element"
        spec "001, Mode Resolution: Row: Idx.ValidRow == 1 && Idx.ValidCol == Src.ValidRow (A5 also Idx.ValidRow == Src.ValidRow && Idx.ValidCol == 1); Elem: Idx.ValidRow == Src.ValidRow && Idx.ValidCol == Src.ValidCol."
        if index_mismatch => index_mismatch_found
    }
    SHAPE_INDEX_PAYLOAD = "shape.index-payload" Error on MEMORY CPU [Idx] {
        "on cpu the index tile has one lane per payload element"
        help "give the index tile the payload's valid shape: the reference form reads one index per element in every mode"
        spec "SPEC, cpu: the index tile's valid shape must equal the payload's (the reference reads one index per element; an [N,1] index with a wider payload reads past the tile: refused)."
        if cpu_index_mismatch => cpu_index_found
    }
    SHAPE_ROWS = "shape.rows" Error on MEMORY CPU [Idx] {
        "on cpu payload and index tile share the padded row count"
        help "give both tiles the same number of rows"
        spec "001, CPU: src.Rows == indexes.Rows (the index tile and source tile share the row count)."
        if rows_differ => rows_found
    }
    SHAPE_TABLE = "shape.table" Error on MEMORY CPU [Table] {
        "on cpu the table is two-dimensional: Shape<1, 1, 1, TableRows, RowWidth>"
        help "fold the outer dimensions into dimension 3"
        spec "001, CPU: dst static shape must satisfy Shape<1, 1, 1, TableRows, RowWidth>."
        if table_not_2d => table_shape_found
    }
    SHAPE_ROW_WIDTH = "shape.row-width" Error on MEMORY A5 [Table] {
        "in Row mode on a5 dimension 4 of the table is the payload's valid columns"
        help "make the table's rows as wide as the payload's valid columns"
        spec "001: MScatterCheck enforces GlobalTable::staticShape[4] == TileSrc::ValidCol at compile time."
        if row_width_wrong => row_width_found
    }
    SHAPE_ROW_COLUMNS = "shape.row-columns" Error on MEMORY A2A3_HOST [Src, Dst] {
        "in Row mode the payload's valid columns must fit into a row of the table"
        help "reduce the payload's valid columns to the table's row width"
        spec "SPEC: A2/A3 Row with valid columns below dim 4 writes the valid columns only; above: refused."
        if row_columns_exceed => row_columns_found
    }
    SHAPE_NZ_BLOCK_ROWS = "shape.nz-block-rows" Error on MEMORY A2A3_HOST [Table] {
        "dimension 3 of an NZ table is 16, the rows of a fractal block"
        help "describe the table as [B, BlockCols, BlockRows, 16, C0]"
        spec "001: NZ tables additionally require GlobalTable::staticShape[3] == FRACTAL_NZ_ROW (= 16)."
        if nz_block_rows_wrong => nz_block_rows_found
    }
    SHAPE_NZ_BLOCK_COLS = "shape.nz-block-cols" Error on MEMORY A2A3_HOST [Table] {
        "dimension 4 of an NZ table is C0, the elements in 32 bytes"
        help "describe the table as [B, BlockCols, BlockRows, 16, C0]"
        spec "001: NZ tables additionally require GlobalTable::staticShape[4] == C0_SIZE_BYTE / sizeof(T) (= 32 B / element width)."
        if nz_block_cols_wrong => nz_block_cols_found
    }
    SHAPE_NZ_TILE_ROWS = "shape.nz-tile-rows" Error on MEMORY A2A3 [Src, Dst] {
        "the padded rows of an NZ tile are a multiple of 16"
        help "pad the tile to whole fractal blocks; the valid rows may stay"
        spec "001: NZ tables additionally require TileSrc::Rows % FRACTAL_NZ_ROW == 0."
        if nz_tile_rows_wrong => nz_tile_rows_found
    }
    SHAPE_NZ_TILE_COLS = "shape.nz-tile-cols" Error on MEMORY A2A3 [Src, Dst] {
        "the padded columns of an NZ tile are a multiple of C0"
        help "pad the tile to whole fractal blocks; the valid columns may stay"
        spec "001: NZ tables additionally require TileSrc::Cols % (C0_SIZE_BYTE / sizeof(T)) == 0."
        if nz_tile_cols_wrong => nz_tile_cols_found
    }
    SHAPE_NZ_ROW = "shape.nz-row" Error on MEMORY A2A3_HOST [Src, Dst] {
        "an NZ Row transfer moves whole logical rows"
        help "make the payload's valid columns B * BlockCols * C0 of the table (on host: at most that)"
        spec "SPEC: NZ Row wants all block columns valid. host: partial block columns allowed."
        if nz_row_partial => nz_row_found
    }
    SHAPE_EMPTY_TABLE = "shape.empty-table" Error on MEMORY EVERYWHERE [Table] {
        "Clamp and Wrap need a table with at least one element"
        help "use Skip or Zero, or do not run the instruction on an empty table"
        spec "SPEC: Tables without elements under Clamp or Wrap: refused."
        if table_empty => table_empty_found
    }
    SHAPE_INDEX_REGION = "shape.index-region" Error on TSCATTER EVERYWHERE [Idx] {
        "a TSCATTER index tile must not have a larger valid region than the source"
        help "reduce the index tile's valid extents to the source's"
        spec "SPEC: An index tile with a smaller valid region than the source's is legal. A larger one is an error."
        if index_larger => index_region_found
    }
    SHAPE_INDEX_SMALLER = "shape.index-smaller" Note on TSCATTER EVERYWHERE [Idx] {
        "the index tile's valid region is smaller than the source's: only the intersection is scattered"
        help "make the valid regions equal if every source element should be scattered"
        spec "SPEC: the intersection is walked, row-major, and a note says so."
        if index_smaller => index_region_found
    }
    SHAPE_MASK_ROWS = "shape.mask-rows" Error on MASK EVERYWHERE [Dst] {
        "mask TSCATTER keeps the number of valid rows"
        help "give source and destination the same valid rows"
        spec "002: SrcTileData::ValidRow must equal DstTileData::ValidRow."
        if mask_rows_differ => mask_rows_found
    }
    SHAPE_MASK_COLUMNS = "shape.mask-columns" Error on MASK EVERYWHERE [Dst] {
        "mask TSCATTER widens each row by the pattern's factor"
        help "make the destination's valid columns the source's times the factor"
        spec "002: DstTileData::ValidCol must equal SrcTileData::ValidCol * F_P, where F_P is the pattern expansion factor."
        if mask_columns_wrong => mask_columns_found
    }
}

const fn valid_exceeds(case: &Case<'_>) -> bool {
    let Some(tile) = case.tile() else { return false };
    tile.valid_rows.exceeds(Extent::Static(tile.rows)) || tile.valid_cols.exceeds(Extent::Static(tile.cols))
}

fn valid_found(case: &Case<'_>) -> (String, String) {
    let Some(tile) = case.tile() else { return Default::default() };
    let found = extents(tile.valid_rows, tile.valid_cols);
    (format!("valid extents within the padded {}x{}", tile.rows, tile.cols), format!("valid {found}"))
}

const fn payload_empty(case: &Case<'_>) -> bool {
    let Some(tile) = case.tile() else { return false };
    matches!(tile.valid_rows.known(), Some(0)) || matches!(tile.valid_cols.known(), Some(0))
}

fn payload_found(case: &Case<'_>) -> (String, String) {
    let Some(tile) = case.tile() else { return Default::default() };
    ("at least 1x1 valid".into(), extents(tile.valid_rows, tile.valid_cols))
}

const MAX_BYTES: u64 = i64::MAX as u64;

const fn too_large(elements: Option<u64>, size: u64) -> bool {
    match elements {
        Some(elements) => match elements.checked_mul(size) {
            Some(bytes) => bytes > MAX_BYTES,
            None => true,
        },
        None => true,
    }
}

const fn overflows(case: &Case<'_>) -> bool {
    if let Some(tile) = case.tile() {
        return too_large(tile.elements(), tile.element.size());
    }
    match (case.role, case.instruction.table()) {
        (crate::Role::Table, Some(table)) if table.is_known() => {
            too_large(table.span(), table.element.size()) || too_large(table.elements(), table.element.size())
        }
        _ => false,
    }
}

fn overflow_found(case: &Case<'_>) -> (String, String) {
    let found = case.tile().map_or_else(
        || case.instruction.table().map_or_else(String::new, |table| table.to_string()),
        |tile| tile.to_string(),
    );
    ("a size of at most 2^63 - 1 bytes".into(), found)
}

const fn index_mismatch(case: &Case<'_>) -> bool {
    let Some((payload, idx, _, _)) = case.memory() else { return false };
    let fits = if case.is_elem() {
        fits_elem(payload, idx)
    } else if !case.is_row() {
        return false;
    } else if case.target.is(Target::A2A3) {
        fits_flat_row(payload, idx)
    } else {
        fits_row(payload, idx)
    };
    matches!(fits, Some(false))
}

fn index_mismatch_found(case: &Case<'_>) -> (String, String) {
    let Some((payload, idx, _, _)) = case.memory() else { return Default::default() };
    let expected = if case.is_elem() {
        format!("valid {} for Elem", extents(payload.valid_rows, payload.valid_cols))
    } else if case.target.is(Target::A2A3) {
        format!("valid 1x{} for Row", payload.valid_rows)
    } else {
        format!("valid 1x{0} or {0}x1 for Row", payload.valid_rows)
    };
    (expected, extents(idx.valid_rows, idx.valid_cols))
}

const fn cpu_index_mismatch(case: &Case<'_>) -> bool {
    match case.memory() {
        Some((payload, idx, _, _)) => matches!(fits_elem(payload, idx), Some(false)),
        None => false,
    }
}

fn cpu_index_found(case: &Case<'_>) -> (String, String) {
    let Some((payload, idx, _, _)) = case.memory() else { return Default::default() };
    let expected = format!("the payload's valid {}", extents(payload.valid_rows, payload.valid_cols));
    (expected, extents(idx.valid_rows, idx.valid_cols))
}

const fn rows_differ(case: &Case<'_>) -> bool {
    match case.memory() {
        Some((payload, idx, _, _)) => payload.rows != idx.rows,
        None => false,
    }
}

fn rows_found(case: &Case<'_>) -> (String, String) {
    let Some((payload, idx, _, _)) = case.memory() else { return Default::default() };
    (format!("{} padded rows as in the payload", payload.rows), idx.rows.to_string())
}

const fn table_not_2d(case: &Case<'_>) -> bool {
    match case.instruction.table() {
        Some(table) => table.shape[0].is_not(1) || table.shape[1].is_not(1) || table.shape[2].is_not(1),
        None => false,
    }
}

fn table_shape_found(case: &Case<'_>) -> (String, String) {
    let shape = case.instruction.table().map_or_else(String::new, |t| t.shape.map(|e| e.to_string()).join(", "));
    ("shape [1, 1, 1, TableRows, RowWidth]".into(), format!("[{shape}]"))
}

const fn row_width_wrong(case: &Case<'_>) -> bool {
    match case.memory() {
        Some((payload, _, table, _)) => case.is_row() && table.shape[4].differs(payload.valid_cols),
        None => false,
    }
}

fn row_width_found(case: &Case<'_>) -> (String, String) {
    let Some((payload, _, table, _)) = case.memory() else { return Default::default() };
    (format!("dimension 4 to be the payload's {} valid columns", payload.valid_cols), table.shape[4].to_string())
}

const fn is_nz_table(case: &Case<'_>) -> bool {
    match case.instruction.table() {
        Some(table) => table.layout.is(TensorLayout::Nz),
        None => false,
    }
}

const fn row_columns_exceed(case: &Case<'_>) -> bool {
    match (case.memory(), case.tile()) {
        (Some((_, _, table, _)), Some(payload)) => {
            case.is_row() && !is_nz_table(case) && payload.valid_cols.exceeds(table.shape[4])
        }
        _ => false,
    }
}

fn row_columns_found(case: &Case<'_>) -> (String, String) {
    let Some((payload, _, table, _)) = case.memory() else { return Default::default() };
    (format!("at most {} valid columns, the table's row width", table.shape[4]), payload.valid_cols.to_string())
}

const fn nz_block_rows_wrong(case: &Case<'_>) -> bool {
    match case.instruction.table() {
        Some(table) => is_nz_table(case) && table.shape[3].is_not(FRACTAL_ROWS),
        None => false,
    }
}

fn nz_block_rows_found(case: &Case<'_>) -> (String, String) {
    let found = case.instruction.table().map_or_else(String::new, |t| t.shape[3].to_string());
    (format!("dimension 3 of the NZ table to be {FRACTAL_ROWS}"), found)
}

const fn nz_block_cols_wrong(case: &Case<'_>) -> bool {
    match case.instruction.table() {
        Some(table) => is_nz_table(case) && table.shape[4].is_not(c0(table.element)),
        None => false,
    }
}

fn nz_block_cols_found(case: &Case<'_>) -> (String, String) {
    let Some(table) = case.instruction.table() else { return Default::default() };
    let expected = format!("dimension 4 of the NZ table to be 32 / sizeof({}) = {}", table.element, c0(table.element));
    (expected, table.shape[4].to_string())
}

const fn nz_tile_rows_wrong(case: &Case<'_>) -> bool {
    match case.tile() {
        Some(tile) => is_nz_table(case) && tile.is_nz() && !tile.rows.is_multiple_of(FRACTAL_ROWS),
        None => false,
    }
}

fn nz_tile_rows_found(case: &Case<'_>) -> (String, String) {
    let rows = case.tile().map_or(0, |t| t.rows);
    (format!("padded rows to be a multiple of {FRACTAL_ROWS}"), rows.to_string())
}

const fn nz_tile_cols_wrong(case: &Case<'_>) -> bool {
    match case.tile() {
        Some(tile) => is_nz_table(case) && tile.is_nz() && !tile.cols.is_multiple_of(c0(tile.element)),
        None => false,
    }
}

fn nz_tile_cols_found(case: &Case<'_>) -> (String, String) {
    let Some(tile) = case.tile() else { return Default::default() };
    (format!("padded columns to be a multiple of C0 = {}", c0(tile.element)), tile.cols.to_string())
}

/// Columns of the logical matrix that an NZ table stands for.
const fn nz_columns(case: &Case<'_>) -> Extent {
    match case.instruction.table() {
        Some(table) => match table.product(0, 2) {
            Some(blocks) => Extent::Dynamic(blocks.checked_mul(c0(table.element))),
            None => Extent::Dynamic(None),
        },
        None => Extent::Dynamic(None),
    }
}

const fn nz_row_partial(case: &Case<'_>) -> bool {
    let Some(tile) = case.tile() else { return false };
    if !case.is_row() || !is_nz_table(case) {
        return false;
    }
    match case.target {
        Target::Host => tile.valid_cols.exceeds(nz_columns(case)),
        _ => tile.valid_cols.differs(nz_columns(case)),
    }
}

fn nz_row_found(case: &Case<'_>) -> (String, String) {
    let Some(tile) = case.tile() else { return Default::default() };
    let at_most = if case.target.is(Target::Host) { "at most " } else { "" };
    (
        format!("{at_most}{} valid columns, all block columns of the table", nz_columns(case)),
        tile.valid_cols.to_string(),
    )
}

const fn table_empty(case: &Case<'_>) -> bool {
    match case.memory() {
        Some((_, _, table, policy)) => {
            // cpu runs no policy, so there an empty table is only out of range for every lane.
            !case.target.is(Target::Cpu)
                && matches!(policy.oob_or_default(), OutOfBounds::Clamp | OutOfBounds::Wrap)
                && table.is_empty()
        }
        None => false,
    }
}

fn table_empty_found(case: &Case<'_>) -> (String, String) {
    let shape = case.instruction.table().map_or_else(String::new, |t| t.shape.map(|e| e.to_string()).join(", "));
    ("a table with at least one element to clamp or wrap into".into(), format!("shape [{shape}]"))
}

const fn index_larger(case: &Case<'_>) -> bool {
    let Some(idx) = case.tile() else { return false };
    let src = case.instruction.payload();
    idx.valid_rows.exceeds(src.valid_rows) || idx.valid_cols.exceeds(src.valid_cols)
}

const fn index_smaller(case: &Case<'_>) -> bool {
    let Some(idx) = case.tile() else { return false };
    let src = case.instruction.payload();
    !index_larger(case) && (src.valid_rows.exceeds(idx.valid_rows) || src.valid_cols.exceeds(idx.valid_cols))
}

fn index_region_found(case: &Case<'_>) -> (String, String) {
    let Some(idx) = case.tile() else { return Default::default() };
    let src = case.instruction.payload();
    let expected = format!("the source's valid {}", extents(src.valid_rows, src.valid_cols));
    (expected, extents(idx.valid_rows, idx.valid_cols))
}

const fn mask_rows_differ(case: &Case<'_>) -> bool {
    match case.tile() {
        Some(dst) => dst.valid_rows.differs(case.instruction.payload().valid_rows),
        None => false,
    }
}

fn mask_rows_found(case: &Case<'_>) -> (String, String) {
    let Some(dst) = case.tile() else { return Default::default() };
    (format!("the source's {} valid rows", case.instruction.payload().valid_rows), dst.valid_rows.to_string())
}

const fn mask_columns_wrong(case: &Case<'_>) -> bool {
    let Instruction::TScatterMask { dst, src, pattern } = case.instruction else { return false };
    match (dst.valid_cols.known(), src.valid_cols.known()) {
        (Some(dst), Some(src)) => match src.checked_mul(pattern.factor()) {
            Some(expected) => dst != expected,
            None => true,
        },
        _ => false,
    }
}

fn mask_columns_found(case: &Case<'_>) -> (String, String) {
    let Instruction::TScatterMask { dst, src, pattern } = case.instruction else { return Default::default() };
    let expected = format!("{} * {} valid columns for {pattern}", src.valid_cols, pattern.factor());
    (expected, dst.valid_cols.to_string())
}
