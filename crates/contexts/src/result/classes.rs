//! Classes of traces.

use serde::{Deserialize, Serialize};

/// A class of traces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClassProfile {
    /// Number of requests.
    pub requests: u64,
    /// Sum of their probabilities.
    pub expected: f64,
    /// Number of one of them, the first.
    pub example: u64,
    /// What began its traces.
    pub caller: String,
    /// Its tree.
    pub steps: Vec<ClassStep>,
}

/// A step of a class of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassStep {
    /// 0 for the root.
    pub depth: u32,
    /// Place of the operation among [`Profile::operations`](super::Profile::operations).
    pub operation: u32,
    /// How many equal concurrent calls it stands for.
    pub times: u32,
    /// Number of the first step of its group: the calls that it is concurrent with, or its own.
    pub group: u32,
}
