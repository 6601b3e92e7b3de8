//! The legality checker: every rule of the specification, held against one instruction.
//!
//! What is checked, by file: element types (`types`), extents (`shape`), storage orders and alignment
//! (`layout`), policies (`policy`), memory: budget, placement, overlap, table bounds (`memory`), collectives
//! (`comm`). What is not: index *values* (the executors fault on those), order of accesses, other instructions.
//!
//! Promise: an instruction whose extents are all known and that [`check`] finds no error in never leaves a buffer,
//! whatever the index values, and never panics in an executor.
//!
//! Every predicate is a `const fn` over what is known, and only what is known can break a rule. So one predicate
//! serves three times: at compile time for the typed API ([`first_broken`]), before a run (dynamic extents
//! [erased](Instruction::erased)) and at the instruction.

use core::fmt;

use crate::{
    Coalesce, Collective, Direction, Extent, Instruction, Opcode, Policy, Profile, Role, Rule, Severity, Target,
    TargetSet, Tensor, Tile,
};

mod comm;
mod layout;
mod memory;
mod policy;
mod shape;
mod types;

pub use comm::first_broken_collective;

/// What the launch of a kernel decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// `dynUBufSize` in bytes, if the launch names one.
    pub dyn_ub: Option<u64>,
}

impl Launch {
    /// Bytes of UB that tiles may take in this launch; `None` on targets without a UB.
    ///
    /// ```
    /// use pto_isa::{Launch, Target};
    /// assert_eq!(Launch { dyn_ub: None }.ub_limit(Target::A5), Some(128 * 1024));
    /// assert_eq!(Launch { dyn_ub: Some(200 * 1024) }.ub_limit(Target::A5), Some(200 * 1024));
    /// assert_eq!(Launch { dyn_ub: None }.ub_limit(Target::Host), None);
    /// ```
    pub const fn ub_limit(self, target: Target) -> Option<u64> {
        match target.profile().ub {
            Some(ub) => Some(ub.limit(self.dyn_ub)),
            None => None,
        }
    }
}

/// One broken rule: which, at which operand, what was expected and what was found.
///
/// ```
/// use pto_isa::{ElementType::*, Instruction, Launch, Policy, Target, Tensor, Tile, check, Coalesce};
/// let gather = Instruction::MGather {
///     dst: Tile::new(F32, 4, 7),
///     table: Tensor::packed(F32, [1, 1, 1, 16, 7]),
///     idx: Tile::new(I32, 1, 4),
///     policy: Policy::coalesce(Coalesce::Row),
/// };
/// let findings = check(&gather, Target::A2A3, Launch::default());
/// assert_eq!(findings[0].rule.name, "align.row-width");
/// assert_eq!(
///     findings[0].to_string(),
///     "`dst` of mgather on a2a3: expected padded Cols * sizeof(f32) to be a multiple of 32 bytes, found 7 * 4 = 28"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static Rule,
    /// The instruction.
    pub opcode: Opcode,
    /// The target it was judged for.
    pub target: Target,
    /// The operand.
    pub role: Role,
    /// What the rule wants.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { opcode, target, role, expected, found, .. } = self;
        write!(f, "`{role}` of {opcode} on {target}: expected {expected}, found {found}")
    }
}

/// One instruction, seen from one operand: what a rule's predicate looks at.
#[derive(Clone, Copy)]
struct Case<'a> {
    instruction: &'a Instruction,
    target: Target,
    launch: Launch,
    role: Role,
}

impl<'a> Case<'a> {
    const fn profile(&self) -> &'static Profile {
        self.target.profile()
    }

    /// The tile that the rule is looking at.
    const fn tile(&self) -> Option<&'a Tile> {
        self.instruction.tile(self.role)
    }

    /// Payload, index tile, table and policy of a memory instruction.
    const fn memory(&self) -> Option<(&'a Tile, &'a Tile, &'a Tensor, &'a Policy)> {
        match self.instruction {
            Instruction::MGather { dst, table, idx, policy } => Some((dst, idx, table, policy)),
            Instruction::MScatter { table, src, idx, policy } => Some((src, idx, table, policy)),
            _ => None,
        }
    }

    const fn coalesce(&self) -> Option<Coalesce> {
        self.instruction.coalesce(self.target)
    }

    const fn is_row(&self) -> bool {
        matches!(self.coalesce(), Some(Coalesce::Row))
    }

    const fn is_elem(&self) -> bool {
        matches!(self.coalesce(), Some(Coalesce::Elem))
    }
}

/// Opcodes that a rule speaks of.
#[derive(Clone, Copy)]
struct Opcodes(&'static [Opcode]);

const MEMORY: Opcodes = Opcodes(&[Opcode::MGather, Opcode::MScatter]);
const MSCATTER: Opcodes = Opcodes(&[Opcode::MScatter]);
const MGATHER: Opcodes = Opcodes(&[Opcode::MGather]);
const TILE: Opcodes = Opcodes(&[Opcode::TScatter, Opcode::TScatterMask]);
const TSCATTER: Opcodes = Opcodes(&[Opcode::TScatter]);
const MASK: Opcodes = Opcodes(&[Opcode::TScatterMask]);
const ANY: Opcodes = Opcodes(&[Opcode::MGather, Opcode::MScatter, Opcode::TScatter, Opcode::TScatterMask]);

const EVERYWHERE: TargetSet = TargetSet::ALL;
const DEVICES: TargetSet = TargetSet::of(&[Target::A2A3, Target::A5]);
const NOT_HOST: TargetSet = TargetSet::of(&[Target::Cpu, Target::A2A3, Target::A5]);
const NOT_CPU: TargetSet = TargetSet::of(&[Target::A2A3, Target::A5, Target::Host]);
const CPU: TargetSet = TargetSet::of(&[Target::Cpu]);
const A2A3: TargetSet = TargetSet::of(&[Target::A2A3]);
const A5: TargetSet = TargetSet::of(&[Target::A5]);
const NOT_A5: TargetSet = TargetSet::of(&[Target::Cpu, Target::A2A3, Target::Host]);
const HOST: TargetSet = TargetSet::of(&[Target::Host]);
const A2A3_HOST: TargetSet = TargetSet::of(&[Target::A2A3, Target::Host]);

/// True if the rule speaks of this instruction on this target.
const fn concerns(case: &Case<'_>, opcodes: Opcodes, targets: TargetSet) -> bool {
    let mut i = 0;
    while i < opcodes.0.len() {
        if opcodes.0[i].is(case.instruction.opcode()) {
            return targets.contains(case.target);
        }
        i += 1;
    }
    false
}

/// Declares the rules of one file: texts, where they hold, the operands they look at, a `const` predicate that says
/// whether one is broken and a function that words what was expected and what was found.
///
/// Expands to one `&Rule` constant each, the list of all, `first_broken` for constant evaluation and `collect` for
/// reports.
macro_rules! declare_rules {
    ($(
        $(#[$doc:meta])*
        $constant:ident = $name:literal $severity:ident on $opcodes:ident $targets:ident [$($role:ident),+] {
            $summary:literal
            help $help:literal
            spec $spec:literal
            if $broken:path => $found:path
        }
    )*) => {
        $(
            #[doc = $summary]
            pub const $constant: &$crate::Rule = &$crate::Rule {
                name: $name,
                severity: $crate::Severity::$severity,
                summary: $summary,
                help: $help,
                spec: $spec,
            };
        )*

        pub(super) const RULES: &[&$crate::Rule] = &[$($constant),*];

        pub(super) const fn first_broken(mut case: super::Case<'_>) -> Option<&'static $crate::Rule> {
            $(
                if matches!($crate::Severity::$severity, $crate::Severity::Error)
                    && super::concerns(&case, super::$opcodes, super::$targets)
                {
                    $(
                        case.role = $crate::Role::$role;
                        if $broken(&case) {
                            return Some($constant);
                        }
                    )+
                }
            )*
            None
        }

        pub(super) fn collect(mut case: super::Case<'_>, findings: &mut Vec<super::Finding>) {
            $(
                if super::concerns(&case, super::$opcodes, super::$targets) {
                    for role in [$($crate::Role::$role),+] {
                        case.role = role;
                        if $broken(&case) {
                            let (expected, found) = $found(&case);
                            findings.push(super::Finding {
                                rule: $constant,
                                opcode: case.instruction.opcode(),
                                target: case.target,
                                role,
                                expected,
                                found,
                            });
                        }
                    }
                }
            )*
        }
    };
}
use declare_rules;

/// All rules of the instruction set.
pub mod rules {
    pub use super::comm::*;
    pub use super::layout::*;
    pub use super::memory::*;
    pub use super::policy::*;
    pub use super::shape::*;
    pub use super::types::*;

    /// Every rule that [`check`](super::check), [`check_collective`](super::check_collective) or an executor raises.
    pub fn all() -> impl Iterator<Item = &'static crate::Rule> {
        use super::{layout, memory, policy, shape, types};
        let by_file = [types::RULES, shape::RULES, layout::RULES, policy::RULES, memory::RULES, COLLECTIVE];
        by_file.into_iter().chain([OTHER]).flatten().copied()
    }
}

/// Holds every rule against an instruction and reports all that are broken, errors and lesser findings.
///
/// Only what is known can break a rule: call it with [erased](Instruction::erased) extents to learn what is wrong
/// before the program runs.
pub fn check(instruction: &Instruction, target: Target, launch: Launch) -> Vec<Finding> {
    let case = Case { instruction, target, launch, role: Role::Policy };
    let mut findings = Vec::new();
    for collect in [types::collect, shape::collect, layout::collect, policy::collect, memory::collect] {
        collect(case, &mut findings);
    }
    findings
}

/// Holds every rule of the collectives against a call.
pub fn check_collective(call: &Collective, target: Target, launch: Launch) -> Vec<Finding> {
    comm::check(call, target, launch)
}

/// The first broken error rule, in constant evaluation: what the typed API asserts at compile time.
///
/// ```
/// use pto_isa::{ElementType::F32, Instruction, Launch, MaskPattern, Target, Tile, first_broken};
/// const MOVE: Instruction = Instruction::TScatterMask {
///     dst: Tile::new(F32, 8, 32),
///     src: Tile::new(F32, 8, 16),
///     pattern: MaskPattern::P1010,
/// };
/// const { assert!(first_broken(&MOVE, Target::A5, Launch { dyn_ub: None }).is_none()) };
/// const { assert!(first_broken(&MOVE, Target::A2A3, Launch { dyn_ub: None }).is_some()) };
/// ```
pub const fn first_broken(instruction: &Instruction, target: Target, launch: Launch) -> Option<&'static Rule> {
    let case = Case { instruction, target, launch, role: Role::Policy };
    if let Some(rule) = types::first_broken(case) {
        return Some(rule);
    }
    if let Some(rule) = shape::first_broken(case) {
        return Some(rule);
    }
    if let Some(rule) = layout::first_broken(case) {
        return Some(rule);
    }
    if let Some(rule) = policy::first_broken(case) {
        return Some(rule);
    }
    memory::first_broken(case)
}

/// When an instruction may not run: before the program starts, or only at the instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Legal; the list holds warnings and notes only.
    Legal(Vec<Finding>),
    /// Broken by static facts alone: refused before anything runs.
    Refused(Vec<Finding>),
    /// Broken by values known at run time only: a fault at the instruction, nothing written.
    Faults(Vec<Finding>),
}

impl Verdict {
    fn of(known_before: Vec<Finding>, at_run: impl FnOnce() -> Vec<Finding>) -> Self {
        let broken = |findings: &[Finding]| findings.iter().any(|f| f.rule.severity == Severity::Error);
        if broken(&known_before) {
            return Self::Refused(known_before);
        }
        let findings = at_run();
        if broken(&findings) { Self::Faults(findings) } else { Self::Legal(findings) }
    }
}

/// Judges an instruction whose run-time extents are known: legal, refused or faulting.
pub fn judge(instruction: &Instruction, target: Target, launch: Launch) -> Verdict {
    Verdict::of(check(&instruction.erased(), target, launch), || check(instruction, target, launch))
}

/// Judges a collective whose run-time extents are known.
pub fn judge_collective(call: &Collective, target: Target, launch: Launch) -> Verdict {
    Verdict::of(check_collective(&call.erased(), target, launch), || check_collective(call, target, launch))
}

/// `rows x cols` as found in a message.
fn extents(rows: Extent, cols: Extent) -> String {
    format!("{rows}x{cols}")
}

/// The word for a direction's instruction in messages of the collectives.
const fn opcode_of(direction: Direction) -> Opcode {
    match direction {
        Direction::Scatter => Opcode::CommTScatter,
        Direction::Gather => Opcode::CommTGather,
    }
}
