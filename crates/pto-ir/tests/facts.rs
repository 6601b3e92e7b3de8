//! What is known of values before a program runs.

use pto_ir::facts::{Facts, Placement, Root};
use pto_ir::{FunctionBuilder, Module, OpKind, Operand, Predicate, Region, Type, ValueId, ViewKind, ViewType};
use pto_isa::ElementType::F32;
use pto_isa::{Extent, Tensor, TensorLayout, Tile};

/// Everything that is known at the end of a function.
fn facts(module: &Module) -> Facts<'_> {
    fn walk<'a>(region: &'a Region, facts: &mut Facts<'a>) {
        for op in &region.ops {
            match &op.kind {
                OpKind::For(op) => {
                    facts.enter_loop(op);
                    walk(&op.body, facts);
                    facts.leave_loop(op);
                }
                OpKind::If(op) => {
                    walk(&op.then, facts);
                    walk(&op.otherwise, facts);
                    facts.join(op);
                }
                kind => facts.apply(kind),
            }
        }
    }
    let mut facts = Facts::new(&module.functions[0], &module.types);
    walk(&module.functions[0].body, &mut facts);
    facts
}

fn view_type(shape: &[Option<u64>], layout: Option<TensorLayout>) -> ViewType {
    ViewType { kind: ViewKind::Tensor, element: F32, shape: shape.to_vec(), strides: None, layout }
}

#[test]
fn a_window_has_the_strides_and_the_place_of_its_view() {
    let mut b = FunctionBuilder::new("k");
    let p = b.pointer("p", F32);
    let view = b.view(p, &[4, 64, 32]);
    let outer = b.partition(view, &[1, 8, 4].map(Operand::Number), &[2, 16, 8]);
    let inner = b.partition(outer, &[1, 2, 3].map(Operand::Number), &[1, 4, 4]);
    let module = b.finish();
    let facts = facts(&module);
    let found = facts.view(inner).unwrap();
    assert_eq!(found.tensor.strides.map(|stride| stride.known()), [8192, 8192, 2048, 32, 1].map(Some));
    assert_eq!(found.tensor.shape.map(|extent| extent.known()), [1, 1, 1, 4, 4].map(Some));
    assert_eq!(found.offset, Some((2048 + 8 * 32 + 4) + (2048 + 2 * 32 + 3)));
    assert_eq!((found.root, found.rank), (Root::Memory(p), 3));
    assert_eq!(found.elements(), Some((4423, 4423 + 3 * 32 + 4)));
}

#[test]
fn constants_fill_what_a_type_leaves_open_and_values_do_not() {
    let mut b = FunctionBuilder::new("k");
    let (pointer, n) = (b.pointer("p", F32), b.size("n"));
    let eight = b.index(8);
    let result = b.value("v", Type::View(view_type(&[None, None, Some(4)], None)));
    let shape = vec![n.into(), eight.into(), Operand::Number(4)];
    b.push(OpKind::MakeView { result, pointer, shape, strides: vec![], layout: None });
    let module = b.finish();
    let tensor = facts(&module).view(result).unwrap().tensor;
    assert_eq!(tensor.shape[2..], [Extent::Dynamic(None), Extent::Dynamic(Some(8)), Extent::Static(4)]);
    assert_eq!(
        tensor.strides[1..].iter().map(|stride| stride.known()).collect::<Vec<_>>(),
        [None, Some(32), Some(4), Some(1)]
    );
}

#[test]
fn column_major_views_are_packed_column_first() {
    let mut b = FunctionBuilder::new("k");
    let value = b.parameter("v", Type::View(view_type(&[Some(2), Some(8), Some(4)], Some(TensorLayout::Dn))));
    let module = b.finish();
    let facts = facts(&module);
    let expected = Tensor::strided(F32, [1, 1, 2, 8, 4], [64, 64, 32, 1, 8], TensorLayout::Dn);
    assert_eq!(facts.view(value).unwrap().tensor, expected);
}

#[test]
fn tiles_know_their_address_valid_extents_and_windows() {
    let mut b = FunctionBuilder::new("k");
    let tile = b.tile_at(Tile::new(F32, 8, 32).with_dynamic_valid(4, 32), 1024);
    let later = b.tile(Tile::new(F32, 8, 32));
    let address = b.index(2048);
    b.push(OpKind::Assign { tile: later, address: address.into() });
    b.push(OpKind::SetValidShape { tile, rows: Operand::Number(2), cols: Operand::Number(16) });
    let window = b.value("w", Type::Tile(Tile::new(F32, 2, 32)));
    let (offsets, sizes) = ([2, 0].map(Operand::Number), [2, 32].map(Operand::Number));
    b.push(OpKind::Subview { result: window, source: later, offsets, sizes });
    let module = b.finish();
    let facts = facts(&module);
    let found = facts.tile(tile).unwrap();
    assert_eq!((found.placement, found.tile.address), (Placement::At(1024), Some(1024)));
    assert_eq!((found.tile.valid_rows, found.tile.valid_cols), (Extent::Dynamic(Some(2)), Extent::Dynamic(Some(16))));
    let found = facts.tile(window).unwrap();
    assert_eq!((found.range(), found.tile.address), (Some((2048 + 256, 2048 + 512)), Some(2048 + 256)));
    assert_eq!(found.storage.root, Some(later));
}

#[test]
fn what_changes_in_a_loop_or_branch_is_unknown() {
    let mut b = FunctionBuilder::new("k");
    let n = b.size("n");
    let tile = b.tile_at(Tile::new(F32, 8, 32).with_dynamic_valid(8, 32), 0);
    let range = [b.index(0), b.index(4), b.index(1)];
    let seven = b.index(7);
    let mut induction = ValueId(0);
    let results = b.for_carried(range, &[seven, seven], |b, inside, carried| {
        induction = inside;
        b.push(OpKind::SetValidShape { tile, rows: inside.into(), cols: Operand::Number(32) });
        let next = b.arithmetic(pto_ir::Arithmetic::Add, carried[0], seven);
        vec![next, carried[1]]
    });
    let condition = b.compare(Predicate::Slt, n, seven);
    let module = b.finish();
    let facts = facts(&module);
    assert_eq!(facts.integer(induction), None);
    assert_eq!(results.iter().map(|value| facts.integer(*value)).collect::<Vec<_>>(), [None, None]);
    assert_eq!(facts.integer(condition), None);
    assert_eq!(facts.tile(tile).unwrap().tile.valid_rows, Extent::Dynamic(None));
}
