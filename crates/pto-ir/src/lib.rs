//! pto-ir
