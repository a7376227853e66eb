//! Applying the operators until none applies. One pass from the deepest nodes upwards suffices:
//! linking and merging only examine the children of one node, and removed or linked nodes turn a
//! higher node into a leaf.

use super::context_tree::{ContextTree, NodeId};
use super::timing_model::ModelOptions;
use super::{link, merge, remove};
use crate::tuning::BOUND_STEPS;

/// The tree to which no operator applies any more, and the largest distance of merged distributions
/// that was used: `options.similar`, or a larger one if there would be too many leaves.
pub(super) fn apply_until_fixpoint(
    whole: &ContextTree,
    options: &ModelOptions,
) -> (ContextTree, f64) {
    let by = |bound: f64| {
        let mut tree = whole.clone();
        apply_all(&mut tree, options.min_calls, bound);
        tree
    };
    let tree = by(options.similar);
    let Some(most) = options.max_leaves.filter(|most| tree.part_count() > *most) else {
        return (tree, options.similar);
    };
    // A larger bound never leaves more leaves. Beyond the largest distance nothing changes.
    let merged = by(f64::MAX);
    if merged.part_count() > most {
        return (merged, f64::MAX);
    }
    let (mut low, mut high) = (options.similar.max(1e-6), options.similar.max(1e-6));
    while by(high).part_count() > most {
        (low, high) = (high, 4.0 * high);
    }
    for _ in 0..BOUND_STEPS {
        let middle = (low * high).sqrt();
        if by(middle).part_count() > most { low = middle } else { high = middle }
    }
    (by(high), high)
}

fn apply_all(tree: &mut ContextTree, min_calls: f64, bound: f64) {
    // A parent has a lower number than its children.
    for id in (0..tree.nodes.len() as NodeId).rev() {
        for child in tree.get(id).children.clone() {
            if link::link_applies(tree, child, min_calls) {
                link::apply_link(tree, child, min_calls);
            }
        }
        merge::merge_children(tree, id, min_calls, bound);
        if let [only] = tree.get(id).children.as_slice()
            && remove::removal_applies(tree, *only)
        {
            remove::apply_removal(tree, *only);
        }
    }
}

#[cfg(test)]
#[path = "fixpoint_tests.rs"]
mod tests;
