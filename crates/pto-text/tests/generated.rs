//! Programs made at random, written in every spelling that can express them and read again: the same programs, operation
//! by operation; and what was refused is refused for what it is.

mod common;
#[path = "../../pto-ir/tests/common/program.rs"]
mod program;

use common::structure;
use program::{PAYLOADS, Shape, build, kernel};
use proptest::prelude::*;
use pto_ir::Module;
use pto_text::{Form, to_text};

/// What is written reads back as the same program; `None` if the spelling cannot express it.
fn there_and_back(module: &Module, form: Form) -> Option<Module> {
    let text = match to_text(module, form, None) {
        Ok(text) => text,
        Err(refused) => {
            assert!(refused.iter().all(|one| one.rule.name == "unsupported.form"), "{refused:?}");
            return None;
        }
    };
    let read = common::program("generated", &text);
    let again = common::program("generated", &to_text(&read, form, None).expect("what was read from this spelling"));
    assert_eq!(structure(&read), structure(&again), "{form:?}\n{text}");
    Some(read)
}

fn shape(branches: bool, depth: u32) -> Shape {
    Shape { branches, dynamic: true, depth, rows: [8, 16, 8, 4][..PAYLOADS].try_into().expect("as many") }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn with_allocations_nothing_changes(steps in kernel(shape(true, 3))) {
        let module = build(&steps, shape(true, 3));
        let written = there_and_back(&module, Form::Dps).expect("level 2 expresses every program");
        prop_assert_eq!(structure(&module), structure(&written));
        let lowered = pto_ir::lower::lower(&module, pto_isa::Target::A5).ok();
        if let Some(lowered) = lowered {
            let written = there_and_back(&lowered, Form::Level3).expect("what lowering placed");
            prop_assert_eq!(structure(&lowered), structure(&written));
        }
    }

    /// A program that SSA or PTO-AS expresses is the same program through all of them.
    #[test]
    fn through_the_spellings_and_back(steps in kernel(shape(false, 0))) {
        let module = build(&steps, shape(false, 0));
        for first in [Form::As, Form::Ssa] {
            let Some(start) = there_and_back(&module, first) else { continue };
            for form in [Form::Ssa, Form::Dps, Form::As, Form::Dps, Form::Ssa] {
                let read = there_and_back(&start, form).expect("a straight line of instructions");
                prop_assert_eq!(structure(&start), structure(&read), "{:?}", form);
            }
        }
    }
}
