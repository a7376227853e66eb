//! Profiling: from the collected data to the result, operation by operation. Each operation is
//! computed from its own response times alone, on all processors.

mod build;
mod classes;
mod evidence;
mod operation;

pub use build::{ProfileResult, profile_contexts};
