//! Plans of the instructions that a core ran last, so that a loop over the same tiles is judged once.

use pto_exec::{Fault, Memory, Plan, Schedule};
use pto_isa::{Finding, Instruction, Severity, check};

use crate::arch::Arch;
use crate::error::Cause;
use crate::vector_core::Done;

/// An instruction judged and ready to run, with the warnings and notes on it.
pub(crate) struct Planned {
    plan: Plan,
    findings: Vec<Finding>,
}

impl Planned {
    pub(crate) fn run(&self, memory: Memory<'_>, schedule: Schedule) -> Result<Done, Cause> {
        let lanes = self.plan.run(memory, schedule)?;
        Ok(Done { lanes, findings: self.findings.clone() })
    }
}

/// How many instructions are remembered: more than the body of a kernel's inner loop has.
const REMEMBERED: usize = 16;

/// The instructions that ran last, the latest first.
#[derive(Default)]
pub(crate) struct Plans(Vec<Planned>);

impl Plans {
    /// The plan of an instruction whose operands are all known: judged now, or remembered.
    pub(crate) fn of<A: Arch>(&mut self, instruction: &Instruction) -> Result<&Planned, Fault> {
        match self.0.iter().position(|known| known.plan.instruction() == instruction) {
            Some(found) => self.0[..=found].rotate_right(1),
            None => {
                let plan = Plan::new(instruction, A::TARGET, A::LAUNCH)?;
                let mut findings = check(instruction, A::TARGET, A::LAUNCH);
                findings.retain(|finding| finding.rule.severity < Severity::Error);
                self.0.truncate(REMEMBERED - 1);
                self.0.insert(0, Planned { plan, findings });
            }
        }
        Ok(&self.0[0])
    }
}
