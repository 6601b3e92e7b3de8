//! The collectives, element by element: what every rank's buffer holds afterwards.

use pto_isa::{Collective, Direction, Launch, Role, Severity, Target, Tensor, check_collective};

use super::address::known;
use crate::Fault;

/// Executes a collective on the root's buffer and the buffers of all ranks.
///
/// # Errors
/// [`Fault::Illegal`] if a rule is broken, [`Fault::ShortBuffer`] if a buffer is shorter than its tensor. No byte has
/// changed then.
///
/// ```
/// use pto_exec::reference::execute_collective;
/// use pto_isa::{Collective, Direction, ElementType::U8, Launch, Target, Tensor, Tile};
/// let call = Collective {
///     direction: Direction::Scatter,
///     root: 0,
///     caller: 0,
///     local: Tensor::packed(U8, [1, 1, 1, 2, 2]),
///     group: vec![Some(Tensor::packed(U8, [1, 1, 1, 1, 2])); 2],
///     staging: vec![Tile::new(U8, 1, 32).with_valid(1, 2)],
/// };
/// let mut ranks = [vec![0; 2], vec![0; 2]];
/// execute_collective(&call, Target::A5, Launch::default(), &mut [1, 2, 3, 4], &mut ranks)?;
/// assert_eq!(ranks, [[1, 2], [3, 4]]);
/// # Ok::<(), pto_exec::Fault>(())
/// ```
pub fn execute_collective(
    call: &Collective,
    target: Target,
    launch: Launch,
    local: &mut [u8],
    ranks: &mut [Vec<u8>],
) -> Result<(), Fault> {
    let findings: Vec<_> =
        check_collective(call, target, launch).into_iter().filter(|f| f.rule.severity == Severity::Error).collect();
    if !findings.is_empty() {
        return Err(Fault::Illegal(findings));
    }
    if ranks.len() != call.group.len() {
        return Err(Fault::Call("one buffer for each rank of the group is needed"));
    }
    long_enough(&call.local, call.local_role(), local)?;
    for (tensor, buffer) in call.group.iter().flatten().zip(&*ranks) {
        long_enough(tensor, Role::Group, buffer)?;
    }
    for (rank, (tensor, buffer)) in call.group.iter().flatten().zip(ranks).enumerate() {
        transfer(call, rank as u64, tensor, local, buffer);
    }
    Ok(())
}

fn long_enough(tensor: &Tensor, role: Role, buffer: &[u8]) -> Result<(), Fault> {
    let span = tensor.span().ok_or(Fault::Call("the size of an operand is unknown"))?;
    let (needed, found) = (span.saturating_mul(tensor.element.size()), buffer.len() as u64);
    if found < needed { Err(Fault::ShortBuffer { role, needed, found }) } else { Ok(()) }
}

/// `dst(r)[d0, d1, d2, i, j] = src[d0, d1, d2, r * H + i, j]`, or back.
fn transfer(call: &Collective, rank: u64, tensor: &Tensor, local: &mut [u8], buffer: &mut [u8]) {
    let size = tensor.element.size() as usize;
    let [d0, d1, d2, rows, cols] = tensor.shape.map(known);
    let offset = |tensor: &Tensor, at: [u64; 5]| {
        at.iter().zip(tensor.strides.map(known)).map(|(c, s)| c * s).sum::<u64>() as usize * size
    };
    let outer = (0..d0).flat_map(|a| (0..d1).flat_map(move |b| (0..d2).map(move |c| (a, b, c))));
    for (a, b, c) in outer {
        for (i, j) in super::row_major(rows, cols) {
            let here = offset(&call.local, [a, b, c, rank * rows + i, j]);
            let there = offset(tensor, [a, b, c, i, j]);
            let (here, there) = (&mut local[here..here + size], &mut buffer[there..there + size]);
            match call.direction {
                Direction::Scatter => there.copy_from_slice(here),
                Direction::Gather => here.copy_from_slice(there),
            }
        }
    }
}
