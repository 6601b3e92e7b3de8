//! pto-exec
