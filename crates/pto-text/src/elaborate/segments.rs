//! The operands of the generic form, `"op"(%a, %b, %c) <{operandSegmentSizes = array<i32: 1, 2>}>`, given back the names
//! that the other forms write before them: `shape = [...]`, `addr = ...`.

use super::call::Call;
use super::{Elaborator, count};
use crate::syntax::{Kind, Node};
use crate::view::integer;

/// How many operands a segment holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Size {
    One,
    Optional,
    Many,
}

/// One segment: the name of its operands, empty for those that no form names.
type Segment = (&'static str, Size);

/// The operations whose forms name operands, with their segments in the order of the generic form.
static SEGMENTS: [(&str, &[Segment]); 5] = [
    ("alloc_tile", &[("addr", Size::Optional), ("valid_row", Size::Optional), ("valid_col", Size::Optional)]),
    ("load_scalar", &[("", Size::One), ("offset", Size::One)]),
    ("make_tensor_view", &[("", Size::One), ("shape", Size::Many), ("strides", Size::Many)]),
    ("partition_view", &[("", Size::One), ("offsets", Size::Many), ("sizes", Size::Many)]),
    ("subview", &[("", Size::One), ("offsets", Size::Many), ("sizes", Size::Many)]),
];

impl<'t> Elaborator<'t> {
    /// Sorts the operands of an operation in the generic form into its segments; `None` if their numbers do not fit.
    pub(super) fn segments(&mut self, call: &mut Call<'t>, name: &str) -> Option<()> {
        let Some((_, segments)) = SEGMENTS.iter().find(|(known, _)| *known == name) else { return Some(()) };
        let found = call.operands.len();
        let given = ["operandSegmentSizes", "operand_segment_sizes"].iter().find_map(|key| call.attribute(key));
        let sizes = match given.and_then(|entry| entry.value) {
            Some(value) => numbers(value),
            None => match inferred(segments, found) {
                Some(sizes) => sizes,
                None => {
                    let message = format!("expected `operandSegmentSizes` to tell its {found} operands apart");
                    return self.malformed(call, message);
                }
            },
        };
        let fits = |(at, size): (usize, &usize)| match segments.get(at) {
            Some((_, Size::One)) => *size == 1,
            Some((_, Size::Optional)) => *size <= 1,
            Some((_, Size::Many)) => true,
            None => *size == 0,
        };
        let total = sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size));
        if total != Some(found) || !sizes.iter().enumerate().all(fits) {
            let names: Vec<&str> =
                segments.iter().map(|(name, _)| if name.is_empty() { "operand" } else { name }).collect();
            let message = format!(
                "expected segments ({}) that hold its {}, found {sizes:?}",
                names.join(", "),
                count(found, "operand")
            );
            return self.malformed(call, message);
        }
        let mut operands = std::mem::take(&mut call.operands).into_iter();
        for ((name, _), size) in segments.iter().zip(sizes) {
            let nodes: Vec<Node<'t>> = operands.by_ref().take(size).collect();
            match name.is_empty() {
                true => call.operands = nodes,
                false => call.segments.push((name, nodes)),
            }
        }
        // What names its operands types none of them but the first; the others are judged by what they are used as.
        call.types.truncate(call.operands.len());
        Some(())
    }
}

/// The sizes where the text leaves them out: those that there is one way to read.
fn inferred(segments: &[Segment], operands: usize) -> Option<Vec<usize>> {
    let ones = segments.iter().filter(|(_, size)| *size == Size::One).count();
    let many = segments.iter().filter(|(_, size)| *size == Size::Many).count();
    let rest = operands.checked_sub(ones)?;
    if rest != 0 && (many == 0 || !rest.is_multiple_of(many)) {
        return None;
    }
    let size = |(_, size): &Segment| match size {
        Size::One => 1,
        Size::Optional => 0,
        Size::Many => rest / many,
    };
    Some(segments.iter().map(size).collect())
}

/// The numbers in `array<i32: 1, 2>` or `dense<[1, 2]> : vector<2xi32>`.
fn numbers(value: Node<'_>) -> Vec<usize> {
    fn walk(node: Node<'_>, found: &mut Vec<usize>) {
        match node.kind() {
            Kind::Int => found.extend(integer(node).and_then(|number| usize::try_from(number).ok())),
            Kind::Types => {}
            // The parser bounds how deep this goes.
            _ => node.children().for_each(|child| walk(child, found)),
        }
    }
    let mut found = Vec::new();
    walk(value, &mut found);
    found
}
