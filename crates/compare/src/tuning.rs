//! Tuned figures of this crate.

/// Maximum product of the sizes of two samples for the exact p-value of the Kolmogorov-Smirnov
/// test; computing it takes as many steps as this product. Chosen, not measured.
pub(crate) const MAX_EXACT_SIZES: usize = 10_000;

/// Maximum number of events for an exact test of a rate. Chosen, not measured.
pub(crate) const MAX_EXACT_COUNTS: f64 = 1_000.0;

/// Number of windows of a period, by which similarity of consecutive requests is measured. Chosen,
/// not measured.
pub(crate) const WINDOWS: usize = 20;

/// Maximum number of begins of requests from which windows are computed; of more begins, every n-th
/// is used. Chosen, not measured.
pub(crate) const MAX_WINDOW_BEGINS: usize = 1 << 18;

/// Minimum number of windows over which tested observations must be spread. Chosen, not measured.
pub(crate) const MIN_SPREAD: f64 = 3.0;

/// Number of partitions of the observations by category. Chosen, not measured.
pub(crate) const CATEGORY_PARTITIONS: usize = 64;

/// Minimum number of observations in each period for a test of their times. The paper calls
/// categories with more than 10 requests large (Spectroscope, 5.2).
pub(crate) const MIN_TESTED: usize = 10;

/// Minimum number of executions of a call site, a node or an edge in each period for a test of
/// their times. Chosen, not measured.
pub(crate) const MIN_EXECUTIONS: u64 = 5;

/// Level of each test by the paper's rule. The paper does not state its level; this is the usual
/// level.
pub(crate) const PAPER_LEVEL: f64 = 0.05;

/// Rounding unit of times by the paper's rule, in nanoseconds (Spectroscope, 4.2.1).
pub(crate) const PAPER_ROUNDING_NS: f32 = 1e6;

/// Number of requests by which a category must differ by the paper's rule (Spectroscope, 5.1).
pub(crate) const PAPER_MIN_DIFFERENCE: f64 = 10.0;

/// Maximum adjusted p-value of evidence that is used: up to here it is more likely than not that
/// something changed. The weight is reduced by the adjusted p-value. With such evidence, the faulty
/// service is ranked first in 19 of the 20 labelled faults instead of 17.
pub(crate) const MAX_CHANCE: f64 = 0.5;

/// Maximum number of originators of a mutation that are kept. Chosen, not measured.
pub(crate) const MAX_ORIGINATORS: usize = 5;

/// Thresholds from which on times count as far above the usual, as powers of two by which they
/// exceed the median: 4, 16 and 64 times as long. If many are 4 times as long anyway, 64 times is
/// significant. Chosen, not measured.
pub(crate) const FAR_OCTAVES: [u32; 3] = [2, 4, 6];

/// Maximum number of call patterns of a call site that are counted; with more, none is tested.
/// Chosen, not measured.
pub(crate) const MAX_PATTERNS: usize = 4_096;

/// Maximum number of call patterns of a call site that are tested one by one; all rarer ones count
/// as one. Chosen, not measured.
pub(crate) const MAX_TESTED_PATTERNS: usize = 64;

/// Times below this count as equal when ratios are weighed, in nanoseconds: a hop that takes 3 µs
/// instead of 1 µs is not three times as suspicious. Chosen, not measured.
pub(crate) const MIN_RATIO_NS: f64 = 20_000.0;

/// Power of the share of a node's edges that changed together, in the division of an edge's change
/// among its ends. On four of the 20 labelled faults, the power 2 instead of 1 increased the named
/// service's lead.
pub(crate) const EDGE_POWER: i32 = 2;

/// Minimum number of requests of a period; a comparison of fewer has a warning. Chosen, not
/// measured.
pub(crate) const MIN_REQUESTS: u64 = 30;

/// Maximum share of torn requests, whose roots were lost; a comparison with more has a warning.
/// Chosen, not measured.
pub(crate) const MAX_TORN_SHARE: f64 = 0.2;

/// Maximum difference of the shares of requests without an end in both periods; a comparison with a
/// greater one has a warning. Chosen, not measured.
pub(crate) const MAX_OPEN_DIFFERENCE: f64 = 0.05;

/// Minimum mean probability of the requests of a period; a comparison with a lower one has a
/// warning. Chosen, not measured.
pub(crate) const MIN_MEAN_PROBABILITY: f64 = 0.7;

/// Minimum share of requests of kinds that occur in both periods; a comparison with a smaller one
/// has a warning. Chosen, not measured.
pub(crate) const MIN_COMMON_SHARE: f64 = 0.5;

/// Minimum change of nearly all nodes for the warning of a shared cause, as the logarithm of its
/// ratio. Chosen, not measured.
pub(crate) const MIN_SHARED_RATIO: f64 = 0.05;

/// Minimum share of all own time with a similar change for the warning that nearly all nodes
/// changed. Chosen, not measured.
pub(crate) const MIN_SHARED_TIME: f64 = 0.8;

/// Minimum number of nodes that count as nearly all. Chosen, not measured.
pub(crate) const MIN_SHARED_NODES: usize = 3;

/// Number of buckets of a displayed distribution. Chosen, not measured.
pub(crate) const DISTRIBUTION_BUCKETS: usize = 48;

/// Maximum number of groups of requests of each period that an explanation reads. Chosen, not
/// measured.
pub(crate) const MAX_EXPLAINED_GROUPS: usize = 16;

/// Maximum number of requests of each class that one group adds to an explanation. Chosen, not
/// measured.
pub(crate) const MAX_EXPLAINED_ROWS: usize = 500;

/// Maximum number of questions on a path of a decision tree: more are not put into a sentence.
/// Chosen, not measured.
pub(crate) const MAX_DEPTH: usize = 3;

/// Minimum weight of a leaf of a decision tree, in requests. Chosen, not measured.
pub(crate) const MIN_LEAF: f64 = 5.0;

/// Maximum number of texts of a parameter: a parameter with more texts is an identifier. Chosen,
/// not measured.
pub(crate) const MAX_TEXTS: usize = 256;

/// Level of the test of a split, with all candidates taken together. Chosen, not measured.
pub(crate) const SPLIT_LEVEL: f64 = 0.01;
