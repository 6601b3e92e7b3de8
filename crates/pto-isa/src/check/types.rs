//! Rules on element types.

use super::{Case, declare_rules};
use crate::Instruction;

declare_rules! {
    TYPE_ELEMENT = "type.element" Error on ANY EVERYWHERE [Src, Dst] {
        "the element type of the payload must be one that the target has for this instruction"
        help "use an element type of the target's list, or convert the tile before the transfer"
        spec "001, Supported data types: src / dst element type must be one of: int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, half, bfloat16_t, float (A5 also hifloat8_t, float8_e4m3_t, float8_e5m2_t). 002 lists the same nine for TSCATTER."
        if element_missing => element_found
    }
    TYPE_INDEX = "type.index" Error on ANY EVERYWHERE [Idx] {
        "the index element type must be one that the target reads indices from"
        help "convert the index tile to one of the listed types"
        spec "001: indexes element type must be int32_t or uint32_t. 002: TileDataI::DType must be one of: int16_t, int32_t, uint16_t or uint32_t."
        if index_missing => index_found
    }
    TYPE_TABLE = "type.table" Error on MEMORY EVERYWHERE [Table] {
        "the table's element type must be the tile's"
        help "declare the table with the tile's element type; a transfer does not convert"
        spec "001: dst must be a GlobalTensor in GM memory; GlobalTable::DType == __gm__ T."
        if table_differs => table_found
    }
    TYPE_SAME = "type.same" Error on TILE EVERYWHERE [Dst] {
        "source and destination of TSCATTER must have one element type"
        help "give both tiles the same element type; TSCATTER does not convert"
        spec "002: TileDataD::DType and TileDataS::DType must be the same."
        if tiles_differ => tiles_found
    }
    TYPE_INDEX_WIDTH = "type.index-width" Error on TSCATTER DEVICES [Idx] {
        "the width of a TSCATTER index follows the payload's: 4 bytes for 4-byte types, 2 bytes for 2- and 1-byte types"
        help "use i32/u32 indices for 4-byte elements and i16/u16 indices for 2- and 1-byte elements"
        spec "002: When size of TileDataD::DType is 4 bytes, the size of TileDataI::DType must be 4 bytes; 2 bytes: 2 bytes; 1 bytes: 2 bytes."
        if index_width_wrong => index_width_found
    }
}

const fn element_missing(case: &Case<'_>) -> bool {
    let Some(tile) = case.tile() else { return false };
    let set = match case.memory() {
        Some(_) => case.profile().memory_elements,
        None => case.profile().tile_elements,
    };
    !set.contains(tile.element)
}

fn element_found(case: &Case<'_>) -> (String, String) {
    let set = match case.memory() {
        Some(_) => case.profile().memory_elements,
        None => case.profile().tile_elements,
    };
    (format!("an element type of {{{set}}}"), element(case))
}

fn element(case: &Case<'_>) -> String {
    case.tile().map_or_else(String::new, |tile| tile.element.to_string())
}

const fn index_missing(case: &Case<'_>) -> bool {
    let Some(tile) = case.tile() else { return false };
    let set = match case.memory() {
        Some(_) => case.profile().memory_indices,
        None => case.profile().tile_indices,
    };
    !set.contains(tile.element)
}

fn index_found(case: &Case<'_>) -> (String, String) {
    let set = match case.memory() {
        Some(_) => case.profile().memory_indices,
        None => case.profile().tile_indices,
    };
    (format!("an index type of {{{set}}}"), element(case))
}

const fn table_differs(case: &Case<'_>) -> bool {
    match case.memory() {
        Some((payload, _, table, _)) => !table.element.is(payload.element),
        None => false,
    }
}

fn table_found(case: &Case<'_>) -> (String, String) {
    let found = case.instruction.table().map_or_else(String::new, |table| table.element.to_string());
    (format!("the tile's element type {}", case.instruction.payload().element), found)
}

const fn tiles_differ(case: &Case<'_>) -> bool {
    match case.instruction {
        Instruction::TScatter { dst, src, .. } | Instruction::TScatterMask { dst, src, .. } => {
            !dst.element.is(src.element)
        }
        _ => false,
    }
}

fn tiles_found(case: &Case<'_>) -> (String, String) {
    (format!("the source's element type {}", case.instruction.payload().element), element(case))
}

const fn index_width(case: &Case<'_>) -> u64 {
    if case.instruction.payload().element.size() == 4 { 4 } else { 2 }
}

const fn index_width_wrong(case: &Case<'_>) -> bool {
    let Some(idx) = case.tile() else { return false };
    // Types that the target lacks altogether are reported once, by the rules on types.
    case.profile().tile_elements.contains(case.instruction.payload().element)
        && case.profile().tile_indices.contains(idx.element)
        && idx.element.size() != index_width(case)
}

fn index_width_found(case: &Case<'_>) -> (String, String) {
    let expected = format!(
        "a {}-byte index type for the {}-byte payload type {}",
        index_width(case),
        case.instruction.payload().element.size(),
        case.instruction.payload().element
    );
    (expected, element(case))
}
