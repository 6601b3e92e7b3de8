//! What each operation does, in a sentence, and on which pipes.

use pto_ir::{Executed, Footprint, Lanes, OpKind, Pipe, facts::Facts, footprint};
use pto_isa::{Atomic, Coalesce, Target};

/// Operations by their name without `pto.`, sorted.
static OPERATIONS: &[(&str, &str)] = &[
    (".arg", "Declares an argument of a text without functions."),
    (".const", "A constant."),
    (
        "alloc_tile",
        "A new tile. `addr` gives its UB byte address, `valid_row` and `valid_col` the extents that the type leaves open.",
    ),
    ("arith.addi", "Sum of two integers, wrapping."),
    ("arith.andi", "Bitwise and."),
    ("arith.ceildivsi", "Signed quotient, rounded up."),
    ("arith.ceildivui", "Unsigned quotient, rounded up."),
    ("arith.cmpi", "Compares two integers by a predicate (`eq`, `ne`, `slt`, `ult`, ...); the result is an `i1`."),
    ("arith.constant", "A constant."),
    ("arith.divsi", "Signed quotient, rounded towards zero."),
    ("arith.divui", "Unsigned quotient."),
    ("arith.extsi", "Widens an integer, keeping its sign."),
    ("arith.extui", "Widens an integer with zeros."),
    ("arith.floordivsi", "Signed quotient, rounded down."),
    ("arith.index_cast", "Converts between `index` and an integer type."),
    ("arith.index_castui", "Converts between `index` and an integer type; what is added are zeros."),
    ("arith.maxsi", "The larger of two signed integers."),
    ("arith.maxui", "The larger of two unsigned integers."),
    ("arith.minsi", "The smaller of two signed integers."),
    ("arith.minui", "The smaller of two unsigned integers."),
    ("arith.muli", "Product of two integers, wrapping."),
    ("arith.ori", "Bitwise or."),
    ("arith.remsi", "Signed remainder."),
    ("arith.remui", "Unsigned remainder."),
    ("arith.select", "One of two values, decided by an `i1`."),
    ("arith.shli", "Shifts left, wrapping; a shift by the width or more has no value."),
    ("arith.shrsi", "Shifts right, repeating the sign."),
    ("arith.shrui", "Shifts right, bringing in zeros."),
    ("arith.subi", "Difference of two integers, wrapping."),
    ("arith.trunci", "Narrows an integer to its low bits."),
    ("arith.xori", "Bitwise exclusive or."),
    ("barrier", "Everything given to a pipe, or with `PIPE_ALL` to every pipe, is done before what follows."),
    ("barrier_all", "Everything given to any pipe is done before what follows."),
    ("comm.barrier", "Waits until every rank is here."),
    ("comm.rank", "The number of this rank."),
    ("comm.ranks", "The number of ranks."),
    ("comm.tgather", "The root collects one tensor from every rank of a group, through staging tiles."),
    ("comm.tnotify", "Changes a signal in a rank's window, after everything that this rank has done."),
    ("comm.tscatter", "The root deals its tensor out to the ranks of a group, one part each, through staging tiles."),
    ("comm.twait", "Waits until a signal in this rank's window is as wanted."),
    ("dcci", "Pushes the data cache to global memory."),
    ("dsb", "Waits until flushed data is observable by the host."),
    ("func.call", "Calls a function."),
    ("func.func", "A function; one that is not `private` can be run."),
    ("func.return", "The end of a function."),
    ("load_scalar", "Reads one element of global memory."),
    ("make_group", "A group of views, one per rank."),
    ("make_tensor_view", "A view of the memory behind a pointer, with its shape and strides."),
    (
        "mgather",
        "MGATHER: fills a tile with the rows (`row`) or elements (`elem`) of a table in global memory that an index tile names.",
    ),
    ("module", "A program: its functions, and the target that they are for."),
    (
        "mscatter",
        "MSCATTER: writes the rows (`row`) or elements (`elem`) of a tile to the places of a table in global memory that an index tile names, replacing or combining atomically.",
    ),
    ("partition_view", "A window of a view, at offsets, with sizes."),
    ("record_event", "Sets a flag between the pipes that two kinds of operations run on."),
    ("return", "The end of a function."),
    (
        "scf.for",
        "A counted loop from a lower bound up to, not including, an upper bound; `iter_args` are carried from round to round.",
    ),
    ("scf.if", "A conditional."),
    ("scf.yield", "The end of a region: the values that it hands out."),
    ("set_flag", "The first pipe sets an event when everything it has been given is done."),
    ("set_validshape", "New valid extents for a tile whose type leaves them open."),
    ("store_scalar", "Writes one element of global memory."),
    ("subview", "A window of a tile, which shares its bytes."),
    ("tassign", "TASSIGN: gives a tile its UB byte address."),
    ("tgather", "The root collects one tensor from every rank of a group."),
    ("tgetval", "Reads one element of a tile."),
    ("tload", "TLOAD: copies a window of global memory into a tile."),
    ("tmov", "TMOV: copies a tile."),
    (
        "tscatter",
        "TSCATTER: writes the elements of a tile to places of another that an index tile or a mask pattern names.",
    ),
    ("tsetval", "Writes one element of a tile."),
    ("tstore", "TSTORE: copies a tile to a window of global memory."),
    ("wait_event", "Waits for a flag between the pipes that two kinds of operations run on."),
    ("wait_flag", "The second pipe waits until the first has set the event."),
];

/// What an operation does; suffixes and the dialect's prefix may be there.
pub(crate) fn sentence(name: &str) -> Option<&'static str> {
    let bare = name.strip_prefix("pto.").unwrap_or(name);
    let find = |name: &str| OPERATIONS.binary_search_by(|(known, _)| known.cmp(&name)).ok().map(|at| OPERATIONS[at].1);
    let (head, _) = bare.split_once('.').unwrap_or((bare, ""));
    find(bare).or_else(|| matches!(head, "mgather" | "mscatter").then(|| find(head)).flatten())
}

/// The pipes of an operation on each target that has pipes, as Markdown; empty for one that uses none.
pub(crate) fn pipes(facts: &Facts<'_>, op: &OpKind) -> String {
    let each = [Target::A2A3, Target::A5].map(|target| (target, footprints(facts, op, target)));
    if each.iter().all(|(_, modes)| modes.is_empty()) {
        return String::new();
    }
    let mut out = String::from("| target | pipes |\n| --- | --- |\n");
    for (target, modes) in each {
        let words: Vec<String> = modes.iter().map(|(mode, footprint)| format!("{mode}{}", words(footprint))).collect();
        out += &format!("| {target} | {} |\n", words.join("; "));
    }
    out + "| cpu, host | in program order |"
}

/// How an operation runs on a target: once, or once for each mode where its mode is not known.
fn footprints(facts: &Facts<'_>, op: &OpKind, target: Target) -> Vec<(&'static str, Footprint)> {
    let plain = |executed| vec![("", footprint(executed, target))];
    match op {
        OpKind::Load { .. } => plain(Executed::Load),
        OpKind::Store { .. } => plain(Executed::Store),
        OpKind::Move { .. } => plain(Executed::Move),
        OpKind::TScatter { .. } | OpKind::TScatterMask { .. } => plain(Executed::TScatter),
        OpKind::LoadScalar { .. } | OpKind::GetValue { .. } => plain(Executed::ScalarRead),
        OpKind::StoreScalar { .. } | OpKind::SetValue { .. } => plain(Executed::ScalarWrite),
        OpKind::MGather { policy, .. } | OpKind::MScatter { policy, .. } => {
            let instruction = facts.instruction(op);
            let mode = match &instruction {
                Some(instruction) => instruction.coalesce(target),
                None => policy.coalesce,
            };
            let one = instruction.is_some_and(|instruction| is_one(&instruction));
            let in_mode =
                |mode| memory(op, mode, policy.atomic_or_default(), if one { Lanes::One } else { Lanes::Many }, target);
            match mode {
                Some(mode) => vec![("", in_mode(mode))],
                None => vec![("row: ", in_mode(Coalesce::Row)), ("elem: ", in_mode(Coalesce::Elem))],
            }
        }
        _ => Vec::new(),
    }
}

fn memory(op: &OpKind, mode: Coalesce, atomic: Atomic, lanes: Lanes, target: Target) -> Footprint {
    let executed = match op {
        OpKind::MGather { .. } => Executed::MGather(mode, lanes),
        _ => Executed::MScatter(mode, atomic, lanes),
    };
    footprint(executed, target)
}

/// Whether an instruction moves a single element, which A5 does without SIMT.
fn is_one(instruction: &pto_isa::Instruction) -> bool {
    let (pto_isa::Instruction::MGather { dst: payload, .. } | pto_isa::Instruction::MScatter { src: payload, .. }) =
        instruction
    else {
        return false;
    };
    payload.valid_rows.known() == Some(1) && payload.valid_cols.known() == Some(1)
}

fn words(footprint: &Footprint) -> String {
    let names = |pipes: &[Pipe]| pipes.iter().map(|pipe| pipe.name()).collect::<Vec<_>>().join(", ");
    let phases: Vec<Pipe> = footprint.phases.iter().map(|phase| phase.pipe).collect();
    let mut out = phases.iter().map(|pipe| format!("`{}`", pipe.name())).collect::<Vec<_>>().join(" then ");
    if !footprint.waits_for.is_empty() {
        out += &format!("; waits by itself for {}", names(footprint.waits_for));
    }
    if !footprint.releases.is_empty() {
        out += &format!("; releases {}", names(footprint.releases));
    }
    if !footprint.handshakes.is_empty() {
        out += "; uses `EVENT_ID0` inside";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_that_is_read_has_its_sentence() {
        assert!(OPERATIONS.is_sorted_by(|a, b| a.0 < b.0));
        for name in pto_text::operation_names() {
            assert!(sentence(&name).is_some(), "{name}");
        }
        assert_eq!(sentence("mgather.row.clamp"), sentence("pto.mgather"));
        assert_eq!(sentence("pto.tadd"), None);
    }
}
