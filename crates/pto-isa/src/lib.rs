//! pto-isa
