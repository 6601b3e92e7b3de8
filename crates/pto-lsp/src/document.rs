//! An open document: its text, and what was understood of it.

use std::cell::OnceCell;

use pto_ir::facts::Facts;
use pto_ir::{Function, Op as IrOp, OpKind, Region, Type, ValueId};
use pto_text::{Judgement, Levels, Parse, Program, Source, Span, elaborate, fold, judge, parse};

use crate::text::Text;

/// An open document.
#[derive(Default)]
pub(crate) struct Document {
    pub(crate) text: Text,
    pub(crate) version: i32,
    analysis: OnceCell<Analysis>,
}

/// What was understood of one version of a text.
pub(crate) struct Analysis {
    pub(crate) parsed: Parse,
    pub(crate) program: Program,
    judgement: OnceCell<Judgement>,
}

impl Document {
    pub(crate) fn new(text: String, version: i32) -> Self {
        Self { text: Text::new(text), version, analysis: OnceCell::new() }
    }

    /// Changes the text: what was understood of it holds no longer.
    pub(crate) fn edit(&mut self, version: i32, change: impl FnOnce(&mut Text)) {
        change(&mut self.text);
        self.version = version;
        self.analysis = OnceCell::new();
    }

    /// What is understood of the text, found out once for each version.
    pub(crate) fn analysis(&self) -> &Analysis {
        self.analysis.get_or_init(|| {
            let parsed = parse(&Source::new("document", self.text.as_str()));
            let program = elaborate(&parsed);
            Analysis { parsed, program, judgement: OnceCell::new() }
        })
    }
}

impl Analysis {
    /// Everything that is wrong, as `pto check` says it, what several targets say said once.
    pub(crate) fn judgement(&self) -> &Judgement {
        self.judgement.get_or_init(|| {
            let judged = judge(&self.parsed, &self.program, None, &Levels::default());
            Judgement { found: fold(&judged.found), ..judged }
        })
    }

    /// The value that is defined at a place; `position` counts those that share a name, as in `%r#1`.
    pub(crate) fn value(&self, definition: Span, position: usize) -> Option<(&Function, ValueId)> {
        let here = |function: &Function| {
            let at = function.values.iter().position(|value| value.place == definition.into())? + position;
            (function.values.get(at)?.place == definition.into()).then_some(ValueId(at as u32))
        };
        self.program.module.functions.iter().find_map(|function| Some((function, here(function)?)))
    }

    /// The type of a value.
    pub(crate) fn type_of(&self, function: &Function, value: ValueId) -> &Type {
        self.program.module.types.get(function.value(value).ty)
    }

    /// What is known in a function after everything that stands before an offset.
    pub(crate) fn facts<'a>(&'a self, function: &'a Function, until: u32) -> Facts<'a> {
        let mut facts = Facts::new(function, &self.program.module.types);
        walk(&mut facts, &function.body, until);
        facts
    }

    /// The operation whose name stands at a place, with what is known before it.
    pub(crate) fn operation(&self, name: Span) -> Option<(Facts<'_>, &IrOp)> {
        self.program.module.functions.iter().find_map(|function| {
            let op = find(&function.body, name)?;
            Some((self.facts(function, name.start), op))
        })
    }
}

/// Applies what a region does before an offset; says whether the offset was reached. Regions nest no deeper than the
/// parser lets them.
fn walk<'a>(facts: &mut Facts<'a>, region: &'a Region, until: u32) -> bool {
    for op in &region.ops {
        if op.place.start >= until {
            return true;
        }
        match &op.kind {
            OpKind::For(inner) => {
                facts.enter_loop(inner);
                if walk(facts, &inner.body, until) {
                    return true;
                }
                facts.leave_loop(inner);
            }
            OpKind::If(inner) => {
                if walk(facts, &inner.then, until) || walk(facts, &inner.otherwise, until) {
                    return true;
                }
                facts.join(inner);
            }
            kind => facts.apply(kind),
        }
    }
    false
}

/// The last operation at a place: what a spelling implies, such as the tile that a result needs, stands before it.
fn find(region: &Region, name: Span) -> Option<&IrOp> {
    region.ops.iter().rev().find_map(|op| match &op.kind {
        _ if op.place == name.into() => Some(op),
        OpKind::For(inner) => find(&inner.body, name),
        OpKind::If(inner) => find(&inner.otherwise, name).or_else(|| find(&inner.then, name)),
        _ => None,
    })
}
