//! What an instrumentation shows.

use serde::{Deserialize, Serialize};

use crate::result::PerLevel;

/// A set of operations that are monitored, and what they show: one point of Figures 8 to 10.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InstrumentationPoint {
    /// Its number; the seed and the number choose the operations.
    pub number: u64,
    /// Number of operations that are monitored: the paper's monitoring points.
    pub monitoring_points: u64,
    /// Number of their executions.
    pub executions: u64,
    /// Number of traces that are seen.
    pub traces: u64,
    /// Number of classes of these.
    pub classes: u64,
    /// Number of contexts of each kind.
    pub contexts: PerLevel<u64>,
    /// Average standard deviation of the monitored operations, in nanoseconds.
    pub deviation: f64,
    /// The share of it that is gone within each kind of context.
    pub decrease: PerLevel<f64>,
}

/// The full instrumentation, and random ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstrumentationResults {
    /// The seed that chose them.
    pub seed: u64,
    /// All operations monitored; its number means nothing.
    pub full: InstrumentationPoint,
    /// Random ones, by number.
    pub random: Vec<InstrumentationPoint>,
}
