//! The collectives between processes against `MPI_Scatter` and `MPI_Gather` of the same bytes, side by side; strided
//! rows both ways; and the cost of a message: `cargo bench -p pto-comm --features mpi --bench mpi`.
#![allow(clippy::print_stdout, reason = "a benchmark prints its table")]
#![expect(unsafe_code, reason = "MPI's own collectives are called for comparison")]

mod support;

use std::process::Command;
use std::time::{Duration, Instant};

use mpi::ffi;
use pto_comm::mpi::{Mpi, Strided};
use pto_comm::{CommError, ParallelGroup, Transport, tgather, tscatter};
use pto_isa::{ElementType::F32, Tensor, TensorLayout, Tile};
use support::median;

const TASK: &str = "--rank-task";
const COLS: u64 = 1024;
const ROUNDS: usize = 31;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|a| a == TASK) {
        return rank(arguments.get(at + 1).map_or("", String::as_str)).expect("a rank failed");
    }
    for (task, ranks) in [
        ("collectives", 2),
        ("collectives", 4),
        ("one-sided", 2),
        ("one-sided", 4),
        ("strided", 2),
        ("messages", 2),
        ("messages", 4),
    ] {
        let status = Command::new("mpirun")
            .args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()])
            .arg(std::env::current_exe().expect("this program has a path"))
            .args([TASK, task])
            .status()
            .expect("mpirun is installed");
        assert!(status.success(), "{task} on {ranks} ranks failed");
    }
}

fn rank(task: &str) -> Result<(), CommError> {
    let mpi = Mpi::init()?;
    match task {
        "collectives" => collectives(&mpi, "windows as plain memory"),
        "one-sided" => collectives(&mpi.one_sided_only(), "windows by put and get"),
        "strided" => strided(mpi.one_sided_only()),
        _ => support::messages(&mpi).and_then(|()| support::sharded(&mpi)),
    }
}

/// Rows of some ranks' tensors, a window over them and the root's tensor.
fn tensors(rows: u64, ranks: usize, step: u64) -> (Tensor, Tensor) {
    let tensor = |rows| {
        let strides = [rows * step, rows * step, rows * step, step, 1];
        Tensor::strided(F32, [1, 1, 1, rows, COLS], strides, TensorLayout::Nd)
    };
    (tensor(rows), tensor(rows * ranks as u64))
}

/// Time from one barrier to the next: until the bytes are at all ranks, whoever does the work.
fn between_barriers(mpi: &Mpi, work: &mut dyn FnMut() -> Result<(), CommError>) -> Result<Duration, CommError> {
    mpi.barrier()?;
    let start = Instant::now();
    work()?;
    mpi.barrier()?;
    Ok(start.elapsed())
}

fn collectives(mpi: &Mpi, how: &str) -> Result<(), CommError> {
    let (ranks, root) = (mpi.size(), mpi.rank() == 0);
    if root {
        println!(
            "\n{ranks} ranks, {how}, contiguous rows of 4 KiB, GB/s of all ranks' bytes, medians of {ROUNDS} side by side"
        );
        println!(
            "{:>9} {:>8} {:>11} {:>9} {:>11} {:>9}",
            "per rank", "tile", "MPI_Scatter", "tscatter", "MPI_Gather", "tgather"
        );
    }
    for mib in [1, 4, 16] {
        for tile_rows in [2, 16, 64] {
            let rows = mib * 256;
            let (tensor, whole) = tensors(rows, ranks, COLS);
            let bytes = (rows * COLS * 4) as usize;
            let window = mpi.expose(bytes as u64)?;
            let group = ParallelGroup::agree(mpi, &*window, 0, Some(tensor))?;
            let tile = [Tile::new(F32, tile_rows, COLS).with_dynamic_valid(tile_rows, COLS); 2];
            let mut local: Vec<u8> = (0..if root { bytes * ranks } else { 0 }).map(|i| (i * 7) as u8).collect();
            let mut mine = vec![1u8; bytes];
            let mut times = [const { Vec::new() }; 4];
            for _ in 0..ROUNDS {
                times[0].push(between_barriers(mpi, &mut || plain_scatter(mpi, &local, &mut mine))?);
                times[1].push(between_barriers(mpi, &mut || {
                    if root { tscatter(&group, &whole, &local, &tile).map(drop) } else { Ok(()) }
                })?);
                times[2].push(between_barriers(mpi, &mut || plain_gather(mpi, &mine, &mut local))?);
                times[3].push(between_barriers(mpi, &mut || {
                    if root { tgather(&group, &whole, &mut local, &tile).map(drop) } else { Ok(()) }
                })?);
            }
            if root {
                let [a, b, c, d] = times.map(|t| (bytes * ranks) as f64 / median(&t) / 1e9);
                println!(
                    "{:>5} MiB {:>8} {a:>11.2} {b:>9.2} {c:>11.2} {d:>9.2}",
                    mib,
                    format!("{} KiB", tile_rows * 4)
                );
            }
        }
    }
    Ok(())
}

fn plain_scatter(mpi: &Mpi, from: &[u8], to: &mut [u8]) -> Result<(), CommError> {
    let (length, byte) = (to.len() as i32, byte());
    // SAFETY: the root's buffer holds `length` bytes for each rank, and every rank's `length`.
    let code = unsafe {
        ffi::MPI_Scatter(
            from.as_ptr().cast(),
            length,
            byte,
            to.as_mut_ptr().cast(),
            length,
            byte,
            0,
            mpi.communicator(),
        )
    };
    assert_eq!(code, ffi::MPI_SUCCESS as i32);
    Ok(())
}

fn plain_gather(mpi: &Mpi, from: &[u8], to: &mut [u8]) -> Result<(), CommError> {
    let (length, byte) = (from.len() as i32, byte());
    // SAFETY: as in `plain_scatter`.
    let code = unsafe {
        ffi::MPI_Gather(from.as_ptr().cast(), length, byte, to.as_mut_ptr().cast(), length, byte, 0, mpi.communicator())
    };
    assert_eq!(code, ffi::MPI_SUCCESS as i32);
    Ok(())
}

fn byte() -> ffi::MPI_Datatype {
    // SAFETY: a handle that MPI defines.
    unsafe { ffi::RSMPI_UINT8_T }
}

/// Rows at a distance: one transfer with a derived datatype, or one for each row.
fn strided(mut mpi: Mpi) -> Result<(), CommError> {
    let root = mpi.rank() == 0;
    if root {
        println!("\n{} ranks, 4 MiB per rank in rows with gaps, GB/s", mpi.size());
        println!("{:>10} {:>10} {:>9} {:>9}", "row bytes", "way", "tscatter", "tgather");
    }
    for cols in [8u64, 32, 128, 1024] {
        for way in [Strided::Datatype, Strided::Rows] {
            mpi = mpi.with_strided(way);
            let rows = (4 << 20) / 4 / cols;
            let tensor = |rows| {
                let step = cols + 8;
                Tensor::strided(
                    F32,
                    [1, 1, 1, rows, cols],
                    [rows * step, rows * step, rows * step, step, 1],
                    TensorLayout::Nd,
                )
            };
            let (mine, whole) = (tensor(rows), tensor(rows * mpi.size() as u64));
            let bytes = |t: &Tensor| t.span().unwrap_or(0) * 4;
            let window = mpi.expose(bytes(&mine))?;
            let group = ParallelGroup::agree(&mpi, &*window, 0, Some(mine))?;
            let tile_rows = (64 << 10) / 4 / cols;
            let tile = [Tile::new(F32, tile_rows, cols); 2];
            let mut local = vec![1u8; bytes(&whole) as usize];
            let (mut scatters, mut gathers) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                scatters.push(between_barriers(&mpi, &mut || {
                    if root { tscatter(&group, &whole, &local, &tile).map(drop) } else { Ok(()) }
                })?);
                gathers.push(between_barriers(&mpi, &mut || {
                    if root { tgather(&group, &whole, &mut local, &tile).map(drop) } else { Ok(()) }
                })?);
            }
            if root {
                let speed = |times: &[Duration]| (rows * cols * 4 * mpi.size() as u64) as f64 / median(times) / 1e9;
                println!(
                    "{:>10} {:>10} {:>9.2} {:>9.2}",
                    cols * 4,
                    format!("{way:?}"),
                    speed(&scatters),
                    speed(&gathers)
                );
            }
        }
    }
    Ok(())
}
