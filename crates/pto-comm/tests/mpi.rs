//! The suite between processes, under `mpirun` on 1, 2, 4 and 7 ranks: the same bytes as between threads. And what
//! becomes of a job in which a rank is killed, hangs, panics or leaves.
//!
//! Without arguments this program is the driver; `mpirun` starts it again with the task of its ranks.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "ranks report to the driver on standard output")]

mod common;

use std::io::Read;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mpi::ffi::{self, MPI_Aint, MPI_Comm, MPI_Info, MPI_Win};
use pto_comm::mpi::{Mpi, Strided};
use pto_comm::{CommError, Transport, launch};

/// What the specification grants a job to end in when a rank was killed.
const END: Duration = Duration::from_secs(30);

/// For the suite itself; it takes seconds.
const LONG: Duration = Duration::from_secs(300);

const TASK: &str = "--rank-task";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [flag, task] if flag == TASK => rank(task),
        [flag] if flag == "--list" => ExitCode::SUCCESS,
        arguments => drive(arguments.iter().find(|a| !a.starts_with('-')).map_or("", |filter| filter)),
    }
}

/// One rank of a job.
fn rank(task: &str) -> ExitCode {
    let timeout = match task {
        _ if task.starts_with("suite") => 60,
        // Longer than a rank may be silent.
        "stops-inside" => 25,
        _ => 5,
    };
    let mpi = Mpi::init_within(Duration::from_secs(timeout)).unwrap();
    let me = mpi.rank();
    let report = |digest: u64| {
        println!("rank {me} digest {digest:016x}");
        Ok(())
    };
    let outcome = match task {
        "suite" => report(common::suite(&mpi)),
        // Every access as an MPI transfer, as between machines, and strided rows both ways.
        "suite-datatypes" => report(common::suite(&mpi.one_sided_only().with_strided(Strided::Datatype))),
        "suite-rows" => report(common::suite(&mpi.one_sided_only().with_strided(Strided::Rows))),
        _ => mpi.barrier().and_then(|()| misbehave(&mpi, task)),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("rank {me} error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn signal(name: &str) {
    Command::new("kill").args([name, &std::process::id().to_string()]).status().unwrap();
}

/// Whether this rank stops when it is about to allocate a window.
static STOPS: AtomicBool = AtomicBool::new(false);

/// Stands in front of MPI's own function, as MPI lets profilers do, to stop a rank where the others can only block.
///
/// # Safety
/// As MPI's.
#[expect(unsafe_code, reason = "MPI's profiling interface is one of C")]
#[unsafe(no_mangle)]
unsafe extern "C" fn MPI_Win_allocate_shared(
    size: MPI_Aint,
    unit: i32,
    info: MPI_Info,
    comm: MPI_Comm,
    base: *mut std::ffi::c_void,
    win: *mut MPI_Win,
) -> i32 {
    if STOPS.load(Ordering::Relaxed) {
        signal("-STOP");
    }
    // SAFETY: the caller's promise.
    unsafe { ffi::PMPI_Win_allocate_shared(size, unit, info, comm, base, win) }
}

/// Rank 1 goes wrong; the others count on it.
fn misbehave(mpi: &Mpi, task: &str) -> Result<(), CommError> {
    let wrong = mpi.rank() == 1;
    match task {
        "killed" if wrong => signal("-KILL"),
        "killed-0" if mpi.rank() == 0 => signal("-KILL"),
        // The others are at work and not waiting for anybody: they are told as well.
        "killed-busy" if wrong => signal("-KILL"),
        "killed-busy" => {
            let start = Instant::now();
            while start.elapsed() < END {
                std::hint::spin_loop();
            }
        }
        "hung" if wrong => signal("-STOP"),
        "stops-inside" => {
            STOPS.store(wrong, Ordering::Relaxed);
            mpi.expose(64)?;
        }
        "panicked" if wrong => panic!("rank 1 falls over"),
        "left" if wrong => return Ok(()),
        "dies-with-lock" => {
            let window = mpi.expose(64)?;
            if wrong {
                window.local(&mut |_| signal("-KILL"))?;
            }
            while window.lock(&[8]).map(drop).is_ok() {
                std::thread::yield_now();
            }
            window.lock(&[8]).map(drop)?;
        }
        "keeps-lock" => {
            let window = mpi.expose(64)?;
            if wrong {
                window.local(&mut |_| signal("-STOP"))?;
            }
            // Rank 1 may not have its lock yet; it never comes to the barrier either.
            while window.lock(&[8]).is_ok() {
                std::thread::yield_now();
            }
        }
        _ => {}
    }
    // Exchanges of all kinds, until one fails.
    for _ in 0..100 {
        mpi.barrier()?;
        mpi.all_to_all(vec![vec![1; 100]; mpi.size()])?;
    }
    Ok(())
}

struct Job {
    success: bool,
    took: Duration,
    output: String,
}

/// Runs this program as an MPI job, and ends it if it does not end itself.
fn job(ranks: usize, task: &str, limit: Duration) -> Job {
    let mut command = Command::new("mpirun");
    if open_mpi() {
        command.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    command.args(["-n", &ranks.to_string()]).arg(std::env::current_exe().unwrap()).args([TASK, task]);
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        stdout.read_to_string(&mut text).map(|_| text)
    });
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        stderr.read_to_string(&mut text).map(|_| text)
    });
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > limit => {
                let _ = child.kill();
                panic!("{task} on {ranks} ranks did not end within {limit:?}");
            }
            None => std::thread::park_timeout(Duration::from_millis(20)),
        }
    };
    let took = start.elapsed();
    let output = reader.join().unwrap().unwrap() + &errors.join().unwrap().unwrap();
    Job { success: status.success(), took, output }
}

fn open_mpi() -> bool {
    let version = Command::new("mpirun").arg("--version").output().expect("mpirun is installed");
    String::from_utf8_lossy(&version.stdout).contains("Open MPI")
}

/// The lines of a job that say what each rank found.
fn lines(job: &Job, word: &str) -> Vec<String> {
    let mut lines: Vec<String> = job.output.lines().filter(|line| line.contains(word)).map(String::from).collect();
    lines.sort();
    lines
}

fn suite(ranks: usize, task: &str) {
    let job = job(ranks, task, LONG);
    assert!(job.success, "{}", job.output);
    let threads = launch(ranks, |rank| Ok(common::suite(rank))).into_iter().enumerate();
    let expected: Vec<String> =
        threads.map(|(rank, digest)| format!("rank {rank} digest {:016x}", digest.unwrap())).collect();
    assert_eq!(lines(&job, " digest "), expected, "{}", job.output);
}

/// The job ends in time with a failure, and the ranks named say why.
fn fails(task: &str, survivors: &[usize], words: &str) {
    // Silence is noticed later than death.
    let limit = if task.starts_with("killed") || task.starts_with("dies") { END } else { LONG };
    let job = job(4, task, limit);
    assert!(!job.success, "{task}: the job was called a success\n{}", job.output);
    for rank in survivors {
        let said = lines(&job, &format!("rank {rank} error: "));
        assert!(
            said.iter().any(|line| line.contains(words)),
            "{task}: rank {rank} did not say {words:?}\n{}",
            job.output
        );
    }
    assert!(job.output.contains(words), "{task}: nobody said {words:?}\n{}", job.output);
    println!("    {task} ended after {:.1} s", job.took.as_secs_f64());
}

type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    ("suite_on_1_rank", || suite(1, "suite")),
    ("suite_on_2_ranks", || suite(2, "suite")),
    ("suite_on_4_ranks", || suite(4, "suite")),
    ("suite_on_7_ranks", || suite(7, "suite")),
    ("one_sided_suite_with_datatypes_on_4_ranks", || suite(4, "suite-datatypes")),
    ("one_sided_suite_row_by_row_on_3_ranks", || suite(3, "suite-rows")),
    ("a_killed_rank_is_an_error_at_the_others", || fails("killed", &[0, 2, 3], "rank 1 is gone: its process ended")),
    ("a_rank_killed_at_work_is_an_error_at_the_others", || {
        fails("killed-busy", &[0, 2, 3], "rank 1 is gone: its process ended")
    }),
    ("a_killed_rank_0_is_an_error_at_the_others", || {
        fails("killed-0", &[1, 2, 3], "rank 0 is gone: its process ended")
    }),
    ("a_hung_rank_is_an_error_at_the_others", || fails("hung", &[0, 2, 3], "did not come to")),
    ("a_rank_that_keeps_its_memory_ends_the_job", || fails("keeps-lock", &[], "did not come to a lock")),
    ("a_rank_killed_with_its_memory_is_an_error_at_the_others", || {
        fails("dies-with-lock", &[0, 2, 3], "rank 1 is gone: its process ended")
    }),
    ("a_rank_stopped_inside_a_collective_call_is_an_error_at_the_others", || {
        fails("stops-inside", &[0, 2, 3], "rank 1 is gone: it has given no sign of life")
    }),
    ("a_panic_is_an_error_at_the_others", || fails("panicked", &[0, 2, 3], "it panicked")),
    ("a_rank_that_leaves_is_an_error_at_the_others", || fails("left", &[0, 2, 3], "it left the group")),
];

fn drive(filter: &str) -> ExitCode {
    let mut failed = 0;
    let chosen = TESTS.iter().filter(|(name, _)| name.contains(filter));
    for (name, test) in chosen.clone() {
        let ok = std::panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if ok { "ok" } else { "FAILED" });
        failed += usize::from(!ok);
    }
    println!("\ntest result: {} passed; {failed} failed", chosen.count() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
