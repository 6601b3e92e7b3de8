//! A wait that is missing: run at once the kernel is right, on a device it is a race. The recording says so, with both
//! lines; without any address and wait both are inserted, and with the right one there is nothing to say.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;
use pto::record::{Arguments, Options, Report, Status, record};

#[derive(Clone, Copy)]
enum Wait {
    Nowhere,
    Everywhere,
    OnlyOnce,
}

type Rows = Shape<1, 1, 1, 8, 8>;

/// Copies two blocks through two tiles.
fn copy<A: Arch>(
    core: &mut VectorCore<A>,
    to: [&mut [f32]; 2],
    from: [&[f32]; 2],
    wait: Wait,
) -> Result<(), pto::Error> {
    let [to, to_too] = to;
    let [from, from_too] = from;
    let (mut ping, mut pong) = (Tile::<f32, 8, 8>::new(), Tile::<f32, 8, 8>::new());
    if !matches!(wait, Wait::Nowhere) {
        core.tassign(&mut ping, 0x0000)?;
        core.tassign(&mut pong, 0x0100)?;
    }

    let first = core.tload(&mut ping, &GlobalRef::<f32, Rows>::new(from)?.named("from0"))?;
    if !matches!(wait, Wait::Nowhere) {
        core.after([&first]);
    }
    core.tstore(&mut GlobalTensor::<f32, Rows>::new(to)?.named("to0"), &ping)?;

    let second = core.tload(&mut pong, &GlobalRef::<f32, Rows>::new(from_too)?.named("from1"))?;
    if matches!(wait, Wait::Everywhere) {
        core.after([&second]);
    }
    core.tstore(&mut GlobalTensor::<f32, Rows>::new(to_too)?.named("to1"), &pong)?;
    Ok(())
}

fn simulate(wait: Wait) -> Result<Report, pto::Error> {
    let (first, second) = ([1f32; 64], [2f32; 64]);
    let (mut to, mut to_too) = ([0f32; 64], [0f32; 64]);
    let recording = record::<A2A3, _>("copy", |core| copy(core, [&mut to, &mut to_too], [&first, &second], wait))?;
    let arguments = Arguments::new().with("from0", &first).with("from1", &second);
    let report =
        recording.simulate(arguments.with_mut("to0", &mut to).with_mut("to1", &mut to_too), &Options::default());
    print!("{}", recording.render(&report.diagnostics));
    Ok(report)
}

pub(crate) fn main() -> Result<(), pto::Error> {
    assert_eq!(simulate(Wait::Nowhere)?.status, Status::Ok);
    assert_eq!(simulate(Wait::Everywhere)?.status, Status::Ok);

    let report = simulate(Wait::OnlyOnce)?;
    let rules: Vec<&str> = report.diagnostics.iter().map(|found| found.rule.name).collect();
    assert_eq!(report.status, Status::Fault);
    assert!(rules.contains(&"race.ub"), "{rules:?}");
    Ok(())
}
