//! Program order: the scalar unit computes, decides and issues.

use pto_ir::check::rules as ir;
use pto_ir::{Constant, For, OpKind, Operand, ValueId, fold};

use crate::code::Step;
use crate::machine::{Machine, Progress};
use crate::rules;
use crate::state::Value;
use crate::work::Work;

/// What operations count as, in steps of the scalar unit: about what they take to simulate, so that a limit on steps is one on
/// time, whatever a loop is made of.
mod steps {
    /// A flag, a barrier, an access by the scalar unit, a view, a tile.
    pub(super) const DEVICE: u64 = 10;
    /// An instruction, whatever it moves.
    pub(super) const INSTRUCTION: u64 = 100;
    /// Elements that an instruction moves, for one step more.
    pub(super) const ELEMENTS: u64 = 16;
    /// Meeting other ranks.
    pub(super) const RANKS: u64 = 1000;
}

/// A loop that is running.
struct Round {
    /// The step at which the loop begins.
    begin: u32,
    lower: i64,
    current: i64,
    upper: i64,
    step: i64,
}

/// How much of the outermost loop is done, its inner ones included; outside loops, of the text.
fn share(rounds: &[Round], at: usize, steps: usize) -> f64 {
    if rounds.is_empty() {
        return at as f64 / steps.max(1) as f64;
    }
    let (mut done, mut width) = (0.0, 1.0);
    for round in rounds {
        let all = round.upper as f64 - round.lower as f64;
        done += width * (round.current as f64 - round.lower as f64) / all;
        width *= round.step as f64 / all;
    }
    done.clamp(0.0, 1.0)
}

impl Machine<'_> {
    pub(crate) fn run(&mut self) {
        let mut rounds: Vec<Round> = Vec::new();
        let (mut at, mut turns) = (0usize, 0u64);
        // Ranks share the machine.
        let limit = self.options.max_steps / self.options.ranks.max(1);
        while at < self.code.steps.len() && !self.stopped {
            turns += 1;
            self.steps = self.steps.saturating_add(1);
            if self.steps > limit {
                // Which step is one too many says little; the loop that it is in is the one to look at.
                let place = rounds.last().map_or(at as u32, |round| round.begin);
                self.trap(rules::LAUNCH_LIMIT, place, format!("expected at most {limit} steps"));
                break;
            }
            if turns.is_multiple_of(64) && self.asked_to_stop() {
                self.interrupted = true;
                break;
            }
            if turns.is_multiple_of(1024)
                && let Some(progress) = self.options.progress
            {
                progress(Progress {
                    instructions: self.instructions,
                    share: share(&rounds, at, self.code.steps.len()),
                });
            }
            at = match self.code.steps[at] {
                Step::Op(OpKind::Return(_)) => break,
                Step::Op(op) => {
                    self.step(op, at as u32);
                    at + 1
                }
                Step::ForBegin { op, end } => self.begin_loop(op, at, end, &mut rounds),
                Step::ForNext { op, yields, body } => self.next_round(op, yields, at, body, &mut rounds),
                Step::IfBegin { op, otherwise } => {
                    if self.integer(op.condition) != 0 {
                        at + 1
                    } else {
                        otherwise
                    }
                }
                Step::IfEnd { op, yields, end } => {
                    let handed: Vec<Value> = yields.iter().map(|id| self.value(*id).clone()).collect();
                    for (result, value) in op.results.iter().zip(handed) {
                        self.set_value(*result, value);
                    }
                    end
                }
            };
        }
        self.pump();
        // What is missing at the end of a program is not missing where it was interrupted.
        if !self.interrupted {
            self.end();
        }
    }

    fn begin_loop(&mut self, op: &For, at: usize, end: usize, rounds: &mut Vec<Round>) -> usize {
        let (lower, upper, step) = (self.integer(op.lower), self.integer(op.upper), self.integer(op.step));
        if step <= 0 {
            self.trap(&ir::STEP, at as u32, format!("expected a step of 1 or more, found {step}"));
            return end;
        }
        let runs = lower < upper;
        for carried in &op.carried {
            let value = self.value(carried.initial).clone();
            self.set_value(if runs { carried.inner } else { carried.result }, value);
        }
        if !runs {
            return end;
        }
        self.set_value(op.induction, Value::Integer(lower));
        rounds.push(Round { begin: at as u32, lower, current: lower, upper, step });
        at + 1
    }

    fn next_round(&mut self, op: &For, yields: &[ValueId], at: usize, body: usize, rounds: &mut Vec<Round>) -> usize {
        let handed: Vec<Value> = yields.iter().map(|id| self.value(*id).clone()).collect();
        let Some(round) = rounds.last_mut() else { return at + 1 };
        let next = round.current.checked_add(round.step).filter(|next| *next < round.upper);
        if let Some(next) = next {
            round.current = next;
        } else {
            rounds.pop();
        }
        for (carried, value) in op.carried.iter().zip(handed) {
            self.set_value(if next.is_some() { carried.inner } else { carried.result }, value);
        }
        match next {
            Some(next) => {
                self.set_value(op.induction, Value::Integer(next));
                body
            }
            None => at + 1,
        }
    }

    pub(crate) fn value(&self, id: ValueId) -> &Value {
        &self.values[id.0 as usize]
    }

    pub(crate) fn set_value(&mut self, id: ValueId, value: Value) {
        self.values[id.0 as usize] = value;
    }

    pub(crate) fn integer(&self, id: ValueId) -> i64 {
        match self.value(id) {
            Value::Integer(value) => *value,
            _ => 0,
        }
    }

    pub(crate) fn operand(&self, operand: Operand) -> i64 {
        match operand {
            Operand::Value(id) => self.integer(id),
            Operand::Number(number) => number,
        }
    }

    /// One operation without regions.
    pub(crate) fn step(&mut self, op: &OpKind, step: u32) {
        self.steps = self.steps.saturating_add(match op {
            OpKind::Constant { .. }
            | OpKind::Arithmetic { .. }
            | OpKind::Compare { .. }
            | OpKind::Select { .. }
            | OpKind::Cast { .. } => 0,
            OpKind::RankBarrier | OpKind::Notify { .. } | OpKind::Wait { .. } => steps::RANKS,
            _ => steps::DEVICE,
        });
        match op {
            OpKind::Constant { result, value } => {
                let value = match value {
                    Constant::Integer(value) => Value::Integer(*value),
                    Constant::Float(value) => Value::Float(*value),
                };
                self.set_value(*result, value);
            }
            OpKind::Arithmetic { result, op, lhs, rhs } => {
                let ty = self.module.types.get(self.function.value(*result).ty);
                // A division by zero or too wide a shift has no value in the language; here it gives zero, as on the
                // scalar unit.
                let value = fold::arithmetic(*op, ty, self.integer(*lhs), self.integer(*rhs)).unwrap_or(0);
                self.set_value(*result, Value::Integer(value));
            }
            OpKind::Compare { result, predicate, lhs, rhs } => {
                let holds = fold::compare(*predicate, self.integer(*lhs), self.integer(*rhs));
                self.set_value(*result, Value::Integer(holds.into()));
            }
            OpKind::Select { result, condition, then, otherwise } => {
                let chosen = if self.integer(*condition) != 0 { then } else { otherwise };
                let value = self.value(*chosen).clone();
                self.set_value(*result, value);
            }
            OpKind::Cast { result, value, extend } => {
                let [from, to] = [value, result].map(|id| self.module.types.get(self.function.value(*id).ty));
                let value = match self.value(*value) {
                    Value::Integer(value) => Value::Integer(fold::cast(from, to, *extend, *value)),
                    other => other.clone(),
                };
                self.set_value(*result, value);
            }
            OpKind::SetFlag(_)
            | OpKind::WaitFlag(_)
            | OpKind::Barrier(_)
            | OpKind::FlushCache
            | OpKind::DataBarrier => {
                self.synchronise(op, step);
            }
            OpKind::Load { .. }
            | OpKind::Store { .. }
            | OpKind::Move { .. }
            | OpKind::MGather { .. }
            | OpKind::MScatter { .. }
            | OpKind::TScatter { .. }
            | OpKind::TScatterMask { .. }
            | OpKind::Collective(_) => self.issue(op, step),
            OpKind::LoadScalar { .. }
            | OpKind::StoreScalar { .. }
            | OpKind::GetValue { .. }
            | OpKind::SetValue { .. } => {
                self.scalar_access(op, step);
            }
            OpKind::MakeView { .. } | OpKind::PartitionView { .. } | OpKind::MakeGroup { .. } => self.view(op, step),
            OpKind::AllocTile { .. }
            | OpKind::Assign { .. }
            | OpKind::Subview { .. }
            | OpKind::SetValidShape { .. } => {
                self.tile(op, step);
            }
            OpKind::Rank { result } => {
                let rank = self.options.rank.unwrap_or(0);
                self.set_value(*result, Value::Integer(rank as i64));
            }
            OpKind::Ranks { result } => self.set_value(*result, Value::Integer(self.options.ranks as i64)),
            OpKind::RankBarrier => self.rank_barrier(step),
            OpKind::Notify { signal, value, op } => self.notify(*signal, *value, *op, step),
            OpKind::Wait { signal, value, compare } => self.wait(*signal, *value, *compare, step),
            OpKind::Yield(_) | OpKind::Return(_) => {}
            // Flattened into steps of their own.
            OpKind::For(_) | OpKind::If(_) => {}
            OpKind::Unknown(unknown) => {
                let message = format!("`{}` is not part of this instruction set", unknown.name);
                self.trap(pto_isa::rules::POLICY_NAME, step, message);
            }
        }
    }

    pub(crate) fn issue(&mut self, op: &OpKind, step: u32) {
        match Work::capture(self, op) {
            Ok(work) => {
                let weight = steps::INSTRUCTION + work.elements() / steps::ELEMENTS;
                self.steps = self.steps.saturating_add(weight);
                self.issue_work(work, step);
            }
            Err((rule, message)) => self.trap(rule, step, message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Round, share};

    #[test]
    fn the_share_of_nested_loops_grows_from_none_to_all() {
        let round = |current, upper, step| Round { begin: 0, lower: 0, current, upper, step };
        assert_eq!(share(&[], 3, 12), 0.25);
        assert_eq!(share(&[], 0, 0), 0.0);
        // The second of four rounds, and half of the inner loop.
        assert_eq!(share(&[round(8, 32, 8), round(5, 10, 5)], 0, 9), 0.375);
        let whole = Round { begin: 0, lower: i64::MIN, current: i64::MAX, upper: i64::MAX, step: 1 };
        assert_eq!(share(&[whole], 0, 9), 1.0);
    }
}
