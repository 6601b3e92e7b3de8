//! A dynamic shape needs its extents.

use pto::prelude::*;

fn main() -> Result<(), pto::Error> {
    let memory = [0f32; 32];
    let _tensor = GlobalRef::<f32, Shape<1, 1, 1, DYN, 8>>::new(&memory)?;
    Ok(())
}
