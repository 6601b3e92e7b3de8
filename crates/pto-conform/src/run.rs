//! Running one case and judging what came of it.

use std::path::Path;

use pto_exec::{Fault, Memory, Plan, Schedule, reference};
use pto_isa::check::Verdict;
use pto_isa::{
    Atomic, Coalesce, Conflict, ElementClass, Finding, Instruction, Launch, MaskPattern, OutOfBounds, Policy, Target,
    Tensor, Tile, judge, rules,
};

use crate::case::{self, Case, Expectation, Op, Operand};
use crate::collective;
use crate::compare::Comparison;
use crate::device::{self, DeviceRun};
use crate::operand::{self, LoadError, by_name, malformed, natural};

/// Which executor runs the cases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Via {
    /// The production executor.
    #[default]
    Exec,
    /// The reference executor.
    Reference,
    /// A whole program on the device: loads, the instruction, stores; checked, lowered and simulated.
    Run,
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// `Err` says why the case failed.
    pub verdict: Result<(), String>,
    /// What the tool said of the program: findings and faults, one sentence each.
    pub diagnostics: Vec<String>,
}

/// Runs a case of the corpus in `folder`.
///
/// A case that cannot be run has failed; nothing is ever skipped.
pub fn run(folder: &Path, case: &Case, via: Via) -> Outcome {
    match attempt(folder, case, via) {
        Ok((event, diagnostics)) => Outcome { verdict: judge_event(case.expect, event), diagnostics },
        Err(LoadError::Refused { rule, what }) => Outcome {
            verdict: judge_event(case.expect, Event::Refused),
            diagnostics: vec![format!("{}: {what}", rule.name)],
        },
        Err(error) => Outcome { verdict: Err(format!("cannot be run: {error}")), diagnostics: Vec::new() },
    }
}

/// What happened to the program of a case.
pub(crate) enum Event {
    Refused,
    /// It ran: the difference from the golden result, if any.
    Ran(Option<String>),
    /// It faulted: whether every buffer is as it was.
    Faulted {
        untouched: bool,
    },
}

fn judge_event(expect: Expectation, event: Event) -> Result<(), String> {
    match (expect, event) {
        (Expectation::Ok, Event::Ran(None))
        | (Expectation::Reject, Event::Refused)
        | (Expectation::Fault, Event::Faulted { untouched: true }) => Ok(()),
        (_, Event::Faulted { untouched: false }) => Err("faulted, but a buffer was changed".into()),
        (Expectation::Ok, Event::Ran(Some(difference))) => Err(difference),
        (Expectation::Ok, Event::Refused) => Err("refused, but it is legal".into()),
        (Expectation::Ok, Event::Faulted { .. }) => Err("faulted, but it should run".into()),
        (Expectation::Reject, Event::Ran(_)) => Err("ran, but it should be refused".into()),
        (Expectation::Reject, Event::Faulted { .. }) => {
            Err("faulted at run time, but it should be refused before".into())
        }
        (Expectation::Fault, Event::Ran(_)) => Err("ran, but it should fault".into()),
        (Expectation::Fault, Event::Refused) => Err("refused, but it should fault only at run time".into()),
    }
}

/// What came of trying a case, and what the tool said of it.
pub(crate) type Attempt = Result<(Event, Vec<String>), LoadError>;

fn attempt(folder: &Path, case: &Case, via: Via) -> Attempt {
    let target = Target::from_name(&case.target).ok_or_else(|| malformed(format!("no target {:?}", case.target)))?;
    let launch = Launch { dyn_ub: case.dyn_ub.map(|bytes| natural(bytes, "dyn_ub")).transpose()? };
    match case.op {
        Op::CommTscatter | Op::CommTgather => collective::attempt(folder, case, target, launch, via),
        _ => instruction(folder, case, target, launch, via),
    }
}

pub(crate) fn sentences(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|f| format!("{}: {}: {f}", f.rule.severity, f.rule.name)).collect()
}

fn tile_of(operand: Option<&Operand>, role: &str) -> Result<(case::Tile, Tile), LoadError> {
    match operand {
        Some(Operand::Tile(case)) => Ok((case.clone(), operand::tile(case)?)),
        Some(_) => Err(malformed(format!("`{role}` of this op is a tile"))),
        None => Err(malformed(format!("`{role}` is missing"))),
    }
}

fn policy(case: &case::Policy) -> Result<Policy, LoadError> {
    let rule = rules::POLICY_NAME;
    Ok(Policy {
        coalesce: case.coalesce.as_deref().map(|n| by_name!(rule, Coalesce, n)).transpose()?,
        oob: case.oob.as_deref().map(|n| by_name!(rule, OutOfBounds, n)).transpose()?,
        atomic: case.atomic.as_deref().map(|n| by_name!(rule, Atomic, n)).transpose()?,
        conflict: case.conflict.as_deref().map(|n| by_name!(rule, Conflict, n)).transpose()?,
    })
}

fn instruction(folder: &Path, case: &Case, target: Target, launch: Launch, via: Via) -> Attempt {
    let policy = policy(case.policy.as_ref().unwrap_or(&case::Policy::default()))?;
    let idx = |case: &Case| {
        let case = case.idx.as_ref().ok_or_else(|| malformed("`idx` is missing"))?;
        Ok::<_, LoadError>((case.clone(), operand::tile(case)?))
    };
    let table = |case: &Case| {
        let case = case.table.as_ref().ok_or_else(|| malformed("`table` is missing"))?;
        Ok::<_, LoadError>((case.clone(), operand::tensor(case)?))
    };
    match (case.op, &case.mask) {
        (Op::Mgather, _) => {
            let ((dst, dst_tile), (table, table_tensor), (idx, idx_tile)) =
                (tile_of(case.dst.as_ref(), "dst")?, table(case)?, idx(case)?);
            let instruction = Instruction::MGather { dst: dst_tile, table: table_tensor, idx: idx_tile, policy };
            let written = Written::Tile(&dst, dst_tile);
            let inputs = [Input::Tensor(&table, table_tensor), Input::Tile(&idx, idx_tile)];
            Run { folder, case, target, launch, via }.run(&instruction, &written, &inputs)
        }
        (Op::Mscatter, _) => {
            let ((src, src_tile), (table, table_tensor), (idx, idx_tile)) =
                (tile_of(case.src.as_ref(), "src")?, table(case)?, idx(case)?);
            let instruction = Instruction::MScatter { table: table_tensor, src: src_tile, idx: idx_tile, policy };
            let written = Written::Tensor(&table, table_tensor);
            let inputs = [Input::Tile(&src, src_tile), Input::Tile(&idx, idx_tile)];
            Run { folder, case, target, launch, via }.run(&instruction, &written, &inputs)
        }
        (_, mask) => {
            let ((dst, dst_tile), (src, src_tile)) =
                (tile_of(case.dst.as_ref(), "dst")?, tile_of(case.src.as_ref(), "src")?);
            let written = Written::Tile(&dst, dst_tile);
            let run = Run { folder, case, target, launch, via };
            if let Some(mask) = mask {
                let pattern = by_name!(rules::POLICY_NAME, MaskPattern, mask)?;
                let instruction = Instruction::TScatterMask { dst: dst_tile, src: src_tile, pattern };
                return run.run(&instruction, &written, &[Input::Tile(&src, src_tile)]);
            }
            let (idx, idx_tile) = idx(case)?;
            let instruction = Instruction::TScatter { dst: dst_tile, src: src_tile, idx: idx_tile };
            run.run(&instruction, &written, &[Input::Tile(&src, src_tile), Input::Tile(&idx, idx_tile)])
        }
    }
}

/// The operand that an instruction writes.
enum Written<'a> {
    Tile(&'a case::Tile, Tile),
    Tensor(&'a case::Tensor, Tensor),
}

/// An operand that an instruction reads.
enum Input<'a> {
    Tile(&'a case::Tile, Tile),
    Tensor(&'a case::Tensor, Tensor),
}

struct Run<'a> {
    folder: &'a Path,
    case: &'a Case,
    target: Target,
    launch: Launch,
    via: Via,
}

impl Run<'_> {
    /// Runs the case as a program on the device.
    fn run_on_device(
        &self,
        instruction: &Instruction,
        written: &Written<'_>,
        before: &[u8],
        inputs: &[Vec<u8>],
    ) -> Attempt {
        match device::run(instruction, self.target, self.launch, before, inputs) {
            DeviceRun::Refused(sentences) => Ok((Event::Refused, sentences)),
            DeviceRun::Faulted(sentences) => Ok((Event::Faulted { untouched: true }, sentences)),
            DeviceRun::Ran(result, sentences) => {
                let after = match written {
                    Written::Tensor(..) => result,
                    Written::Tile(_, tile) => unpacked(tile, before, &result),
                };
                let difference = match self.case.expect {
                    Expectation::Ok => self.compare(instruction, written, before, &after, inputs)?,
                    _ => None,
                };
                Ok((Event::Ran(difference), sentences))
            }
        }
    }

    fn run(&self, instruction: &Instruction, written: &Written<'_>, inputs: &[Input<'_>]) -> Attempt {
        let findings = match judge(instruction, self.target, self.launch) {
            Verdict::Refused(findings) => return Ok((Event::Refused, sentences(&findings))),
            // Nothing is loaded: operands whose run-time extents break a rule may not even have a size.
            Verdict::Faults(findings) => return Ok((Event::Faulted { untouched: true }, sentences(&findings))),
            Verdict::Legal(findings) => findings,
        };
        let mut diagnostics = sentences(&findings);
        let before = match written {
            Written::Tile(case, tile) => operand::tile_bytes(self.folder, case, tile)?,
            Written::Tensor(case, tensor) => operand::tensor_bytes(self.folder, &case.data, 0, tensor)?,
        };
        let inputs = inputs
            .iter()
            .map(|input| match input {
                Input::Tile(case, tile) => operand::tile_bytes(self.folder, case, tile),
                Input::Tensor(case, tensor) => operand::tensor_bytes(self.folder, &case.data, 0, tensor),
            })
            .collect::<Result<Vec<_>, _>>()?;
        if self.via == Via::Run {
            return self.run_on_device(instruction, written, &before, &inputs);
        }
        let mut after = before.clone();
        match self.execute(instruction, &mut after, &inputs) {
            Ok(()) => {
                let difference = match self.case.expect {
                    Expectation::Ok => self.compare(instruction, written, &before, &after, &inputs)?,
                    _ => None,
                };
                Ok((Event::Ran(difference), diagnostics))
            }
            Err(fault) => {
                diagnostics.push(format!("error: {fault}"));
                Ok((Event::Faulted { untouched: before == after }, diagnostics))
            }
        }
    }

    fn execute(&self, instruction: &Instruction, written: &mut [u8], inputs: &[Vec<u8>]) -> Result<(), Fault> {
        let memory = match (instruction, inputs) {
            (Instruction::MGather { .. }, [table, idx]) => Memory::MGather { dst: written, table, idx },
            (Instruction::MScatter { .. }, [src, idx]) => Memory::MScatter { table: written, src, idx },
            (Instruction::TScatter { .. }, [src, idx]) => Memory::TScatter { dst: written, src, idx },
            (Instruction::TScatterMask { .. }, [src]) => Memory::TScatterMask { dst: written, src },
            _ => return Err(Fault::Call("the number of operands does not fit the instruction")),
        };
        match self.via {
            Via::Exec | Via::Run => Plan::new(instruction, self.target, self.launch)?.run(memory, Schedule::InOrder),
            Via::Reference => reference::execute(instruction, self.target, self.launch, memory, Schedule::InOrder),
        }
        .map(drop)
    }

    /// The difference between what was written and what is legal.
    fn compare(
        &self,
        instruction: &Instruction,
        written: &Written<'_>,
        before: &[u8],
        after: &[u8],
        inputs: &[Vec<u8>],
    ) -> Result<Option<String>, LoadError> {
        let (data, element, actual) = match written {
            Written::Tensor(case, tensor) => (&case.data, tensor.element, after.to_vec()),
            Written::Tile(case, tile) => {
                let size = tile.element.size() as usize;
                let valid = operand::valid_positions(tile).flat_map(|at| after[at..at + size].iter().copied());
                (&case.data, tile.element, valid.collect())
            }
        };
        let policy = instruction.policy().copied().unwrap_or_default();
        let atomic = self.target != Target::Cpu && policy.atomic_or_default() != Atomic::None;
        let any_nan = atomic && element.class() == ElementClass::Float;
        let comparison = Comparison { element, any_nan, tolerance: data.tolerance.unwrap_or(0.0) };
        if self.case.unordered {
            return self.compare_unordered(instruction, comparison, before, &actual, inputs);
        }
        let goldens = operand::goldens(self.folder, data, 0, actual.len() as u64)?;
        let mut differences = goldens.iter().map(|golden| comparison.difference(golden, &actual));
        let first = differences.next().flatten();
        Ok(if first.is_none() || differences.any(|d| d.is_none()) { None } else { first })
    }

    /// Each slot holds one of the values written to it, or its old value when no lane hit it.
    fn compare_unordered(
        &self,
        instruction: &Instruction,
        comparison: Comparison,
        before: &[u8],
        actual: &[u8],
        inputs: &[Vec<u8>],
    ) -> Result<Option<String>, LoadError> {
        let (Instruction::MScatter { .. }, [src, idx]) = (instruction, inputs) else {
            return Err(malformed("only mscatter can be unordered"));
        };
        let slots = reference::slots(instruction, self.target, idx).map_err(|fault| malformed(fault.to_string()))?;
        let tile = instruction.payload();
        let size = tile.element.size() as usize;
        let mut hits: std::collections::BTreeMap<u64, Vec<&[u8]>> = Default::default();
        for (position, slot) in operand::valid_positions(tile).zip(slots) {
            if let Some(slot) = slot {
                hits.entry(slot).or_default().push(&src[position..position + size]);
            }
        }
        for (slot, (old, new)) in before.chunks_exact(size).zip(actual.chunks_exact(size)).enumerate() {
            let legal = match hits.get(&(slot as u64)) {
                Some(values) => values.iter().any(|value| comparison.equal(value, new)),
                None => old == new,
            };
            if !legal {
                return Ok(Some(format!("element {slot} holds {new:02x?}, which no lane wrote there")));
            }
        }
        Ok(None)
    }
}

/// The tile's bytes with a new valid region.
fn unpacked(tile: &Tile, before: &[u8], valid: &[u8]) -> Vec<u8> {
    let size = tile.element.size() as usize;
    let mut bytes = before.to_vec();
    for (at, value) in operand::valid_positions(tile).zip(valid.chunks_exact(size)) {
        bytes[at..at + size].copy_from_slice(value);
    }
    bytes
}
