//! The rules that only a run can raise.
//!
//! What a check finds where constants tell, and a run otherwise, is one mistake and has one rule: those are in
//! [`pto_ir::check::rules`] and [`pto_isa::rules`].

use pto_isa::{Rule, Severity};

macro_rules! rules {
    ($($constant:ident = $name:literal $severity:ident { $summary:literal help $help:literal spec $spec:literal })*) => {
        $(
            #[doc = $summary]
            pub const $constant: &Rule =
                &Rule { name: $name, severity: Severity::$severity, summary: $summary, help: $help, spec: $spec };
        )*

        /// Every rule that only a run can raise.
        pub const RULES: &[&Rule] = &[$($constant),*];
    };
}

rules! {
    RACE_UB = "race.ub" Error {
        "two accesses to overlapping bytes of UB, one a write, are not ordered"
        help "set a flag on the pipe of the first access and wait for it on the pipe of the second"
        spec "SPEC, Device model: A missing wait is a race: two accesses to overlapping bytes, one a write, not ordered. It is found by happens-before, not by luck of the schedule."
    }
    RACE_GM = "race.gm" Error {
        "two accesses to overlapping bytes of global memory, one a write, are not ordered"
        help "set a flag on the pipe of the first access and wait for it on the pipe of the second"
        spec "SPEC, Device model: A missing wait is a race: two accesses to overlapping bytes, one a write, not ordered. It is found by happens-before, not by luck of the schedule."
    }
    RACE_RANKS = "race.ranks" Error {
        "two ranks access overlapping bytes of a window, one of them writes, and nothing orders the two"
        help "put pto.comm.barrier between the two, or pto.comm.tnotify after the first and pto.comm.twait before the second; a barrier or notification covers what its rank has waited for, with pto.barrier <PIPE_ALL> where the program has its own flags"
        spec "003: Non-root ranks only need to ensure their destination buffers are allocated and writable for the duration of the operation. SPEC, Device model: A missing wait is a race; it is found by happens-before, not by luck of the schedule."
    }
    COMM_WINDOW = "comm.window" Error {
        "a member of a group is the memory of one rank: member r of rank r"
        help "give every rank a parameter of its own, and list it at the rank's position in every group; signals are members of a group too"
        spec "003: parallelGroup.tensors[r] must refer to rank r's destination buffer (remote GM as seen by the root)."
    }
    COMM_GROUP_SIZE = "comm.group-size" Error {
        "a group has a member for each rank that the program runs on"
        help "run the program on as many ranks as its groups have members, with --ranks"
        spec "003: parallelGroup.tensors[r] must refer to rank r's destination buffer; the group is made of all N ranks."
    }
    COMM_RANK_LOST = "comm.rank-lost" Error {
        "a rank failed or ended while others counted on it"
        help "look at what that rank reports; every rank comes to every barrier, or none does"
        spec "SPEC, Communication: each a clear error at every rank that can know."
    }
    SYNC_DEADLOCK = "sync.deadlock" Error {
        "a pipe waits for a flag that nothing will set"
        help "set the flag on the other pipe before, with the same pipes and event id"
        spec "SPEC, Device model: Instructions are ordered only by flags, barriers, events; a wait without a set blocks its pipe for ever."
    }
    SYNC_DOUBLE_SET = "sync.double-set" Error {
        "a flag is set again before anyone waited for it"
        help "wait for the flag between the two sets, or use another event id"
        spec "SPEC, Device model: eight event ids per pair; a flag holds one event."
    }
    SYNC_NEVER_WAITED = "sync.never-waited" Warning {
        "a flag is set, but the program ends before anyone waits for it"
        help "add the wait, or remove the set: a flag left set confuses the next kernel on this core"
        spec "SPEC, Device model: eight event ids per pair; a set without a wait leaves its event pending."
    }
    SYNC_EVENT_COLLISION = "sync.event-collision" Error {
        "an instruction uses an event inside while the caller's own flag on that pair and event is pending"
        help "use another event around the instruction (EVENT_ID0 is used inside, by ping-pong collectives EVENT_ID1 as well), or wait for the flag before it"
        spec "SPEC, Device model: the handshakes inside MSCATTER use EVENT_ID0, so a caller's pending EVENT_ID0 on that pair collides."
    }
    UNINIT_READ = "uninit.read" Error {
        "bytes of UB are read that nothing has written"
        help "load the tile, or the part of it that its valid extents cover, before it is read"
        spec "SPEC, Device model: Addresses and overlaps are real; UB holds whatever the last kernel left there."
    }
    ALIAS_CLOBBERED = "alias.clobbered" Error {
        "a tile is read whose bytes another tile has overwritten since"
        help "place the tiles apart, or load the first one again"
        spec "SPEC, Device model: Addresses and overlaps are real: two tiles at one address share bytes."
    }
    BOUNDS_BUFFER = "bounds.buffer" Error {
        "a view addresses more than its buffer holds"
        help "pass a larger array, or correct shape, strides or offsets of the view"
        spec "CLI: A buffer smaller than what a view addresses is an error before anything runs."
    }
    FLUSH_MISSING = "flush.missing" Warning {
        "scattered data may still sit in the data cache when the host reads it"
        help "end the kernel with pto.dcci and pto.dsb"
        spec "001, Cache-Coherence Flush Pattern: MSCATTER does not insert a GM cache flush; kernel authors should append it when the host code reads back the GM table immediately after the kernel returns."
    }
    LAUNCH_LIMIT = "launch.step-limit" Error {
        "the run was ended because it took more steps than allowed"
        help "raise the limit if the program is meant to run that long, or look for a loop that never ends"
        spec "CLI: No input makes it panic, hang or use unbounded memory."
    }
    LAUNCH_ARGUMENT = "launch.argument" Error {
        "the arguments of a run fit the parameters of the function"
        help "bind every parameter with --arg NAME=VALUE, of the parameter's type"
        spec "CLI: --arg NAME=VALUE binds a parameter."
    }
}
