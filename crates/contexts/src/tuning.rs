//! Tuned figures of this crate.

/// Share of the executions in which two calls overlap, beyond which they are concurrent by kind. A
/// rarer overlap may be a response that is only sometimes waited for. Chosen, not measured.
pub(crate) const CONCURRENT_SHARE: f64 = 2.0 / 3.0;

/// Maximum number of calls of one execution that are compared pairwise to find concurrency by kind:
/// 256 make 64 Ki pairs. Chosen, not measured.
pub(crate) const MAX_COMPARED_CALLS: usize = 256;

/// Number of bins of an operation's histogram. Chosen, not measured.
pub(crate) const HISTOGRAM_BINS: usize = 32;

/// Minimum number of samples for counting modes. Chosen, not measured.
pub(crate) const MIN_FOR_MODES: f64 = 20.0;

/// Minimum number of samples for measuring the width of a cluster by the shortest interval with a
/// fifth of the samples. With fewer, the shortest interval with half of them is used.
pub(crate) const MIN_FOR_FIFTH: f64 = 80.0;

/// Maximum height of the valley next to a mode, as a share of the mode's height.
pub(crate) const MAX_VALLEY: f64 = 0.8;

/// Minimum depth of the valley next to a mode, in standard errors of the difference. An isolated
/// cluster of seven samples reaches it. At least 97 of 100 samples of seven shapes with one mode
/// have one (`modes_tests.rs`).
pub(crate) const MIN_PEAK_ERRORS: f64 = 3.0;

/// Minimum share of the samples around a mode.
pub(crate) const MIN_PEAK_SHARE: f64 = 0.005;

/// Number of partitions of the response times by operation. The operations of one partition are in
/// memory together. Chosen, not measured.
pub(crate) const OPERATION_PARTITIONS: usize = 64;

/// Minimum number of response times for a histogram. Chosen, not measured.
pub(crate) const MIN_FOR_HISTOGRAM: usize = 5;

/// Maximum number of examples of a context.
pub(crate) const MAX_EXAMPLES: usize = 20;

/// Maximum number of trace-contexts that are all listed individually. If there are more, only
/// trace-contexts with at least [`MIN_LISTED_STEPS`] steps are listed, and the rest is counted.
/// Chosen, not measured.
pub(crate) const MAX_LISTED: usize = 100_000;

/// Minimum number of steps of a listed trace-context if there are more than [`MAX_LISTED`].
pub(crate) const MIN_LISTED_STEPS: u64 = 30;

/// Minimum sureness that contexts differ, in standard deviations of chance, for reporting that they
/// make an operation slow.
pub(crate) const MIN_SURENESS: f64 = 5.0;

/// Minimum share of the standard deviation that contexts explain beyond chance, for reporting that
/// they make an operation slow.
pub(crate) const MIN_DEVIATION_EXPLAINED: f64 = 0.1;

/// Minimum share of the variance of the ranks between contexts, for reporting that they make an
/// operation slow although they explain little of the standard deviation.
pub(crate) const MIN_RANKS_EXPLAINED: f64 = 0.2;

/// Minimum share that a kind of context must explain of what the best kind explains to be used. The
/// paper recommends the computationally cheaper kind if it gives an equal result (section 4.1).
pub(crate) const MIN_SHARE_OF_BEST: f64 = 0.8;

/// Minimum ratio of the mean or median response time in slow contexts to that in the rest.
pub(crate) const MIN_SLOWER: f64 = 1.2;

/// Minimum expected number of calls in a slow context.
pub(crate) const MIN_SLOW_CALLS: f64 = 8.0;

/// Maximum share of an operation's calls that is called a minority: the operation is "slow only" in
/// a minority of calls, and "slower" in more of them. Chosen, not measured.
pub(crate) const MAX_MINORITY: f64 = 0.4;

/// Maximum number of contexts that a sentence names.
pub(crate) const MAX_NAMED: usize = 3;

/// Number of instrumentations that a thread evaluates per work item, with one set of buffers.
/// Chosen, not measured.
pub(crate) const INSTRUMENTATIONS_AT_ONCE: usize = 16;

/// Minimum unit in which the distance of two distributions is measured, as a share of their mean
/// median.
pub(crate) const MIN_SCALE: f64 = 0.02;

/// Number of bisections of the bound of distances to find the one that leaves few enough leaves. 48
/// find it to a part in 10^13. Chosen, not measured.
pub(crate) const BOUND_STEPS: u32 = 48;

/// Minimum number of executions with a response time in a part of the timing model: the rule of
/// thumb for means of samples.
pub(crate) const MIN_CALLS: f64 = 30.0;

/// Maximum distance of distributions that are merged: a quarter of an interquartile range. With 30
/// response times a median is known to a sixth of an interquartile range.
pub(crate) const MAX_SIMILAR_DISTANCE: f64 = 0.25;

/// Default for the bytes of response times in memory: ten million response times.
pub(crate) const MEMORY_BYTES: u64 = 256 << 20;

/// Minimum share of the difference between slow contexts and the rest for a resource to be named:
/// with less it explains little. Chosen, not measured.
pub(crate) const MIN_SPENT_SHARE: f64 = 0.2;

/// Maximum number of resources that a sentence names.
pub(crate) const MAX_SPENT_NAMED: usize = 2;
