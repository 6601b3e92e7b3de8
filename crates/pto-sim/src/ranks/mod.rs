//! Several ranks: each a device of its own that runs the same function, and sees the windows of the others.
//!
//! Windows are memory of a [`Transport`], between threads or between processes, and collectives go through it. A rank
//! works on copies of windows: it fetches a window when it first touches it after it has met other ranks, and delivers
//! what it wrote before it meets them again. For a program without races that is the same as touching the windows at
//! once, and a program with races is told so ([`race`]).
//!
//! Ranks meet at barriers and when they end; each then says where it is, what it touched ([`log`]) and how late it is
//! ([`word`]). A rank that failed comes as well and says why, so that nobody waits for it. Between meetings, signals
//! order ranks ([`signal`]).

mod log;
mod meet;
mod race;
mod signal;
mod window;
mod word;

use std::collections::BTreeMap;
use std::time::Duration;

use pto_comm::in_process::launch_within;
use pto_comm::{CommError, Transport};
use pto_ir::{Diagnostic, Function, Module, OnRanks, Runners, on_ranks};
use pto_isa::{Severity, Target, rules as isa};

use crate::code::Code;
use crate::machine::{Argument, Machine, Options};
use crate::report::Report;
use crate::rules;
use crate::work::Refusal;
use log::Log;
use signal::Signals;
use window::Windows;

/// How long ranks that are threads wait for each other: those that end are heard of at once, and no program is too slow.
const PATIENCE: Duration = Duration::from_secs(7 * 24 * 3600);

/// What one of several ranks has to say.
#[derive(Clone, Debug)]
pub struct RankReport {
    /// The rank.
    pub rank: usize,
    /// Whether it ran the function. A function that does not ask for its rank is run by the root of its collectives.
    pub ran: bool,
    /// Its report; of windows, with its own.
    pub report: Report,
}

/// What a rank knows of the others.
pub(crate) struct Peers<'a> {
    transport: &'a dyn Transport,
    says: OnRanks,
    windows: Windows<'a>,
    /// What has been seen of each rank: all its epochs up to this one. Its own component is its epoch.
    clock: Vec<u64>,
    log: Log,
    signals: Signals,
    /// Ranks have met in different places: there is no meeting any more.
    apart: bool,
}

impl Peers<'_> {
    pub(crate) fn rank(&self) -> usize {
        self.transport.rank()
    }

    pub(crate) fn size(&self) -> usize {
        self.transport.size()
    }

    fn runs(&self) -> bool {
        match self.says.runners {
            Runners::All => true,
            Runners::Root(root) => root == self.rank() as u64,
        }
    }
}

/// Runs a function on `ranks` threads, each a device with its own global memory, and returns their reports in rank order.
///
/// `arguments` has one set for each rank. Of a parameter that is a window of some ranks, only those need a value.
///
/// # Errors
/// In place of a rank's report, if its thread died.
pub fn simulate_ranks(
    module: &Module,
    function: &Function,
    target: Target,
    arguments: &[BTreeMap<String, Argument>],
    options: &Options<'_>,
) -> Vec<Result<RankReport, CommError>> {
    launch_within(arguments.len(), PATIENCE, |transport| {
        Ok(simulate_rank(module, function, target, &arguments[transport.rank()], options, transport))
    })
}

/// Runs a function as one rank of a group. Every rank of the group calls this, with the same function.
///
/// As [`simulate`](crate::simulate), the report holds whatever went wrong, at this rank or with the others.
pub fn simulate_rank(
    module: &Module,
    function: &Function,
    target: Target,
    arguments: &BTreeMap<String, Argument>,
    options: &Options<'_>,
    transport: &dyn Transport,
) -> RankReport {
    let code = Code::new(function);
    let (rank, ranks) = (transport.rank(), transport.size());
    let options = Options { rank: Some(rank as u64), ranks: ranks as u64, ..*options };
    let mut machine = Machine::new(module, function, &code, target, options);
    // What the text alone says is the same at all ranks, which then stop here together.
    let says = match placed(module, function, ranks as u64) {
        Ok(says) => says,
        Err(diagnostic) => {
            machine.say(*diagnostic);
            return RankReport { rank, ran: false, report: machine.finish() };
        }
    };
    let ran = match machine.join(says, transport, arguments) {
        Ok(ready) => {
            let runs = ready && machine.peers.as_ref().is_some_and(Peers::runs);
            if runs {
                machine.run();
            }
            if ready {
                machine.part();
            }
            runs
        }
        Err(error) => {
            machine.comm_failure(&error, None);
            false
        }
    };
    RankReport { rank, ran, report: machine.finish() }
}

/// Whose memory the parameters are, if that can be said for this many ranks.
fn placed(module: &Module, function: &Function, ranks: u64) -> Result<OnRanks, Box<Diagnostic>> {
    let name = |id| &function.value(id).name;
    let says = on_ranks(function, &module.types).map_err(|misplaced| match misplaced {
        pto_ir::Misplaced::TwoHomes { parameter, members: [(first, at), (second, place)] } => {
            let name = name(parameter);
            let message = format!(
                "expected `%{name}` to be one rank's memory, found it as member {first} and member {second} of groups"
            );
            Diagnostic::new(rules::COMM_WINDOW, place, message).label(at, format!("member {first} here"))
        }
        pto_ir::Misplaced::Unknown { member, place } => {
            let message =
                format!("expected the members of a group to be views of parameters, found `%{}`", name(member));
            Diagnostic::new(rules::COMM_WINDOW, place, message)
        }
    })?;
    if let Runners::Root(root) = says.runners
        && root >= ranks
    {
        let message = format!("expected a root below {ranks}, the number of ranks, found {root}");
        return Err(Box::new(Diagnostic::new(isa::COMM_ROOT, function.place, message)));
    }
    let refuse = |place, message| Err(Box::new(Diagnostic::new(rules::COMM_GROUP_SIZE, place, message)));
    for (id, home) in function.parameter_ids().zip(&says.homes) {
        let value = function.value(id);
        if let pto_ir::Type::Group(pto_ir::GroupType { ranks: Some(named), .. }) = module.types.get(value.ty)
            && *named != ranks
        {
            let message = format!("`%{}` is a group of {named} ranks, and the program runs on {ranks}", value.name);
            return refuse(value.place, message);
        }
        if let pto_ir::Home::Rank(home) = *home
            && home >= ranks
        {
            let message =
                format!("`%{}` is the window of rank {home}, and the program runs on {ranks} ranks", value.name);
            return refuse(value.place, message);
        }
    }
    Ok(says)
}

/// An error between ranks, as a broken rule.
pub(crate) fn refusal(error: &CommError) -> Refusal {
    match error {
        CommError::Refused(findings) | CommError::Faults(findings) => {
            let worst = findings.iter().find(|f| f.rule.severity == Severity::Error).or(findings.first());
            let message = findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            (worst.map_or(isa::SHAPE_OVERFLOW, |f| f.rule), message)
        }
        CommError::WindowTooSmall { .. } | CommError::ShortBuffer { .. } | CommError::OutsideWindow { .. } => {
            (rules::BOUNDS_BUFFER, error.to_string())
        }
        CommError::GroupSize { described, ranks } => {
            let message = format!("the group has {described} members, and the program runs on {ranks} ranks");
            (rules::COMM_GROUP_SIZE, message)
        }
        _ => (rules::COMM_RANK_LOST, error.to_string()),
    }
}

impl Machine<'_> {
    /// Reports an error between ranks, after which there is no going on.
    pub(crate) fn comm_failure(&mut self, error: &CommError, step: Option<u32>) {
        let (rule, message) = refusal(error);
        let place = step.map_or(self.function.place, |step| self.place(step));
        self.say(Diagnostic::new(rule, place, message));
        self.stopped = true;
        if let Some(peers) = &mut self.peers {
            peers.apart = true;
        }
    }
}
