//! Removing (trace-context profiling, section 4.3, operator 1): a leaf without siblings adds
//! nothing to its parent, and costs more to distinguish. An operation is never removed.

use super::context_tree::{ContextTree, NodeId, NodeState};

/// Whether the operator applies to a node.
pub(super) fn removal_applies(tree: &ContextTree, id: NodeId) -> bool {
    tree.is_context_leaf(id) && tree.get(tree.get(id).parent).children.len() == 1
}

/// Removes the leaf `id`.
pub(super) fn apply_removal(tree: &mut ContextTree, id: NodeId) {
    tree.remove_leaf(id, NodeState::Removed);
}
