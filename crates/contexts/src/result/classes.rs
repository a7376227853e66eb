//! Classes of traces.

use serde::{Deserialize, Serialize};

/// A class of traces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassProfile {
    /// Number of requests.
    pub requests: u64,
    /// Sum of the requests' probabilities.
    pub expected: f64,
    /// Number of the class's first request.
    pub example: u64,
    /// The caller that began the traces.
    pub caller: String,
    /// The tree of the class.
    pub steps: Vec<ClassStep>,
}

/// A step of a class of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassStep {
    /// 0 for the root.
    pub depth: u32,
    /// Index of the operation in [`Profile::operations`](super::Profile::operations).
    pub operation: u32,
    /// Number of equal concurrent calls that the step stands for.
    pub times: u32,
    /// Number of the first step of the step's group of concurrent calls, or the step's own number.
    pub group: u32,
}
