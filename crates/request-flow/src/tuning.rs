//! The tuned figures of this crate.

/// Number of steps in a row group of `steps.parquet`. A group has whole requests, and threads share
/// work by groups. Chosen, not measured.
pub(crate) const GROUP_STEPS: usize = 64 * 1024;

/// Number of partitions into which spans are divided by their trace; those that grow too large are
/// split. Chosen, not measured.
pub(crate) const TRACE_PARTITIONS: usize = 64;

/// Number of requests whose positions are sorted in memory together, in addition to the budget: 32
/// bytes each. Chosen, not measured.
pub(crate) const PLACES_AT_ONCE: usize = 256 * 1024;

/// Number of partitions of time into which requests are divided before they are sorted; those that
/// grow too large are split. Chosen, not measured.
pub(crate) const TIME_PARTITIONS: usize = 64;

/// Number of begins of each partition of traces by which the partitions of time are bounded.
/// Chosen, not measured.
pub(crate) const BEGIN_SAMPLES: usize = 256;

/// Number of messages that are sorted in memory together, in addition to the budget: 112 bytes
/// each. Chosen, not measured.
pub(crate) const MESSAGES_AT_ONCE: usize = 256 * 1024;

/// Maximum number of messages of a path of spans. Causes are known there, so that a path is as
/// large as its request; this only keeps an endless one from taking all memory. Chosen, not
/// measured.
pub(crate) const PATH_MESSAGES: usize = 64 * 1024;

/// Bytes of the spans, or of the requests, that one thread has in memory together: larger
/// partitions are split. As structures they take about four times as much. With it an import has
/// its peak at 720 MB for 2 and for 5 million spans; without, at 800 MB for 2 million.
pub(crate) const PARTITION_BYTES: usize = 4 << 20;

/// Maximum number of bytes of the spans of one trace. All spans of a trace are in memory together,
/// whatever the partitions.
pub(crate) const MAX_TRACE_BYTES: usize = 128 << 20;
/// Maximum number of spans of one trace, of some 250 bytes each. The largest known traces have some
/// 100,000.
pub(crate) const MAX_TRACE_SPANS: usize = 1 << 19;

/// Maximum number of times that a partition is split. Each time reduces it by the factor by which
/// it is too large, so one is enough unless its blocks are unlike each other. Chosen, not measured.
pub(crate) const REFINEMENTS: usize = 3;

/// Number of blocks of a partition that are sampled to estimate the distribution of its keys.
/// Chosen, not measured.
pub(crate) const SAMPLED_BLOCKS: usize = 64;

/// Units in nanoseconds in which tracers write times, the largest first. Times that are all whole
/// seconds, milliseconds or microseconds are exact to one of these, others to the finest.
pub(crate) const TIME_GRAINS_NS: [i64; 3] = [1_000_000_000, 1_000_000, FINE_GRAIN_NS];
/// The finest of these units, in nanoseconds.
pub(crate) const FINE_GRAIN_NS: i64 = 1_000;

/// Part of a duration by which two clocks with different rates may differ on it: 1000 ppm, the
/// limit of `clocks`.
pub(crate) const SKEW_DIVISOR: i64 = 1_000;
