//! The algorithm in sliding windows (Project 5 section 8), for systems that are not the same all
//! the time: a parent is chosen by the scoreboard of a window of time around. Time is cut into
//! slices of a third of a window. When the next slice is scored, the parents in a slice are chosen
//! by it and its two neighbours, and what comes before them is forgotten. A call may be open over
//! any number of slices. Without windows all of the trace is one slice.
//!
//! Slices are told by each node's own clock, which need not agree: they only have to be about the
//! same.

use message_trace::Progress;

use super::call_pairs::Node;
use super::nested_pairs;
use super::open_calls::OpenCalls;
use super::penalties::{Given, Penalties};
use super::scoreboard::Scoreboard;
use crate::options::NestingOptions;
use out_of_core::workers;

/// Progress of a step of the algorithm with the calls of a node, in the order of their returns.
#[derive(Debug, Default)]
pub(super) struct Sweep {
    next: usize,
    open: OpenCalls,
    given: Given,
}

/// A node, and how far both steps are with it.
struct SweptNode<'a> {
    node: &'a mut Node,
    scoring: Sweep,
    choosing: Sweep,
}

impl SweptNode<'_> {
    fn size(&self) -> usize {
        self.node.children.len()
    }
}

/// The length of a slice of time, in nanoseconds; `None` where all of the trace is one slice.
#[derive(Clone, Copy, Debug)]
struct Slices(Option<i64>);

impl Slices {
    fn of(window: Option<i64>) -> Slices {
        Slices(window.map(|window| (window / 3).max(1)))
    }

    fn number(self, time: i64) -> i64 {
        self.0.map_or(0, |length| time.div_euclid(length))
    }

    /// The first slice in which a call of one of `nodes` returns that `sweep` has not come to.
    fn first(
        self,
        nodes: &[SweptNode<'_>],
        sweep: for<'s> fn(&'s SweptNode<'_>) -> &'s Sweep,
    ) -> Option<i64> {
        let next = |swept: &SweptNode<'_>| sweep(swept).next_return(swept.node);
        nodes.iter().filter_map(next).min().map(|time| self.number(time))
    }
}

impl Sweep {
    /// When the next call returns.
    fn next_return(&self, node: &Node) -> Option<i64> {
        node.returns.get(self.next).map(|child| node.children[*child as usize].end)
    }

    /// Hands over the calls that return in a slice, each with its possible parents, and the
    /// children that those were given.
    fn through(
        &mut self,
        node: &Node,
        slice: i64,
        slices: Slices,
        skew_window: i64,
        mut each: impl FnMut(u32, &[u32], &mut Given),
    ) -> u64 {
        let first = self.next;
        while self.next_return(node).is_some_and(|time| slices.number(time) <= slice) {
            let child = node.returns[self.next];
            each(child, self.open.parents(node, child, skew_window), &mut self.given);
            self.next += 1;
        }
        (self.next - first) as u64
    }
}

/// Chooses the parents of all calls of `nodes`.
pub(super) fn nest(nodes: &mut [Node], options: &NestingOptions, progress: &dyn Progress) {
    let (slices, skew_window) = (Slices::of(options.scoreboard_window), options.skew_window.max(0));
    let penalties = Penalties::new(options.penalties);
    let mut nodes: Vec<SweptNode<'_>> = nodes
        .iter_mut()
        .map(|node| SweptNode { node, scoring: Sweep::default(), choosing: Sweep::default() })
        .collect();
    let mut boards: Vec<(i64, Scoreboard)> = Vec::new();
    while let Some(slice) = slices.first(&nodes, |swept| &swept.choosing) {
        while let Some(next) = slices.first(&nodes, |swept| &swept.scoring) {
            if next > slice.saturating_add(1) {
                break;
            }
            boards.push((next, score(&mut nodes, next, slices, skew_window, progress)));
        }
        boards.retain(|(of, _)| of.saturating_add(1) >= slice);
        let mut sum = Scoreboard::default();
        boards.iter().for_each(|(_, board)| sum.add_all(board));
        let scores = sum.scores(options.smoothing);
        workers::on_each(&mut nodes, SweptNode::size, |swept, (): &mut ()| {
            let SweptNode { node, choosing, .. } = swept;
            let mut chosen = std::mem::take(&mut node.chosen);
            let count =
                choosing.through(node, slice, slices, skew_window, |child, parents, given| {
                    chosen[child as usize] = nested_pairs::choose(
                        node,
                        given,
                        child,
                        parents,
                        &scores,
                        &penalties,
                        skew_window,
                    );
                });
            node.chosen = chosen;
            progress.advance(count);
        });
    }
}

/// The scoreboard of a slice.
fn score(
    nodes: &mut [SweptNode<'_>],
    slice: i64,
    slices: Slices,
    skew_window: i64,
    progress: &dyn Progress,
) -> Scoreboard {
    let boards = workers::on_each(nodes, SweptNode::size, |swept, board: &mut Scoreboard| {
        let SweptNode { node, scoring, .. } = swept;
        let count = scoring.through(node, slice, slices, skew_window, |child, parents, _| {
            board.add(node, child, parents, skew_window);
        });
        progress.advance(count);
    });
    let mut boards = boards.into_iter();
    let mut sum = boards.next().unwrap_or_default();
    boards.for_each(|board| sum.add_all(&board));
    sum
}
