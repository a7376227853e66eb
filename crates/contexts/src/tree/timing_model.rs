//! Timing model: the reduced calling-context tree.

use serde::{Deserialize, Serialize};

use crate::equivalence::ContextLevel;
use crate::result::ResponseTimes;
use crate::tuning::{MAX_SIMILAR_DISTANCE, MIN_CALLS};

/// Thresholds of the operators.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelOptions {
    /// Minimum expected number of response times of a part of the model.
    pub min_calls: f64,
    /// Maximum distance of distributions that are merged.
    pub similar: f64,
    /// Maximum number of parts: if there are more, the distance is increased. Operations are never
    /// merged, so there is at least one part for each.
    pub max_leaves: Option<usize>,
}

impl Default for ModelOptions {
    fn default() -> ModelOptions {
        ModelOptions { min_calls: MIN_CALLS, similar: MAX_SIMILAR_DISTANCE, max_leaves: None }
    }
}

/// The timing model: a partition of all executions, each part with its response times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimingModel {
    /// Options with which the model was made.
    pub options: ModelOptions,
    /// The distance up to which distributions were merged; `None` if all siblings were merged.
    pub bound: Option<f64>,
    /// Number of nodes of the whole tree, without its root.
    pub nodes: u64,
    /// Number of removed nodes, including removed nodes below linked nodes.
    pub removed: u64,
    /// Number of nodes that were merged into others.
    pub merged: u64,
    /// Number of nodes that were linked to ancestors.
    pub linked: u64,
    /// Number of operations with too few response times of their own.
    pub too_few: u64,
    /// Average standard deviation within the parts, in nanoseconds.
    pub deviation: f64,
    /// The share of the average standard deviation of operations that the parts explain.
    pub decrease: f64,
    /// The parts of the model.
    pub leaves: Vec<ModelLeaf>,
    /// For each node of the whole tree, by its number, the index of the part that contains all its
    /// executions; `None` if several parts do.
    pub leaf_of: Vec<Option<u32>>,
}

/// Kind of a part of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LeafKind {
    /// One context, or an operation.
    Context,
    /// Several contexts with similar distributions.
    Merged,
    /// Contexts with too few response times below a context that has enough. The response times of
    /// the context above are used.
    Linked,
}

/// A part of the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelLeaf {
    /// Kind of the leaf.
    pub kind: LeafKind,
    /// Index of the leaf's operation in the profile.
    pub operation: u32,
    /// The level of the leaf's nodes.
    pub level: ContextLevel,
    /// The numbers of the leaf's nodes in the profile. For [`LeafKind::Linked`] this is the node
    /// with the response times.
    pub contexts: Vec<u32>,
    /// Expected number of the leaf's executions with a response time.
    pub calls: f64,
    /// Response times of these executions, or the response times that are used for them.
    pub times: Option<ResponseTimes>,
}
