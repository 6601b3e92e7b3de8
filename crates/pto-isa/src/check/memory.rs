//! Rules on memory: the UB budget, placement and overlap of tiles, and tables that an index could leave; and the rules
//! that a loader or a run raises.

use super::{Case, declare_rules};
use crate::{Coalesce, Instruction, Role, Rule, Severity, Target, TensorLayout, Tile};

declare_rules! {
    BUDGET_UB = "budget.ub" Error on ANY DEVICES [Launch] {
        "the tiles of an instruction must fit into the unified buffer"
        help "split the work into smaller tiles; on a5 launch with a dynUBufSize that covers the tiles (up to 216 KiB)"
        spec "001, UB Memory Budget: A2/A3: 192 KB. A5: the safe src + idx working set is <= 128 KB without dynUBufSize; beyond that, on-board execution may silently corrupt. SPEC: refused, not warned about."
        if beyond_budget => budget_found
    }
    BUDGET_DYN_UB = "budget.dyn-ub" Error on ANY A5 [Launch] {
        "dynUBufSize is at most 216 KiB"
        help "ask for at most 221184 bytes: 256 KiB less 8 KiB reserved and 32 KiB of data cache"
        spec "001: max dynUBufSize = 256 KB - 8 KB (reserved) - 32 KB (min DCache) - static_memory = 216 KB - static_memory."
        if dyn_ub_too_large => dyn_ub_found
    }
    LAUNCH_DYN_UB_TARGET = "launch.dyn-ub-target" Warning on ANY NOT_A5 [Launch] {
        "only a5 has a dynUBufSize"
        help "drop the launch argument on this target"
        spec "001: A2/A3 has no dynUBufSize knob; the working set must fit in the caller's static UB budget."
        if dyn_ub_given => dyn_ub_target_found
    }
    BOUNDS_TABLE = "bounds.table" Error on MEMORY NOT_HOST [Table] {
        "no index in range may leave the table's buffer"
        help "pack the table, or make its shape agree with its strides"
        spec "SPEC: Strides or shapes under which an in-range index would leave the buffer: refused on every target."
        if table_left => table_left_found
    }
    ALIAS_CLEAR = "alias.clear" Error on TILE DEVICES [Src, Idx] {
        "TSCATTER clears its whole destination first, so that must not overlap a tile it still reads"
        help "place the destination's whole allocation, not only its valid region, apart from source and index tile"
        spec "002, Mask scatter zero fill: Code must not overlap that destination UB allocation with other live data. SPEC: a2a3 and a5 clear the whole destination allocation first."
        if cleared => cleared_found
    }
    ALIAS_GATHER = "alias.gather" Error on MGATHER DEVICES [Idx] {
        "MGATHER must not overwrite its own index tile"
        help "place the destination apart from the index tile"
        spec "Decided here: a destination that shares bytes with the indices it is gathered by has no defined result."
        if cleared => cleared_found
    }
}

macro_rules! other_rules {
    ($($constant:ident = $name:literal $severity:ident { $summary:literal help $help:literal spec $spec:literal })*) => {
        $(
            #[doc = $summary]
            pub const $constant: &Rule =
                &Rule { name: $name, severity: Severity::$severity, summary: $summary, help: $help, spec: $spec };
        )*
        pub(super) const OTHER: &[&Rule] = &[$($constant),*];
    };
}

other_rules! {
    POLICY_NAME = "policy.name" Error {
        "a policy or mask pattern must be one that exists"
        help "use one of the listed names"
        spec "001, Enums; 002: maskPattern must be one of P0101, P1010, P0001, P0010, P0100, P1000, or P1111."
    }
    TYPE_NAME = "type.name" Error {
        "an element type must be one that exists"
        help "use one of the listed element types"
        spec "001, Supported data types, and SPEC, Text: the element types of the language."
    }
    SHAPE_NEGATIVE = "shape.negative" Error {
        "extents, strides and addresses are not negative"
        help "use zero or a positive number; a dynamic extent is written as one, not as -1"
        spec "Decided here: no operand has a negative extent, stride or address."
    }
    BOUNDS_LANE = "bounds.lane" Error {
        "an index lane is out of range and no policy says what to do with it"
        help "correct the index, or name an out-of-bounds policy (skip, clamp, wrap; zero for a gather)"
        spec "SPEC: Policy undefined with an out-of-range lane is undefined behaviour on the device; here it is reported as an error with the lane, the index and the capacity, and memory is left as it was before the instruction."
    }
    BOUNDS_NEGATIVE_LANE = "bounds.negative-lane" Warning {
        "an index lane is negative, which the device reads as a very large unsigned number"
        help "correct the index: -1 is 4294967295 there, so skip drops it, clamp sends it to the last slot and wrap to an unrelated one"
        spec "SPEC: A2/A3 and A5 read each i32/u32 index lane as its u32 bit pattern: -1 is 4294967295. A negative lane is legal input with a defined result, and the sanitizer notes it, because it is nearly always a bug."
    }
    CONFLICT_COLLISION = "conflict.collision" Note {
        "several lanes write one slot"
        help "make the indices unique if only one writer is meant to survive"
        spec "002: If multiple elements map to the same destination location, the final value is undefined. SPEC: row-major order, last wins, on every target; the sanitizer notes them."
    }
    CONFLICT_NONDETERMINISTIC = "conflict.nondeterministic" Warning {
        "colliding lanes make the result depend on the warp schedule"
        help "use conflict last, make the indices unique, or accept any of the candidates"
        spec "001, A5: Conflict::Default: the surviving writer is warp-scheduler dependent. SPEC: A5 float atomics with collisions depend on that schedule in their last bits."
    }
}

/// Bytes of UB that the instruction's tiles reach: past the last placed tile, then one after the other.
const fn working_set(instruction: &Instruction) -> Option<u64> {
    let roles = [Role::Dst, Role::Src, Role::Idx];
    let (mut placed, mut floating) = (0u64, 0u64);
    let mut i = 0;
    while i < roles.len() {
        if let Some(tile) = instruction.tile(roles[i]) {
            let Some(bytes) = tile.allocation() else { return None };
            match tile.address {
                Some(address) => match address.checked_add(bytes) {
                    Some(end) => {
                        if end > placed {
                            placed = end;
                        }
                    }
                    None => return None,
                },
                None => match floating.checked_add(bytes) {
                    Some(sum) => floating = sum,
                    None => return None,
                },
            }
        }
        i += 1;
    }
    placed.checked_add(floating)
}

const fn beyond_budget(case: &Case<'_>) -> bool {
    match (case.launch.ub_limit(case.target), working_set(case.instruction)) {
        (Some(limit), Some(bytes)) => bytes > limit,
        // A working set that overflows is beyond every budget.
        (Some(_), None) => true,
        (None, _) => false,
    }
}

fn budget_found(case: &Case<'_>) -> (String, String) {
    let limit = case.launch.ub_limit(case.target).unwrap_or_default();
    let why = match (case.target, case.launch.dyn_ub) {
        (Target::A5, Some(_)) => "the dynUBufSize of the launch",
        (Target::A5, None) => "the limit without dynUBufSize",
        _ => "the unified buffer",
    };
    let tiles: Vec<String> = case
        .instruction
        .tiles()
        .map(|(role, tile)| format!("{role} {}", tile.allocation().map_or("overflow".into(), |b| b.to_string())))
        .collect();
    let total = working_set(case.instruction).map_or("more than 2^64".into(), |b| b.to_string());
    (format!("tiles within {limit} bytes, {why}"), format!("{total} bytes ({})", tiles.join(", ")))
}

const fn max_dynamic(target: Target) -> Option<u64> {
    match target.profile().ub {
        Some(ub) => ub.max_dynamic,
        None => None,
    }
}

const fn dyn_ub_too_large(case: &Case<'_>) -> bool {
    match (max_dynamic(case.target), case.launch.dyn_ub) {
        (Some(most), Some(asked)) => asked > most,
        _ => false,
    }
}

fn dyn_ub_found(case: &Case<'_>) -> (String, String) {
    let most = max_dynamic(case.target).unwrap_or_default();
    (format!("a dynUBufSize of at most {most} bytes"), case.launch.dyn_ub.unwrap_or_default().to_string())
}

const fn dyn_ub_given(case: &Case<'_>) -> bool {
    case.launch.dyn_ub.is_some()
}

fn dyn_ub_target_found(case: &Case<'_>) -> (String, String) {
    ("no dynUBufSize".into(), format!("{} bytes, ignored", case.launch.dyn_ub.unwrap_or_default()))
}

/// One past the largest element offset that an in-range index reaches, as the target computes addresses.
///
/// `None` while something is unknown; NZ tables and `host` go through every dimension's own stride and cannot leave.
pub(super) const fn reach(instruction: &Instruction, target: Target) -> Option<u64> {
    let (Some(table), Some(capacity)) = (instruction.table(), instruction.capacity(target)) else { return None };
    if table.layout.is(TensorLayout::Nz) || target.is(Target::Host) {
        return None;
    }
    if capacity == 0 {
        return Some(0);
    }
    match instruction.coalesce(target) {
        Some(Coalesce::Elem) => Some(capacity),
        Some(Coalesce::Row) => {
            let Some(columns) = instruction.payload().valid_cols.known() else { return None };
            let stride = if target.is(Target::A5) { Some(columns) } else { table.strides[3].known() };
            let Some(stride) = stride else { return None };
            match (capacity - 1).checked_mul(stride) {
                Some(last_row) => last_row.checked_add(columns),
                None => Some(u64::MAX),
            }
        }
        None => None,
    }
}

const fn table_left(case: &Case<'_>) -> bool {
    let Some(table) = case.instruction.table() else { return false };
    match (reach(case.instruction, case.target), table.span()) {
        (Some(reach), Some(span)) => reach > span,
        _ => false,
    }
}

fn table_left_found(case: &Case<'_>) -> (String, String) {
    let span = case.instruction.table().and_then(|t| t.span()).unwrap_or_default();
    let reach = reach(case.instruction, case.target).unwrap_or_default();
    (
        format!("every index below the capacity to stay within the {span} elements of the buffer"),
        format!("addresses up to element {}", reach.saturating_sub(1)),
    )
}

const fn overlap(a: &Tile, b: &Tile) -> bool {
    match (a.range(), b.range()) {
        (Some((a_start, a_end)), Some((b_start, b_end))) => a_start < b_end && b_start < a_end,
        _ => false,
    }
}

const fn cleared(case: &Case<'_>) -> bool {
    match (case.instruction.tile(Role::Dst), case.tile()) {
        (Some(dst), Some(tile)) => overlap(dst, tile),
        _ => false,
    }
}

fn cleared_found(case: &Case<'_>) -> (String, String) {
    let range = |tile: Option<&Tile>| {
        tile.and_then(Tile::range).map_or_else(String::new, |(start, end)| format!("[0x{start:x}, 0x{end:x})"))
    };
    let dst = range(case.instruction.tile(Role::Dst));
    (format!("bytes apart from the destination's allocation {dst}"), range(case.tile()))
}
