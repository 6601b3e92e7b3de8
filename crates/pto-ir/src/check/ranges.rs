//! What offsets come to in loops whose bounds are constants.
//!
//! An offset that is a sum of induction variables times constants takes its least and its greatest value in some round.
//! That round is run if nothing between the loops and the use decides otherwise: in a conditional, or in an inner loop
//! that may have no round, nothing is claimed of the loops around it. Everything else is left to the run.

use std::collections::HashMap;

use crate::facts::Facts;
use crate::{Arithmetic, Extend, For, OpKind, Operand, Type, ValueId, fold};

/// More loops than this in one offset are not followed.
const MOST_TERMS: usize = 8;

/// A sum of induction variables times constants; the loops are counted from the outermost.
#[derive(Clone, Debug, Default)]
struct Affine {
    terms: Vec<(usize, i64)>,
    constant: i64,
}

impl Affine {
    fn plus(&self, other: &Self, factor: i64) -> Option<Self> {
        let mut sum = self.clone();
        sum.constant = sum.constant.checked_add(other.constant.checked_mul(factor)?)?;
        for (at, coefficient) in &other.terms {
            let more = coefficient.checked_mul(factor)?;
            match sum.terms.iter_mut().find(|(term, _)| term == at) {
                Some((_, known)) => *known = known.checked_add(more)?,
                None => sum.terms.push((*at, more)),
            }
        }
        (sum.terms.len() <= MOST_TERMS).then_some(sum)
    }
}

/// The loops around the operation that is looked at, and the offsets that they make.
#[derive(Debug, Default)]
pub(super) struct Ranges {
    /// First and last value of each induction variable.
    loops: Vec<(i64, i64)>,
    /// Loops before this one may not be run in full where we are.
    usable: usize,
    sums: HashMap<ValueId, Affine>,
}

/// What was known of the loops before a region.
pub(super) struct Mark {
    loops: usize,
    usable: usize,
}

impl Ranges {
    /// Enters a region that may not be run in every round of the loops around it.
    pub(super) fn enter_guarded(&mut self) -> Mark {
        let mark = Mark { loops: self.loops.len(), usable: self.usable };
        self.usable = self.loops.len();
        mark
    }

    /// Enters the body of a loop.
    pub(super) fn enter_loop(&mut self, op: &For, facts: &Facts<'_>) -> Mark {
        let bounds = facts.integer(op.lower).zip(facts.integer(op.step)).zip(facts.trips(op));
        let last = |((lower, step), trips): ((i64, i64), u64)| {
            let last = i128::from(lower) + i128::from(step) * (i128::from(trips) - 1);
            Some((lower, i64::try_from(last).ok()?))
        };
        match bounds.filter(|(_, trips)| *trips > 0).and_then(last) {
            Some(bounds) => {
                let mark = Mark { loops: self.loops.len(), usable: self.usable };
                self.sums.insert(op.induction, Affine { terms: vec![(self.loops.len(), 1)], constant: 0 });
                self.loops.push(bounds);
                mark
            }
            None => self.enter_guarded(),
        }
    }

    /// Leaves a region.
    pub(super) fn leave(&mut self, mark: &Mark) {
        self.loops.truncate(mark.loops);
        self.usable = mark.usable;
    }

    /// Takes note of what an operation computes.
    pub(super) fn apply(&mut self, op: &OpKind, facts: &Facts<'_>) {
        if self.loops.is_empty() {
            return;
        }
        let (result, sum) = match op {
            OpKind::Arithmetic { result, op, lhs, rhs } => {
                let (Some(lhs), Some(rhs)) = (self.sum(*lhs, facts), self.sum(*rhs, facts)) else { return };
                let sum = match op {
                    Arithmetic::Add => lhs.plus(&rhs, 1),
                    Arithmetic::Sub => lhs.plus(&rhs, -1),
                    Arithmetic::Mul if rhs.terms.is_empty() => Affine::default().plus(&lhs, rhs.constant),
                    Arithmetic::Mul if lhs.terms.is_empty() => Affine::default().plus(&rhs, lhs.constant),
                    _ => None,
                };
                (*result, sum)
            }
            OpKind::Cast { result, value, extend: Extend::Sign } if facts.ty(*value) != Some(&Type::Boolean) => {
                (*result, self.sum(*value, facts))
            }
            _ => return,
        };
        // What leaves its type wraps, and is no sum any more.
        let fits = |sum: &Affine| {
            let ty = facts.ty(result)?;
            let (low, high) = self.extremes(sum)?;
            (fold::wrap(ty, low) == low && fold::wrap(ty, high) == high).then_some(())
        };
        if let Some(sum) = sum.filter(|sum| !sum.terms.is_empty() && fits(sum).is_some()) {
            self.sums.insert(result, sum);
        }
    }

    fn sum(&self, value: ValueId, facts: &Facts<'_>) -> Option<Affine> {
        match facts.integer(value) {
            Some(constant) => Some(Affine { terms: Vec::new(), constant }),
            None => self.sums.get(&value).cloned(),
        }
    }

    fn extremes(&self, sum: &Affine) -> Option<(i64, i64)> {
        let (mut low, mut high) = (i128::from(sum.constant), i128::from(sum.constant));
        for (at, coefficient) in &sum.terms {
            let (first, last) = self.loops.get(*at)?;
            let ends = [first, last].map(|end| i128::from(*end) * i128::from(*coefficient));
            low += ends[0].min(ends[1]);
            high += ends[0].max(ends[1]);
        }
        Some((i64::try_from(low).ok()?, i64::try_from(high).ok()?))
    }

    /// The least and the greatest value of an operand, both of which it takes if this place is reached at all.
    pub(super) fn of(&self, operand: Operand, facts: &Facts<'_>) -> Option<(i64, i64)> {
        if let Some(constant) = facts.operand(operand) {
            return Some((constant, constant));
        }
        let sum = self.sums.get(&operand.value()?)?;
        let usable = sum.terms.iter().all(|(at, _)| (self.usable..self.loops.len()).contains(at));
        usable.then(|| self.extremes(sum)).flatten()
    }
}
