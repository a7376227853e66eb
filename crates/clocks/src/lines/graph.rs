//! Graph of all clocks: pieces of clocks are the nodes, the messages between two of them an edge.
//!
//! A first line for each node comes along the tree of least uncertainty from the reference. With
//! one line per node, the lines agree around every cycle; but they do not yet explain the edges
//! outside the tree, which `refine` adds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::lines::pieces::ClockPieces;
use crate::pairs::pair::{AxisOrigin, ClockPair, TimestampPair, fit_stamps};
use crate::pairs::region::StraightLine;
use crate::pairs::segments::DifferenceSegments;
use crate::tuning::ONE_WAY_UNCERTAINTY_NS;

/// One piece of a clock, between two of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PieceNode {
    pub(crate) clock: usize,
    pub(crate) piece: usize,
}

/// The messages between two nodes.
#[derive(Clone, Debug)]
pub(crate) struct PieceEdge {
    /// The nodes with the times `a` and `b` of the timestamp pairs.
    pub(crate) nodes: [usize; 2],
    pub(crate) timestamps: Vec<TimestampPair>,
}

/// The graph of all clocks: nodes, edges, and the origin of common time.
#[derive(Clone, Debug)]
pub(crate) struct ClockGraph {
    pub(crate) nodes: Vec<PieceNode>,
    pub(crate) edges: Vec<PieceEdge>,
    /// The edges of each node.
    pub(crate) of_node: Vec<Vec<usize>>,
    /// Nanoseconds by which the clock was set forward before each node's piece, since its first
    /// piece.
    jumps: Vec<i64>,
    /// The common time that lines are relative to: a time of the reference clock, in nanoseconds.
    pub(crate) origin: i64,
}

/// The rate of a clock: `t` nanoseconds after the graph's origin it shows `origin + t + offset +
/// rest + skew * t`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct ClockRate {
    /// Whole nanoseconds of the offset.
    pub(crate) offset: i64,
    /// Remainder of the offset, in nanoseconds.
    pub(crate) rest: f64,
    /// Nanoseconds gained per nanosecond.
    pub(crate) skew: f64,
}

impl ClockRate {
    /// Returns the common time, in nanoseconds since `origin`, at which the clock shows `time`.
    pub(crate) fn common_time(&self, origin: i64, time: i64) -> f64 {
        let shown = time.saturating_sub(origin).saturating_sub(self.offset);
        (shown as f64 - self.rest) / (1.0 + self.skew)
    }

    /// Returns the time that the clock shows at the common time `at`, in nanoseconds.
    pub(crate) fn shown_time(&self, origin: i64, at: i64) -> i64 {
        let elapsed = at.saturating_sub(origin);
        let gained = (self.rest + self.skew * elapsed as f64).round() as i64;
        at.saturating_add(self.offset).saturating_add(gained)
    }

    /// Returns by how many nanoseconds the clock is ahead of `other`, at the common time `at`, in
    /// nanoseconds since the origin.
    pub(crate) fn ahead_of(&self, at: f64, other: &ClockRate) -> f64 {
        let offset = self.offset.saturating_sub(other.offset) as f64;
        offset + self.rest - other.rest + (self.skew - other.skew) * at
    }

    /// Returns the clock that runs ahead of this one by a line over common time.
    pub(crate) fn plus_line(&self, line: StraightLine) -> ClockRate {
        ClockRate {
            offset: self.offset,
            rest: self.rest + line.value_at(0.0),
            skew: self.skew + line.slope,
        }
        .round_offset()
    }

    /// Moves whole nanoseconds into the offset, so that the rest stays small.
    fn round_offset(self) -> ClockRate {
        let whole = self.rest.round();
        ClockRate {
            offset: self.offset.saturating_add(whole as i64),
            rest: self.rest - whole,
            ..self
        }
    }
}

impl ClockGraph {
    /// Builds the graph of the `pieces` of each clock and of `pairs`. `origin` is a time of the
    /// reference clock.
    pub(crate) fn new(
        pairs: &[ClockPair],
        segments: &[DifferenceSegments],
        pieces: &[ClockPieces],
        origin: i64,
    ) -> ClockGraph {
        let mut nodes = Vec::new();
        let mut jumps = Vec::new();
        let mut first = Vec::new();
        for (clock, pieces) in pieces.iter().enumerate() {
            first.push(nodes.len());
            nodes.extend((0..pieces.len()).map(|piece| PieceNode { clock, piece }));
            jumps.push(0);
            jumps.extend(pieces.steps.iter().scan(0_i64, |sum, step| {
                *sum = sum.saturating_add(step.jump);
                Some(*sum)
            }));
        }
        let mut edges: Vec<PieceEdge> = Vec::new();
        for (pair, segments) in pairs.iter().zip(segments) {
            let [a, b] = [pair.a, pair.b];
            if pieces[a].len() == 1 && pieces[b].len() == 1 && !segments.binding.is_empty() {
                edges.push(PieceEdge {
                    nodes: [first[a], first[b]],
                    timestamps: segments.binding.clone(),
                });
                continue;
            }
            let begin = edges.len();
            for (place, stamp) in pair.timestamps.iter().enumerate() {
                let piece = |clock: usize, time| Some(first[clock] + pieces[clock].piece_at(time)?);
                let (Some(a), Some(b)) = (piece(a, stamp.a), piece(b, stamp.b)) else { continue };
                if segments.strays.binary_search(&place).is_ok() {
                    continue;
                }
                match edges[begin..].iter_mut().find(|edge| edge.nodes == [a, b]) {
                    Some(edge) => edge.timestamps.push(*stamp),
                    None => edges.push(PieceEdge { nodes: [a, b], timestamps: vec![*stamp] }),
                }
            }
        }
        let mut of_node = vec![Vec::new(); nodes.len()];
        for (number, edge) in edges.iter().enumerate() {
            edge.nodes.iter().for_each(|node| of_node[*node].push(number));
        }
        ClockGraph { nodes, edges, of_node, jumps, origin }
    }

    /// Returns a first rate for each node that can be reached from the node `reference`, and the
    /// order in which they were reached.
    pub(crate) fn align_nodes(&self, reference: usize) -> (Vec<Option<ClockRate>>, Vec<usize>) {
        let lines: Vec<Option<(f64, AxisOrigin, StraightLine)>> =
            self.edges.iter().map(PieceEdge::edge_line).collect();
        let mut rates: Vec<Option<ClockRate>> = vec![None; self.nodes.len()];
        let mut order = Vec::new();
        let mut queue = BinaryHeap::new();
        queue.push((Reverse(0), Reverse(reference), ClockRate::default().into_bits()));
        loop {
            while let Some((Reverse(uncertainty), Reverse(node), bits)) = queue.pop() {
                if rates[node].is_some() {
                    continue;
                }
                let rate = ClockRate::from_bits(bits);
                rates[node] = Some(rate);
                order.push(node);
                for edge in &self.of_node[node] {
                    let Some((width, origin, line)) = &lines[*edge] else { continue };
                    let [a, b] = self.edges[*edge].nodes;
                    let (next, to) = if node == a {
                        (b, self.second_rate(rate, *origin, line))
                    } else {
                        (a, self.first_rate(rate, *origin, line))
                    };
                    if rates[next].is_none() {
                        let sum = (uncertainty as f64 + width).min(1e18) as u64;
                        queue.push((Reverse(sum), Reverse(next), to.into_bits()));
                    }
                }
            }
            // A piece without messages continues another one of its clock.
            let lost =
                (0..self.nodes.len()).filter(|node| rates[*node].is_none()).find_map(|node| {
                    let siblings = (0..self.nodes.len())
                        .filter(|other| self.nodes[*other].clock == self.nodes[node].clock)
                        .filter_map(|other| Some((other, rates[other]?)));
                    let (other, rate) = siblings.min_by_key(|(other, _)| other.abs_diff(node))?;
                    let jump = self.jumps[node].saturating_sub(self.jumps[other]);
                    Some((node, ClockRate { offset: rate.offset.saturating_add(jump), ..rate }))
                });
            let Some((node, rate)) = lost else { break };
            queue.push((Reverse(ONE_WAY_UNCERTAINTY_NS as u64), Reverse(node), rate.into_bits()));
        }
        (rates, order)
    }

    /// Returns the rate of an edge's second clock, given its first one's.
    fn second_rate(&self, first: ClockRate, origin: AxisOrigin, line: &StraightLine) -> ClockRate {
        // Position of the common origin on the edge's axis.
        let shown = self.origin.saturating_add(first.offset).saturating_sub(origin.at);
        ClockRate {
            offset: first.offset.saturating_add(origin.difference),
            rest: first.rest + line.value_at(shown as f64 + first.rest),
            skew: first.skew + line.slope + first.skew * line.slope,
        }
        .round_offset()
    }

    /// Returns the rate of an edge's first clock, given its second one's.
    fn first_rate(&self, second: ClockRate, origin: AxisOrigin, line: &StraightLine) -> ClockRate {
        // The first clock shows `origin.at + w`, the second `origin.at + origin.difference + w +
        // line(w)`.
        let shown = self.origin.saturating_add(second.offset);
        let shown = shown.saturating_sub(origin.at).saturating_sub(origin.difference);
        let w = (shown as f64 + second.rest - line.value_at(0.0)) / (1.0 + line.slope);
        let whole = w.round();
        ClockRate {
            offset: origin.at.saturating_sub(self.origin).saturating_add(whole as i64),
            rest: w - whole,
            skew: (1.0 + second.skew) / (1.0 + line.slope) - 1.0,
        }
    }
}

impl PieceEdge {
    /// Returns the line of this edge alone, over the first node's clock: its uncertainty in
    /// nanoseconds, its origin, and the line; `None` if no line fits.
    fn edge_line(&self) -> Option<(f64, AxisOrigin, StraightLine)> {
        let origin = AxisOrigin::from_stamps(&self.timestamps, false);
        let fit = fit_stamps(self.timestamps.iter(), false, origin)?;
        let times = || self.timestamps.iter().map(|stamp| stamp.as_bound(false, origin).at);
        let ends = [times().fold(f64::MAX, f64::min), times().fold(f64::MIN, f64::max)];
        let width = |at: f64| {
            let [low, high] = fit.range_at(at);
            0.5 * (high - low)
        };
        let width = if fit.is_two_sided() {
            width(ends[0]).max(width(ends[1])) + fit.slack
        } else {
            ONE_WAY_UNCERTAINTY_NS - (ends[1] - ends[0]).min(0.5 * ONE_WAY_UNCERTAINTY_NS)
        };
        Some((width, origin, fit.line))
    }
}

/// Bits of a [`ClockRate`], which have a total order, for the queue.
type RateBits = (i64, u64, u64);

impl ClockRate {
    fn into_bits(self) -> RateBits {
        (self.offset, self.rest.to_bits(), self.skew.to_bits())
    }

    fn from_bits((offset, rest, skew): RateBits) -> ClockRate {
        ClockRate { offset, rest: f64::from_bits(rest), skew: f64::from_bits(skew) }
    }
}
