//! The reason why an operation is slow at times.

use request_flow::StepResource;
use serde::{Deserialize, Serialize};

use crate::equivalence::ContextLevel;

/// What tells that contexts make an operation slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReasonMeasure {
    /// They take away much of the standard deviation: means are compared.
    Deviation,
    /// They take away much of the variance of the ranks, while a few very long times, in all
    /// contexts, make the standard deviation: medians are compared.
    Ranks,
}

/// The contexts that make an operation slow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowReason {
    /// The coarsest kind of context that tells nearly as much as the finest.
    pub level: ContextLevel,
    /// What is compared.
    pub measure: ReasonMeasure,
    /// The contexts of that kind in which it is slow, the slowest first, by their numbers.
    pub slow: Vec<u32>,
    /// Number of contexts of that kind.
    pub contexts: u64,
    /// Expected number of calls in the slow contexts that have a response time.
    pub slow_calls: f64,
    /// Expected number of all calls that have a response time.
    pub calls: f64,
    /// Mean response time in the slow contexts, in nanoseconds.
    pub slow_mean: f64,
    /// Median response time there.
    pub slow_median: f64,
    /// Mean response time otherwise.
    pub rest_mean: f64,
    /// Median response time otherwise.
    pub rest_median: f64,
    /// What is spent of the time in slow contexts and otherwise, what is most of the difference
    /// first; empty where that was not recorded.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub spent: Vec<SpentMore>,
    /// The same in a sentence.
    pub sentence: String,
}

/// Mean time that is spent in one way, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpentMore {
    /// The way.
    pub resource: StepResource,
    /// In the slow contexts.
    pub slow: f64,
    /// Otherwise.
    pub rest: f64,
}

impl SpentMore {
    /// How much more is spent in slow contexts.
    pub fn extra_time(&self) -> f64 {
        self.slow - self.rest
    }
}
