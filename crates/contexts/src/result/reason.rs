//! The reason why an operation is sometimes slow.

use request_flow::StepResource;
use serde::{Deserialize, Serialize};

use crate::equivalence::ContextLevel;

/// The measure by which contexts make an operation slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasonMeasure {
    /// Contexts explain much of the standard deviation: means are compared.
    Deviation,
    /// Contexts explain much of the variance of the ranks of the response times, while a few very
    /// long times, in all contexts, dominate the standard deviation: medians are compared.
    Ranks,
}

/// The contexts that make an operation slow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowReason {
    /// The coarsest kind of context that explains nearly as much as the finest.
    pub level: ContextLevel,
    /// The measure of the comparison.
    pub measure: ReasonMeasure,
    /// The contexts of the reason's kind in which the operation is slow, the slowest first, by
    /// their numbers.
    pub slow: Vec<u32>,
    /// Number of contexts of the reason's kind.
    pub contexts: u64,
    /// Expected number of calls in the slow contexts that have a response time.
    pub slow_calls: f64,
    /// Expected number of all calls that have a response time.
    pub calls: f64,
    /// Mean response time in the slow contexts, in nanoseconds.
    pub slow_mean: f64,
    /// Median response time in the slow contexts, in nanoseconds.
    pub slow_median: f64,
    /// Mean response time in all other contexts, in nanoseconds.
    pub rest_mean: f64,
    /// Median response time in all other contexts, in nanoseconds.
    pub rest_median: f64,
    /// The time per resource in slow and in other contexts, in descending order of the difference;
    /// empty if resources were not recorded.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub spent: Vec<SpentMore>,
    /// The reason as a sentence.
    pub sentence: String,
}

/// Mean time spent on one resource, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpentMore {
    /// The resource that the time is spent on.
    pub resource: StepResource,
    /// Mean time in the slow contexts.
    pub slow: f64,
    /// Mean time in the other contexts.
    pub rest: f64,
}

impl SpentMore {
    /// The additional mean time in slow contexts, in nanoseconds.
    pub fn extra_time(&self) -> f64 {
        self.slow - self.rest
    }
}
