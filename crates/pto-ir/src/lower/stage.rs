//! Staging tiles for collectives that name none.

use pto_isa::tile::BLOCK_BYTES;
use pto_isa::{ElementType, Extent, Tile};

use crate::facts::Facts;
use crate::{Function, NESTING, Op, OpKind, Operand, Region, Type, Types, ValueId};

/// Bytes of one staging tile at most: two of them leave most of UB to the kernel, and a chunk of this size is long
/// enough that the start-up of its transfers does not show.
const STAGING_BYTES: u64 = 16 * 1024;
/// Columns of a chunk where the rows' width is known to the run only.
const UNKNOWN_COLS: u64 = 128;

/// Gives every collective without staging tiles a ping and a pong tile.
///
/// 003: lowering introduces UB staging tiles for the GM -> UB -> GM data path. Their valid extents are dynamic, so that
/// the last chunk of a row or column may be a partial one.
pub fn stage(function: &Function, types: &mut Types) -> Function {
    let mut staged = function.clone();
    let mut body = core::mem::take(&mut staged.body);
    let sizes = missing(function, types);
    if !sizes.is_empty() {
        insert(&mut body, &mut staged, types, &mut sizes.into_iter(), 0);
    }
    staged.body = body;
    staged
}

/// The staging tiles that are missing, in program order.
fn missing(function: &Function, types: &Types) -> Vec<Tile> {
    let mut sizes = Vec::new();
    Facts::new(function, types).walk(&function.body, &mut |facts, kind| {
        if let OpKind::Collective(call) = kind
            && call.staging.is_empty()
        {
            let view = call.group.first().or(Some(&call.local)).and_then(|view| facts.view(*view));
            let element = view.map_or(ElementType::F32, |view| view.tensor.element);
            let extents =
                view.map_or((None, None), |view| (view.tensor.shape[3].known(), view.tensor.shape[4].known()));
            sizes.push(staging_tile(element, extents.0, extents.1));
        }
    });
    sizes
}

/// As many whole rows of a rank as fit, or a part of one.
fn staging_tile(element: ElementType, rows: Option<u64>, cols: Option<u64>) -> Tile {
    let size = element.size();
    let most = STAGING_BYTES / size;
    let cols = cols.unwrap_or(UNKNOWN_COLS).clamp(1, most).next_multiple_of(BLOCK_BYTES / size);
    let rows = rows.unwrap_or(u64::MAX).clamp(1, (most / cols).max(1));
    Tile::new(element, rows, cols).with_dynamic_valid(rows, cols)
}

fn insert(
    region: &mut Region,
    function: &mut Function,
    types: &mut Types,
    sizes: &mut impl Iterator<Item = Tile>,
    depth: usize,
) {
    if depth > NESTING {
        return;
    }
    let mut ops = Vec::with_capacity(region.ops.len());
    for mut op in region.ops.drain(..) {
        match &mut op.kind {
            OpKind::For(inner) => insert(&mut inner.body, function, types, sizes, depth + 1),
            OpKind::If(inner) => {
                insert(&mut inner.then, function, types, sizes, depth + 1);
                insert(&mut inner.otherwise, function, types, sizes, depth + 1);
            }
            OpKind::Collective(call) if call.staging.is_empty() => {
                if let Some(tile) = sizes.next() {
                    let ty = types.intern(Type::Tile(tile.erased()));
                    let names = if function.values.iter().any(|value| value.name.starts_with("ping")) {
                        ["", ""]
                    } else {
                        ["ping", "pong"]
                    };
                    call.staging = names.map(|name| function.define(name, ty, op.place)).to_vec();
                    ops.extend(call.staging.iter().map(|result| Op { kind: alloc(*result, &tile), place: op.place }));
                }
            }
            _ => {}
        }
        ops.push(op);
    }
    region.ops = ops;
}

fn alloc(result: ValueId, tile: &Tile) -> OpKind {
    let number = |extent: Extent| extent.known().map(|extent| Operand::Number(extent as i64));
    OpKind::AllocTile {
        result,
        address: None,
        valid_rows: number(tile.valid_rows),
        valid_cols: number(tile.valid_cols),
    }
}
