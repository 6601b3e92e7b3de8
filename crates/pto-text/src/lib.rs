//! pto-text
