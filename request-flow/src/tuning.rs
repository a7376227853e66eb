//! The tuned figures of this crate.

/// Number of steps in a row group of `steps.parquet`. A group has whole requests, and threads share
/// work by groups. Chosen, not measured.
pub(crate) const GROUP_STEPS: usize = 64 * 1024;

/// Number of partitions into which spans are dealt by their trace. The spans of one partition are
/// joined in memory. Chosen, not measured.
pub(crate) const TRACE_PARTITIONS: usize = 64;

/// Number of partitions of time into which requests are dealt before they are sorted. Chosen, not
/// measured.
pub(crate) const TIME_PARTITIONS: usize = 64;

/// Number of begins of each partition of traces by which the partitions of time are bounded. Chosen,
/// not measured.
pub(crate) const BEGIN_SAMPLES: usize = 256;
