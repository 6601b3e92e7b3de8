//! A core is the core of a target.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let _core = VectorCore::<f32>::new();
    Ok(())
}
