//! Element-indexed scatter, sparse update (000): 16x16 values into a 1024x64 array taken as linear, indices wrap.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

fn sparse_update(data: &mut [f32], values: &[f32], sparse_indices: &[i32]) -> Result<Event, pto::Error> {
    type IdxTile = Tile<i32, 16, 16>;
    type SrcTile = Tile<f32, 16, 16>;
    type DataShape = Shape<1, 1, 1, 1024, 64>;
    type DataStride = Stride<1, 1, 1, 64, 1>;

    let mut data_gm = GlobalTensor::<f32, DataShape, DataStride>::new(data)?;
    let mut core = VectorCore::<A5>::new();
    let (mut idx, mut src) = (IdxTile::new(), SrcTile::new());
    core.tassign(&mut idx, 0x0)?;
    core.tassign(&mut src, 0x2000)?;
    core.tload(&mut idx, &GlobalRef::<i32, Shape<1, 1, 1, 16, 16>>::new(sparse_indices)?)?;
    core.tload(&mut src, &GlobalRef::<f32, Shape<1, 1, 1, 16, 16>>::new(values)?)?;

    // Scatter with wrap mode.
    core.mscatter((Elem, AtomicNone, Wrap), &mut data_gm, &src, &idx)
}

pub(crate) fn main() -> Result<(), pto::Error> {
    const SIZE: i32 = 1024 * 64;
    let values: Vec<f32> = (0..256).map(|k| k as f32).collect();
    // Lanes 0..128 stay inside, lanes 128..256 come round from the start.
    let indices: Vec<i32> = (0..256).map(|k| SIZE - 128 + k).collect();
    let mut data = vec![-1f32; SIZE as usize];

    let event = sparse_update(&mut data, &values, &indices)?;

    println!("wrapped {}: data[0] = {}, data[{}] = {}", event.lanes().wrapped, data[0], SIZE - 1, data[65_535]);
    assert_eq!(event.lanes().wrapped, 128);
    assert_eq!(data[..128], values[128..]);
    assert_eq!(data[65_408..], values[..128]);
    assert!(data[128..65_408].iter().all(|&v| v == -1.0));
    Ok(())
}
