//! FindNestedPairs (Project 5 section 5.1.1.3): each child is assigned the parent with the highest
//! score, which is the value of the scoreboard for its delay, scaled by the penalties for the
//! children that the parent has already. Among equal scores the earliest parent is chosen. Children
//! are processed in the order of their returns, in which they were found.

use super::call_pairs::NodeCallPairs;
use super::penalties::{AssignedChildren, NestingPenalties};
use super::scoreboard::{self, DelayScores};
use crate::infer::call_links::{MadeCallId, RequestId};

/// Chooses the parent of `child` among `parents`, the earliest first, and adds the child to those
/// that this parent was `assigned`. Returns `None` if no parent has a score.
pub(super) fn choose_parent(
    node: &NodeCallPairs,
    assigned: &mut AssignedChildren,
    child: MadeCallId,
    parents: &[RequestId],
    scores: &DelayScores,
    penalties: &NestingPenalties,
    skew_window: i64,
) -> Option<RequestId> {
    let kind = node.children[child.index()].kind;
    let (mut best, mut best_score) = (None, 0.0);
    for parents in
        parents.chunk_by(|a, b| node.parents[a.index()].kind == node.parents[b.index()].kind)
    {
        let Some(first) = parents.first() else { continue };
        let histogram = scores.scores_of_pair((node.parents[first.index()].kind, kind));
        for parent in parents {
            let bin =
                scoreboard::delay_bin(scoreboard::nesting_delay(node, *parent, child, skew_window));
            let raw = f64::from(histogram.get(bin).copied().unwrap_or(0.0));
            // A penalty can only lower the score.
            if raw > best_score {
                let score = raw * penalties.penalty_factor(node, assigned, *parent, child);
                if score > best_score {
                    (best, best_score) = (Some(*parent), score);
                }
            }
        }
    }
    if let Some(parent) = best {
        assigned.assign_child(node, parent, child);
    }
    best
}
