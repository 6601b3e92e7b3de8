//! pto
