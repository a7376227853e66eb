//! Merging (trace-context profiling, section 4.3, operator 2): sibling leaves with similar
//! distributions become one. Only nodes with enough response times are merged.
//!
//! Two leaves are merged if any node of the one is similar to any node of the other, by the nodes'
//! own response times and not by those of a former merge. So the order of merges does not matter.

use super::context_tree::{ContextTree, NodeId, NodeState};
use super::similarity::TimeSpread;
use crate::tuning::MIN_SCALE;

/// Whether the operator applies to two nodes.
#[cfg(test)]
pub(super) fn merge_applies(
    tree: &ContextTree,
    one: NodeId,
    other: NodeId,
    min_calls: f64,
    bound: f64,
) -> bool {
    let is_candidate = |id| tree.is_context_leaf(id) && tree.get(id).calls >= min_calls;
    let are_siblings = one != other && tree.get(one).parent == tree.get(other).parent;
    if !are_siblings || !is_candidate(one) || !is_candidate(other) {
        return false;
    }
    let spreads = |id: NodeId| {
        let all = std::iter::once(id).chain(tree.get(id).merged.iter().copied());
        all.filter_map(|id| tree.get(id).spread)
    };
    spreads(one).any(|a| spreads(other).any(|b| a.distance(&b) <= bound))
}

/// Merges two nodes: the first node stands for both.
pub(super) fn apply_merge(tree: &mut ContextTree, one: NodeId, other: NodeId) {
    let merged = std::mem::take(&mut tree.nodes[other as usize].merged);
    tree.remove_leaf(other, NodeState::Merged(one));
    tree.nodes[one as usize].merged.extend(std::iter::once(other).chain(merged));
}

/// Merges all children of a node to which the operator applies; the lower number stands for the
/// others. Nodes are examined in the order of their medians, each with the following ones that are
/// near enough.
pub(super) fn merge_children(tree: &mut ContextTree, parent: NodeId, min_calls: f64, bound: f64) {
    let mut leaves: Vec<(NodeId, TimeSpread)> = tree
        .get(parent)
        .children
        .iter()
        .filter(|child| tree.is_context_leaf(**child) && tree.get(**child).calls >= min_calls)
        .filter_map(|child| Some((*child, tree.get(*child).spread?)))
        .collect();
    leaves.sort_by(|(a, one), (b, other)| one.median.total_cmp(&other.median).then(a.cmp(b)));
    let widest = leaves.iter().map(|(_, spread)| spread.range).fold(0.0, f64::max);
    let mut group: Vec<usize> = (0..leaves.len()).collect();
    for one in 0..leaves.len() {
        for other in one + 1..leaves.len() {
            let ((_, low), (_, high)) = (leaves[one], leaves[other]);
            // The unit of a distance is at most the widest range, or that part of the higher
            // median.
            if high.median - low.median > bound * widest.max(MIN_SCALE * high.median) {
                break;
            }
            let [a, b] = [one, other].map(|place| group_root(&mut group, place));
            if a != b && low.distance(&high) <= bound {
                group[a.max(b)] = a.min(b);
            }
        }
    }
    let mut lowest: Vec<NodeId> = leaves.iter().map(|(id, _)| *id).collect();
    for (place, (id, _)) in leaves.iter().enumerate() {
        let first = group_root(&mut group, place);
        lowest[first] = lowest[first].min(*id);
    }
    for (place, (id, _)) in leaves.iter().enumerate() {
        let into = lowest[group_root(&mut group, place)];
        if into != *id {
            apply_merge(tree, into, *id);
        }
    }
}

/// The first index of a group.
fn group_root(group: &mut [usize], mut place: usize) -> usize {
    while group[place] != place {
        group[place] = group[group[place]];
        place = group[place];
    }
    place
}
