//! Summary of the executions in a context: their number, their times, and a few of their requests.

use serde::{Deserialize, Serialize};

use crate::statistics::{MeanSpent, TimeMoments};

/// The executions in a context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContextSummary {
    /// Number of steps, with and without a response time.
    pub count: u64,
    /// Sum of the probabilities of the steps' requests.
    pub expected: f64,
    /// Number of steps that have a response time.
    pub timed: u64,
    /// Number of steps that failed.
    pub failed: u64,
    /// Number of steps that continued after their caller had ended.
    pub outliving: u64,
    /// Response times of the steps; `None` if no step has one.
    #[serde(flatten)]
    pub times: Option<ResponseTimes>,
    /// Resource times of the steps; `None` if they were not recorded.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub spent: Option<MeanSpent>,
}

/// Response times, in nanoseconds, each weighted by the probability of its request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResponseTimes {
    /// Sum of the weights.
    pub weight: f64,
    /// Weighted mean.
    pub mean: f64,
    /// The standard deviation of the population.
    pub deviation: f64,
    /// Shortest response time.
    pub min: i64,
    /// First quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub q3: f64,
    /// Longest response time.
    pub max: i64,
    /// Number of modes; `None` if there are too few response times.
    pub modes: Option<u32>,
    /// Weight in each bin of the operation; empty if there are too few response times.
    pub histogram: Vec<f32>,
    /// Some of the requests, from the slowest to the fastest, evenly spread over the response
    /// times.
    pub examples: Vec<ExampleExecution>,
}

/// A request with an execution in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExampleExecution {
    /// Number of the request.
    pub request: i64,
    /// The response time of the execution, in nanoseconds.
    pub time: i64,
}

impl ContextSummary {
    /// Mean and deviation of the response times.
    pub(crate) fn moments(&self) -> TimeMoments {
        let times = self.times.as_ref();
        times.map_or(TimeMoments::default(), |t| {
            TimeMoments::from_figures(t.weight, t.mean, t.deviation)
        })
    }
}

impl ResponseTimes {
    /// The interquartile range.
    pub fn interquartile_range(&self) -> f64 {
        self.q3 - self.q1
    }
}
