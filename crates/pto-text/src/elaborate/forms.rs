//! How each operation is written, for the help of whoever wrote it otherwise.

/// Operations by their name without `pto.`, sorted, with the forms that people write.
static FORMS: &[(&str, &str)] = &[
    (".arg", ".arg %a : !pto.tile<8x32xf32>"),
    (".const", ".const %c = 0 : index"),
    ("alloc_tile", "%t = pto.alloc_tile [addr = %a] [valid_row = %r] [valid_col = %c] : !pto.tile_buf<vec, 8x32xf32>"),
    ("arith.cmpi", "%b = arith.cmpi slt, %x, %y : index"),
    ("arith.constant", "%c = arith.constant 0 : index"),
    ("arith.extsi", "%w = arith.extsi %n : i32 to i64"),
    ("arith.index_cast", "%i = arith.index_cast %n : i32 to index"),
    ("arith.select", "%v = arith.select %b, %x, %y : index"),
    ("arith.trunci", "%n = arith.trunci %w : i64 to i32"),
    ("barrier", "pto.barrier <PIPE_ALL>"),
    ("comm.tgather", "pto.comm.tgather(%dst, recv(%ping, %pong), group(%p0, %p1) : T, ...) {root = 0 : i32}"),
    ("comm.tnotify", "pto.comm.tnotify(%signal, %value : T, i32) {notifyOp = #pto<notify_op atomic_add>}"),
    ("comm.tscatter", "pto.comm.tscatter(%src, recv(%ping, %pong), group(%p0, %p1) : T, ...) {root = 0 : i32}"),
    ("comm.twait", "pto.comm.twait(%signal, %value : T, i32) {cmp = #pto<wait_cmp ge>}"),
    ("func.func", "func.func @name(%a: !pto.ptr<f32>) { ... return }"),
    ("load_scalar", "%x = pto.load_scalar %p[%i] : !pto.ptr<f32> -> f32"),
    ("make_group", "%g = pto.make_group %p0, %p1 : T, T -> !pto.group<2xT>"),
    (
        "make_tensor_view",
        "%v = pto.make_tensor_view %p, shape = [%rows, %cols], strides = [%stride, %c1] : !pto.tensor_view<?x?xf32>",
    ),
    ("mgather", "pto.mgather ins(%mem, %idx : A, B) outs(%dst : C) {coalesce = #pto<coalesce row>}"),
    ("mscatter", "pto.mscatter ins(%src, %idx : A, B) outs(%mem : C) {coalesce = #pto<coalesce row>}"),
    ("partition_view", "%w = pto.partition_view %v, offsets = [%r, %c], sizes = [%rows, %cols] : V -> W"),
    ("record_event", "pto.record_event[<TLOAD>, <TVEC>, <EVENT_ID0>]"),
    ("scf.for", "scf.for %i = %first to %end step %step iter_args(%x = %y) -> (T) { ... scf.yield %z : T }"),
    ("scf.if", "scf.if %b -> (T) { ... scf.yield %x : T } else { ... scf.yield %y : T }"),
    ("scf.yield", "scf.yield %a, %b : T, U"),
    ("set_flag", "pto.set_flag[\"PIPE_MTE2\", \"PIPE_V\", \"EVENT_ID0\"]"),
    ("set_validshape", "pto.set_validshape %t, %rows, %cols : T"),
    ("store_scalar", "pto.store_scalar %x, %p[%i] : !pto.ptr<f32>, f32"),
    ("subview", "%s = pto.subview %t[%row, %col] sizes [4, 32] : T -> U"),
    ("tassign", "pto.tassign %t, @tile(0x1000)"),
    ("tgather", "tgather %group, %dst : (!pto.group<...>, !pto.memref<...>)"),
    ("tgetval", "%x = pto.tgetval ins(%t, %i : T, index) outs : f32"),
    ("tload", "pto.tload ins(%view : A) outs(%tile : B)"),
    ("tmov", "pto.tmov ins(%src : A) outs(%dst : B)"),
    ("tscatter", "pto.tscatter ins(%src, %idx : A, B) outs(%dst : C)"),
    ("tsetval", "pto.tsetval ins(%i, %x : index, f32) outs(%t : T)"),
    ("tstore", "pto.tstore ins(%tile : A) outs(%view : B)"),
    ("wait_event", "pto.wait_event[<TLOAD>, <TVEC>, <EVENT_ID0>]"),
    ("wait_flag", "pto.wait_flag[\"PIPE_MTE2\", \"PIPE_V\", \"EVENT_ID0\"]"),
];

/// How an operation is written; suffixes and the dialect's prefix may be there.
pub(super) fn form(name: &str) -> Option<String> {
    let bare = name.strip_prefix("pto.").unwrap_or(name);
    let find = |name: &str| FORMS.binary_search_by(|(known, _)| known.cmp(&name)).ok().map(|at| FORMS[at].1);
    let head = bare.split('.').next().unwrap_or(bare);
    let known = find(bare).or_else(|| matches!(head, "mgather" | "mscatter").then(|| find(head)).flatten());
    // All arithmetic that is not listed takes two operands.
    known.map(String::from).or_else(|| (head == "arith").then(|| format!("%c = {bare} %a, %b : index")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, elaborate, parse};

    #[test]
    fn forms_are_sorted_and_of_operations_that_are_read() {
        assert!(FORMS.is_sorted_by(|a, b| a.0 < b.0));
        for (name, form) in FORMS {
            assert!(form.contains(name), "{name}: {form}");
        }
        assert_eq!(form("pto.mgather"), form("mgather.row.clamp"));
    }

    #[test]
    fn whoever_writes_an_operation_otherwise_sees_its_form() {
        let found = elaborate(&parse(&Source::new("t", "pto.set_flag[\"PIPE_V\"]"))).diagnostics;
        assert_eq!(found[0].advice(), "write it as `pto.set_flag[\"PIPE_MTE2\", \"PIPE_V\", \"EVENT_ID0\"]`");
    }
}
