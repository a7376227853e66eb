//! Results of an instrumentation.

use serde::{Deserialize, Serialize};

use crate::result::PerLevel;

/// A set of monitored operations, and its results: one point of Figures 8 to 10.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InstrumentationPoint {
    /// Number of the instrumentation; the seed and the number choose the operations.
    pub number: u64,
    /// Number of monitored operations: the paper's monitoring points.
    pub monitoring_points: u64,
    /// Number of the monitored operations' executions.
    pub executions: u64,
    /// Number of observed traces.
    pub traces: u64,
    /// Number of classes of the monitored traces.
    pub classes: u64,
    /// Number of contexts of each kind.
    pub contexts: PerLevel<u64>,
    /// Average standard deviation of the monitored operations, in nanoseconds.
    pub deviation: f64,
    /// The share of the standard deviation that each kind of context explains.
    pub decrease: PerLevel<f64>,
}

/// The full instrumentation, and random ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstrumentationResults {
    /// The seed of the choice.
    pub seed: u64,
    /// All operations monitored; its number has no meaning.
    pub full: InstrumentationPoint,
    /// Random instrumentations, by number.
    pub random: Vec<InstrumentationPoint>,
}
