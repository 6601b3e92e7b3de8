//! What names stand for: values, aliases and functions, looked up in the syntax, so that a program with errors has them
//! too.

use pto_text::view::Op;
use pto_text::{Kind, Node, Tree};

/// The nodes at an offset; at the end of a name those of the name, for there a cursor is still on it.
pub(crate) fn path(tree: &Tree, offset: u32) -> Vec<Node<'_>> {
    let path = tree.path_at(offset);
    if path.last().is_some_and(|node| node.kind().is_leaf()) || offset == 0 {
        return path;
    }
    let before = tree.path_at(offset - 1);
    if before.last().is_some_and(|node| node.kind().is_leaf()) { before } else { path }
}

/// The definition of what an offset points at.
pub(crate) fn definition<'t>(tree: &'t Tree, path: &[Node<'t>]) -> Option<Node<'t>> {
    let node = *path.last()?;
    match node.kind() {
        Kind::Value => value(path, base(node.text())),
        Kind::Symbol => functions(tree.root()).find(|name| name.text() == node.text()),
        _ => alias(tree, path),
    }
}

/// The name of a value without its position: `%r` of `%r#1`.
pub(crate) fn base(name: &str) -> &str {
    name.split_once('#').map_or(name, |(base, _)| base)
}

/// The position of a value among those with its name.
pub(crate) fn position(name: &str) -> usize {
    name.split_once('#').and_then(|(_, at)| at.parse().ok()).unwrap_or(0)
}

/// The definition of a value that is visible at the end of a path: the innermost, and there the last before it.
fn value<'t>(path: &[Node<'t>], name: &str) -> Option<Node<'t>> {
    let mut last = None;
    let end = path.last()?.span().start;
    visible(path, end, &mut |node| {
        let found = node.text() == name;
        if found {
            last = Some(node);
        }
        found
    });
    last
}

/// Tells of every value that is visible at an offset, to which the path leads: one scope after the other from the
/// innermost, until the receiver has taken one of a scope.
pub(crate) fn visible<'t>(path: &[Node<'t>], end: u32, tell: &mut dyn FnMut(Node<'t>) -> bool) {
    for node in path.iter().rev() {
        let mut taken = false;
        let mut tell = |node: Node<'t>| taken |= tell(node);
        match node.kind() {
            Kind::Region | Kind::File => {
                let before = node.children().take_while(|child| child.span().start <= end);
                before.for_each(|statement| statement_values(statement, &mut tell));
            }
            Kind::Op => header_values(*node, &mut tell),
            _ => {}
        }
        // A function sees nothing of what is around it.
        if taken || Op::cast(*node).is_some_and(|op| op.name() == "func.func") {
            return;
        }
    }
}

/// The values that a statement defines for those behind it.
fn statement_values<'t>(statement: Node<'t>, tell: &mut dyn FnMut(Node<'t>)) {
    match Op::cast(statement) {
        Some(op) => {
            op.results().for_each(|(value, _)| tell(value));
            match op.name() {
                ".arg" => op.operands().into_iter().for_each(tell),
                ".const" => op.body().filter_map(key).for_each(tell),
                _ => {}
            }
        }
        // The arguments of a block.
        None if statement.kind() == Kind::Block => {
            statement.children().filter(|child| child.kind() == Kind::Call).for_each(|call| group_values(call, tell));
        }
        None => {}
    }
}

/// The values that an operation defines for its regions: parameters, induction variables, what a loop carries.
fn header_values<'t>(op: Node<'t>, tell: &mut dyn FnMut(Node<'t>)) {
    let Some(op) = Op::cast(op) else { return };
    for term in op.body() {
        match (term.kind(), term.child(0)) {
            (Kind::Entry, _) => key(term).into_iter().for_each(&mut *tell),
            (Kind::Call, Some(name)) if name.kind() == Kind::Symbol && op.name() == "func.func" => {
                group_values(term, tell);
            }
            (Kind::Call, Some(name)) if name.text() == "iter_args" => {
                let group = term.child(1).into_iter().flat_map(Node::children);
                group.filter_map(key).for_each(&mut *tell);
            }
            _ => {}
        }
    }
}

/// The values in the parentheses of a call.
fn group_values<'t>(call: Node<'t>, tell: &mut dyn FnMut(Node<'t>)) {
    let group = call.child(1).into_iter().flat_map(Node::children);
    group.filter(|term| term.kind() == Kind::Value).for_each(tell);
}

/// The value that an entry `%i = ...` defines.
fn key(entry: Node<'_>) -> Option<Node<'_>> {
    let key = entry.child(0).filter(|_| entry.kind() == Kind::Entry)?;
    (key.kind() == Kind::Value).then_some(key)
}

/// The names of all functions, those in modules included.
pub(crate) fn functions<'t>(block: Node<'t>) -> Box<dyn Iterator<Item = Node<'t>> + 't> {
    Box::new(Op::all(block).flat_map(|op| -> Box<dyn Iterator<Item = Node<'t>>> {
        match op.name() {
            "module" | "builtin.module" => Box::new(op.regions().flat_map(functions)),
            "func.func" => Box::new(op.symbol().map(|(name, _)| name).into_iter()),
            _ => Box::new(std::iter::empty()),
        }
    }))
}

/// The name of the alias that the smallest type or attribute of a path stands for.
fn alias<'t>(tree: &'t Tree, path: &[Node<'t>]) -> Option<Node<'t>> {
    let used = path.iter().rev().find(|node| matches!(node.kind(), Kind::Type | Kind::Attr))?;
    let named = tree.root().children().filter(|child| child.kind() == Kind::Alias).filter_map(|alias| alias.child(0));
    named.into_iter().find(|name| used.len() == 1 && name.text() == used.text())
}

#[cfg(test)]
mod tests {
    use super::*;
    use pto_text::{Source, parse};

    const TEXT: &str = "\
!tile = !pto.tile<8x8xf32>
module {
  func.func @f(%a: index, %t: !tile) {
    %b = arith.constant 1 : index
    %r:2 = scf.for %i = %a to %b step %b iter_args(%x = %a, %y = %b) -> (index, index) {
      %b2 = arith.addi %i, %x : index
      scf.yield %b2, %y : index, index
    }
    func.call @g(%r#1) : (index) -> ()
    return
  }
  func.func @g(%a: index) {
    %c = arith.addi %a, %a : index
    return
  }
}
";

    /// The line (from 1) on which what the n-th occurrence of a word means is defined.
    fn line(word: &str, nth: usize) -> Option<u32> {
        let source = Source::new("t", TEXT);
        let parsed = parse(&source);
        assert!(parsed.is_clean(), "{:?}", parsed.diagnostics);
        let at = TEXT.match_indices(word).nth(nth).expect("the word stands there").0;
        let found = definition(&parsed.tree, &parsed.tree.path_at(at as u32))?;
        Some(source.position(found.span().start).line)
    }

    #[test]
    fn every_kind_of_name_has_its_definition() {
        assert_eq!(line("%a to", 0), Some(3));
        assert_eq!(line("%i, %x", 0), Some(5));
        assert_eq!(line("%x : index", 0), Some(5));
        assert_eq!(line("%b2, %y", 0), Some(6));
        assert_eq!(line("%r#1", 0), Some(5));
        assert_eq!(line("%a, %a", 0), Some(12), "functions do not see each other's values");
        assert_eq!(line("@g", 0), Some(12));
        assert_eq!(line("!tile)", 0), Some(1));
        assert_eq!(line("tile)", 0), Some(1));
        assert_eq!(line("return", 0), None);
        assert_eq!(line("%b = arith", 0), Some(4), "a definition is its own");
    }
}
