//! Running the collectives of a corpus.

use std::path::Path;

use pto_exec::reference;
use pto_isa::check::Verdict;
use pto_isa::{Collective, Direction, Launch, Target, Tensor, judge_collective};

use crate::case::{self, Case, Op, Operand};
use crate::compare::Comparison;
use crate::device::{self, CollectiveRun};
use crate::operand::{self, LoadError, malformed};
use crate::run::{Attempt, Event, Via, sentences};

/// The most ranks that a case may have.
const MAX_RANKS: i64 = 4096;

pub(crate) fn attempt(folder: &Path, case: &Case, target: Target, launch: Launch, via: Via) -> Attempt {
    let direction = if case.op == Op::CommTscatter { Direction::Scatter } else { Direction::Gather };
    let (local, ranks, ranks_role) = match direction {
        Direction::Scatter => (&case.src, &case.dst, "dst"),
        Direction::Gather => (&case.dst, &case.src, "src"),
    };
    let Some(Operand::Tensor(local)) = local else { return Err(malformed("the root's tensor is missing")) };
    let count = case.ranks.ok_or_else(|| malformed("`ranks` is missing"))?;
    if !(0..=MAX_RANKS).contains(&count) {
        return Err(malformed(format!("expected 0 to {MAX_RANKS} ranks, found {count}")));
    }
    let (described, data) = group(ranks.as_ref(), ranks_role, count as usize)?;
    // A negative root is a root out of range, whatever its value.
    let rank = |value: i64| u64::try_from(value).unwrap_or(u64::MAX);
    let root = rank(case.root.ok_or_else(|| malformed("`root` is missing"))?);
    let staging = case.staging.as_ref().ok_or_else(|| malformed("`staging` is missing"))?;
    let call = Collective {
        direction,
        root,
        caller: case.caller.map_or(root, rank),
        local: operand::tensor(local)?,
        group: described,
        staging: staging.iter().map(operand::tile).collect::<Result<_, _>>()?,
    };
    let diagnostics = match judge_collective(&call, target, launch) {
        Verdict::Refused(findings) => return Ok((Event::Refused, sentences(&findings))),
        // Nothing is loaded: operands whose run-time extents break a rule may not even have a size.
        Verdict::Faults(findings) => return Ok((Event::Faulted { untouched: true }, sentences(&findings))),
        Verdict::Legal(findings) => sentences(&findings),
    };
    let event = run(folder, &call, (target, launch), via, local, &data)?;
    Ok((event, diagnostics))
}

/// Each rank's tensor, and the data behind it with its position there.
type Group<'a> = (Vec<Option<Tensor>>, Vec<(&'a case::Data, usize)>);

fn group<'a>(operand: Option<&'a Operand>, role: &str, count: usize) -> Result<Group<'a>, LoadError> {
    match operand {
        Some(Operand::Tensor(tensor)) => {
            let described = operand::tensor(tensor)?;
            Ok((vec![Some(described); count], (0..count).map(|i| (&tensor.data, i)).collect()))
        }
        Some(Operand::Ranks(tensors)) => {
            let described =
                tensors.iter().map(|t| t.as_ref().map(operand::tensor).transpose()).collect::<Result<Vec<_>, _>>()?;
            // A list shorter than the group leaves holes at its end.
            let holes = count.saturating_sub(tensors.len());
            let described = described.into_iter().chain(std::iter::repeat_n(None, holes)).collect();
            Ok((described, tensors.iter().flatten().map(|t| (&t.data, 0)).collect()))
        }
        _ => Err(malformed(format!("`{role}` of a collective is a tensor, or a list of one per rank"))),
    }
}

fn run(
    folder: &Path,
    call: &Collective,
    (target, launch): (Target, Launch),
    via: Via,
    local: &case::Tensor,
    data: &[(&case::Data, usize)],
) -> Result<Event, LoadError> {
    let tensors: Vec<&Tensor> = call.group.iter().flatten().collect();
    let before_local = operand::tensor_bytes(folder, &local.data, 0, &call.local)?;
    let before_ranks = tensors
        .iter()
        .zip(data)
        .map(|(tensor, (data, i))| operand::tensor_bytes(folder, data, *i, tensor))
        .collect::<Result<Vec<_>, _>>()?;
    let (mut after_local, mut after_ranks) = (before_local.clone(), before_ranks.clone());
    let moved = match via {
        Via::Exec => pto_comm::execute_collective(call, target, launch, &mut after_local, &mut after_ranks).is_ok(),
        Via::Reference => {
            reference::execute_collective(call, target, launch, &mut after_local, &mut after_ranks).is_ok()
        }
        Via::Run => match device::run_collective(call, target, launch, &before_local, &before_ranks) {
            CollectiveRun::Refused => return Ok(Event::Refused),
            CollectiveRun::Faulted => false,
            CollectiveRun::Ran { local, ranks } => {
                (after_local, after_ranks) = (local, ranks);
                true
            }
        },
    };
    if !moved {
        return Ok(Event::Faulted { untouched: after_local == before_local && after_ranks == before_ranks });
    }
    let difference = |data: &case::Data, i: usize, tensor: &Tensor, after: &[u8]| {
        let comparison =
            Comparison { element: tensor.element, any_nan: false, tolerance: data.tolerance.unwrap_or(0.0) };
        let goldens = operand::goldens(folder, data, i, after.len() as u64)?;
        Ok::<_, LoadError>(goldens.first().and_then(|golden| comparison.difference(golden, after)))
    };
    if call.direction == Direction::Gather {
        let untouched = after_ranks == before_ranks;
        let difference = difference(&local.data, 0, &call.local, &after_local)?;
        return Ok(Event::Ran(difference.or((!untouched).then(|| "a rank's buffer was changed".into()))));
    }
    for (rank, ((tensor, (data, i)), after)) in tensors.iter().zip(data).zip(&after_ranks).enumerate() {
        if let Some(difference) = difference(data, *i, tensor, after)? {
            return Ok(Event::Ran(Some(format!("rank {rank}: {difference}"))));
        }
    }
    Ok(Event::Ran((after_local != before_local).then(|| "the root's buffer was changed".into())))
}
