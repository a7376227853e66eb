//! Contexts.
pub mod statistics;
mod tuning;
