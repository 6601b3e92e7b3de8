//! budget.ub: ping and pong together are beyond what tiles may take.

use pto::comm::{self, ExposedTensor, ParallelGroup, Transport};
use pto::prelude::*;

fn kernel(rank: &dyn Transport, rows: &[f32]) -> Result<(), pto::Error> {
    let mine = ExposedTensor::<f32, Shape<1, 1, 1, 6, 32>>::new(rank)?;
    let group = ParallelGroup::new(rank, &mine, 0)?;
    let source = GlobalRef::<f32, Shape<1, 1, 1, 12, 32>>::new(rows)?;
    let staging = (Tile::<f32, 1024, 32>::new(), Tile::<f32, 1024, 32>::new());
    VectorCore::<A5>::new().comm_tscatter(&group, &source, (&staging.0, &staging.1))?;
    Ok(())
}

fn main() {
    comm::launch(2, |rank| kernel(rank, &[]));
}
