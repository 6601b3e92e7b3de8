//! Costs that `docs/scale.md` is derived from, on any transport.

use std::time::{Duration, Instant};

use pto_comm::{CommError, Indices, ShardedTable, Transport};
use pto_isa::{Atomic, ElementType::F32, Policy};

const ROUNDS: usize = 61;

pub fn median(times: &[Duration]) -> f64 {
    let mut times = times.to_vec();
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64()
}

/// Time of an all-to-all for parts of growing size: divided by the messages of a rank, its value for small parts is the
/// cost of a message, its slope that of a byte.
pub fn messages(transport: &dyn Transport) -> Result<(), CommError> {
    let (ranks, first) = (transport.size(), transport.rank() == 0);
    if first {
        println!("\n{:>6} {:>10} {:>14} {:>14}", "ranks", "part", "all_to_all us", "us a message");
    }
    for part in [0usize, 64, 1 << 10, 16 << 10, 256 << 10] {
        let mut times = Vec::new();
        for _ in 0..ROUNDS * 3 {
            let parts = vec![vec![7; part]; ranks];
            transport.barrier()?;
            let start = Instant::now();
            let received = transport.all_to_all(parts)?;
            times.push(start.elapsed());
            assert!(received.iter().all(|p| p.len() == part), "a part was cut");
        }
        if first {
            let time = median(&times) * 1e6;
            println!("{ranks:>6} {part:>10} {time:>14.1} {:>14.2}", time / (ranks - 1).max(1) as f64);
        }
    }
    Ok(())
}

/// Time of one call on a table of 2^18 rows, each rank with as many random lanes.
pub fn sharded(transport: &dyn Transport) -> Result<(), CommError> {
    const LANES: u64 = 1 << 16;
    const ROWS: u64 = 1 << 18;
    let (ranks, first) = (transport.size(), transport.rank() == 0);
    if first {
        println!("\n{:>6} {:>10} {:>9} {:>9} {:>13}", "ranks", "row bytes", "op", "ms", "ns a lane");
    }
    let mut state = 1 + transport.rank() as u64;
    let lanes: Vec<i64> = (0..LANES)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as i64 % ROWS as i64
        })
        .collect();
    for cols in [1u64, 16, 128] {
        let mut table = ShardedTable::new(transport, F32, ROWS, cols)?;
        let mut payload = vec![0u8; (LANES * cols * 4) as usize];
        let (mut gathers, mut scatters) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS / 5 {
            transport.barrier()?;
            let start = Instant::now();
            table.mgather(Indices::from(&lanes[..]), &mut payload, &Policy::default())?;
            transport.barrier()?;
            gathers.push(start.elapsed());
            let start = Instant::now();
            table.mscatter(Indices::from(&lanes[..]), &payload, &Policy::default().with_atomic(Atomic::Add))?;
            transport.barrier()?;
            scatters.push(start.elapsed());
        }
        for (name, times) in [("mgather", gathers), ("mscatter", scatters)] {
            if first {
                let time = median(&times);
                println!(
                    "{ranks:>6} {:>10} {name:>9} {:>9.2} {:>13.1}",
                    cols * 4,
                    time * 1e3,
                    time * 1e9 / LANES as f64
                );
            }
        }
    }
    Ok(())
}
