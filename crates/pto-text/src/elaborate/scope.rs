//! The names of values and where they are visible.

use std::collections::HashMap;

use pto_ir::ValueId;

use super::hash::TextState;

#[derive(Clone, Copy)]
struct Binding {
    value: ValueId,
    visible: bool,
}

/// What a name stands for.
pub(super) enum Found {
    Visible(ValueId),
    /// The region that defined it has ended.
    Gone(ValueId),
    Nothing,
}

/// The names of one function.
#[derive(Default)]
pub(super) struct Scope<'t> {
    names: HashMap<&'t str, Binding, TextState>,
    /// The visible names, in the order of their definition, and whether they are defined or only assumed to be.
    visible: Vec<(&'t str, bool)>,
    /// How many values stand under one name, by the first of them: `%r:2`.
    packs: HashMap<ValueId, u32>,
}

impl<'t> Scope<'t> {
    pub(super) fn find(&self, name: &str) -> Found {
        match self.names.get(name) {
            Some(Binding { value, visible: true }) => Found::Visible(*value),
            Some(Binding { value, .. }) => Found::Gone(*value),
            None => Found::Nothing,
        }
    }

    /// Binds a name; gives back the value that it already stands for here, if it does.
    pub(super) fn bind(&mut self, name: &'t str, value: ValueId) -> Option<ValueId> {
        self.insert(name, value, true)
    }

    /// Binds a name that nothing defines, so that it is reported once. It is never suggested.
    pub(super) fn assume(&mut self, name: &'t str, value: ValueId) {
        self.insert(name, value, false);
    }

    fn insert(&mut self, name: &'t str, value: ValueId, defined: bool) -> Option<ValueId> {
        let before = self.names.insert(name, Binding { value, visible: true });
        match before {
            Some(Binding { value, visible: true }) => Some(value),
            _ => {
                self.visible.push((name, defined));
                None
            }
        }
    }

    /// A mark to go back to when a region ends.
    pub(super) fn enter(&self) -> usize {
        self.visible.len()
    }

    pub(super) fn leave(&mut self, mark: usize) {
        for (name, _) in self.visible.drain(mark..) {
            if let Some(binding) = self.names.get_mut(name) {
                binding.visible = false;
            }
        }
    }

    /// Says that a value is the first of several under one name.
    pub(super) fn pack(&mut self, first: ValueId, count: u32) {
        if count > 1 {
            self.packs.insert(first, count);
        }
    }

    /// The value at a position of a pack: `%r#1`.
    pub(super) fn position(&self, first: ValueId, at: u32) -> Option<ValueId> {
        let count = self.packs.get(&first).copied().unwrap_or(1);
        (at < count).then(|| ValueId(first.0 + at))
    }

    pub(super) fn clear(&mut self) {
        self.names.clear();
        self.packs.clear();
        self.visible.clear();
    }

    /// The visible names, for suggestions.
    pub(super) fn visible(&self) -> impl Iterator<Item = &'t str> {
        // With more names than this the search would cost more than it helps.
        self.visible.iter().rev().take(256).filter(|(_, defined)| *defined).map(|(name, _)| *name)
    }
}
