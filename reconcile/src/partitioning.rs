//! Partitioning: the calls of all logs are distributed over partitions.
//!
//! `partition_pass` distributes them; `thread_activity` records what a thread did on other flows in
//! between.

pub(crate) mod partition_pass;
pub(crate) mod thread_activity;
