//! Running a plan allocates nothing: what a call needs was reduced to numbers when the instruction was planned. (Long
//! transfers that are divided among threads or buckets keep a list of those; no element costs memory there either.)
#![allow(unsafe_code, reason = "an allocator that counts is an unsafe trait")]

#[allow(dead_code, reason = "shared with the other tests")]
mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::num::NonZeroUsize;

use common::{Draw, Lanes, Program};
use pto_exec::host::{Engine, Method};
use pto_exec::{Memory, Plan, Schedule};
use pto_isa::{Atomic, Coalesce, Conflict, ElementType, Instruction, Launch, MaskPattern, OutOfBounds, Target};

/// The system's allocator, counting what this thread asks it for.
struct Counting;

thread_local! {
    static ASKED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator with its arguments unchanged; the count is a plain thread-local
// number that needs no memory and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        // SAFETY: the caller's promise on `layout` is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above, so from the system's allocator, with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Runs a program twice and returns how often the second run asked for memory.
fn asked(engine: &Engine, program: &mut Program) -> usize {
    let Program { instruction, target, written, inputs } = program;
    let plan = Plan::new(instruction, *target, Launch::default()).expect("a legal program");
    let mut run = || {
        let memory = match instruction {
            Instruction::MGather { .. } => Memory::MGather { dst: written, table: &inputs[0], idx: &inputs[1] },
            Instruction::MScatter { .. } => Memory::MScatter { table: written, src: &inputs[0], idx: &inputs[1] },
            Instruction::TScatter { .. } => Memory::TScatter { dst: written, src: &inputs[0], idx: &inputs[1] },
            Instruction::TScatterMask { .. } => Memory::TScatterMask { dst: written, src: &inputs[0] },
        };
        let before = ASKED.get();
        // A fault is an outcome like any other.
        let _ = plan.run_on(engine, memory, Schedule::InOrder);
        ASKED.get() - before
    };
    run();
    run()
}

fn draw(lanes: Lanes, flags: [bool; 8], seed: u64) -> Draw {
    let (pad, dims, gaps) = ([1, 0, 2, 0, 1, 0], [2, 1, 2, 7, 24], [0, 1, 0, 2, 0]);
    Draw { rows: 17, cols: 24, pad, dims, gaps, flags, seed, lanes }
}

#[test]
fn a_planned_instruction_runs_without_allocating() {
    // The direct way, and the way that the engine chooses by itself for such a program.
    let one = || Engine::new().with_threads(NonZeroUsize::MIN);
    let engines = [one().with_method(Method::Direct), one()];
    let mut programs = Vec::new();
    for (seed, lanes) in [Lanes::InRange, Lanes::Colliding, Lanes::Hostile].into_iter().enumerate() {
        for bits in 0..8 {
            let flags = std::array::from_fn(|i| bits >> (i % 3) & 1 == 1);
            let draw = draw(lanes, flags, seed as u64);
            for (target, index) in [
                (Target::Cpu, ElementType::I32),
                (Target::A2A3, ElementType::U32),
                (Target::A5, ElementType::I32),
                (Target::Host, ElementType::I64),
            ] {
                for mode in [Coalesce::Row, Coalesce::Elem] {
                    for (oob, atomic) in [
                        (OutOfBounds::Undefined, Atomic::None),
                        (OutOfBounds::Clamp, Atomic::Add),
                        (OutOfBounds::Wrap, Atomic::None),
                    ] {
                        for scatter in [true, false] {
                            let policies = (oob, if scatter { atomic } else { Atomic::None }, Conflict::Last);
                            let element = ElementType::F16;
                            programs.push(common::memory(&draw, target, scatter, element, index, mode, policies));
                        }
                    }
                }
                programs.push(common::tscatter(&draw, target, ElementType::I32, ElementType::U32));
            }
            programs.push(common::mask(&draw, Target::Host, ElementType::F32, MaskPattern::P0010));
        }
    }
    for program in &mut programs {
        for engine in &engines {
            let asked = asked(engine, program);
            assert_eq!(asked, 0, "{}: {} with {engine:?}", program.target, program.instruction);
        }
    }
}
