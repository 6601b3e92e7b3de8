//! Writes sample pages into a directory, for the browser test and for looking at them.
//!
//! `cargo run -p pto-view --example sample -- DIR`

#[path = "../tests/common/mod.rs"]
mod common;

use std::error::Error;
use std::fs::{create_dir_all, write};
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let dir = PathBuf::from(std::env::args().nth(1).ok_or("a directory is needed")?);
    create_dir_all(&dir)?;
    for (name, report) in common::samples() {
        let place = |place: pto_ir::Place| format!("{name}.pto:{}", place.start);
        write(dir.join(format!("{name}.svg")), pto_view::svg(&report, place))?;
        write(dir.join(format!("{name}.html")), pto_view::html(&report, place))?;
        write(dir.join(format!("{name}.txt")), pto_view::summary(&report, 100, false))?;
    }
    Ok(())
}
