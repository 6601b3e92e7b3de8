//! The rules of the instruction set, the launch and flags.

use pto_isa::rules::{
    ALIGN_ADDRESS, BUDGET_DYN_UB, BUDGET_UB, COMM_ROOT, COMM_STAGING_COUNT, LAUNCH_DYN_UB_TARGET, SHAPE_OVERFLOW,
    SHAPE_VALID_EXTENT,
};
use pto_isa::{Coalesce, Extent, Finding, Instruction, Role, Target};

use super::{Checker, rules};
use crate::facts::Placement;
use crate::{Collective, Diagnostic, Dispatch, EVENTS, Flag, Lanes, OpKind, Pipe, Place, ValueId};

/// How many lanes a memory instruction is known to have: A5 runs an element transfer of one without SIMT.
pub(crate) fn lanes(instruction: &Instruction) -> Lanes {
    let payload = instruction.payload();
    match (payload.valid_rows.known(), payload.valid_cols.known()) {
        (Some(1), Some(1)) => Lanes::One,
        _ => Lanes::Many,
    }
}

/// The operand of an operation in a role.
fn operand(op: &OpKind, role: Role) -> Option<ValueId> {
    match (op, role) {
        (OpKind::MGather { dst, .. }, Role::Dst) => Some(*dst),
        (OpKind::MScatter { src, .. }, Role::Src) => Some(*src),
        (OpKind::MGather { table, .. } | OpKind::MScatter { table, .. }, Role::Table) => Some(*table),
        (OpKind::MGather { idx, .. } | OpKind::MScatter { idx, .. } | OpKind::TScatter { idx, .. }, Role::Idx) => {
            Some(*idx)
        }
        (OpKind::TScatter { dst, .. } | OpKind::TScatterMask { dst, .. }, Role::Dst) => Some(*dst),
        (OpKind::TScatter { src, .. } | OpKind::TScatterMask { src, .. }, Role::Src) => Some(*src),
        (OpKind::Collective(call), Role::Src | Role::Dst) => Some(call.local),
        (OpKind::Collective(call), Role::Group) => call.group.first().copied(),
        (OpKind::Collective(call), Role::Staging) => call.staging.first().copied(),
        (OpKind::Collective(call), Role::Pong) => call.staging.get(1).copied(),
        _ => None,
    }
}

impl<'a> Checker<'a> {
    /// Judges an instruction, a collective or a flag.
    pub(super) fn instruction(&mut self, op: &'a OpKind, place: Place) {
        match op {
            OpKind::SetFlag(flag) | OpKind::WaitFlag(flag) => return self.flag(op, *flag, place),
            OpKind::Collective(call) => return self.collective(op, call, place),
            _ => {}
        }
        let Some(instruction) = self.facts.instruction(op) else { return };
        for (role, _) in instruction.tiles() {
            if let Some(tile) = operand(op, role) {
                self.has_address(op, role.name(), tile, place);
            }
        }
        self.dispatch(&instruction, place);
        for finding in pto_isa::check(&instruction, self.target, self.launch) {
            self.finding(op, &finding, place);
        }
    }

    fn finding(&mut self, op: &OpKind, finding: &Finding, place: Place) {
        let value = operand(op, finding.role);
        if self.said_elsewhere(op, finding, value) {
            return;
        }
        let mut diagnostic = Diagnostic::new(finding.rule, place, finding.to_string()).on(self.target);
        if let Some(value) = value {
            diagnostic = self.about(diagnostic, value);
        }
        self.report(diagnostic);
    }

    /// What is wrong with the launch is said once per function, and what is wrong with a tile where it is made.
    fn said_elsewhere(&self, op: &OpKind, finding: &Finding, value: Option<ValueId>) -> bool {
        let rule = finding.rule;
        if rule == BUDGET_DYN_UB || rule == LAUNCH_DYN_UB_TARGET {
            return true;
        }
        if rule == BUDGET_UB {
            // Over the whole function the budget is judged by liveness or by addresses; a mix only here.
            let (reads, writes) = op.tiles();
            let mut placements =
                reads.iter().chain(&writes).filter_map(|tile| self.facts.tile(*tile)).map(|fact| fact.placement);
            let first = placements.next();
            return !placements
                .any(|placement| (placement == Placement::Unplaced) != (first == Some(Placement::Unplaced)));
        }
        let of_tile = [SHAPE_VALID_EXTENT, ALIGN_ADDRESS, SHAPE_OVERFLOW].contains(&rule);
        let made_here =
            value.is_some_and(|value| self.facts.tile(value).is_some_and(|fact| fact.storage.root == Some(value)));
        of_tile && made_here
    }

    fn dispatch(&mut self, instruction: &Instruction, place: Place) {
        let simt = matches!(instruction, Instruction::MGather { .. } | Instruction::MScatter { .. });
        // An extent that only the run knows may turn out to be 1; then the run decides.
        let payload = instruction.payload();
        let one = |extent: Extent| extent.known().is_none_or(|extent| extent == 1);
        let scalar = instruction.coalesce(self.target) == Some(Coalesce::Elem)
            && one(payload.valid_rows)
            && one(payload.valid_cols);
        if self.target == Target::A5 && self.function.launch.dispatch == Dispatch::Direct && simt && !scalar {
            let message = format!(
                "{} launches SIMT, and @{} is dispatched directly: it hangs",
                instruction.opcode(),
                self.function.name
            );
            let diagnostic = Diagnostic::new(&rules::DIRECT, place, message)
                .on(self.target)
                .label(self.function.place, "dispatched directly");
            self.report(diagnostic);
        }
    }

    fn collective(&mut self, op: &'a OpKind, call: &Collective, place: Place) {
        for tile in &call.staging {
            self.has_address(op, "staging", *tile, place);
        }
        if let Some(root) = self.facts.operand(call.root)
            && root < 0
        {
            let message = format!("{}: expected a root of at least 0, found {root}", op.name());
            return self.report(Diagnostic::new(COMM_ROOT, place, message));
        }
        let Some(described) = self.facts.collective(call) else { return };
        for finding in pto_isa::check_collective(&described, self.target, self.launch) {
            // Lowering introduces the staging tiles that a text leaves out.
            let to_come = finding.rule == COMM_STAGING_COUNT && call.staging.is_empty();
            if !to_come {
                self.finding(op, &finding, place);
            }
        }
    }

    fn flag(&mut self, op: &OpKind, flag: Flag, place: Place) {
        let mut broken = |rule, message: String| {
            self.report(Diagnostic::new(rule, place, format!("{}: {message}", op.name())));
        };
        if flag.event >= EVENTS {
            broken(&rules::EVENT_RANGE, format!("expected an event below {EVENTS}, found {}", flag.event));
        }
        if flag.from == Pipe::All || flag.to == Pipe::All {
            broken(&rules::FLAG_PIPE, "expected two single pipes, found PIPE_ALL".into());
        } else if flag.from == flag.to {
            broken(&rules::SAME_PIPE, format!("expected two different pipes, found {} twice", flag.from.name()));
        }
    }

    /// Judges what the function says about its launch.
    pub(super) fn launch(&mut self) {
        let Some(asked) = self.launch.dyn_ub else { return };
        let place = self.function.place;
        let diagnostic = match self.target.profile().ub.and_then(|ub| ub.max_dynamic) {
            Some(most) if asked > most => {
                let message = format!("expected a dynUBufSize of at most {most} bytes, found {asked}");
                Diagnostic::new(BUDGET_DYN_UB, place, message)
            }
            Some(_) => return,
            None => {
                let message = format!("expected no dynUBufSize on {}, found {asked} bytes, ignored", self.target);
                Diagnostic::new(LAUNCH_DYN_UB_TARGET, place, message)
            }
        };
        self.report(diagnostic.on(self.target));
    }
}
