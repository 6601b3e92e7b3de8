//! Rules on policies.

use super::{Case, declare_rules, extents};
use crate::{Atomic, Instruction, OutOfBounds, Target};

declare_rules! {
    POLICY_COALESCE = "policy.coalesce" Error on MEMORY NOT_CPU [Policy] {
        "without a coalesce mode the index shape must imply one"
        help "name the mode: coalesce row with one index per row, coalesce elem with one per element"
        spec "SPEC: Where a text leaves coalesce out, the index shape decides: [R,1] or [1,R] for R payload rows is Row, the payload's own shape is Elem; a shape that fits neither is an error."
        if coalesce_unclear => coalesce_found
    }
    POLICY_COALESCE_IMPLICIT = "policy.coalesce-implicit" Warning on MEMORY NOT_CPU [Policy] {
        "the coalesce mode is left to the index shape"
        help "name the mode: public assemblers refuse a text without it"
        spec "001: The operating mode is selected explicitly through the Coalesce template parameter. SPEC: a text without it raises the warning policy.coalesce-implicit."
        if coalesce_left_out => coalesce_implicit_found
    }
    POLICY_ATOMIC_TARGET = "policy.atomic-target" Error on MSCATTER EVERYWHERE [Policy] {
        "the target must have the atomic operation"
        help "on a2a3 use add, or compute the maximum before the scatter"
        spec "001: ScatterAtomicOp::Max and Min are not supported on A2/A3; MScatterCheck rejects them at compile time."
        if atomic_missing => atomic_missing_found
    }
    POLICY_ATOMIC_TYPE = "policy.atomic-type" Error on MSCATTER EVERYWHERE [Policy] {
        "the atomic operation must exist for the element type"
        help "use an element type of the operation's list, or scatter without atomics"
        spec "001, Atomic Type Support: Add: CPU i32 u32 f32 f16; A2/A3 i8 i16 i32 f16 bf16 f32; A5 i32 u32 f32 f16 bf16. Max, Min: CPU i32 f32; A5 i32 u32 f32."
        if atomic_type_wrong => atomic_type_found
    }
    POLICY_CONFLICT_TARGET = "policy.conflict-target" Error on MSCATTER A2A3 [Policy] {
        "a2a3 has no conflict policy"
        help "leave it out: on a2a3 the walk is sequential and the last write always wins"
        spec "001: A2/A3 has no ScatterConflict template parameter (the kernel is always sequential, so collisions are deterministic \"last write wins\")."
        if conflict_named => conflict_found
    }
    POLICY_OOB = "policy.oob" Error on MEMORY EVERYWHERE [Policy] {
        "MSCATTER has no Zero and MGATHER has no Skip"
        help "use skip, clamp or wrap for a scatter; zero, clamp or wrap for a gather"
        spec "001: There is no Zero option (the operation writes into an existing table). SPEC, MGATHER: GatherOOB {Undefined, Clamp, Wrap, Zero}."
        if oob_wrong => oob_found
    }
    POLICY_GATHER = "policy.gather" Error on MGATHER NOT_CPU [Policy] {
        "MGATHER has no atomic and no conflict policy"
        help "remove the atomic or conflict policy"
        spec "SPEC: MGATHER naming an atomic (none included) or a conflict policy: refused, except on cpu."
        if gather_policy_named => gather_policy_found
    }
    POLICY_IGNORED = "policy.ignored" Warning on MEMORY CPU [Policy] {
        "cpu runs no policy: it replaces element by element and the last writer wins"
        help "run on a5 or host to see the policy at work"
        spec "001: The simulator does not model ScatterAtomicOp, ScatterOOB, or ScatterConflict template parameters."
        if policy_ignored => ignored_found
    }
    TARGET_MASK = "target.mask" Error on MASK EVERYWHERE [Mask] {
        "mask TSCATTER exists on a5 and host"
        help "use the index form with indices F * c + p on this target"
        spec "002: Mask scatter is an A5-only overload. SPEC: Mask form is legal on a5 and host."
        if mask_missing => mask_found
    }
}

const fn coalesce_unclear(case: &Case<'_>) -> bool {
    case.instruction.coalesce_fits_neither()
}

fn coalesce_found(case: &Case<'_>) -> (String, String) {
    let Some((payload, idx, _, _)) = case.memory() else { return Default::default() };
    let expected = format!(
        "a coalesce mode, or an index tile of valid 1x{0}, {0}x1 (Row) or {1} (Elem)",
        payload.valid_rows,
        extents(payload.valid_rows, payload.valid_cols)
    );
    (expected, format!("no mode and valid {}", extents(idx.valid_rows, idx.valid_cols)))
}

const fn coalesce_left_out(case: &Case<'_>) -> bool {
    match case.memory() {
        Some((_, _, _, policy)) => policy.coalesce.is_none() && !coalesce_unclear(case),
        None => false,
    }
}

fn coalesce_implicit_found(case: &Case<'_>) -> (String, String) {
    let found = match case.coalesce() {
        Some(mode) => format!("none; the index shape implies {mode}"),
        None => "none; the index shape decides at run time".into(),
    };
    ("an explicit coalesce mode".into(), found)
}

const fn atomic_missing(case: &Case<'_>) -> bool {
    match case.memory() {
        Some((_, _, _, policy)) => case.profile().atomic(policy.atomic_or_default()).is_empty(),
        None => false,
    }
}

fn atomic_missing_found(case: &Case<'_>) -> (String, String) {
    let atomic = case.instruction.policy().map_or(Atomic::None, |p| p.atomic_or_default());
    ("an atomic operation of the target (none, add)".into(), atomic.to_string())
}

const fn atomic_type_wrong(case: &Case<'_>) -> bool {
    match case.memory() {
        Some((payload, _, _, policy)) => {
            let atomic = policy.atomic_or_default();
            let set = case.profile().atomic(atomic);
            // Replacing works for every type, and a missing operation is reported as such.
            !atomic.is(Atomic::None) && !set.is_empty() && !set.contains(payload.element)
        }
        None => false,
    }
}

fn atomic_type_found(case: &Case<'_>) -> (String, String) {
    let atomic = case.instruction.policy().map_or(Atomic::None, |p| p.atomic_or_default());
    let set = case.profile().atomic(atomic);
    (format!("an element type of {{{set}}} for atomic {atomic}"), case.instruction.payload().element.to_string())
}

const fn conflict_named(case: &Case<'_>) -> bool {
    match case.memory() {
        Some((_, _, _, policy)) => policy.conflict.is_some(),
        None => false,
    }
}

fn conflict_found(case: &Case<'_>) -> (String, String) {
    let found = case.instruction.policy().and_then(|p| p.conflict).map_or_else(String::new, |c| c.to_string());
    ("no conflict policy".into(), format!("conflict {found}"))
}

const fn oob_wrong(case: &Case<'_>) -> bool {
    match case.instruction {
        Instruction::MScatter { policy, .. } => policy.oob_or_default().is(OutOfBounds::Zero),
        Instruction::MGather { policy, .. } => policy.oob_or_default().is(OutOfBounds::Skip),
        _ => false,
    }
}

fn oob_found(case: &Case<'_>) -> (String, String) {
    let scatter = matches!(case.instruction, Instruction::MScatter { .. });
    let expected = if scatter { "undefined, skip, clamp or wrap" } else { "undefined, clamp, wrap or zero" };
    let found = case.instruction.policy().map_or_else(String::new, |p| p.oob_or_default().to_string());
    (expected.into(), found)
}

const fn gather_policy_named(case: &Case<'_>) -> bool {
    match case.memory() {
        Some((_, _, _, policy)) => policy.atomic.is_some() || policy.conflict.is_some(),
        None => false,
    }
}

fn gather_policy_found(case: &Case<'_>) -> (String, String) {
    ("no atomic and no conflict policy".into(), named(case).join(", "))
}

/// The policies that the instruction names, but for the mode.
fn named(case: &Case<'_>) -> Vec<String> {
    let Some(policy) = case.instruction.policy() else { return Vec::new() };
    let atomic = policy.atomic.map(|p| format!("atomic {p}"));
    let oob = policy.oob.map(|p| format!("oob {p}"));
    let conflict = policy.conflict.map(|p| format!("conflict {p}"));
    [atomic, oob, conflict].into_iter().flatten().collect()
}

const fn policy_ignored(case: &Case<'_>) -> bool {
    match case.memory() {
        Some((_, _, _, policy)) => {
            matches!(policy.coalesce, Some(crate::Coalesce::Row))
                || !policy.atomic_or_default().is(Atomic::None)
                || !policy.oob_or_default().is(OutOfBounds::Undefined)
                || matches!(policy.conflict, Some(crate::Conflict::Default))
        }
        None => false,
    }
}

fn ignored_found(case: &Case<'_>) -> (String, String) {
    let mut ignored = named(case);
    if case.instruction.policy().is_some_and(|p| p.coalesce == Some(crate::Coalesce::Row)) {
        ignored.insert(0, "coalesce row".into());
    }
    ("no policy, because none is run here".into(), format!("{}, ignored; {}", ignored.join(", "), on_a5(case)))
}

/// What A5 would have done with the ignored policies, in one clause.
fn on_a5(case: &Case<'_>) -> String {
    let Some(policy) = case.instruction.policy() else { return String::new() };
    let mut does = Vec::new();
    match policy.coalesce {
        Some(crate::Coalesce::Row) => does.push("take each index as a row".to_owned()),
        _ => does.push("take each index as an element".to_owned()),
    }
    match policy.atomic_or_default() {
        Atomic::None => {}
        atomic => does.push(format!("combine by atomic {atomic}")),
    }
    match policy.oob_or_default() {
        OutOfBounds::Undefined => {}
        OutOfBounds::Skip => does.push("drop lanes that are out of range".into()),
        OutOfBounds::Clamp => does.push("send lanes that are out of range to the last slot".into()),
        OutOfBounds::Wrap => does.push("wrap lanes that are out of range".into()),
        OutOfBounds::Zero => does.push("write zero for lanes that are out of range".into()),
    }
    if policy.conflict == Some(crate::Conflict::Default) {
        does.push("let the warp schedule decide collisions".into());
    }
    format!("a5 would {}", does.join(", "))
}

const fn mask_missing(case: &Case<'_>) -> bool {
    !matches!(case.target, Target::A5 | Target::Host)
}

fn mask_found(case: &Case<'_>) -> (String, String) {
    ("target a5 or host for the mask form".into(), case.target.to_string())
}
