//! Sliding windows of the nesting algorithm (Project 5 section 8), for systems that change over
//! time: a parent is chosen by the scoreboard of a surrounding window of time. Time is divided into
//! time slices of a third of a window. When the next time slice is scored, the parents in a time
//! slice are chosen by it and its two neighbours, and earlier ones are dropped. A call may be open
//! over any number of time slices. Without windows the whole trace is one time slice.
//!
//! Time slices are on each node's own clock. The clocks of nodes need only agree approximately.

use message_trace::Progress;

use super::call_pairs::NodeCallPairs;
use super::nested_pairs;
use super::open_calls::OpenCalls;
use super::penalties::{AssignedChildren, NestingPenalties};
use super::scoreboard::Scoreboard;
use crate::infer::call_links::{MadeCallId, RequestId};
use crate::options::NestingOptions;
use out_of_core::workers;

/// Progress of a step of the algorithm with the calls of a node, in the order of their returns.
#[derive(Debug, Default)]
pub(super) struct NodeSweep {
    /// Index of the next call in the returns of the node.
    next: usize,
    open: OpenCalls,
    assigned: AssignedChildren,
}

/// A node with its progress in both steps.
struct SweptNode<'a> {
    node: &'a mut NodeCallPairs,
    scoring: NodeSweep,
    choosing: NodeSweep,
}

impl SweptNode<'_> {
    fn child_count(&self) -> usize {
        self.node.children.len()
    }
}

/// The length of a time slice, in nanoseconds; `None` if the whole trace is one time slice.
#[derive(Clone, Copy, Debug)]
struct NestingSlices(Option<i64>);

impl NestingSlices {
    fn from_window(window: Option<i64>) -> NestingSlices {
        NestingSlices(window.map(|window| (window / 3).max(1)))
    }

    fn slice_number(self, time: i64) -> i64 {
        self.0.map_or(0, |length| time.div_euclid(length))
    }

    /// The first time slice in which a call returns that a node in `nodes` made and `sweep` has not
    /// processed yet.
    fn first_unswept_slice(
        self,
        nodes: &[SweptNode<'_>],
        sweep: for<'s> fn(&'s SweptNode<'_>) -> &'s NodeSweep,
    ) -> Option<i64> {
        let next = |swept: &SweptNode<'_>| sweep(swept).next_return(swept.node);
        nodes.iter().filter_map(next).min().map(|time| self.slice_number(time))
    }
}

impl NodeSweep {
    /// Time at which the next call returns.
    fn next_return(&self, node: &NodeCallPairs) -> Option<i64> {
        node.returns.get(self.next).map(|child| node.children[child.index()].end)
    }

    /// Calls `each` for each call that returns in the time slice `slice` or was left out before,
    /// with the call, its possible parents, and the children assigned to parents of the node so
    /// far. Returns the number of these calls.
    fn sweep_slice(
        &mut self,
        node: &NodeCallPairs,
        slice: i64,
        slices: NestingSlices,
        skew_window: i64,
        mut each: impl FnMut(MadeCallId, &[RequestId], &mut AssignedChildren),
    ) -> u64 {
        let first = self.next;
        while self.next_return(node).is_some_and(|time| slices.slice_number(time) <= slice) {
            let child = node.returns[self.next];
            each(child, self.open.possible_parents(node, child, skew_window), &mut self.assigned);
            self.next += 1;
        }
        (self.next - first) as u64
    }
}

/// Chooses the parents of all calls of `nodes`.
pub(super) fn choose_parents(
    nodes: &mut [NodeCallPairs],
    options: &NestingOptions,
    progress: &dyn Progress,
) {
    let (slices, skew_window) =
        (NestingSlices::from_window(options.scoreboard_window), options.skew_window.max(0));
    let penalties = NestingPenalties::new(options.penalties);
    let mut nodes: Vec<SweptNode<'_>> = nodes
        .iter_mut()
        .map(|node| SweptNode {
            node,
            scoring: NodeSweep::default(),
            choosing: NodeSweep::default(),
        })
        .collect();
    let mut boards: Vec<(i64, Scoreboard)> = Vec::new();
    while let Some(slice) = slices.first_unswept_slice(&nodes, |swept| &swept.choosing) {
        while let Some(next) = slices.first_unswept_slice(&nodes, |swept| &swept.scoring) {
            if next > slice.saturating_add(1) {
                break;
            }
            boards.push((next, score_slice(&mut nodes, next, slices, skew_window, progress)));
        }
        boards.retain(|(scored, _)| scored.saturating_add(1) >= slice);
        let mut sum = Scoreboard::default();
        boards.iter().for_each(|(_, board)| sum.add_all(board));
        let scores = sum.smoothed_scores(options.smoothing);
        workers::for_each_item(&mut nodes, SweptNode::child_count, |swept, (): &mut ()| {
            let SweptNode { node, choosing, .. } = swept;
            let mut chosen = std::mem::take(&mut node.chosen);
            let count = choosing.sweep_slice(
                node,
                slice,
                slices,
                skew_window,
                |child, parents, assigned| {
                    chosen[child.index()] = nested_pairs::choose_parent(
                        node,
                        assigned,
                        child,
                        parents,
                        &scores,
                        &penalties,
                        skew_window,
                    );
                },
            );
            node.chosen = chosen;
            progress.advance_step(count);
        });
    }
}

/// The scoreboard of a time slice.
fn score_slice(
    nodes: &mut [SweptNode<'_>],
    slice: i64,
    slices: NestingSlices,
    skew_window: i64,
    progress: &dyn Progress,
) -> Scoreboard {
    let boards =
        workers::for_each_item(nodes, SweptNode::child_count, |swept, board: &mut Scoreboard| {
            let SweptNode { node, scoring, .. } = swept;
            let count =
                scoring.sweep_slice(node, slice, slices, skew_window, |child, parents, _| {
                    board.count_child(node, child, parents, skew_window);
                });
            progress.advance_step(count);
        });
    let mut boards = boards.into_iter();
    let mut sum = boards.next().unwrap_or_default();
    boards.for_each(|board| sum.add_all(&board));
    sum
}
