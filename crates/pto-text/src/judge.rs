//! A program judged for one target or for several, what they agree on said once.

use std::collections::{HashMap, HashSet};

use pto_isa::Target;

use crate::diagnostic::{Diagnostic, Levels};
use crate::elaborate::Program;
use crate::parser::Parse;
use crate::span::Span;

/// What was found, and who takes the program.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The findings of the parser, of the elaboration and of the checks, in the order of the text. What every target
    /// says has no target.
    pub found: Vec<Diagnostic>,
    /// The targets it was judged for, and whether each takes it.
    pub targets: Vec<(Target, bool)>,
}

/// Judges a program for a target; without one for the target that its module names, else for each that there is.
///
/// ```
/// use pto_text::{Levels, Source, elaborate, judge, parse};
/// let parsed = parse(&Source::new("k.pto", "pto.tlod"));
/// let judged = judge(&parsed, &elaborate(&parsed), None, &Levels::default());
/// assert_eq!((judged.found.len(), judged.found[0].target), (1, None));
/// assert!(judged.targets.iter().all(|(_, legal)| !legal));
/// ```
pub fn judge(parsed: &Parse, program: &Program, target: Option<Target>, levels: &Levels) -> Judgement {
    let targets: Vec<Target> = match target.or(program.module.target) {
        Some(target) => vec![target],
        None => Target::ALL.to_vec(),
    };
    let source = parsed.tree.source();
    let mut found = levels.apply(parsed.diagnostics.iter().chain(&program.diagnostics).cloned().collect());
    let wrong = found.iter().any(Diagnostic::is_error);
    let each: Vec<Vec<Diagnostic>> =
        targets.iter().map(|target| levels.apply(program.check(source, *target))).collect();
    let legal = |found: &Vec<Diagnostic>| !wrong && !found.iter().any(Diagnostic::is_error);
    let targets = targets.iter().copied().zip(each.iter().map(legal)).collect();
    found.append(&mut merge(each));
    found.sort_by_key(|one| one.span.map_or(u32::MAX, |span| span.start));
    Judgement { found, targets }
}

/// What every target says is said once, without a target; the rest target by target.
fn merge(each: Vec<Vec<Diagnostic>>) -> Vec<Diagnostic> {
    let targets = each.len();
    let mut found: Vec<Diagnostic> = each.into_iter().flatten().collect();
    if targets < 2 {
        return found;
    }
    let mut groups: HashMap<(&str, Option<Span>, String), usize> = HashMap::new();
    for one in &found {
        *groups.entry(key(one)).or_default() += 1;
    }
    let common: HashSet<_> = groups.into_iter().filter(|(_, count)| *count == targets).map(|(key, _)| key).collect();
    let mut said = HashSet::new();
    found.retain(|one| !common.contains(&key(one)) || said.insert(key(one)));
    for one in &mut found {
        if common.contains(&key(one)) {
            one.target = None;
        }
    }
    found
}

/// What a finding says, whichever target it is about.
fn key(one: &Diagnostic) -> (&'static str, Option<Span>, String) {
    let message = match one.target {
        Some(target) => one.message.replace(&format!("on {target}"), "on every target"),
        None => one.message.clone(),
    };
    (one.rule.name, one.span, message)
}

/// For people, what several targets say is said once: with the others in a note.
pub fn fold(found: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut places: HashMap<_, usize> = HashMap::new();
    let mut folded: Vec<(Diagnostic, Vec<&'static str>)> = Vec::new();
    for one in found {
        match places.get(&key(one)) {
            Some(at) => folded[*at].1.extend(one.target),
            None => {
                places.insert(key(one), folded.len());
                folded.push((one.clone(), Vec::new()));
            }
        }
    }
    let noted = |(one, others): (Diagnostic, Vec<&'static str>)| match others.is_empty() {
        true => one,
        false => one.with_note(format!("the same on {}", others.join(", "))),
    };
    folded.into_iter().map(noted).collect()
}
