//! MGATHER of elements (004) in auto mode: `dst[i, j] = mem[idx[i, j]]`, then stored back to global memory.
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use pto::prelude::*;

pub(crate) fn main() -> Result<(), pto::Error> {
    let memory: Vec<i32> = (0..1000).map(|k| k * k).collect();
    let table = GlobalRef::<i32, Shape<1, 1, 1, 10, 100>>::new(&memory)?;
    let indices: Vec<u32> = (0..128).map(|k| k * 37 % 1000).collect();

    let mut dst = Tile::<i32, 16, 8>::new();
    let mut idx = Tile::<u32, 16, 8>::new();
    let mut core = VectorCore::<A5>::new();
    let loaded = core.tload(&mut idx, &GlobalRef::<u32, Shape<1, 1, 1, 16, 8>>::new(&indices)?)?;
    let gathered = core.after([&loaded]).mgather(Elem, &mut dst, &table, &idx)?;

    let mut result = vec![0i32; 128];
    let mut out = GlobalTensor::<i32, Shape<1, 1, 1, 16, 8>>::new(&mut result)?;
    core.after([&gathered]).tstore(&mut out, &dst)?;

    println!("{:?} -> {:?} ...", &indices[..5], &result[..5]);
    assert!(result.iter().zip(&indices).all(|(&value, &k)| value == (k * k) as i32));
    Ok(())
}
