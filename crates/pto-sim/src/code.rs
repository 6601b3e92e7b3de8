//! A function flattened into steps with jumps, so that running it needs no recursion and each step has a number.

use pto_ir::{For, Function, If, OpKind, Place, Region, ValueId};

/// One step of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step<'a> {
    /// An operation without regions.
    Op(&'a OpKind),
    /// Starts a loop; `end` is the step after its last.
    ForBegin { op: &'a For, end: usize },
    /// Ends a round; `body` is the first step of the body.
    ForNext { op: &'a For, yields: &'a [ValueId], body: usize },
    /// Goes on if the condition holds, else at `otherwise`.
    IfBegin { op: &'a If, otherwise: usize },
    /// Hands out the values of a branch and goes on at `end`.
    IfEnd { op: &'a If, yields: &'a [ValueId], end: usize },
}

/// A function as steps, with the place of each.
#[derive(Debug)]
pub(crate) struct Code<'a> {
    pub(crate) steps: Vec<Step<'a>>,
    pub(crate) places: Vec<Place>,
}

impl<'a> Code<'a> {
    pub(crate) fn new(function: &'a Function) -> Self {
        let mut code = Self { steps: Vec::new(), places: Vec::new() };
        code.region(&function.body);
        code
    }

    /// True if the program gives this tile an address.
    pub(crate) fn assigns(&self, tile: ValueId) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::Op(OpKind::Assign { tile: assigned, .. }) if *assigned == tile))
    }

    fn push(&mut self, step: Step<'a>, place: Place) -> usize {
        self.steps.push(step);
        self.places.push(place);
        self.steps.len() - 1
    }

    /// Flattens a region and returns the values that it yields at its end.
    fn region(&mut self, region: &'a Region) -> &'a [ValueId] {
        let mut yields: &'a [ValueId] = &[];
        for op in &region.ops {
            match &op.kind {
                OpKind::For(inner) => self.for_loop(inner, op.place),
                OpKind::If(inner) => self.conditional(inner, op.place),
                OpKind::Yield(values) => yields = values,
                kind => {
                    self.push(Step::Op(kind), op.place);
                }
            }
        }
        yields
    }

    fn for_loop(&mut self, op: &'a For, place: Place) {
        let begin = self.push(Step::ForBegin { op, end: 0 }, place);
        let yields = self.region(&op.body);
        let next = self.push(Step::ForNext { op, yields, body: begin + 1 }, place);
        self.steps[begin] = Step::ForBegin { op, end: next + 1 };
    }

    fn conditional(&mut self, op: &'a If, place: Place) {
        let begin = self.push(Step::IfBegin { op, otherwise: 0 }, place);
        let yields = self.region(&op.then);
        let then_end = self.push(Step::IfEnd { op, yields, end: 0 }, place);
        let otherwise = self.steps.len();
        self.steps[begin] = Step::IfBegin { op, otherwise };
        let else_yields = self.region(&op.otherwise);
        let else_end = self.push(Step::IfEnd { op, yields: else_yields, end: 0 }, place);
        let end = else_end + 1;
        self.steps[then_end] = Step::IfEnd { op, yields, end };
        self.steps[else_end] = Step::IfEnd { op, yields: else_yields, end };
    }
}
