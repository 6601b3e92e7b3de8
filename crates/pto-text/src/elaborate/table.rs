//! Every operation that is read: its name, the attributes and words it takes, and what makes a program of it.
//!
//! The rows are sorted by name. Operations of the `pto` dialect stand here without their prefix, which PTO-AS leaves out.

use pto_ir::{Arithmetic, Extend, OpKind};
use pto_isa::Direction;

use super::Elaborator;
use super::call::Call;

/// What makes a program of an operation; `None` if it was malformed, which has then been reported.
type Reader = for<'a, 't> fn(&'a mut Elaborator<'t>, &'a Call<'t>) -> Option<OpKind>;

/// One operation.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// Attributes in `{...}` and `<{...}>`.
    pub(super) attributes: &'static [&'static str],
    /// Keys of `key = value`, keywords and calls in the body; `*` for any word. `[`, `(` and `{` say that it takes lists,
    /// parentheses or regions of its own, `0` that it takes numbers.
    pub(super) words: &'static [&'static str],
    pub(super) read: Reader,
}

/// Attributes that describe the generic form and not the operation.
pub(super) const STRUCTURAL: [&str; 3] = ["operandSegmentSizes", "operand_segment_sizes", "resultSegmentSizes"];

const GATHER: &[&str] = &["coalesce", "gatherOob", "scatterAtomicOp", "scatterConflict"];
const SCATTER: &[&str] = &["coalesce", "scatterOob", "scatterAtomicOp", "scatterConflict"];
const OVERFLOW: &[&str] = &["overflowFlags"];
const FLAG: &[&str] = &["src_pipe", "dst_pipe", "event_id"];
const EVENT: &[&str] = &["src_op", "dst_op", "event_id"];

macro_rules! rows {
    ($($name:literal [$($attribute:expr)?] [$($word:literal)*] $read:expr;)*) => {
        /// The rows, sorted by name.
        static ROWS: &[Row] = &[$(Row {
            name: $name,
            attributes: rows!(@attributes $($attribute)?),
            words: &[$($word),*],
            read: $read,
        }),*];
    };
    (@attributes) => { &[] };
    (@attributes $attributes:expr) => { $attributes };
}

rows! {
    ".const" [] ["*"] |e, c| e.constant(c);
    "alloc_tile" [] ["addr" "valid_row" "valid_col"] |e, c| e.alloc_tile(c);
    "arith.addi" [OVERFLOW] [] |e, c| e.arithmetic(c, Arithmetic::Add);
    "arith.andi" [] [] |e, c| e.arithmetic(c, Arithmetic::And);
    "arith.ceildivsi" [] [] |e, c| e.arithmetic(c, Arithmetic::CeilDiv);
    "arith.ceildivui" [] [] |e, c| e.arithmetic(c, Arithmetic::CeilDivUnsigned);
    "arith.cmpi" [&["predicate"]] ["*"] |e, c| e.compare(c);
    "arith.constant" [&["value"]] ["*"] |e, c| e.constant(c);
    "arith.divsi" [] [] |e, c| e.arithmetic(c, Arithmetic::Div);
    "arith.divui" [] [] |e, c| e.arithmetic(c, Arithmetic::DivUnsigned);
    "arith.extsi" [] ["*"] |e, c| e.cast(c, Extend::Sign);
    "arith.extui" [] ["*"] |e, c| e.cast(c, Extend::Zero);
    "arith.floordivsi" [] [] |e, c| e.arithmetic(c, Arithmetic::FloorDiv);
    "arith.index_cast" [] ["*"] |e, c| e.cast(c, Extend::Sign);
    "arith.index_castui" [] ["*"] |e, c| e.cast(c, Extend::Zero);
    "arith.maxsi" [] [] |e, c| e.arithmetic(c, Arithmetic::Max);
    "arith.maxui" [] [] |e, c| e.arithmetic(c, Arithmetic::MaxUnsigned);
    "arith.minsi" [] [] |e, c| e.arithmetic(c, Arithmetic::Min);
    "arith.minui" [] [] |e, c| e.arithmetic(c, Arithmetic::MinUnsigned);
    "arith.muli" [OVERFLOW] [] |e, c| e.arithmetic(c, Arithmetic::Mul);
    "arith.ori" [] [] |e, c| e.arithmetic(c, Arithmetic::Or);
    "arith.remsi" [] [] |e, c| e.arithmetic(c, Arithmetic::Rem);
    "arith.remui" [] [] |e, c| e.arithmetic(c, Arithmetic::RemUnsigned);
    "arith.select" [] [] |e, c| e.select(c);
    "arith.shli" [OVERFLOW] [] |e, c| e.arithmetic(c, Arithmetic::ShiftLeft);
    "arith.shrsi" [] [] |e, c| e.arithmetic(c, Arithmetic::ShiftRight);
    "arith.shrui" [] [] |e, c| e.arithmetic(c, Arithmetic::ShiftRightUnsigned);
    "arith.subi" [OVERFLOW] [] |e, c| e.arithmetic(c, Arithmetic::Sub);
    "arith.trunci" [OVERFLOW] ["*"] |e, c| e.cast(c, Extend::Sign);
    "arith.xori" [] [] |e, c| e.arithmetic(c, Arithmetic::Xor);
    "barrier" [&["pipe"]] ["*" "["] |e, c| e.barrier(c);
    "barrier_all" [] [] |_, _| Some(OpKind::Barrier(pto_ir::Pipe::All));
    "comm.barrier" [] [] |_, _| Some(OpKind::RankBarrier);
    "comm.rank" [] [] |e, c| e.rank(c, |result| OpKind::Rank { result });
    "comm.ranks" [] [] |e, c| e.rank(c, |result| OpKind::Ranks { result });
    "comm.tgather" [&["root"]] ["recv" "group" "root" "("] |e, c| e.collective(c, Direction::Gather);
    "comm.tnotify" [&["notifyOp"]] ["("] |e, c| e.notify(c);
    "comm.tscatter" [&["root"]] ["recv" "group" "root" "("] |e, c| e.collective(c, Direction::Scatter);
    "comm.twait" [&["cmp"]] ["("] |e, c| e.wait(c);
    "dcci" [] ["*"] |e, c| e.plain(c, OpKind::FlushCache);
    "dsb" [] ["*"] |e, c| e.plain(c, OpKind::DataBarrier);
    "func.return" [] [] |e, c| e.return_(c);
    "load_scalar" [] ["["] |e, c| e.load_scalar(c);
    "make_group" [] [] |e, c| e.make_group(c);
    "make_tensor_view" [&["layout"]] ["shape" "strides"] |e, c| e.make_view(c);
    "mgather" [GATHER] ["valid_row" "valid_col"] |e, c| e.instruction(c);
    "mscatter" [SCATTER] [] |e, c| e.instruction(c);
    "partition_view" [] ["offsets" "sizes"] |e, c| e.partition_view(c);
    "record_event" [EVENT] ["["] |e, c| e.event(c, OpKind::SetFlag);
    "return" [] [] |e, c| e.return_(c);
    "scf.for" [] ["to" "step" "iter_args" "{"] |e, c| e.for_loop(c);
    "scf.if" [] ["else" "{"] |e, c| e.conditional(c);
    "scf.yield" [] [] |e, c| e.yield_(c);
    "set_flag" [FLAG] ["["] |e, c| e.flag(c, OpKind::SetFlag);
    "set_validshape" [] ["0"] |e, c| e.set_valid_shape(c);
    "store_scalar" [] ["["] |e, c| e.store_scalar(c);
    "subview" [&["sizes"]] ["sizes" "offsets" "["] |e, c| e.subview(c);
    "tassign" [] ["@tile" "addr" "0"] |e, c| e.assign(c);
    "tgather" [&["root"]] ["root"] |e, c| e.group_call(c, Direction::Gather);
    "tgetval" [] ["outs" "0"] |e, c| e.get_value(c);
    "tload" [] ["valid_row" "valid_col"] |e, c| e.instruction(c);
    "tmov" [] ["valid_row" "valid_col"] |e, c| e.instruction(c);
    "tscatter" [&["maskPattern", "root"]] ["root" "valid_row" "valid_col"] |e, c| e.tile_scatter(c);
    "tsetval" [] ["0"] |e, c| e.set_value(c);
    "tstore" [] [] |e, c| e.instruction(c);
    "wait_event" [EVENT] ["["] |e, c| e.event(c, OpKind::WaitFlag);
    "wait_flag" [FLAG] ["["] |e, c| e.flag(c, OpKind::WaitFlag);
}

fn row(name: &str) -> Option<&'static Row> {
    ROWS.binary_search_by(|row| row.name.cmp(name)).ok().map(|at| &ROWS[at])
}

/// The operation with a name, and the suffixes behind it.
pub(super) fn find(name: &str) -> Option<(&'static Row, &str)> {
    let bare = name.strip_prefix("pto.").unwrap_or(name);
    if let Some(row) = row(bare) {
        return Some((row, ""));
    }
    let (head, suffixes) = bare.split_once('.')?;
    // Only the memory instructions have suffixes; anything else with a dot is of another dialect.
    matches!(head, "mgather" | "mscatter").then(|| row(head)).flatten().map(|row| (row, suffixes))
}

/// The names of all operations that are read, with the prefix of their dialect.
///
/// ```
/// assert!(pto_text::operation_names().any(|name| name == "pto.mscatter"));
/// assert!(pto_text::operation_names().any(|name| name == "arith.addi"));
/// ```
pub fn operation_names() -> impl Iterator<Item = String> {
    let dialect = |name: &str| ["arith.", "scf.", "func."].iter().any(|dialect| name.starts_with(dialect));
    ROWS.iter()
        .filter(|row| !row.name.starts_with('.') && row.name != "return")
        .map(move |row| if dialect(row.name) { row.name.into() } else { format!("pto.{}", row.name) })
}

/// The attributes that an operation takes; `None` for one that is not read. Suffixes and the dialect's prefix may be there.
///
/// ```
/// let taken = pto_text::operation_attributes("mgather.row").unwrap();
/// assert!(taken.contains(&"gatherOob"));
/// ```
pub fn operation_attributes(name: &str) -> Option<&'static [&'static str]> {
    find(name).map(|(row, _)| row.attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sorted() {
        assert!(ROWS.is_sorted_by(|a, b| a.name < b.name));
    }

    #[test]
    fn names_with_and_without_prefix_and_suffixes() {
        let found = |name| find(name).map(|(row, suffixes)| (row.name, suffixes));
        assert_eq!(found("pto.tload"), Some(("tload", "")));
        assert_eq!(found("mscatter.row.clamp"), Some(("mscatter", "row.clamp")));
        assert_eq!(found("comm.tscatter"), Some(("comm.tscatter", "")));
        assert_eq!(found("tload.row"), None);
        assert_eq!(found("cf.br"), None);
    }
}
