//! Auto mode: from a program without addresses and flags to one with every address and flag given.
//!
//! [`lower()`] runs the steps in order: staging tiles for collectives that name none ([`stage`]), addresses for tiles
//! that have none ([`place()`]), the flush that lets the host read what was scattered ([`flush`]), flags between pipes
//! ([`synchronise()`]). A function with flags of its own, or with an address for every tile, is in manual mode: nobody adds
//! to what its author wrote, except staging tiles and addresses that are missing. So a flag that a level-3 program
//! forgot stays forgotten, and the run finds the race.

mod place;
mod stage;
mod sync;

pub use place::place;
pub use stage::stage;
pub use sync::synchronise;

use pto_isa::{Severity, Target};

use crate::{Diagnostic, Function, Module, NESTING, Op, OpKind, Region, check};

/// Lowers every function of a checked program for a target.
///
/// The result is what the checker accepts as level 3. Errors are those of [`check()`], or a `budget.ub` that lists the
/// tiles which do not fit.
///
/// ```
/// use pto_ir::{FunctionBuilder, OpKind, lower};
/// use pto_isa::{ElementType::F32, Target, Tile};
/// let mut build = FunctionBuilder::new("copy");
/// let (from, to) = (build.pointer("from", F32), build.pointer("to", F32));
/// let (from, to) = (build.view(from, &[8, 32]), build.view(to, &[8, 32]));
/// let tile = build.tile(Tile::new(F32, 8, 32));
/// build.push(OpKind::Load { src: from, dst: tile }).push(OpKind::Store { src: tile, dst: to });
/// let lowered = lower::lower(&build.finish(), Target::A2A3).unwrap();
/// let flags = lowered.functions[0].body.ops.iter().filter(|op| matches!(op.kind, OpKind::SetFlag(_) | OpKind::WaitFlag(_)));
/// assert_eq!(flags.count(), 2);
/// ```
pub fn lower(module: &Module, target: Target) -> Result<Module, Vec<Diagnostic>> {
    let errors: Vec<Diagnostic> =
        check(module, target).into_iter().filter(|found| found.severity == Severity::Error).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut lowered = module.clone();
    let mut errors = Vec::new();
    for function in &mut lowered.functions {
        // Asked of what the author wrote: afterwards every tile has an address.
        let manual = is_manual(function);
        let staged = stage(function, &mut lowered.types);
        match place(&staged, &lowered.types, target) {
            Ok(placed) if manual => *function = placed,
            Ok(placed) => *function = synchronise(&flush(&placed, target), &lowered.types, target),
            Err(mut found) => errors.append(&mut found),
        }
    }
    if errors.is_empty() { Ok(lowered) } else { Err(errors) }
}

/// True if the function has flags of its own, or an address for each of its tiles: then order is its author's business.
pub fn is_manual(function: &Function) -> bool {
    has_flags(function) || (has_tiles(function) && !contains(&function.body, 0, &|op| lacks_address(function, op)))
}

/// True if the function sets or waits for a flag.
fn has_flags(function: &Function) -> bool {
    contains(&function.body, 0, &|op| matches!(op, OpKind::SetFlag(_) | OpKind::WaitFlag(_)))
}

fn has_tiles(function: &Function) -> bool {
    contains(&function.body, 0, &|op| matches!(op, OpKind::AllocTile { .. }))
}

/// True for the allocation of a tile that is given no address, there or by a `tassign`.
fn lacks_address(function: &Function, op: &OpKind) -> bool {
    let OpKind::AllocTile { result, address: None, .. } = op else { return false };
    !contains(&function.body, 0, &|op| matches!(op, OpKind::Assign { tile, .. } if tile == result))
}

fn contains(region: &Region, depth: usize, wanted: &dyn Fn(&OpKind) -> bool) -> bool {
    depth <= NESTING
        && region.ops.iter().any(|op| match &op.kind {
            OpKind::For(op) => contains(&op.body, depth + 1, wanted),
            OpKind::If(op) => contains(&op.then, depth + 1, wanted) || contains(&op.otherwise, depth + 1, wanted),
            kind => wanted(kind),
        })
}

/// On A5, ends a function that scatters to global memory with the flush after which the host can read the result.
///
/// 001, Cache-Coherence Flush Pattern: a scatter's stores may still be in the data cache when the kernel returns.
pub fn flush(function: &Function, target: Target) -> Function {
    let mut function = function.clone();
    let scatters = contains(&function.body, 0, &|op| matches!(op, OpKind::MScatter { .. }));
    let flushes = contains(&function.body, 0, &|op| matches!(op, OpKind::FlushCache));
    if target == Target::A5 && scatters && !flushes && !has_flags(&function) {
        let ops = &mut function.body.ops;
        let returns = ops.iter().position(|op| matches!(op.kind, OpKind::Return(_))).unwrap_or(ops.len());
        let place = ops.get(returns).map_or(function.place, |op| op.place);
        let flush = [OpKind::FlushCache, OpKind::DataBarrier].map(|kind| Op { kind, place });
        ops.splice(returns..returns, flush);
    }
    function
}
