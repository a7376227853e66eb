//! Bounds on the error of each line.
//!
//! Along a path of the graph from the reference, a node's line can be off by no more than the sum
//! of the freedom of each edge; the path with the least sum gives the bound, one path for each
//! direction (up and down). This is not a likely error but one that cannot be exceeded, if clocks
//! are as straight as assumed: the truth is one of the lines that explain all messages.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::lines::graph::{ClockGraph, ClockRate};
use crate::lines::refine::EdgeBounds;
use crate::pairs::region::FittedLine;
use crate::tuning::UNCERTAINTY_TIMES;

/// The uncertainty of a node's line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LineUncertainty {
    /// Uncertainty of the offset in nanoseconds, while the node had messages; infinite if the line
    /// is bounded on one side only.
    pub(crate) offset: f64,
    /// Uncertainty of the skew, as a ratio.
    pub(crate) skew: f64,
    /// When the node's first and last message were sent, in nanoseconds since the graph's origin on
    /// the common clock.
    pub(crate) times: [f64; 2],
}

impl LineUncertainty {
    /// Returns the uncertainty of two pieces of a clock together.
    pub(crate) fn combine_worst(self, other: LineUncertainty) -> LineUncertainty {
        LineUncertainty {
            offset: self.offset.max(other.offset),
            skew: self.skew.max(other.skew),
            times: [self.times[0].min(other.times[0]), self.times[1].max(other.times[1])],
        }
    }
}

/// Finds the nodes with chains of messages both from and to `reference`.
pub(crate) fn find_bounded(graph: &ClockGraph, reference: usize) -> Vec<bool> {
    let mut both = vec![true; graph.nodes.len()];
    for there in [true, false] {
        let mut reached = vec![false; graph.nodes.len()];
        reached[reference] = true;
        let mut todo = vec![reference];
        while let Some(node) = todo.pop() {
            for edge in graph.of_node[node].iter().map(|edge| &graph.edges[*edge]) {
                let is_first = edge.nodes[0] == node;
                let next = edge.nodes[usize::from(is_first)];
                if !reached[next]
                    && edge.timestamps.iter().any(|stamp| stamp.above == (is_first == there))
                {
                    reached[next] = true;
                    todo.push(next);
                }
            }
        }
        both.iter_mut().zip(reached).for_each(|(both, reached)| *both &= reached);
    }
    both
}

/// Returns the uncertainties of the lines `rates`, relative to the node `reference`, over the time
/// of their messages or, for clocks with a span in `spans`, over that span.
pub(crate) fn line_uncertainties(
    graph: &ClockGraph,
    rates: &[Option<ClockRate>],
    reference: usize,
    spans: &[Option<[i64; 2]>],
) -> Vec<LineUncertainty> {
    let edges: Vec<(EdgeBounds, FittedLine)> = graph
        .edges
        .iter()
        .filter_map(|edge| {
            let common = EdgeBounds::from_edge(edge, rates, graph.origin)?;
            let fit = common.fit_corrections(rates)?;
            Some((common, fit))
        })
        .collect();
    let mut times = vec![[f64::MAX, f64::MIN]; graph.nodes.len()];
    for (edge, _) in &edges {
        for node in edge.nodes {
            times[node] = [times[node][0].min(edge.times[0]), times[node][1].max(edge.times[1])];
        }
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        let (Some(Some(span)), Some(rate)) = (spans.get(node.clock), rates[number]) else {
            continue;
        };
        let span = span.map(|time| rate.common_time(graph.origin, time));
        let is_last = graph.nodes.get(number + 1).is_none_or(|next| next.clock != node.clock);
        times[number] = match (node.piece == 0, is_last) {
            (true, true) => span,
            // If the clock was set, the span is cut where the messages show it.
            (true, false) => [times[number][0].min(span[0]), times[number][1]],
            (false, true) => [times[number][0], times[number][1].max(span[1])],
            (false, false) => times[number],
        };
    }
    let nothing = LineUncertainty { offset: 0.0, skew: 0.0, times: [0.0; 2] };
    let mut all = vec![nothing; graph.nodes.len()];
    let ends = sample_times(&times);
    // Deviation at the beginning and at the end.
    let mut off = vec![[0.0_f64; 2]; graph.nodes.len()];
    for (place, at) in ends.iter().enumerate() {
        let farthest = farthest_distances(graph, &edges, reference, |fit| fit.range_at(*at));
        for (node, uncertainty) in all.iter_mut().enumerate() {
            // The uncertainty is a convex function of time, so it is greatest at the ends.
            let [first, last] = times[node];
            let (before, after) = (ends.get(place.wrapping_sub(1)), ends.get(place + 1));
            let is_near = after.is_none_or(|after| *after > first)
                && before.is_none_or(|before| *before < last);
            if is_near {
                uncertainty.offset = uncertainty.offset.max(farthest[node]);
            }
            let [begin, end] = &mut off[node];
            *begin = if *at <= first { farthest[node] } else { *begin };
            *end = if *at >= last && before.is_none_or(|at| *at < last) {
                farthest[node]
            } else {
                *end
            };
            uncertainty.times = times[node];
        }
    }
    let skews = farthest_distances(graph, &edges, reference, FittedLine::slope_range);
    for ((uncertainty, skew), [before, after]) in all.iter_mut().zip(skews).zip(off) {
        // The slope is limited by the edges, or by the ends.
        let [first, last] = uncertainty.times;
        uncertainty.skew =
            if last > first { skew.min((before + after) / (last - first)) } else { skew };
    }
    cover_violations(&edges, reference, &mut all);
    all
}

/// Returns the times at which lines are evaluated: all ends, or [`UNCERTAINTY_TIMES`] between the
/// first and the last.
fn sample_times(times: &[[f64; 2]]) -> Vec<f64> {
    let known = times.iter().filter(|[first, last]| first <= last);
    let mut ends: Vec<f64> = known.flatten().copied().collect();
    ends.sort_unstable_by(f64::total_cmp);
    ends.dedup();
    let (Some(first), Some(last)) = (ends.first().copied(), ends.last().copied()) else {
        return ends;
    };
    if ends.len() <= UNCERTAINTY_TIMES {
        return ends;
    }
    let step = (last - first) / (UNCERTAINTY_TIMES - 1) as f64;
    (0..UNCERTAINTY_TIMES).map(|number| first + step * number as f64).collect()
}

/// Returns for each node the greatest error of its line's offset or slope relative to the
/// reference, up or down: the least sum over all paths of the errors that the edges allow. `room`
/// returns the range of the error that an edge allows.
fn farthest_distances(
    graph: &ClockGraph,
    edges: &[(EdgeBounds, FittedLine)],
    reference: usize,
    room: impl Fn(&FittedLine) -> [f64; 2],
) -> Vec<f64> {
    let mut adjacent: Vec<Vec<(usize, [f64; 2])>> = vec![Vec::new(); graph.nodes.len()];
    for (edge, fit) in edges {
        let [low, high] = room(fit);
        // The line is treated as possible, even if the edge by itself contradicts it.
        let (up, down) = (high.max(0.0), (-low).max(0.0));
        adjacent[edge.nodes[0]].push((edge.nodes[1], [up, down]));
        adjacent[edge.nodes[1]].push((edge.nodes[0], [down, up]));
    }
    let mut farthest = vec![0.0_f64; graph.nodes.len()];
    for direction in 0..2 {
        let mut sums = vec![f64::INFINITY; graph.nodes.len()];
        let mut queue = BinaryHeap::from([(Reverse(0), reference)]);
        sums[reference] = 0.0;
        let mut done = vec![false; graph.nodes.len()];
        while let Some((_, node)) = queue.pop() {
            if std::mem::replace(&mut done[node], true) {
                continue;
            }
            for (next, room) in &adjacent[node] {
                let sum = sums[node] + room[direction];
                if sum < sums[*next] {
                    sums[*next] = sum;
                    // Positive numbers are in the order of their bits.
                    queue.push((Reverse(sum.to_bits()), *next));
                }
            }
        }
        farthest.iter_mut().zip(sums).for_each(|(farthest, sum)| *farthest = farthest.max(sum));
    }
    farthest
}

/// Raises the uncertainties of two nodes if a message between them still arrives before it was sent
/// by more than their sum.
fn cover_violations(
    edges: &[(EdgeBounds, FittedLine)],
    reference: usize,
    all: &mut [LineUncertainty],
) {
    for (edge, _) in edges {
        let early = edge
            .above
            .iter()
            .map(|point| -point.value)
            .chain(edge.below.iter().map(|point| point.value));
        let [first, second] = edge.nodes;
        let lacking = early.fold(0.0, f64::max) - all[first].offset - all[second].offset;
        if lacking > 0.0 {
            let share = if first == reference || second == reference { 1.0 } else { 0.5 };
            for node in edge.nodes.into_iter().filter(|node| *node != reference) {
                all[node].offset += share * lacking;
            }
        }
    }
}
