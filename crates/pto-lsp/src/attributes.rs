//! Attributes, pipes and other fixed words: what they mean and which values they take.

use pto_ir::Pipe;
use pto_isa::{Atomic, Coalesce, Conflict, MaskPattern, OutOfBounds, Target, TensorLayout};

/// An attribute: what it says, and how its values are written.
pub(crate) struct Attribute {
    pub(crate) name: &'static str,
    pub(crate) meaning: &'static str,
    /// What stands before and behind a value.
    around: (&'static str, &'static str),
    values: fn() -> Vec<&'static str>,
}

impl Attribute {
    /// The values as they are written; none for attributes that take a number.
    pub(crate) fn spelt(&self) -> Vec<String> {
        let (before, behind) = self.around;
        (self.values)().into_iter().map(|value| format!("{before}{value}{behind}")).collect()
    }
}

fn except(left_out: OutOfBounds) -> Vec<&'static str> {
    OutOfBounds::ALL.iter().filter(|oob| **oob != left_out).map(|oob| oob.name()).collect()
}

fn pipes() -> Vec<&'static str> {
    Pipe::EACH.iter().map(|pipe| pipe.name()).collect()
}

/// Every name of an enumeration.
macro_rules! names {
    ($of:ident) => {
        || $of::ALL.iter().map(|one| one.name()).collect()
    };
}

static ATTRIBUTES: &[Attribute] = &[
    Attribute {
        name: "coalesce",
        meaning: "What one index selects: a whole row of the table (`row`) or one element of it (`elem`). Left out, the shape of the index tile decides.",
        around: ("#pto<coalesce ", ">"),
        values: names!(Coalesce),
    },
    Attribute {
        name: "gatherOob",
        meaning: "What a gather makes of an index outside the table: `undefined` (the caller promises that there is none), `clamp` (the last place), `wrap` (modulo the capacity), `zero` (the lane becomes zero).",
        around: ("#pto<gather_oob ", ">"),
        values: || except(OutOfBounds::Skip),
    },
    Attribute {
        name: "scatterOob",
        meaning: "What a scatter makes of an index outside the table: `undefined` (the caller promises that there is none), `skip` (the write is dropped), `clamp` (the last place), `wrap` (modulo the capacity).",
        around: ("#pto<scatter_oob ", ">"),
        values: || except(OutOfBounds::Zero),
    },
    Attribute {
        name: "scatterAtomicOp",
        meaning: "How a scatter combines a value with what the table holds: replaced (`none`), added, or the larger or smaller kept. Which element types can depends on the target.",
        around: ("#pto<scatter_atomic_op ", ">"),
        values: names!(Atomic),
    },
    Attribute {
        name: "scatterConflict",
        meaning: "Who survives when several lanes replace one slot on a5: the largest source position (`last`), or whichever the scheduler runs last (`default`).",
        around: ("#pto<scatter_conflict ", ">"),
        values: names!(Conflict),
    },
    Attribute {
        name: "maskPattern",
        meaning: "Which lane of each widened group receives the source element: `P0101` is the first of two, `P1000` the fourth of four.",
        around: ("#pto.mask_pattern<", ">"),
        values: names!(MaskPattern),
    },
    Attribute {
        name: "layout",
        meaning: "Storage order of a view of global memory: row-major (`nd`), column-major (`dn`) or fractal blocks (`nz`).",
        around: ("#pto.layout<", ">"),
        values: names!(TensorLayout),
    },
    Attribute { name: "root", meaning: "The rank that deals out or collects.", around: ("", ""), values: Vec::new },
    Attribute {
        name: "pto.target_arch",
        meaning: "The target that the program is for; without it every target is judged.",
        around: ("\"", "\""),
        values: names!(Target),
    },
    Attribute {
        name: "src_pipe",
        meaning: "The pipe that sets the event.",
        around: ("#pto.pipe<", ">"),
        values: pipes,
    },
    Attribute {
        name: "dst_pipe",
        meaning: "The pipe that waits for the event.",
        around: ("#pto.pipe<", ">"),
        values: pipes,
    },
];

/// The attribute with a name.
pub(crate) fn attribute(name: &str) -> Option<&'static Attribute> {
    ATTRIBUTES.iter().find(|attribute| attribute.name == name)
}

/// What a pipe or event is.
pub(crate) fn word(word: &str) -> Option<String> {
    let pipe = match Pipe::from_name(word) {
        Some(Pipe::S) => "the scalar unit",
        Some(Pipe::V) => "the vector unit, and a5's SIMT kernels",
        Some(Pipe::Mte2) => "loads from global memory to UB",
        Some(Pipe::Mte3) => "stores from UB to global memory",
        Some(Pipe::Mte1) => "loads from L1 to the cube's operand buffers",
        Some(Pipe::M) => "the matrix unit",
        Some(Pipe::Fix) => "the fix-pipe",
        Some(Pipe::All) => "every pipe; in barriers only",
        None if word.starts_with("EVENT_ID") => {
            let note = "One of the eight events of a pair of pipes. Some instructions use `EVENT_ID0` inside.";
            return Some(format!("`{word}`\n\n{note}"));
        }
        None => return None,
    };
    Some(format!("`{word}`: {pipe}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_of_the_memory_instructions_are_known_with_values_that_read() {
        for op in ["pto.mgather", "pto.mscatter", "pto.comm.tscatter", "pto.make_tensor_view"] {
            for name in pto_text::operation_attributes(op).unwrap() {
                assert!(attribute(name).is_some(), "{op}: {name}");
            }
        }
        for attribute in ATTRIBUTES {
            for value in attribute.spelt() {
                let text = format!("pto.mgather {{{} = {value}}}", attribute.name);
                let parsed = pto_text::parse(&pto_text::Source::new("t", text.as_str()));
                assert!(parsed.is_clean(), "{text}");
            }
        }
    }
}
