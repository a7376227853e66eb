//! Linking (trace-context profiling, section 4.3, operator 3): a leaf with too few response times
//! is linked to the nearest ancestor that has enough, and the ancestor's response times are then
//! used for its executions.
//!
//! An operation with too few response times of its own is left unchanged: the paper would link it
//! to the root, which has the response times of other operations.

use super::context_tree::{ContextTree, NodeId, NodeState};
use crate::equivalence::ContextLevel;

/// Whether the operator applies to a node.
pub(super) fn link_applies(tree: &ContextTree, id: NodeId, min_calls: f64) -> bool {
    tree.is_context_leaf(id) && tree.get(id).calls < min_calls
}

/// Links the leaf `id` to the nearest ancestor with enough response times.
pub(super) fn apply_link(tree: &mut ContextTree, id: NodeId, min_calls: f64) {
    let ancestors =
        std::iter::successors(Some(tree.get(id).parent), |of| Some(tree.get(*of).parent));
    let has_enough = |of: &NodeId| {
        let node = tree.get(*of);
        node.calls >= min_calls || node.level.is_none_or(|level| level == ContextLevel::Operation)
    };
    let to = ancestors.into_iter().find(has_enough).unwrap_or(0);
    tree.remove_leaf(id, NodeState::Linked(to));
}
