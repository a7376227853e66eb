//! FindNestedPairs (Project 5 section 5.1.1.3): each child is assigned the parent with the highest
//! score, which is the value of the scoreboard for its delay, scaled by the penalties for the
//! children that the parent has already. Among equal scores the earliest parent is chosen. Children
//! are processed in the order of their returns, in which they were found.

use super::call_pairs::NodeCallPairs;
use super::penalties::{AssignedChildren, NestingPenalties};
use super::scoreboard::{self, DelayScores};
use crate::infer::call_links::NONE;

/// The parent of `child` among `parents`, which are sorted with the earliest first; [`NONE`] if it
/// has no parent.
pub(super) fn choose_parent(
    node: &NodeCallPairs,
    given: &mut AssignedChildren,
    child: u32,
    parents: &[u32],
    scores: &DelayScores,
    penalties: &NestingPenalties,
    skew_window: i64,
) -> u32 {
    let kind = node.children[child as usize].kind;
    let (mut best, mut best_score) = (NONE, 0.0);
    for parents in
        parents.chunk_by(|a, b| node.parents[*a as usize].kind == node.parents[*b as usize].kind)
    {
        let Some(first) = parents.first() else { continue };
        let histogram = scores.scores_of_pair((node.parents[*first as usize].kind, kind));
        for parent in parents {
            let bin =
                scoreboard::delay_bin(scoreboard::nesting_delay(node, *parent, child, skew_window));
            let raw = f64::from(histogram.get(bin).copied().unwrap_or(0.0));
            // A penalty can only lower the score.
            if raw > best_score {
                let score = raw * penalties.penalty_factor(node, given, *parent, child);
                if score > best_score {
                    (best, best_score) = (*parent, score);
                }
            }
        }
    }
    if best != NONE {
        given.assign_child(node, best, child);
    }
    best
}
