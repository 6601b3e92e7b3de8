//! Random programs, and an oracle that executes them step by step and knows nothing of how lowering works.

pub mod oracle;
pub mod program;
pub mod trace;
