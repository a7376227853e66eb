//! The calls of all logs, dealt into partitions.
//!
//! `deal` does it; `elsewhere` notes what a thread did on other flows in between.

pub(crate) mod partition_pass;
pub(crate) mod thread_activity;
